"""An existing GKE cluster: machines and queues are created in it, and it is looked up and never changed."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

import grpc
import pulumi_gcp as gcp
import pytest
from msgspec.structs import replace
from typer.testing import CliRunner

from berth.cli import app
from berth.cli.preview.live_cluster import answer_function
from berth.engine import SECRET, Preview, ProgramError, record_program, run_program
from berth.evaluate import evaluate_values
from berth.plan.fleet import ExistingGkeClusterPlan
from berth.plan.gke import AutoProvisioningPlan, CheckpointingPlan, ResourceLimit
from berth.rules.gke.live_cluster import LiveCluster, contradictions
from stacks.live_cluster import look_up_cluster
from tests.engine import both_modes
from tests.stack_files import ROOT, fleet_values, plan, resources, run_stack

EXAMPLE = "existing-gke"


def run_with(value: dict[str, Any], preview: bool = False, **answers: Any) -> Preview:
    """Run the program on a fleet; GKE answers what the plan states, except for `answers`."""
    result = evaluate_values("mine", value)
    assert [problem.line() for problem in result.faults] == []

    def answer(token: str, arguments: Mapping[str, object]) -> Mapping[str, object]:
        return {**answer_function(result.fleet_plan, token, arguments), **answers}

    return run_program(ROOT, "mine", value, {"pulumi:disable-default-providers": ["*"]}, preview=preview, invoke=answer)


# --- what is made -----------------------------------------------------------------------------------------------------


@both_modes
def test_pools_and_objects_are_created_and_the_cluster_is_unchanged(preview: bool) -> None:
    types = {r.type for r in resources(EXAMPLE, preview)}
    assert "gcp:container/nodePool:NodePool" in types
    assert "kubernetes:kueue.x-k8s.io/v1beta2:ClusterQueue" in types
    untouched = ("container/cluster:", "compute/network:", "projects/service:", "compute/router", "compute/firewall")
    assert [each for each in types if any(part in each for part in untouched)] == []


def test_node_pools_have_the_names_of_the_pattern_and_are_in_the_cluster() -> None:
    pools = [r for r in resources(EXAMPLE, False) if r.type == "gcp:container/nodePool:NodePool"]
    assert {r.name: r.inputs["name"] for r in pools} == {
        "v5e-1-pool": "nodepool1",
        "v5e-2-pool": "nodepool2",
        "v5e-3-pool": "nodepool3",
        "dws-pool": "dws",
    }
    assert {(r.inputs["cluster"], r.inputs["location"]) for r in pools} == {("research", "us-central1")}


def test_project_and_region_are_those_of_the_cluster() -> None:
    fleet = plan(EXAMPLE)
    assert (fleet.project, fleet.region, fleet.services, fleet.system_pool) == ("my-project", "us-central1", (), None)


def test_a_zonal_cluster_is_in_the_region_of_its_zone() -> None:
    value = fleet_values(EXAMPLE)
    value["cluster"]["existing"]["location"] = "us-central1-b"
    result = evaluate_values("mine", value)
    assert result.fleet_plan is not None
    assert result.fleet_plan.region == "us-central1"
    pools = [r for r in run_with(value).resources if r.type == "gcp:container/nodePool:NodePool"]
    assert {r.inputs["location"] for r in pools} == {"us-central1-b"}


def look_up(**stated: Any) -> str:
    """Return the kubeconfig of the look-up, which is a secret in a stack."""
    cluster = plan(EXAMPLE).cluster
    assert isinstance(cluster, ExistingGkeClusterPlan)
    kubeconfigs: list[str] = []

    def build() -> None:
        provider = gcp.Provider("google", project="my-project")
        kubeconfigs.append(look_up_cluster(replace(cluster, **stated), provider).kubeconfig)

    answer = partial(answer_function, plan(EXAMPLE))
    record_program(build, project="berth", stack="test", config={}, invoke=answer)
    return kubeconfigs[0]


def test_the_kubeconfig_has_the_address_that_gke_answers_and_no_credentials() -> None:
    kubeconfig = json.loads(look_up())
    assert kubeconfig["clusters"][0]["cluster"]["server"] == "https://192.0.2.1"
    assert set(kubeconfig["users"][0]["user"]) == {"exec"}
    (provider,) = (r for r in run_stack(EXAMPLE, False).resources if r.type == "pulumi:providers:kubernetes")
    assert provider.inputs["clusterIdentifier"] == "my-project/us-central1/research"
    assert provider.inputs["kubeconfig"] == SECRET


def test_the_dns_endpoint_is_used_where_it_is_stated() -> None:
    assert json.loads(look_up(dns_endpoint=True))["clusters"][0]["cluster"] == {
        "server": "https://research.gke.example"
    }


def test_an_adopted_pool_keeps_what_its_creation_chose() -> None:
    value = fleet_values(EXAMPLE)
    value["pools"]["v5e"]["adopted"] = True
    pools = {r.name: r for r in run_with(value).resources if r.type == "gcp:container/nodePool:NodePool"}
    kept = {"nodeConfig.oauthScopes", "nodeConfig.serviceAccount", "nodeConfig.reservationAffinity"}
    assert kept <= set(pools["v5e-1-pool"].ignore_changes)
    assert kept.isdisjoint(pools["dws-pool"].ignore_changes)


def test_no_account_of_nodes_is_made_where_all_pools_are_adopted() -> None:
    value = fleet_values(EXAMPLE)
    for pool in value["pools"].values():
        pool.pop("driverVersion", None)
        pool["adopted"] = True
    assert not [r for r in run_with(value).resources if r.type.startswith("gcp:serviceaccount")]


# --- the look-up ------------------------------------------------------------------------------------------------------


def test_every_contradiction_is_one_line_and_nothing_is_made() -> None:
    with pytest.raises(ProgramError) as error:
        run_with(
            fleet_values(EXAMPLE),
            nodeLocations=["us-central1-a"],
            releaseChannels=[{"channel": "STABLE"}],
            masterVersion="1.30.5-gke.100",
            datapathProvider="LEGACY_DATAPATH",
            workloadIdentityConfigs=[],
            monitoringConfigs=[],
        )
    lines = [line.strip() for line in str(error.value).split("\n")]
    assert lines[0].endswith("cluster 'research' is not what the stack file states or needs; nothing was changed:")
    assert lines[1:] == [
        "cluster.datapathProvider: 'advanced', but the cluster has legacy; write datapathProvider: legacy",
        "cluster.zones: '[us-central1-a, us-central1-b, us-central1-c]', but the cluster has [us-central1-a]; write "
        "zones: [us-central1-a]",
        "cluster.releaseChannel: 'rapid', but the cluster has stable; write releaseChannel: stable",
        "cluster.version: '1.35', but the cluster has 1.30.5-gke.100; write version: \"1.30\", or upgrade the cluster",
        "new nodes of pools dws and v5e need Workload Identity, and the cluster does not have it; enable it: "
        "gcloud container clusters update research --location us-central1 --workload-pool my-project.svc.id.goog",
        "metrics of the managed backend of monitoring need managed collection of Prometheus metrics, and the cluster "
        "does not have it; enable it: gcloud container clusters update research --location us-central1 "
        "--enable-managed-prometheus, or write monitoring.backends: []",
    ]


def test_an_autopilot_cluster_given_pools_is_refused() -> None:
    with pytest.raises(ProgramError, match=r"cluster\.mode: 'standard', but the cluster has autopilot; write mode: a"):
        run_with(fleet_values(EXAMPLE), enableAutopilot=True)


class NotFound(grpc.RpcError):
    """What the engine answers where the provider has an error."""

    def code(self) -> grpc.StatusCode:
        return grpc.StatusCode.UNKNOWN

    def details(self) -> str:
        return "googleapi: Error 404: Not found"


def test_a_missing_cluster_is_one_line_with_what_to_check() -> None:
    def refuse(token: str, arguments: Mapping[str, object]) -> Mapping[str, object]:
        raise NotFound

    config = {"pulumi:disable-default-providers": ["*"]}
    with pytest.raises(ProgramError) as error:
        run_program(ROOT, "mine", fleet_values(EXAMPLE), config, preview=False, invoke=refuse)
    text = str(error.value)
    assert "no answer about cluster 'research' in us-central1 of project my-project" in text
    assert "gcloud container clusters describe research --location us-central1 --project my-project" in text


PLAN = ExistingGkeClusterPlan(name="c", project="p", location="us-east1", workload_pool="p.svc.id.goog")
LIVE = LiveCluster(
    mode="standard",
    datapath="advanced",
    zones=("us-east1-b",),
    release_channel="REGULAR",
    version="1.35.2-gke.1",
    workload_pool="p.svc.id.goog",
    limits={"cpu": 100, "memory": 400, "nvidia-l4": 8},
    pod_range_names=("more-pods", "pods"),
    service_range_name="services",
    service_range="34.118.224.0/20",
    confidential_nodes=None,
    security_group=None,
    multi_networking=False,
    dns_endpoint=False,
    secret_manager=False,
    managed_prometheus=True,
    add_ons=("gcs-fuse",),
)
CHECKPOINTS = CheckpointingPlan(bucket="b", machine_type="ct6e-standard-4t", memory=1, member="")


def limits(**maxima: int) -> AutoProvisioningPlan:
    entries = (ResourceLimit(resource=k.replace("_", "-"), minimum=0, maximum=v) for k, v in maxima.items())
    return AutoProvisioningPlan(profile="BALANCED", limits=tuple(entries), zones=(), disk_type="pd-balanced")


@pytest.mark.parametrize(
    ("stated", "expected"),
    [
        ({}, None),
        ({"pod_range_name": "more-pods"}, None),
        (
            {"pod_range_name": "gke-pods"},
            r"cluster\.network\.podRangeName: 'gke-pods', but the cluster has more-pods or pods; wr",
        ),
        ({"service_range_name": "svc"}, r"cluster\.network\.serviceRangeName: 'svc', but the cluster has services"),
        ({"service_range": "10.96.0.0/12"}, r"serviceCidrBlock: '10\.96\.0\.0/12', .*: 34\.118\.224\.0/20$"),
        ({"version": "1.35"}, None),
        ({"version": "1.36"}, r"version: '1\.36', but the cluster has 1\.35\.2-gke\.1; write version: \"1\.35\""),
        ({"zones": ("us-east1-b",)}, None),
        ({"auto_provisioning": limits(cpu=100, memory=400, nvidia_l4=8)}, None),
        ({"auto_provisioning": limits(nvidia_l4=9)}, r"accelerators\.nvidia-l4: '9', but the cluster's limit is 8"),
        ({"auto_provisioning": limits(nvidia_t4=1)}, r"accelerators\.nvidia-t4: '1', but the cluster's limit is 0"),
        ({"auto_provisioning": limits(cpu=101)}, r"nodeAutoProvisioning\.cpu: '101', but .* 100; write at most 100"),
        ({"confidential_nodes": "SEV"}, r"confidentialNodes: 'SEV', but the cluster has none; remove confid"),
        ({"dns_endpoint": True}, r"dnsEndpoint: 'true', but the cluster has none; remove dnsEndpoint"),
        ({"storage_drivers": ("gcs-fuse",)}, None),
        (
            {"storage_drivers": ("gcs-fuse", "lustre")},
            r"cluster\.storageDrivers: 'lustre' is off in the cluster; ask its",
        ),
        ({"checkpointing": CHECKPOINTS}, r"cluster\.checkpointing: 'checkpointing' is off in the cluster"),
        ({"needs": {"multi_networking": "networking of pools a3"}}, r"networking of pools a3 need multi-networking"),
        ({"needs": {"secret_manager": "the secrets of team x"}}, r"update c --location us-east1 --enable-secret-man"),
        ({"needs": {"managed_prometheus": "monitoring"}}, None),
        ({"workload_pool": "q.svc.id.goog", "needs": {"workload_pool": "pool l4"}}, r"has p\.svc.* instead of q\.svc"),
        ({"security_group": "gke-security-groups@a.example"}, r"need Google Groups for RBAC .* the cluster has none"),
    ],
)
def test_a_contradiction_names_both_sides_and_the_remedy(stated: dict[str, Any], expected: str | None) -> None:
    lines = contradictions(replace(PLAN, **stated), LIVE)
    assert len(lines) == (expected is not None)
    assert not expected or re.search(expected, lines[0]), lines


def test_node_auto_provisioning_that_is_off_contradicts_stated_limits() -> None:
    (line,) = contradictions(replace(PLAN, auto_provisioning=limits(cpu=1)), replace(LIVE, limits=None))
    assert line.startswith("cluster.nodeAutoProvisioning: node auto-provisioning of the cluster is off")


def test_offline_verbs_use_no_credentials(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", str(tmp_path / "none.json"))
    monkeypatch.chdir(ROOT)
    for verb in ("check", "plan", "preview", "render", "quota"):
        assert CliRunner().invoke(app, [verb, "stacks/examples/existing-gke.yaml"]).exit_code == 0, verb
