"""The changes of `berth diff`, as text for a terminal and as JSON."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final, cast

from msgspec import Struct
from msgspec.structs import asdict

from berth.cli.diff.rows import cohort_rows, flavor_rows, quota_tree_rows, team_quota_rows
from berth.cli.tables import table
from berth.diff import team_stack_text, values
from berth.diff import text as diff_text
from berth.diff.compare import Changes
from berth.diff.entitlements import QuotaChanges
from berth.diff.guard import text as guard_text
from berth.diff.headline import headline
from berth.diff.kinds import ChangeKind, ResourceKind
from berth.diff.resources import ResourceChange
from berth.planner.queueing.preemption import describe_rules
from berth.text import abbreviate_names

VERSION = 1
"""Version of the JSON output; increased when a key changes its meaning or is removed."""

# --- JSON -------------------------------------------------------------------------------------------------------------


def as_json(changes: Changes, old: str, new: str) -> dict[str, Any]:
    """Return the changes as JSON values (docs/diff.md); `old` and `new` name the sides."""
    fields = cast("dict[str, Any]", to_json_value(changes))
    compared = {"version": VERSION, "old": old, "new": new, "headline": headline(changes)}
    return {**compared, **fields, "guarded": to_json_value(changes.blocked)}


def to_json_value(value: object) -> object:
    """Return a plan as a mapping with camelCase keys, a range as `{min, max}`, a change as `{before, after}`."""
    if isinstance(value, Struct):
        return {values.camel_case(name): to_json_value(inner) for name, inner in asdict(value).items()}
    if isinstance(value, Mapping):
        return {key: to_json_value(inner) for key, inner in cast("Mapping[str, object]", value).items()}
    if isinstance(value, (list, tuple)):
        return [to_json_value(inner) for inner in cast("list[object]", value)]
    return value


# --- text -------------------------------------------------------------------------------------------------------------


def text(changes: Changes) -> str:
    """Return the changes as paragraphs: the headline, rights, blocked changes, quota, capacity, objects."""
    entitlement_changes = changes.entitlements
    parts = [
        headline(changes),
        _block("Rights", right_lines(changes)),
        _block("Blocked: the stack file does not allow these changes", guarded_lines(changes)),
        *entitlement_parts(entitlement_changes),
        table(["Workers", "flavor", "capacity", "guaranteed", ""], list(worker_rows(changes)), right=(2, 3)),
        table(["Shares", "worker", "flavor", "guaranteed", ""], list(share_rows(changes)), right=(3,)),
        _block("Workloads", workload_lines(changes)),
        _block("Files", file_lines(changes)),
        _block("Capacity", capacity_lines(changes)),
        *(_block(heading, lines) for heading, lines in resource_parts(changes)),
        _block("Allowed", allowed_lines(changes)),
        _block("New warnings", iter(changes.warnings)),
        _block("Allowances", (guard_text.describe_idle_allowance(each) for each in changes.idle)),
        _block(f"Kubernetes objects ({len(changes.objects)})", object_lines(changes)),
    ]
    return "\n\n".join(part for part in parts if part)


def _block(head: str, lines: Iterator[str]) -> str:
    body = [f"  {line}" for line in lines]
    return "\n".join([head, *body]) if body else ""


def entitlement_parts(entitlement_changes: QuotaChanges) -> Iterator[str]:
    """Yield paragraphs on teams, cohorts, flavors and preemption; "" for one without changes."""
    yield _block("Teams", team_lines(entitlement_changes))
    rows = team_quota_rows(entitlement_changes)
    yield table(["Entitlements", "flavor", "guaranteed", "ceiling", ""], rows, right=(2, 3))
    yield table(["Cohorts", "flavor", "guaranteed", ""], cohort_rows(entitlement_changes), right=(2,))
    yield table(["Quota tree", "min", "max", "lent", ""], quota_tree_rows(entitlement_changes), right=(1, 2, 3))
    rows = flavor_rows(entitlement_changes)
    yield table(["Flavors", "capacity", "guaranteed", "oversubscription", ""], rows, right=(1, 2, 3))
    yield _block("Who can preempt whom", preemption_lines(entitlement_changes))


def worker_rows(changes: Changes) -> Iterator[list[str]]:
    """Yield a row for each changed flavor of a worker: its capacity and its share of the guarantee."""
    for each in changes.workers:
        change_text = diff_text.UNMANAGED_TEXT if each.what == ChangeKind.UNMANAGED else each.what
        name = each.worker if each.what == ChangeKind.CHANGED else f"{each.worker} ({change_text})"
        yield from (
            [name, f.flavor, values.format_count(f.capacity), values.format_count(f.guaranteed), f.noun]
            for f in each.flavors
        )


def share_rows(changes: Changes) -> Iterator[list[str]]:
    """Yield a row for each changed share of a queue's guarantee on a worker."""
    queue_shares = [(share, each.worker) for each in changes.workers for share in each.shares]
    for share, worker in sorted(queue_shares, key=lambda row: (row[0].queue, row[0].flavor, row[1])):
        yield [share.queue, worker, share.flavor, values.format_count(share.guaranteed), share.noun]


