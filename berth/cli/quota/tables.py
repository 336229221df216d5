"""Required quotas and their limits, as tables and as JSON (docs/quota.md)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from berth.cli.tables import table
from berth.plan.fleet import FleetPlan
from berth.plan.nodes import Bounds
from berth.quota.answers import UNLIMITED
from berth.quota.compare import QuotaComparison, Status
from berth.quota.required import QuotaNeed, RequiredQuota, made_clusters
from berth.text import format_range, pluralize

VERSION = 1
"""Version of the JSON output; increased when a key changes its meaning or is removed."""

_PROBLEMS: tuple[Status, ...] = ("short", "uncertain", "in-use", "upgrade", "not-listed")

# --- JSON -------------------------------------------------------------------------------------------------------------


def needs_as_json(plan: FleetPlan, required: Iterable[RequiredQuota]) -> dict[str, Any]:
    """Return the quotas that the fleet needs as JSON values."""
    return {"version": VERSION, "stack": plan.stack, "quotas": [_required(each) for each in required]}


def comparison_as_json(plan: FleetPlan, comparisons: Iterable[QuotaComparison]) -> dict[str, Any]:
    """Return the needed quotas with the project's limits and what is short as JSON values."""
    return {"version": VERSION, "stack": plan.stack, "quotas": [_comparison(each) for each in comparisons]}


def _required(quota: RequiredQuota) -> dict[str, Any]:
    return {
        "metric": quota.metric.metric,
        "dimensions": dict(quota.metric.dimensions),
        "service": quota.metric.service,
        "quotaId": quota.metric.quota_id or None,
        "project": quota.project,
        "location": quota.location,
        "unit": quota.metric.unit,
        "capacity": list(quota.capacities),
        "minimum": quota.minimum,
        "maximum": quota.maximum,
        "upgrade": quota.upgrade,
        "optional": quota.is_optional,
        "doubts": list(quota.doubts),
        "neededBy": [_use(use) for use in quota.uses],
    }


def _use(use: QuotaNeed) -> dict[str, Any]:
    return {
        "path": use.source,
        "capacity": use.capacity or None,
        "minimum": use.amount.min,
        "maximum": use.amount.max,
        "upgrade": use.surge,
    }


def _comparison(comparison: QuotaComparison) -> dict[str, Any]:
    limit = comparison.limit
    return {
        **_required(comparison.required),
        "status": comparison.status,
        "limit": None if limit is None or limit.limit == UNLIMITED else limit.limit,
        "unlimited": limit is not None and limit.limit == UNLIMITED,
        "usage": None if limit is None else limit.usage,
        "shortBy": comparison.short_by,
        "shortAtFirst": comparison.short_at_first,
        "insteadOf": list(comparison.moved),
    }


# --- text -------------------------------------------------------------------------------------------------------------


def needs_text(plan: FleetPlan, required: Sequence[RequiredQuota]) -> str:
    """Return a table for each project, then the quotas that are needed only in some cases or not certain."""
    if not required:
        return f"{plan.stack} creates no cluster on Google Cloud, so it needs no quota"
    needed = [quota for quota in required if not quota.is_optional]
    parts = [*_tables(needed), *_optional_text(required), *_doubt_text(needed)]
    return "\n\n".join([_head(plan, len(needed)), *parts, _FOOTER])


_FOOTER = (
    "`minimum` is what the nodes that always exist need, `maximum` the fleet at its largest, `upgrade` what an upgrade "
    "of one pool adds.\nCompare with what a project has: berth quota STACK --have FILE (docs/quota.md)."
)


def _head(plan: FleetPlan, count: int) -> str:
    clusters = list(made_clusters(plan))
    projects = sorted({cluster.project for cluster in clusters if cluster.project})
    return f"{plan.stack} needs {pluralize(count, 'quota')} in {', '.join(projects)}"


def _tables(required: Iterable[RequiredQuota]) -> Iterator[str]:
    by_project: dict[str, list[list[str]]] = {}
    for quota in required:
        by_project.setdefault(quota.project, []).append(
            [
                f"{quota.metric.name}{' ?' if quota.doubts else ''}",
                quota.location,
                ", ".join(quota.capacities) or "–",
                str(quota.minimum),
                str(quota.maximum),
                f"+{quota.upgrade}" if quota.upgrade else "",
                quota.metric.unit,
            ]
        )
    for project, rows in by_project.items():
        head = [f"Project {project}", "location", "machines", "minimum", "maximum", "upgrade", ""]
        yield table(head, rows, right=(3, 4, 5))


