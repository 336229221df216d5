"""What the report shows of a fleet on Google Cloud."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from markupsafe import Markup

from berth.diagnostics import in_words
from berth.plan.ack import AckFleetPlan
from berth.plan.fleet import FleetPlan
from berth.planner.queueing.preemption import push_outs, sentences
from berth.planner.queueing.quota_tree import largest_jobs
from berth.report.bars import charts
from berth.report.preemption_matrix import matrices
from berth.report.svg import svg
from berth.report.tree import Box, boxes
from berth.report.view import Body, Figure, Part
from berth.text import many, reached, shape, source, span, whereabouts

REACHES = "What each cohort and queue is guaranteed, and the most that it can use when nobody else uses anything."

_DAY = len("2026-12-01")


def fleet_body(plan: FleetPlan) -> Body:
    """Bars, the tree, who can preempt whom, pools."""
    drawn = boxes(plan)
    return Body(
        subtitle=whereabouts(plan),
        figures=[*accelerators(plan), *queueing(plan), _pool_figure(plan)],
        charts=charts(plan),
        teams=entitled(plan),
        picture=picture(drawn, plan.stack),
        tree_says=REACHES,
        tree=tree_table(drawn),
        matrices=matrices(plan),
        relations=Part("In words", lines=list(sentences(push_outs(plan), len(plan.cluster_queues)))),
        pools=[_pools(plan), _workers(plan), _later(plan)],
    )


def picture(drawn: Sequence[Box], stack: str) -> Markup:
    """The tree as SVG; every text in it is escaped where it is drawn."""
    return Markup(svg(drawn, f"Quota tree of {stack}"))


# --- figures ----------------------------------------------------------------------------------------------------------


def accelerators(plan: FleetPlan | AckFleetPlan) -> Iterator[Figure]:
    """How many of each kind there are, and how many are promised."""
    nouns: dict[str, list[int]] = {}
    for flavor in plan.flavors:
        total = nouns.setdefault(flavor.noun, [0, 0, 0])
        total[:] = (total[0] + flavor.capacity.min, total[1] + flavor.capacity.max, total[2] + flavor.promised)
    for noun, (least, most, promised) in sorted(nouns.items()):
        yield Figure(str(most) if least == most else f"{least}–{most}", noun, f"{promised} promised")


def queueing(plan: FleetPlan | AckFleetPlan) -> Iterator[Figure]:
    """Teams, and their queues."""
    queues = many(len(plan.cluster_queues), "cluster queue")
    yield Figure(str(len(plan.teams)), "team" if len(plan.teams) == 1 else "teams", f"in {queues}")


def _pool_figure(plan: FleetPlan) -> Figure:
    models = in_words(sorted({pool.capacity for pool in plan.pools}))
    return Figure(str(len(plan.pools)), "pool" if len(plan.pools) == 1 else "pools", models)


# --- tables -----------------------------------------------------------------------------------------------------------


def entitled(plan: FleetPlan | AckFleetPlan) -> Part:
    """What each team has of each flavor."""
    nouns = {f.name: f.noun for f in plan.flavors}
    rows = [
        [team.name, team.state, flavor, str(team.guaranteed.get(flavor, 0) or "–"), str(most), nouns[flavor]]
        for team in plan.teams
        for flavor, most in team.ceiling.items()
    ]
    idle = [[team.name, team.state, "no queues", "–", "–", ""] for team in plan.teams if not team.ceiling]
    head = ("team", "state", "flavor", "guaranteed", "ceiling", "of")
    return Part("Guaranteed and reachable at the most", head, [*rows, *idle], (3, 4))


def tree_table(drawn: Sequence[Box]) -> Part:
    """The boxes of the picture as a table."""
    rows = [
        ["\u2003" * box.depth + box.name, box.kind, share.flavor, str(share.guaranteed), str(share.ceiling), share.noun]
        for box in drawn
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


def _workers(plan: FleetPlan) -> Part:
    rows = [
        [
            worker.name,
            reached(worker),
            flavor.name,
            f"{span(flavor.capacity)} {flavor.noun}",
            str(flavor.promised),
            str(largest_jobs(worker.plan).get(flavor.name, 0) or "–"),
        ]
        for worker in plan.workers
        for flavor in worker.plan.flavors
    ]
    head = ("worker", "cluster", "flavor", "accelerators", "guaranteed", "one job at the most")
    return Part("Workers: what each holds, and its share of what is guaranteed", head, rows, (4, 5))


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
