"""Placement policies of other tools are kept with their names, and those of Berth are imported."""

from __future__ import annotations

import json
from typing import Any

import pytest

from berth.adopt.api_objects import InvalidInventory
from berth.adopt.first_update import google_changes
from berth.adopt.google.import_ids import ImportIds
from berth.adopt.inventory import ClusterInventory, read_inventory
from berth.cli.adopt.answer import adopt_inventory
from berth.diff.resource_changes import compare_resources
from berth.engine.records import RecordedResource
from berth.google.fleet import google_resources
from berth.google.node_pool import workload_policy
from berth.plan.fleet import FleetPlan
from berth.resource import ResourceKind
from tests.gke_answers import files
from tests.small_fleets import faults, fleet_of_pools, plan

PLACE = {"zone": "us-central1-c"}
POOLS: dict[str, dict[str, Any]] = {
    "slices": {"machineType": "tpu7x-standard-4t", "topology": "2x2x2", "slices": 1, **PLACE},
    "domain": {"machineType": "a4x-highgpu-4g", "nodes": 18, "networking": "dranet", "acceptZone": True, **PLACE},
    "near": {"machineType": "a3-highgpu-8g", "nodes": 2, "compactPlacement": True, **PLACE},
    "v5e": {"machineType": "ct5lp-hightpu-4t", "topology": "2x4", "slices": 1, "zone": "us-central1-a"},
}
FLEET = fleet_of_pools(POOLS)


def _adopted(policies: dict[str, str], fleet: dict[str, Any] = FLEET) -> tuple[ClusterInventory, FleetPlan]:
    """Adopt the fleet after another tool gave its node pools these policies (start of a name → policy)."""
    answers = {name: json.loads(text) for name, text in files(plan(fleet), noise=True).items()}
    for node_pool in answers["node-pools.json"]:
        for start, policy in policies.items():
            if str(node_pool["name"]).startswith(start):
                node_pool.setdefault("placementPolicy", {})["policyName"] = policy
    inventory = read_inventory({name: json.dumps(each) for name, each in answers.items()})
    evaluation = adopt_inventory(inventory, "test")[2]
    assert [fault.line() for fault in evaluation.faults] == []
    assert evaluation.fleet_plan is not None
    return inventory, evaluation.fleet_plan


def _policies(fleet: FleetPlan) -> dict[str, str | None]:
    return {
        pool.name: each.placement.policy if each.placement else None
        for pool in fleet.own_pools
        for each in pool.node_pools
    }


def test_policies_of_another_tool_are_kept_by_name_and_no_other_is_created() -> None:
    names = {"slices": "cubes", "domain": "racks", "near": "together", "v5e": "v5e-policy"}
    _, fleet = _adopted(names)
    assert _policies(fleet) == names
    assert fleet.workload_policies == ()
    made = [each for each in google_resources(fleet) if each.kind == ResourceKind.NODE_POOL]
    inputs = {each.pool: each.inputs(next(iter(each.registrations().values())))[0] for each in made}
    assert {pool: each["placementPolicy"] for pool, each in inputs.items()} == {
        "slices": {"type": "COMPACT", "policyName": "cubes", "tpuTopology": "2x2x2"},
        "domain": {"type": "COMPACT", "policyName": "racks"},
        "near": {"type": "COMPACT", "policyName": "together"},
        "v5e": {"type": "COMPACT", "policyName": "v5e-policy", "tpuTopology": "2x4"},
    }


def test_policies_that_berth_made_are_imported() -> None:
    inventory, fleet = _adopted({})
    assert _policies(fleet) == {**_policies(plan(FLEET)), "near": None, "v5e": None}
    ids = ImportIds(inventory, fleet)

    kind = "gcp:compute/resourcePolicy:ResourcePolicy"
    inputs = [dict(workload_policy(each).arguments) for each in fleet.workload_policies]
    found = {
        ids.import_id(RecordedResource(urn="", type=kind, name="", parent=None, custom=True, inputs=each))
        for each in inputs
    }
    start = "projects/acme-ml-dev/regions/us-central1/resourcePolicies/test-"
    assert found == {f"{start}nvidia-gb200-1x72", f"{start}tpu7x-2x2x2"}


def test_another_policy_replaces_the_pool() -> None:
    old, new = (
        plan(fleet_of_pools({"slices": POOLS["slices"] | {"placementPolicy": each}})) for each in ("cubes", "others")
    )
    (change,) = compare_resources(old, new)
    assert (change.key, change.what) == ("slices-1", "replaced")


