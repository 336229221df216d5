"""Plan flavors: pools of one kind become one ResourceFlavor, which selects their nodes and no others.

Pools are of one kind if a job cannot tell them apart: same accelerator, slice topology, machine type, capacity, and
labels and taints of the stack file. Flavors select by labels of GKE where these suffice.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from itertools import permutations

from msgspec import Struct
from msgspec.structs import replace

from berth import catalog
from berth.diagnostics import FieldPath, join_quoted
from berth.plan.dynamic_slices import SlicingPlan
from berth.plan.grouping import grouped
from berth.plan.kueue import FlavorPlan, NetworkDevicesPlan, TopologyPlan
from berth.plan.node_settings import Bounds, Toleration
from berth.planner.context import PlanningContext
from berth.planner.machines.hardware import cpu_rate, memory_rate
from berth.planner.machines.installers import domain_channels
from berth.planner.machines.network_devices import flavor_devices
from berth.planner.machines.pools import PlannedPool
from berth.planner.queueing.node_labels import (
    INSTANCE_TYPE,
    all_node_labels,
    flavor_tolerations,
    hardware_labels,
    node_taints,
    selecting_labels,
    shared_labels,
    topology_levels,
)
from berth.rules.gke.dynamic_slicing import slicing_plan
from berth.rules.gke.reservations import reservation_labels

MAX_FLAVOR_ITEMS = 8
"""Maximum node labels, and maximum tolerations, of a ResourceFlavor (Kueue 0.19, v1beta2)."""
_TOO_MANY = (
    f"{{}} including those of hardware and capacity are more than Kueue's maximum of {MAX_FLAVOR_ITEMS} per flavor"
)


class FlavorGroup(Struct, frozen=True):
    """A flavor as the group of pools that form it, which the planner computes with; `FlavorPlan` is what is created."""

    name: str
    pools: tuple[PlannedPool, ...]
    node_labels: dict[str, str]
    tolerations: tuple[Toleration, ...]
    capacity: Bounds
    """Minimum and maximum number of accelerators."""
    unit: int
    """Accelerators that cannot be divided."""
    cpu_per_accelerator: Fraction
    """Milli-CPU per accelerator: the maximum over its machines."""
    memory_per_accelerator: Fraction
    """Bytes of memory per accelerator: the maximum over its machines; per core the minimum, which all of them have."""
    pods_per_accelerator: Fraction | None = None
    """Pods of jobs for which its machines have room: the minimum over them. None if the fleet does not count pods."""
    devices: NetworkDevicesPlan | None = None
    """The network devices that its pods claim."""
    spare: int = 0
    """Accelerators of spare machines, which no queue is guaranteed."""
    channels: NetworkDevicesPlan | None = None
    """The channels to other nodes of an NVLink domain that its pods claim."""

    @property
    def claimed(self) -> tuple[NetworkDevicesPlan, ...]:
        """What its pods claim besides accelerators."""
        return tuple(each for each in (self.devices, self.channels) if each is not None)

    @property
    def resource(self) -> str:
        """Resource name that jobs request."""
        return self.pools[0].hardware.machine.resource

    @property
    def topology(self) -> TopologyPlan | None:
        """Topology levels for topology-aware scheduling; None without it. Other levels are another topology."""
        if not (levels := topology_levels(self.pools)):
            return None
        slicing = self.slicing
        words = (level.rpartition("/")[2] for level in levels) if slicing is None else ("dynamic", *slicing.name_parts)
        return TopologyPlan(name="-".join(words), levels=levels)

    @property
    def slicing(self) -> SlicingPlan | None:
        """How jobs form slices of its nodes; None if slices have a fixed topology."""
        return slicing_plan([pool.request for pool in self.pools])

    @property
    def noun(self) -> str:
        """Name of an accelerator in messages."""
        return self.pools[0].hardware.machine.noun


def plan_flavors(context: PlanningContext, pools: dict[str, PlannedPool]) -> dict[str, FlavorGroup]:
    """Return every flavor of the fleet, by name."""
    groups: dict[str, list[PlannedPool]] = {}
    for kind in grouped((_kind(pool), pool) for pool in pools.values()).values():
        # The shortest name, so that adding `v5e-b` keeps `v5e`.
        default_name = min((p.key for p in kind if not p.spec.flavor), key=lambda n: (len(n), n), default="")
        for pool in kind:
            groups.setdefault(pool.spec.flavor or default_name, []).append(pool)
    by_name = {
        name: _flavor(context, name, group)
        for name, group in sorted(groups.items())
        if _can_form_flavor(context, name, group)
    }
    if not context.spec.workers:  # a manager has the flavors of its workers
        for name in sorted(context.spec.flavors):
            context.resolve("flavors", name, by_name, ("flavors", name))
    distinct = with_counted_pods(_make_distinct(context, by_name))
    for flavor in distinct.values():
        _check_kueue_limits(context, flavor)
    return distinct


def _kind(pool: PlannedPool) -> tuple[object, ...]:
    """Return what pools have in common that form one flavor unless they name others."""
    labels = tuple(sorted(pool.spec.labels.items()))
    distinguishing = (_capacity_key(pool), _sharing_key(pool), _placement_key(pool))
    return pool.spec.machine_type, distinguishing, labels, pool.taints


def _placement_key(pool: PlannedPool) -> tuple[object, ...]:
    """Return how jobs are placed on the nodes: topology levels, and compact placement by GKE."""
    return topology_levels([pool]), pool.made_by_gke and pool.spec.compact_placement


def _capacity_key(pool: PlannedPool, *, is_written: bool = False) -> tuple[object, ...]:
    """Return the capacity that pools of one flavor share; reserved machines are alike if the flavor is written."""
    topology = pool.hardware.shape.topology if pool.hardware.shape else None
    capacity = "reserved" if is_written and reservation_labels(pool.request) else pool.spec.capacity
    return pool.hardware.machine.accelerator, topology, capacity, pool.spec.compute_class


def _sharing_key(pool: PlannedPool) -> tuple[object, ...]:
    """Return how GPUs are divided among jobs, and the networks of the nodes."""
    return (tuple(hardware_labels(pool).items()), pool.spec.networking, tuple(sorted(pool.spec.node_labels.items())))


def _can_form_flavor(context: PlanningContext, name: str, group: list[PlannedPool]) -> bool:
    first = group[0]
    for pool in group[1:]:
        if _capacity_key(pool, is_written=True) != _capacity_key(first, is_written=True):
            shared_property = "accelerator, one topology and one capacity"
        elif _sharing_key(pool) != _sharing_key(first):
            shared_property = "way of sharing and partitioning GPUs, and one network (in one zone, if it is zonal)"
        elif _placement_key(pool) != _placement_key(first):
            shared_property = "way of placing its jobs (topologyAware, dynamicSlicing, compactPlacement)"
        else:
            continue
        context.problems.fault(
            "mixed-flavor",
            ("pools", pool.name, "flavor"),
            f"pools {join_quoted([first.name, pool.name])} cannot share "
            f"flavor '{name}': a flavor has one {shared_property}"
            "; write another flavor for one of them",
        )
        context.set_aside.add(("flavors", name))
        return False
    return True


# --- selection --------------------------------------------------------------------------------------------------------


def _flavor(context: PlanningContext, name: str, group: list[PlannedPool]) -> FlavorGroup:
    first = group[0]
    labels = shared_labels([selecting_labels(pool) for pool in group])
    own_labels = shared_labels([dict(sorted(pool.spec.labels.items())) for pool in group])
    # Nodes without accelerators are selected by the machine type that they share.
    machine_types = {pool.spec.machine_type for pool in group if not pool.spec.node_labels}
    is_selected = first.hardware.is_cpu and len(machine_types) == 1
    shared_machine_type = {INSTANCE_TYPE: machine_types.pop()} if is_selected else {}
    counts = [p.hardware.accelerators for p in group]
    slicing = slicing_plan([p.request for p in group])
    pods = [Fraction(catalog.pods_of_jobs(p.max_pods), p.hardware.per_node) for p in group if p.max_pods is not None]
    return FlavorGroup(
        name=name,
        pools=tuple(group),
        node_labels={**labels, **shared_machine_type, **own_labels},
        tolerations=flavor_tolerations(group),
        capacity=Bounds(min=sum(c.min for c in counts), max=sum(c.max for c in counts)),
        unit=slicing.unit if slicing else max(p.hardware.unit for p in group),
        pods_per_accelerator=min(pods) if len(pods) == len(group) else None,
        devices=flavor_devices(context, group),
        channels=domain_channels(context, group),
        cpu_per_accelerator=max(cpu_rate(p.hardware) for p in group),
        memory_per_accelerator=(min if first.hardware.is_cpu else max)(memory_rate(p.hardware) for p in group),
        spare=sum(p.spare for p in group),
    )


def with_counted_pods(by_name: dict[str, FlavorGroup]) -> dict[str, FlavorGroup]:
    """Return flavors that count pods only if all do: queues that count them cannot borrow pods from others."""
    if all(flavor.pods_per_accelerator is not None for flavor in by_name.values()):
        return by_name
    return {name: replace(flavor, pods_per_accelerator=None) for name, flavor in by_name.items()}


# --- telling flavors apart --------------------------------------------------------------------------------------------


def _make_distinct(context: PlanningContext, by_name: dict[str, FlavorGroup]) -> dict[str, FlavorGroup]:
    """Add the machine type to flavors whose pods could run on each other's nodes; report those it does not separate."""
    ambiguous = {
        first.name
        for first in by_name.values()
        for second in by_name.values()
        if first is not second and _selects_nodes_of(first, second)
    }
    narrowed = dict(by_name)
    for name in ambiguous:
        flavor = by_name[name]
        machine_types = {pool.spec.machine_type for pool in flavor.pools}
        if len(machine_types) == 1 and not any(pool.spec.node_labels for pool in flavor.pools):
            narrowed[name] = replace(flavor, node_labels={**flavor.node_labels, INSTANCE_TYPE: machine_types.pop()})
    for flavor, other in permutations(narrowed.values(), 2):
        if _selects_nodes_of(flavor, other):
            _report_ambiguous(context, flavor, other)
    return narrowed


