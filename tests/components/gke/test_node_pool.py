"""What a node pool asks of Google Cloud."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

import pulumi_gcp as gcp
import pytest
from msgspec.structs import replace

from berth.plan.gke import NodePoolPlan
from berth.plan.node_settings import DRAIN_FIRST, SURGE_ONE, Bounds
from berth.spec.machines.node_system import SurgeSpec
from components.gke.node_pool import NodePool
from components.gke.reservation import Reservation
from tests.components.gke.plans import L4, RESERVATION, SLICE, google
from tests.engine import RecordedResource, Run, both_modes, broken_rules, run, using

RESERVED = replace(L4, reservation="l4", nodes_per_zone=4, total_nodes=None, zones=("us-central1-a",))
ALL_PLANS = [
    L4,
    replace(L4, spot=True),
    RESERVED,
    SLICE,
    replace(SLICE, nodes_per_zone=None, total_nodes=Bounds(min=0, max=2)),
]


def built(plan: NodePoolPlan, preview: bool = False) -> Run:
    return run(lambda: made(plan, google()), preview)


def made(plan: NodePoolPlan, provider: gcp.Provider) -> NodePool:
    return NodePool(
        plan.key, plan, cluster="dev", location="us-central1", service_account="n@x.example", opts=using(provider)
    )


def pool(plan: NodePoolPlan, preview: bool = False) -> RecordedResource:
    return built(plan, preview).only_resource("container/nodePool:NodePool")


def node(plan: NodePoolPlan) -> Mapping[str, Any]:
    return cast(Mapping[str, Any], pool(plan).inputs["nodeConfig"])


@both_modes
@pytest.mark.parametrize("plan", ALL_PLANS)
def test_a_pool_keeps_the_rules_of_every_component(plan: NodePoolPlan, preview: bool) -> None:
    done = built(plan, preview)
    assert broken_rules(done) == []
    assert done.only_resource("berth:gke:NodePool").outputs == {"poolName": plan.name}


@both_modes
def test_the_same_plan_gives_equal_inputs_in_both_modes(preview: bool) -> None:
    """A pool depends on nothing that is computed, so a preview shows exactly what an update does."""
    assert pool(L4, preview).inputs == pool(L4).inputs


def test_a_reserved_pool_never_falls_back_to_on_demand() -> None:
    """Any other affinity lets Google give an ordinary, separately billed machine when the reservation is full."""
    assert node(RESERVED)["reservationAffinity"] == {
        "consumeReservationType": "SPECIFIC_RESERVATION",
        "key": "compute.googleapis.com/reservation-name",
        "values": ["l4"],
    }


@pytest.mark.parametrize("plan", [L4, replace(L4, spot=True), SLICE])
def test_a_pool_without_a_reservation_consumes_none(plan: NodePoolPlan) -> None:
    """Left out, the affinity means 'any open reservation that matches'; spot nodes and DWS refuse all others."""
    assert node(plan)["reservationAffinity"] == {"consumeReservationType": "NO_RESERVATION"}


@both_modes
def test_a_pool_is_created_after_its_reservation_and_deleted_first(preview: bool) -> None:
    """Google refuses to delete a reservation in use; the order comes from the name being taken as an output."""

    def build() -> None:
        provider = google()
        reservation = Reservation("l4", RESERVATION, opts=using(provider))
        NodePool(
            "pool",
            RESERVED,
            cluster="dev",
            location="us-central1",
            service_account="n@x.example",
            reservation=reservation.reservation_name,
            opts=using(provider),
        )

    done = run(build, preview)
    reservation, consumer = (
        done.only_resource("compute/reservation:Reservation"),
        done.only_resource("container/nodePool:NodePool"),
    )
    assert reservation.urn in consumer.property_dependencies["nodeConfig"]
    assert cast(Any, consumer.inputs["nodeConfig"])["reservationAffinity"]["values"] == ["l4"]


def test_a_multi_host_slice_is_placed_compactly_with_its_topology() -> None:
    assert pool(SLICE).inputs["placementPolicy"] == {"type": "COMPACT", "tpuTopology": "2x4"}


def test_a_multi_host_slice_is_deleted_before_it_is_replaced() -> None:
    """The provider never updates a topology, so the change has to replace; there is no second slice to build first."""
    one = pool(SLICE)
    assert one.delete_before_replace is True
    assert one.replace_on_changes == ("placementPolicy", "nodeConfig.machineType", "nodeLocations")


def test_only_slices_are_replaced_where_google_would_update_in_place() -> None:
    one = pool(L4)
    assert "placementPolicy" not in one.inputs
    assert one.replace_on_changes == ()


@pytest.mark.parametrize("plan", ALL_PLANS)
def test_a_replaced_pool_is_deleted_first(plan: NodePoolPlan) -> None:
    """Its name is fixed, so the engine's usual order would clash, and would ask for the accelerators twice."""
    assert pool(plan).delete_before_replace is True


@pytest.mark.parametrize("protect", [True, False])
def test_a_pool_is_protected_as_planned(protect: bool) -> None:
    assert pool(replace(SLICE, protect=protect)).protect is protect


def test_a_static_pool_has_its_nodes_in_every_zone_and_no_autoscaling() -> None:
    one = pool(RESERVED)
    assert one.inputs["nodeCount"] == 4
    assert {"autoscaling", "initialNodeCount"}.isdisjoint(one.inputs)
    assert "nodeCount" not in one.ignore_changes, "a change of size in the stack file must reach the pool"


def test_an_autoscaled_pool_is_bounded_over_all_zones_together() -> None:
    """Limits for each zone would triple what the owner wrote; Google refuses both kinds at once."""
    inputs = pool(L4).inputs
    assert inputs["autoscaling"] == {"totalMinNodeCount": 0, "totalMaxNodeCount": 24, "locationPolicy": "ANY"}
    assert "nodeCount" not in inputs


