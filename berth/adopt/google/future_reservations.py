"""Read requests for machines that Google delivers later, and the machines of any reservation, as keys."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from berth import catalog
from berth.adopt.api_objects import (
    ApiObject,
    Kept,
    NotAdopted,
    StackEntry,
    last_segment,
    list_at,
    mapping_at,
    reservation_value,
    value_at,
)
from berth.catalog import Machine


def machine_fields(properties: ApiObject, *, of_a_queue: bool = False) -> StackEntry | None:
    """Return machine type, attached GPUs and local SSDs; None for machines without accelerators that Berth knows.

    `of_a_queue`: a pool of Berth without accelerators uses the machines.
    """
    machine_type = last_segment(str(properties.get("machineType") or ""))
    gpus: list[Any] = list_at(properties, "guestAccelerators")
    entry: StackEntry = {"machineType": machine_type}
    if machine_type in catalog.attachable_gpus().hosts:
        if len(gpus) != 1:
            return None
        gpu = gpus[0]
        entry["accelerator"] = {
            "type": last_segment(str(gpu["acceleratorType"])),
            "count": int(gpu["acceleratorCount"]),
        }
    elif machine_type not in catalog.machines() and not (of_a_queue and catalog.cpu_machine(machine_type)):
        return None
    disks = list_at(properties, "localSsds")
    return entry | ({"localSsd": len(disks)} if disks else {})


def chips_entry(answer: ApiObject, project: str, node_pools: Sequence[ApiObject]) -> StackEntry | None:
    """Return the entry of a reservation of TPU chips; None for any other, and if no machine of the family is known."""
    resources = list_at(answer, "aggregateReservation.reservedResources")
    if len(resources) != 1:
        return None
    chips = int(value_at(resources[0], "accelerator.acceleratorCount") or 0)
    accelerator = last_segment(str(value_at(resources[0], "accelerator.acceleratorType")))
    used = machine_types_on(str(answer["name"]), project, node_pools)
    tpus = [each for each in catalog.machines().values() if each.generation is not None]
    of_family = [each for each in tpus if each.aggregate_type == accelerator]
    machine = next((each for each in tpus if each.name in used), max(of_family, key=_size, default=None))
    if machine is None or not chips:
        return None
    return {
        "machineType": machine.name,
        "existing": True,
        "zone": last_segment(str(answer.get("zone", ""))),
        "chips": chips,
    }


def _size(machine: Machine) -> int:
    return machine.accelerators


def machine_types_on(name: str, project: str, node_pools: Sequence[ApiObject]) -> set[str]:
    """Return the machine types of node pools that name a reservation."""
    return {
        str(value_at(node_pool, "config.machineType"))
        for node_pool in node_pools
        if any(
            reservation_value(str(each), project).partition("/")[0] == name
            for each in list_at(node_pool, "config.reservationAffinity.values")
        )
    }


def accepted_zones(machine: Machine | None, zones: Sequence[str], region: str, *, dws: bool = False) -> StackEntry:
    """Return `acceptZone` if Berth's table would refuse a zone, which has the machines."""
    if machine is None:
        return {}
    listed = catalog.listed_zones(machine, dws=dws)
    known = catalog.zone_table().regions.get(region, zones)
    is_listed = listed is None or set(zones) <= set(listed.all)
    return {} if is_listed and set(zones) <= set(known) else {"acceptZone": True}


def shared_projects(answer: ApiObject) -> StackEntry:
    """Return the other projects that may use a reservation."""
    shared = mapping_at(answer, "shareSettings")
    if shared.get("shareType") != "SPECIFIC_PROJECTS":
        return {}
    return {"sharedWith": sorted(shared.get("projectMap") or list_at(shared, "projects"))}


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
    fields = machine_fields(mapping_at(answer, "specificSkuProperties.instanceProperties"))
    count = int(value_at(answer, "specificSkuProperties.totalCount") or 0)
    if fields is None or count < 1:
        return None
    machine_type = str(fields.pop("machineType"))
    kind = catalog.machines().get(machine_type)
    made = {"existing": False} if kind is not None and kind.kind == "tpu" else {}
    return {"machineType": machine_type, "zone": last_segment(str(answer["zone"])), "count": count, **fields, **made}


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
