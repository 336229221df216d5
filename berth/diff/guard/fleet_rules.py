"""What the guard has to know of a fleet on Google Cloud."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

from berth.diff.guard.accounts import accounts_lost_in_preview
from berth.diff.guard.changes import GuardedChange
from berth.diff.guard.classify import lost_resource, plan_of_worker
from berth.diff.guard.preview_file import PreviewStep
from berth.diff.guard.preview_rules import PreviewRules
from berth.diff.guard.updates import guarded_updates, updated_resources, worker_allowances
from berth.plan.allowances import AllowancesPlan
from berth.plan.fleet import FleetPlan


def fleet_rules(plan: FleetPlan) -> PreviewRules:
    """Return the rules for a fleet; its program registers the stack itself, node pools, teams, queues, priorities."""
    node_pools = sum(len(pool.node_pools) for pool in plan.own_pools)
    return PreviewRules(
        1 + node_pools + len(plan.teams) + 2 * len(plan.cluster_queues) + len(plan.priorities),
        partial(lost_resource, plan=plan),
        partial(_losses, plan),
        partial(_allowances, plan),
    )


def _losses(plan: FleetPlan, steps: Sequence[PreviewStep]) -> Iterator[GuardedChange]:
    yield from guarded_updates(False, plan.allowances, updated_resources(steps), worker_allowances(plan))
    yield from accounts_lost_in_preview(steps, plan)


def _allowances(plan: FleetPlan, worker: str | None) -> AllowancesPlan:
    return plan.allowances if worker is None else plan_of_worker(plan, worker).allowances
