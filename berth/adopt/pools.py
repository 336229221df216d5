"""Read node pools into pools: slices of one name together, each with its capacity, flavor and own settings."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Struct

from berth import catalog
from berth.adopt import rest_fields
from berth.adopt.inventory import ApiObject, ClusterInventory, NotAdopted, StackEntry, list_at, mapping_at, value_at
from berth.adopt.labels import gpu_config, is_user_label, machine_type, node_labels
from berth.adopt.reservations import ReservationsByKey, own_reservations, reservation_key
from berth.catalog import Machine

SYSTEM_POOL = "system"
_DEFAULT_POOL = "default-pool"
"""The node pool that GKE creates with a cluster; the provider deletes it if `removeDefaultNodePool` is set."""
_SLICE = re.compile(r"(?P<pool>.+)-(?P<topology>[0-9]+(?:x[0-9]+){1,2})-(?P<number>[0-9]+)")
"""How Berth names the node pool of a slice."""
_EFFECTS = {"NO_SCHEDULE": "NoSchedule", "PREFER_NO_SCHEDULE": "PreferNoSchedule", "NO_EXECUTE": "NoExecute"}
_DRIVERS = {"LATEST": "latest", "INSTALLATION_DISABLED": "disabled"}


class AdoptedPool(Struct):
    """A pool of the new stack file: its key, its entry, and what flavors and quotas need to match it.

    `labels` are those of its nodes, `per_node` the accelerators that jobs can request of a node, `nodes` the maximum.
    """

    key: str
    entry: StackEntry
    machine: Machine
    labels: Mapping[str, str]
    accelerators_per_node: int
    max_nodes: int
    topology: str | None = None
    taints: frozenset[str] = frozenset()


def read_pools(
    inventory: ClusterInventory, stack: str, not_adopted: list[NotAdopted]
) -> tuple[list[AdoptedPool], ReservationsByKey]:
    """Return the pools with accelerators, and the reservations that they use; ignored ones are reported in `left`."""
    reserved = own_reservations(inventory, stack)
    groups: dict[str, list[ApiObject]] = {}
    for node_pool in inventory.node_pools:
        machine = _machine_of(node_pool)
        if node_pool["name"] == SYSTEM_POOL:
            continue
        if node_pool["name"] == _DEFAULT_POOL and inventory.context is None:
            not_adopted.append(
                NotAdopted(
                    f"node pool {_DEFAULT_POOL}",
                    "the first `pulumi up` would delete it: fix the state (docs/adopt.md)",
                )
            )
        if machine is None:
            kind = value_at(node_pool, "config.machineType")
            not_adopted.append(
                NotAdopted(f"node pool {node_pool['name']}", f"'{kind}' has no accelerators that Berth knows; ignored")
            )
        elif (
            key := str(node_pool["name"]) if inventory.context else _pool_key(node_pool, machine, not_adopted)
        ) is not None:
            groups.setdefault(key, []).append(node_pool)
    made = [_adopted_pool(inventory, stack, key, group, reserved) for key, group in sorted(groups.items())]
    return made, reserved


def _machine_of(node_pool: ApiObject) -> Machine | None:
    kind, attached = str(value_at(node_pool, "config.machineType")), gpu_config(node_pool)
    if kind in catalog.attachable_gpus().hosts and attached:
        try:
            return catalog.attach_gpus(kind, attached["acceleratorType"], int(attached["acceleratorCount"]))
        except ValueError:
            return None
    return catalog.machines().get(kind)


def _pool_key(node_pool: ApiObject, machine: Machine, not_adopted: list[NotAdopted]) -> str | None:
    """Return the pool of a node pool; None if Berth could not keep the node pool's name."""
    name, topology = str(node_pool["name"]), value_at(node_pool, "placementPolicy.tpuTopology")
    if machine.kind != "tpu" or not topology:
        return name
    match = _SLICE.fullmatch(name)
    if match is None or match["topology"] != topology:
        why = f"Berth names the node pool of a slice <pool>-{topology}-<number>, and renaming recreates it; ignored"
        not_adopted.append(NotAdopted(f"node pool {name}", why))
        return None
    return match["pool"]


# --- a pool -----------------------------------------------------------------------------------------------------------


