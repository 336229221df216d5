"""The report's view of a fleet on Google Cloud."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from markupsafe import Markup
from msgspec.structs import replace

from berth.diagnostics import join_words
from berth.plan.ack import AckFleetPlan
from berth.plan.fleet import FleetPlan
from berth.planner.queueing.preemption import describe_rules, preemption_rules
from berth.planner.queueing.quota_tree import largest_jobs
from berth.report.bars import flavor_charts, team_cohorts
from berth.report.preemption_matrix import preemption_matrices
from berth.report.svg import tree_svg
from berth.report.tree import TreeBox, quota_tree_boxes
from berth.report.view import KeyFigure, ReportBody, Section
from berth.text import capacity_source, cluster_summary, format_range, format_slices, pluralize, worker_target

TREE_CAPTION = (
    "The guarantee and the ceiling of each cohort and queue; the ceiling is reached only if all other quota is idle."
)

_TEAMS_IN_ONE_TABLE = 12
"""Maximum of teams in one table; more are in a folded table per cohort."""

_DATE_LENGTH = len("2026-12-01")


def fleet_body(plan: FleetPlan) -> ReportBody:
    """Return bars, the quota tree, the preemption matrix, and pools."""
    tree_boxes = quota_tree_boxes(plan)
    return ReportBody(
        subtitle=cluster_summary(plan),
        figures=[*accelerator_figures(plan), *queueing_figures(plan), _pool_figure(plan)],
        charts=flavor_charts(plan),
        teams=team_quota_sections(plan),
        picture=tree_picture(tree_boxes, plan.stack),
        tree_caption=TREE_CAPTION,
        boxes=tree_boxes,
        matrices=preemption_matrices(plan),
        relations=Section("As sentences", lines=list(describe_rules(preemption_rules(plan), len(plan.cluster_queues)))),
        pools=[_pool_section(plan), _worker_section(plan), _later_section(plan)],
    )


def tree_picture(drawn: Sequence[TreeBox], stack: str) -> Markup:
    """Return the tree as SVG; every text in it is escaped when it is drawn."""
    return Markup(tree_svg(drawn, f"Quota tree of {stack}"))


# --- figures ----------------------------------------------------------------------------------------------------------


def accelerator_figures(plan: FleetPlan | AckFleetPlan) -> Iterator[KeyFigure]:
    """Return counts of each kind of accelerator, and how many are guaranteed."""
    nouns: dict[str, list[int]] = {}
    for flavor in plan.flavors:
        total = nouns.setdefault(flavor.noun, [0, 0, 0])
        total[:] = (total[0] + flavor.capacity.min, total[1] + flavor.capacity.max, total[2] + flavor.promised)
    for noun, (least, most, guaranteed) in sorted(nouns.items()):
        yield KeyFigure(str(most) if least == most else f"{least}–{most}", noun, f"{guaranteed} guaranteed")


def queueing_figures(plan: FleetPlan | AckFleetPlan) -> Iterator[KeyFigure]:
    """Return the number of teams and their queues."""
    queues = pluralize(len(plan.cluster_queues), "cluster queue" if isinstance(plan, FleetPlan) else "queue")
    yield KeyFigure(str(len(plan.teams)), "team" if len(plan.teams) == 1 else "teams", f"in {queues}")


def _pool_figure(plan: FleetPlan) -> KeyFigure:
    models = join_words(sorted({pool.capacity for pool in plan.pools}))
    return KeyFigure(str(len(plan.pools)), "pool" if len(plan.pools) == 1 else "pools", models)


# --- tables -----------------------------------------------------------------------------------------------------------


def team_quota_section(plan: FleetPlan | AckFleetPlan) -> Section:
    """Return each team's guarantees and ceilings."""
    nouns = {f.name: f.noun for f in plan.flavors}
    rows = [
        [team.name, team.state, flavor, str(team.guaranteed.get(flavor, 0) or "–"), str(most), nouns[flavor]]
        for team in plan.teams
        for flavor, most in team.ceiling.items()
    ]
    idle = [[team.name, team.state, "no queues", "–", "–", ""] for team in plan.teams if not team.ceiling]
    head = ("team", "state", "flavor", "guaranteed", "ceiling", "of")
    return Section("Guaranteed and ceiling", head, [*rows, *idle], (3, 4))


def team_quota_sections(plan: FleetPlan | AckFleetPlan) -> tuple[Section, ...]:
    """Return the guarantees and ceilings of all teams in one table, or of many teams in a folded table per cohort."""
    whole = team_quota_section(plan)
    if len(plan.teams) <= _TEAMS_IN_ONE_TABLE:
        return (whole,)
    cohorts = team_cohorts(plan)
    rows: dict[str | None, list[Sequence[str]]] = {}
    for row in whole.rows:
        rows.setdefault(cohorts.get(row[0]), []).append(row)
    return tuple(
        replace(
            whole, caption=_cohort_caption(cohort, {row[0] for row in rows[cohort]}), rows=rows[cohort], folded=True
        )
        for cohort in sorted(rows, key=lambda name: (name is None, name or ""))
    )


def _cohort_caption(cohort: str | None, teams: Collection[str]) -> str:
    return f"{f'Cohort {cohort}' if cohort else 'Without a cohort'}: {pluralize(len(teams), 'team')}"


def _pool_section(plan: FleetPlan) -> Section:
    nouns = {f.name: f.noun for f in plan.flavors}
    rows = [
        [
            pool.name,
            pool.machine_type,
            capacity_source(pool),
            format_range(pool.nodes),
            f"{format_range(pool.accelerators)} {nouns.get(pool.flavor, '')}",
            format_slices(pool),
            pool.flavor,
            join_words(list(pool.zones)) or "any",
        ]
        for pool in plan.pools
    ]
    head = ("pool", "machine", "from", "nodes", "accelerators", "slices", "flavor", "zones")
    return Section("Pools and the source of their machines", head, rows, (3,))


def _worker_section(plan: FleetPlan) -> Section:
    rows = [
        [
            worker.name,
            worker_target(worker),
            flavor.name,
            f"{format_range(flavor.capacity)} {flavor.noun}",
            str(flavor.promised),
            str(largest_jobs(worker.plan).get(flavor.name, 0) or "–"),
        ]
        for worker in plan.workers
        for flavor in worker.plan.flavors
    ]
    head = ("worker", "cluster", "flavor", "accelerators", "guaranteed", "largest job")
    return Section("Workers: capacity and share of the guarantees", head, rows, (4, 5))


def _later_section(plan: FleetPlan) -> Section:
    rows = [
        [
            reservation.key,
            f"{reservation.count} × {reservation.machine_type}",
            reservation.start[:_DATE_LENGTH],
            reservation.end[:_DATE_LENGTH],
            join_words([*reservation.pools]) or "–",
        ]
        for reservation in plan.held
        if reservation.start and reservation.end
    ]
    return Section("Reserved for later", ("reservation", "machines", "from", "until", "pools"), rows)
