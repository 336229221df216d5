"""Everything of a fleet outside its Kubernetes objects that a change can touch, and what becomes of each."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from msgspec import Struct
from msgspec.structs import replace

from berth.diff.fields import FieldChange, differences
from berth.diff.update_effects import RECREATE, REPLACE, WEIGHT, force
from berth.plan.fleet import FleetPlan
from berth.plan.gke import ClusterPlan, NetworkPlan, NodePoolPlan

CLUSTER, RESERVATION, NODE_POOL, SYSTEM_POOL, CONTROLLER = (
    "cluster",
    "reservation",
    "node pool",
    "system pool",
    "controller",
)
FUTURE_RESERVATION, DASHBOARD = "future reservation", "dashboard"
FLEET, MEMBERSHIP = "ACK One fleet", "membership"
CREATED, UPDATED, RECREATED, REPLACED, DELETED = "created", "updated", "recreated", "replaced", "deleted"

IN_WORKER = "/"
"""After a worker's name: the key of what is in it follows, and no other key has it."""

Identity = tuple[str, str]
"""A thing's kind and key."""


class Thing(Struct, frozen=True):
    """One resource, or a few that are made together: the kind that people call it, its key and its plan.

    `pool` is the pool that a node pool is part of.
    """

    kind: str
    key: str
    plan: object
    pool: str | None = None


class FieldEffect(Struct, frozen=True):
    """A field that changes, `input` as the provider spells it, and what that alone `does` (see update_effects.yaml).

    Without an `input` it is no field: `path` names a thing that this one is made of, and that is replaced.
    """

    path: str
    input: str
    before: object
    after: object
    does: str


class ThingChange(Struct, frozen=True):
    """What becomes of a thing: created, updated in place, its nodes recreated in place, replaced or deleted."""

    kind: str
    key: str
    pool: str | None
    what: str
    fields: tuple[FieldEffect, ...] = ()

    @property
    def because(self) -> tuple[FieldEffect, ...]:
        """The fields that force what happens; the name of a node pool is none where it follows from another of them."""
        forcing = tuple(f for f in self.fields if f.does == REPLACE)
        chosen = tuple(f for f in forcing if f.path != "name" or self.kind != NODE_POOL)
        return chosen or forcing


def things(plan: FleetPlan) -> Iterator[Thing]:
    """Every thing of a fleet, the cluster first; (kind, key) is its identity in the program."""
    if isinstance(plan.cluster, ClusterPlan):  # an existing one is nobody's to change here
        yield Thing(CLUSTER, "cluster", plan.cluster)
        if isinstance(plan.cluster.network, NetworkPlan):
            yield Thing("network", "network", plan.cluster.network)
        yield Thing("node identity", "nodes", plan.cluster.node_service_account)
    yield from (Thing("service", service, service) for service in plan.services)
    keyed = {
        RESERVATION: plan.reservations,
        FUTURE_RESERVATION: plan.future_reservations,
        "workload policy": plan.workload_policies,
        "accelerator networks": plan.accelerator_networks,
        SYSTEM_POOL: (plan.system_pool,) if plan.system_pool else (),
    }
    for kind, plans in keyed.items():
        yield from (Thing(kind, each.key, each) for each in plans)
    for pool in plan.own_pools:
        yield from (Thing(NODE_POOL, each.key, each, pool.name) for each in pool.node_pools)
    yield from (Thing(CONTROLLER, chart.name, chart) for chart in plan.charts)
    if (watched := plan.monitoring) is not None:
        yield from (Thing(CONTROLLER, chart.name, chart) for chart in watched.charts)
        if watched.backend == "managed":  # in the cluster they are Kubernetes objects
            yield from (Thing(DASHBOARD, each.key, each) for each in watched.dashboards)
            yield from (Thing("alert", each.key, each) for each in watched.alerts)
    yield from (Thing("access", "access", each) for each in (plan.access,) if each)
    yield from (Thing("team identity", team.key, team.identity) for team in plan.teams if team.identity)
    for worker in plan.workers:
        for thing in things(worker.plan) if worker.made_here else ():
            pool = f"{worker.name}{IN_WORKER}{thing.pool}" if thing.pool is not None else None
            yield replace(thing, key=f"{worker.name}{IN_WORKER}{thing.key}", pool=pool)


def in_worker(change: ThingChange) -> tuple[str, ThingChange] | None:
    """The worker that a change is in, and the change by the names that the worker itself has for it."""
    worker, slash, key = change.key.partition(IN_WORKER)
    pool = change.pool and change.pool.removeprefix(worker + IN_WORKER)
    return (worker, replace(change, key=key, pool=pool)) if slash else None


