"""Guarded changes: losses of accelerator pools, clusters, reservations, and queues with a guarantee.

The rules agree with `pulumi up`: Pulumi refuses to replace a resource that is protected after the change, and to delete
one that was protected before it. Only an allowance in the stack file lifts `protect`. One rule is added, because Pulumi
cannot distinguish the two: an allowance to replace does not allow a deletion, nor the reverse.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from berth.diff.guard.allowances import (
    CLUSTER_KEY,
    PROTECTED_ON_GKE,
    UNPROTECTED,
    GuardedAction,
    IdleAllowance,
    ProtectedKind,
    allowance_reason,
    unused_allowances,
)
from berth.diff.kinds import ChangeKind, FieldEffect, ResourceChange, in_worker
from berth.diff.provider_inputs.effects import UpdateEffect
from berth.plan.fleet import AllowancesPlan, FleetPlan, WorkerPlan
from berth.plan.kueue import ClusterQueuePlan
from berth.plan.teams import QueueingPlan
from berth.planner.queueing.quota_tree import accelerator_quotas
from berth.resource import IN_WORKER, ResourceKind

QUEUE_DRAINED = "the queue is drained"
_QUEUES = "clusterQueues."
"""The beginning of the keys of queues in allowances."""


class GuardedChange(Struct, frozen=True):
    """A loss of a protected resource.

    `key` is its name in an allowance. `parts` are the names of lost node pools (a pool that is not `whole` remains),
    `flavors` those that a queue guarantees, `because` the fields that force the loss. A resource of a `worker` is named
    `<worker>/<name>`; its `key` is in the worker's own allowances, except for queues, which are in the fleet's.
    `allowed` is the reason from the stack file, or None: the change is then blocked. With `first`, the allowance must
    be deployed before this change, because Pulumi checks the protection of the last deployment. `kept_by` is what keeps
    a namespace that the stack file still has.
    """

    kind: ResourceKind
    name: str
    key: str
    action: GuardedAction
    because: tuple[FieldEffect, ...] = ()
    parts: tuple[str, ...] = ()
    whole: bool = True
    flavors: tuple[str, ...] = ()
    first: bool = False
    allowed: str | None = None
    worker: str | None = None
    kept_by: str = ""


def guarded_changes(old: FleetPlan, new: FleetPlan, changed: Sequence[ResourceChange]) -> Iterator[GuardedChange]:
    """Yield every loss of a protected resource between two plans, allowed or not.

    `changed` is the result of `compare_resources`.
    """
    own_changes = [change for change in changed if IN_WORKER not in change.key]
    losses = list(_lost_resources(own_changes, old, new))
    yield from (*losses, *removed_queues(old, new), *_queues_of_cluster(old, losses))
    if any(change.kind == ResourceKind.CONNECTION and change.what == ChangeKind.REPLACED for change in own_changes):
        # The queues of an existing cluster that another one replaces; each needs its own allowance.
        kept = {queue.name for queue in new.cluster_queues}
        for guarded in _replaced_queues(old):
            if guarded.name in kept:
                key = f"clusterQueues.{guarded.name}"
                yield replace(guarded, key=key, allowed=allowance_reason(GuardedAction.REPLACE, key, old.allowances))
    for worker in old.workers:
        for guarded in (*_in_one_worker(worker, new, changed), *_redirected(worker.name, old, new)):
            yield replace(guarded, name=f"{worker.name}{IN_WORKER}{guarded.name}", worker=worker.name)


def _in_one_worker(worker: WorkerPlan, new: FleetPlan, changed: Sequence[ResourceChange]) -> Iterator[GuardedChange]:
    """Yield the losses in one worker, with its own names. A queue that the whole fleet loses is the manager's loss."""
    old, new_worker = worker.plan, next((each for each in new.workers if each.name == worker.name), None)
    after = new_worker and new_worker.plan
    worker_changes = [each for each in map(in_worker, changed) if each is not None and each[0] == worker.name]
    losses = list(_lost_resources([change for _, change in worker_changes], old, after))
    yield from losses
    if new_worker is not None and not worker.is_cluster_of(new_worker):
        reason = allowance_reason(GuardedAction.REPLACE, CLUSTER_KEY, old.allowances)
        yield from (replace(guarded, allowed=reason) for guarded in _replaced_queues(old))
    elif after is not None:
        kept = {queue.name for queue in new.cluster_queues}
        yield from (guarded for guarded in removed_queues(old, after) if guarded.name in kept)
        yield from _queues_of_cluster(old, losses)
    elif not worker.made_here:  # queues of a worker that is created here are deleted with its cluster
        reason = allowance_reason(GuardedAction.DELETE, CLUSTER_KEY, old.allowances)
        for guarded in removed_queues(old, None):
            yield replace(guarded, key=CLUSTER_KEY, allowed=reason or guarded.allowed)


