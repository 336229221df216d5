"""What must not be lost by accident: accelerator pools, the cluster, reservations, and queues that guarantee something.

Nothing here is stricter or laxer than a plain `pulumi up`: the engine refuses to replace what is protected after the
change, and to delete what was protected before it, and an allowance of the stack file is all that lifts `protect`. What
the engine cannot tell apart is told here: an allowance to replace allows no deletion, and the other way round.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Container, Iterable, Iterator, Sequence

from msgspec import Struct
from msgspec.structs import replace

from berth.diff.guard.protected import ON_GKE
from berth.diff.resources import CLUSTER, DELETED, IN_WORKER, REPLACED, FieldEffect, ThingChange, in_worker
from berth.diff.update_effects import REPLACE as FORCES
from berth.plan.allowances import AllowancesPlan
from berth.plan.fleet import FleetPlan, WorkerPlan
from berth.plan.kueue import ClusterQueuePlan, FlavorPlan
from berth.planner.queueing.quota_tree import accelerator_quotas

REPLACE, DELETE = "replace", "delete"
SECTION = {REPLACE: "allowReplacement", DELETE: "allowDeletion"}
UNPROTECTED = "nothing in this fleet is protected (protect: false)"
DRAINED = "the queue is drained"


class Loss(Struct, frozen=True):
    """Something dear that would be lost. `key` is how an allowance names it; `parts` are its node pools that go
    (the pool itself stays where it is not `whole`),
    `flavors` those of which a queue guarantees something, `because` the fields that force it. What a `worker` has is
    named `<worker>/<name>`; `key` is then one of the worker's own allowances, but for queues, which are the fleet's.

    `allowed` is the reason why it may be, or None: then the change is guarded. `first`: the allowance has to be there
    before this change, for the engine looks at what was protected then.
    """

    kind: str
    name: str
    key: str
    action: str
    because: tuple[FieldEffect, ...] = ()
    parts: tuple[str, ...] = ()
    whole: bool = True
    flavors: tuple[str, ...] = ()
    first: bool = False
    allowed: str | None = None
    worker: str | None = None


class IdleAllowance(Struct, frozen=True):
    """An allowance that this change has no use for: it leaves something unprotected. `section` is the stack file's."""

    section: str
    key: str
    reason: str


def losses(old: FleetPlan, new: FleetPlan, changed: Sequence[ThingChange]) -> tuple[Loss, ...]:
    """Everything dear that is lost between two plans, allowed or not; `changed` is what `compare_things` says."""
    here = [change for change in changed if IN_WORKER not in change.key]
    found = list(_of_things(here, new, (old.allowances, new.allowances)))
    lost = [*found, *_of_queues(old, new), *_inside_the_cluster(old, found)]
    for worker in old.workers:
        lost += [_on(worker.name, loss) for loss in _of_worker(worker, new, changed)]
    return tuple(lost)


def _of_worker(worker: WorkerPlan, new: FleetPlan, changed: Sequence[ThingChange]) -> Iterator[Loss]:
    """The same of a worker, by its own names. A queue that the whole fleet loses is told of the manager."""
    old, there = worker.plan, next((each for each in new.workers if each.name == worker.name), None)
    after = there and there.plan
    own = [each for each in map(in_worker, changed) if each is not None and each[0] == worker.name]
    allowances = old.allowances, after.allowances if after else AllowancesPlan()
    found = list(_of_things([change for _, change in own], after, allowances))
    yield from found
    if there is not None and there.way != worker.way:
        reason = allowed(REPLACE, CLUSTER, old.allowances)
        yield from (replace(loss, allowed=reason) for loss in _with_the_cluster(old))
    elif after is not None:
        kept = {queue.name for queue in new.cluster_queues}
        yield from (loss for loss in _of_queues(old, after) if loss.name in kept)
        yield from _inside_the_cluster(old, found)
    elif not worker.made_here:  # of one that is made here the queues go with the cluster
        reason = allowed(DELETE, CLUSTER, old.allowances)
        for loss in _of_queues(old, None):
            yield replace(loss, key=CLUSTER, allowed=reason or loss.allowed)


def _on(worker: str, loss: Loss) -> Loss:
    return replace(loss, name=f"{worker}{IN_WORKER}{loss.name}", worker=worker)


def plan_of(plan: FleetPlan, worker: str) -> FleetPlan | None:
    """The plan of a worker; None where there is none of that name."""
    return next((each.plan for each in plan.workers if each.name == worker), None)


def idle(old: FleetPlan, new: FleetPlan, lost: Iterable[Loss]) -> tuple[IdleAllowance, ...]:
    """Allowances of the new file that are not, or no longer, needed; after those of the fleet those of its workers.

    One to delete is written one change before the deletion, so it is idle only from its second change on.
    """
    used = {(loss.worker if not _of_fleet(loss.key) else None, loss.action, loss.key) for loss in lost}
    found = list(
        unused("", old.allowances, new.allowances, {(action, key) for worker, action, key in used if not worker})
    )
    for worker in new.workers:
        before = plan_of(old, worker.name)
        mine = {(action, key) for name, action, key in used if name == worker.name}
        own = unused(f"workers.{worker.name}.", before and before.allowances, worker.plan.allowances, mine)
        found += [each for each in own if not _of_fleet(each.key)]
    return tuple(found)


