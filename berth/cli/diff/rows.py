"""The rows of the tables of `berth diff`, for the terminal, Markdown and the report."""

from __future__ import annotations

from collections.abc import Sequence

from berth.diff.entitlements import CountChange, QuotaChanges
from berth.diff.values import format_count

Row = list[str]


def team_quota_rows(changes: QuotaChanges) -> list[Row]:
    """Team, flavor, guaranteed, ceiling, noun."""
    return [[e.team, e.flavor, *_counts(e.guaranteed, e.ceiling), e.noun] for e in changes.entitlements]


def cohort_rows(changes: QuotaChanges) -> list[Row]:
    """Cohort, flavor, guaranteed, noun."""
    return [[c.cohort, c.flavor, format_count(c.guaranteed), c.noun] for c in changes.cohorts]


def quota_tree_rows(changes: QuotaChanges) -> list[Row]:
    """Node of ACK's quota tree, minimum, maximum, lent, resource."""
    return [[n.node, *_counts(n.minimum, n.maximum, n.lent), n.resource] for n in changes.quota_tree]


def flavor_rows(changes: QuotaChanges) -> list[Row]:
    """Flavor, capacity, promised, oversubscription, noun."""
    return [
        [f.flavor, *_counts(f.capacity, f.promised), _format_factors(f.oversubscription), f.noun]
        for f in changes.flavors
    ]


def _counts(*changes: CountChange) -> Sequence[str]:
    return [format_count(change) for change in changes]


def _format_factors(factors: tuple[float, float]) -> str:
    """The accepted factor before and after."""
    before, after = (f"{factor:g}" for factor in factors)
    return after if before == after else f"{before} → {after}"
