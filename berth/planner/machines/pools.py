"""Pools and reservations: where their machines stand, and the node pools that GKE is asked for."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct

from berth.catalog import Machine, SliceShape
from berth.diagnostics import Path, shown
from berth.plan.nodes import Taint
from berth.planner.context import Draft
from berth.planner.formerly import former_names
from berth.planner.machines.capacity_rules import agrees, asked_of, obeys
from berth.planner.machines.compute_classes import Ladder
from berth.planner.machines.hardware import Hardware, hardware
from berth.planner.machines.reservations import Demand, reservation_known, reservation_name
from berth.rules.gke.pool_request import Asked
from berth.spec.machines.pools import PoolSpec

CAPACITY_TAINT = "berth.dev/capacity"
"""Keeps jobs of other flavors, and jobs outside Kueue, off machines that were bought for a purpose."""

AUTOPILOT = "autopilot"
BERTH, GKE, OTHERS = "berth", "gke", "others"
"""Who makes the nodes of a pool."""

_TAKEN = ("kubernetes.io", "k8s.io", "google.com", "gke.io", "nvidia.com", "berth.dev")
"""Domains whose labels and taints say what a node is: flavors go by them, so they must be true."""

SYSTEM = "system"
"""Key and name of the node pool that controllers run on."""


class Pool(Struct, frozen=True):
    """A pool that can exist: what its owner wrote, its machines, and where they stand."""

    name: str
    spec: PoolSpec
    hardware: Hardware
    zones: tuple[str, ...]
    made_by: str
    reservation: str | None
    asked: Asked
    ladder: Ladder | None

    @property
    def key(self) -> str:
        """What names its node pools and its flavor: its first name, since none of those can be renamed."""
        return self.spec.formerly or self.name

    @property
    def taints(self) -> tuple[Taint, ...]:
        """The taints that its nodes carry beside those of GKE."""
        own = tuple(Taint(key=t.key, value=t.value, effect=t.effect) for t in self.spec.taints)
        return own + capacity_taints(self.spec.capacity.kind) if self.made_by == BERTH else own

    @property
    def made_by_gke(self) -> bool:
        """Whether GKE makes the nodes by itself, when jobs ask for them."""
        return self.made_by == GKE


def capacity_taints(kind: str) -> tuple[Taint, ...]:
    """The taint that marks nodes of a special capacity; on-demand ones are open to all, queued ones GKE marks."""
    return () if kind in ("on-demand", "queued") else (Taint(key=CAPACITY_TAINT, value=kind, effect="NoSchedule"),)


def pools(draft: Draft, ladders: Mapping[str, Ladder]) -> dict[str, Pool]:
    """Every pool of the spec that can exist, by name."""
    former_names(draft, ("pools",), draft.spec.pools)
    found = (_pool(draft, name, spec, ladders) for name, spec in sorted(draft.spec.pools.items()))
    return {pool.name: pool for pool in found if pool}


def demands(known: Mapping[str, Pool]) -> dict[str, dict[str, Demand]]:
    """Reservation → pool → what it asks for; a compute class takes what the others leave of it."""
    found: dict[str, dict[str, Demand]] = {}
    for pool in known.values():
        if pool.spec.capacity.reservation is not None:
            wanted = Demand(pool.hardware.nodes.max, pool.asked.multi_host)
            found.setdefault(pool.spec.capacity.reservation, {})[pool.name] = wanted
    for pool in known.values():
        for way in pool.ladder.ways if pool.ladder else ():
            if way.reservation is not None:
                users = found.setdefault(way.reservation, {})
                left = way.held - sum(user.nodes for user in users.values())
                users[pool.name] = Demand(max(0, min(pool.hardware.nodes.max, left)), pool.asked.multi_host)
    return found


def _pool(draft: Draft, name: str, spec: PoolSpec, ladders: Mapping[str, Ladder]) -> Pool | None:
    machines = hardware(draft, name, spec)
    _marks_are_free(draft, ("pools", name), spec)
    key = spec.capacity.reservation
    if not reservation_known(draft, name, key) or machines is None:
        return None
    if spec.compute_class is not None:
        return _of_class(draft, name, spec, machines, ladders)
    if spec.auto_provisioned and draft.spec.cluster.mode == AUTOPILOT:
        message = "an Autopilot cluster makes all its nodes itself; leave autoProvisioned out"
        draft.problems.fault("autopilot", ("pools", name, "autoProvisioned"), message)
    by_gke = spec.auto_provisioned or draft.spec.cluster.mode == AUTOPILOT
    made_by = OTHERS if draft.existing else GKE if by_gke else BERTH
    if made_by == GKE:
        _taints_follow_labels(draft, ("pools", name), spec)
    zones = _zones(draft, spec)
    if not _places_fit(draft, name, spec, machines, zones, made_by):
        return None
    asked = asked_of(draft, spec, machines.machine, machines.shape, machines.nodes, zones)
    told = draft.lost("cluster", "mode") or draft.lost("cluster", "zones")
    if not agrees(draft, name, asked) or (not told and not obeys(draft, name, asked)):
        return None
    return Pool(name, spec, machines, zones, made_by, reservation_name(draft, key) if key else None, asked, None)


# --- pools of a compute class -----------------------------------------------------------------------------------------

_OF_POOL = ("machine_type", "topology", "accept_topology", "accelerator", "slices", "nodes", "flavor", "compute_class")
"""What is said of a pool of a compute class; of everything else, its class speaks."""


def _of_class(
    draft: Draft, name: str, spec: PoolSpec, machines: Hardware, ladders: Mapping[str, Ladder]
) -> Pool | None:
    path: Path = ("pools", name)
    ladder = draft.find("computeClasses", spec.compute_class or "", ladders, (*path, "computeClass"))
    if ladder is None:
        draft.leave_out(*path)
        return None
    for field in sorted(spec.model_fields_set.difference(_OF_POOL)):
        key = type(spec).model_fields[field].alias or field
        message = f"'{ladder.name}', a compute class, says how these nodes are got; leave {key} out"
        draft.drop(*path, "class-decides", (*path, key), message)
    for number, way in enumerate(ladder.ways, 1):
        if (way.asked.machine.accelerator, way.asked.shape) != (machines.machine.accelerator, machines.shape):
            given, counted = _wares(way.asked.machine, way.asked.shape), _wares(machines.machine, machines.shape)
            message = (
                f"priority {number} of '{ladder.name}' gives {given}, and this pool counts {counted}; write the same, "
                "for a quota counts one kind"
            )
            draft.drop(*path, "class-mismatch", (*path, "computeClass"), message)
    asked = asked_of(draft, spec, machines.machine, machines.shape, machines.nodes, ())
    if asked.autoscaled and asked.nodes.min:
        message = f"'{asked.nodes.min}' nodes at the least cannot be kept by a compute class; write min: 0"
        draft.drop(*path, "gke-minimum", (*path, asked.size), message)
    if path in draft.set_aside:
        return None
    return Pool(name, spec, machines, (), GKE, None, asked, ladder)


def _wares(machine: Machine, shape: SliceShape | None) -> str:
    return f"{machine.accelerator} {shape.topology}" if shape else machine.accelerator


# --- labels and taints ------------------------------------------------------------------------------------------------


def _marks_are_free(draft: Draft, path: Path, spec: PoolSpec) -> None:
    """The owner's labels and taints are none that something else sets, and no taint is there twice."""
    for key in sorted(spec.labels):
        _own_key(draft, (*path, "labels", key), key)
    seen: set[tuple[str, str]] = set()
    for index, taint in enumerate(spec.taints):
        where = (*path, "taints", index)
        _own_key(draft, where, taint.key)
        if (taint.key, taint.effect) in seen:
            message = f"'{shown(taint.key)}' with the effect {taint.effect} is there already; leave one of them out"
            draft.problems.fault("duplicate-name", where, message)
        seen.add((taint.key, taint.effect))


