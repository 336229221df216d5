"""What the report shows of a team's own stack: what it deploys, and where that waits in the platform's quota tree."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, cast

from berth.diagnostics import in_words
from berth.manifests import workloads
from berth.manifests.quantities import quantity
from berth.plan.fleet import FleetPlan
from berth.plan.team_stack import TeamStackPlan
from berth.plan.workloads import WorkloadPlan
from berth.report.fleet import REACHES, entitled, picture, tree_table
from berth.report.tree import WORKLOAD, Box, boxes
from berth.report.view import Body, Figure, Part


def team_body(plan: TeamStackPlan, platform: FleetPlan) -> Body:
    """What the team can use, its part of the tree with its workloads, what it deploys and what that takes."""
    drawn = team_boxes(plan, platform)
    mine = entitled(platform)
    return Body(
        subtitle=f"team {plan.team} of {plan.platform} · namespace {plan.namespace}",
        figures=list(_figures(plan)),
        teams=Part(mine.caption, mine.head, [row for row in mine.rows if row[0] == plan.team], mine.right),
        picture=picture(drawn, plan.stack),
        tree_says=f"{REACHES} Below its queue stands each workload.",
        tree=tree_table(drawn),
        workloads=[_workloads(plan), _files(plan), _rights(plan)],
    )


def team_boxes(plan: TeamStackPlan, platform: FleetPlan) -> tuple[Box, ...]:
    """The team's queues in the platform's tree with the cohorts above them, and below each queue its workloads."""
    whole = boxes(platform)
    queue_of = {
        door.name: queue.name
        for queue in platform.cluster_queues
        for door in queue.local_queues
        if door.namespace == plan.namespace
    }
    wanted: set[int] = set()
    for place, box in enumerate(whole):
        at = place if box.kind != "cohort" and box.name in queue_of.values() else None
        while at is not None and at not in wanted:
            wanted.add(at)
            at = whole[at].parent
    found: list[Box] = []
    moved: dict[int, int] = {}
    for place in sorted(wanted):
        box = whole[place]
        moved[place] = len(found)
        parent = None if box.parent is None else moved[box.parent]
        found.append(Box(box.kind, box.name, box.shares, parent, box.depth))
        if box.kind != "cohort":
            doors = {door for door, queue in queue_of.items() if queue == box.name}
            found += _waiting(plan, doors, moved[place], box.depth + 1)
    return tuple(found)


def _waiting(plan: TeamStackPlan, doors: set[str], parent: int, depth: int) -> Iterator[Box]:
    for key, workload in plan.workloads.items():
        if _metadata(workload).get("labels", {}).get(workloads.QUEUE_NAME) in doors:
            yield Box(WORKLOAD, key, (), parent, depth, (f"{_kind(workload)} {_metadata(workload)['name']}",))


def _figures(plan: TeamStackPlan) -> Iterator[Figure]:
    kinds = in_words(sorted({_kind(workload) for workload in plan.workloads.values()}))
    yield Figure(str(len(plan.workloads)), "workload" if len(plan.workloads) == 1 else "workloads", kinds)
    files = len(plan.configs) + len(plan.secrets)
    more = f"{len(plan.configs)} of config, {len(plan.secrets)} of secrets"
    yield Figure(str(files), "folder of files" if files == 1 else "folders of files", more)


def _workloads(plan: TeamStackPlan) -> Part:
    rows = [
        [
            key,
            f"{_kind(workload)} {_metadata(workload)['name']}",
            _metadata(workload).get("labels", {}).get(workloads.QUEUE_NAME, "–"),
            workload.pod.image,
            in_words([f"{quantity(r, n)} {r}" for r, n in workload.pod.resources.items()]),
        ]
        for key, workload in plan.workloads.items()
    ]
    return Part("What it deploys", ("workload", "object", "queue", "image", "each pod asks for"), rows)


def _files(plan: TeamStackPlan) -> Part:
    rows = [["config", each.name, in_words(sorted(each.files))] for each in plan.configs]
    for each in plan.secrets:
        named = [f"{secret.file} from {secret.project}/{secret.secret}" for secret in each.secrets]
        rows.append(["secrets", each.name, in_words(named)])
    return Part("Files that pods read", ("kind", "name", "files"), rows)


def _rights(plan: TeamStackPlan) -> Part:
    rows = [
        [in_words(list(each.resources)), each.group or "core", ", ".join(each.verbs), "yes" if each.given else "no"]
        for each in plan.permissions
    ]
    return Part("Rights that deploying takes", ("on", "API group", "verbs", "the team's people have it"), rows)


def _kind(plan: WorkloadPlan) -> str:
    return str(workloads.manifests(plan)[-1]["kind"])


def _metadata(plan: WorkloadPlan) -> Mapping[str, Any]:
    return cast("Mapping[str, Any]", workloads.manifests(plan)[-1]["metadata"])
