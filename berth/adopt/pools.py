"""Read node pools into pools: slices of one name together, each with its capacity, flavor and own settings."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cache
from typing import Any

from msgspec import Struct

from berth import catalog
from berth.adopt import rest_fields
from berth.adopt.api_objects import (
    ApiObject,
    Kept,
    NotAdopted,
    StackEntry,
    list_at,
    mapping_at,
    other_than,
    stated,
    value_at,
)
from berth.adopt.google.future_reservations import accepted_zones
from berth.adopt.google.identities import NodeAccounts
from berth.adopt.inventory import ClusterInventory
from berth.adopt.labels import QUEUED, gpu_config, machine_type, node_labels, shared_settings
from berth.adopt.pool_settings import (
    boot_disk,
    gpu_settings,
    keeps_upgrades,
    labels_and_taints,
    local_ssds,
    network_and_placement,
    pod_range,
    upgrade_settings,
)
from berth.adopt.reservations import ReservationsByKey, own_reservations, reservation_key
from berth.adopt.slice_names import MAX_POOL_NAME, NodePoolGroup, pool_key, slice_groups, with_own_keys
from berth.catalog import Machine
from berth.google.node_pool import node_pool as registered_node_pool
from berth.names import CAPACITY_MARK
from berth.plan.gke import NodePoolPlan
from berth.registration import provider_inputs
from berth.text import format_duration

SYSTEM_POOL = "system"
_UNNAMED = {"ANY_RESERVATION": "any-reservation", "ANY_RESERVATION_THEN_FAIL": "any-reservation-then-fail"}
"""Types of affinity to reservations that are not named."""
_DEFAULT_POOL = "default-pool"
"""The node pool that GKE creates with a cluster; the provider deletes it if `removeDefaultNodePool` is set."""


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

    def selects_alike(self, other: AdoptedPool) -> bool:
        """Return whether a flavor of the one's machines would select those of the other too, and may."""
        labels, others = (each.entry.get("labels", {}).items() for each in (self, other))
        same = shared_settings(self.entry, self.labels) == shared_settings(other.entry, other.labels)
        return same and self.machine.accelerator == other.machine.accelerator and (labels <= others or others <= labels)


def read_pools(
    inventory: ClusterInventory, stack: str, not_adopted: list[NotAdopted], kept: Collection[str] = ()
) -> tuple[list[AdoptedPool], ReservationsByKey]:
    """Return the pools with accelerators, and the reservations that they use; ignored ones are reported.

    Pools that are `kept` keep the settings of their creation.
    """
    reserved = own_reservations(inventory, stack, not_adopted)
    with_machines: list[ApiObject] = []
    for node_pool in inventory.node_pools:
        if node_pool["name"] == SYSTEM_POOL and not inventory.keeps_cluster:
            continue
        if _machine_of(node_pool) is None:
            kind = value_at(node_pool, "config.machineType")
            remedy = _DELETED if _is_deleted_default(inventory, node_pool) else "it stays, and so does what runs there"
            why = f"'{kind}' has no accelerators that Berth knows; {remedy}"
            owner = Kept.NO_MACHINES if inventory.manages_cluster else Kept.CLUSTER
            not_adopted.append(NotAdopted(f"node pool {node_pool['name']}", why, kept=owner))
            continue
        with_machines.append(node_pool)
        if _is_deleted_default(inventory, node_pool):
            not_adopted.append(NotAdopted(f"node pool {_DEFAULT_POOL}", _DELETED))
    groups = sorted(with_own_keys(_groups(inventory, with_machines)), key=lambda group: group.key)
    pools = [_group_pool(inventory, stack, group, reserved, not_adopted, group.key in kept) for group in groups]
    return pools, reserved


_DELETED = "the first `pulumi up` would delete it: fix the state after the import (docs/adopt.md, step 3)"


def _is_deleted_default(inventory: ClusterInventory, node_pool: ApiObject) -> bool:
    return node_pool["name"] == _DEFAULT_POOL and inventory.manages_cluster


def _groups(inventory: ClusterInventory, node_pools: Sequence[ApiObject]) -> Iterator[NodePoolGroup]:
    """Yield node pools with accelerators, grouped into pools; those of slices together."""
    if inventory.context is not None:
        yield from (NodePoolGroup(str(each["name"]), [each]) for each in node_pools)
        return
    yield from slice_groups([each for each in node_pools if _is_slice(each)])
    for each in node_pools:
        if not _is_slice(each):
            name = str(each["name"])
            is_key = len(name) <= MAX_POOL_NAME
            yield NodePoolGroup(name if is_key else pool_key(name), [each], None if is_key else name)


