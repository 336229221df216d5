"""The report's view of a team's own stack: its workloads, and their queues in the platform's quota tree."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from berth.diagnostics import join_words
from berth.document import Lines
from berth.overview.fleet import team_table
from berth.overview.team_stack import deployed_tables, permission_lines, workload_object
from berth.plan.fleet import FleetPlan
from berth.plan.team_stack import TeamStackPlan
from berth.report.fleet import TREE_CAPTION, tree_picture
from berth.report.tree import WORKLOAD, TreeBox, quota_tree_boxes
from berth.report.view import KeyFigure, ReportBody


def team_body(plan: TeamStackPlan, platform: FleetPlan) -> ReportBody:
    """Return the team's limits, its part of the tree with its workloads, what it deploys and the permissions."""
    tree_boxes = team_boxes(plan, platform)
    return ReportBody(
        subtitle=f"team {plan.team} of {plan.platform} · namespace {plan.namespace}",
        figures=list(_team_figures(plan)),
        teams=[replace(team_table(platform, plan.team), title="Guaranteed and ceiling")],
        picture=tree_picture(tree_boxes, plan.stack),
        tree_caption=f"{TREE_CAPTION} Workloads are below their queue.",
        boxes=tree_boxes,
        workloads=[*deployed_tables(plan), Lines("Rights needed to deploy", list(permission_lines(plan)))],
    )


def team_boxes(plan: TeamStackPlan, platform: FleetPlan) -> tuple[TreeBox, ...]:
    """Return the team's queues in the platform's tree with the cohorts above, and each queue's workloads below it."""
    platform_boxes = quota_tree_boxes(platform)
    queue_of = {
        local_queue.name: queue.name
        for queue in platform.cluster_queues
        for local_queue in queue.local_queues
        if local_queue.namespace == plan.namespace
    }
    wanted: set[int] = set()
    for index, box in enumerate(platform_boxes):
        at = index if box.kind != "cohort" and box.name in queue_of.values() else None
        while at is not None and at not in wanted:
            wanted.add(at)
            at = platform_boxes[at].parent
    result: list[TreeBox] = []
    new_index: dict[int, int] = {}
    for index in sorted(wanted):
        box = platform_boxes[index]
        new_index[index] = len(result)
        parent = None if box.parent is None else new_index[box.parent]
        result.append(TreeBox(box.kind, box.name, box.quotas, parent, box.depth))
        for key, workload in plan.workloads.items() if box.kind != "cohort" else ():
            kind, name, queue = workload_object(workload)
            if queue is not None and queue_of.get(queue) == box.name:
                result.append(TreeBox(WORKLOAD, key, (), new_index[index], box.depth + 1, (f"{kind} {name}",)))
    return tuple(result)


def _team_figures(plan: TeamStackPlan) -> Iterator[KeyFigure]:
    kinds = join_words(sorted({workload_object(workload)[0] for workload in plan.workloads.values()}))
    yield KeyFigure(str(len(plan.workloads)), "workload" if len(plan.workloads) == 1 else "workloads", kinds)
    files = len(plan.configs) + len(plan.secrets)
    more = f"{len(plan.configs)} of config, {len(plan.secrets)} of secrets"
    yield KeyFigure(str(files), "folder of files" if files == 1 else "folders of files", more)