def _optional_text(required: Iterable[RequiredQuota]) -> Iterator[str]:
    lines = [
        f"  {quota.metric.name} in {quota.location}: {quota.maximum} {quota.metric.unit}"
        for quota in required
        if quota.is_optional
    ]
    if lines:
        yield "\n".join(["Only if you buy a resource-based commitment for reserved machines", *lines])


def _doubt_text(required: Iterable[RequiredQuota]) -> Iterator[str]:
    lines = [f"  {quota.metric.name}: {'; '.join(quota.doubts)}" for quota in required if quota.doubts]
    if lines:
        yield "\n".join(["Not certain (?)", *dict.fromkeys(lines)])


def comparison_text(plan: FleetPlan, comparisons: Sequence[QuotaComparison]) -> str:
    """Return each quota with its limit, those that are short first, and the commands that request more."""
    shown = [each for each in comparisons if not each.required.is_optional]
    rows = [_row(each) for each in sorted(shown, key=_rank)]
    head = ["Quota", "location", "needed", "limit", "in use", "", ""]
    parts = [table(head, rows, right=(2, 3, 4)), *_requests(shown), _summary(plan, shown)]
    return "\n\n".join(parts)


def _rank(comparison: QuotaComparison) -> tuple[int, str]:
    """Return the sort key: short quotas first, then by project."""
    status = comparison.status
    rank = _PROBLEMS.index(status) if status in _PROBLEMS else len(_PROBLEMS)
    return rank, comparison.required.project


def _row(comparison: QuotaComparison) -> list[str]:
    required, limit = comparison.required, comparison.limit
    usage = limit.usage if limit else None
    return [
        required.metric.name,
        required.location,
        format_range(Bounds(min=required.minimum, max=required.maximum)),
        "–" if limit is None else "unlimited" if limit.limit == UNLIMITED else str(limit.limit),
        "–" if usage is None else str(usage),
        required.metric.unit,
        _verdict(comparison),
    ]


def _verdict(comparison: QuotaComparison) -> str:
    moved = f" (used instead of {', '.join(comparison.moved)}, which is 0)" if comparison.moved else ""
    return _result(comparison) + moved


def _result(comparison: QuotaComparison) -> str:
    required = comparison.required
    first = f", and by {comparison.short_at_first} for the first pulumi up" if comparison.short_at_first else ""
    results: dict[Status, str] = {
        "short": f"short by {comparison.short_by}{first}",
        "uncertain": f"perhaps short by {comparison.short_by}: {'; '.join(required.doubts)}",
        "upgrade": f"enough, but an upgrade needs {required.upgrade} more",
        "in-use": "enough only if this fleet uses what is in use",
        "enough": "enough",
        "optional": "optional",
        "not-listed": "not in these answers",
    }
    return results[comparison.status]


def _requests(comparisons: Iterable[QuotaComparison]) -> Iterator[str]:
    commands = [_request(each.required) for each in comparisons if each.status == "short"]
    if commands:
        yield "\n".join(["To request more", *(f"  {command}" for command in commands)])


def _request(required: RequiredQuota) -> str:
    """Return the command that requests the maximum of a quota, or the console's URL if the quota's id is unknown."""
    if not required.metric.quota_id:
        console = f"https://console.cloud.google.com/iam-admin/quotas?project={required.project}"
        return f"{required.metric.usage_metric}: {required.maximum} at {console}"
    places = [("region", required.location)] if required.metric.scope == "region" else []
    dimensions = ",".join(f"{key}={value}" for key, value in (*places, *required.metric.dimensions))
    words = [
        f"gcloud beta quotas preferences create --project={required.project}",
        f"--service={required.metric.service} --quota-id={required.metric.quota_id}",
        f"--preferred-value={required.maximum + required.upgrade}",
        *([f"--dimensions={dimensions}"] if dimensions else []),
    ]
    return " ".join(words)


def _summary(plan: FleetPlan, comparisons: Sequence[QuotaComparison]) -> str:
    counts = {status: sum(each.status == status for each in comparisons) for status in _PROBLEMS}
    words = [
        *([f"{counts['short']} short"] if counts["short"] else []),
        *([f"{counts['uncertain']} perhaps short"] if counts["uncertain"] else []),
        *([f"{counts['not-listed']} not in these answers"] if counts["not-listed"] else []),
    ]
    return f"{plan.stack}: {pluralize(len(comparisons), 'quota')}, {', '.join(words) or 'none short'}"