def _redirected(worker: str, old: FleetPlan, new: FleetPlan) -> Iterator[GuardedChange]:
    """Yield that a described worker is in another place, or known by another profile: it may be another cluster."""
    both = [each for plan in (old, new) for each in plan.workers if each.name == worker and not each.made_here]
    if len(both) < 2 or not both[0].is_cluster_of(both[1]):
        return
    profiles = [{each.name: each.profile for each in plan.multikueue_clusters} for plan in (old, new)]
    sides = [
        {
            "stack": each.stack,
            "kubeconfig": each.kubeconfig,
            "project": each.plan.project,
            "region": each.plan.region,
            "clusterProfile": known.get(worker),
        }
        for each, known in zip(both, profiles, strict=True)
    ]
    fields = tuple(
        FieldEffect(key, key, before, sides[1][key], UpdateEffect.UPDATE)
        for key, before in sides[0].items()
        if before != sides[1][key]
    )
    if fields:
        kind, action, allowances = ResourceKind.CONNECTION, GuardedAction.REDIRECT, both[1].plan.allowances
        allowed = UNPROTECTED if not allowances.protect else allowances.change.get(CLUSTER_KEY)
        yield GuardedChange(kind, CLUSTER_KEY, CLUSTER_KEY, action, fields, allowed=allowed)


def worker_plan(plan: FleetPlan, worker: str) -> FleetPlan | None:
    """Return the plan of a worker, or None if there is no such worker."""
    return next((each.plan for each in plan.workers if each.name == worker), None)


def idle_allowances(
    old: FleetPlan, new: FleetPlan, guarded_changes: Iterable[GuardedChange]
) -> Iterator[IdleAllowance]:
    """Yield allowances of the new file that are not needed: those of the fleet, then those of its workers.

    An allowance to delete is deployed one change before the deletion, so it is unused only from the second change on.
    Allowances for queues in workers are those of the fleet.
    """
    used: dict[str | None, set[tuple[str, str]]] = {}
    for guarded in guarded_changes:
        worker = None if guarded.key.startswith(_QUEUES) else guarded.worker
        used.setdefault(worker, set()).add((guarded.action, guarded.key))
    yield from unused_allowances("", old.allowances, new.allowances, used.get(None, set()))
    for worker in new.workers:
        before = worker_plan(old, worker.name)
        section = f"workers.{worker.name}."
        idle = unused_allowances(
            section, before and before.allowances, worker.plan.allowances, used.get(worker.name, set())
        )
        yield from (each for each in idle if not each.key.startswith(_QUEUES))


def _lost_resources(
    changed: Iterable[ResourceChange], old: FleetPlan, new: FleetPlan | None
) -> Iterator[GuardedChange]:
    """Yield the replaced or deleted resources of one cluster; `new` is None if it is deleted."""
    kept = {pool.name for pool in new.own_pools} if new else set[str]()
    allowances = old.allowances, new.allowances if new else AllowancesPlan()
    return lost_resources(changed, PROTECTED_ON_GKE, kept, allowances, names_by_key(old))


