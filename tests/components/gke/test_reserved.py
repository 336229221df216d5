"""Capacity that is spoken for, now or later."""

from __future__ import annotations

from typing import Any, cast

import pytest
from msgspec.structs import replace

from berth.plan.capacity import FutureReservationPlan
from berth.plan.gke import ReservationPlan
from components.gke.future_reservation import FutureReservation
from components.gke.node_pool import NodePool
from components.gke.reservation import Reservation
from tests.components.gke.capacity_plans import CALENDAR, CHIPS, LONG, POOLS
from tests.components.gke.plans import RESERVATION, google
from tests.engine import RecordedResource, Run, both_modes, broken_rules, run, using

requests = pytest.mark.parametrize("plan", [CALENDAR, CHIPS, LONG], ids=["calendar", "chips", "long"])


def future(plan: FutureReservationPlan, preview: bool = False) -> Run:
    """The request and a pool that will use what it brings."""

    def build() -> None:
        provider = google()
        request = FutureReservation(plan.key, plan, opts=using(provider))
        NodePool(
            "pool",
            replace(POOLS["block"], reservation=plan.reservation_name),
            cluster="dev",
            location="us-central1",
            service_account="n",
            reservation=request.reservation_name,
            opts=using(provider),
        )

    return run(build, preview)


def declared(plan: FutureReservationPlan) -> RecordedResource:
    return future(plan).only_resource("compute/futureReservation:FutureReservation")


def owned(plan: ReservationPlan) -> Any:
    done = run(lambda: Reservation(plan.key, plan, opts=using(google())))
    return done.only_resource("compute/reservation:Reservation").inputs


@both_modes
@requests
def test_a_request_keeps_the_rules_of_every_component(plan: FutureReservationPlan, preview: bool) -> None:
    assert broken_rules(future(plan, preview)) == []


@both_modes
@requests
def test_a_pool_names_the_delivered_reservation_and_depends_on_the_request(
    plan: FutureReservationPlan, preview: bool
) -> None:
    """By the delivered reservation's name, never the request's: Google would find no such reservation."""
    done = future(plan, preview)
    pool, request = (
        done.only_resource(kind) for kind in ("container/nodePool:NodePool", "futureReservation:FutureReservation")
    )
    assert cast(Any, pool.inputs["nodeConfig"])["reservationAffinity"]["values"] == [plan.reservation_name]
    assert request.urn in pool.property_dependencies["nodeConfig"]


def test_a_calendar_request_has_its_time_machine_and_mode() -> None:
    inputs = declared(CALENDAR).inputs
    assert (inputs["reservationMode"], inputs["deploymentType"]) == ("CALENDAR", "DENSE")
    assert inputs["timeWindow"] == {"startTime": "2026-12-01T00:00:00Z", "endTime": "2026-12-15T00:00:00Z"}
    assert inputs["specificSkuProperties"] == {
        "totalCount": "4",
        "instanceProperties": {
            "machineType": "a3-ultragpu-8g",
            "guestAccelerators": [{"acceleratorType": "nvidia-h200-141gb", "acceleratorCount": 8}],
        },
    }


@requests
def test_delivered_reservations_are_used_only_by_name(plan: FutureReservationPlan) -> None:
    inputs = declared(plan).inputs
    assert inputs["specificReservationRequired"] is True
    assert inputs["planningStatus"] == "SUBMITTED", "a draft is never looked at"


def test_chips_are_an_aggregate_reservation() -> None:
    inputs = declared(CHIPS).inputs
    assert "specificSkuProperties" not in inputs
    aggregate = cast(Any, inputs["aggregateReservation"])
    assert (aggregate["vmFamily"], aggregate["workloadType"]) == (
        CHIPS.aggregate and CHIPS.aggregate.vm_family,
        "BATCH",
    )
    assert aggregate["reservedResources"][0]["accelerator"]["acceleratorCount"] == 16


def test_another_spelling_of_an_address_does_not_replace_a_granted_request() -> None:
    """Google may answer with a full one, and the provider would replace the request (seen against the stand-in)."""
    ignored = "aggregateReservation.reservedResources[0].accelerator.acceleratorType"
    assert declared(CHIPS).ignore_changes == (ignored,)
    assert declared(CALENDAR).ignore_changes == ()


def test_a_shared_future_reservation_has_its_projects_and_local_ssds() -> None:
    inputs = declared(LONG).inputs
    assert inputs["shareSettings"] == {"shareType": "SPECIFIC_PROJECTS", "projects": ["a", "b"]}
    assert inputs["autoDeleteAutoCreatedReservations"] is True
    machine = cast(Any, inputs["specificSkuProperties"])["instanceProperties"]
    assert machine["localSsds"] == [{"diskSizeGb": "375", "interface": "NVME"}] * 2


@pytest.mark.parametrize("protect", [True, False])
def test_a_future_reservation_is_protected_as_planned(protect: bool) -> None:
    """Deleted and created again, it is at the end of the queue."""
    one = declared(replace(CALENDAR, protect=protect))
    assert (one.protect, one.delete_before_replace) == (protect, True)


# --- reservations of today --------------------------------------------------------------------------------------------


def test_a_reservation_holds_the_disks_of_its_pools() -> None:
    """What differs there, a pool does not match, and Google says only that the reservation is used up."""
    plan = replace(RESERVATION, local_ssds=2)
    machine = owned(plan)["specificReservation"]["instanceProperties"]
    assert machine["localSsds"] == [{"diskSizeGb": 375, "interface": "NVME"}] * 2


def test_a_reservation_is_shared_only_with_the_projects_of_its_plan() -> None:
    shared = owned(replace(RESERVATION, share_with=("b", "a")))
    assert shared["shareSettings"] == {"shareType": "SPECIFIC_PROJECTS", "projects": ["a", "b"]}
    assert "shareSettings" not in owned(RESERVATION)
