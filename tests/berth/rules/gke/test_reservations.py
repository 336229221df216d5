"""Reservations of every form: GKE docs: DWS, consuming reservations."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from berth import catalog
from berth.diagnostics import Severity
from berth.plan.node_settings import Bounds
from berth.rules.gke.pool_request import ReservationRequest
from berth.rules.gke.reservations import (
    AFFINITY_KEY,
    DeclaredReservation,
    ReservationAffinity,
    overuse_violation,
    reservation_affinity,
    reservation_labels,
    reservation_mismatches,
    window_violations,
)
from tests.berth.rules.gke.pool_requests import AUTOPILOT, NAMED, ZONE, codes, ephemeral_ssds, machine, message, pool

BLOCK = replace(NAMED, project="owner", block="b1")
SUB_BLOCK = replace(BLOCK, sub_block="s1")


def taken(reservation: ReservationRequest, name: str = "a4-highgpu-8g", **changes: Any) -> Any:
    """A pool that takes its machines from this reservation."""
    return pool(name, capacity="reservation", reservation=reservation, **changes)


# --- every form has one affinity -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("reservation", "value"),
    [
        (NAMED, "held"),
        (replace(NAMED, form="own"), "held"),
        (replace(NAMED, project="owner"), "projects/owner/reservations/held"),
        (replace(NAMED, block="b1"), "held/reservationBlocks/b1"),
        (BLOCK, "projects/owner/reservations/held/reservationBlocks/b1"),
        (SUB_BLOCK, "projects/owner/reservations/held/reservationBlocks/b1/reservationSubBlocks/s1"),
    ],
)
def test_a_specific_reservation_is_one_key_and_one_value(reservation: ReservationRequest, value: str) -> None:
    assert reservation_affinity(taken(reservation)) == ReservationAffinity(
        type="SPECIFIC_RESERVATION", key=AFFINITY_KEY, value=value
    )
    assert codes(taken(reservation)) == set()


def test_any_reservation_has_neither_key_nor_value() -> None:
    assert reservation_affinity(taken(ReservationRequest(form="any"))) == ReservationAffinity(type="ANY_RESERVATION")
    assert reservation_affinity(taken(ReservationRequest(form="any-or-fail"))) == ReservationAffinity(
        type="ANY_RESERVATION_THEN_FAIL"
    )


@pytest.mark.parametrize("capacity", ["on-demand", "spot", "flex-start", "queued"])
def test_every_other_capacity_sets_no_reservation_explicitly(capacity: str) -> None:
    """Absence means any that fits: spot and DWS are refused with it, and on-demand would eat what others reserved."""
    assert reservation_affinity(pool("a2-highgpu-1g", capacity=capacity)) == ReservationAffinity(type="NO_RESERVATION")
    assert reservation_labels(pool("a2-highgpu-1g", capacity=capacity)) == {}


def test_a_flavor_distinguishes_reservations_by_name_project_and_block() -> None:
    prefix = "cloud.google.com/reservation"
    assert reservation_labels(taken(SUB_BLOCK)) == {
        f"{prefix}-name": "held",
        f"{prefix}-project": "owner",
        f"{prefix}-blocks": "b1",
        f"{prefix}-subblocks": "s1",
    }
    assert reservation_labels(taken(NAMED)) == {f"{prefix}-name": "held"}
    assert reservation_labels(taken(ReservationRequest(form="any"))) == {}


# --- what goes with what ----------------------------------------------------------------------------------------------


def test_tpus_use_only_named_reservations() -> None:
    """ANY is unsupported for TPUs (GKE docs: consumption options, consuming reservations)."""
    for name in ("ct4p-hightpu-4t", "ct5lp-hightpu-4t", "ct6e-standard-4t", "tpu7x-standard-4t"):
        assert codes(taken(ReservationRequest(form="any"), name)) == {"capacity-not-offered"}
        assert codes(taken(NAMED, name)) == set()


def test_autopilot_takes_no_reservation_but_a_named_one() -> None:
    assert codes(taken(ReservationRequest(form="any"), "a2-highgpu-1g", cluster=AUTOPILOT)) == {"autopilot-reservation"}
    assert codes(taken(NAMED, "a2-highgpu-1g", cluster=AUTOPILOT)) == set()


def test_blocks_are_of_dense_reservations() -> None:
    request = taken(replace(NAMED, block="b1"), "g2-standard-4")
    assert codes(request, Severity.WARNING) == {"reservation-block"} == codes(request)


@pytest.mark.parametrize(("name", "warned"), [("ct5lp-hightpu-4t", True), ("ct6e-standard-4t", False)])
def test_aggregate_tpu_reservations_are_not_made_by_berth(name: str, warned: bool) -> None:
    codes_reported = codes(taken(replace(NAMED, form="own"), name), Severity.WARNING)
    assert codes_reported == ({"own-tpu-reservation"} if warned else set())


def test_auto_provisioning_combines_no_shared_reservation_with_placement() -> None:
    shared = replace(NAMED, project="owner")
    assert codes(taken(shared, compact_placement=True, auto_provisioned=True)) == {"shared-placement"}
    assert codes(taken(shared, "ct6e-standard-4t", auto_provisioned=True)) == set()
    assert codes(taken(shared, auto_provisioned=True)) == set()
    assert codes(taken(shared, compact_placement=True)) == set()
    assert codes(taken(NAMED, compact_placement=True, auto_provisioned=True)) == set()


def test_a_reservation_that_begins_later_keeps_no_nodes() -> None:
    later = replace(NAMED, begins="2026-12-01", ends="2026-12-15")
    output = "reservation 'held' has machines only from 2026-12-01 to 2026-12-15"
    assert message(taken(later)) == f"nodes: a minimum of '1' nodes is impossible: {output}; write {{min: 0, max: 1}}"
    assert message(taken(later, "ct6e-standard-4t", nodes=Bounds(min=2, max=2))) == (
        f"slices: a minimum of '2' slices is impossible: {output}; write {{min: 0, max: 2}}"
    )
    assert codes(taken(later, nodes=Bounds(min=0, max=8), autoscaled=True)) == set()


# --- a reservation whose contents are known ---------------------------------------------------------------------------

HELD = DeclaredReservation(name="held", machine=machine("g2-standard-24"), zone=ZONE, count=4)


def test_a_pool_that_matches_its_reservation_is_valid() -> None:
    assert list(reservation_mismatches(HELD, pool("g2-standard-24"))) == []
    with_ssds = pool("g2-standard-24", local_ssd=ephemeral_ssds(2))
    assert list(reservation_mismatches(replace(HELD, local_ssds=2), with_ssds)) == []
    ultra = replace(HELD, machine=machine("a2-ultragpu-8g"), local_ssds=8)
    assert list(reservation_mismatches(ultra, pool("a2-ultragpu-8g"))) == []


@pytest.mark.parametrize(
    ("changes", "key", "text"),
    [
        ({"local_ssd": ephemeral_ssds(2)}, "localSsd", "has local SSDs '0', but this pool has '2'"),
        ({"zones": ("us-central1-b",)}, "zones", "is in us-central1-a, but this pool is in 'us-central1-b'"),
    ],
)
def test_each_field_of_a_reservation_must_match_the_pool(changes: dict[str, Any], key: str, text: str) -> None:
    (request,) = reservation_mismatches(HELD, pool("g2-standard-24", **changes))
    assert (request.code, request.key) == ("reservation-mismatch", key)
    assert text in request.message


def test_another_machine_is_one_mismatch_without_derived_ones() -> None:
    (request,) = reservation_mismatches(HELD, pool("a2-ultragpu-8g"))
    assert (request.key, request.message) == (
        "machineType",
        "reservation 'held' has machines of type 'g2-standard-24', but this pool has 'a2-ultragpu-8g'; write "
        "the same machineType in both",
    )


def test_other_gpus_on_the_same_machine_are_another_reservation() -> None:
    one, two = (catalog.attach_gpus("n1-standard-4", "nvidia-tesla-t4", count) for count in (1, 2))
    (request,) = reservation_mismatches(replace(HELD, machine=one), replace(pool("n1"), machine=two))
    assert request.key == "accelerator"
    assert "has accelerators '1 nvidia-tesla-t4', but this pool has '2 nvidia-tesla-t4'" in request.message


BOUNDS = st.tuples(st.integers(0, 5), st.integers(0, 5)).map(lambda ends: Bounds(min=min(ends), max=max(ends)))


@given(st.dictionaries(st.sampled_from("abcd"), BOUNDS), st.integers(1, 12))
def test_a_reservation_is_overused_exactly_if_its_pools_exceed_it(pools: dict[str, Bounds], count: int) -> None:
    result = overuse_violation(replace(HELD, count=count), pools)
    assert (result is not None) == (sum(each.max for each in pools.values()) > count)
    assert result is None or result.severity is Severity.FAULT


def test_an_overused_reservation_names_the_pools_that_overuse_it() -> None:
    one = overuse_violation(HELD, {"a": Bounds(min=0, max=5)})
    assert one is not None
    assert one.message == "'4' machines are reserved, but pools may use 5 (a 5); write count: 5, or reduce the pools"
    two = overuse_violation(HELD, {"a": Bounds(min=1, max=3), "b": Bounds(min=2, max=2)})
    assert two is not None
    assert two.message == (
        "'4' machines are reserved, but pools may use 5 (a 3, b 2); write count: 5, or reduce the pools, "
        "or acceptOverlap: <why> if they may wait for each other"
    )
    always = overuse_violation(HELD, {"a": Bounds(min=3, max=4), "b": Bounds(min=2, max=2)})
    assert always is not None
    assert always.message == (
        "'4' machines are reserved, but pools always use 5 (a 3, b 2); write count: 5, or reduce the pools"
    )


# --- future and calendar reservations ---------------------------------------------------------------------------------

START = datetime(2026, 12, 1, tzinfo=UTC)


@pytest.mark.parametrize(
    ("days", "calendar", "fine"), [(90, True, True), (91, True, False), (91, False, True), (0, False, False)]
)
def test_a_calendar_reservation_lasts_90_days_at_the_most(days: int, calendar: bool, fine: bool) -> None:
    violations = list(window_violations(START, START + timedelta(days=days), calendar=calendar))
    assert [(each.code, each.key) for each in violations] == ([] if fine else [("reservation-window", "end")])
