"""The report: one HTML page about a fleet that holds everything it needs and asks nobody for anything."""

from __future__ import annotations

import pathlib
from collections.abc import Iterator

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from components.plan.fleet import FleetPlan
from stacks.cost import words as cost_words
from stacks.cost.fleet import Cost
from stacks.problems import dotted, in_words
from stacks.relations import push_outs, sentences
from stacks.report.bars import charts
from stacks.report.matrix import MEANING, MOST, matrices
from stacks.report.svg import svg
from stacks.report.tree import boxes
from stacks.report.view import Changed, Figure, Part
from stacks.verdict import Verdict
from stacks.wording import many, shape, source, span, whereabouts

_FEW = 12
"""Teams whose bars are shown without a click."""

_DAY = len("2026-12-01")


def page(verdict: Verdict, cost: Cost | None = None, changed: Changed | None = None) -> str:
    """The page of a stack: with what it costs and what changed, where that is known.

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
    plan = verdict.plan
    found = environment.get_template("page.html").render(
        stack=verdict.stack,
        verdict=verdict,
        subtitle=whereabouts(plan) if plan else "",
        figures=list(_figures(verdict, cost)),
        problems=list(_problems(verdict)),
        changed=changed,
        cost=cost,
        **(_of_plan(plan) if plan else {}),
        costs=list(_costs(cost)) if cost else [],
    )
    return found + "\n"


def _of_plan(plan: FleetPlan) -> dict[str, object]:
    drawn = boxes(plan)
    return {
        "charts": charts(plan),
        "few": _FEW,
        "teams": _teams(plan),
        # Every text in the picture is escaped where it is drawn.
        "picture": Markup(svg(drawn, f"Quota tree of {plan.stack}")),
        "tree": _tree(plan),
        "matrices": matrices(plan),
        "most": MOST,
        "meaning": MEANING,
        "relations": Part("In words", lines=list(sentences(push_outs(plan), len(plan.cluster_queues)))),
        "pools": [_pools(plan), _later(plan)],
    }


def _figures(verdict: Verdict, cost: Cost | None) -> Iterator[Figure]:
    plan = verdict.plan
    if plan is not None:
        nouns: dict[str, list[int]] = {}
        for flavor in plan.flavors:
            total = nouns.setdefault(flavor.noun, [0, 0, 0])
            total[:] = (total[0] + flavor.capacity.min, total[1] + flavor.capacity.max, total[2] + flavor.promised)
        for noun, (least, most, promised) in sorted(nouns.items()):
            yield Figure(str(most) if least == most else f"{least}–{most}", noun, f"{promised} promised")
        queues = many(len(plan.cluster_queues), "cluster queue")
        yield Figure(str(len(plan.teams)), "team" if len(plan.teams) == 1 else "teams", f"in {queues}")
        yield Figure(str(len(plan.pools)), "pool" if len(plan.pools) == 1 else "pools", _models(plan))
    if cost is not None:
        total = cost.fleet
        more = f"committed; at the ceiling {cost_words.money(total.ceiling)}"
        lacking = f", {cost_words.without(total)}" if total.unpriced else ""
        yield Figure(cost_words.money(total.committed), f"{cost.prices.currency} an hour", f"{more}{lacking}")
    faults, warnings = len(verdict.faults), len(verdict.warnings)
    yield Figure(
        str(faults or warnings), "fault" if faults == 1 else "faults" if faults else "warnings", _state(verdict)
    )


def _models(plan: FleetPlan) -> str:
    return in_words(sorted({pool.capacity for pool in plan.pools}))


def _state(verdict: Verdict) -> str:
    return "the fleet is refused" if verdict.faults else "the fleet is sound"


# --- parts ------------------------------------------------------------------------------------------------------------


def _problems(verdict: Verdict) -> Iterator[Part]:
    for caption, found, folded in (
        ("Faults", verdict.faults, False),
        ("Warnings", verdict.warnings, False),
        ("Notes", verdict.notes, True),
    ):
        lines = [": ".join(filter(None, (p.place, dotted(p.path), p.message))) for p in found]
        yield Part(f"{caption} ({len(found)})", lines=lines, folded=folded)


def _teams(plan: FleetPlan) -> Part:
    nouns = {f.name: f.noun for f in plan.flavors}
    rows = [
        [team.name, team.state, flavor, str(team.guaranteed.get(flavor, 0) or "–"), str(most), nouns[flavor]]
        for team in plan.teams
        for flavor, most in team.ceiling.items()
    ]
    idle = [[team.name, team.state, "no queues", "–", "–", ""] for team in plan.teams if not team.ceiling]
    head = ("team", "state", "flavor", "guaranteed", "ceiling", "of")
    return Part("Guaranteed and reachable at the most", head, [*rows, *idle], (3, 4))


def _tree(plan: FleetPlan) -> Part:
    rows = [
        ["\u2003" * box.depth + box.name, box.kind, share.flavor, str(share.guaranteed), str(share.ceiling), share.noun]
        for box in boxes(plan)
        for share in box.shares
    ]
    head = ("cohort or queue", "kind", "flavor", "guaranteed", "ceiling", "of")
    return Part("The tree as a table", head, rows, (3, 4), folded=True)


def _pools(plan: FleetPlan) -> Part:
    nouns = {f.name: f.noun for f in plan.flavors}
    rows = [
        [
            pool.name,
            pool.machine_type,
            source(pool),
            span(pool.nodes),
            f"{span(pool.accelerators)} {nouns.get(pool.flavor, '')}",
            shape(pool),
            pool.flavor,
            in_words(list(pool.zones)) or "any",
        ]
        for pool in plan.pools
    ]
    head = ("pool", "machine", "from", "nodes", "accelerators", "slices", "flavor", "zones")
    return Part("Pools and where their machines come from", head, rows, (3,))


def _later(plan: FleetPlan) -> Part:
    rows = [
        [
            held.key,
            f"{held.count} × {held.machine_type}",
            held.start[:_DAY],
            held.end[:_DAY],
            in_words([*held.pools]) or "–",
        ]
        for held in plan.held
        if held.start and held.end
    ]
    return Part("Reserved for later", ("reservation", "machines", "from", "until", "pools"), rows)


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
