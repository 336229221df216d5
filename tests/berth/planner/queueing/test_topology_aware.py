"""Topology-aware flavors, from the stack file to Kueue's objects; and where Kueue's faults are said to come from."""

from __future__ import annotations

from typing import Any

import pytest

from berth import catalog
from berth.manifests.fleet import all_manifests
from berth.plan.fleet import FleetPlan
from berth.planner import plan_fleet
from berth.spec.parse import parse_fleet
from tests.small_fleets import ZONE, fleet_of_pools, fleet_with
from tests.small_fleets import plan as small_plan
from tests.stack_files import every_stack, fleet_values

SLICE = {"machineType": "ct6e-standard-4t", "topology": "4x4", "slices": 2, "zone": ZONE}
RACK = {"machineType": "a3-ultragpu-8g", "nodes": 4, "zone": ZONE}


def planned(**pools: dict[str, Any]) -> FleetPlan:
    """The plan of these pools, each of them topology-aware."""
    return small_plan(fleet_of_pools({name: {**pool, "topologyAware": True} for name, pool in pools.items()}))


@pytest.mark.parametrize("name", [n for n, m in catalog.machines().items() if m.topology_levels])
def test_the_levels_of_a_topology_are_those_of_the_machine(name: str) -> None:
    """GKE labels slices by node pool, machines on one network by block, sub-block and host; a node is the narrowest."""
    levels = catalog.machines()[name].topology_levels
    assert levels[-1] == "kubernetes.io/hostname"
    tpu = catalog.machines()[name].kind == "tpu"
    assert ("cloud.google.com/gce-topology-block" in levels) is not tpu
    assert levels[0] == ("cloud.google.com/gke-nodepool" if tpu else "cloud.google.com/gce-topology-block")


def test_the_name_of_a_topology_has_its_levels() -> None:
    plan = planned(v6e=SLICE, h200=RACK, b200={**RACK, "machineType": "a4-highgpu-8g"})
    rack = "gce-topology-block-gce-topology-subblock-gce-topology-host-hostname"
    assert [t.name for t in plan.topologies] == [rack, "gke-nodepool-hostname"]
    assert {f.name: f.topology for f in plan.flavors} == {"v6e": "gke-nodepool-hostname", "h200": rack, "b200": rack}


def test_a_topology_comes_before_the_flavor_that_names_it() -> None:
    """In the stream that kubectl applies, as in the program."""
    manifests = list(all_manifests(planned(v6e=SLICE)))
    kinds = [str(manifest["kind"]) for manifest in manifests]
    assert kinds.index("Topology") < kinds.index("ResourceFlavor")
    (flavor,) = (m for m in manifests if m["kind"] == "ResourceFlavor")
    (topology,) = (m for m in manifests if m["kind"] == "Topology")
    specs: list[Any] = [flavor["spec"], topology["spec"]]
    assert specs[0]["topologyName"] == "gke-nodepool-hostname" and specs[0]["nodeLabels"]
    assert specs[1]["levels"] == [
        {"nodeLabel": "cloud.google.com/gke-nodepool"}, {"nodeLabel": "kubernetes.io/hostname"},
    ]  # fmt: skip


def test_a_flavor_has_no_topology_by_default() -> None:
    plan = small_plan(fleet_of_pools({"v6e": SLICE}))
    assert (plan.topologies, [f.topology for f in plan.flavors]) == ((), [None])


@every_stack
def test_every_kueue_object_has_its_place_in_the_stack_file(stack: str) -> None:
    """A fault without a place is a search."""
    planned = plan_fleet(stack, parse_fleet(fleet_values(stack), []))
    assert planned is not None
    plan = planned.plan
    doors = [("local queue", f"{d.namespace}/{d.name}") for q in plan.cluster_queues for d in q.local_queues]
    named = {
        "flavor": plan.flavors, "topology": plan.topologies, "cohort": plan.cohorts, "priority": plan.priorities,
        "cluster queue": plan.cluster_queues, "admission check": plan.admission_checks,
        "provisioning config": plan.provisioning_configs,
    }  # fmt: skip
    things = doors + [(kind, each.name) for kind, plans in named.items() for each in plans]
    assert things and [thing for thing in things if not planned.origins.get(thing)] == []


# --- nodes near each other that GKE makes -----------------------------------------------------------------------------


def test_auto_provisioned_compact_nodes_are_grouped_per_job_and_not_per_flavor() -> None:
    """Each job selects a placement group of its own; a flavor's label would place all jobs in one group."""
    limits = {"cpu": {"max": 2000}, "memory": {"max": 20000}, "accelerators": {"nvidia-tesla-a100": 24}}
    near = {"machineType": "a2-highgpu-1g", "nodes": {"max": 8}, "autoProvisioned": True, "compactPlacement": True}
    pools = {"near": near, "far": {**near, "machineType": "a2-highgpu-2g", "compactPlacement": False}}
    plan = small_plan(fleet_with({"cluster.nodeAutoProvisioning": limits}, fleet_of_pools(pools)))
    key = "cloud.google.com/gke-placement-group"
    assert all(key not in f.node_labels for f in plan.flavors)
    assert {pool.name: pool.grouped for pool in plan.pools} == {"far": False, "near": True}
    own = small_plan(fleet_of_pools({"near": {**near, "autoProvisioned": False, "zone": ZONE}}))
    (pool,) = own.pools[0].node_pools
    assert pool.placement is not None and not own.pools[0].grouped
    assert key not in own.flavors[0].node_labels
