"""Every way to get machines, and what it makes of a node pool. All pools are built by one run for each mode."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any, cast

import pulumi
import pytest

from berth.plan.capacity import reservation_path
from components.gke.node_pool import NodePool
from components.gke.workload_policy import WorkloadPolicy
from tests.components.gke.capacity_plans import POLICY, POOLS
from tests.components.gke.plans import google
from tests.engine import RecordedResource, Run, both_modes, broken_rules, run, using

DWS = ["queued", "queued-slice", "flex", "flex-slice", "flex-hosts"]


@cache
def built(preview: bool = False) -> Run:
    """A program with every pool of the plans."""

    def build() -> None:
        provider = google()
        for key, plan in POOLS.items():
            NodePool(key, plan, cluster="dev", location="us-central1", service_account="n", opts=using(provider))

    return run(build, preview)


def pool(key: str) -> RecordedResource:
    return built().only_resource("container/nodePool:NodePool", f"{key}-pool")


def inputs_of(key: str) -> Mapping[str, Any]:
    return pool(key).inputs


def node(key: str) -> Mapping[str, Any]:
    return cast(Mapping[str, Any], inputs_of(key)["nodeConfig"])


@both_modes
def test_every_kind_of_pool_keeps_the_rules_of_every_component(preview: bool) -> None:
    assert broken_rules(built(preview)) == []


def test_a_preview_shows_exactly_the_inputs_of_an_update() -> None:
    known, shown = (
        {one.name: one.inputs for one in built(preview).resources_of("container/nodePool:NodePool")}
        for preview in (False, True)
    )
    assert known == shown


# --- the Dynamic Workload Scheduler -----------------------------------------------------------------------------------


def test_labels_are_those_of_the_plan_and_no_others() -> None:
    """The planner sets the labels of queued provisioning and of DRANET; a component chooses nothing."""
    assert inputs_of("queued")["queuedProvisioning"] == {"enabled": True}
    assert node("queued")["labels"] == {"cloud.google.com/gke-queued": "true"}
    assert "queuedProvisioning" not in inputs_of("flex")
    assert node("flex")["labels"] == dict(POOLS["flex"].labels)


@pytest.mark.parametrize("key", DWS)
def test_dws_pools_start_with_0_nodes_in_any_zone(key: str) -> None:
    assert inputs_of(key)["initialNodeCount"] == 0
    assert inputs_of(key)["autoscaling"]["locationPolicy"] == "ANY"
    assert "nodeCount" not in inputs_of(key)


@pytest.mark.parametrize("key", DWS)
def test_dws_uses_no_reservation_and_no_spot(key: str) -> None:
    assert node(key)["reservationAffinity"] == {"consumeReservationType": "NO_RESERVATION"}
    assert node(key)["spot"] is False


@pytest.mark.parametrize("key", DWS)
def test_repair_matches_the_plan(key: str) -> None:
    """The planner switches it off for DWS: a repair takes a node out of a job that was given all its nodes at once."""
    assert inputs_of(key)["management"] == {"autoRepair": False, "autoUpgrade": True}


@pytest.mark.parametrize("key", DWS)
def test_no_upgrade_settings_are_sent_where_the_plan_has_none(key: str) -> None:
    """GKE upgrades them in a way of its own; the provider has no word for it, and fills in what it finds."""
    assert "upgradeSettings" not in inputs_of(key)


@pytest.mark.parametrize(("key", "most"), [("queued-slice", 4), ("flex-slice", 4), ("flex-hosts", 3)])
def test_tpu_pools_of_dws_are_bounded_in_their_zone(key: str, most: int) -> None:
    """Bounds over all zones do not reach TPU pools of flex-start through this provider (GKE docs: DWS)."""
    assert inputs_of(key)["autoscaling"] == {"minNodeCount": 0, "maxNodeCount": most, "locationPolicy": "ANY"}


@pytest.mark.parametrize(("key", "output"), [("flex", "86400s"), ("flex-slice", "604800s"), ("queued", None)])
def test_the_run_duration_of_a_node_is_in_seconds(key: str, output: str | None) -> None:
    """The provider passes `7d` on, and Google refuses it after the preview was green."""
    assert node(key).get("maxRunDuration") == output


@pytest.mark.parametrize("key", ["queued", "flex"])
def test_only_flex_start_pools_set_flex_start(key: str) -> None:
    assert node(key)["flexStart"] is True
    assert "flexStart" not in node("compact")


def test_autoscaled_node_counts_per_zone_are_ignored() -> None:
    assert pool("flex-hosts").ignore_changes == ("initialNodeCount", "nodeCount")


# --- reservations -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("key", "kind"), [("any", "ANY_RESERVATION"), ("any-or-fail", "ANY_RESERVATION_THEN_FAIL")])
def test_open_reservations_are_used_by_the_type_of_consumption(key: str, kind: str) -> None:
    assert node(key)["reservationAffinity"] == {"consumeReservationType": kind}


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("shared", "projects/other/reservations/l4"),
        ("block", "a4/reservationBlocks/b1"),
        ("sub-block", "projects/other/reservations/a4/reservationBlocks/b1/reservationSubBlocks/s3"),
    ],
)
def test_a_reservation_of_any_form_is_one_value_under_one_key(key: str, value: str) -> None:
    assert node(key)["reservationAffinity"] == {
        "consumeReservationType": "SPECIFIC_RESERVATION",
        "key": "compute.googleapis.com/reservation-name",
        "values": [value],
    }


def test_a_reservation_path_has_the_shortest_form() -> None:
    assert reservation_path("r") == "r"
    assert reservation_path("r", project="p") == "projects/p/reservations/r"
    assert reservation_path("r", sub_block="s") == "r", "a sub-block lies in a block"


def test_reserved_nodes_set_no_host_maintenance_policy() -> None:
    assert "hostMaintenancePolicy" not in node("shared")


# --- placement --------------------------------------------------------------------------------------------------------


def test_gpu_nodes_have_compact_placement_without_a_topology() -> None:
    assert inputs_of("compact")["placementPolicy"] == {"type": "COMPACT"}
    assert pool("compact").replace_on_changes == ("placementPolicy",)


def test_a_tpu7x_slice_names_policy_and_topology_as_googles_blueprint_does() -> None:
    assert inputs_of("tpu7x")["placementPolicy"] == {
        "type": "COMPACT",
        "policyName": "dev-tpu7x-2x2x2",
        "tpuTopology": "2x2x2",
    }
    assert pool("tpu7x").replace_on_changes == ("placementPolicy", "nodeConfig.machineType", "nodeLocations")


def test_an_nvlink_domain_is_upgraded_as_a_whole() -> None:
    assert inputs_of("domain")["placementPolicy"] == {"type": "COMPACT", "policyName": "d"}
    assert inputs_of("domain")["upgradeSettings"] == {"strategy": "SURGE", "maxSurge": 0, "maxUnavailable": 18}


@both_modes
def test_a_slice_is_made_after_its_policy_and_deleted_before_it(preview: bool) -> None:
    def build() -> None:
        provider, plan = google(), POOLS["tpu7x"]
        policy = WorkloadPolicy(POLICY.key, POLICY, opts=using(provider))
        NodePool(
            "tpu7x",
            plan,
            cluster="dev",
            location="us-central1",
            service_account="n",
            placement_policy=policy.policy_name,
            opts=using(provider),
        )
        pulumi.export("policy", policy.policy_name)

    done = run(build, preview)
    policy, slices = (
        done.only_resource("compute/resourcePolicy:ResourcePolicy"),
        done.only_resource("container/nodePool:NodePool"),
    )
    assert broken_rules(done) == []
    assert policy.urn in slices.property_dependencies["placementPolicy"]
    assert cast(Any, slices.inputs["placementPolicy"])["policyName"] == done.exports["policy"] == "dev-tpu7x-2x2x2"


def test_a_workload_policy_has_the_topology_of_the_chips() -> None:
    done = run(lambda: WorkloadPolicy(POLICY.key, POLICY, opts=using(google())))
    one = done.only_resource("compute/resourcePolicy:ResourcePolicy")
    assert one.inputs["workloadPolicy"] == {"type": "HIGH_THROUGHPUT", "acceleratorTopology": "2x2x2"}
    assert (one.inputs["region"], one.delete_before_replace) == ("us-central1", True)


# --- how nodes are kept -----------------------------------------------------------------------------------------------


def test_upgrades_are_those_of_the_plan() -> None:
    assert inputs_of("surge")["upgradeSettings"] == {"strategy": "SURGE", "maxSurge": 2, "maxUnavailable": 1}


def test_repair_can_be_switched_off() -> None:
    assert inputs_of("no-repair")["management"] == {"autoRepair": False, "autoUpgrade": True}
