"""Comparison of pools: what happens to each, how many nodes it affects, which queues use it, and what buffers keep."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from berth.diff.fields import compare_fields
from berth.diff.kinds import ChangeKind, FieldEffect, ResourceChange
from berth.diff.provider_inputs.effects import UpdateEffect
from berth.manifests.serving.capacity_buffers import describe_units
from berth.names import to_camel
from berth.plan.capacity import CapacityBufferPlan
from berth.plan.fleet import FleetPlan, PoolPlan
from berth.plan.gke import NO_SETTINGS, NodePoolPlan
from berth.plan.node_settings import Bounds
from berth.plan.teams import QueueingPlan
from berth.resource import IN_WORKER, ResourceKind
from berth.text import pluralize

_SIZE_INPUTS = re.compile(r"nodeCount|initialNodeCount|autoscaling(\.(min|max|totalMin|totalMax)NodeCount)?")
"""Fields of a pool, and inputs of its node pools, that PoolChange reports as counts."""
_DELETES_NODES = (ChangeKind.DELETED, ChangeKind.REPLACED, ChangeKind.RECREATED)
NO_NODES = Bounds(min=0, max=0)
_LIST_INDEX = re.compile(r"\[\d+\]")


class PoolChange(Struct, frozen=True):
    """A pool that is added, resized, changed in place, recreated node by node, replaced, deleted or renamed.

    `left` is a pool of an existing cluster that the stack file no longer describes. `nodes` and `accelerators` (called
    `noun`) are before and after; `hit_nodes` and `hit_accelerators` are the maximum that is deleted or recreated.
    `reservation` is the source of the machines, `queues` are the cluster queues with the pool's flavor, `because` the
    fields that force a replacement. `renamed` is a renamed pool's former name; for an added or removed pool, its equal.
    """

    pool: str
    what: ChangeKind
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
    old: FleetPlan, new: FleetPlan, changed: Sequence[ResourceChange], renamed: Mapping[str, str]
) -> tuple[PoolChange, ...]:
    """Return every changed pool, by name; `changed` is the result of `compare_resources`.

    Pools in `old` already have their new names; `renamed` maps each former name to the new one.
    """
    before, after = {p.name: p for p in old.pools}, {p.name: p for p in new.pools}
    parts: dict[str, list[ResourceChange]] = {}
    for change in changed:
        if change.kind == ResourceKind.NODE_POOL and change.pool is not None:
            parts.setdefault(change.pool, []).append(change)
    other_names = _renamed_pairs(before, after) | {
        new_name: old_name for old_name, new_name in renamed.items() if new_name in after
    }
    return tuple(
        _compare_pool(before.get(name), after.get(name), parts.get(name, []), (old, new), other_names.get(name))
        for name in sorted(before.keys() | after.keys())
        if _is_changed(before.get(name), after.get(name)) or name in parts or name in other_names
    )


def _compare_pool(
    old_pool: PoolPlan | None,
    new_pool: PoolPlan | None,
    parts: Sequence[ResourceChange],
    plans: tuple[FleetPlan, FleetPlan],
    renamed: str | None,
) -> PoolChange:
    shown = new_pool or old_pool
    assert shown is not None
    old_or_new_pool, plan = old_pool or shown, plans[0] if old_pool else plans[1]
    workers = [worker for worker in plan.workers if worker.name == shown.worker]
    is_changed = _is_changed(old_pool, new_pool) or bool(parts)
    what = _kind_of_change(old_pool, new_pool, parts) if is_changed else ChangeKind.RENAMED
    if what == ChangeKind.DELETED and not all(worker.made_here for worker in workers):
        what = ChangeKind.UNMANAGED
    nodes, accelerators = _affected(old_pool, new_pool, what, parts)
    fields = tuple(_field_effects(old_pool, new_pool, parts, what))
    because = tuple(_unique_by_path(field for part in parts for field in part.because))
    if not because and what == ChangeKind.REPLACED:  # all node pools are new: of another shape, or by another creator
        because = tuple(f for f in fields if f.path in ("topology", "madeBy", "machineType", "hostsPerSlice"))[:1]
    return PoolChange(
        pool=shown.name,
        what=what,
        machine_type=old_or_new_pool.machine_type,
        noun=next((f.noun for f in plan.flavors if f.name == old_or_new_pool.flavor), "accelerators"),
        capacity=old_or_new_pool.capacity,
        reservation=old_or_new_pool.reservation,
        nodes=(old_pool.nodes if old_pool else NO_NODES, new_pool.nodes if new_pool else NO_NODES),
        accelerators=(
            old_pool.accelerators if old_pool else NO_NODES,
            new_pool.accelerators if new_pool else NO_NODES,
        ),
        hit_nodes=nodes,
        hit_accelerators=accelerators,
        queues=queues_of_flavor(workers[0].plan if workers else plan, old_or_new_pool.flavor),
        fields=fields,
        because=because,
        renamed=renamed,
    )


def queues_of_flavor(plan: QueueingPlan, flavor: str) -> tuple[str, ...]:
    """Return the queues of a cluster that can use a flavor."""
    return tuple(q.name for q in plan.cluster_queues if any(entry.flavor == flavor for entry in q.flavors))


def _kind_of_change(
    old_pool: PoolPlan | None, new_pool: PoolPlan | None, parts: Sequence[ResourceChange]
) -> ChangeKind:
    if old_pool is None:
        return ChangeKind.ADDED
    if new_pool is None:
        return ChangeKind.DELETED
    kinds = {part.what for part in parts}
    kept = {n.key for n in old_pool.node_pools} & {n.key for n in new_pool.node_pools}
    if ChangeKind.REPLACED in kinds or (ChangeKind.DELETED in kinds and not kept):
        return ChangeKind.REPLACED
    if kinds & {ChangeKind.CREATED, ChangeKind.DELETED} or (
        ChangeKind.RECREATED not in kinds and old_pool.nodes != new_pool.nodes
    ):
        return ChangeKind.RESIZED
    return ChangeKind.RECREATED if ChangeKind.RECREATED in kinds else ChangeKind.CHANGED


def _affected(
    old_pool: PoolPlan | None, new_pool: PoolPlan | None, what: ChangeKind, parts: Sequence[ResourceChange]
) -> tuple[int, int]:
    """Return the maximum of nodes and accelerators that are deleted or recreated.

    Counts all nodes of node pools that are deleted or recreated, and of others those in removed zones or above the new
    size.
    """
    if old_pool is None:
        return 0, 0
    if not old_pool.node_pools:
        return (old_pool.nodes.max, old_pool.accelerators.max) if what == ChangeKind.DELETED else (0, 0)
    node_pool_keys = {n.key for n in old_pool.node_pools}
    deleted_count = sum(
        part.key.rpartition(IN_WORKER)[2] in node_pool_keys and part.what in _DELETES_NODES for part in parts
    )
    nodes = old_pool.nodes.max * deleted_count // len(old_pool.node_pools)
    kept = {part.key.rpartition(IN_WORKER)[2] for part in parts if part.what == ChangeKind.UPDATED}
    after = {n.key: n for n in new_pool.node_pools if n.key in kept} if new_pool else {}
    nodes += sum(_removed_nodes(n, after[n.key]) for n in old_pool.node_pools if n.key in after)
    return nodes, nodes * old_pool.accelerators.max // max(1, old_pool.nodes.max)


def _removed_nodes(before: NodePoolPlan, after: NodePoolPlan) -> int:
    """Return the maximum of nodes that a remaining node pool loses; none below its maximum if it autoscales."""
    removed_zones = len(set(before.zones) - set(after.zones)) if after.zones else 0
    if before.nodes_per_zone is not None:
        less = 0 if after.nodes_per_zone is None else max(0, before.nodes_per_zone - after.nodes_per_zone)
        return removed_zones * before.nodes_per_zone + (len(before.zones) - removed_zones) * less
    if before.zone_nodes is not None:
        return removed_zones * before.zone_nodes.max
    return before.total_nodes.max if removed_zones and before.total_nodes is not None else 0


def _field_effects(
    old_pool: PoolPlan | None, new_pool: PoolPlan | None, parts: Sequence[ResourceChange], what: ChangeKind
) -> Iterator[FieldEffect]:
    """Yield the changed fields of its node pools, each once; without node pools, those of the pool itself.

    Labels and taints of nodes follow from other fields and from those of flavors and node pools.
    """
    node_pool_effects = (f for part in parts for f in part.fields if f.path != "name")
    effects = [f for f in _unique_by_path(node_pool_effects) if not _SIZE_INPUTS.fullmatch(f.input)]
    if old_pool is None or new_pool is None:
        return
    yield from effects
    yield from _unique_by_path(_stated_accounts(old_pool, new_pool))
    if what != ChangeKind.RESIZED and effects:
        return
    known = {f.path for f in effects}
    old_bare, new_bare = (replace(pool, node_pools=(), node_labels={}, taints=()) for pool in (old_pool, new_pool))
    for change in compare_fields(old_bare, new_bare):
        path = to_camel(change.path)
        if path not in known and not path.startswith(("nodes", "slices", "accelerators")):
            yield FieldEffect(path, path, change.before, change.after, UpdateEffect.UPDATE)


def _stated_accounts(old_pool: PoolPlan, new_pool: PoolPlan) -> Iterator[FieldEffect]:
    """Yield the account that the stack file states of adopted node pools that remain, where it says another."""
    before = {each.key: each for each in old_pool.node_pools}
    for after in new_pool.node_pools:
        if after.key in before and after.adopted:
            accounts = before[after.key].settings.service_account, after.settings.service_account
            if accounts[0] != accounts[1]:
                yield FieldEffect("serviceAccount", "nodeConfig.serviceAccount", *accounts, UpdateEffect.STATED)


def _is_changed(old_pool: PoolPlan | None, new_pool: PoolPlan | None) -> bool:
    """Return whether a pool differs in more than settings of its nodes, which the node pools' changes show if sent."""
    if old_pool is None or new_pool is None or old_pool == new_pool:
        return old_pool != new_pool
    before, after = (
        replace(pool, node_pools=tuple(replace(each, settings=NO_SETTINGS) for each in pool.node_pools))
        for pool in (old_pool, new_pool)
    )
    return before != after or any(_stated_accounts(old_pool, new_pool))