def _adopted_pool(
    inventory: ClusterInventory, stack: str, key: str, group: Sequence[ApiObject], reserved: ReservationsByKey
) -> AdoptedPool:
    node_pool = group[0]
    machine = _machine_of(node_pool)
    assert machine is not None
    gpu = gpu_config(node_pool)
    topology = value_at(node_pool, "placementPolicy.tpuTopology") or machine.single_host_topology
    topology = topology if machine.kind == "tpu" else None
    size, most = _pool_size(node_pool, group, machine, topology)
    entry: StackEntry = {"machineType": machine_type(node_pool)}
    if machine.kind == "gpu" and machine_type(node_pool) in catalog.attachable_gpus().hosts:
        entry["accelerator"] = {"type": gpu["acceleratorType"], "count": int(gpu["acceleratorCount"])}
    entry |= {"topology": topology} if topology else {}
    entry |= {"slices" if topology else "nodes": size}
    capacity, reservation_entry = _capacity(stack, node_pool, most, reserved)
    entry |= {"capacity": capacity} if capacity != "on-demand" else {}
    entry |= _zones(
        inventory,
        node_pool,
        reservation_entry[1]["zone"] if reservation_entry else None,
        one_zone=len(group) > 1 or bool(value_at(node_pool, "placementPolicy.tpuTopology")),
    )
    entry |= _labels_and_taints(node_pool)
    entry |= _gpu_settings(gpu)
    entry |= _network_and_placement(node_pool, machine, topology)
    entry |= _local_ssds(node_pool, machine)
    entry |= _surge_settings(node_pool, machine)
    entry |= {k: v for k, v in rest_fields.stack_entry(rest_fields.NODE_POOL, node_pool).items() if k not in entry}
    _set_linux_settings(node_pool, entry)
    shared = int(mapping_at(gpu, "gpuSharingConfig").get("maxSharedClientsPerGpu", 1) or 1)
    partitions = catalog.mig_partitions(machine.accelerator).get(gpu.get("gpuPartitionSize", ""), 1)
    return AdoptedPool(
        key, entry, machine, node_labels(node_pool, machine, topology, reservation_entry),
        machine.accelerators * shared * partitions, most, topology, _taint_keys(node_pool),
    )  # fmt: skip


def _taint_keys(node_pool: ApiObject) -> frozenset[str]:
    """Return the keys of its nodes' taints, including GKE's own for queued nodes."""
    queued = {catalog.taints().queued.key} if value_at(node_pool, "queuedProvisioning.enabled") else set[str]()
    return frozenset({t["key"] for t in list_at(node_pool, "config.taints")} | queued)


def node_bounds(node_pool: ApiObject) -> tuple[int, int, bool]:
    """Return the minimum and maximum of nodes over all zones, and whether the node pool scales."""
    zones, scaling = len(list_at(node_pool, "locations")) or 1, mapping_at(node_pool, "autoscaling")
    if not scaling.get("enabled"):
        fixed = int(node_pool.get("initialNodeCount") or 0) * zones
        return fixed, fixed, False
    if "totalMaxNodeCount" in scaling:
        return int(scaling.get("totalMinNodeCount") or 0), int(scaling["totalMaxNodeCount"]), True
    return int(scaling.get("minNodeCount") or 0) * zones, int(scaling.get("maxNodeCount") or 0) * zones, True


