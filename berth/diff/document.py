"""The changes of a stack as a document: for `berth diff`, a comment on a pull request and the report."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from typing import Final

from berth.diff import text as diff_text
from berth.diff.changes import Changes
from berth.diff.entitlements import CountChange, QuotaChanges
from berth.diff.guard import text as guard_text
from berth.diff.headline import headline
from berth.diff.kinds import ChangeKind, ResourceChange
from berth.diff.workers import WorkerChange
from berth.document import Block, Change, Heading, Line, Lines, Table
from berth.planner.queueing.preemption import describe_rules
from berth.resource import ResourceKind
from berth.text import abbreviate_names
from berth.upgrade.document import changed_versions
from berth.upgrade.restarts import describe_restarts


def changes_document(changes: Changes) -> Iterator[Block]:
    """Yield the headline, rights, blocked changes, quotas, machines, warnings, objects, the paths as written."""
    yield Heading(headline(changes))
    for title, rights in groupby(changes.rights, key=lambda right: right.title):
        yield Lines(title, list(map(diff_text.describe_right, rights)), whole=True)
    yield Lines("Blocked: the stack file does not allow these changes", list(guarded_lines(changes)), whole=True)
    yield Lines("Beside the fleet", list(map(diff_text.describe_setting, changes.settings)), whole=True)
    yield Lines("Teams", list(_team_lines(changes.entitlements)))
    yield from _quota_tables(changes.entitlements)
    yield Lines("Guarantees in time", [each.text for each in changes.entitlements.calendar], whole=True)
    yield Lines("Capacity buffers", [each.text for each in changes.entitlements.buffers], whole=True)
    yield Lines("Who can preempt whom", list(_preemption_lines(changes.entitlements)))
    yield from _worker_tables(changes)
    yield Lines("Stacks that use this cluster", list(map(diff_text.describe_referrer, changes.referrers)), whole=True)
    yield Lines("Stacks on this platform", [(each.sentence, *each.losses) for each in changes.dependents], whole=True)
    workloads = [(diff_text.describe_workload(each), *diff_text.workload_details(each)) for each in changes.workloads]
    yield Lines("Workloads", workloads)
    yield Lines("Files", list(map(diff_text.describe_files, changes.files)))
    yield Lines("Capacity", list(_capacity_lines(changes)))
    for title in dict.fromkeys(_TITLES.values()):
        yield Lines(title, [_resource_line(each) for each in changes.things if _TITLES.get(each.kind) == title])
    yield Lines("Restarts, in this order", list(describe_restarts(changes.restarts)), whole=True)
    yield Lines("Allowed", list(allowed_lines(changes)))
    yield Lines("New warnings", changes.warnings, whole=True)
    yield Lines("Allowances", list(map(guard_text.describe_idle_allowance, changes.idle)))
    if changes.upgrade is not None:
        yield from changed_versions(changes.upgrade)
    objects = [
        (diff_text.describe_object(each), *map(diff_text.describe_field, each.fields)) for each in changes.objects
    ]
    yield Lines(f"Kubernetes objects ({len(objects)})", objects, folded=True)
    written = list(map(diff_text.describe_setting, changes.written))
    yield Lines(f"Stack file and team files ({len(written)})", written, folded=True)


def guarded_lines(changes: Changes) -> Iterator[Line]:
    """Yield each blocked change, and how to allow it."""
    for each in changes.blocked:
        yield guard_text.describe_guarded_change(each), guard_text.describe_remedy(each)


def allowed_lines(changes: Changes) -> Iterator[str]:
    """Yield each loss that the stack file allows, with its reason."""
    for each in changes.losses:
        if each.allowed is not None:
            yield f"{guard_text.describe_guarded_change(each)}: {each.allowed}"


# --- quota ------------------------------------------------------------------------------------------------------------


def _team_lines(changes: QuotaChanges) -> Iterator[str]:
    """Yield a line for each team added, held, drained, resumed or removed, and one if jobs start or stop to queue."""
    if changes.queueing:
        yield diff_text.describe_queueing(changes.queueing)
    for change in changes.teams:
        yield f"{change.team} is {change.what}{_former_name('team', change.what, change.renamed)}"
    yield from map(diff_text.describe_stop, changes.stops)
    yield from map(diff_text.describe_likely_rename, changes.likely_renames)


def _former_name(kind: str, change: ChangeKind, former: str | None) -> str:
    """Return the former name of a team, pool or worker; for one added under a new key, how to keep the old one."""
    if former is None:
        return ""
    if change not in (ChangeKind.ADDED, ChangeKind.REMOVED, ChangeKind.DELETED, ChangeKind.UNMANAGED):
        return f" (formerly {former})"
    if change == ChangeKind.ADDED:
        return f" (same as removed {kind} {former}; to keep that one, write formerly: {former})"
    return f" (same as added {kind} {former})"


def _quota_tables(changes: QuotaChanges) -> Iterator[Table]:
    """Yield the entitlements of teams, the totals of cohorts, the nodes of a quota tree, and the flavors."""
    rows = [[e.team, e.flavor, *_counts(e.guaranteed, e.ceiling), e.noun] for e in changes.entitlements]
    yield Table("Entitlements", ("team", "flavor", "guaranteed", "ceiling", ""), rows, numbers=(2, 3))
    rows = [[c.cohort, c.flavor, *_counts(c.guaranteed), c.noun] for c in changes.cohorts]
    yield Table("Cohorts", ("cohort", "flavor", "guaranteed", ""), rows, numbers=(2,))
    rows = [[n.node, *_counts(n.minimum, n.maximum, n.lent), n.resource] for n in changes.quota_tree]
    yield Table("Quota tree", ("node", "min", "max", "lent", ""), rows, numbers=(1, 2, 3))
    rows = [
        [f.flavor, *_counts(f.capacity, f.promised), Change(*(f"{each:g}" for each in f.oversubscription)), f.noun]
        for f in changes.flavors
    ]
    head = ("flavor", "capacity", "guaranteed", "oversubscription", "")
    yield Table("Flavors", head, rows, numbers=(1, 2, 3))
    rows = [[f.flavor, *_counts(f.spare), f.noun] for f in changes.flavors if f.spare.delta]
    yield Table("Spare machines", ("flavor", "spare", ""), rows, numbers=(1,))


def _counts(*changes: CountChange) -> list[Change]:
    return [Change(str(each.before), str(each.after)) for each in changes]


def _worker_end(change: WorkerChange) -> str:
    if change.renamed is not None:
        return _former_name("worker", change.what, change.renamed)
    ends = {ChangeKind.CHANGED: "", ChangeKind.UNMANAGED: f" ({diff_text.UNMANAGED_TEXT})"}
    return ends.get(change.what, f" ({change.what})")


def _worker_tables(changes: Changes) -> Iterator[Table]:
    """Yield the changed flavors of workers, and the changed shares of queues' guarantees on them."""
    rows = [
        [each.worker + _worker_end(each), f.flavor, *_counts(f.capacity, f.guaranteed), f.noun]
        for each in changes.workers
        for f in each.flavors
    ]
    yield Table("Workers", ("worker", "flavor", "capacity", "guaranteed", ""), rows, numbers=(2, 3))
    shares = [(share, each.worker) for each in changes.workers for share in each.shares]
    rows = [
        [share.queue, worker, share.flavor, *_counts(share.guaranteed), share.noun]
        for share, worker in sorted(shares, key=lambda row: (row[0].queue, row[0].flavor, row[1]))
    ]
    yield Table("Shares", ("queue", "worker", "flavor", "guaranteed", ""), rows, numbers=(3,))


