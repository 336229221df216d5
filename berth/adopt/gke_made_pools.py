"""Read pools that GKE creates: no node pool describes them, so they follow from their flavor and its quotas."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from fractions import Fraction
from typing import Any

from berth import catalog
from berth.adopt.api_objects import (
    ApiObject,
    Kept,
    NotAdopted,
    StackEntry,
    list_at,
    mapping_at,
    name_of,
    other_than,
    stated,
    value_at,
)
from berth.adopt.inventory import ClusterInventory
from berth.adopt.labels import PROVISIONING, is_user_label
from berth.adopt.pools import AdoptedPool
from berth.adopt.queues import CPU, PoolsByFlavor, nominal_quota, quotas_by_flavor
from berth.catalog import Machine
from berth.jobs.quantities import parse_quantity

ReservationLookup = Callable[[str, str, str, int], str]
"""Path, zone, machine type and number of a reservation → its key."""

_INSTANCE_TYPE_LABEL = "node.kubernetes.io/instance-type"
_POOL_NAME = re.compile(r"[a-z]([-a-z0-9]{0,28}[a-z0-9])?")


def read_gke_made_pools(
    inventory: ClusterInventory, known: PoolsByFlavor, not_adopted: list[NotAdopted]
) -> list[AdoptedPool]:
    """Return a pool for every flavor that no node pool belongs to, as large as its quotas."""
    is_auto_provisioned = inventory.is_autopilot or bool(
        value_at(inventory.cluster, "autoscaling.enableNodeAutoprovisioning")
    )
    made: list[AdoptedPool] = []
    for flavor in inventory.objects_of_kind("ResourceFlavor"):
        selected = mapping_at(flavor, "spec.nodeLabels")
        if name_of(flavor) in known or not (is_auto_provisioned or catalog.labels().compute_class in selected):
            continue
        if (pool := _gke_made_pool(inventory, flavor, selected)) is None:
            continue
        made.append(pool)
        count = pool.entry.get("slices", pool.entry.get("nodes", {}))["max"]
        noun = "slices" if "slices" in pool.entry else "nodes"
        why = f"no node pool of its flavor, so GKE creates the nodes: assumed {count} {noun} of {pool.machine.name}"
        not_adopted.append(NotAdopted(f"pool {pool.key}", f"{why}, from the quotas"))
    return made


def _gke_made_pool(inventory: ClusterInventory, flavor: ApiObject, labels: Mapping[str, str]) -> AdoptedPool | None:
    keys, name = catalog.labels(), name_of(flavor)
    kind, topology = labels.get(keys.tpu_accelerator) or labels.get(keys.gpu_accelerator), labels.get(keys.tpu_topology)
    classes = {name_of(each): list_at(each["spec"], "priorities") for each in inventory.objects_of_kind("ComputeClass")}
    class_priority: Mapping[str, Any] | None = next(iter(classes.get(str(labels.get(keys.compute_class)), ())), None)
    machine = _machine_of_flavor(
        inventory, name, kind, topology, labels.get(_INSTANCE_TYPE_LABEL) or (class_priority or {}).get("machineType")
    )
    if machine is None or not (total := _total_guaranteed(inventory, machine.resource, name)):
        return None
    shared = int(labels.get(keys.gpu_max_shared_clients, 1))
    per_node = (
        machine.accelerators * shared * catalog.mig_partitions(kind or "").get(labels.get(keys.gpu_partition, ""), 1)
    )
    shape = catalog.slice_shape(machine, topology) if topology else None
    most = -(-total // (shape.chips if shape else per_node))
    key = name if _POOL_NAME.fullmatch(name) else re.sub(r"[^a-z0-9]+", "-", name)[:30].strip("-")
    entry = {
        "machineType": machine.name,
        **({"topology": topology} if topology else {}),
        "slices" if topology else "nodes": {"max": most},
        **_provisioning_entry(inventory, flavor, labels),
        **stated({"flavor": other_than(key, name)}),
    }
    return AdoptedPool(key, entry, machine, dict(labels), per_node, most * (shape.hosts if shape else 1), topology)


def _provisioning_entry(inventory: ClusterInventory, flavor: ApiObject, labels: Mapping[str, str]) -> StackEntry:
    """Return how GKE gets the nodes: by a compute class, or by itself with some capacity."""
    keys = catalog.labels()
    if keys.compute_class in labels:
        return {"computeClass": labels[keys.compute_class]}
    capacity: object = None
    if catalog.taints().queued.key in {each.get("key") for each in list_at(flavor, "spec.tolerations")}:
        capacity = {"queued": {}}
    elif labels.get(keys.flex_start):
        capacity = "flex-start"
    elif labels.get(keys.spot) or labels.get(PROVISIONING) == "spot":
        capacity = "spot"
    entry = {
        "autoProvisioned": None if inventory.is_autopilot else True,
        "capacity": capacity,
        "labels": {key: value for key, value in sorted(labels.items()) if is_user_label(key)},
        "gpuPartition": labels.get(keys.gpu_partition),
        "compactPlacement": True if keys.placement_group in labels else None,
    }
    return stated(entry)


def _machine_of_flavor(
    inventory: ClusterInventory, flavor: str, kind: str | None, topology: str | None, machine_type: str | None
) -> Machine | None:
    """Return the machine that a flavor names, or the one that fits its cpu and memory quotas; else the smallest."""
    known = catalog.machines()
    if machine_type is not None:
        return known.get(machine_type)
    candidates = [
        machine
        for machine in known.values()
        if machine.accelerator == kind
        and machine.status == "current"
        and (topology is None or catalog.slice_shape(machine, topology) is not None)
    ]
    candidates.sort(key=lambda machine: (machine.accelerators, machine.vcpu, machine.name))
    seen = list(_cpu_per_accelerator(inventory, flavor))
    matching = (m for m in candidates if seen and all(Fraction(m.vcpu * 1000, m.accelerators) == rate for rate in seen))
    return next(matching, next(iter(candidates), None))


def _cpu_per_accelerator(inventory: ClusterInventory, flavor: str) -> Iterable[Fraction]:
    """Return the cpu, in milli, per accelerator, if every queue with a quota has the same."""
    for queue in inventory.objects_of_kind("ClusterQueue"):
        resources = quotas_by_flavor(queue).get(flavor, {})
        counts = [parse_quantity(name, each.get("nominalQuota")) for name, each in resources.items() if "/" in name]
        cpu = parse_quantity(CPU, resources.get(CPU, {}).get("nominalQuota"))
        if cpu and len(counts := [count for count in counts if count]) == 1:
            yield Fraction(cpu, counts[0])


def _total_guaranteed(inventory: ClusterInventory, resource: str, flavor: str) -> int:
    quota_owners = [*inventory.objects_of_kind("ClusterQueue"), *inventory.objects_of_kind("Cohort")]
    return sum(
        nominal_quota({**resource_object, "spec": mapping_at(resource_object, "spec")}, resource, flavor)
        for resource_object in quota_owners
    )


# --- compute classes --------------------------------------------------------------------------------------------------


def compute_class_section(
    inventory: ClusterInventory, pools: Iterable[AdoptedPool], reserve: ReservationLookup, not_adopted: list[NotAdopted]
) -> dict[str, StackEntry]:
    """Return the classes that pools name; `reserve` finds the reservations that they use."""
    wanted = {pool.entry["computeClass"]: pool for pool in pools if "computeClass" in pool.entry}
    result: dict[str, StackEntry] = {}
    for compute_class in inventory.objects_of_kind("ComputeClass"):
        name, spec = name_of(compute_class), mapping_at(compute_class, "spec")
        if (pool := wanted.get(name)) is None:
            not_adopted.append(
                NotAdopted(f"ComputeClass {name}", "no flavor of a queue selects it; ignored", kept=Kept.UNUSED)
            )
            continue
        further = {
            "whenUnsatisfiable": other_than("DoNotScaleUp", spec.get("whenUnsatisfiable")),
            "activeMigration": value_at(spec, "activeMigration.optimizeRulePriority"),
            "consolidationDelayMinutes": value_at(spec, "autoscalingPolicy.consolidationDelayMinutes"),
        }
        priorities = [_class_priority(each, pool, reserve) for each in list_at(spec, "priorities")]
        result[name] = {"priorities": priorities, **stated(further)}
    return result


def _class_priority(priority: Mapping[str, Any], pool: AdoptedPool, reserve: ReservationLookup) -> StackEntry:
    machine_type, capacity = priority.get("machineType") or pool.machine.name, None
    zones = sorted(list_at(priority, "location.zones"))
    reservations = list_at(priority, "reservations.specific")
    if reservations:
        block = mapping_at(reservations[0], "reservationBlock")
        path = (
            f"projects/{reservations[0]['project']}/reservations/{reservations[0]['name']}"
            if "project" in reservations[0]
            else reservations[0]["name"]
        )
        path += f"/reservationBlocks/{block['name']}" if block else ""
        zone = (reservations[0].get("zones") or zones or [""])[0]
        capacity = {"reservation": reserve(path, zone, machine_type, pool.max_nodes)}
    elif value_at(priority, "flexStart.enabled"):
        seconds = priority.get("maxRunDurationSeconds")
        capacity = {"flexStart": {"maxRunDuration": f"{seconds}s"}} if seconds else "flex-start"
    elif priority.get("spot"):
        capacity = "spot"
    entry = {
        "machineType": machine_type,
        "topology": value_at(priority, "tpu.topology"),
        "capacity": capacity,
        "zones": None if reservations else zones,
        "driverVersion": other_than("default", value_at(priority, "gpu.driverVersion")),
    }
    return stated(entry)