def named(kind: str, key: str) -> str:
    """What people call a thing: `reservation l4`, `cluster`; `cluster of worker east`, `network a on worker east`."""
    worker, slash, own = key.rpartition(IN_WORKER)
    if own == kind:
        return f"{kind} of worker {worker}" if slash else kind
    return f"{kind} {own} on worker {worker}" if slash and kind != "pool" else f"{kind} {key}"


def compare_things(old: FleetPlan, new: FleetPlan) -> tuple[ThingChange, ...]:
    """What becomes of each thing that is not left as it is: what comes or changes, as in `things`, then what goes.

    What is made from a thing that is replaced is replaced with it, for the engine does not know its name before.
    """
    return compare_listed(list(things(old)), list(things(new)), lambda thing: needs(thing, new))


def compare_listed(
    old: Sequence[Thing], new: Sequence[Thing], made_of: Callable[[Thing], Iterable[Identity]]
) -> tuple[ThingChange, ...]:
    """The same of things that are listed; `made_of` are those whose names the inputs of one in `new` are made of."""
    before, after = _by_identity(old), _by_identity(new)
    found: dict[Identity, ThingChange] = {}
    for key, thing in after.items():
        below = [need for need in made_of(thing) if need in found and found[need].what == REPLACED]
        change = _change(before.get(key), thing, below)
        if change is not None:
            found[key] = change
    gone = [ThingChange(t.kind, t.key, t.pool, DELETED) for key, t in before.items() if key not in after]
    return (*(found[key] for key in map(_identity, new) if key in found), *gone)


def needs(thing: Thing, plan: FleetPlan) -> Iterator[Identity]:
    """The things whose names its own inputs are made of; those of a worker's are that worker's."""
    name, slash, key = thing.key.partition(IN_WORKER)
    if slash and (there := next((worker.plan for worker in plan.workers if worker.name == name), None)) is not None:
        yield from ((kind, f"{name}{IN_WORKER}{below}") for kind, below in needs(replace(thing, key=key), there))
        return
    if thing.kind == CLUSTER:
        yield "network", "network"
    if isinstance(thing.plan, NodePoolPlan):
        yield CLUSTER, "cluster"
        yield "node identity", "nodes"
        pool = thing.plan
        yield from ((RESERVATION, r.key) for r in plan.reservations if r.name == pool.reservation)
        policy = pool.placement.policy if pool.placement else None
        if pool.network.accelerator_networks is not None:
            yield "accelerator networks", pool.network.accelerator_networks
        yield from (("workload policy", p.key) for p in plan.workload_policies if p.name == policy)


_LAST = (FLEET, CLUSTER, SYSTEM_POOL, NODE_POOL, MEMBERSHIP)
"""What is made of other things, in an order in which those come first."""


def _by_identity(listed: Iterable[Thing]) -> dict[Identity, Thing]:
    """Every thing; those that others are made of come before them."""
    found = sorted(listed, key=lambda thing: _LAST.index(thing.kind) if thing.kind in _LAST else -1)
    return {_identity(thing): thing for thing in found}


def _identity(thing: Thing) -> Identity:
    return thing.kind, thing.key


def _change(before: Thing | None, after: Thing, below: Iterable[Identity]) -> ThingChange | None:
    """None where nothing changes. `below` are replaced things that it is made of."""
    if before is None:
        return ThingChange(after.kind, after.key, after.pool, CREATED)
    if after.kind == DASHBOARD:  # what it shows follows from the rest of the change
        return ThingChange(DASHBOARD, after.key, None, UPDATED) if before != after else None
    said = (named(*identity) for identity in below)
    fields = (*_effects(before, after), *(FieldEffect(name, "", None, None, REPLACE) for name in said))
    if not fields:
        return None
    heaviest = max((f.does for f in fields), key=WEIGHT.__getitem__)
    what = {REPLACE: REPLACED, RECREATE: RECREATED}.get(heaviest, UPDATED)
    return ThingChange(after.kind, after.key, after.pool, what, fields)


def _effects(before: Thing, after: Thing) -> Iterator[FieldEffect]:
    kind = type(after.plan).__name__
    in_slice = any(isinstance(t.plan, NodePoolPlan) and t.plan.slice_topology is not None for t in (before, after))
    for change in differences(before.plan, after.plan):
        row = force(kind, change, in_slice=in_slice)
        if not _said_elsewhere(after, change, row.does):
            yield FieldEffect(change.path, row.input, change.before, change.after, row.does)


def _said_elsewhere(thing: Thing, change: FieldChange, does: str) -> bool:
    """Whether a field of the cluster's plan is another thing's, and does not replace the cluster as well."""
    apart = change.path.startswith(("network.", "node_service_account"))
    return thing.kind == CLUSTER and apart and does != REPLACE
