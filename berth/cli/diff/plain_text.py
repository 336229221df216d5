"""`berth diff`: what a change of a stack file means, for a terminal or as JSON."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, cast

from msgspec import Struct
from msgspec.structs import asdict

from berth.cli.tables import table
from berth.diagnostics import join_words
from berth.diff import team_stack_text, values
from berth.diff import text as diff_text
from berth.diff.compare import Changes
from berth.diff.entitlements import QuotaChanges
from berth.diff.headline import headline
from berth.diff.kinds import ChangeKind
from berth.diff.resources import ResourceChange
from berth.planner.queueing.preemption import PreemptionRule
from berth.text import abbreviate_names

VERSION = 1
"""Of the JSON; raised when a key changes its meaning or goes."""

# --- for machines -----------------------------------------------------------------------------------------------------


def as_json(changes: Changes, old: str, new: str) -> dict[str, Any]:
    """The changes as docs/diff.md says; `old` and `new` are what was compared."""
    fields = cast("dict[str, Any]", to_json_value(changes))
    compared = {"version": VERSION, "old": old, "new": new, "headline": headline(changes)}
    return {**compared, **fields, "guarded": to_json_value(changes.blocked)}


def to_json_value(value: object) -> object:
    """Plans as mappings with camelCase keys; a range as `{min, max}`, a step as `{before, after}`."""
    if isinstance(value, Struct):
        return {values.camel_case(name): to_json_value(inner) for name, inner in asdict(value).items()}
    if isinstance(value, Mapping):
        return {key: to_json_value(inner) for key, inner in cast("Mapping[str, object]", value).items()}
    if isinstance(value, (list, tuple)):
        return [to_json_value(inner) for inner in cast("list[object]", value)]
    return value


# --- for people -------------------------------------------------------------------------------------------------------


def text(changes: Changes) -> str:
    """The changes as paragraphs: the answer, rights, what is guarded, entitlements, capacity, objects."""
    entitlement_changes = changes.entitlements
    parts = [
        headline(changes),
        _block("Rights", right_lines(changes)),
        _block("Guarded: this is not done unless it is allowed", guarded_lines(changes)),
        *entitlement_parts(entitlement_changes),
        table(["Workers", "flavor", "capacity", "guaranteed", ""], list(worker_rows(changes)), right=(2, 3)),
        table(["Shares", "worker", "flavor", "guaranteed", ""], list(share_rows(changes)), right=(3,)),
        _block("Workloads", workload_lines(changes)),
        _block("Files", file_lines(changes)),
        _block("Capacity", capacity_lines(changes)),
        _block("Allowed", allowed_lines(changes)),
        _block("New warnings", iter(changes.warnings)),
        _block("Allowances", (diff_text.describe_idle_allowance(each) for each in changes.idle)),
        _block(f"Kubernetes objects ({len(changes.objects)})", object_lines(changes)),
    ]
    return "\n\n".join(part for part in parts if part)


def _block(head: str, lines: Iterator[str]) -> str:
    body = [f"  {line}" for line in lines]
    return "\n".join([head, *body]) if body else ""


def entitlement_parts(entitlement_changes: QuotaChanges) -> Iterator[str]:
    """Paragraphs on teams, cohorts, flavors and relations; empty ones among them."""
    yield _block("Teams", team_lines(entitlement_changes))
    rows = [
        [e.team, e.flavor, values.format_count(e.guaranteed), values.format_count(e.ceiling), e.noun]
        for e in entitlement_changes.entitlements
    ]
    yield table(["Entitlements", "flavor", "guaranteed", "ceiling", ""], rows, right=(2, 3))
    rows = [[c.cohort, c.flavor, values.format_count(c.guaranteed), c.noun] for c in entitlement_changes.cohorts]
    yield table(["Cohorts", "flavor", "guaranteed", ""], rows, right=(2,))
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
    yield table(["Quota tree", "min", "max", "lent", ""], rows, right=(1, 2, 3))
    rows = [
        [
            f.flavor,
            values.format_count(f.capacity),
            values.format_count(f.promised),
            format_factors(f.oversubscription),
            f.noun,
        ]
        for f in entitlement_changes.flavors
    ]
    yield table(["Flavors", "capacity", "promised", "oversubscription", ""], rows, right=(1, 2, 3))
    yield _block("Who can push out whom", preemption_lines(entitlement_changes))


def worker_rows(changes: Changes) -> Iterator[list[str]]:
    """What each worker holds, and its share of what is guaranteed; where a worker comes or goes that is said too."""
    for each in changes.workers:
        name = each.worker if each.what == ChangeKind.CHANGED else f"{each.worker} ({each.what})"
        yield from (
            [name, f.flavor, values.format_count(f.capacity), values.format_count(f.guaranteed), f.noun]
            for f in each.flavors
        )


def share_rows(changes: Changes) -> Iterator[list[str]]:
    """The shares of each queue whose guarantee is divided otherwise."""
    queue_shares = [(share, each.worker) for each in changes.workers for share in each.shares]
    for share, worker in sorted(queue_shares, key=lambda row: (row[0].queue, row[0].flavor, row[1])):
        yield [share.queue, worker, share.flavor, values.format_count(share.guaranteed), share.noun]


def format_factors(factors: tuple[float, float]) -> str:
    """The accepted factor before and after."""
    before, after = (f"{factor:g}" for factor in factors)
    return after if before == after else f"{before} → {after}"


def team_lines(entitlement_changes: QuotaChanges) -> Iterator[str]:
    """Teams added, held, drained, resumed and removed, a line each."""
    for change in entitlement_changes.teams:
        yield f"{change.team} is {change.what}{_former_name('team', change.what, change.renamed)}"
    yield from map(diff_text.describe_stop, entitlement_changes.stops)


def _former_name(kind: str, change: ChangeKind, former: str | None) -> str:
    """What it was called before; of what comes, how it could have stayed."""
    if former is None:
        return ""
    if change not in (ChangeKind.ADDED, ChangeKind.REMOVED, ChangeKind.DELETED):
        return f" (called {former} before)"
    keep = f"; formerly: {former} would keep it" if change == ChangeKind.ADDED else ""
    return f" (the same {kind} as {former}, under another key{keep})"


def preemption_lines(entitlement_changes: QuotaChanges) -> Iterator[str]:
    """New relations with a +, lifted ones with a -; queues that have the same one share a line. Then priorities."""
    for sign, preemptions in (("+", entitlement_changes.new_relations), ("-", entitlement_changes.lifted_relations)):
        groups: dict[tuple[str, tuple[str, ...]], list[PreemptionRule]] = {}
        for preemption in preemptions:
            groups.setdefault((preemption.whom, preemption.flavors), []).append(preemption)
        for (whom, flavors), group in groups.items():
            flavors_text = f", on {join_words(list(flavors))}" if flavors else ""
            yield f"{sign} {abbreviate_names([preemption.queue for preemption in group])} ▸ {whom}{flavors_text}"
    yield from map(diff_text.describe_reclaim, entitlement_changes.reclaim)
    if entitlement_changes.priority_order:
        yield diff_text.describe_priority_order(entitlement_changes.priority_order)
    yield from map(diff_text.describe_priority, entitlement_changes.priorities)


def right_lines(changes: Changes) -> Iterator[str]:
    """Who may do more or less, a line for each right."""
    yield from map(diff_text.describe_right, changes.rights)


def capacity_lines(changes: Changes) -> Iterator[str]:
    """Every pool with its reasons and those behind it, then everything else in Google Cloud."""
    for pool in changes.pools:
        yield f"pool {pool.pool} {diff_text.describe_pool(pool)}{_former_name('pool', pool.what, pool.renamed)}"
        for field in pool.because:
            yield f"    because {diff_text.describe_reason(field)}"
        for field in pool.fields:
            if field not in pool.because:
                yield f"    {diff_text.describe_effect(field)}"
        if pool.queues and pool.hit_nodes:
            yield f"    behind it: {abbreviate_names(list(pool.queues))}"
    for resource_change in changes.things:
        yield from _resource_lines(resource_change)


def _resource_lines(change: ResourceChange) -> Iterator[str]:
    yield diff_text.describe_resource(change)
    for field in change.fields:
        reason = f"because {diff_text.describe_reason(field)}" if field in change.because else ""
        yield f"    {reason or diff_text.describe_effect(field)}"


def workload_lines(changes: Changes) -> Iterator[str]:
    """The workloads of a team's own stack, with where they wait and what they ask for."""
    for change in changes.workloads:
        yield team_stack_text.describe_workload(change)
        yield from (f"    {line}" for line in team_stack_text.workload_details(change))


def file_lines(changes: Changes) -> Iterator[str]:
    """The files that its pods read."""
    yield from map(team_stack_text.describe_files, changes.files)


def guarded_lines(changes: Changes) -> Iterator[str]:
    """What would be lost and may not be, and what to do."""
    for guarded_change in changes.blocked:
        yield diff_text.describe_guarded_change(guarded_change)
        yield f"    {diff_text.describe_remedy(guarded_change)}"


def allowed_lines(changes: Changes) -> Iterator[str]:
    """What is lost and may be."""
    for guarded_change in changes.losses:
        if guarded_change.allowed is not None:
            yield f"{diff_text.describe_guarded_change(guarded_change)}: {guarded_change.allowed}"


def object_lines(changes: Changes) -> Iterator[str]:
    """Every object with the fields that change."""
    for each in changes.objects:
        yield diff_text.describe_object(each)
        for field in each.fields:
            yield f"    {diff_text.describe_field(field)}"