def _taints_follow_labels(draft: Draft, path: Path, spec: PoolSpec) -> None:
    """Nodes that GKE makes are tainted by the labels that jobs select, and in no other way (workload separation)."""
    for index, taint in enumerate(spec.taints):
        if spec.labels.get(taint.key) != taint.value:
            message = (
                f"'{shown(taint.key)}' would be on no node, for GKE taints what it makes by its labels alone; "
                f"write labels: {{{taint.key}: {taint.value or '<value>'}}} instead"
            )
            draft.problems.fault("gke-taint", (*path, "taints", index), message)


def _own_key(draft: Draft, path: Path, key: str) -> None:
    domain = key.rpartition("/")[0]
    if any(domain == taken or domain.endswith(f".{taken}") for taken in _TAKEN):
        message = f"'{shown(key)}' is for Kubernetes, GKE or Berth to set; write a key of your own"
        draft.problems.fault("reserved-label", path, message)


# --- zones ------------------------------------------------------------------------------------------------------------


def _zones(draft: Draft, spec: PoolSpec) -> tuple[str, ...]:
    if spec.zone:
        return (spec.zone,)
    if spec.zones:
        return tuple(sorted(spec.zones))
    reserved = draft.spec.reservations.get(spec.capacity.reservation or "")
    return (reserved.zone,) if reserved else tuple(sorted(draft.spec.cluster.zones))


def _places_fit(
    draft: Draft, name: str, spec: PoolSpec, machines: Hardware, zones: tuple[str, ...], made_by: str
) -> bool:
    path: Path = ("pools", name)
    if spec.zone and spec.zones:
        draft.drop("pools", name, "bad-zone", (*path, "zone"), "write zone or zones, not both")
        return False
    if spec.zone:
        draft.check_zone((*path, "zone"), spec.zone)
    for index, zone in enumerate(spec.zones):
        draft.check_zone((*path, "zones", index), zone)
    if made_by == BERTH and not draft.lost("cluster", "mode") and not draft.lost("cluster", "zones"):
        _own_places_fit(draft, path, name, machines, zones)
    return ("pools", name) not in draft.set_aside


def _own_places_fit(draft: Draft, path: Path, name: str, machines: Hardware, zones: tuple[str, ...]) -> None:
    fixed = machines.nodes.min == machines.nodes.max > 0
    if machines.shape and machines.shape.multi_host:
        return  # a slice stands in one zone: a rule of placement
    if fixed and not zones:
        message = (
            f"a fixed number of nodes needs to know its zones; write zones: [{draft.region}-…], "
            f"or a range: {{max: {machines.slices.max if machines.slices else machines.nodes.max}}}"
        )
        draft.drop("pools", name, "bad-zone", (*path, "zones"), message)
    elif fixed and machines.nodes.max % len(zones):
        key = "slices" if machines.shape else "nodes"
        message = (
            f"'{machines.nodes.max}' nodes cannot be spread evenly over {len(zones)} zones ({', '.join(zones)}); "
            f"GKE counts per zone: write a multiple of {len(zones)}, or name one zone"
        )
        draft.drop("pools", name, "bad-size", (*path, key), message)
