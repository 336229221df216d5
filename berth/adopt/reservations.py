"""Reservations: those whose answers were given are taken over, and others are somebody else's."""

from __future__ import annotations

from berth import catalog
from berth.adopt.inventory import Entry, Found, part, parts

Reserved = dict[str, tuple[str, Entry]]
"""A reservation's key → its path, and its entry."""


def own_reservations(found: Found, stack: str) -> Reserved:
    """Key → (path, entry) of those whose answers were given: they are taken over."""
    result: Reserved = {}
    for one in found.reservations:
        held = part(one, "specificReservation")
        machine = part(held, "instanceProperties")
        zone, name = str(one.get("zone", "")).rpartition("/")[2], str(one["name"])
        key = name.removeprefix(f"{stack}-")
        entry: Entry = {"machineType": machine.get("machineType"), "zone": zone, "count": int(held.get("count") or 0)}
        if machine.get("machineType") in catalog.attachable().hosts:
            gpu = machine["guestAccelerators"][0]
            kind = str(gpu["acceleratorType"]).rpartition("/")[2]
            entry["accelerator"] = {"type": kind, "count": int(gpu["acceleratorCount"])}
        entry |= {"localSsd": len(machine["localSsds"])} if machine.get("localSsds") else {}
        entry |= {"name": name} if key == name else {}
        shared = part(one, "shareSettings")
        if shared.get("shareType") == "SPECIFIC_PROJECTS":
            entry["sharedWith"] = sorted(shared.get("projectMap") or parts(shared, "projects"))
        kind = catalog.machines().get(str(machine.get("machineType")))
        entry |= {"existing": False} if kind and kind.kind == "tpu" else {}
        result[key] = (name, entry)
    return result


def reservation(path: str, zone: str, kind: str, nodes: int, reserved: Reserved, stack: str) -> str:
    """The key of the reservation at a path; one whose answer was not given is somebody else's."""
    for key, (name, entry) in reserved.items():
        if name == path and entry["zone"] == zone:
            if entry.get("existing"):
                entry["count"] += nodes
            return key
    parts = path.split("/")
    named = dict(zip(parts[::2], parts[1::2], strict=False)) if path.startswith("projects/") else {}
    named = named or {"reservations": parts[0], **dict(zip(parts[1::2], parts[2::2], strict=False))}
    name = named["reservations"]
    own = name.removeprefix(f"{stack}-")
    key = own if own not in reserved else f"{own}-{len(reserved)}"
    where = {"project": "projects", "block": "reservationBlocks", "subBlock": "reservationSubBlocks"}
    entry = {"existing": True, "name": name, **{k: named[v] for k, v in where.items() if v in named}}
    reserved[key] = (path, {**entry, "machineType": kind, "zone": zone, "count": nodes})
    return key
