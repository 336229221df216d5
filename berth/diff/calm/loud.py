"""The differences that a headline must name: not of a harmless kind, and not told by one of its other phrases."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from berth.diagnostics import join_words
from berth.diff.calm.differences import (
    LIMITS,
    Difference,
    object_differences,
    pool_differences,
    quota_differences,
    resource_differences,
)
from berth.diff.calm.harmless import harmless_kind
from berth.diff.calm.subjects import Subjects
from berth.diff.calm.told import Told
from berth.diff.changes import Changes
from berth.diff.kinds import ChangeKind
from berth.plan.teams import QueueingPlan


def loud_differences(changes: Changes, old: QueueingPlan, new: QueueingPlan) -> tuple[Difference, ...]:
    """Return the differences that are neither harmless nor told by a phrase about teams, quotas, rights or machines."""
    subjects = Subjects.of(old, new)
    told = Told(changes, subjects)
    neighbours = _neighbours(changes)
    return tuple(
        replace(difference, note=neighbours) if difference.of == LIMITS else difference
        for difference in all_differences(changes)
        if harmless_kind(difference, subjects.facts) is None and not told.has(difference)
    )


def _neighbours(changes: Changes) -> str:
    """Return why the limits of namespaces change that nobody edited: they follow from what their teams can use."""
    reasons = [
        f"pool {each.pool} {'shrinks' if each.nodes[1].max < each.nodes[0].max else 'grows'}"
        for each in changes.pools
        if each.nodes[0].max != each.nodes[1].max
    ]
    reasons += [f"worker {each.worker} is {each.what}" for each in changes.workers if each.what != ChangeKind.CHANGED]
    quotas = changes.entitlements.entitlements
    reasons += [f"the quota of {team} changes" for team in dict.fromkeys(each.team for each in quotas)]
    return join_words(reasons[:3])


def all_differences(changes: Changes) -> Iterator[Difference]:
    """Yield every difference of what is registered."""
    for pool in changes.pools:
        yield from pool_differences(pool)
    for thing in changes.things:
        yield from resource_differences(thing)
    for each in changes.objects:
        yield from object_differences(each)
    yield from quota_differences(changes.entitlements)
