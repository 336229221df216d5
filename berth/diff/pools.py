"""Pools as their owner wrote them: what becomes of each, how much of it is hit, and who stands behind it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from berth.diff.fields import differences
from berth.diff.resources import (
    CREATED,
    DELETED,
    IN_WORKER,
    NODE_POOL,
    RECREATED,
    REPLACED,
    UPDATED,
    FieldEffect,
    ThingChange,
)
from berth.diff.update_effects import REPLACE, UPDATE
from berth.plan.fleet import FleetPlan, PoolPlan
from berth.plan.gke import NodePoolPlan
from berth.plan.nodes import Bounds

ADDED, RESIZED, CHANGED, RENAMED, LEFT = "added", "resized", "changed", "renamed", "left"
_SIZES = ("nodes", "slices", "accelerators")
_COUNTS = ("nodes_per_zone", "total_nodes", "zone_nodes")
"""What PoolChange says by its own counts: fields of a pool, and of its node pools."""
_GOES = (DELETED, REPLACED, RECREATED)
_NOTHING = Bounds(min=0, max=0)
_NUMBERED = re.compile(r"\[\d+\]")


class PoolChange(Struct, frozen=True):
    """What becomes of a pool: added, resized, changed (in place), recreated (node by node), replaced or deleted;
    renamed where nothing but its name changes; left where it is described no more and stands in a cluster of others.

    `nodes` and `accelerators` (called `noun`) are before and after. `hit_nodes` and `hit_accelerators` are those that
    go, at the most, when something is replaced, deleted or recreated. `reservation` is what they are taken from,
    `queues` are the cluster queues that use the pool's flavor. `because` are the fields that force a replacement.
    `renamed` is what a pool that stays was called before; of one that goes or comes, the pool that is its like.
    """

    pool: str
    what: str
    machine_type: str
    noun: str
    capacity: str
    reservation: str | None
    nodes: tuple[Bounds, Bounds]
    accelerators: tuple[Bounds, Bounds]
    hit_nodes: int
    hit_accelerators: int
    queues: tuple[str, ...]
    fields: tuple[FieldEffect, ...]
    because: tuple[FieldEffect, ...]
    renamed: str | None


def compare_pools(
    old: FleetPlan, new: FleetPlan, changed: Sequence[ThingChange], renamed: Mapping[str, str]
) -> tuple[PoolChange, ...]:
    """What becomes of each pool that is not left as it is, by name; `changed` is what `compare_things` says.

    `old` already calls its pools by their new names; `renamed` maps each old one that differs to it.
    """
    before, after = {p.name: p for p in old.pools}, {p.name: p for p in new.pools}
    parts: dict[str, list[ThingChange]] = {}
    for change in changed:
        if change.kind == NODE_POOL and change.pool is not None:
            parts.setdefault(change.pool, []).append(change)
    twins = _twins(before, after) | {now: was for was, now in renamed.items() if now in after}
    found = (
        _pool_change(before.get(name), after.get(name), parts.get(name, []), (old, new), twins.get(name))
        for name in sorted(before.keys() | after.keys())
        if before.get(name) != after.get(name) or name in parts or name in twins
    )
    return tuple(found)


def _pool_change(
    one: PoolPlan | None,
    other: PoolPlan | None,
    parts: Sequence[ThingChange],
    plans: tuple[FleetPlan, FleetPlan],
    renamed: str | None,
) -> PoolChange:
    shown = one if other is None else other
    assert shown is not None
    lost = one or shown
    what = _what(one, other, parts) if one != other or parts else RENAMED
    if what == DELETED and not _made_here(plans[0], lost):
        what = LEFT
    nodes, accelerators = _hit(one, other, what, parts)
    fields = tuple(_fields(one, other, parts, what))
    because = tuple(f for f in _each_once(f for part in parts for f in part.because))
    return PoolChange(
        pool=shown.name,
        what=what,
        machine_type=lost.machine_type,
        noun=_noun(plans[0] if one else plans[1], lost),
        capacity=lost.capacity,
        reservation=lost.reservation,
        nodes=(one.nodes if one else _NOTHING, other.nodes if other else _NOTHING),
        accelerators=(one.accelerators if one else _NOTHING, other.accelerators if other else _NOTHING),
        hit_nodes=nodes,
        hit_accelerators=accelerators,
        queues=_queues(plans[0] if one else plans[1], lost),
        fields=fields,
        because=because or _moved(one, other, what, fields),
        renamed=renamed,
    )


def _what(one: PoolPlan | None, other: PoolPlan | None, parts: Sequence[ThingChange]) -> str:
    if one is None:
        return ADDED
    if other is None:
        return DELETED
    found = {part.what for part in parts}
    kept = {n.key for n in one.node_pools} & {n.key for n in other.node_pools}
    if REPLACED in found or (DELETED in found and not kept):
        return REPLACED
    if found & {CREATED, DELETED} or (RECREATED not in found and one.nodes != other.nodes):
        return RESIZED
    return RECREATED if RECREATED in found else CHANGED


def _hit(one: PoolPlan | None, other: PoolPlan | None, what: str, parts: Sequence[ThingChange]) -> tuple[int, int]:
    """Nodes and accelerators that go, at the most: those of each node pool that goes or is made anew, and of one that
    stays those in zones that it leaves, or beyond the number that it has now."""
    if one is None:
        return 0, 0
    if not one.node_pools:
        return (one.nodes.max, one.accelerators.max) if what == DELETED else (0, 0)
    own = {n.key for n in one.node_pools}
    gone = sum(part.key.rpartition(IN_WORKER)[2] in own and part.what in _GOES for part in parts)
    nodes = one.nodes.max * gone // len(one.node_pools)
    kept = {part.key.rpartition(IN_WORKER)[2] for part in parts if part.what == UPDATED}
    after = {n.key: n for n in other.node_pools if n.key in kept} if other else {}
    nodes += sum(_leaving(n, after[n.key]) for n in one.node_pools if n.key in after)
    return nodes, nodes * one.accelerators.max // max(1, one.nodes.max)


def _leaving(before: NodePoolPlan, after: NodePoolPlan) -> int:
    """Nodes of a node pool that stays, which go, at the most. One that scales is not made to go below its maximum."""
    left = len(set(before.zones) - set(after.zones)) if after.zones else 0
    if before.nodes_per_zone is not None:
        less = 0 if after.nodes_per_zone is None else max(0, before.nodes_per_zone - after.nodes_per_zone)
        return left * before.nodes_per_zone + (len(before.zones) - left) * less
    if before.zone_nodes is not None:
        return left * before.zone_nodes.max
    return before.total_nodes.max if left and before.total_nodes is not None else 0


def _fields(
    one: PoolPlan | None, other: PoolPlan | None, parts: Sequence[ThingChange], what: str
) -> Iterator[FieldEffect]:
    """The fields that differ: those of its node pools, each once; without any, those of the pool as it was written."""
    own = (f for part in parts for f in part.fields if f.path not in ("name", "key"))
    effects = [f for f in _each_once(own) if not f.path.startswith(_COUNTS)]
    if one is None or other is None:
        return
    yield from effects
    if what != RESIZED and effects:
        return
    known = {f.path for f in effects}
    for change in differences(_written(one), _written(other)):
        if change.path not in known and not change.path.startswith(_SIZES):
            yield FieldEffect(change.path, change.path, change.before, change.after, UPDATE)


def _written(pool: PoolPlan) -> PoolPlan:
    return replace(pool, node_pools=())


def _moved(
    one: PoolPlan | None, other: PoolPlan | None, what: str, fields: Sequence[FieldEffect]
) -> tuple[FieldEffect, ...]:
    """Why all node pools of a pool give way to others although none of them is replaced: its shape, or who makes it."""
    if what != REPLACED or one is None or other is None:
        return ()
    return tuple(f for f in fields if f.path in ("topology", "made_by", "machine_type", "hosts_per_slice"))[:1]


def _each_once(fields: Iterator[FieldEffect]) -> Iterator[FieldEffect]:
    """One of all fields with the same path: the node pools of one pool differ in their numbers only.

    Of the entries of a list that force a replacement, one is reason enough.
    """
    seen: set[str] = set()
    for each in fields:
        path = _NUMBERED.split(each.path)[0] if each.does == REPLACE else each.path
        if path not in seen:
            seen.add(path)
            yield each


def _noun(plan: FleetPlan, pool: PoolPlan) -> str:
    return next((f.noun for f in plan.flavors if f.name == pool.flavor), "accelerators")


def _made_here(plan: FleetPlan, pool: PoolPlan) -> bool:
    return all(worker.made_here for worker in plan.workers if worker.name == pool.worker)


def _queues(plan: FleetPlan, pool: PoolPlan) -> tuple[str, ...]:
    """The queues that can use a pool: of a worker's pool those that the worker has."""
    there = next((worker.plan for worker in plan.workers if worker.name == pool.worker), plan)
    return tuple(q.name for q in there.cluster_queues if any(entry.flavor == pool.flavor for entry in q.flavors))


def _twins(before: Mapping[str, PoolPlan], after: Mapping[str, PoolPlan]) -> dict[str, str]:
    """Pools that went and came as equals, both ways: a key that changes is a deletion and a new pool."""
    found: dict[str, str] = {}
    for name in sorted(before.keys() - after.keys()):
        for other in sorted(after.keys() - before.keys() - found.keys()):
            if _nameless(before[name]) == _nameless(after[other]):
                found |= {name: other, other: name}
                break
    return found


def _nameless(pool: PoolPlan) -> PoolPlan:
    return replace(pool, name="", flavor="", node_pools=())