def _unique_by_path(fields: Iterator[FieldEffect]) -> Iterator[FieldEffect]:
    """Yield one field for each path, because the node pools of a pool differ only by number.

    Several entries of one list that force a replacement count once.
    """
    seen: set[str] = set()
    for effect in fields:
        path = _LIST_INDEX.split(effect.path)[0] if effect.does == UpdateEffect.REPLACE else effect.path
        if path not in seen:
            seen.add(path)
            yield effect


def _renamed_pairs(before: Mapping[str, PoolPlan], after: Mapping[str, PoolPlan]) -> dict[str, str]:
    """Return pairs of a removed and an added pool that are equal except for their key, mapped both ways."""
    removed, added = (
        {name: replace(one[name], name="", flavor="", node_pools=()) for name in sorted(one.keys() - other.keys())}
        for one, other in ((before, after), (after, before))
    )
    renamed: dict[str, str] = {}
    for name, pool in removed.items():
        equal = (other for other, each in added.items() if each == pool and other not in renamed)
        if (match := next(equal, None)) is not None:
            renamed |= {name: match, match: name}
    return renamed


class BufferChange(Struct, frozen=True):
    """What a capacity buffer keeps ready, before and after; None without it. `less` is whether it keeps less."""

    buffer: str
    before: str | None
    after: str | None
    less: bool

    @property
    def text(self) -> str:
        """The change in one sentence."""
        if self.before is None:
            return f"{self.buffer} keeps {self.after} ready"
        if self.after is None:
            return f"{self.buffer} no longer keeps {self.before} ready: pods of services wait for nodes"
        return f"{self.buffer} keeps {self.after} ready instead of {self.before}"


