"""Flavors: pools of one kind become one ResourceFlavor that selects their nodes and no others.

A kind is what a job can tell apart: accelerator, slice topology, machine type, capacity, and the owner's own labels and
taints. The labels are GKE's own wherever they suffice.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fractions import Fraction
from itertools import permutations

from msgspec import Struct
from msgspec.structs import replace

from berth import catalog
from berth.diagnostics import Path, quoted
from berth.names import LABEL, shorten
from berth.plan.kueue import FlavorPlan, TopologyPlan
from berth.plan.nodes import Bounds, Taint, Toleration
from berth.planner.context import Draft
from berth.planner.machines.pools import Pool
from berth.rules.gke.gpu import gpu_labels
from berth.rules.gke.networks import network_labels
from berth.rules.gke.settings import capacity_labels
from berth.rules.gke.settings import capacity_taints as added_taints

INSTANCE_TYPE = "node.kubernetes.io/instance-type"

MOST_OF_A_FLAVOR = 8
"""Node labels, and tolerations, that a ResourceFlavor takes at the most (Kueue 0.19, v1beta2)."""
_TOO_MANY = f"{{}} with those of the hardware and capacity are more than the {MOST_OF_A_FLAVOR} of a Kueue flavor"


class Flavor(Struct, frozen=True):
    """A flavor being planned; its plan lacks only what queues promise."""

    name: str
    pools: tuple[Pool, ...]
    node_labels: dict[str, str]
    tolerations: tuple[Toleration, ...]
    capacity: Bounds
    """Accelerators that are always there, and at the most."""
    unit: int
    """Accelerators that cannot be divided."""
    cpu_each: Fraction
    """Milli-CPU that come with one accelerator: the most of any of its machines."""
    memory_each: Fraction
    """Bytes of memory that come with one accelerator: the most of any of its machines."""

    @property
    def resource(self) -> str:
        """The resource name that jobs request."""
        return self.pools[0].hardware.machine.resource

    @property
    def topology(self) -> TopologyPlan | None:
        """The levels by which Kueue places its jobs, where it was asked to; other levels are another topology."""
        first = self.pools[0]
        levels = first.hardware.machine.topology_levels
        if not first.spec.topology_aware:
            return None
        return TopologyPlan(name="-".join(level.rpartition("/")[2] for level in levels), levels=levels)

    @property
    def noun(self) -> str:
        """What people call one accelerator."""
        return self.pools[0].hardware.machine.noun


def flavors(draft: Draft, pools: dict[str, Pool]) -> dict[str, Flavor]:
    """Every flavor of the fleet, by name."""
    groups: dict[str, list[Pool]] = {}
    for kind in _by_kind(pools.values()):
        for pool in kind:
            groups.setdefault(pool.spec.flavor or _name(kind), []).append(pool)
    found = {name: _flavor(name, group) for name, group in sorted(groups.items()) if _agree(draft, name, group)}
    for name in () if draft.spec.workers else sorted(draft.spec.flavors):  # a manager's are its workers'
        draft.find("flavors", name, found, ("flavors", name))
    told_apart = _told_apart(draft, found)
    for flavor in told_apart.values():
        _fits_kueue(draft, flavor)
    return told_apart


def _by_kind(pools: Iterable[Pool]) -> list[list[Pool]]:
    kinds: dict[object, list[Pool]] = {}
    for pool in pools:
        labels = tuple(sorted(pool.spec.labels.items()))
        apart = (_common(pool), _divided(pool), _wishes(pool))
        kind = (pool.spec.machine_type, apart, labels, pool.taints)
        kinds.setdefault(kind, []).append(pool)
    return list(kinds.values())


def _wishes(pool: Pool) -> tuple[object, ...]:
    """How jobs are placed on the nodes: by topology, and by GKE, where it makes them close to each other."""
    levels = pool.hardware.machine.topology_levels if pool.spec.topology_aware else None
    return levels, pool.made_by_gke and pool.spec.compact_placement


def _name(kind: list[Pool]) -> str:
    """The flavor's name where none is given: the shortest of its pools' (a later `v5e-b` keeps `v5e`)."""
    return min((p.key for p in kind if not p.spec.flavor), key=lambda n: (len(n), n))


def _common(pool: Pool) -> tuple[object, ...]:
    """What the pools of one flavor have in common; a compute class is a capacity too."""
    shape = pool.hardware.shape
    topology = shape.topology if shape else None
    return pool.hardware.machine.accelerator, topology, pool.spec.capacity, pool.spec.compute_class


def _divided(pool: Pool) -> tuple[object, ...]:
    """How GPUs are divided among jobs, and the networks that these find on a node."""
    return (tuple(_hardware_labels(pool).items()), pool.asked.network, tuple(sorted(pool.spec.node_labels.items())))


def _agree(draft: Draft, name: str, group: list[Pool]) -> bool:
    first = group[0]
    for pool in group[1:]:
        if _common(pool) != _common(first):
            one = "accelerator, one topology and one capacity"
        elif _divided(pool) != _divided(first):
            one = "way of sharing and partitioning GPUs, and one networking (of one zone, where that has one)"
        elif _wishes(pool) != _wishes(first):
            one = "way of placing its jobs (topologyAware, compactPlacement)"
        else:
            continue
        message = f"pools {quoted([first.name, pool.name])} cannot form one flavor '{name}': a flavor has one {one}"
        draft.problems.fault("mixed-flavor", ("pools", pool.name, "flavor"), f"{message}; name another flavor")
        draft.set_aside.add(("flavors", name))
        return False
    return True


# --- selection --------------------------------------------------------------------------------------------------------


def _flavor(name: str, group: list[Pool]) -> Flavor:
    first = group[0]
    labels = _known_by(first) | _group_labels(name, first)
    shared = [kv for kv in sorted(first.spec.labels.items()) if all(kv in p.spec.labels.items() for p in group)]
    machines = [(p.hardware.machine, p.hardware.per_node) for p in group]
    counts = [p.hardware.accelerators for p in group]
    return Flavor(
        name=name,
        pools=tuple(group),
        node_labels={**labels, **dict(shared)},
        tolerations=_tolerations(group),
        capacity=Bounds(min=sum(c.min for c in counts), max=sum(c.max for c in counts)),
        unit=max(p.hardware.unit for p in group),
        cpu_each=max(Fraction(m.vcpu * 1000, each) for m, each in machines),
        memory_each=max(Fraction(m.memory_gb) * 2**30 / each for m, each in machines),
    )


def _group_labels(flavor: str, pool: Pool) -> dict[str, str]:
    """GKE makes nodes close to each other for pods that select one placement group (GKE docs: compact placement)."""
    compact = pool.made_by_gke and pool.spec.compact_placement
    return {catalog.labels().placement_group: shorten(flavor, LABEL)} if compact else {}


def _class_labels(pool: Pool) -> dict[str, str]:
    return {catalog.labels().compute_class: pool.ladder.name} if pool.ladder else {}


def _known_by(pool: Pool) -> dict[str, str]:
    """What GKE labels the nodes with, or those who made them otherwise."""
    return dict(pool.spec.node_labels) or _hardware_labels(pool) | capacity_labels(pool.asked) | _class_labels(pool)


def _hardware_labels(pool: Pool) -> dict[str, str]:
    machine, shape = pool.hardware.machine, pool.hardware.shape
    if shape is None:
        return gpu_labels(pool.asked) | network_labels(pool.asked)
    return {
        **network_labels(pool.asked),
        catalog.labels().tpu_accelerator: machine.accelerator,
        catalog.labels().tpu_topology: shape.topology,
    }


def _tolerations(group: list[Pool]) -> tuple[Toleration, ...]:
    first = group[0]
    found = [Toleration(key=first.hardware.machine.resource, operator="Exists", effect="NoSchedule")]
    taints = dict.fromkeys(taint for pool in group for taint in node_taints(pool))
    return (*found, *(taint.tolerated for taint in taints))


def node_taints(pool: Pool) -> tuple[Taint, ...]:
    """The taints of a pool's nodes that a flavor must tolerate, beside the accelerator's own."""
    spot = pool.made_by_gke and (pool.spec.capacity.kind == "spot" or (pool.ladder is not None and pool.ladder.spot))
    arm = pool.hardware.machine.arch == "arm64"
    return (
        *pool.taints,
        *added_taints(pool.asked),
        *(Taint(key=key, value=value, effect="NoSchedule") for key, value in _separating(pool).items()),
        *((Taint(key=catalog.labels().spot, value="true", effect="NoSchedule"),) if spot else ()),
        *((Taint(key="kubernetes.io/arch", value="arm64", effect="NoSchedule"),) if arm else ()),
    )


def _separating(pool: Pool) -> Mapping[str, str]:
    """Labels that GKE also taints the nodes with that it makes: a pod that selects one of its owner's and does not
    tolerate the like gets no nodes (GKE docs: workload separation).
    """
    return {**_class_labels(pool), **pool.spec.labels} if pool.made_by_gke else {}


# --- telling flavors apart --------------------------------------------------------------------------------------------


def _told_apart(draft: Draft, found: dict[str, Flavor]) -> dict[str, Flavor]:
    """Flavors whose pods could land on each other's nodes also select the machine type, or are a fault."""
    confused = {a.name for a in found.values() for b in found.values() if a is not b and _may_land(a, b)}
    narrowed = {name: _narrowed(f) if name in confused else f for name, f in found.items()}
    for one, other in permutations(narrowed.values(), 2):
        if _may_land(one, other):
            _report(draft, one, other)
    return narrowed


