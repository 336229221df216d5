"""The report's view of a team's own stack: its workloads, and their queues in the platform's quota tree."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, cast

from msgspec.structs import replace

from berth.diagnostics import join_words
from berth.manifests.quantities import quantity
from berth.manifests.workloads.metadata import QUEUE_NAME_LABEL
from berth.manifests.workloads.objects import workload_manifests
from berth.plan.fleet import FleetPlan
from berth.plan.team_stack import TeamStackPlan
from berth.plan.workloads import WorkloadPlan
from berth.report.fleet import TREE_CAPTION, team_quota_section, tree_picture
from berth.report.tree import WORKLOAD, TreeBox, quota_tree_boxes
from berth.report.view import KeyFigure, ReportBody, Section


def team_body(plan: TeamStackPlan, platform: FleetPlan) -> ReportBody:
    """Return the team's limits, its part of the tree with its workloads, what it deploys and the permissions."""
    tree_boxes = team_boxes(plan, platform)
    all_teams = team_quota_section(platform)
    return ReportBody(
        subtitle=f"team {plan.team} of {plan.platform} · namespace {plan.namespace}",
        figures=list(_team_figures(plan)),
        teams=(replace(all_teams, rows=[row for row in all_teams.rows if row[0] == plan.team]),),
        picture=tree_picture(tree_boxes, plan.stack),
        tree_caption=f"{TREE_CAPTION} Workloads are below their queue.",
        boxes=tree_boxes,
        workloads=[_workload_section(plan), _files_section(plan), _permission_section(plan)],
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
        if box.kind != "cohort":
            local_queue_names = {local_queue for local_queue, queue in queue_of.items() if queue == box.name}
            result += _workload_boxes(plan, local_queue_names, new_index[index], box.depth + 1)
    return tuple(result)


def _workload_boxes(plan: TeamStackPlan, local_queue_names: set[str], parent: int, depth: int) -> Iterator[TreeBox]:
    for key, workload in plan.workloads.items():
        if _metadata(workload).get("labels", {}).get(QUEUE_NAME_LABEL) in local_queue_names:
            yield TreeBox(WORKLOAD, key, (), parent, depth, (f"{_kind(workload)} {_metadata(workload)['name']}",))


def _team_figures(plan: TeamStackPlan) -> Iterator[KeyFigure]:
    kinds = join_words(sorted({_kind(workload) for workload in plan.workloads.values()}))
    yield KeyFigure(str(len(plan.workloads)), "workload" if len(plan.workloads) == 1 else "workloads", kinds)
    files = len(plan.configs) + len(plan.secrets)
    more = f"{len(plan.configs)} of config, {len(plan.secrets)} of secrets"
    yield KeyFigure(str(files), "folder of files" if files == 1 else "folders of files", more)


def _workload_section(plan: TeamStackPlan) -> Section:
    rows = [
        [
            key,
            f"{_kind(workload)} {_metadata(workload)['name']}",
            _metadata(workload).get("labels", {}).get(QUEUE_NAME_LABEL, "–"),
            workload.pod.image,
            join_words([f"{quantity(r, n)} {r}" for r, n in workload.pod.resources.items()]),
        ]
        for key, workload in plan.workloads.items()
    ]
    return Section("Workloads", ("workload", "object", "queue", "image", "requests of each pod"), rows)


def _files_section(plan: TeamStackPlan) -> Section:
    rows = [["config", secrets.name, join_words(sorted(secrets.files))] for secrets in plan.configs]
    for secrets in plan.secrets:
        mounted_files = [f"{secret.file} from {secret.project}/{secret.secret}" for secret in secrets.secrets]
        rows.append(["secrets", secrets.name, join_words(mounted_files)])
    return Section("Files that pods read", ("kind", "name", "files"), rows)


def _permission_section(plan: TeamStackPlan) -> Section:
    rows = [
        [join_words(list(each.resources)), each.group or "core", ", ".join(each.verbs), "yes" if each.given else "no"]
        for each in plan.permissions
    ]
    return Section("Rights needed to deploy", ("on", "API group", "verbs", "granted to"), rows)


def _kind(plan: WorkloadPlan) -> str:
    return str(workload_manifests(plan)[-1]["kind"])


def _metadata(plan: WorkloadPlan) -> Mapping[str, Any]:
    return cast("Mapping[str, Any]", workload_manifests(plan)[-1]["metadata"])
