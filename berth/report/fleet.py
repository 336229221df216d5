"""The report's view of a fleet on Google Cloud."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from markupsafe import Markup
from msgspec.structs import replace

from berth.diagnostics import join_words
from berth.document import Cell, Lines, Table
from berth.overview.calendar import calendar_blocks
from berth.overview.fleet import later_table, pool_table, preemption_lines, team_table, worker_table
from berth.overview.forms import form_lines
from berth.plan.fleet import FleetPlan
from berth.plan.teams import QueueingPlan
from berth.report.bars import flavor_charts, team_cohorts
from berth.report.preemption_matrix import preemption_matrices
from berth.report.svg import tree_svg
from berth.report.tree import TreeBox, quota_tree_boxes
from berth.report.view import KeyFigure, ReportBody
from berth.text import cluster_summary, pluralize

TREE_CAPTION = (
    "The guarantee and the ceiling of each cohort and queue; the ceiling is reached only if all other quota is idle."
)

_TEAMS_IN_ONE_TABLE = 12
"""Maximum of teams in one table; more are in a folded table per cohort."""


def fleet_body(plan: FleetPlan) -> ReportBody:
    """Return bars, the quota tree, the preemption matrix, and pools."""
    tree_boxes = quota_tree_boxes(plan)
    capacities = join_words(sorted({pool.capacity for pool in plan.pools}))
    pools = KeyFigure(str(len(plan.pools)), "pool" if len(plan.pools) == 1 else "pools", capacities)
    return ReportBody(
        subtitle=cluster_summary(plan),
        figures=[*accelerator_figures(plan), queueing_figure(plan, "cluster queue"), pools],
        charts=flavor_charts(plan, plan.workers),
        teams=team_tables(plan),
        picture=tree_picture(tree_boxes, plan.stack),
        tree_caption=TREE_CAPTION,
        boxes=tree_boxes,
        matrices=preemption_matrices(plan),
        relations=[Lines("As sentences", preemption_lines(plan)), form_lines(plan)],
        pools=[
            replace(pool_table(plan), title="Pools and the source of their machines"),
            replace(worker_table(plan), title="Workers: capacity and share of the guarantees"),
            later_table(plan),
            *calendar_blocks(plan),
        ],
    )


def tree_picture(drawn: Sequence[TreeBox], stack: str) -> Markup:
    """Return the tree as SVG; every text in it is escaped when it is drawn."""
    return Markup(tree_svg(drawn, f"Quota tree of {stack}"))


# --- figures ----------------------------------------------------------------------------------------------------------


def accelerator_figures(plan: QueueingPlan) -> Iterator[KeyFigure]:
    """Return counts of each kind of accelerator, and how many are guaranteed."""
    nouns: dict[str, list[int]] = {}
    for flavor in plan.flavors:
        total = nouns.setdefault(flavor.noun, [0, 0, 0])
        total[:] = (total[0] + flavor.capacity.min, total[1] + flavor.capacity.max, total[2] + flavor.promised)
    for noun, (least, most, guaranteed) in sorted(nouns.items()):
        yield KeyFigure(str(most) if least == most else f"{least}–{most}", noun, f"{guaranteed} guaranteed")


def queueing_figure(plan: QueueingPlan, noun: str) -> KeyFigure:
    """Return the number of teams and their queues, which are called `noun`."""
    queues = pluralize(len(plan.cluster_queues), noun)
    return KeyFigure(str(len(plan.teams)), "team" if len(plan.teams) == 1 else "teams", f"in {queues}")


# --- tables -----------------------------------------------------------------------------------------------------------


def team_tables(plan: QueueingPlan) -> tuple[Table, ...]:
    """Return the guarantees and ceilings of all teams in one table, or of many teams in a folded table per cohort."""
    whole = replace(team_table(plan), title="Guaranteed and ceiling")
    if len(plan.teams) <= _TEAMS_IN_ONE_TABLE:
        return (whole,)
    cohorts = team_cohorts(plan)
    rows: dict[str, list[Sequence[Cell]]] = {}
    for row in whole.rows:
        rows.setdefault(cohorts.get(str(row[0])) or "", []).append(row)
    tables: list[Table] = []
    for cohort in sorted(rows, key=lambda name: (not name, name)):
        teams = pluralize(len({row[0] for row in rows[cohort]}), "team")
        title = f"{f'Cohort {cohort}' if cohort else 'Without a cohort'}: {teams}"
        tables.append(replace(whole, title=title, rows=rows[cohort], folded=True))
    return tuple(tables)