@pytest.mark.parametrize("plan", ALL_PLANS)
def test_the_count_at_creation_never_replaces_a_pool(plan: NodePoolPlan) -> None:
    """GKE rewrites it when the pool is resized, and for the provider a change of it is a replacement."""
    assert "initialNodeCount" in pool(plan).ignore_changes


def test_autoscaled_node_counts_are_ignored() -> None:
    assert pool(L4).ignore_changes == ("initialNodeCount", "nodeCount")


def test_an_autoscaled_slice_is_all_or_nothing_in_its_zone() -> None:
    """Limits for the whole pool fail on some TPU pools; a slice has one zone, so limits for a zone say the same."""
    resting = replace(SLICE, nodes_per_zone=None, total_nodes=Bounds(min=0, max=2), location_policy="ANY")
    inputs = pool(resting).inputs
    assert inputs["autoscaling"] == {"minNodeCount": 0, "maxNodeCount": 2, "locationPolicy": "ANY"}
    assert inputs["initialNodeCount"] == 0


@pytest.mark.parametrize(
    ("least", "most", "zones", "first"),
    [(0, 24, 3, 0), (1, 6, 3, 1), (4, 9, 3, 2), (1, 2, 3, 0), (2, 2, 3, 0), (5, 5, 1, 5), (1, 6, 0, 1), (1, 2, 0, 0)],
)
def test_a_pool_starts_with_its_minimum_up_to_its_maximum(least: int, most: int, zones: int, first: int) -> None:
    """Google counts the first nodes for each zone, and refuses more of them than the maximum."""
    names = tuple(f"us-central1-{letter}" for letter in "abc"[:zones])
    plan = replace(L4, zones=names, total_nodes=Bounds(min=least, max=most))
    assert pool(plan).inputs["initialNodeCount"] == first


@pytest.mark.parametrize("surge", [SURGE_ONE, DRAIN_FIRST, None])
@pytest.mark.parametrize("plan", [RESERVED, SLICE, L4])
def test_every_pool_has_the_upgrade_settings_of_the_plan(plan: NodePoolPlan, surge: SurgeSpec | None) -> None:
    inputs = pool(replace(plan, settings=plan.settings.model_copy({"surge": surge}))).inputs
    expected = surge and {"maxSurge": surge.max_surge, "maxUnavailable": surge.max_unavailable}
    assert inputs.get("upgradeSettings") == (expected and {"strategy": "SURGE", **expected})


@pytest.mark.parametrize("repaired", [True, False])
@pytest.mark.parametrize("plan", [L4, replace(L4, flex_start=True), replace(L4, queued=True)])
def test_every_pool_has_the_repair_setting_of_the_plan(plan: NodePoolPlan, repaired: bool) -> None:
    inputs = pool(replace(plan, auto_repair=repaired)).inputs
    assert inputs["management"] == {"autoRepair": repaired, "autoUpgrade": True}


def test_gpus_come_with_their_driver() -> None:
    """Without it, GKE decides by version whether a driver is installed at all."""
    driver = {"gpuDriverVersion": "LATEST"}
    assert node(L4)["guestAccelerators"] == [{"type": "nvidia-l4", "count": 2, "gpuDriverInstallationConfig": driver}]
    assert "guestAccelerators" not in node(SLICE)


def test_taints_are_spelt_as_google_spells_them_and_sorted() -> None:
    """The provider refuses Kubernetes' spelling; a list has an order to it, so ours must not be the stack file's."""
    assert node(L4)["taints"] == [
        {"key": "a", "value": "b", "effect": "NO_EXECUTE"},
        {"key": "reserved", "value": "true", "effect": "NO_SCHEDULE"},
    ]


def test_zones_are_sorted_and_left_to_the_cluster_where_there_are_none() -> None:
    assert pool(L4).inputs["nodeLocations"] == ["us-central1-a", "us-central1-b", "us-central1-c"]
    assert "nodeLocations" not in pool(replace(L4, zones=())).inputs


def test_nodes_are_identified_by_their_account_and_pods_by_their_own() -> None:
    config = node(L4)
    assert config["serviceAccount"] == "n@x.example"
    assert config["oauthScopes"] == ["https://www.googleapis.com/auth/cloud-platform"]
    assert config["workloadMetadataConfig"] == {"mode": "GKE_METADATA"}


def test_nodes_match_the_plan() -> None:
    config = node(replace(L4, settings=L4.settings.model_copy({"secure_boot": False}), spot=True))
    assert config["machineType"] == "g2-standard-24"
    assert config["spot"] is True
    assert config["shieldedInstanceConfig"] == {"enableSecureBoot": False, "enableIntegrityMonitoring": True}
    assert config["gvnic"] == {"enabled": True}
    assert (config["diskType"], config["diskSizeGb"]) == ("pd-balanced", 100)
    assert config["labels"] == {"a": "1", "berth/flavor": "l4"}


@pytest.mark.parametrize("plan", [L4, SLICE])
def test_image_streaming_is_always_explicit(plan: NodePoolPlan) -> None:
    """Left out, the cluster's default would decide instead of the plan."""
    assert node(plan)["gcfsConfig"] == {"enabled": plan.image_streaming}


def test_a_pool_has_timeouts_of_two_hours() -> None:
    """Large slices take longer than the provider's 30 minutes."""
    assert pool(L4).custom_timeouts == {"create": "2h", "update": "2h", "delete": "2h"}


def test_nodes_are_repaired_and_upgraded_by_google() -> None:
    assert pool(L4).inputs["management"] == {"autoRepair": True, "autoUpgrade": True}
