"""Which nodes a changed GKE version recreates, in which order, and what jobs lose by it.

Sources: GKE docs on node upgrade strategies (surge, blue-green; short-lived upgrades of flex-start nodes,
which leave running nodes alone) and on TPUs (a slice is recreated as a whole). Read 2026-11-28.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from msgspec import Struct

from berth.diagnostics import join_words
from berth.plan.fleet import FleetPlan, PoolPlan
from berth.plan.gke import ClusterPlan, MaintenancePlan
from berth.text import pluralize
from berth.upgrade.moves import Move, clusters_of_both, versions_of

_NODES_KEPT = ("NO_UPGRADES", "NO_MINOR_OR_NODE_UPGRADES")
"""Scopes of exclusions during which GKE upgrades no nodes."""


class Restart(Struct, frozen=True):
    """Nodes of one pool that are recreated: by this update (`now`) or later by GKE.

    `away` are the accelerators, or cores, that can be missing at the same time, of `total`; `nodes` is the pool's
    maximum. `how` and `when` are phrases, `guaranteed` has the guarantees of each queue on the pool's flavor.
    """

    pool: str
    now: bool
    when: str
    how: str
    nodes: int
    away: int
    total: int
    noun: str
    guaranteed: dict[str, int]


def restarts_of(old: FleetPlan, new: FleetPlan) -> tuple[Restart, ...]:
    """Return what restarts, in order: what this update recreates, then what GKE does after the control plane.

    Pools of a worker's cluster are called `worker/pool`.
    """
    found = [
        each
        for worker, before, after in clusters_of_both(old, new)
        for each in _of_cluster(before, after, _prefix(worker))
    ]
    return tuple(sorted(found, key=lambda each: (not each.now, each.pool)))


def restarts_by(moves: Iterable[Move], plan: FleetPlan) -> tuple[Restart, ...]:
    """Return what GKE restarts after an upgrade of control planes, in order; `plan` has the new versions."""
    clusters = {"": plan} | {worker.name: worker.plan for worker in plan.workers if worker.made_here}
    found = [
        _restart(clusters[move.worker], pool, _prefix(move.worker), now=False)
        for move in moves
        if move.key == "gke" and not move.is_downgrade and move.worker in clusters
        for pool in clusters[move.worker].own_pools
        if pool.node_pools and not pool.node_pools[0].adopted and pool.node_pools[0].settings.version is None
    ]
    return tuple(sorted(found, key=lambda each: each.pool))


def _prefix(worker: str) -> str:
    return f"{worker}/" if worker else ""


def _of_cluster(old: FleetPlan, new: FleetPlan, prefix: str) -> Iterator[Restart]:
    before, after = versions_of(old).get("gke"), versions_of(new).get("gke")
    moves = before is not None and after is not None and before != after
    earlier = {pool.key: pool for pool in old.own_pools}
    for pool in new.own_pools:
        known = earlier.get(pool.key)
        if known is None or not (known.node_pools and pool.node_pools):
            continue
        was, becomes = (each.node_pools[0].settings.version for each in (known, pool))
        if becomes is not None and was != becomes:
            yield _restart(new, pool, prefix, now=True)
        elif becomes is None and moves and not pool.node_pools[0].adopted:
            yield _restart(new, pool, prefix, now=False)


def _restart(plan: FleetPlan, pool: PoolPlan, prefix: str, *, now: bool) -> Restart:
    how, nodes_away = _how(pool, now=now)
    flavor = next(each for each in plan.flavors if each.name == pool.flavor)
    guaranteed = {
        queue.name: quota.nominal // flavor.scale
        for queue in plan.cluster_queues
        for entry in queue.flavors
        for quota in entry.quotas
        if entry.flavor == flavor.name and quota.resource == flavor.resource and quota.nominal
    }
    return Restart(
        pool=prefix + pool.name,
        now=now,
        when="by this update" if now else _when(plan, pool),
        how=how,
        nodes=pool.nodes.max,
        away=nodes_away * pool.accelerators.max // max(1, pool.nodes.max),
        total=pool.accelerators.max,
        noun=flavor.noun,
        guaranteed=dict(sorted(guaranteed.items())),
    )


def _when(plan: FleetPlan, pool: PoolPlan) -> str:
    if pool.node_pools[0].settings.exclusion_until_end_of_support:
        return "by GKE, once the support of their version ends"
    maintenance = plan.cluster.maintenance if isinstance(plan.cluster, ClusterPlan) else None
    return f"by GKE after the control plane, {_window(maintenance)}"


def _window(maintenance: MaintenancePlan | None) -> str:
    if maintenance is None:
        return "at any time"
    kept = [each for each in maintenance.exclusions if each.scope in _NODES_KEPT]
    window = "in its window" if maintenance.start or maintenance.daily_start else "at any time"
    names = join_words([f"{each.name} (until {each.end or 'the end of support'})" for each in kept])
    return f"{window} outside {names}" if kept else window


def _how(pool: PoolPlan, *, now: bool) -> tuple[str, int]:
    """Return how the nodes of a pool are recreated, and the most that are away at the same time."""
    node_pool, nodes = pool.node_pools[0], pool.nodes.max
    settings = node_pool.settings
    if node_pool.flex_start:
        return "nodes that run stay until their jobs end, and new ones have the version", 0
    if node_pool.slice_topology is not None:
        hosts = pool.hosts_per_slice or 1
        slices = pluralize(nodes // hosts, "slice")
        if now:
            return f"{slices} of {hosts} nodes are recreated at once, each as a whole: each is a node pool", nodes
        return f"{slices} of {hosts} nodes are recreated one after the other, each as a whole", hosts
    if node_pool.adopted:
        return (
            f"{pluralize(nodes, 'node')}, by the upgrade settings that their creation chose, at worst all at a time",
            nodes,
        )
    if settings.blue_green is not None:
        batch = pluralize(settings.blue_green.batch_node_count, "old one")
        return f"{pluralize(nodes, 'new node')} first, then {batch} at a time drained", 0
    surge = settings.surge
    spare, missing = (surge.max_surge, surge.max_unavailable) if surge else (1, 0)
    step = f"{pluralize(nodes, 'node')}, {min(nodes, spare + missing)} at a time"
    return (f"{step}, each after its replacement exists" if not missing else step), min(nodes, missing)


def describe_restarts(restarts: tuple[Restart, ...]) -> Iterator[tuple[str, ...]]:
    """Yield a line for each pool in the order of the restarts, with what jobs lose below it."""
    for number, each in enumerate(restarts, 1):
        jobs = "jobs on them run to their end" if "stay until" in each.how else "jobs on them end and are queued again"
        lost = f"{jobs}; at most {each.away} of {each.total} {each.noun} are away at a time"
        queues = join_words([f"{name} {amount}" for name, amount in each.guaranteed.items()])
        guarantees = (f"guaranteed of these {each.noun}: {queues}",) if queues else ()
        yield (f"{number}. {each.pool}, {each.when}: {each.how}", lost, *guarantees)
