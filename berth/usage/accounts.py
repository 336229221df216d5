"""Figures of a period for each team and flavor: guaranteed, used, borrowed, lent, idle, waited for.

At every sample, of one team and one flavor, in accelerators:

- *used* is what admitted jobs hold, over all queues of the team;
- *borrowed* is what a queue holds above its nominal quota, *idle* what it does not hold of it;
- *lent* is the team's part of what other queues of the same cohort tree borrow then, in proportion to idle quota.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence

from msgspec import Struct

from berth.plan.fleet import FleetPlan
from berth.plan.grouping import grouped
from berth.plan.kueue import ClusterQueuePlan, FlavorPlan, root_of
from berth.usage.series import NOMINAL, PENDING, USAGE, Samples, UsageMetrics

MIN_COVERAGE = 0.9
"""Part of the period that must have samples for advice: 95 % of a period says nothing of one that is half unknown."""


class Figures(Struct, frozen=True):
    """Average and 95th percentile (nearest rank) of the samples, and the largest."""

    average: float
    p95: float
    maximum: float


class FlavorAccount(Struct, frozen=True):
    """What a team did with a flavor in the period, in accelerators.

    `guaranteed` is the nominal quota at the end of the period. `coverage` is the part of the period that has samples;
    without samples the figures are None. `can_return` is what of the guarantee 95 % of the period did not need, in
    whole slices. `lacks` is what it borrowed for 5 % of the period or longer, in whole slices; borrowed accelerators
    can be reclaimed at any time.
    """

    team: str
    flavor: FlavorPlan
    guaranteed: int
    planned: int
    coverage: float
    used: Figures | None = None
    borrowed: Figures | None = None
    lent: Figures | None = None
    idle: Figures | None = None
    can_return: int = 0
    lacks: int = 0
    used_samples: Samples = {}


class TeamAccount(Struct, frozen=True):
    """A team's accounts by flavor, and its waiting workloads: average, 95th percentile and sum in workload hours."""

    team: str
    flavors: tuple[FlavorAccount, ...]
    waiting: Figures | None = None
    waited_hours: float | None = None


class UsageReport(Struct, frozen=True):
    """The accounts of all teams in the plan's order. Times are Unix seconds."""

    start: int
    end: int
    step: int
    teams: tuple[TeamAccount, ...]
    unknown_queues: tuple[str, ...]


def account_usage(plan: FleetPlan, metrics: UsageMetrics) -> UsageReport:
    """Return what each team used of what it is guaranteed."""
    accounts = _Accounts(plan, metrics)
    known = {queue.name for queue in plan.cluster_queues}
    return UsageReport(
        start=metrics.start,
        end=metrics.end,
        step=metrics.step,
        teams=tuple(accounts.team(team.name) for team in plan.teams),
        unknown_queues=tuple(sorted(metrics.queues() - known)),
    )


