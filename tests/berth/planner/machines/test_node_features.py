"""Features of nodes beside their capacity: GKE Sandbox, threads of a core, keys, tags, disks, maintenance of hosts."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from berth import catalog
from berth.cli import app
from berth.google.cluster import cluster
from berth.google.node_pool import node_pool
from berth.nodes.groups import pool_nodes
from berth.quota.machines import cluster_machines
from tests.small_fleets import ZONE, flavor, fleet_with, own_cluster, plan, pool, quota

KEY = "projects/keys/locations/us-central1/keyRings/gke/cryptoKeys/{}"
CPU: dict[str, Any] = {"nodes": 3, "zone": ZONE, "acceptZone": True}


def fleet(machine: str, **keys: Any) -> dict[str, Any]:
    """A fleet with one more pool, `cpu`, and a queue that is guaranteed all of it."""
    guaranteed = {"flavors": [{"pool": "cpu", "guaranteed": "all"}]}
    changes = {"pools.cpu": {"machineType": machine, **CPU, **keys}, "teams.vision.queues.cpu": guaranteed}
    return fleet_with(changes)


# --- threads ----------------------------------------------------------------------------------------------------------


def allocatable(vcpu: int) -> Fraction:
    """The milli-cpu that GKE's page leaves of a node: all but 6 % of a core, 1 %, 0.5 %, 0.5 %, 0.25 %, …"""
    parts = [60, 10, 5, 5, *(Fraction(5, 2) for _ in range(vcpu))][:vcpu]
    return vcpu * 1000 - Fraction(sum(parts))