def _narrowed(flavor: Flavor) -> Flavor:
    types = {p.spec.machine_type for p in flavor.pools}
    if len(types) > 1 or any(p.spec.node_labels for p in flavor.pools):
        return flavor
    return replace(flavor, node_labels={**flavor.node_labels, INSTANCE_TYPE: types.pop()})


def _may_land(a: Flavor, b: Flavor) -> bool:
    """Whether a pod with flavor `a`'s selector and tolerations fits some node of flavor `b`."""
    tolerated = {(t.key, t.value) for t in a.tolerations}
    return any(
        a.node_labels.items() <= (_node_labels(p) | _group_labels(b.name, p)).items()
        and all((t.key, t.value) in tolerated for t in node_taints(p))
        for p in b.pools
    )


def _node_labels(pool: Pool) -> dict[str, str]:
    labels = _known_by(pool) | pool.spec.labels
    return labels if pool.spec.node_labels else {**labels, INSTANCE_TYPE: pool.spec.machine_type}


def _report(draft: Draft, a: Flavor, b: Flavor) -> None:
    path: Path = ("pools", a.pools[0].name)
    alike = a.pools[0].asked.network == b.pools[0].asked.network
    remedy = f"give both pools the same flavor, or '{a.name}'" if alike else f"give '{a.name}'"
    message = f"flavor '{a.name}' also selects the nodes of '{b.name}'; {remedy} labels and taints of its own"
    draft.problems.fault("ambiguous-flavor", path, message)


