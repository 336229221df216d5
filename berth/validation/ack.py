"""Checks over the plan of a fleet on Alibaba Cloud: those on queues, which apply to any backend."""

from __future__ import annotations

from collections.abc import Callable

from berth.diagnostics import Problem, Problems
from berth.planner.ack.fleet import AckPlanningResult
from berth.validation import advice, capacity, reachability
from berth.validation.quota_claims import FleetQuotas, QuotaClaims, collect_claims
from berth.validation.resource_rates import check_resource_rates

ACK_CHECKS: tuple[Callable[[QuotaClaims[FleetQuotas], Problems], None], ...] = (
    reachability.check_limits_reachable,
    reachability.check_queues_can_admit,
    check_resource_rates,
    advice.warn_idle_capacity,
    advice.warn_sharing,
    advice.warn_teams_without_queues,
)
"""Checks on queues that apply to any backend; skipped if a faulty part was omitted, or if there is no quota tree."""


def validate_ack(planned: AckPlanningResult) -> tuple[Problem, ...]:
    """Return every problem of a plan on Alibaba Cloud."""
    problems, claims = Problems(), collect_claims(planned.plan, planned.origins)
    if planned.machines_complete:
        capacity.check_guarantees(claims, problems)
        capacity.warn_oversubscription(claims, problems)
    if planned.complete and planned.plan.quotas is not None:
        for check in ACK_CHECKS:
            check(claims, problems)
    return tuple(map(planned.with_node_pool_path, problems.entries))
