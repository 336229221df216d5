"""Read reservations: those with an answer are adopted, others are `existing`."""

from __future__ import annotations

from berth import catalog
from berth.adopt.inventory import ClusterInventory, StackEntry, list_at, mapping_at

ReservationsByKey = dict[str, tuple[str, StackEntry]]
"""A reservation's key → its path, and its entry."""


def own_reservations(inventory: ClusterInventory, stack: str) -> ReservationsByKey:
    """Return key → (path, entry) of reservations with an answer, which are adopted."""
    result: ReservationsByKey = {}
    for answer in inventory.reservations:
        specific = mapping_at(answer, "specificReservation")
        machine = mapping_at(specific, "instanceProperties")
        zone, name = str(answer.get("zone", "")).rpartition("/")[2], str(answer["name"])
        key = name.removeprefix(f"{stack}-")
        entry: StackEntry = {
            "machineType": machine.get("machineType"),
            "zone": zone,
            "count": int(specific.get("count") or 0),
        }
        if machine.get("machineType") in catalog.attachable_gpus().hosts:
            gpu = machine["guestAccelerators"][0]
            kind = str(gpu["acceleratorType"]).rpartition("/")[2]
            entry["accelerator"] = {"type": kind, "count": int(gpu["acceleratorCount"])}
        entry |= {"localSsd": len(machine["localSsds"])} if machine.get("localSsds") else {}
        entry |= {"name": name} if key == name else {}
        shared = mapping_at(answer, "shareSettings")
        if shared.get("shareType") == "SPECIFIC_PROJECTS":
            entry["sharedWith"] = sorted(shared.get("projectMap") or list_at(shared, "projects"))
        kind = catalog.machines().get(str(machine.get("machineType")))
        entry |= {"existing": False} if kind and kind.kind == "tpu" else {}
        result[key] = (name, entry)
    return result


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