def _fits_kueue(draft: Draft, flavor: Flavor) -> None:
    path: Path = ("pools", flavor.pools[0].name)
    if (beyond := len(flavor.node_labels) - MOST_OF_A_FLAVOR) > 0:
        message = f"{len(flavor.node_labels)} {_TOO_MANY.format('labels')}; leave {beyond} out"
        draft.problems.fault("too-many-labels", (*path, "labels"), message)
    if (beyond := len(flavor.tolerations) - MOST_OF_A_FLAVOR) > 0:
        message = f"{len(flavor.tolerations)} {_TOO_MANY.format('taints')}; leave {beyond} out"
        draft.problems.fault("too-many-taints", (*path, "taints"), message)


# --- the plan ---------------------------------------------------------------------------------------------------------


def flavor_plan(draft: Draft, flavor: Flavor, promised: int) -> FlavorPlan:
    """The flavor as it will be, once it is known what queues promise."""
    path: Path = ("pools", flavor.pools[0].name)
    draft.origins["flavor", flavor.name] = path
    if flavor.topology:
        draft.origins["topology", flavor.topology.name] = (*path, "topologyAware")
    said = draft.spec.flavors.get(flavor.name)
    return FlavorPlan(
        name=flavor.name,
        resource=flavor.resource,
        noun=flavor.noun,
        node_labels=flavor.node_labels,
        tolerations=flavor.tolerations,
        capacity=flavor.capacity,
        unit=flavor.unit,
        promised=promised,
        oversubscription=said.oversubscription if said else 1,
        oversubscription_reason=said.reason if said else None,
        pools=tuple(p.name for p in flavor.pools),
        topology=flavor.topology.name if flavor.topology else None,
    )


def topologies(flavors: Mapping[str, Flavor]) -> tuple[TopologyPlan, ...]:
    """The topologies that flavors name; those of the same levels share one."""
    found = {flavor.topology.name: flavor.topology for flavor in flavors.values() if flavor.topology}
    return tuple(found[name] for name in sorted(found))