@pytest.mark.parametrize("machine", ["n2-standard-8", "c3-standard-176", "c4d-standard-384"])
def test_one_thread_a_core_halves_what_jobs_have_and_not_what_is_paid_for(machine: str) -> None:
    made, vcpu = plan(fleet(machine, threadsPerCore=1)), int(machine.rpartition("-")[2])
    (group,) = pool_nodes(made, pool(made, "cpu"))
    assert group.allocatable["cpu"] == int(allocatable(vcpu // 2))
    cores = int(allocatable(vcpu // 2) - 500) // 1000
    assert pool(made, "cpu").accelerators.max == 3 * cores
    assert [each.vcpus for each in cluster_machines(made) if each.pool == "cpu"] == [vcpu]


@pytest.mark.parametrize("machine", ["h4d-standard-192", "c4a-standard-16", "h3-standard-88"])
def test_a_core_with_one_thread_stays_whole(machine: str) -> None:
    with_key, without = plan(fleet(machine, threadsPerCore=1)), plan(fleet(machine))
    assert pool(with_key, "cpu").accelerators == pool(without, "cpu").accelerators


def test_gpus_come_with_half_of_the_cores() -> None:
    """The guarantee of 4 of 8 L4 is 48 of 96 vCPUs, and 24 with one thread a core."""
    whole, half = (plan(fleet_with(changes)) for changes in ({}, {"pools.l4.threadsPerCore": 1}))
    cpu = [quota(made, "vision-urgent", "l4", "cpu").nominal for made in (whole, half)]
    assert (cpu[0], cpu[1] * 2) == (48_000, 48_000)


# --- GKE Sandbox ------------------------------------------------------------------------------------------------------


@pytest.fixture
def lint(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Lint a job of a sandboxed pool: what `berth workload` writes, or that without its runtime class."""
    monkeypatch.chdir(tmp_path)
    Path("Pulumi.yaml").write_text("name: berth\nruntime: python\n", encoding="utf-8")
    values = {"config": {"berth:fleet": fleet("n2-standard-8", sandbox="gvisor")}}
    Path("Pulumi.test.yaml").write_text(json.dumps(values), encoding="utf-8")

    def run(queue_name: str, *, runtime_class: bool) -> tuple[int, str]:
        made = CliRunner().invoke(app, ["workload", "test", "vision", queue_name, "--image", "busybox"])
        assert made.exit_code == 0, made.output
        lines = [line for line in made.output.splitlines() if "runtimeClassName" not in line]
        if runtime_class:
            at = next(index for index, line in enumerate(lines) if line.strip() == "containers:")
            indent = lines[at].partition("c")[0]
            lines.insert(at, f"{indent}runtimeClassName: gvisor")
        Path("job.yaml").write_text("\n".join(lines), encoding="utf-8")
        result = CliRunner().invoke(app, ["lint", "test", "job.yaml", "--team", "vision"])
        return result.exit_code, result.output

    return run


def test_a_sandbox_takes_the_pods_of_its_class_alone(lint: Any) -> None:
    code, output = lint("cpu", runtime_class=True)
    assert (code, "error" in output) == (0, False), output
    code, output = lint("cpu", runtime_class=False)
    assert code == 1
    assert (
        "the nodes of flavor 'cpu' take only pods of GKE Sandbox; write runtimeClassName: gvisor [no-nodes]" in output
    )


def test_a_class_of_a_sandbox_finds_no_other_nodes(lint: Any) -> None:
    code, output = lint("urgent", runtime_class=True)
    assert code == 1
    assert "no node of flavor 'l4' has sandbox.gke.io/runtime: 'gvisor'; they do not have this label" in output
    assert lint("urgent", runtime_class=False)[0] == 0


def test_workload_writes_the_class_that_the_queue_needs(lint: Any) -> None:
    made = CliRunner().invoke(app, ["workload", "test", "vision", "cpu", "--image", "busybox"]).output
    assert made.count("runtimeClassName: gvisor") == 1
    assert "runtimeClassName" not in CliRunner().invoke(app, ["workload", "test", "vision", "urgent"]).output


def test_no_flavor_tolerates_the_taint_of_a_sandbox() -> None:
    made = plan(fleet("n2-standard-8", sandbox="gvisor"))
    sandbox = catalog.taints().sandbox
    assert sandbox in pool(made, "cpu").taints
    assert sandbox.key not in {each.key for each in flavor(made, "cpu").tolerations}
    assert flavor(made, "cpu").node_labels[sandbox.key] == "gvisor"


# --- keys of Cloud KMS ------------------------------------------------------------------------------------------------


def test_the_cluster_s_key_encrypts_every_boot_disk_but_those_of_a_pool_with_its_own() -> None:
    changes = {
        "cluster.bootDiskKmsKey": KEY.format("all"),
        "pools.l4.bootDiskKmsKey": KEY.format("l4"),
        "cluster.nodeAutoProvisioning": {"cpu": {"max": 8000}, "memory": {"max": 80000}},
    }
    made = plan(fleet_with(changes))
    pools = [each for pool in made.own_pools for each in pool.node_pools] + [made.system_pool]
    keys = {
        each.name: node_pool(each, cluster="c", location="l", service_account="s").arguments["node_config"][
            "boot_disk_kms_key"
        ]
        for each in pools
        if each is not None
    }
    assert keys.pop("l4") == KEY.format("l4")
    assert set(keys.values()) == {KEY.format("all")}
    assert {"system", "v5e-2x4-1"} <= keys.keys()
    sent = cluster(own_cluster(made), network="n", subnetwork="s", node_service_account="a").arguments
    defaults = sent["cluster_autoscaling"]["auto_provisioning_defaults"]
    assert {defaults["boot_disk_kms_key"], sent["node_config"]["boot_disk_kms_key"]} == {KEY.format("all")}


@pytest.mark.parametrize("written", [{"state": "DECRYPTED"}, {"keyName": KEY.format("etcd")}, None])
def test_encryption_is_sent_as_it_is_written(written: dict[str, str] | None) -> None:
    made = own_cluster(plan(fleet_with({"cluster.databaseEncryption": written} if written else {})))
    sent = cluster(made, network="n", subnetwork="s", node_service_account="a").arguments.get("database_encryption")
    given = written and {"state": "ENCRYPTED", "key_name": written.get("keyName"), **written}
    assert sent == (given and {key: given[key] for key in ("state", "key_name") if given[key]})
