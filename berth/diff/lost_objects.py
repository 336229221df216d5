"""Kubernetes objects that a change deletes or replaces, and whose loss kills jobs, loses data or ends a safeguard.

The table is that of the guard (`guard/protected_objects`), which judges previews; here two plans are judged.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from berth.diff.guard.allowances import UNPROTECTED, GuardedAction
from berth.diff.guard.changes import QUEUE_DRAINED, GuardedChange
from berth.diff.guard.protected_objects import ProtectedObjectKind, protected_object_kinds
from berth.diff.kinds import ChangeKind
from berth.diff.objects import ObjectChange
from berth.plan.fleet import AllowancesPlan
from berth.plan.teams import QueueingPlan
from berth.resource import IN_WORKER, ResourceKind

_DRAINED = "HoldAndDrain"
_ACTIONS = {ChangeKind.DELETED: GuardedAction.DELETE, ChangeKind.REPLACED: GuardedAction.REPLACE}


def lost_objects_of(
    old: QueueingPlan,
    objects: Sequence[ObjectChange],
    allowances: Mapping[str | None, AllowancesPlan],
    guarded: Iterable[GuardedChange],
) -> Iterator[GuardedChange]:
    """Yield the losses among the `objects` of a change; `guarded` are losses that are known already.

    `allowances` are those of the new stack file by worker, None for the fleet's own cluster. Objects of a cluster that
    is not among them, or that moves, are lost with it.
    """
    lost = [each for each in objects if each.worker in allowances and not each.is_moved and _row(each) is not None]
    whole = {(each.worker, each.kind, each.name) for each in lost}
    known = {(each.worker, each.key) for each in guarded}
    made = {(each.worker, each.name) for each in objects if (each.kind, each.what) == ("Namespace", ChangeKind.CREATED)}
    homes = {place.name: team.home(place.name) for team in old.teams for place in team.namespaces}
    queues = {(local.namespace, local.name): queue for queue in old.cluster_queues for local in queue.local_queues}
    for each in lost:
        row = _row(each)
        assert row is not None
        queue = queues.get((each.namespace, each.name))
        in_lost = (each.worker, "Namespace", each.namespace) in whole and row.inside
        in_queue = each.kind == "LocalQueue" and queue and (each.worker, "ClusterQueue", queue.name) in whole
        of_policy = (
            each.kind.endswith("PolicyBinding") and (each.worker, "ValidatingAdmissionPolicy", each.name) in whole
        )
        key = row.key.format(name=each.name, namespace=each.namespace)
        is_queue = key.startswith("clusterQueues.")  # whose allowances are the fleet's, also in workers
        if in_lost or in_queue or of_policy or (each.worker, key) in known or (is_queue and (None, key) in known):
            continue
        own = allowances[None if is_queue else each.worker]
        allowed = own.deletion.get(key) if own.protect else UNPROTECTED
        if allowed is None and each.what == ChangeKind.DELETED and _is_drained(each, old):
            allowed = QUEUE_DRAINED
        is_kept = each.kind == "Namespace" and (each.worker, each.name) in made
        title = f"{each.kind} {each.namespace}/{each.name}" if each.namespace else f"{each.kind} {each.name}"
        name = f"{each.worker}{IN_WORKER}{title}" if each.worker else title
        yield GuardedChange(
            ResourceKind.OBJECT,
            name,
            key,
            _ACTIONS[each.what],
            parts=(row.loses,),
            allowed=allowed,
            worker=each.worker,
            kept_by=f"{{name: {each.name}, formerly: {homes.get(each.name)}}}" if is_kept else "",
        )


def _row(change: ObjectChange) -> ProtectedObjectKind | None:
    """Return the row of an object that is lost; None for one that stays, or whose loss does no harm."""
    row = protected_object_kinds().get(change.kind)
    is_lost = change.what == ChangeKind.DELETED or (change.what == ChangeKind.REPLACED and row and row.replaced)
    return row if is_lost else None


def _is_drained(change: ObjectChange, old: QueueingPlan) -> bool:
    """Return whether no job of a queue, or of a namespace and its queues, was admitted any more before this change."""
    stops = [
        queue.stop_policy == _DRAINED or local.stop_policy == _DRAINED
        for queue in old.cluster_queues
        for local in queue.local_queues
        if (change.kind == "Namespace" and local.namespace == change.name)
        or (change.kind == "LocalQueue" and (local.namespace, local.name) == (change.namespace, change.name))
        or (change.kind == "ClusterQueue" and queue.name == change.name)
    ]
    return bool(stops) and all(stops)