def team_lines(entitlement_changes: QuotaChanges) -> Iterator[str]:
    """Yield a line for each team added, held, drained, resumed or removed, and one if jobs start or stop to queue."""
    if entitlement_changes.queueing:
        yield values.format_queueing(entitlement_changes.queueing)
    for change in entitlement_changes.teams:
        yield f"{change.team} is {change.what}{_former_name('team', change.what, change.renamed)}"
    yield from map(diff_text.describe_stop, entitlement_changes.stops)
    yield from map(diff_text.describe_likely_rename, entitlement_changes.likely_renames)


def _former_name(kind: str, change: ChangeKind, former: str | None) -> str:
    """Return the former name of a team or pool; for one added under a new key, how to keep the old one."""
    if former is None:
        return ""
    if change not in (ChangeKind.ADDED, ChangeKind.REMOVED, ChangeKind.DELETED):
        return f" (formerly {former})"
    if change == ChangeKind.ADDED:
        return f" (same as removed {kind} {former}; to keep that one, write formerly: {former})"
    return f" (same as added {kind} {former})"


def preemption_lines(entitlement_changes: QuotaChanges) -> Iterator[str]:
    """Yield new preemption rules with a +, removed ones with a -, then changes of priorities.

    Queues with the same rule share a line.
    """
    for sign, preemptions in (("+", entitlement_changes.new_relations), ("-", entitlement_changes.lifted_relations)):
        yield from (f"{sign} {line}" for line in describe_rules(preemptions))
    yield from map(diff_text.describe_reclaim, entitlement_changes.reclaim)
    if entitlement_changes.priority_order:
        yield diff_text.describe_priority_order(entitlement_changes.priority_order)
    yield from map(diff_text.describe_priority, entitlement_changes.priorities)


def right_lines(changes: Changes) -> Iterator[str]:
    """Yield a line for each right that is added, removed, widened or narrowed."""
    yield from map(diff_text.describe_right, changes.rights)


def capacity_lines(changes: Changes) -> Iterator[str]:
    """Yield each changed pool with reasons and affected queues, then other changed machines and reservations."""
    for pool in changes.pools:
        yield f"pool {pool.pool} {diff_text.describe_pool(pool)}{_former_name('pool', pool.what, pool.renamed)}"
        for field in pool.because:
            yield f"    because {diff_text.describe_reason(field)}"
        for field in pool.fields:
            if field not in pool.because:
                yield f"    {diff_text.describe_effect(field)}"
        if pool.queues and pool.hit_nodes:
            yield f"    affects {abbreviate_names(list(pool.queues))}"
    for change in changes.things:
        if change.kind not in _HEADINGS:
            yield from _resource_lines(change)


_HEADINGS: Final = {
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
    **dict.fromkeys((ResourceKind.ACCESS, ResourceKind.TEAM_IDENTITY, ResourceKind.NODE_IDENTITY), "Access"),
    **dict.fromkeys((ResourceKind.ALERT, ResourceKind.ALERT_CONFIGURATION, ResourceKind.DASHBOARD), "Monitoring"),
}
"""The heading of each kind other than machines and reservations."""


def resource_parts(changes: Changes) -> Iterator[tuple[str, Iterator[str]]]:
    """Yield the headings of the other kinds, each with its lines."""
    for heading in dict.fromkeys(_HEADINGS.values()):
        parts = [change for change in changes.things if _HEADINGS.get(change.kind) == heading]
        yield heading, (line for change in parts for line in _resource_lines(change))


def _resource_lines(change: ResourceChange) -> Iterator[str]:
    yield diff_text.describe_resource(change)
    for field in change.fields:
        reason = f"because {diff_text.describe_reason(field)}" if field in change.because else ""
        yield f"    {reason or diff_text.describe_effect(field)}"


def workload_lines(changes: Changes) -> Iterator[str]:
    """Yield the changed workloads of a team's own stack, with their queue and requests."""
    for change in changes.workloads:
        yield team_stack_text.describe_workload(change)
        yield from (f"    {line}" for line in team_stack_text.workload_details(change))


def file_lines(changes: Changes) -> Iterator[str]:
    """Yield changes of files that pods of a team's own stack read."""
    yield from map(team_stack_text.describe_files, changes.files)


def guarded_lines(changes: Changes) -> Iterator[str]:
    """Yield each blocked change, and how to allow it."""
    for guarded_change in changes.blocked:
        yield guard_text.describe_guarded_change(guarded_change)
        yield f"    {guard_text.describe_remedy(guarded_change)}"


def allowed_lines(changes: Changes) -> Iterator[str]:
    """Yield each loss that the stack file allows, with its reason."""
    for guarded_change in changes.losses:
        if guarded_change.allowed is not None:
            yield f"{guard_text.describe_guarded_change(guarded_change)}: {guarded_change.allowed}"


def object_lines(changes: Changes) -> Iterator[str]:
    """Yield each changed Kubernetes object with its changed fields."""
    for each in changes.objects:
        yield diff_text.describe_object(each)
        for field in each.fields:
            yield f"    {diff_text.describe_field(field)}"
