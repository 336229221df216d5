"""Node pools become pools: slices of one name together, each with its capacity, flavor and what is its own."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Struct

from berth import catalog
from berth.adopt import rest_fields
from berth.adopt.inventory import Answer, Entry, Found, Left, at, part, parts
from berth.adopt.labels import gpu_of, machine_type, node_labels, own_label
from berth.adopt.reservations import Reserved, own_reservations, reservation
from berth.catalog import Machine

SYSTEM = "system"
_FIRST = "default-pool"
"""The node pool that GKE makes with a cluster, which the provider deletes when it is told that there is to be none."""
_SLICE = re.compile(r"(?P<pool>.+)-(?P<topology>[0-9]+(?:x[0-9]+){1,2})-(?P<number>[0-9]+)")
"""How Berth names the node pool of a slice."""
_EFFECTS = {"NO_SCHEDULE": "NoSchedule", "PREFER_NO_SCHEDULE": "PreferNoSchedule", "NO_EXECUTE": "NoExecute"}
_DRIVERS = {"LATEST": "latest", "INSTALLATION_DISABLED": "disabled"}


class Pool(Struct):
    """A pool as it will be written: its key, its entry, and what flavors and quotas are found by.

    `labels` are those of its nodes, `per_node` the accelerators that jobs can ask a node for, `nodes` the most there
    can be.
    """

    key: str
    entry: Entry
    machine: Machine
    labels: Mapping[str, str]
    per_node: int
    nodes: int
    topology: str | None = None
    taints: frozenset[str] = frozenset()


def pools(found: Found, stack: str, left: list[Left]) -> tuple[list[Pool], Reserved]:
    """The pools with accelerators, and the reservations that they take from; what is left out is told in `left`."""
    reserved = own_reservations(found, stack)
    groups: dict[str, list[Answer]] = {}
    for one in found.node_pools:
        machine = _machine(one)
        if one["name"] == SYSTEM:
            continue
        if one["name"] == _FIRST and found.context is None:
            left.append(
                Left(f"node pool {_FIRST}", "the first `pulumi up` would delete it: mend the state (docs/adopt.md)")
            )
        if machine is None:
            kind = at(one, "config.machineType")
            left.append(Left(f"node pool {one['name']}", f"'{kind}' has no accelerators that Berth knows; left alone"))
        elif (key := str(one["name"]) if found.context else _key(one, machine, left)) is not None:
            groups.setdefault(key, []).append(one)
    made = [_pool(found, stack, key, group, reserved) for key, group in sorted(groups.items())]
    return made, reserved


def _machine(one: Answer) -> Machine | None:
    kind, attached = str(at(one, "config.machineType")), gpu_of(one)
    if kind in catalog.attachable().hosts and attached:
        try:
            return catalog.attached(kind, attached["acceleratorType"], int(attached["acceleratorCount"]))
        except ValueError:
            return None
    return catalog.machines().get(kind)


def _key(one: Answer, machine: Machine, left: list[Left]) -> str | None:
    """The pool that a node pool is of; None where Berth could not give it the name that it has."""
    name, topology = str(one["name"]), at(one, "placementPolicy.tpuTopology")
    if machine.kind != "tpu" or not topology:
        return name
    match = _SLICE.fullmatch(name)
    if match is None or match["topology"] != topology:
        why = f"Berth calls the node pool of a slice <pool>-{topology}-<number>, so it would be made anew; left alone"
        left.append(Left(f"node pool {name}", why))
        return None
    return match["pool"]


# --- a pool -----------------------------------------------------------------------------------------------------------


def _pool(found: Found, stack: str, key: str, group: Sequence[Answer], reserved: Reserved) -> Pool:
    one = group[0]
    machine = _machine(one)
    assert machine is not None
    gpu = gpu_of(one)
    topology = at(one, "placementPolicy.tpuTopology") or machine.single_host_topology
    topology = topology if machine.kind == "tpu" else None
    size, most = _size(one, group, machine, topology)
    entry: Entry = {"machineType": machine_type(one)}
    if machine.kind == "gpu" and machine_type(one) in catalog.attachable().hosts:
        entry["accelerator"] = {"type": gpu["acceleratorType"], "count": int(gpu["acceleratorCount"])}
    entry |= {"topology": topology} if topology else {}
    entry |= {"slices" if topology else "nodes": size}
    capacity, held = _capacity(stack, one, most, reserved)
    entry |= {"capacity": capacity} if capacity != "on-demand" else {}
    entry |= _zones(
        found,
        one,
        held[1]["zone"] if held else None,
        one_zone=len(group) > 1 or bool(at(one, "placementPolicy.tpuTopology")),
    )
    entry |= _marks(one)
    entry |= _of_gpu(gpu)
    entry |= _placed(one, machine, topology)
    entry |= _ssds(one, machine)
    entry |= _surge(one, machine)
    entry |= {k: v for k, v in rest_fields.keys(rest_fields.NODE_POOL, one).items() if k not in entry}
    _linux(one, entry)
    shared = int(part(gpu, "gpuSharingConfig").get("maxSharedClientsPerGpu", 1) or 1)
    parts = catalog.mig_partitions(machine.accelerator).get(gpu.get("gpuPartitionSize", ""), 1)
    return Pool(
        key, entry, machine, node_labels(one, machine, topology, held),
        machine.accelerators * shared * parts, most, topology, _tainted(one),
    )  # fmt: skip


def _tainted(one: Answer) -> frozenset[str]:
    """Keys of the taints of its nodes, GKE's own for queued ones among them."""
    queued = {catalog.taints().queued.key} if at(one, "queuedProvisioning.enabled") else set[str]()
    return frozenset({t["key"] for t in parts(one, "config.taints")} | queued)


