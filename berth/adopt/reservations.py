"""Read reservations: those with an answer are adopted, others are `existing`."""

from __future__ import annotations

from berth import catalog
from berth.adopt.api_objects import (
    ApiObject,
    NotAdopted,
    StackEntry,
    last_segment,
    list_at,
    mapping_at,
    reservation_value,
    value_at,
)
from berth.adopt.google.future_reservations import delivered_names, future_entry
from berth.adopt.google.reserved_machines import machine_fields, shared_projects
from berth.adopt.inventory import ClusterInventory
from berth.names import CAPACITY_MARK

ReservationsByKey = dict[str, tuple[str, StackEntry]]
"""A reservation's key → its path, and its entry."""


def own_reservations(inventory: ClusterInventory, stack: str, not_adopted: list[NotAdopted]) -> ReservationsByKey:
    """Return key → (path, entry) of reservations and requests with an answer, which are adopted."""
    result: ReservationsByKey = {}
    delivered = delivered_names(inventory.future_reservations)
    marked = [each for each in inventory.node_pools if CAPACITY_MARK in mapping_at(each, "config.labels")]
    paths = [str(path) for each in marked for path in list_at(each, "config.reservationAffinity.values")]
    of_queues = frozenset(path.rpartition("reservations/")[2].partition("/")[0] for path in paths)
    for answer in inventory.reservations:
        if str(answer["name"]) in delivered:
            continue  # Google made it for a request, which is the one to adopt
        if (entry := _reservation_entry(answer, of_queues)) is None:
            not_adopted.append(NotAdopted(f"reservation {answer['name']}", _why_left(answer)))
        else:
            _add(result, answer, entry, stack)
    for answer in inventory.future_reservations:
        entry = future_entry(answer, inventory.project, inventory.node_pools, not_adopted)
        if entry is not None:
            _add(result, answer, entry, stack)
    return result


def _add(result: ReservationsByKey, answer: ApiObject, entry: StackEntry, stack: str) -> None:
    """Add an entry under its key; one whose name is not derived from the stack's keeps it."""
    name = str(answer["name"])
    key = name.removeprefix(f"{stack}-")
    key = key if key not in result else f"{key}-{last_segment(str(answer.get('zone', '')))}"
    result[key] = (name, entry | ({} if name == f"{stack}-{key}" else {"name": name}))


def _reservation_entry(answer: ApiObject, of_queues: frozenset[str]) -> StackEntry | None:
    """Return the entry of machines that only pools which name them use; None for any other reservation."""
    specific = mapping_at(answer, "specificReservation")
    properties = mapping_at(specific, "instanceProperties")
    fields = machine_fields(properties, of_a_queue=str(answer["name"]) in of_queues)
    if fields is None or answer.get("specificReservationRequired") is False:
        return None
    machine_type = str(fields.pop("machineType"))
    kind = catalog.machines().get(machine_type)
    return {
        "machineType": machine_type,
        "zone": last_segment(str(answer.get("zone", ""))),
        "count": int(specific.get("count") or 0),
        **fields,
        **shared_projects(answer),
        **({"existing": False} if kind is not None and kind.kind == "tpu" else {}),
    }


def _why_left(answer: ApiObject) -> str:
    if isinstance(answer.get("aggregateReservation"), dict):
        return "it holds chips and not machines, which Google reserves; a pool that names it has it as `existing`"
    machine = value_at(answer, "specificReservation.instanceProperties.machineType")
    if machine_fields(mapping_at(answer, "specificReservation.instanceProperties")) is None:
        return f"'{machine}' has no accelerators that Berth knows; it stays as it is"
    return (
        "machines of any owner may use it without its name, and Berth makes only reservations that pools name; it "
        "stays as it is, and pools use it with `capacity: any-reservation`"
    )


def reservation_key(path: str, zone: str, kind: str, nodes: int, reserved: ReservationsByKey, stack: str) -> str:
    """Return the key of the reservation at a path; one without an answer is `existing`."""
    for key, (name, entry) in reserved.items():
        if name == path and entry["zone"] == zone:
            if entry.get("existing"):
                entry["count"] += nodes
            return key
    segments = path.split("/")
    path_ids = dict(zip(segments[::2], segments[1::2], strict=False)) if path.startswith("projects/") else {}
    path_ids = path_ids or {"reservations": segments[0], **dict(zip(segments[1::2], segments[2::2], strict=False))}
    name = path_ids["reservations"]
    own_name = name.removeprefix(f"{stack}-")
    key = own_name if own_name not in reserved else f"{own_name}-{len(reserved)}"
    path_fields = {"project": "projects", "block": "reservationBlocks", "subBlock": "reservationSubBlocks"}
    entry = {"existing": True, "name": name, **{k: path_ids[v] for k, v in path_fields.items() if v in path_ids}}
    reserved[key] = (path, {**entry, "machineType": kind, "zone": zone, "count": nodes})
    return key


def canonical_path(path: str, inventory: ClusterInventory) -> str:
    """Return a reservation as GKE's affinity names it, whether it was given as a name, a path or a URL."""
    return reservation_value(path, inventory.project)
