"""A team's own stack as a document: its workloads, its quota, and the rights that deploying needs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, cast

from berth.diagnostics import join_words
from berth.document import Block, Heading, Lines, Table
from berth.evaluate import Evaluation
from berth.manifests.quantities import quantity
from berth.manifests.workloads.objects import workload_manifests
from berth.manifests.workloads.pods import QUEUE_NAME_LABEL
from berth.overview.fleet import team_table
from berth.overview.problems import all_problems
from berth.plan.team_stack import TeamStackPlan
from berth.plan.workloads import WorkloadPlan


def team_stack_document(evaluation: Evaluation) -> Iterator[Block]:
    """Yield a summary, the team's limits, what it deploys, the rights for it, problems."""
    plan, platform = evaluation.plan, evaluation.platform_evaluation
    if isinstance(plan, TeamStackPlan):
        yield Heading(f"{plan.stack} · team {plan.team} of {plan.platform} · namespace {plan.namespace}")
        if platform is not None and platform.fleet_plan is not None:
            yield team_table(platform.fleet_plan, plan.team)
        yield from deployed_tables(plan)
        yield Lines("Rights needed to deploy", list(permission_lines(plan)))
    yield from all_problems(evaluation)


def workload_object(plan: WorkloadPlan) -> tuple[str, str, str | None]:
    """Return the kind and the name of a workload's object, and its queue."""
    main = workload_manifests(plan)[-1]
    metadata = cast("Mapping[str, Any]", main["metadata"])
    return str(main["kind"]), metadata["name"], metadata.get("labels", {}).get(QUEUE_NAME_LABEL)


def deployed_tables(plan: TeamStackPlan) -> Iterator[Table]:
    """Yield the workloads, and the files that their pods read."""
    rows: list[list[str]] = []
    for key, workload in plan.workloads.items():
        kind, name, queue = workload_object(workload)
        requests = join_words([f"{quantity(resource, n)} {resource}" for resource, n in workload.pod.resources.items()])
        rows.append([key, f"{kind} {name}", queue or "–", plan.verdicts[key], workload.pod.image, requests])
    yield Table(
        "Workloads", ("workload", "object", "queue", "verdict", "image", "requests of each pod"), rows, wide=(5,)
    )
    rows = [["ConfigMap", each.name, join_words(sorted(each.files))] for each in plan.configs]
    rows += [
        ["secrets", each.name, join_words([f"{s.file} from {s.project}/{s.secret}" for s in each.secrets])]
        for each in plan.secrets
    ]
    yield Table("Files", ("kind", "name", "contents"), rows)


def permission_lines(plan: TeamStackPlan) -> Iterator[str]:
    """Yield each right that deploying needs, and who has it."""
    yield f"read the outputs of stack {plan.platform}, including its kubeconfig, and network access to its cluster"
    for each in plan.permissions:
        target = f"{join_words(list(each.resources))} in {plan.namespace}"
        holder = f"granted to {join_words(list(plan.groups))}" if each.given else "not granted to any group of the team"
        yield f"{', '.join(each.verbs)} on {target}: {holder}"
