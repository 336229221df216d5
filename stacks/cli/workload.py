"""`berth workload`: a manifest that is ready to be submitted to a team's queue."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from components.plan.fleet import FleetPlan
from components.workloads.manifests import Manifest, manifests
from stacks.admission.quantity import amount, written
from stacks.cli.render import document
from stacks.problems import Problem, Problems
from stacks.spec.capacity import seconds
from stacks.verdict import Verdict
from stacks.workloads.asked import Asked
from stacks.workloads.derive import Draft, workload


def run(verdict: Verdict, team: str, queue: str, asked: Asked) -> Draft:
    """The workload for a team's queue, by the name that the stack file or the cluster has for it."""
    assert verdict.plan is not None
    return workload(verdict.plan, team, _local(verdict, team, queue), asked)


def _local(verdict: Verdict, team: str, queue: str) -> str:
    """The local queue behind a key of the team's `queues`; else the name itself."""
    found: Any = verdict.file.fleet if verdict.file else None
    for key in ("teams", team, "queues", queue):
        found = found.get(key) if isinstance(found, dict) else None
    return str(found.get("localQueue") or queue) if isinstance(found, dict) else queue