def _pool_size(
    node_pool: ApiObject, group: Sequence[ApiObject], machine: Machine, topology: str | None
) -> tuple[object, int]:
    """Return the count to write (of slices, or of nodes), and the maximum of nodes."""
    all_bounds = [node_bounds(each) for each in group]
    most = sum(each[1] for each in all_bounds)
    hosts = 1
    if topology and (shape := catalog.slice_shape(machine, topology)):
        hosts = shape.hosts
    least, scaled = sum(each[0] for each in all_bounds) // hosts, any(each[2] for each in all_bounds)
    if not scaled:
        return most // hosts, most
    return ({"min": least} if least else {}) | {"max": most // hosts}, most


def _zones(
    inventory: ClusterInventory, node_pool: ApiObject, reservation_zone: str | None, *, one_zone: bool
) -> StackEntry:
    """Return nothing if the zones follow from the reservation or from the cluster."""
    zones = sorted(list_at(node_pool, "locations"))
    if zones == [reservation_zone] or (not one_zone and zones == sorted(list_at(inventory.cluster, "locations"))):
        return {}
    return {"zone": zones[0]} if len(zones) == 1 else {"zones": zones}


def _capacity(
    stack: str, node_pool: ApiObject, most: int, reserved: ReservationsByKey
) -> tuple[object, tuple[str, StackEntry] | None]:
    """Return the capacity of the machines, and their reservation."""
    seen = rest_fields.plan_values(rest_fields.NODE_POOL, node_pool)
    if seen["queued"]:
        return {"queued": {}}, None
    if seen["flex_start"]:
        max_run_seconds = seen["max_run_seconds"]
        return (
            "flex-start"
            if max_run_seconds is None
            else {"flexStart": {"maxRunDuration": format_duration(int(str(max_run_seconds)))}}
        ), None
    if seen["spot"]:
        return "spot", None
    affinity = mapping_at(node_pool, "config.reservationAffinity")
    kind = affinity.get("consumeReservationType")
    if kind in ("ANY_RESERVATION", "ANY_RESERVATION_THEN_FAIL"):
        return ("any-reservation" if kind == "ANY_RESERVATION" else "any-reservation-then-fail"), None
    if kind != "SPECIFIC_RESERVATION":
        return "on-demand", None
    zone = str(next(iter(list_at(node_pool, "locations")), ""))
    key = reservation_key(str(affinity["values"][0]), zone, machine_type(node_pool), most, reserved, stack)
    return {"reservation": key}, reserved[key]


def format_duration(seconds: int) -> str:
    """Return seconds in the largest unit that divides them."""
    return next(f"{seconds // each}{unit}" for unit, each in _DURATION_UNITS if seconds % each == 0)


_DURATION_UNITS = (("d", 86400), ("h", 3600), ("m", 60), ("s", 1))


# --- settings of a pool -----------------------------------------------------------------------------------------------


def _labels_and_taints(node_pool: ApiObject) -> StackEntry:
    labels = {k: v for k, v in sorted(mapping_at(node_pool, "config.labels").items()) if is_user_label(k)}
    taints = [_taint(t) for t in list_at(node_pool, "config.taints") if is_user_label(t["key"])]
    return ({"labels": labels} if labels else {}) | ({"taints": taints} if taints else {})


def _taint(taint: Mapping[str, str]) -> StackEntry:
    effect = _EFFECTS.get(taint["effect"], taint["effect"])
    return {"key": taint["key"], "value": taint.get("value", "")} | (
        {"effect": effect} if effect != "NoSchedule" else {}
    )


def _gpu_settings(gpu: Mapping[str, Any]) -> StackEntry:
    entry: StackEntry = {}
    driver = value_at(gpu, "gpuDriverInstallationConfig.gpuDriverVersion")
    if driver in _DRIVERS:
        entry["driverVersion"] = _DRIVERS[driver]
    if gpu.get("gpuPartitionSize"):
        entry["gpuPartition"] = gpu["gpuPartitionSize"]
    if sharing := gpu.get("gpuSharingConfig"):
        strategy = {"MPS": {"strategy": "mps"}}.get(sharing.get("gpuSharingStrategy"), {})
        entry["gpuSharing"] = {**strategy, "maxSharedClients": int(sharing["maxSharedClientsPerGpu"])}
    return entry


def _network_and_placement(node_pool: ApiObject, machine: Machine, topology: str | None) -> StackEntry:
    entry: StackEntry = {}
    if value_at(node_pool, "networkConfig.acceleratorNetworkProfile"):
        entry["networking"] = "dranet"
    elif value_at(node_pool, "networkConfig.additionalNodeNetworkConfigs") and machine.gpudirect != "none":
        entry["networking"] = "gpudirect"
    compact = value_at(node_pool, "placementPolicy.type") == "COMPACT" and not topology and not machine.domain_topology
    return entry | ({"compactPlacement": True} if compact else {})


def _local_ssds(node_pool: ApiObject, machine: Machine) -> StackEntry:
    """Return nothing for local SSDs that the machine always has."""
    uses = {"ephemeral": "ephemeralStorageLocalSsdConfig", "block": "localNvmeSsdBlockConfig"}
    counts = {key: int(value_at(node_pool, f"config.{path}.localSsdCount") or 0) for key, path in uses.items()}
    used = {key: count for key, count in counts.items() if count}
    return {"localSsd": used} if used and not machine.ssd_automatic else {}


def _surge_settings(node_pool: ApiObject, machine: Machine) -> StackEntry:
    """Return nothing for Berth's default: one node at a time."""
    settings, seen = mapping_at(node_pool, "upgradeSettings"), rest_fields.plan_values(rest_fields.NODE_POOL, node_pool)
    if settings.get("strategy", "SURGE") != "SURGE" or machine.domain_topology or seen["queued"] or seen["flex_start"]:
        return {}
    surge, max_unavailable = int(settings.get("maxSurge") or 0), int(settings.get("maxUnavailable") or 0)
    specific = value_at(node_pool, "config.reservationAffinity.consumeReservationType") == "SPECIFIC_RESERVATION"
    in_place = specific or bool(value_at(node_pool, "placementPolicy.tpuTopology"))
    if (surge, max_unavailable) in ((0, 1) if in_place else (1, 0), (0, 0)):
        return {}
    return {"surge": {key: n for key, n in (("maxSurge", surge), ("maxUnavailable", max_unavailable)) if n}}


def _set_linux_settings(node_pool: ApiObject, entry: StackEntry) -> None:
    """Return the words of the kernel, which GKE spells as enums."""
    words = {
        "cgroupMode": ("cgroupMode", "CGROUP_MODE_"),
        "transparentHugepageEnabled": ("transparentHugepages", "TRANSPARENT_HUGEPAGE_ENABLED_"),
        "transparentHugepageDefrag": ("transparentHugepageDefrag", "TRANSPARENT_HUGEPAGE_DEFRAG_"),
    }
    for field, (key, prefix) in words.items():
        value = value_at(node_pool, f"config.linuxNodeConfig.{field}")
        if value and value.startswith(prefix) and not value.endswith("UNSPECIFIED"):
            word = value.removeprefix(prefix).lower().replace("_", "-")
            entry.setdefault("nodeSystemConfig", {})[key] = word
