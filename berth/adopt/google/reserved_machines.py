"""The machines of a reservation or of a request for one, as keys of the stack file."""

from __future__ import annotations

from typing import Any

from berth import catalog
from berth.adopt.api_objects import ApiObject, StackEntry, last_segment, list_at, mapping_at


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


def shared_projects(answer: ApiObject) -> StackEntry:
    """Return the other projects that may use a reservation."""
    shared = mapping_at(answer, "shareSettings")
    if shared.get("shareType") != "SPECIFIC_PROJECTS":
        return {}
    return {"sharedWith": sorted(shared.get("projectMap") or list_at(shared, "projects"))}
