"""Capacity and guarantees of each flavor as bars on one scale."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from berth.plan.fleet import WorkerPlan
from berth.plan.kueue import FlavorPlan
from berth.plan.teams import QueueingPlan
from berth.text import format_range

MINIMUM, MAXIMUM, GUARANTEED, OVERSUBSCRIBED, CEILING = "standing", "possible", "promised", "beyond", "reach"

SEGMENT_LABELS = {
    MINIMUM: "always running",
    MAXIMUM: "maximum",
    GUARANTEED: "guaranteed",
    CEILING: "ceiling",
    OVERSUBSCRIBED: "guaranteed above capacity",
}
"""Kinds of segments as text, in the order of the legend."""


class BarSegment(Struct, frozen=True):
    """A part of a bar, in accelerators from the left."""

    kind: str
    start: int
    end: int


class Bar(Struct, frozen=True):
    """One bar: its owner, its figure as text, and its parts from left to right, none of them empty.

    `cohort` is the cohort of a team, and empty for a team without one.
    """

    label: str
    text: str
    segments: tuple[BarSegment, ...]
    cohort: str = ""


class FlavorChart(Struct, frozen=True):
    """A flavor: its capacity and guarantees, both on each worker, and a bar for each team with it.

    `scale` is the width of the chart in accelerators; no bar is longer. `capacity` is the maximum, and `accepted` is
    the reason if more than that may be guaranteed.
    """

    flavor: str
    noun: str
    pools: tuple[str, ...]
    capacity: int
    scale: int
    totals: tuple[Bar, ...]
    teams: tuple[Bar, ...]
    oversubscription_note: str | None

    def percent(self, amount: int) -> str:
        """Return the distance of an amount from the left, as CSS."""
        return f"{100 * amount / self.scale:.3f}%"

    @property
    def cohorts(self) -> dict[str, list[Bar]]:
        """Return the bars of the teams by cohort, in alphabetical order; teams without a cohort are last."""
        result: dict[str, list[Bar]] = {}
        for bar in sorted(self.teams, key=lambda bar: (not bar.cohort, bar.cohort)):
            result.setdefault(bar.cohort, []).append(bar)
        return result


def flavor_charts(plan: QueueingPlan, workers: Sequence[WorkerPlan] = ()) -> tuple[FlavorChart, ...]:
    """Return one chart for each flavor, with a bar for each of the `workers` that has it."""
    cohorts = team_cohorts(plan)
    return tuple(_flavor_chart(flavor, plan, cohorts, workers) for flavor in plan.flavors)


def team_cohorts(plan: QueueingPlan) -> dict[str, str | None]:
    """Return the cohort of each team's first queue; None for a queue without one. Teams without queues are left out."""
    return {team: queue.cohort for queue in reversed(plan.cluster_queues) for team in queue.teams}


def _flavor_chart(
    flavor: FlavorPlan, plan: QueueingPlan, cohorts: Mapping[str, str | None], workers: Sequence[WorkerPlan]
) -> FlavorChart:
    most, guaranteed = flavor.capacity.max, flavor.promised
    teams = [
        (t.name, t.guaranteed.get(flavor.name, 0), t.ceiling[flavor.name])
        for t in plan.teams
        if flavor.name in t.ceiling
    ]
    oversubscription_note = f"accepted oversubscription {flavor.oversubscription:g}: {flavor.oversubscription_reason}"
    return FlavorChart(
        flavor=flavor.name,
        noun=flavor.noun,
        pools=flavor.pools,
        capacity=most,
        scale=max(1, most, guaranteed, *(max(team_guaranteed, reach) for _, team_guaranteed, reach in teams)),
        totals=(
            _bar("capacity", format_range(flavor.capacity), (MINIMUM, flavor.capacity.min), (MAXIMUM, most)),
            _bar("guaranteed", str(guaranteed), (GUARANTEED, min(guaranteed, most)), (OVERSUBSCRIBED, guaranteed)),
            *_worker_bars(flavor, workers),
        ),
        teams=tuple(
            replace(
                _bar(name, f"{team_guaranteed}, at most {reach}", (GUARANTEED, team_guaranteed), (CEILING, reach)),
                cohort=cohorts.get(name) or "",
            )
            for name, team_guaranteed, reach in teams
        ),
        oversubscription_note=oversubscription_note if flavor.oversubscription > 1 else None,
    )


def _worker_bars(flavor: FlavorPlan, workers: Iterable[WorkerPlan]) -> Iterator[Bar]:
    """Yield the capacity and the guarantees of each worker of a manager."""
    for worker in workers:
        for worker_flavor in (each for each in worker.plan.flavors if each.name == flavor.name):
            most, promised = worker_flavor.capacity.max, worker_flavor.promised
            ends = (
                (GUARANTEED, min(promised, most)),
                (MINIMUM, worker_flavor.capacity.min),
                (MAXIMUM, most),
                (OVERSUBSCRIBED, promised),
            )
            yield _bar(f"on {worker.name}", f"{promised} of {format_range(worker_flavor.capacity)}", *ends)


def _bar(label: str, text: str, *ends: tuple[str, int]) -> Bar:
    return Bar(label, text, tuple(_segments(ends)))


def _segments(ends: tuple[tuple[str, int], ...]) -> Iterator[BarSegment]:
    start = 0
    for kind, end in ends:
        if end > start:
            yield BarSegment(kind, start, end)
            start = end
