"""The plan of a team's own stack as the JSON of docs/team-stacks.md."""

from __future__ import annotations

from typing import Any

from berth.evaluate import Evaluation
from berth.overview.team_stack import workload_object
from berth.plan.team_stack import PermissionPlan, TeamStackPlan
from berth.plan.workloads import WorkloadPlan

VERSION = 1
"""Version of the JSON output; increased when a key changes its meaning or is removed."""


def team_plan_as_json(evaluation: Evaluation) -> dict[str, Any]:
    """Return the plan and its problems as JSON values; without a plan, values are empty."""
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
        "workloads": [_workload(key, each, plan.verdicts[key]) for key, each in plan.workloads.items()] if plan else [],
        "permissions": [_permission(each) for each in plan.permissions] if plan else [],
        "problems": [each.as_json() for each in evaluation.problems],
    }


def _workload(key: str, plan: WorkloadPlan, verdict: str) -> dict[str, Any]:
    kind, name, queue = workload_object(plan)
    return {
        "key": key,
        "kind": kind,
        "name": name,
        "queue": queue,
        "verdict": verdict,
        "image": plan.pod.image,
        "resources": dict(plan.pod.resources),
        "configs": list(plan.pod.configs),
        "secrets": list(plan.pod.secrets),
    }


def _permission(plan: PermissionPlan) -> dict[str, Any]:
    return {
        "apiGroup": plan.group,
        "resources": list(plan.resources),
        "verbs": list(plan.verbs),
        "given": plan.given,
    }
