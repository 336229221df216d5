"""Each proof, on a fleet that passes it and on one that does not.

The small fleet of `tests.small_fleets` passes all of them without a warning; each test takes away what one proof needs.
"""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from berth.planner import plan_fleet
from berth.spec.parse import parse_fleet
from berth.validation import validate
from tests.small_fleets import (
    REMOVED,
    TRAIN,
    URGENT,
    ZONE,
    faults,
    fleet_with,
    message,
    plan,
    problems,
    warnings,
)

VISION_CHIPS, SPEECH_CHIPS = f"{TRAIN}.flavors.0", "teams.speech.queues.train.flavors.0"
LIMITS: dict[str, Any] = {"cpu": {"max": 1000}, "memory": {"max": 4000}, "accelerators": {"nvidia-l4": 8}}
MADE_BY_GKE: dict[str, Any] = {"pools.l4.autoProvisioned": True, "cluster.nodeAutoProvisioning": LIMITS}


def twice(factor: float | None = None, reason: str | None = "so") -> dict[str, Any]:
    """The small fleet with all 24 chips guaranteed twice, and its messages."""
    values = {key: value for key, value in (("oversubscription", factor), ("reason", reason)) if factor and value}
    all_of_it = {f"{VISION_CHIPS}.guaranteed": "all", f"{SPEECH_CHIPS}.guaranteed": "all"}
    return fleet_with({**all_of_it, "flavors.v5e": values})


def test_the_small_fleet_has_no_problems() -> None:
    assert problems(fleet_with()) == []


# --- what was promised exists -----------------------------------------------------------------------------------------


def test_guarantees_above_capacity_are_a_fault_that_names_every_queue() -> None:
    fleet = twice()
    assert faults(fleet) == ["overcommitted teams.vision.queues.train.flavors[0].guaranteed"]
    assert message(fleet, "overcommitted") == (
        "flavor 'v5e' guarantees 48 v5e chips (6 slices), but pool v5e has 24 (3 slices): speech/train 24, "
        "vision/train 24; guarantee less, add slices to pool v5e, or accept it: flavors.v5e: {oversubscription: 2, "
        "reason: <why>}"
    )


def test_guarantees_may_equal_capacity_and_not_exceed_it() -> None:
    assert faults(fleet_with({f"{URGENT}.flavors.0.guaranteed": 4})) == []
    assert faults(fleet_with({f"{URGENT}.flavors.0.guaranteed": 5})) == [
        "overcommitted teams.vision.queues.urgent.flavors[0].guaranteed"
    ]


def test_nodes_up_to_the_maximum_count_as_capacity() -> None:
    """A pool that grows is promised at its maximum: jobs wait for nodes there, not for quota."""
    assert faults(fleet_with({"pools.l4.nodes": {"max": 4}})) == []
    fleet = fleet_with({"pools.l4.nodes": {"max": 3}})
    assert "pool l4 has at most 6" in message(fleet, "overcommitted")


def test_an_accepted_oversubscription_is_a_note_with_its_reason() -> None:
    fleet = twice(2)
    assert (faults(fleet), warnings(fleet)) == ([], [])
    assert message(fleet, "oversubscribed") == (
        "48 v5e chips are guaranteed with only 24 in the pools; accepted with the reason: 'so'"
    )


def test_an_oversubscription_beyond_what_was_accepted_is_a_fault() -> None:
    assert faults(twice(1.5)) == ["overcommitted teams.vision.queues.train.flavors[0].guaranteed"]
    assert "pool v5e has 24 (3 slices), times 1.5: " in message(twice(1.5), "overcommitted")


def test_an_oversubscription_needs_a_reason() -> None:
    assert faults(twice(2, reason=None)) == ["missing-key flavors.v5e.reason"]


def test_an_unneeded_oversubscription_is_reported() -> None:
    """Or it would let the next promise pass unseen."""
    fleet = fleet_with({"flavors.v5e": {"oversubscription": 2, "reason": "so"}})
    assert warnings(fleet) == ["needless-oversubscription flavors.v5e.oversubscription"]