def _preemption_lines(changes: QuotaChanges) -> Iterator[str]:
    """Yield new preemption rules with a +, removed ones with a -, then changes of priorities.

    Queues with the same rule share a line.
    """
    for sign, preemptions in (("+", changes.new_relations), ("-", changes.lifted_relations)):
        yield from (f"{sign} {line}" for line in describe_rules(preemptions))
    yield from map(diff_text.describe_reclaim, changes.reclaim)
    if changes.priority_order:
        yield diff_text.describe_priority_order(changes.priority_order)
    yield from map(diff_text.describe_priority, changes.priorities)


# --- resources --------------------------------------------------------------------------------------------------------

_TITLES: Final = {
    **dict.fromkeys(
        (
            ResourceKind.CLUSTER,
            ResourceKind.CONNECTION,
            ResourceKind.NETWORK,
            ResourceKind.WEBHOOK_FIREWALL,
            ResourceKind.SERVICE,
            ResourceKind.CONTROLLER,
            ResourceKind.FLEET,
            ResourceKind.MEMBERSHIP,
        ),
        "Cluster settings",
    ),
    **dict.fromkeys(
        (ResourceKind.ACCESS, ResourceKind.CHECKPOINTING, ResourceKind.TEAM_IDENTITY, ResourceKind.NODE_IDENTITY),
        "Access",
    ),
    **dict.fromkeys((ResourceKind.ALERT, ResourceKind.ALERT_CONFIGURATION, ResourceKind.DASHBOARD), "Monitoring"),
}
"""The title of each kind other than machines and reservations."""


def _capacity_lines(changes: Changes) -> Iterator[Line]:
    """Yield each changed pool with reasons and affected queues, then other changed machines and reservations."""
    for pool in changes.pools:
        below = [f"because {diff_text.describe_reason(field)}" for field in pool.because]
        below += [diff_text.describe_effect(field) for field in pool.fields if field not in pool.because]
        if pool.queues and pool.hit_nodes:
            below.append(f"affects {abbreviate_names(list(pool.queues))}")
        former = _former_name("pool", pool.what, pool.renamed)
        yield f"pool {pool.pool} {diff_text.describe_pool(pool)}{former}", *below
    yield from (_resource_line(change) for change in changes.things if change.kind not in _TITLES)


def _resource_line(change: ResourceChange) -> Line:
    """Return what happens to a resource, with the changes of its fields."""
    return (
        diff_text.describe_resource(change),
        *(
            f"because {diff_text.describe_reason(field)}"
            if field in change.because
            else diff_text.describe_effect(field)
            for field in change.fields
        ),
    )
