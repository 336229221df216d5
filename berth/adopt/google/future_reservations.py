"""Read future reservations: requests for machines that Google delivers later, as entries of `reservations`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta

from berth import catalog
from berth.adopt.api_objects import (
    ApiObject,
    Kept,
    NotAdopted,
    StackEntry,
    last_segment,
    list_at,
    mapping_at,
    value_at,
)
from berth.adopt.google.reserved_machines import machine_fields, machine_types_on, shared_projects
from berth.catalog import Machine

_ENDED = ("CANCELLED", "DECLINED", "FAILED")
"""States in which Google delivers nothing."""
_DELIVERED = ("FULFILLED", "FAILED_PARTIALLY_FULFILLED")
_MULTI_HOST = "compact_tpu_topology"
_SETTINGS = (
    ("specificReservationRequired", True, False),
    ("autoDeleteAutoCreatedReservations", True, False),
    ("planningStatus", "SUBMITTED", "SUBMITTED"),
)
"""Fields that Berth always sets, their values, and what a missing field means."""


def delivered_names(future_reservations: Sequence[ApiObject]) -> set[str]:
    """Return the names of reservations that Google creates for the requests."""
    names: set[str] = set()
    for answer in future_reservations:
        names |= {last_segment(str(path)) for path in list_at(answer, "status.autoCreatedReservations")}
        names |= {str(answer["reservationName"])} if answer.get("reservationName") else set()
    return names


def future_entry(
    answer: ApiObject, project: str, node_pools: Sequence[ApiObject], not_adopted: list[NotAdopted]
) -> StackEntry | None:
    """Return the entry of a request, None if a stack file cannot express it; the reason is reported."""
    what = f"future reservation {answer['name']}"
    if (reason := _refusal(answer)) is not None:
        not_adopted.append(NotAdopted(what, reason, kept=Kept.NO_KEY))
        return None
    machines = _machines(answer, project, node_pools)
    if machines is None:
        reserved = f"'{value_at(answer, 'specificSkuProperties.instanceProperties.machineType')}'"
        if isinstance(answer.get("aggregateReservation"), dict):
            reserved = value_at(answer, "aggregateReservation.vmFamily")
        not_adopted.append(
            NotAdopted(what, f"it asks for {reserved}, which a stack file cannot express", kept=Kept.NO_KEY)
        )
        return None
    start, end = _window(answer)
    future: StackEntry = {"start": start, "end": end}
    future |= {"mode": "calendar"} if answer.get("reservationMode") == "CALENDAR" else {}
    status = value_at(answer, "status.procurementStatus")
    if list_at(answer, "status.autoCreatedReservations") or status in _DELIVERED:
        future["delivered"] = True
    not_adopted += [NotAdopted(what, line) for line in _changes(answer)]
    return {**machines, **shared_projects(answer), "future": future}


def _refusal(answer: ApiObject) -> str | None:
    """Return why a request is not adopted: it has ended, or its reservation has another name."""
    status, name = value_at(answer, "status.procurementStatus"), answer["name"]
    if status in _ENDED:
        return f"is {status}, so Google delivers nothing; it stays as it is"
    delivered = answer.get("reservationName")
    if delivered != name:
        shown = f"'{delivered}'" if delivered else "a name that Google chooses"
        return (
            f"its reservation has {shown}, and Berth's has the name of the request; it stays as it is. Once delivered, "
            "give the reservation's own name in `reservations` with `existing: true`"
        )
    return None


def _window(answer: ApiObject) -> tuple[str, str]:
    """Return start and end in UTC, as a stack file spells them."""
    start = datetime.fromisoformat(str(value_at(answer, "timeWindow.startTime")))
    if end_text := value_at(answer, "timeWindow.endTime"):
        end = datetime.fromisoformat(str(end_text))
    else:
        end = start + timedelta(seconds=int(value_at(answer, "timeWindow.duration.seconds")))
    return _utc(start), _utc(end)


def _utc(time: datetime) -> str:
    return time.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _changes(answer: ApiObject) -> Iterator[str]:
    """Yield what the first `pulumi up` would change."""
    for field, wanted, absent in _SETTINGS:
        value: object = answer.get(field, absent)
        if value != wanted:
            note = " (SUBMITS the request)" if field == "planningStatus" else ""
            yield f"{field} {_shown(value)} → {_shown(wanted)}{note}"


def _shown(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


# --- machines ---------------------------------------------------------------------------------------------------------


def _machines(answer: ApiObject, project: str, node_pools: Sequence[ApiObject]) -> StackEntry | None:
    """Return machine type and count; of chips, the machine that the pools of this reservation have."""
    if isinstance(answer.get("aggregateReservation"), dict):
        return _aggregate(answer, project, node_pools)
    properties = mapping_at(answer, "specificSkuProperties.instanceProperties")
    fields = machine_fields(properties)
    count = int(value_at(answer, "specificSkuProperties.totalCount") or 0)
    if fields is None or count < 1:
        return None
    machine_type = str(fields.pop("machineType"))
    kind = catalog.machines().get(machine_type)
    made = {"existing": False} if kind is not None and kind.kind == "tpu" else {}
    zone = last_segment(str(answer["zone"]))
    return {"machineType": machine_type, "zone": zone, "count": count, **fields, **made}


def _aggregate(answer: ApiObject, project: str, node_pools: Sequence[ApiObject]) -> StackEntry | None:
    resources = list_at(answer, "aggregateReservation.reservedResources")
    if len(resources) != 1:
        return None
    chips = int(value_at(resources[0], "accelerator.acceleratorCount") or 0)
    accelerator = last_segment(str(value_at(resources[0], "accelerator.acceleratorType")))
    candidates = [
        machine
        for machine in catalog.machines().values()
        if machine.aggregate_type == accelerator
        and machine.aggregate_family == value_at(answer, "aggregateReservation.vmFamily")
        and chips and chips % machine.accelerators == 0
    ]  # fmt: skip
    used = machine_types_on(str(answer["name"]), project, node_pools)
    machine = max(candidates, key=lambda each: _rank(each, answer, used), default=None)
    if machine is None:
        return None
    is_shared = len(used) > 1
    return {
        "machineType": machine.name,
        "existing": False,
        "zone": last_segment(str(answer["zone"])),
        **({"chips": chips} if is_shared else {"count": chips // machine.accelerators}),
    }


def _rank(machine: Machine, answer: ApiObject, used: set[str]) -> tuple[bool, bool, int]:
    """Prefer the machine of its pools, then one of slices of several hosts for BATCH, then the largest."""
    batch = value_at(answer, "aggregateReservation.workloadType") == "BATCH"
    return machine.name in used, batch and machine.multi_host_placement == _MULTI_HOST, machine.accelerators
