"""`berth plan` of a team's own stack: its workloads, its quota, and the rights that deploying needs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, cast

from berth.cli.arguments import problem_as_json
from berth.cli.plan import fleet as fleet_text
from berth.cli.tables import table
from berth.diagnostics import join_words
from berth.evaluate import Evaluation
from berth.manifests.workloads.metadata import QUEUE_NAME_LABEL
from berth.manifests.workloads.objects import workload_manifests
from berth.plan.team_stack import PermissionPlan, TeamStackPlan

VERSION = 1
"""Version of the JSON output; increased when a key changes its meaning or is removed."""


def as_json(evaluation: Evaluation) -> dict[str, Any]:
    """Return the plan and its problems as JSON values (docs/team-stacks.md); without a plan, values are empty."""
    plan = evaluation.plan if isinstance(evaluation.plan, TeamStackPlan) else None
    return {
        "version": VERSION,
        "stack": evaluation.stack,
        "platform": plan.platform if plan else None,
        "team": plan.team if plan else None,
        "namespace": plan.namespace if plan else None,
        "queues": list(plan.queues) if plan else [],
        "configs": [each.name for each in plan.configs] if plan else [],
        "secrets": [each.name for each in plan.secrets] if plan else [],
        "workloads": list(_workloads(plan)) if plan else [],
        "permissions": [_permission(each) for each in plan.permissions] if plan else [],
        "problems": [problem_as_json(each) for each in evaluation.problems],
    }


def text(evaluation: Evaluation) -> str:
    """Return the plan and its problems as paragraphs."""
    parts = list(_plan_parts(evaluation, evaluation.plan)) if isinstance(evaluation.plan, TeamStackPlan) else []
    return "\n\n".join(part for part in (*parts, fleet_text.problems_text(evaluation)) if part)


def _plan_parts(evaluation: Evaluation, plan: TeamStackPlan) -> Iterator[str]:
    yield f"{plan.stack} · team {plan.team} of {plan.platform} · namespace {plan.namespace}"
    if evaluation.platform_evaluation is not None and evaluation.platform_evaluation.fleet_plan is not None:
        yield fleet_text.teams_text(evaluation.platform_evaluation.fleet_plan, plan.team)
    rows = [[w["key"], f"{w['kind']} {w['name']}", w["queue"] or "–", w["image"]] for w in _workloads(plan)]
    yield table(["Workloads", "object", "queue", "image"], rows)
    rows = [["ConfigMap", each.name, join_words(sorted(each.files))] for each in plan.configs]
    rows += [
        ["secrets", s.name, join_words([f"{e.file} from {e.project}/{e.secret}" for e in s.secrets])]
        for s in plan.secrets
    ]
    yield table(["Files", "name", "contents"], rows)
    yield "\n".join(["Rights needed to deploy", *_permission_lines(plan)])


def _permission_lines(plan: TeamStackPlan) -> Iterator[str]:
    yield f"  read the outputs of stack {plan.platform}, including its kubeconfig, and network access to its cluster"
    for each in plan.permissions:
        target = f"{join_words(list(each.resources))} in {plan.namespace}"
        holder = f"granted to {join_words(list(plan.groups))}" if each.given else "not granted to any group of the team"
        yield f"  {', '.join(each.verbs)} on {target}: {holder}"


def _workloads(plan: TeamStackPlan) -> Iterator[dict[str, Any]]:
    for key, workload in plan.workloads.items():
        main = workload_manifests(workload)[-1]
        metadata = cast("Mapping[str, Any]", main["metadata"])
        yield {
            "key": key,
            "kind": main["kind"],
            "name": metadata["name"],
            "queue": metadata["labels"].get(QUEUE_NAME_LABEL),
            "image": workload.pod.image,
            "resources": dict(workload.pod.resources),
            "configs": list(workload.pod.configs),
            "secrets": list(workload.pod.secrets),
        }


def _permission(plan: PermissionPlan) -> dict[str, Any]:
    return {
        "apiGroup": plan.group,
        "resources": list(plan.resources),
        "verbs": list(plan.verbs),
        "given": plan.given,
    }
