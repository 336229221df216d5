"""Required quotas and their limits, as tables and as JSON (docs/quota.md)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from berth.document import Block, Heading, Lines, Note, Table
from berth.plan.fleet import FleetPlan
from berth.plan.node_settings import Bounds
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


def needs_document(plan: FleetPlan, required: Sequence[RequiredQuota]) -> Iterator[Block]:
    """Yield a table for each project, then the quotas that are needed only in some cases or not certain."""
    if not required:
        yield Heading(f"{plan.stack} creates no cluster on Google Cloud, so it needs no quota")
        return
    needed = [quota for quota in required if not quota.is_optional]
    projects = sorted({cluster.project for cluster in made_clusters(plan) if cluster.project})
    yield Heading(f"{plan.stack} needs {pluralize(len(needed), 'quota')} in {', '.join(projects)}")
    for project in dict.fromkeys(quota.project for quota in needed):
        rows = [
            [
                f"{quota.metric.name}{' ?' if quota.doubts else ''}",
                quota.location,
                ", ".join(quota.capacities) or "–",
                str(quota.minimum),
                str(quota.maximum),
                f"+{quota.upgrade}" if quota.upgrade else "",
                quota.metric.unit,
            ]
            for quota in needed
            if quota.project == project
        ]
        head = ("quota", "location", "machines", "minimum", "maximum", "upgrade", "")
        yield Table(f"Project {project}", head, rows, numbers=(3, 4, 5))
    optional = [
        f"{quota.metric.name} in {quota.location}: {quota.maximum} {quota.metric.unit}"
        for quota in required
        if quota.is_optional
    ]
    yield Lines("Only if you buy a resource-based commitment for reserved machines", optional)
    doubts = dict.fromkeys(f"{quota.metric.name}: {'; '.join(quota.doubts)}" for quota in needed if quota.doubts)
    yield Lines("Not certain (?)", list(doubts))
    yield Note(
        [
            "`minimum` is what the nodes that always exist need, `maximum` the fleet at its largest, `upgrade` what an "
            "upgrade of one pool adds.",
            "Compare with what a project has: berth quota STACK --have FILE (docs/quota.md).",
        ]
    )


def comparison_document(plan: FleetPlan, comparisons: Iterable[QuotaComparison]) -> Iterator[Block]:
    """Yield each quota with its limit, those that are short first, and the commands that request more."""
    shown = [each for each in comparisons if not each.required.is_optional]
    rows = [_row(each) for each in sorted(shown, key=_rank)]
    yield Table("Quota", ("quota", "location", "needed", "limit", "in use", "", ""), rows, numbers=(2, 3, 4))
    yield Lines("To request more", [_request(each.required) for each in shown if each.status == "short"])
    counts = Counter(each.status for each in shown)
    words = [
        f"{counts[status]} {word}"
        for status, word in {
            "short": "short",
            "uncertain": "perhaps short",
            "not-listed": "not in these answers",
        }.items()
        if counts[status]
    ]
    yield Note([f"{plan.stack}: {pluralize(len(shown), 'quota')}, {', '.join(words) or 'none short'}"])


def _rank(comparison: QuotaComparison) -> tuple[int, str]:
    """Return the sort key: short quotas first, then by project."""
    status = comparison.status
    rank = _PROBLEMS.index(status) if status in _PROBLEMS else len(_PROBLEMS)
    return rank, comparison.required.project


def _row(comparison: QuotaComparison) -> list[str]:
    required, limit = comparison.required, comparison.limit
    usage = limit.usage if limit else None
    moved = f" (used instead of {', '.join(comparison.moved)}, which is 0)" if comparison.moved else ""
    return [
        required.metric.name,
        required.location,
        format_range(Bounds(min=required.minimum, max=required.maximum)),
        "–" if limit is None else "unlimited" if limit.limit == UNLIMITED else str(limit.limit),
        "–" if usage is None else str(usage),
        required.metric.unit,
        _result(comparison) + moved,
    ]


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
