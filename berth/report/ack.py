"""The report's view of a fleet on Alibaba Cloud."""

from __future__ import annotations

from collections.abc import Iterator

from markupsafe import Markup
from msgspec.structs import replace

from berth.document import Lines
from berth.overview.ack import job_placement, node_pool_table
from berth.overview.calendar import calendar_blocks
from berth.plan.ack import AckFleetPlan, QuotaNodePlan
from berth.planner.ack.elastic_quotas import reclaim_rules
from berth.planner.queueing.preemption import describe_rules
from berth.report.bars import flavor_charts
from berth.report.fleet import accelerator_figures, queueing_figure, team_tables, tree_picture
from berth.report.tree import COHORT, QUEUE, BoxQuota, TreeBox
from berth.report.view import KeyFigure, ReportBody
from berth.text import pluralize

_NON_ACCELERATORS = ("cpu", "memory")


def ack_body(plan: AckFleetPlan) -> ReportBody:
    """Return bars, the quota tree, reclaim rules, and node pools of the members."""
    if plan.quotas is None:
        return _body_without_tree(plan)
    tree_boxes = ack_boxes(plan)
    return ReportBody(
        subtitle=f"Alibaba Cloud · {plan.region} · ACK One fleet {plan.fleet.name}",
        figures=[*accelerator_figures(plan), queueing_figure(plan, "queue"), _member_figure(plan)],
        charts=flavor_charts(plan),
        teams=(*team_tables(plan), Lines("Jobs", list(job_placement(plan)))),
        picture=tree_picture(tree_boxes, plan.stack),
        tree_caption="The minimum of each node is its guarantee, the maximum its ceiling.",
        boxes=tree_boxes,
        relations=[
            Lines("As sentences", list(describe_rules(reclaim_rules(plan.quotas), len(plan.cluster_queues)))),
        ],
        pools=[
            replace(node_pool_table(plan), title="Node pools and the source of their machines"),
            *calendar_blocks(plan),
        ],
    )


def _body_without_tree(plan: AckFleetPlan) -> ReportBody:
    """Return the capacity, the teams, and node pools: nothing is guaranteed or reclaimed."""
    return ReportBody(
        subtitle=f"Alibaba Cloud · {plan.region} · ACK One fleet {plan.fleet.name}",
        figures=[
            *(replace(figure, description="no quota") for figure in accelerator_figures(plan)),
            KeyFigure(str(len(plan.teams)), "team" if len(plan.teams) == 1 else "teams", "without quotas"),
            _member_figure(plan),
        ],
        charts=[replace(chart, totals=chart.totals[:1], teams=()) for chart in flavor_charts(plan)],
        teams=(*team_tables(plan), Lines("Jobs", list(job_placement(plan)))),
        picture=Markup(),
        tree_caption="",
        boxes=(),
        pools=[replace(node_pool_table(plan), title="Node pools and the source of their machines")],
    )


def ack_boxes(plan: AckFleetPlan) -> tuple[TreeBox, ...]:
    """Yield every node of the quota tree, if there is one, before its children."""
    return () if plan.quotas is None else tuple(_node_boxes(plan.quotas, None, 0, 0))


def _node_boxes(node: QuotaNodePlan, parent: int | None, depth: int, index: int) -> Iterator[TreeBox]:
    """Yield the box of a node at `index`, and the boxes of its children."""
    shares = tuple(
        BoxQuota(resource, least, node.maximum[resource], "GPUs")
        for resource, least in node.minimum.items()
        if resource not in _NON_ACCELERATORS
    )
    jobs = () if node.max_jobs is None else (f"{pluralize(node.max_jobs, 'job')} at once",)
    yield TreeBox(COHORT if node.children else QUEUE, node.name, shares, parent, depth, jobs)
    next_index = index + 1
    for child in node.children:
        for box in _node_boxes(child, index, depth + 1, next_index):
            yield box
            next_index += 1


def _member_figure(plan: AckFleetPlan) -> KeyFigure:
    existing_count = sum(member.existing is not None for member in plan.members)
    what = "member" if len(plan.members) == 1 else "members"
    return KeyFigure(
        str(len(plan.members)), what, f"{existing_count} existing" if existing_count else "created by this stack"
    )