def lost_resources(
    changed: Iterable[ResourceChange],
    protected: Mapping[ResourceKind, ProtectedKind],
    kept: Collection[str],
    allowances: tuple[AllowancesPlan, AllowancesPlan],
    names: Mapping[str, str],
) -> Iterator[GuardedChange]:
    """Yield the replaced or deleted resources of `protected` kinds.

    `kept` are the pools after the change, `allowances` those of the old and of the new stack file, `names` the
    names of node pools by key, where they differ.
    """
    grouped: dict[tuple[str, GuardedAction], list[ResourceChange]] = {}
    for change in changed:
        if change.kind in protected and change.what in (ChangeKind.REPLACED, ChangeKind.DELETED):
            key = protected[change.kind].allowance_key(change.key, change.pool)
            action = GuardedAction.REPLACE if change.what == ChangeKind.REPLACED else GuardedAction.DELETE
            grouped.setdefault((key, action), []).append(change)
    for (key, action), parts in grouped.items():
        because = tuple({field.path: field for part in parts for field in part.because}.values())
        first = action == GuardedAction.DELETE or not all(field.input for field in because)
        yield GuardedChange(
            kind=ResourceKind.POOL if parts[0].pool else parts[0].kind,
            name=parts[0].pool or parts[0].key,
            key=key,
            action=action,
            because=because,
            first=first,
            parts=tuple(names.get(part.key, part.key) for part in parts if part.pool),
            whole=action == GuardedAction.REPLACE or parts[0].pool not in kept,
            allowed=allowance_reason(action, key, allowances[0 if first else 1]),
        )


def names_by_key(plan: FleetPlan) -> Mapping[str, str]:
    """Return the names in GKE of a plan's node pools, by the keys that they have in the program."""
    return {each.key: each.name for pool in plan.own_pools for each in pool.node_pools}


def removed_queues(old: FleetPlan, new: FleetPlan | None) -> Iterator[GuardedChange]:
    """Yield the removed queues that had a guarantee; `new` is None if their cluster is removed."""
    for queue, flavors in removed_guarantees(old, new):
        key, action = f"{_QUEUES}{queue.name}", GuardedAction.DELETE
        reason = allowance_reason(action, key, old.allowances)
        if reason is None and queue.stop_policy == "HoldAndDrain":
            reason = QUEUE_DRAINED
        yield GuardedChange(ResourceKind.QUEUE, queue.name, key, action, flavors=flavors, first=True, allowed=reason)


def removed_guarantees(
    old: QueueingPlan, new: QueueingPlan | None
) -> Iterator[tuple[ClusterQueuePlan, tuple[str, ...]]]:
    """Yield the removed queues that had a guarantee, with its flavors."""
    kept = {queue.name for queue in new.cluster_queues} if new else set[str]()
    resources = {flavor.name: flavor.resource for flavor in old.flavors}
    for queue in old.cluster_queues:
        flavors = tuple(flavor for flavor, quota in accelerator_quotas(queue, resources) if quota.nominal)
        if queue.name not in kept and flavors:
            yield queue, flavors


def _queues_of_cluster(old: FleetPlan, guarded_changes: Iterable[GuardedChange]) -> Iterator[GuardedChange]:
    """Yield the queues deleted with a cluster whose deletion is allowed only now, so that they are still protected."""
    cluster = next((guarded for guarded in guarded_changes if guarded.kind == ResourceKind.CLUSTER), None)
    if (
        cluster is None
        or cluster.allowed is None
        or allowance_reason(GuardedAction.REPLACE, CLUSTER_KEY, old.allowances)
    ):
        return
    yield from _replaced_queues(old)


def _replaced_queues(old: FleetPlan) -> Iterator[GuardedChange]:
    """Yield the queues that are replaced with their cluster."""
    cluster_effect = FieldEffect(CLUSTER_KEY, "", None, None, UpdateEffect.REPLACE)
    for queue in old.cluster_queues:
        if queue.protect:
            yield GuardedChange(
                ResourceKind.QUEUE,
                queue.name,
                CLUSTER_KEY,
                GuardedAction.REPLACE,
                (cluster_effect,),
                flavors=tuple(entry.flavor for entry in queue.flavors),
                first=True,
            )