def compare_buffers(old: QueueingPlan, new: QueueingPlan) -> Iterator[BufferChange]:
    """Yield the buffers that come, go, or keep something else."""
    before, after = (
        {f"{team.name}/{buffer.name}": buffer for team in plan.teams for buffer in team.buffers} for plan in (old, new)
    )
    for name in sorted(before.keys() | after.keys()):
        one, two = before.get(name), after.get(name)
        texts = [None if each is None else _describe(each) for each in (one, two)]
        if texts[0] != texts[1]:
            yield BufferChange(name, *texts, less=_keeps_less(one, two))


def _describe(buffer: CapacityBufferPlan) -> str:
    kept = describe_units(buffer)
    if buffer.pool is None:
        return f"{kept} on standby"
    nodes = "nodes" if buffer.nodes is None else pluralize(buffer.nodes, "node")
    return f"{kept} ({nodes} of {buffer.pool})"


def _keeps_less(old: CapacityBufferPlan | None, new: CapacityBufferPlan | None) -> bool:
    """Return whether services may find less ready than before: it is not more of the same."""
    if old is None or new is None:
        return new is None
    before, after = (
        (each.pool, each.requests, each.settings.scalable_ref, each.settings.percentage is None) for each in (old, new)
    )
    sizes = [each.settings.percentage or each.units or 0 for each in (old, new)]
    is_slower = new.is_standby and not old.is_standby
    return before != after or is_slower or sizes[1] < sizes[0]
