"""`berth plan` of a team's own stack: what it deploys, what its queues give it, and what rights that takes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, cast

from berth.cli.plan import fleet as fleets
from berth.cli.tables import table
from berth.diagnostics import in_words
from berth.evaluate import Verdict
from berth.manifests import workloads
from berth.plan.team_stack import PermissionPlan, TeamStackPlan

VERSION = 1
"""Of the JSON; raised when a key changes its meaning or goes."""


def as_json(verdict: Verdict) -> dict[str, Any]:
    """The plan and its problems as docs/team-stacks.md says; without a plan, what it would say is empty."""
    plan = verdict.team
    return {
        "version": VERSION,
        "stack": verdict.stack,
        "platform": plan.platform if plan else None,
        "team": plan.team if plan else None,
        "namespace": plan.namespace if plan else None,
        "queues": list(plan.queues) if plan else [],
        "configs": [each.name for each in plan.configs] if plan else [],
        "secrets": [each.name for each in plan.secrets] if plan else [],
        "workloads": list(_workloads(plan)) if plan else [],
        "permissions": [_permission(each) for each in plan.permissions] if plan else [],
        "problems": [fleets.problem(each) for each in verdict.problems],
    }


def text(verdict: Verdict) -> str:
    """The same as paragraphs."""
    parts = list(_planned(verdict, verdict.team)) if verdict.team else []
    return "\n\n".join(part for part in (*parts, fleets.problems_told(verdict)) if part)


def _planned(verdict: Verdict, plan: TeamStackPlan) -> Iterator[str]:
    yield f"{plan.stack} · team {plan.team} of {plan.platform} · namespace {plan.namespace}"
    if verdict.platform is not None and verdict.platform.plan is not None:
        yield fleets.teams_text(verdict.platform.plan, plan.team)
    rows = [[w["key"], f"{w['kind']} {w['name']}", w["queue"] or "–", w["image"]] for w in _workloads(plan)]
    yield table(["Workloads", "object", "queue", "image"], rows)
    rows = [["ConfigMap", each.name, in_words(sorted(each.files))] for each in plan.configs]
    rows += [
        ["secrets", s.name, in_words([f"{e.file} from {e.project}/{e.secret}" for e in s.secrets])]
        for s in plan.secrets
    ]
    yield table(["Files", "name", "what pods see"], rows)
    yield "\n".join(["Rights that deploying takes", *_rights(plan)])


def _rights(plan: TeamStackPlan) -> Iterator[str]:
    yield f"  to read the outputs of stack {plan.platform}, its kubeconfig among them, and to reach its cluster"
    for each in plan.permissions:
        where = f"{in_words(list(each.resources))} in {plan.namespace}"
        whose = f"{in_words(list(plan.groups))} has it" if each.given else "no group of the team has it"
        yield f"  {', '.join(each.verbs)} on {where}: {whose}"


def _workloads(plan: TeamStackPlan) -> Iterator[dict[str, Any]]:
    for key, workload in plan.workloads.items():
        main = workloads.manifests(workload)[-1]
        metadata = cast("Mapping[str, Any]", main["metadata"])
        yield {
            "key": key,
            "kind": main["kind"],
            "name": metadata["name"],
            "queue": metadata["labels"].get(workloads.QUEUE_NAME),
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
