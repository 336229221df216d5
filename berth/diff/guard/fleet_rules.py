"""What the guard has to know of a fleet on Google Cloud."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from msgspec.structs import replace

from berth.diff.guard.changes import GuardedChange
from berth.diff.guard.classify import classify_urn, plan_of_worker
from berth.diff.guard.preview_accounts import lost_accounts
from berth.diff.guard.preview_ranges import refused_ranges
from berth.diff.guard.preview_rules import PreviewRules, Step
from berth.diff.guard.settings import unprotected_cluster
from berth.diff.provider_inputs.effects import UpdateEffect
from berth.diff.resources import FieldEffect
from berth.plan.allowances import AllowancesPlan
from berth.plan.fleet import FleetPlan
from berth.resource import ResourceKind

_OFF_INPUT = "deletionProtection"


def fleet_rules(plan: FleetPlan) -> PreviewRules:
    """Return the rules for a fleet; its program registers the stack itself, node pools, teams, queues, priorities."""
    node_pools = sum(len(pool.node_pools) for pool in plan.own_pools)
    return PreviewRules(
        1 + node_pools + len(plan.teams) + 2 * len(plan.cluster_queues) + len(plan.priorities),
        partial(classify_urn, plan=plan),
        partial(_losses, plan),
        partial(_allowances, plan),
    )


def _losses(plan: FleetPlan, steps: Sequence[Step]) -> Iterator[GuardedChange]:
    for step in steps:
        before, after = (_deletion_protection(step.get(state)) for state in ("oldState", "newState"))
        resource = classify_urn(str(step["urn"]), {}, plan) if before is True and after is False else None
        if resource is not None and resource.kind == ResourceKind.CLUSTER:
            effect = FieldEffect(_OFF_INPUT, _OFF_INPUT, before, after, UpdateEffect.UPDATE)
            change = unprotected_cluster(effect, _allowances(plan, resource.worker))
            yield replace(change, name=resource.name, worker=resource.worker)
    yield from refused_ranges(steps, plan)
    yield from lost_accounts(steps, plan)


def _allowances(plan: FleetPlan, worker: str | None) -> AllowancesPlan:
    return plan.allowances if worker is None else plan_of_worker(plan, worker).allowances


def _deletion_protection(state: Mapping[str, Any] | None) -> object:
    inputs: Mapping[str, object] = (state or {}).get("inputs") or {}
    return inputs.get(_OFF_INPUT)
