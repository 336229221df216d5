"""Pools without accelerators: their quotas, computed a second time, and which nodes their jobs run on."""

from __future__ import annotations

from typing import Any

import pytest

from berth.cli.render.nodes import simulated_nodes
from berth.cost.fleet import fleet_cost
from berth.cost.prices import Prices
from berth.manifests import kueue
from berth.plan.fleet import FleetPlan
from berth.quota.required import required_quotas
from tests import stack_files
from tests.small_fleets import fleet_with
from tests.small_fleets import plan as plan_of

GIB, MIB = 2**30, 2**20


@pytest.fixture(scope="module")
def plan() -> FleetPlan:
    return stack_files.plan("cpu-batch")


def test_capacity_counts_the_whole_cores_of_each_node(plan: FleetPlan) -> None:
    """An n2-standard-32 has 31.85 cores by GKE's page, a c3-standard-88 87.71, and a c2d-standard-112 111.65."""
    capacity = {flavor.name: (flavor.capacity.min, flavor.capacity.max, flavor.noun) for flavor in plan.flavors}
    assert capacity == {
        "n2-reserved": (4 * 31, 4 * 31, "cores"),
        "n2-on-demand": (0, 8 * 31, "cores"),
        "c3-spot": (0, 20 * 87, "cores"),
        "c2d": (0, 2 * 111, "cores"),
    }


def test_quotas_are_the_stated_cores_with_their_memory(plan: FleetPlan) -> None:
    """Per core of an n2-standard-32: 128 GiB, less 9.32 GiB of GKE, 100 MiB and 1 GiB, divided by 31, in whole MiB.

    And its share of 90 pods, rounded down: three, one and four nodes of the n2, and 10 c3 of 87 cores.
    """
    n2, c3 = 3884, 3967  # MiB
    assert int(((128 - 9.32 - 1) * 1024 - 100) / 31) == n2
    assert int((352 - 1 - 0.8 - 0.8 - 6.72 - 224 * 0.02 - 1) * 1024 - 100) // 87 == c3
    queue = next(q for q in plan.cluster_queues if q.name == "simulation-batch")
    manifest: dict[str, Any] = dict(kueue.cluster_queue(queue))
    (group,) = manifest["spec"]["resourceGroups"]
    assert group["coveredResources"] == ["cpu", "memory", "pods"]
    assert [_amounts(entry) for entry in group["flavors"]] == [
        ("n2-reserved", "93", "31", 93 * n2, 31 * n2, 3 * 90, 90),
        ("n2-on-demand", "124", "124", 124 * n2, 124 * n2, 4 * 90, 4 * 90),
        ("c3-spot", "870", None, 870 * c3, None, 10 * 90, None),
    ]


def _amounts(entry: dict[str, Any]) -> tuple[object, ...]:
    cpu, memory, pods = entry["resources"]
    limits = (memory["nominalQuota"], memory.get("borrowingLimit"))
    mib = [None if text is None else _mib(text) for text in limits]
    return entry["name"], cpu["nominalQuota"], cpu.get("borrowingLimit"), *mib, *_counts(pods)


def _counts(pods: dict[str, Any]) -> tuple[int | None, ...]:
    assert pods["name"] == "pods"
    limits = (pods["nominalQuota"], pods.get("borrowingLimit"))
    return tuple(None if text is None else int(text) for text in limits)


def _mib(text: str) -> int:
    return int(text[:-2]) * (1024 if text.endswith("Gi") else 1)


def test_a_whole_node_of_quota_fits_on_a_node(plan: FleetPlan) -> None:
    """A pod with all cores that quota counts for a node fits on it with the DaemonSets."""
    nodes = {node["metadata"]["labels"]["cloud.google.com/gke-nodepool"]: node for node in _nodes(plan)}
    for pool in plan.pools:
        allocatable = nodes[pool.name]["status"]["allocatable"]
        cores = pool.accelerators.max // pool.nodes.max
        assert set(allocatable) == {"cpu", "memory", "pods", "ephemeral-storage"}
        assert cores * 1000 + 500 <= int(allocatable["cpu"].removesuffix("m")) < (cores + 1) * 1000 + 500