@settings(deadline=None, max_examples=60)
@given(st.integers(1, 60), st.integers(1, 400))
def test_the_suggested_factor_is_sufficient(nodes: int, promised: int) -> None:
    """A remedy that does not help is worse than none."""
    fleet = fleet_with({"pools.l4.nodes": nodes, f"{URGENT}.flavors.0.guaranteed": promised})
    output = "".join(p.message for p in problems(fleet) if p.code == "overcommitted")
    if "oversubscription: " in output:
        offered = float(output.split("oversubscription: ")[1].split(",")[0])
        accepted = fleet_with({"flavors.l4": {"oversubscription": offered, "reason": "so"}}, fleet)
        assert "overcommitted teams.vision.queues.urgent.flavors[0].guaranteed" not in faults(accepted)


# --- what GKE makes by itself -----------------------------------------------------------------------------------------


def test_pools_made_by_gke_fit_under_the_limits() -> None:
    assert faults(fleet_with(MADE_BY_GKE)) == []


def test_pools_made_by_gke_need_somebody_to_make_them() -> None:
    assert faults(fleet_with({"pools.l4.autoProvisioned": True})) == ["no-auto-provisioning pools.l4.autoProvisioned"]


@pytest.mark.parametrize("accelerators", [{"nvidia-l4": 7}, {"nvidia-tesla-t4": 100}, {}])
def test_a_pool_that_cannot_grow_to_its_maximum_is_a_fault(accelerators: dict[str, int]) -> None:
    fleet = fleet_with({**MADE_BY_GKE, "cluster.nodeAutoProvisioning.accelerators": accelerators})
    assert faults(fleet) == ["auto-provisioning-limit pools.l4.autoProvisioned"]
    assert message(fleet, "auto-provisioning-limit").endswith("accelerators.nvidia-l4: 8 or more")


def test_the_limits_count_the_whole_cluster() -> None:
    """Also what no auto-provisioning made: systems.md, E.1, published a limit below what stands there anyway."""
    more = {"machineType": "g2-standard-24", "nodes": 1, "zone": ZONE, "labels": {"tier": "gold"},
            "taints": [{"key": "tier", "value": "gold"}]}  # fmt: skip
    fleet = fleet_with({**MADE_BY_GKE, "pools.more": more})
    assert faults(fleet) == ["auto-provisioning-limit pools.l4.autoProvisioned"]
    assert "can have 10 in all, but auto-provisioning creates at most 8" in message(fleet, "auto-provisioning-limit")


def test_on_autopilot_there_are_no_limits_to_fit_under() -> None:
    assert faults(fleet_with({"cluster.mode": "autopilot"})) == []


# --- addresses --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("key", "fits", "too_small"),
    [
        ("nodeCidrBlock", "10.40.0.0/27", "10.40.0.0/28"),  # 32 - 4 addresses for 16 nodes, 16 - 4 for as many
        ("podCidrBlock", "10.64.0.0/20", "10.64.0.0/21"),  # 16 nodes of a /24 each, and 8
    ],
)
def test_every_node_at_the_maximum_of_every_pool_has_an_address(key: str, fits: str, too_small: str) -> None:
    """3 slices of 2 hosts, 4 L4 nodes and 6 for the system are 16 nodes."""
    assert faults(fleet_with({f"cluster.network.{key}": fits})) == []
    fleet = fleet_with({f"cluster.network.{key}": too_small})
    assert faults(fleet) == [f"range-too-small cluster.network.{key}"]
    assert "the pools can have 16" in message(fleet, "range-too-small")


def test_a_pod_range_smaller_than_a_nodes_share_fits_no_node() -> None:
    fleet = fleet_with({"cluster.network.podCidrBlock": "10.64.0.0/25"})
    assert message(fleet, "range-too-small") == (
        "'10.64.0.0/25' has room for 0 nodes, but the pools can have 16; write a larger range"
    )


# --- what is allowed can be reached -----------------------------------------------------------------------------------


def test_a_borrowing_limit_may_equal_what_others_lend_and_not_exceed_it() -> None:
    assert faults(fleet_with({f"{VISION_CHIPS}.borrow": "2 slices"})) == []
    fleet = fleet_with({f"{VISION_CHIPS}.borrow": "3 slices"})
    assert faults(fleet) == []
    assert f"borrow-limit {TRAIN}.flavors[0].borrow" in warnings(fleet)
    assert message(fleet, "borrow-limit") == (
        "'borrow' is 24 v5e chips of 'v5e', but the rest of cohort 'research' lends at most 16; write 16 or less"
    )


