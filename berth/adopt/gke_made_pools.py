"""Pools that GKE makes: no node pool speaks of them, so they are read from their flavor, and counted from quotas."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from fractions import Fraction
from typing import Any

from berth import catalog
from berth.adopt.inventory import Answer, Entry, Found, Left, at, name_of, part, parts
from berth.adopt.labels import own_label
from berth.adopt.pools import Pool
from berth.adopt.queues import CPU, Flavors, nominal, quotas_of
from berth.catalog import Machine
from berth.jobs.quantities import amount

Reserve = Callable[[str, str, str, int], str]
"""Path, zone, machine type and number of a reservation → its key."""

_TYPE = "node.kubernetes.io/instance-type"
_NAME = re.compile(r"[a-z]([-a-z0-9]{0,28}[a-z0-9])?")


def made_by_gke(found: Found, known: Flavors, left: list[Left]) -> list[Pool]:
    """A pool for every flavor that no node pool is of, as large as its quotas."""
    by_itself = found.autopilot or bool(at(found.cluster, "autoscaling.enableNodeAutoprovisioning"))
    made: list[Pool] = []
    for flavor in found.of_kind("ResourceFlavor"):
        selected = part(flavor, "spec.nodeLabels")
        if name_of(flavor) in known or not (by_itself or catalog.labels().compute_class in selected):
            continue
        if (pool := _pool(found, flavor, selected)) is None:
            continue
        made.append(pool)
        count = pool.entry.get("slices", pool.entry.get("nodes", {}))["max"]
        noun = "slices" if "slices" in pool.entry else "nodes"
        why = f"no node pool is its flavor's, so GKE makes the nodes: taken for {count} {noun} of {pool.machine.name}"
        left.append(Left(f"pool {pool.key}", f"{why}, as the quotas say"))
    return made


def _pool(found: Found, flavor: Answer, labels: Mapping[str, str]) -> Pool | None:
    keys, name = catalog.labels(), name_of(flavor)
    kind, topology = labels.get(keys.tpu_accelerator) or labels.get(keys.gpu_accelerator), labels.get(keys.tpu_topology)
    ladder = _class(found, labels.get(keys.compute_class))
    machine = _machine(found, name, kind, topology, labels.get(_TYPE) or (ladder or {}).get("machineType"))
    if machine is None or not (total := _promised(found, machine.resource, name)):
        return None
    shared = int(labels.get(keys.gpu_max_shared_clients, 1))
    per_node = (
        machine.accelerators * shared * catalog.mig_partitions(kind or "").get(labels.get(keys.gpu_partition, ""), 1)
    )
    shape = catalog.slice_shape(machine, topology) if topology else None
    unit = shape.chips if shape else per_node
    size = {"max": -(-total // unit)}
    entry: Entry = {"machineType": machine.name} | (
        {"topology": topology, "slices": size} if topology else {"nodes": size}
    )
    entry |= _way(found, flavor, labels)
    nodes = size["max"] * (shape.hosts if shape else 1)
    key = name if _NAME.fullmatch(name) else re.sub(r"[^a-z0-9]+", "-", name)[:30].strip("-")
    entry |= {"flavor": name} if name != key else {}
    return Pool(key, entry, machine, dict(labels), per_node, nodes, topology)


def _way(found: Found, flavor: Answer, labels: Mapping[str, str]) -> Entry:
    """How GKE gets the nodes: by a compute class, or by itself in some capacity."""
    keys = catalog.labels()
    if keys.compute_class in labels:
        return {"computeClass": labels[keys.compute_class]}
    entry: Entry = {} if found.autopilot else {"autoProvisioned": True}
    tolerated = {each.get("key") for each in parts(flavor, "spec.tolerations")}
    if catalog.taints().queued.key in tolerated:
        entry["capacity"] = {"queued": {}}
    elif labels.get(keys.flex_start):
        entry["capacity"] = "flex-start"
    elif labels.get(keys.spot):
        entry["capacity"] = "spot"
    own = {key: value for key, value in sorted(labels.items()) if own_label(key)}
    entry |= {"labels": own} if own else {}
    entry |= {"gpuPartition": labels[keys.gpu_partition]} if keys.gpu_partition in labels else {}
    return entry | ({"compactPlacement": True} if keys.placement_group in labels else {})


def _machine(found: Found, flavor: str, kind: str | None, topology: str | None, named: str | None) -> Machine | None:
    """The machine that a flavor names, or the one whose cpu and memory come with its quotas; else the smallest."""
    known = catalog.machines()
    if named is not None:
        return known.get(named)
    fitting = [
        machine
        for machine in known.values()
        if machine.accelerator == kind
        and machine.status == "current"
        and (topology is None or catalog.slice_shape(machine, topology) is not None)
    ]
    fitting.sort(key=lambda machine: (machine.accelerators, machine.vcpu, machine.name))
    seen = list(_rates(found, flavor))
    brought = (m for m in fitting if seen and all(Fraction(m.vcpu * 1000, m.accelerators) == rate for rate in seen))
    return next(brought, next(iter(fitting), None))


def _rates(found: Found, flavor: str) -> Iterable[Fraction]:
    """The cpu, in milli, that comes with each accelerator in every queue that has some."""
    for one in found.of_kind("ClusterQueue"):
        resources = quotas_of(one).get(flavor, {})
        counts = [amount(name, each.get("nominalQuota")) for name, each in resources.items() if "/" in name]
        cpu = amount(CPU, resources.get(CPU, {}).get("nominalQuota"))
        if cpu and len(counts := [count for count in counts if count]) == 1:
            yield Fraction(cpu, counts[0])


def _promised(found: Found, resource: str, flavor: str) -> int:
    holders = [*found.of_kind("ClusterQueue"), *found.of_kind("Cohort")]
    return sum(nominal({**one, "spec": part(one, "spec")}, resource, flavor) for one in holders)


# --- compute classes --------------------------------------------------------------------------------------------------


def _class(found: Found, name: str | None) -> Mapping[str, Any] | None:
    """The first priority of a class."""
    one = next((each for each in found.of_kind("ComputeClass") if name_of(each) == name), None)
    return next(iter(parts(one["spec"], "priorities")), None) if one else None


def compute_classes(found: Found, pools: Iterable[Pool], reserve: Reserve, left: list[Left]) -> dict[str, Entry]:
    """The classes that pools name; `reserve` finds the reservations that they take from."""
    wanted = {pool.entry["computeClass"]: pool for pool in pools if "computeClass" in pool.entry}
    result: dict[str, Entry] = {}
    for one in found.of_kind("ComputeClass"):
        if (pool := wanted.get(name_of(one))) is None:
            left.append(Left(f"ComputeClass {name_of(one)}", "no flavor of a queue selects it; left alone"))
            continue
        spec = one["spec"]
        entry: Entry = {"priorities": [_priority(each, pool, reserve) for each in parts(spec, "priorities")]}
        if spec.get("whenUnsatisfiable", "DoNotScaleUp") != "DoNotScaleUp":
            entry["whenUnsatisfiable"] = spec["whenUnsatisfiable"]
        migrates = at(spec, "activeMigration.optimizeRulePriority")
        entry |= {} if migrates is None else {"activeMigration": migrates}
        delay = at(spec, "autoscalingPolicy.consolidationDelayMinutes")
        result[name_of(one)] = entry | ({} if delay is None else {"consolidationDelayMinutes": delay})
    return result


def _priority(one: Mapping[str, Any], pool: Pool, reserve: Reserve) -> Entry:
    entry: Entry = {"machineType": one.get("machineType") or pool.machine.name}
    entry |= {"topology": one["tpu"]["topology"]} if "tpu" in one else {}
    zones = sorted(parts(one, "location.zones"))
    held = parts(one, "reservations.specific")
    if held:
        block = part(held[0], "reservationBlock")
        path = (
            f"projects/{held[0]['project']}/reservations/{held[0]['name']}" if "project" in held[0] else held[0]["name"]
        )
        path += f"/reservationBlocks/{block['name']}" if block else ""
        zone = (held[0].get("zones") or zones or [""])[0]
        entry["capacity"] = {"reservation": reserve(path, zone, entry["machineType"], pool.nodes)}
    elif at(one, "flexStart.enabled"):
        seconds = one.get("maxRunDurationSeconds")
        entry["capacity"] = {"flexStart": {"maxRunDuration": f"{seconds}s"}} if seconds else "flex-start"
    elif one.get("spot"):
        entry["capacity"] = "spot"
    entry |= {"zones": zones} if zones and not held else {}
    driver = part(one, "gpu").get("driverVersion", "default")
    return entry | ({"driverVersion": driver} if driver != "default" else {})