def _nodes(plan: FleetPlan) -> list[dict[str, Any]]:
    return [dict(node) for node in simulated_nodes(plan)]


def test_each_flavor_selects_only_the_nodes_of_its_pool(plan: FleetPlan) -> None:
    nodes = _nodes(plan)
    for flavor in plan.flavors:
        tolerated = {(t.key, t.value) for t in flavor.tolerations}
        selected = {
            node["metadata"]["labels"]["cloud.google.com/gke-nodepool"]
            for node in nodes
            if flavor.node_labels.items() <= node["metadata"]["labels"].items()
            and all((taint["key"], taint["value"]) in tolerated for taint in node["spec"]["taints"])
        }
        assert selected == set(flavor.pools)


def test_no_pod_of_the_system_runs_on_the_nodes_and_no_job_on_the_system_pool(plan: FleetPlan) -> None:
    """Each node has a taint, and each flavor selects a label that the system pool lacks."""
    assert plan.system_pool is not None
    for pool in plan.pools:
        (node_pool,) = pool.node_pools
        assert [(t.key, t.value, t.effect) for t in node_pool.taints] == [
            ("berth.dev/capacity", pool.capacity, "NoSchedule")
        ]
        assert node_pool.labels["berth.dev/capacity"] == pool.capacity
        assert node_pool.gpu is None
    assert "berth.dev/capacity" not in plan.system_pool.labels
    assert all("berth.dev/capacity" in flavor.node_labels for flavor in plan.flavors)


def test_google_counts_the_cores_of_each_series(plan: FleetPlan) -> None:
    """vCPUs of whole machines, by series and by capacity; the system pool is 6 machines of 4 vCPUs at most."""
    amounts = {each.metric.name: (each.minimum, each.maximum) for each in required_quotas(plan)}
    assert amounts["N2_CPUS"] == (4 * 32, (4 + 8) * 32)
    assert amounts["PREEMPTIBLE_CPUS"] == (0, 20 * 88)
    assert amounts["C2D_CPUS"] == (0, 2 * 112)
    assert amounts["CPUS"] == (4, 6 * 4)
    assert not [name for name in amounts if "GPU" in name]


def test_a_core_costs_its_share_of_the_machine(plan: FleetPlan) -> None:
    hourly = {
        ("n2-standard-32", "reservation"): 31,
        ("n2-standard-32", "on-demand"): 62,
        ("c3-standard-88", "spot"): 87,
        ("c2d-standard-112", "on-demand"): 111,
        ("e2-standard-4", "on-demand"): 1,
    }
    cost = fleet_cost(plan, Prices("prices.yaml", "USD", hourly))  # type: ignore[arg-type]
    assert cost.teams["simulation"].committed == 93 * 1 + 124 * 2 + 870 * 1 + 222 * 1
    assert cost.teams["rendering"].committed == 31 * 1 + 124 * 2 + 870 * 1
    assert cost.fleet.committed == 4 * 31 + 1


def test_gpus_and_cores_in_one_queue() -> None:
    """A job without GPUs may use the cores, and one with GPUs may not: the flavor of cores has no GPU quota."""
    queues = {"both": {"flavors": [{"pool": "n2", "guaranteed": "all"}, {"pool": "l4", "guaranteed": 4}]}}
    n2 = {"machineType": "n2-standard-8", "nodes": 2, "zone": "us-central1-a"}
    planned = plan_of(fleet_with({"pools.n2": n2, "teams.vision.queues": queues}))
    queue = next(each for each in planned.cluster_queues if each.name == "vision-both")
    assert queue.covered_resources == ("cpu", "memory", "nvidia.com/gpu", "pods")
    cores, gpus = ({q.resource: q.nominal for q in entry.quotas} for entry in queue.flavors)
    assert (cores["cpu"], cores["nvidia.com/gpu"]) == (14_000, 0)
    assert gpus["nvidia.com/gpu"] == 4
    assert (cores["pods"], gpus["pods"]) == (2 * 90, 2 * 90)  # all pods of two nodes of 7 cores, and of two of 2 L4