def _of_fleet(key: str) -> bool:
    """Whether an allowance is the fleet's also for what stands in a worker: those of queues are."""
    return key.startswith("clusterQueues.")


def unused(
    where: str, old: AllowancesPlan | None, new: AllowancesPlan, used: Container[tuple[str, str]]
) -> Iterator[IdleAllowance]:
    """Those that are not in `used` (action and key); `where` is what their section begins with."""
    for key in sorted(new.replacement):
        if (REPLACE, key) not in used:
            yield IdleAllowance(where + SECTION[REPLACE], key, new.replacement[key])
    for key in sorted(new.deletion):
        if (DELETE, key) not in used and old is not None and key in old.deletion:
            yield IdleAllowance(where + SECTION[DELETE], key, new.deletion[key])


def allowed(action: str, key: str, allowances: AllowancesPlan) -> str | None:
    """The reason why something may be lost; None where it may not.

    A replacement is allowed by the new stack file; a deletion by the one that was deployed before, and so is the
    replacement of what is made of something else that is replaced.
    """
    if not allowances.protect:
        return UNPROTECTED
    return (allowances.replacement if action == REPLACE else allowances.deletion).get(key)


def _of_things(
    changed: Iterable[ThingChange], new: FleetPlan | None, allowances: tuple[AllowancesPlan, AllowancesPlan]
) -> Iterator[Loss]:
    """Things of one cluster; `allowances` are those of the old and of the new stack file."""
    kept = {pool.name for pool in new.own_pools} if new else set[str]()
    return losses_of_things(changed, _key_of, kept, allowances)


def losses_of_things(
    changed: Iterable[ThingChange],
    key_of: Callable[[ThingChange], str | None],
    kept: Collection[str],
    allowances: tuple[AllowancesPlan, AllowancesPlan],
) -> Iterator[Loss]:
    """Things that are replaced or deleted, of those that have a key for an allowance.

    `kept` are the pools after the change, `allowances` those of the old and of the new stack file.
    """
    found: dict[tuple[str, str], list[ThingChange]] = {}
    for change in changed:
        key = key_of(change)
        if key is not None and change.what in (REPLACED, DELETED):
            found.setdefault((key, REPLACE if change.what == REPLACED else DELETE), []).append(change)
    for (key, action), parts in found.items():
        because = tuple({field.path: field for part in parts for field in part.because}.values())
        first = action == DELETE or not all(field.input for field in because)
        yield Loss(
            kind="pool" if parts[0].pool else parts[0].kind,
            name=parts[0].pool or parts[0].key,
            key=key,
            action=action,
            because=because,
            first=first,
            parts=tuple(part.key for part in parts if part.pool),
            whole=action == REPLACE or parts[0].pool not in kept,
            allowed=allowed(action, key, allowances[0 if first else 1]),
        )


def _key_of(change: ThingChange) -> str | None:
    dear = ON_GKE.get(change.kind)
    return dear and dear.allowed_as(change.key, change.pool)


def _of_queues(old: FleetPlan, new: FleetPlan | None) -> Iterator[Loss]:
    """Queues that held a guarantee and are gone."""
    for queue, held in guarantees_gone(old.flavors, old.cluster_queues, new.cluster_queues if new else ()):
        key = f"clusterQueues.{queue.name}"
        reason = allowed(DELETE, key, old.allowances) or (DRAINED if _drained(queue) else None)
        yield Loss("queue", queue.name, key, DELETE, flavors=held, first=True, allowed=reason)


def guarantees_gone(
    flavors: Iterable[FlavorPlan], old: Iterable[ClusterQueuePlan], new: Iterable[ClusterQueuePlan]
) -> Iterator[tuple[ClusterQueuePlan, tuple[str, ...]]]:
    """Queues that held a guarantee and are gone, each with the flavors of which it held something."""
    kept = {queue.name for queue in new}
    resources = {f.name: f.resource for f in flavors}
    for queue in old:
        held = tuple(flavor for flavor, quota in accelerator_quotas(queue, resources) if quota.nominal)
        if queue.name not in kept and held:
            yield queue, held


def _inside_the_cluster(old: FleetPlan, found: Iterable[Loss]) -> Iterator[Loss]:
    """Queues that go with a cluster that may go now, and might not before: they are still protected then."""
    cluster = next((loss for loss in found if loss.kind == CLUSTER), None)
    if cluster is None or cluster.allowed is None or allowed(REPLACE, CLUSTER, old.allowances):
        return
    yield from _with_the_cluster(old)


def _with_the_cluster(old: FleetPlan) -> Iterator[Loss]:
    """Queues that are replaced with the cluster that they are in."""
    below = FieldEffect(CLUSTER, "", None, None, FORCES)
    for queue in old.cluster_queues:
        if queue.protect:
            held = tuple(entry.flavor for entry in queue.flavors)
            yield Loss("queue", queue.name, CLUSTER, REPLACE, (below,), flavors=held, first=True)


def _drained(queue: ClusterQueuePlan) -> bool:
    return queue.stop_policy == "HoldAndDrain"