def _selects_nodes_of(flavor: FlavorGroup, other: FlavorGroup) -> bool:
    """Return whether a pod with the selector and tolerations of `flavor` can run on a node of `other`."""
    tolerated = {(t.key, t.value) for t in flavor.tolerations}
    return any(
        flavor.node_labels.items() <= all_node_labels(p).items()
        and all((t.key, t.value) in tolerated for t in node_taints(p))
        for p in other.pools
    )


def _report_ambiguous(context: PlanningContext, flavor: FlavorGroup, other: FlavorGroup) -> None:
    path: FieldPath = ("pools", flavor.pools[0].name)
    same_network = flavor.pools[0].spec.networking == other.pools[0].spec.networking
    remedy = "write the same flavor for both pools, or write" if same_network else "write"
    context.problems.fault(
        "ambiguous-flavor",
        path,
        f"flavor '{flavor.name}' also selects the nodes of '{other.name}'; {remedy} labels and taints that only "
        f"'{flavor.name}' has",
    )


def _check_kueue_limits(context: PlanningContext, flavor: FlavorGroup) -> None:
    path: FieldPath = ("pools", flavor.pools[0].name)
    if (excess := len(flavor.node_labels) - MAX_FLAVOR_ITEMS) > 0:
        message = f"{len(flavor.node_labels)} {_TOO_MANY.format('labels')}; remove {excess}"
        context.problems.fault("too-many-labels", (*path, "labels"), message)
    if (excess := len(flavor.tolerations) - MAX_FLAVOR_ITEMS) > 0:
        message = f"{len(flavor.tolerations)} {_TOO_MANY.format('taints')}; remove {excess}"
        context.problems.fault("too-many-taints", (*path, "taints"), message)