class _Accounts:
    def __init__(self, plan: FleetPlan, metrics: UsageMetrics) -> None:
        self.metrics = metrics
        self.flavors = {flavor.name: flavor for flavor in plan.flavors}
        self.queues = plan.cluster_queues
        cohorts = {each.name: each for each in plan.cohorts}
        self.roots = {each.name: root_of(cohorts, each.cohort) for each in self.queues if each.cohort is not None}
        self.lent: dict[tuple[str, str], dict[int, float]] = {}
        for flavor in plan.flavors:
            having = [queue for queue in self.queues if any(entry.flavor == flavor.name for entry in queue.flavors)]
            # A queue without a cohort lends to nobody.
            trees = grouped((self.roots[queue.name], queue) for queue in having if queue.name in self.roots)
            for members in trees.values():
                self._divide_loans(members, flavor)

    def team(self, name: str) -> TeamAccount:
        """The account of one team, over the queues that are its own."""
        queues = [queue for queue in self.queues if queue.teams == (name,)]
        names = dict.fromkeys(entry.flavor for queue in queues for entry in queue.flavors)
        flavors = [self._flavor(name, queues, self.flavors[flavor]) for flavor in names]
        own = {queue.name for queue in queues}
        waiting = _sum([each for key, each in self.metrics.samples.get(PENDING, {}).items() if key[0] in own])
        hours = sum(waiting.values()) * self.metrics.step / 3600 if waiting else None
        return TeamAccount(name, tuple(flavors), figures(waiting.values()), hours)

    def _flavor(self, team: str, queues: Sequence[ClusterQueuePlan], flavor: FlavorPlan) -> FlavorAccount:
        with_flavor = [queue for queue in queues if any(entry.flavor == flavor.name for entry in queue.flavors)]
        used = _sum([self._usage(queue, flavor) for queue in with_flavor])
        borrowed = _sum([self._above(queue, flavor, 1) for queue in with_flavor])
        idle = _sum([self._above(queue, flavor, -1) for queue in with_flavor])
        lending = [queue for queue in with_flavor if queue.name in self.roots]
        lent = _sum([self.lent[queue.name, flavor.name] for queue in lending])
        planned = sum(_planned(queue, flavor) for queue in with_flavor)
        nominal = [self._nominal(queue, flavor) or {0: _planned(queue, flavor)} for queue in with_flavor]
        guaranteed = round(sum(samples[max(samples)] for samples in nominal))
        # Every figure is of the same cells; what is lent is known only where all queues of the cohorts are.
        known = used.keys() & borrowed.keys()
        used, borrowed, idle, lent = (
            {time: value for time, value in samples.items() if time in known}
            for samples in (used, borrowed, idle, lent)
        )
        account = FlavorAccount(team, flavor, guaranteed, planned, len(used) / self.metrics.expected_samples)
        if not used:
            return account
        is_covered = account.coverage >= MIN_COVERAGE
        used_figures = figures(used.values())
        borrowed_figures = figures(borrowed.values())
        assert used_figures is not None and borrowed_figures is not None
        return FlavorAccount(
            team=team,
            flavor=flavor,
            guaranteed=guaranteed,
            planned=planned,
            coverage=account.coverage,
            used=used_figures,
            borrowed=borrowed_figures,
            lent=figures(lent.values()) if lent.keys() == known or not lending else None,
            idle=figures(idle.values()),
            can_return=is_covered * max(0, math.floor((guaranteed - used_figures.p95) / flavor.unit) * flavor.unit),
            lacks=is_covered * math.ceil(borrowed_figures.p95 / flavor.unit) * flavor.unit,
            used_samples=used,
        )

    def _series(self, metric: str, key: tuple[str, str, str]) -> Samples:
        return self.metrics.samples.get(metric, {}).get(key, {})

    def _usage(self, queue: ClusterQueuePlan, flavor: FlavorPlan) -> Samples:
        return self._series(USAGE, (queue.name, flavor.name, flavor.resource))

    def _nominal(self, queue: ClusterQueuePlan, flavor: FlavorPlan) -> Samples:
        return self._series(NOMINAL, (queue.name, flavor.name, flavor.resource))

    def _above(self, queue: ClusterQueuePlan, flavor: FlavorPlan, sign: int) -> dict[int, float]:
        """Borrowed (1) or idle (-1) accelerators of a queue at each sample of its use."""
        nominal, planned = self._nominal(queue, flavor), _planned(queue, flavor)
        is_given = any(self.metrics.samples.get(NOMINAL, {}).values())
        return {
            time: max(0.0, sign * (value - (nominal[time] if is_given else planned)))
            for time, value in self._usage(queue, flavor).items()
            if not is_given or time in nominal
        }

    def _divide_loans(self, members: Sequence[ClusterQueuePlan], flavor: FlavorPlan) -> None:
        """Divide what a cohort tree borrows at each sample among its queues, in proportion to their idle quota."""
        borrowed = _sum([self._above(queue, flavor, 1) for queue in members])
        idle_by_queue = {queue.name: self._above(queue, flavor, -1) for queue in members}
        idle = _sum(list(idle_by_queue.values()))
        for name, samples in idle_by_queue.items():
            self.lent[name, flavor.name] = {
                time: value * min(1.0, borrowed[time] / idle[time]) if idle[time] else 0.0
                for time, value in samples.items()
                if time in idle
            }


def figures(values: Iterable[float]) -> Figures | None:
    """Return average, 95th percentile and maximum of samples; None without one."""
    ordered = sorted(values)
    if not ordered:
        return None
    rank = math.ceil(0.95 * len(ordered)) - 1
    return Figures(math.fsum(ordered) / len(ordered), ordered[rank], ordered[-1])


def _sum(series: Sequence[Samples]) -> dict[int, float]:
    """The sum of series at every time at which each of them has a sample."""
    times = set[int].intersection(*map(set, series)) if series else set[int]()
    return {time: math.fsum(samples[time] for samples in series) for time in sorted(times)}


def _planned(queue: ClusterQueuePlan, flavor: FlavorPlan) -> int:
    """The nominal quota that the stack file gives."""
    return sum(
        quota.counted.nominal
        for entry in queue.flavors
        if entry.flavor == flavor.name
        for quota in entry.quotas
        if quota.resource == flavor.resource
    )


def differing_guarantees(report: UsageReport) -> Iterator[FlavorAccount]:
    """Return accounts whose guarantee at the end of the period is not that of the stack file."""
    for team in report.teams:
        yield from (each for each in team.flavors if each.used is not None and each.guaranteed != each.planned)
