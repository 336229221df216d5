"""The changes of `berth diff` as sections of the report."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from berth.cli.diff import plain_text
from berth.diff import text, values
from berth.diff.compare import Changes
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
    rows = [
        [e.team, e.flavor, values.format_count(e.guaranteed), values.format_count(e.ceiling), e.noun]
        for e in entitlement_changes.entitlements
    ]
    yield Section("Quota of teams", ("team", "flavor", "guaranteed", "ceiling", "of"), rows, (2, 3))
    rows = [[c.cohort, c.flavor, values.format_count(c.guaranteed), c.noun] for c in entitlement_changes.cohorts]
    yield Section("Totals of cohorts", ("cohort", "flavor", "guaranteed", "of"), rows, (2,))
    rows = [
        [
            n.node,
            values.format_count(n.minimum),
            values.format_count(n.maximum),
            values.format_count(n.lent),
            n.resource,
        ]
        for n in entitlement_changes.quota_tree
    ]
    yield Section("Quota tree", ("node", "min", "max", "lent", "of"), rows, (1, 2, 3))
    head = ("flavor", "capacity", "promised", "oversubscription", "of")
    rows = [
        [
            f.flavor,
            values.format_count(f.capacity),
            values.format_count(f.promised),
            plain_text.format_factors(f.oversubscription),
            f.noun,
        ]
        for f in entitlement_changes.flavors
    ]
    yield Section("Flavors", head, rows, (1, 2, 3))
    head = ("worker", "flavor", "capacity", "guaranteed", "of")
    yield Section("Workers", head, list(plain_text.worker_rows(changes)), (2, 3))
    head = ("queue", "worker", "flavor", "guaranteed", "of")
    yield Section("Shares of workers", head, list(plain_text.share_rows(changes)), (3,))
    yield Section("Who can preempt whom", lines=list(plain_text.preemption_lines(entitlement_changes)))
    yield Section("Workloads", lines=list(plain_text.workload_lines(changes)))
    yield Section("Files that pods read", lines=list(plain_text.file_lines(changes)))
    yield Section("Machines and other cloud resources", lines=list(plain_text.capacity_lines(changes)))
    yield Section("Allowed", lines=list(plain_text.allowed_lines(changes)))
    yield Section("New warnings", lines=list(changes.warnings))
    yield Section("Unused allowances", lines=[text.describe_idle_allowance(each) for each in changes.idle])
    count = pluralize(len(changes.objects), "Kubernetes object")
    yield Section(f"{count} created, changed or deleted", lines=list(plain_text.object_lines(changes)), folded=True)
