"""Capacity and guarantees of each flavor as bars on one scale."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from msgspec import Struct

from berth.plan.ack import AckFleetPlan
from berth.plan.fleet import FleetPlan, WorkerPlan
from berth.plan.kueue import FlavorPlan
from berth.text import span

STANDING, POSSIBLE, PROMISED, BEYOND, REACH = "standing", "possible", "promised", "beyond", "reach"


class Stretch(Struct, frozen=True):
    """A part of a bar, in accelerators from the left."""

    kind: str
    begin: int
    end: int


class Bar(Struct, frozen=True):
    """One bar: whose it is, its figure in words, and its stretches from left to right, none of them empty."""

    label: str
    text: str
    stretches: tuple[Stretch, ...]


class Chart(Struct, frozen=True):
    """A flavor: its capacity and what is promised of it, then both on each worker, and a bar for each team with it.

    `scale` is the width of the chart in accelerators; no bar is longer. `capacity` is at the most, and
    `accepted` says why more than that may be promised, where it may.
    """

    flavor: str
    noun: str
    pools: tuple[str, ...]
    capacity: int
    scale: int
    whole: tuple[Bar, ...]
    teams: tuple[Bar, ...]
    accepted: str | None

    def percent(self, amount: int) -> str:
        """How far to the right an amount is, as CSS says it."""
        return f"{100 * amount / self.scale:.3f}%"


def charts(plan: FleetPlan | AckFleetPlan) -> tuple[Chart, ...]:
    """One for each flavor."""
    return tuple(_chart(flavor, plan) for flavor in plan.flavors)


def _chart(flavor: FlavorPlan, plan: FleetPlan | AckFleetPlan) -> Chart:
    most, promised = flavor.capacity.max, flavor.promised
    teams = [
        (t.name, t.guaranteed.get(flavor.name, 0), t.ceiling[flavor.name])
        for t in plan.teams
        if flavor.name in t.ceiling
    ]
    accepted = f"{flavor.oversubscription:g} times the capacity may be promised: {flavor.oversubscription_reason}"
    return Chart(
        flavor=flavor.name,
        noun=flavor.noun,
        pools=flavor.pools,
        capacity=most,
        scale=max(1, most, promised, *(max(held, reach) for _, held, reach in teams)),
        whole=(
            _bar("capacity", span(flavor.capacity), (STANDING, flavor.capacity.min), (POSSIBLE, most)),
            _bar("promised", str(promised), (PROMISED, min(promised, most)), (BEYOND, promised)),
            *_workers(flavor, plan.workers if isinstance(plan, FleetPlan) else ()),
        ),
        teams=tuple(
            _bar(name, f"{held}, at most {reach}", (PROMISED, held), (REACH, reach)) for name, held, reach in teams
        ),
        accepted=accepted if flavor.oversubscription > 1 else None,
    )


def _workers(flavor: FlavorPlan, workers: Iterable[WorkerPlan]) -> Iterator[Bar]:
    """What each worker of a manager holds, and what of it is promised."""
    for worker in workers:
        for held in (each for each in worker.plan.flavors if each.name == flavor.name):
            most, promised = held.capacity.max, held.promised
            ends = (PROMISED, min(promised, most)), (STANDING, held.capacity.min), (POSSIBLE, most), (BEYOND, promised)
            yield _bar(f"on {worker.name}", f"{promised} of {span(held.capacity)}", *ends)


def _bar(label: str, text: str, *ends: tuple[str, int]) -> Bar:
    return Bar(label, text, tuple(_stretches(ends)))


def _stretches(ends: tuple[tuple[str, int], ...]) -> Iterator[Stretch]:
    begin = 0
    for kind, end in ends:
        if end > begin:
            yield Stretch(kind, begin, end)
            begin = end