def _is_slice(node_pool: ApiObject) -> bool:
    """Return whether a node pool is a slice of several hosts; one host may state its topology too."""
    machine, topology = _machine_of(node_pool), value_at(node_pool, "placementPolicy.tpuTopology")
    if machine is None or machine.kind != "tpu" or not topology:
        return False
    shape = catalog.slice_shape(machine, topology)
    return shape is None or shape.multi_host


def _group_pool(
    inventory: ClusterInventory,
    stack: str,
    group: NodePoolGroup,
    reserved: ReservationsByKey,
    not_adopted: list[NotAdopted],
    adopted: bool,
) -> AdoptedPool:
    """Return the pool of a group; one with settings that Berth would not choose keeps them, also if it is `adopted`."""
    pool = _adopted_pool(inventory, stack, group, reserved)
    if group.node_pool_name is not None:
        pool.entry["nodePoolName"] = group.node_pool_name
    if inventory.context is not None or inventory.is_described:
        return pool
    accounts = NodeAccounts(inventory, stack, group.members)
    adopted = adopted or accounts.must_be_kept
    for each in group.members:  # do settings that replace a pool or recreate its nodes differ from those of Berth?
        others = rest_fields.other_fields(rest_fields.NODE_POOL, each, _any_pool())
        is_other = any(change.after is not None for _, change in others)
        is_other = is_other or keeps_upgrades(each) or str(each["name"]) in inventory.sliced_by_policy
        adopted = adopted or is_other or not value_at(each, "config.reservationAffinity")
    if adopted:
        kept = {key: value for key, value in pool.entry.items() if key not in _KEPT_BY_ADOPTED}
        pool.entry = {**kept, "adopted": True}
    pool.entry |= accounts.entry(adopted=adopted)
    not_adopted += filter(None, [accounts.unnamed(pool.key)])
    return pool


_KEPT_BY_ADOPTED = (
    *("secureBoot", "driverVersion", "confidentialNodes", "maxPodsPerNode", "podRangeName", "surge"),
    *("blueGreen", "nodeSystemConfig"),
)
"""Keys of settings that an adopted pool keeps."""


@cache
def _any_pool() -> Mapping[str, Any]:
    """Return the inputs of a node pool; those without a row in the table of fields are alike in all pools."""
    made = registered_node_pool(
        NodePoolPlan(name="", machine_type=""), cluster=None, location=None, service_account=None
    )
    return provider_inputs(made.arguments)


def _machine_of(node_pool: ApiObject) -> Machine | None:
    """Return the machines of a node pool with accelerators, or without them if Berth made it a pool of a queue."""
    kind, attached = str(value_at(node_pool, "config.machineType")), gpu_config(node_pool)
    if kind in catalog.attachable_gpus().hosts and attached:
        try:
            return catalog.attach_gpus(kind, attached["acceleratorType"], int(attached["acceleratorCount"]))
        except ValueError:
            return None
    is_marked = CAPACITY_MARK in mapping_at(node_pool, "config.labels")
    return catalog.machines().get(kind) or (catalog.cpu_machine(kind) if is_marked else None)


# --- a pool -----------------------------------------------------------------------------------------------------------


def _adopted_pool(
    inventory: ClusterInventory, stack: str, group: NodePoolGroup, reserved: ReservationsByKey
) -> AdoptedPool:
    node_pool = group.members[0]
    machine = _machine_of(node_pool)
    assert machine is not None
    gpu, stated_topology = gpu_config(node_pool), value_at(node_pool, "placementPolicy.tpuTopology")
    topology = (stated_topology or machine.single_host_topology) if machine.kind == "tpu" else None
    size, most = _pool_size(group, machine, topology)
    reserves: StackEntry = {"machineType": machine_type(node_pool)}
    if machine.kind == "gpu" and machine_type(node_pool) in catalog.attachable_gpus().hosts:
        reserves["accelerator"] = {"type": gpu["acceleratorType"], "count": int(gpu["acceleratorCount"])}
    capacity, reservation = _capacity(inventory, stack, node_pool, machine, reserves, most, reserved)
    is_dws = bool(value_at(node_pool, QUEUED) or value_at(node_pool, "config.flexStart"))
    zones = list_at(node_pool, "locations")
    entry = {
        **reserves,
        **stated({"topology": topology}),
        "slices" if topology else "nodes": size,
        **stated({"capacity": other_than("on-demand", capacity)}),
        **_zones(
            inventory,
            node_pool,
            reservation[1]["zone"] if reservation else None,
            one_zone=len(group.members) > 1 or bool(stated_topology),
        ),
        **({} if reservation else accepted_zones(machine, zones, inventory.region, dws=is_dws)),
        **({"acceptTopology": True} if topology and catalog.slice_shape(machine, topology) is None else {}),
        **labels_and_taints(node_pool),
        **pod_range(node_pool, inventory.cluster),
        **gpu_settings(gpu),
        **network_and_placement(inventory, node_pool, machine, topology, stack),
        **local_ssds(node_pool, machine),
        **boot_disk(node_pool, machine),
        **upgrade_settings(node_pool, machine),
    }
    by_table = rest_fields.stack_entry(rest_fields.NODE_POOL, node_pool)
    entry |= {key: value for key, value in by_table.items() if key not in entry}
    shared = int(mapping_at(gpu, "gpuSharingConfig").get("maxSharedClientsPerGpu", 1) or 1)
    partitions = catalog.mig_partitions(machine.accelerator).get(gpu.get("gpuPartitionSize", ""), 1)
    queued = {catalog.taints().queued.key} if value_at(node_pool, QUEUED) else set[str]()
    return AdoptedPool(
        group.key, entry, machine, node_labels(node_pool, machine, entry, reservation),
        machine.accelerators * shared * partitions, most, topology,
        frozenset({*queued, *(each["key"] for each in list_at(node_pool, "config.taints"))}),
    )  # fmt: skip