def test_a_queue_that_loses_quota_does_not_invalidate_other_teams() -> None:
    """The file of a team that borrows is not touched by the change, and must not be refused for it."""
    shrunk = fleet_with({f"{VISION_CHIPS}.borrow": "2 slices", f"{SPEECH_CHIPS}.guaranteed": "1 slice"})
    assert faults(shrunk) == []
    assert f"borrow-limit {TRAIN}.flavors[0].borrow" in warnings(shrunk)
    (vision,) = (team for team in plan(shrunk).teams if team.name == "vision")
    assert vision.ceiling["v5e"] == 16


def test_quota_that_is_not_lent_cannot_be_borrowed() -> None:
    fleet = fleet_with({f"{VISION_CHIPS}.borrow": "2 slices", f"{SPEECH_CHIPS}.lend": "1 slice"})
    assert faults(fleet) == []
    assert f"borrow-limit {TRAIN}.flavors[0].borrow" in warnings(fleet)


def test_no_limit_at_all_can_always_be_reached() -> None:
    assert faults(fleet_with({f"{VISION_CHIPS}.borrow": "unlimited"})) == []


def test_a_queue_without_a_guarantee_can_borrow() -> None:
    fleet = fleet_with({f"{VISION_CHIPS}.guaranteed": REMOVED, f"{VISION_CHIPS}.borrow": "1 slice"})
    assert faults(fleet) == []


@pytest.mark.parametrize("more", [{}, {f"{VISION_CHIPS}.borrow": "unlimited", f"{SPEECH_CHIPS}.lend": 0}])
def test_a_queue_that_can_admit_no_job_is_a_fault(more: dict[str, Any]) -> None:
    """Nothing guaranteed and nothing to borrow: jobs would wait in it for ever."""
    assert faults(fleet_with({f"{VISION_CHIPS}.guaranteed": 0, **more})) == [f"empty-queue {TRAIN}.flavors"]


def test_a_queue_none_of_whose_flavors_has_nodes_is_a_fault() -> None:
    alone = {
        "teams.vision.queues": {"q": {"flavors": [{"pool": "l4", "guaranteed": "all"}]}},
        "teams.speech.queues": {},
    }
    assert faults(fleet_with({**alone, "pools.l4.nodes": 0})) == ["no-nodes teams.vision.queues.q.flavors"]
    assert faults(fleet_with(alone)) == []


# --- what to look at although it is sound -----------------------------------------------------------------------------


def test_capacity_without_a_guarantee_is_reported() -> None:
    fleet = fleet_with({f"{SPEECH_CHIPS}.guaranteed": "1 slice"})
    assert (faults(fleet), warnings(fleet)) == ([], ["unpromised pools.v5e"])
    assert message(fleet, "unpromised") == (
        "no queue can use 8 of the 24 v5e chips of flavor 'v5e': 16 are guaranteed; guarantee more, "
        "write pools.v5e.spares: 1 if they shall replace failed ones, or remove nodes"
    )


def test_the_machines_that_a_remedy_keeps_spare_are_no_longer_reported() -> None:
    fleet = fleet_with({f"{SPEECH_CHIPS}.guaranteed": "1 slice", "pools.v5e.spares": 1})
    assert (faults(fleet), warnings(fleet)) == ([], [])


def test_a_flavor_of_spare_machines_only_is_reported() -> None:
    pool = {"machineType": "ct5lp-hightpu-4t", "topology": "4x4", "slices": 2, "spares": 2, "zone": ZONE}
    fleet = fleet_with({"pools.spare": pool})
    assert (faults(fleet), warnings(fleet)) == ([], ["unpromised pools.spare.spares"])
    assert message(fleet, "unpromised") == (
        "all 32 v5e chips of flavor 'spare' are spare, so no job can use them; write fewer spares"
    )


def test_shares_of_a_flavor_are_of_its_machines_that_are_not_spare() -> None:
    """Five slices of 8 chips, one of them spare: a quarter is one slice of four, and cpu follows the chips."""
    spared = plan(fleet_with({"pools.v5e.slices": 5, "pools.v5e.spares": 1, f"{SPEECH_CHIPS}.guaranteed": "25%"}))
    quotas = {
        quota.resource: quota.nominal
        for queue in spared.cluster_queues
        for flavor in queue.flavors
        if queue.teams == ("speech",) and flavor.flavor == "v5e"
        for quota in flavor.quotas
    }
    flavor = next(each for each in spared.flavors if each.name == "v5e")
    assert (flavor.capacity.max, flavor.spare, quotas["google.com/tpu"]) == (40, 8, 8)
    assert quotas["cpu"] == 2 * 112_000  # a slice of two ct5lp-hightpu-4t with 112 vCPUs each


