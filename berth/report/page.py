"""The report: one HTML page about a fleet that holds everything it needs and asks nobody for anything."""

from __future__ import annotations

import pathlib
from collections.abc import Iterator

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from berth.cost import text as cost_words
from berth.cost.fleet import Cost
from berth.evaluate import Verdict
from berth.report.ack import ack_body, ack_boxes
from berth.report.fleet import fleet_body
from berth.report.preemption_matrix import MEANING, MOST
from berth.report.team import team_body, team_boxes
from berth.report.timeline import MEANT, Timeline, timeline_svg
from berth.report.tree import Box, boxes
from berth.report.view import Body, Changed, Figure, Part

_FEW = 12
"""Teams whose bars are shown without a click."""


def page(
    verdict: Verdict, cost: Cost | None = None, changed: Changed | None = None, timeline: Timeline | None = None
) -> str:
    """The page of a stack: with what it costs, what changed and what becomes of jobs, where that is known.

    Of a faulty stack it shows the faults, and the plan of what could be understood. Whatever comes from a stack file is
    escaped, and the page's own policy lets it load and run nothing.
    """
    environment = Environment(
        loader=FileSystemLoader(pathlib.Path(__file__).parent),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    body = _body(verdict)
    found = environment.get_template("page.html").render(
        stack=verdict.stack,
        verdict=verdict,
        body=body,
        few=_FEW,
        most=MOST,
        meaning=MEANING,
        figures=list(_figures(verdict, body, cost)),
        problems=list(_problems(verdict)),
        changed=changed,
        timeline=timeline,
        states=MEANT,
        # Every text in the picture is escaped where it is drawn.
        timeline_picture=Markup(timeline_svg(timeline)) if timeline and timeline.drawn else "",
        cost=cost,
        costs=list(_costs(cost)) if cost else [],
    )
    return found + "\n"


def _body(verdict: Verdict) -> Body | None:
    """What there is to show; None where not even the frame of the stack could be understood."""
    if verdict.plan is not None:
        return fleet_body(verdict.plan)
    if verdict.ack is not None:
        return ack_body(verdict.ack)
    if verdict.team is not None and verdict.platform is not None and verdict.platform.plan is not None:
        return team_body(verdict.team, verdict.platform.plan)
    return None


def drawn(verdict: Verdict) -> tuple[Box, ...]:
    """The boxes of a sound stack's quota tree."""
    if verdict.ack is not None:
        return ack_boxes(verdict.ack)
    if verdict.team is not None and verdict.platform is not None and verdict.platform.plan is not None:
        return team_boxes(verdict.team, verdict.platform.plan)
    return boxes(verdict.plan) if verdict.plan is not None else ()


def _figures(verdict: Verdict, body: Body | None, cost: Cost | None) -> Iterator[Figure]:
    yield from body.figures if body is not None else ()
    if cost is not None:
        total = cost.fleet
        more = f"committed; at the ceiling {cost_words.money(total.ceiling)}"
        lacking = f", {cost_words.without(total)}" if total.unpriced else ""
        yield Figure(cost_words.money(total.committed), f"{cost.prices.currency} an hour", f"{more}{lacking}")
    faults, warnings = len(verdict.faults), len(verdict.warnings)
    what = "stack" if verdict.of_team else "fleet"
    yield Figure(
        str(faults or warnings),
        "fault" if faults == 1 else "faults" if faults else "warnings",
        f"the {what} is refused" if faults else f"the {what} is sound",
    )


# --- parts ------------------------------------------------------------------------------------------------------------


def _problems(verdict: Verdict) -> Iterator[Part]:
    for caption, found, folded in (
        ("Faults", verdict.faults, False),
        ("Warnings", verdict.warnings, False),
        ("Notes", verdict.notes, True),
    ):
        lines = [p.under_its_severity() for p in found]
        yield Part(f"{caption} ({len(found)})", lines=lines, folded=folded)


def _costs(cost: Cost) -> Iterator[Part]:
    money, total = cost_words.money, cost.fleet
    machines = [
        [
            m.label,
            m.machine_type,
            m.capacity,
            *map(money, (m.price, m.committed, m.ceiling)),
            _unpriced(m.price is None),
        ]
        for m in cost.machines
    ]
    machines.append(["all", "", "", "", money(total.committed), money(total.ceiling), cost_words.without(total)])
    head = ("machines", "type", "from", "each", "committed", "ceiling", "")
    yield Part(f"Machines, {cost.prices.currency} an hour", head, machines, (3, 4, 5))
    teams = [[t, money(s.committed), money(s.ceiling), cost_words.without(s)] for t, s in cost.teams.items()]
    yield Part(f"Teams, {cost.prices.currency} an hour", ("team", "guaranteed", "ceiling", ""), teams, (1, 2))
    yield Part("What the figures hold", lines=[cost_words.scope(cost), *cost_words.gaps(cost)])


def _unpriced(missing: bool) -> str:
    return "no price" if missing else ""