def scaling_bounds(node_pool: ApiObject) -> tuple[int, int, bool]:
    """Return the minimum and maximum of nodes over all zones, and whether the node pool scales."""
    zones, scaling = len(list_at(node_pool, "locations")) or 1, mapping_at(node_pool, "autoscaling")
    if not scaling.get("enabled"):
        fixed = int(node_pool.get("initialNodeCount") or 0) * zones
        return fixed, fixed, False
    if most := int(scaling.get("totalMaxNodeCount") or 0):
        return int(scaling.get("totalMinNodeCount") or 0), most, True
    return int(scaling.get("minNodeCount") or 0) * zones, int(scaling.get("maxNodeCount") or 0) * zones, True


def _pool_size(group: NodePoolGroup, machine: Machine, topology: str | None) -> tuple[object, int]:
    """Return the count to write (of slices, or of nodes) or the list of slices, and the maximum of nodes."""
    all_bounds = [scaling_bounds(each) for each in group.members]
    most = sum(each[1] for each in all_bounds)
    shape = catalog.slice_shape(machine, topology) if topology else None
    hosts = shape.hosts if shape else 1
    least, scaled = sum(each[0] for each in all_bounds) // hosts, any(each[2] for each in all_bounds)
    if not scaled:
        return group.numbers or most // hosts, most
    limit = {"of": group.numbers} if group.numbers else {"max": most // hosts}
    return ({"min": least} if least else {}) | limit, most


def _zones(
    inventory: ClusterInventory, node_pool: ApiObject, reservation_zone: str | None, *, one_zone: bool
) -> StackEntry:
    """Return nothing if the zones follow from the reservation or from the cluster."""
    zones = sorted(list_at(node_pool, "locations"))
    if zones == [reservation_zone] or (not one_zone and zones == sorted(list_at(inventory.cluster, "locations"))):
        return {}
    return {"zone": zones[0]} if len(zones) == 1 else {"zones": zones}


def _capacity(
    inventory: ClusterInventory,
    stack: str,
    node_pool: ApiObject,
    machine: Machine,
    reserves: StackEntry,
    most: int,
    reserved: ReservationsByKey,
) -> tuple[object, tuple[str, StackEntry] | None]:
    """Return the capacity of the machines, and their reservation; `reserves` are the keys of what it has."""
    if value_at(node_pool, QUEUED):
        return {"queued": {}}, None
    if value_at(node_pool, "config.flexStart"):
        seconds = value_at(node_pool, "config.maxRunDuration")
        return "flex-start" if seconds is None else {
            "flexStart": {"maxRunDuration": format_duration(int(seconds.removesuffix("s")))}
        }, None
    if value_at(node_pool, "config.spot"):
        return "spot", None
    affinity = mapping_at(node_pool, "config.reservationAffinity")
    if (kind := str(affinity.get("consumeReservationType"))) != "SPECIFIC_RESERVATION":
        return _UNNAMED.get(kind, "on-demand"), None
    zone = str(next(iter(list_at(node_pool, "locations")), ""))
    ssds = sum(local_ssds(node_pool, machine).get("localSsd", {}).values())
    machines = {**reserves, **stated({"localSsd": other_than(0, ssds)})}
    key = reservation_key(str(affinity["values"][0]), zone, machines, most, reserved, inventory, stack)
    return {"reservation": key}, (reserved[key].path, reserved[key].entry)