@pytest.mark.parametrize(("borrow", "idle"), [(0, 8), ("1 slice", 0), ("unlimited", 0)])
def test_a_cohorts_own_quota_is_available_only_by_borrowing(borrow: int | str, idle: int) -> None:
    """All 3 slices are guaranteed, one of them to the cohort: queues without borrowing leave it idle."""
    changes = {f"{SPEECH_CHIPS}.guaranteed": "1 slice", f"{SPEECH_CHIPS}.borrow": borrow}
    fleet = fleet_with({"cohorts.research": {"flavors": [{"pool": "v5e", "guaranteed": "all"}]}, **changes})
    assert (faults(fleet), warnings(fleet)) == ([], ["unpromised pools.v5e"] if idle else [])
    if idle:
        text = f"no queue can use {idle} of the 24 v5e chips of flavor 'v5e': 24 are guaranteed, but limits"
        assert message(fleet, "unpromised").startswith(text)


def test_an_unused_pool_is_reported() -> None:
    fleet = fleet_with({"pools.idle": {"machineType": "a2-highgpu-1g", "nodes": {"max": 2}}})
    assert warnings(fleet) == ["unpromised pools.idle"]
    assert message(fleet, "unpromised").startswith("no queue is guaranteed any of the 0–2 A100 40GB of flavor 'idle'")


def test_a_cohort_with_a_single_queue_is_reported() -> None:
    assert warnings(fleet_with({"cohorts.labs": {}})) == ["lonely-cohort cohorts.labs"]
    alone = fleet_with({"cohorts.labs": {}, "teams.vision.cohort": "labs", URGENT: REMOVED,
                     "teams.speech.queues.serve.flavors.0.guaranteed": 8})  # fmt: skip
    assert message(alone, "lonely-cohort") == (
        "has one queue, so nothing is shared; add a queue to it, or remove the cohort"
    )


def test_a_lent_guarantee_without_reclaim_is_a_warning() -> None:
    """It comes when the borrower is done, which may be in a week."""
    never = {f"{TRAIN}.preemption": {"reclaimWithinCohort": "Never"}}
    borrowed = {f"{SPEECH_CHIPS}.borrow": "1 slice"}
    assert warnings(fleet_with({**never, **borrowed})) == [f"guarantee-not-reclaimed {TRAIN}.preemption"]
    assert warnings(fleet_with(borrowed)) == []
    assert warnings(fleet_with(never)) == []
    kept = warnings(fleet_with({**never, **borrowed, f"{VISION_CHIPS}.lend": 0}))
    assert kept == ["borrow-limit teams.speech.queues.train.flavors[0].borrow"]


@pytest.mark.parametrize(
    ("control", "text"),
    [
        ({}, True),
        ({"publicEndpoint": False}, False),
        ({"authorizedNetworks": []}, False),
        ({"authorizedNetworks": [{"name": "office", "cidrBlock": "203.0.113.0/24"}]}, False),
    ],
)
def test_a_control_plane_open_to_all_addresses_is_a_warning(control: dict[str, Any], text: bool) -> None:
    expected = ["open-control-plane cluster.controlPlane"] if text else []
    assert warnings(fleet_with({"cluster.controlPlane": control})) == expected


def test_slices_that_an_upgrade_may_interrupt_are_reported() -> None:
    """Only those of several hosts: a slice is lost whole when one of its hosts goes."""
    open_to_upgrades = {"cluster.maintenance": REMOVED}
    assert warnings(fleet_with(open_to_upgrades)) == ["no-maintenance-exclusion cluster.maintenance"]
    one_host = {"pools.v5e.topology": "2x2"}
    assert warnings(fleet_with({**open_to_upgrades, **one_host})) == []


# --- proofs of what could not all be understood -----------------------------------------------------------------------


def test_sections_with_faults_cause_no_derived_faults() -> None:
    """A pool with a wrong topology has no chips; its missing capacity is not a second fault."""
    assert faults(fleet_with({"pools.v5e.topology": "4x5"})) == ["bad-topology pools.v5e.topology"]
    assert warnings(fleet_with({"pools.v5e.topology": "4x5", "cluster.maintenance": REMOVED, "cohorts.labs": {}})) == []


def test_proofs_do_not_change_the_plan() -> None:
    first = plan_fleet("test", parse_fleet(fleet_with()))
    assert first is not None
    validate(first)
    assert first == plan_fleet("test", parse_fleet(fleet_with()))