@pytest.mark.parametrize("pool", POOLS)
def test_gke_may_store_a_policy_without_its_type(pool: str) -> None:
    """The provider has no update of the type, so it is not compared."""
    fleet = plan(fleet_of_pools({pool: POOLS[pool] | {"placementPolicy": "cubes"}}))
    (made,) = (each for each in google_resources(fleet) if each.kind == ResourceKind.NODE_POOL)
    (registration,) = made.registrations().values()
    assert "placementPolicy.type" in registration.ignore_changes


def test_nodes_that_gke_creates_have_no_policy_of_their_own() -> None:
    pool = {"machineType": "a2-highgpu-1g", "nodes": {"max": 8}, "autoProvisioned": True, "placementPolicy": "cubes"}
    provisioned = {"nodeAutoProvisioning": {"cpu": {"max": 800}, "memory": {"max": 8000}}}
    found = faults(fleet_of_pools({"a100": pool}, cluster=provisioned))
    assert "gke-setting pools.a100.placementPolicy" in found


def _slices_by_policy(*policies: dict[str, Any]) -> ClusterInventory:
    """A TPU7x slice of two hosts that names its policy, and no topology, with the answers on policies."""
    pool = {"machineType": "tpu7x-standard-4t", "topology": "2x2x2", "slices": 1, **PLACE}
    answers = {name: json.loads(text) for name, text in files(plan(fleet_of_pools({"cube": pool})), noise=True).items()}
    (node_pool,) = (each for each in answers["node-pools.json"] if each["name"].startswith("cube"))
    node_pool["placementPolicy"] = {"policyName": "cubes"}
    answers["policies.json"] = list(policies)
    return read_inventory({name: json.dumps(each) for name, each in answers.items()})


def _policy(**content: object) -> dict[str, Any]:
    link = "https://www.googleapis.com/compute/v1/projects/acme-ml-dev/regions/us-central1/resourcePolicies/cubes"
    return {"name": "cubes", "selfLink": link, **content}


def test_a_topology_that_stands_only_in_the_policy_is_read_there() -> None:
    inventory = _slices_by_policy(_policy(workloadPolicy={"type": "HIGH_THROUGHPUT", "acceleratorTopology": "2x2x2"}))
    _, adopted, evaluation = adopt_inventory(inventory, "test")
    assert [fault.line() for fault in evaluation.faults] == []
    entry = adopted.fleet["pools"]["cube"]
    assert (entry["topology"], entry["placementPolicy"], entry["adopted"]) == ("2x2x2", "cubes", True)
    fleet = evaluation.fleet_plan
    assert isinstance(fleet, FleetPlan)
    assert list(google_changes(inventory, fleet)) == []
    (made,) = (each for each in google_resources(fleet) if each.pool == "cube")
    (registration,) = made.registrations().values()
    assert "placementPolicy.tpuTopology" in registration.ignore_changes  # GKE has none


def test_a_topology_of_a_policy_that_no_answer_has_is_asked_for() -> None:
    with pytest.raises(InvalidInventory) as error:
        _slices_by_policy()
    assert error.value.lines == (
        "node pool 'cube-2x2x2-1' states no topology, so that of placement policy 'cubes' counts, and no answer has "
        "it; add the answer of gcloud compute resource-policies list --filter region:us-central1 --format json",
    )


def test_a_policy_without_a_topology_leaves_single_hosts() -> None:
    inventory = _slices_by_policy(_policy(groupPlacementPolicy={"collocation": "COLLOCATED"}))
    _, adopted, _ = adopt_inventory(inventory, "test")
    assert [entry["topology"] for entry in adopted.fleet["pools"].values()] == ["2x2x1"]


# --- chips that a controller connects ---------------------------------------------------------------------------------

BLOCKS = {"machineType": "tpu7x-standard-4t", "topology": "4x4x4", "slices": 2}
DYNAMIC = {**BLOCKS, "capacity": {"reservation": "cubes"}}
CUBES = {"existing": True, "name": "cubes", "block": "b1", "machineType": "tpu7x-standard-4t", **PLACE, "count": 64}


