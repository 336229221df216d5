"""What must not be lost by accident: accelerator pools, the cluster, reservations, and queues that guarantee something.

Nothing here is stricter or laxer than a plain `pulumi up`: the engine refuses to replace what is protected after the
change, and to delete what was protected before it, and an allowance of the stack file is all that lifts `protect`. What
the engine cannot tell apart is told here: an allowance to replace allows no deletion, and the other way round.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from components.plan.fleet import AllowancesPlan, FleetPlan
from components.plan.kueue import ClusterQueuePlan
from stacks.changes.forces import REPLACE as FORCES
from stacks.changes.things import (
    CLUSTER,
    DELETED,
    FUTURE_RESERVATION,
    NODE_POOL,
    REPLACED,
    RESERVATION,
    FieldEffect,
    ThingChange,
)
from stacks.planner.ceilings import accelerator_quotas

REPLACE, DELETE = "replace", "delete"
SECTION = {REPLACE: "allowReplacement", DELETE: "allowDeletion"}
UNPROTECTED = "nothing in this fleet is protected (protect: false)"
DRAINED = "the queue is drained"


@dataclass(frozen=True, slots=True)
class Loss:
    """Something dear that would be lost. `key` is how an allowance names it; `parts` are its node pools that go
    (the pool itself stays where it is not `whole`),
    `flavors` those of which a queue guarantees something, `because` the fields that force it.

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


@dataclass(frozen=True, slots=True)
class IdleAllowance:
    """An allowance that this change has no use for: it leaves something unprotected. `section` is the stack file's."""

    section: str
    key: str
    reason: str


def losses(old: FleetPlan, new: FleetPlan, changed: Sequence[ThingChange]) -> tuple[Loss, ...]:
    """Everything dear that is lost between two plans, allowed or not; `changed` is what `compare_things` says."""
    found = list(_of_things(old, new, changed))
    return (*found, *_of_queues(old, new), *_inside_the_cluster(old, found))


def idle(old: AllowancesPlan, new: AllowancesPlan, lost: Iterable[Loss]) -> tuple[IdleAllowance, ...]:
    """Allowances of the new file that are not, or no longer, needed.

    One to delete is written one change before the deletion, so it is idle only from its second change on.
    """
    used = {(loss.action, loss.key) for loss in lost}
    replacements = (k for k in sorted(new.replacement) if (REPLACE, k) not in used)
    deletions = (k for k in sorted(new.deletion) if (DELETE, k) not in used and k in old.deletion)
    return (
        *(IdleAllowance(SECTION[REPLACE], key, new.replacement[key]) for key in replacements),
        *(IdleAllowance(SECTION[DELETE], key, new.deletion[key]) for key in deletions),
    )


def allowed(action: str, key: str, allowances: AllowancesPlan) -> str | None:
    """The reason why something may be lost; None where it may not.

    A replacement is allowed by the new stack file; a deletion by the one that was deployed before, and so is the
    replacement of what is made of something else that is replaced.
    """
    if not allowances.protect:
        return UNPROTECTED
    return (allowances.replacement if action == REPLACE else allowances.deletion).get(key)


def _of_things(old: FleetPlan, new: FleetPlan, changed: Sequence[ThingChange]) -> Iterator[Loss]:
    found: dict[tuple[str, str], list[ThingChange]] = {}
    for change in changed:
        key = allowance_key(change.kind, change.key, change.pool)
        if key is not None and change.what in (REPLACED, DELETED):
            found.setdefault((key, REPLACE if change.what == REPLACED else DELETE), []).append(change)
    kept = {pool.name for pool in new.pools}
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
            allowed=allowed(action, key, (old if first else new).allowances),
        )


def allowance_key(kind: str, key: str, pool: str | None) -> str | None:
    """How an allowance names a thing; None where it is none that is guarded."""
    if kind == NODE_POOL:
        return pool
    reserved = f"reservations.{key}"
    return {CLUSTER: CLUSTER, RESERVATION: reserved, FUTURE_RESERVATION: reserved}.get(kind)


def _of_queues(old: FleetPlan, new: FleetPlan) -> Iterator[Loss]:
    """Queues that held a guarantee and are gone."""
    kept = {queue.name for queue in new.cluster_queues}
    resources = {f.name: f.resource for f in old.flavors}
    for queue in old.cluster_queues:
        held = tuple(flavor for flavor, quota in accelerator_quotas(queue, resources) if quota.nominal)
        if queue.name not in kept and held:
            key = f"clusterQueues.{queue.name}"
            reason = allowed(DELETE, key, old.allowances) or (DRAINED if _drained(queue) else None)
            yield Loss("queue", queue.name, key, DELETE, flavors=held, first=True, allowed=reason)


def _inside_the_cluster(old: FleetPlan, found: Iterable[Loss]) -> Iterator[Loss]:
    """Queues that go with a cluster that may go now, and might not before: they are still protected then."""
    cluster = next((loss for loss in found if loss.kind == CLUSTER), None)
    if cluster is None or cluster.allowed is None or allowed(REPLACE, CLUSTER, old.allowances):
        return
    below = FieldEffect(CLUSTER, "", None, None, FORCES)
    for queue in old.cluster_queues:
        if queue.protect:
            held = tuple(entry.flavor for entry in queue.flavors)
            yield Loss("queue", queue.name, CLUSTER, REPLACE, (below,), flavors=held, first=True)


def _drained(queue: ClusterQueuePlan) -> bool:
    return queue.stop_policy == "HoldAndDrain"