# --- the plan ---------------------------------------------------------------------------------------------------------


def flavor_plan(context: PlanningContext, flavor: FlavorGroup, guaranteed: int) -> FlavorPlan:
    """Return the plan of a flavor, of which queues guarantee `guaranteed` accelerators."""
    path: FieldPath = ("pools", flavor.pools[0].name)
    context.origins["flavor", flavor.name] = path
    if flavor.topology:
        key = "dynamicSlicing" if flavor.slicing else "topologyAware"
        context.origins["topology", flavor.topology.name] = (*path, key)
    flavor_spec = context.spec.flavors.get(flavor.name)
    return FlavorPlan(
        name=flavor.name,
        resource=flavor.resource,
        noun=flavor.noun,
        node_labels=flavor.node_labels,
        tolerations=flavor.tolerations,
        capacity=flavor.capacity,
        unit=flavor.unit,
        spare=flavor.spare,
        promised=guaranteed,
        oversubscription=flavor_spec.oversubscription if flavor_spec else 1,
        oversubscription_reason=flavor_spec.reason if flavor_spec else None,
        pools=tuple(p.name for p in flavor.pools),
        topology=flavor.topology.name if flavor.topology else None,
        devices=flavor.devices,
        channels=flavor.channels,
        slicing=flavor.slicing,
        pods=None if (rate := flavor.pods_per_accelerator) is None else int(flavor.capacity.max * rate),
    )


def topology_plans(flavors: Mapping[str, FlavorGroup]) -> tuple[TopologyPlan, ...]:
    """Return the topologies of flavors; flavors with the same levels share one."""
    by_name = {flavor.topology.name: flavor.topology for flavor in flavors.values() if flavor.topology}
    return tuple(by_name[name] for name in sorted(by_name))