def bounds(one: Answer) -> tuple[int, int, bool]:
    """Nodes of one node pool over all its zones at the least and at the most, and whether it is scaled."""
    zones, scaling = len(parts(one, "locations")) or 1, part(one, "autoscaling")
    if not scaling.get("enabled"):
        fixed = int(one.get("initialNodeCount") or 0) * zones
        return fixed, fixed, False
    if "totalMaxNodeCount" in scaling:
        return int(scaling.get("totalMinNodeCount") or 0), int(scaling["totalMaxNodeCount"]), True
    return int(scaling.get("minNodeCount") or 0) * zones, int(scaling.get("maxNodeCount") or 0) * zones, True


def _size(one: Answer, group: Sequence[Answer], machine: Machine, topology: str | None) -> tuple[object, int]:
    """The count as it is written (of slices, or of nodes), and the most nodes of the pool."""
    all_bounds = [bounds(each) for each in group]
    most = sum(each[1] for each in all_bounds)
    hosts = 1
    if topology and (shape := catalog.slice_shape(machine, topology)):
        hosts = shape.hosts
    least, scaled = sum(each[0] for each in all_bounds) // hosts, any(each[2] for each in all_bounds)
    if not scaled:
        return most // hosts, most
    return ({"min": least} if least else {}) | {"max": most // hosts}, most


def _zones(found: Found, one: Answer, reserved_in: str | None, *, one_zone: bool) -> Entry:
    """Nothing where they follow from the reservation or from the cluster."""
    zones = sorted(parts(one, "locations"))
    if zones == [reserved_in] or (not one_zone and zones == sorted(parts(found.cluster, "locations"))):
        return {}
    return {"zone": zones[0]} if len(zones) == 1 else {"zones": zones}


def _capacity(stack: str, one: Answer, most: int, reserved: Reserved) -> tuple[object, tuple[str, Entry] | None]:
    """How the machines are had, and the reservation that they come from."""
    seen = rest_fields.observed(rest_fields.NODE_POOL, one)
    if seen["queued"]:
        return {"queued": {}}, None
    if seen["flex_start"]:
        span = seen["max_run_seconds"]
        return ("flex-start" if span is None else {"flexStart": {"maxRunDuration": duration(int(str(span)))}}), None
    if seen["spot"]:
        return "spot", None
    affinity = part(one, "config.reservationAffinity")
    kind = affinity.get("consumeReservationType")
    if kind in ("ANY_RESERVATION", "ANY_RESERVATION_THEN_FAIL"):
        return ("any-reservation" if kind == "ANY_RESERVATION" else "any-reservation-then-fail"), None
    if kind != "SPECIFIC_RESERVATION":
        return "on-demand", None
    zone = str(next(iter(parts(one, "locations")), ""))
    key = reservation(str(affinity["values"][0]), zone, machine_type(one), most, reserved, stack)
    return {"reservation": key}, reserved[key]


def duration(seconds: int) -> str:
    """Seconds in the largest unit that holds them whole."""
    return next(f"{seconds // each}{unit}" for unit, each in _UNITS if seconds % each == 0)


_UNITS = (("d", 86400), ("h", 3600), ("m", 60), ("s", 1))


# --- what is a pool's own ---------------------------------------------------------------------------------------------


def _marks(one: Answer) -> Entry:
    labels = {k: v for k, v in sorted(part(one, "config.labels").items()) if own_label(k)}
    taints = [_taint(t) for t in parts(one, "config.taints") if own_label(t["key"])]
    return ({"labels": labels} if labels else {}) | ({"taints": taints} if taints else {})


def _taint(taint: Mapping[str, str]) -> Entry:
    effect = _EFFECTS.get(taint["effect"], taint["effect"])
    return {"key": taint["key"], "value": taint.get("value", "")} | (
        {"effect": effect} if effect != "NoSchedule" else {}
    )


def _of_gpu(gpu: Mapping[str, Any]) -> Entry:
    entry: Entry = {}
    driver = at(gpu, "gpuDriverInstallationConfig.gpuDriverVersion")
    if driver in _DRIVERS:
        entry["driverVersion"] = _DRIVERS[driver]
    if gpu.get("gpuPartitionSize"):
        entry["gpuPartition"] = gpu["gpuPartitionSize"]
    if sharing := gpu.get("gpuSharingConfig"):
        strategy = {"MPS": {"strategy": "mps"}}.get(sharing.get("gpuSharingStrategy"), {})
        entry["gpuSharing"] = {**strategy, "maxSharedClients": int(sharing["maxSharedClientsPerGpu"])}
    return entry


def _placed(one: Answer, machine: Machine, topology: str | None) -> Entry:
    entry: Entry = {}
    if at(one, "networkConfig.acceleratorNetworkProfile"):
        entry["networking"] = "dranet"
    elif at(one, "networkConfig.additionalNodeNetworkConfigs") and machine.gpudirect != "none":
        entry["networking"] = "gpudirect"
    compact = at(one, "placementPolicy.type") == "COMPACT" and not topology and not machine.domain_topology
    return entry | ({"compactPlacement": True} if compact else {})


def _ssds(one: Answer, machine: Machine) -> Entry:
    """Nothing of those that the machine brings by itself."""
    uses = {"ephemeral": "ephemeralStorageLocalSsdConfig", "block": "localNvmeSsdBlockConfig"}
    counts = {key: int(at(one, f"config.{path}.localSsdCount") or 0) for key, path in uses.items()}
    said = {key: count for key, count in counts.items() if count}
    return {"localSsd": said} if said and not machine.ssd_automatic else {}


def _surge(one: Answer, machine: Machine) -> Entry:
    """Nothing where it is what Berth says anyway: one node at a time."""
    settings, seen = part(one, "upgradeSettings"), rest_fields.observed(rest_fields.NODE_POOL, one)
    if settings.get("strategy", "SURGE") != "SURGE" or machine.domain_topology or seen["queued"] or seen["flex_start"]:
        return {}
    surge, away = int(settings.get("maxSurge") or 0), int(settings.get("maxUnavailable") or 0)
    specific = at(one, "config.reservationAffinity.consumeReservationType") == "SPECIFIC_RESERVATION"
    in_place = specific or bool(at(one, "placementPolicy.tpuTopology"))
    if (surge, away) in ((0, 1) if in_place else (1, 0), (0, 0)):
        return {}
    return {"surge": {key: n for key, n in (("maxSurge", surge), ("maxUnavailable", away)) if n}}


def _linux(one: Answer, entry: Entry) -> None:
    """The words of the kernel, which GKE spells as enums."""
    words = {
        "cgroupMode": ("cgroupMode", "CGROUP_MODE_"),
        "transparentHugepageEnabled": ("transparentHugepages", "TRANSPARENT_HUGEPAGE_ENABLED_"),
        "transparentHugepageDefrag": ("transparentHugepageDefrag", "TRANSPARENT_HUGEPAGE_DEFRAG_"),
    }
    for field, (key, prefix) in words.items():
        value = at(one, f"config.linuxNodeConfig.{field}")
        if value and value.startswith(prefix) and not value.endswith("UNSPECIFIED"):
            word = value.removeprefix(prefix).lower().replace("_", "-")
            entry.setdefault("nodeSystemConfig", {})[key] = word
