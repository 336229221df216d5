"""The changes of `berth diff` as sections of the report."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from berth.cli.diff import plain_text
from berth.cli.diff.rows import cohort_rows, flavor_rows, quota_tree_rows, team_quota_rows
from berth.diff.compare import Changes
from berth.diff.entitlements import QuotaChanges
from berth.diff.guard import text as guard_text
from berth.diff.headline import headline
from berth.report.view import ChangeSummary, Section
from berth.text import pluralize


def report_changes(changes: Changes, since: str, extra_parts: Iterable[Section] = ()) -> ChangeSummary:
    """Return the changes since a revision, in the order of `berth diff`, with `extra_parts`; without empty parts."""
    parts = [*_parts(changes), *extra_parts]
    return ChangeSummary(since, headline(changes), [part for part in parts if not part.is_empty])


def _parts(changes: Changes) -> Iterator[Section]:
    entitlement_changes = changes.entitlements
    yield Section("Rights", lines=list(plain_text.right_lines(changes)))
    yield Section("Blocked: the stack file does not allow these changes", lines=list(plain_text.guarded_lines(changes)))
    yield Section("Teams added, removed, held or drained", lines=list(plain_text.team_lines(entitlement_changes)))
    yield from _quota_parts(entitlement_changes)
    head = ("worker", "flavor", "capacity", "guaranteed", "of")
    yield Section("Workers", head, list(plain_text.worker_rows(changes)), (2, 3))
    head = ("queue", "worker", "flavor", "guaranteed", "of")
    yield Section("Shares of workers", head, list(plain_text.share_rows(changes)), (3,))
    yield Section("Who can preempt whom", lines=list(plain_text.preemption_lines(entitlement_changes)))
    yield Section("Workloads", lines=list(plain_text.workload_lines(changes)))
    yield Section("Files that pods read", lines=list(plain_text.file_lines(changes)))
    yield Section("Machines", lines=list(plain_text.capacity_lines(changes)))
    yield from (Section(heading, lines=list(lines)) for heading, lines in plain_text.resource_parts(changes))
    yield Section("Allowed", lines=list(plain_text.allowed_lines(changes)))
    yield Section("New warnings", lines=list(changes.warnings))
    yield Section("Unused allowances", lines=[guard_text.describe_idle_allowance(each) for each in changes.idle])
    count = pluralize(len(changes.objects), "Kubernetes object")
    yield Section(f"{count} created, changed or deleted", lines=list(plain_text.object_lines(changes)), folded=True)


def _quota_parts(changes: QuotaChanges) -> Iterator[Section]:
    head = ("team", "flavor", "guaranteed", "ceiling", "of")
    yield Section("Quota of teams", head, team_quota_rows(changes), (2, 3))
    yield Section("Totals of cohorts", ("cohort", "flavor", "guaranteed", "of"), cohort_rows(changes), (2,))
    yield Section("Quota tree", ("node", "min", "max", "lent", "of"), quota_tree_rows(changes), (1, 2, 3))
    head = ("flavor", "capacity", "guaranteed", "oversubscription", "of")
    yield Section("Flavors", head, flavor_rows(changes), (1, 2, 3))
