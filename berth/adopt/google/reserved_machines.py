"""The machines of a reservation or of a request for one, as keys of the stack file."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from berth import catalog
from berth.adopt.api_objects import (
    ApiObject,
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