def _answers_of(pools: dict[str, dict[str, Any]]) -> dict[str, Any]:
    fleet = fleet_of_pools(
        pools,
        reservations={"cubes": CUBES},
        operators=["slice-controller"],
        **{"cluster.releaseChannel": "rapid", "cluster.version": "1.36"},
    )
    return {name: json.loads(text) for name, text in files(plan(fleet), noise=True).items()}


def _modes(answers: dict[str, Any]) -> dict[str, tuple[str | None, str | None]]:
    """The way of slicing of each pool, and the policy that is not Berth's."""
    inventory = read_inventory({name: json.dumps(each) for name, each in answers.items()})
    _, adopted, evaluation = adopt_inventory(inventory, "test")
    assert [fault.line() for fault in evaluation.faults] == []
    pools = adopted.fleet["pools"]
    return {name: (pool.get("dynamicSlicing"), pool.get("placementPolicy")) for name, pool in pools.items()}


@pytest.mark.parametrize("mode", ["super-slicing", "sub-slicing"])
def test_pools_whose_chips_a_controller_connects_are_known_by_the_mode_of_their_policy(mode: str) -> None:
    """Slices of the same machines and topology that stay connected are not."""
    fixed = {**BLOCKS, **PLACE, "slices": 1, "taints": [{"key": "example.com/fixed", "value": "true"}]}
    answers = _answers_of({"cubes": {**DYNAMIC, "dynamicSlicing": mode}, "fixed": fixed})
    assert _modes(answers) == {"cubes": (mode, None), "fixed": (None, None)}


def test_a_pool_of_provision_only_that_no_flavor_selects_forms_slices_of_whole_blocks() -> None:
    answers = _answers_of({"cubes": {**DYNAMIC, "dynamicSlicing": "sub-slicing"}})
    answers["objects.json"]["items"] = []
    assert _modes(answers) == {"cubes": ("super-slicing", None)}


def test_a_provision_only_policy_of_another_tool_is_kept_by_name() -> None:
    answers = _answers_of({"cubes": {**DYNAMIC, "dynamicSlicing": "super-slicing"}})
    (policy,) = answers["placement-policies.json"]
    for node_pool in answers["node-pools.json"]:
        if "placementPolicy" in node_pool:
            node_pool["placementPolicy"]["policyName"] = "theirs"
    policy |= {"name": "theirs", "selfLink": policy["selfLink"].replace(policy["name"], "theirs")}
    assert _modes(answers) == {"cubes": ("super-slicing", "theirs")}


@pytest.mark.parametrize(
    ("deployments", "stated"),
    [
        (["slice-controller-controller-manager"], ["slice-controller"]),
        (["kuberay-operator", "slice-controller-controller-manager"], ["kuberay", "slice-controller"]),
        (["kuberay-operator"], None),
        ([], None),
    ],
)
def test_the_controller_that_forms_the_slices_is_stated_if_it_runs(deployments: list[str], stated: object) -> None:
    answers = _answers_of({"cubes": {**DYNAMIC, "dynamicSlicing": "super-slicing"}})
    answers["objects.json"]["items"] += [
        {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name, "namespace": "its-own"}}
        for name in deployments
    ]
    inventory = read_inventory({name: json.dumps(each) for name, each in answers.items()})
    _, adopted, evaluation = adopt_inventory(inventory, "test")
    assert adopted.fleet.get("operators") == stated
    assert ("no-slice-controller" in {each.code for each in evaluation.warnings}) == (stated is None)


def test_where_the_cluster_connects_chips_the_mode_of_a_policy_that_no_answer_has_is_asked_for() -> None:
    answers = _answers_of({"cubes": {**DYNAMIC, "slices": 1, "dynamicSlicing": "super-slicing"}})
    del answers["placement-policies.json"]
    with pytest.raises(InvalidInventory) as error:
        _modes(answers)
    assert error.value.lines == (
        "node pool 'cubes-4x4x4-1' has fixed slices, or those that the cluster's slice controller connects, as the "
        "mode of placement policy 'test-tpu7x-4x4x4-provision-only' says, and no answer has it; add the answer of "
        "gcloud compute resource-policies list --filter region:us-central1 --format json",
    )


def test_divided_slices_that_stay_connected_are_known_by_the_levels_of_their_topology() -> None:
    v6e = {"machineType": "ct6e-standard-4t", "topology": "8x8", "slices": 1, "zone": "us-central1-b"}
    assert _modes(_answers_of({"v6e": {**v6e, "dynamicSlicing": "sub-slicing"}})) == {"v6e": ("sub-slicing", None)}
