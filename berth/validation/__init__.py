"""Checks over a finished plan: guarantees have capacity, limits can be reached, and Kueue accepts its objects.

Unused capacity is reported too. Each check reads only the plan.
"""

from __future__ import annotations

from collections.abc import Callable

from msgspec.structs import replace

from berth.diagnostics import FieldPath, Problem, Problems, Severity
from berth.planner import PlanningResult
from berth.rules.kueue import fleet_violations
from berth.rules.kueue.rule import ObjectRef
from berth.validation import advice, capacity, reachability
from berth.validation.advice import warn_emptied_buffers
from berth.validation.bucket_mounts import check_bucket_mounts
from berth.validation.capacity import check_accelerator_addresses
from berth.validation.eligibility import check_eligibility
from berth.validation.every_instant import check_reserved_times
from berth.validation.quota_claims import FleetQuotaClaims, collect_claims
from berth.validation.reachability import note_one_worker_per_job, worker_path
from berth.validation.resource_rates import check_resource_rates

Check = Callable[[FleetQuotaClaims, Problems], None]

MACHINE_CHECKS: tuple[Check, ...] = (
    capacity.check_guarantees,
    capacity.check_reserved_guarantees,
    check_reserved_times,
    capacity.check_provisioning_limits,
    capacity.check_provisioning_room,
    capacity.check_addresses,
    check_accelerator_addresses,
)
"""Checks on the machines of the fleet: skipped if a faulty pool was omitted from the plan."""

WORKER_CHECKS: tuple[Check, ...] = (
    capacity.check_reserved_guarantees,
    capacity.check_provisioning_limits,
    capacity.check_addresses,
    check_accelerator_addresses,
    advice.warn_exposure,
)
"""Checks on the machines of one cluster: they also run on each worker cluster that the stack creates."""

COMPLETENESS_CHECKS: tuple[Check, ...] = (
    capacity.warn_oversubscription,
    reachability.check_limits_reachable,
    reachability.check_queues_can_admit,
    check_resource_rates,
    check_eligibility,
    check_bucket_mounts,
    warn_emptied_buffers,
    advice.warn_idle_capacity,
    advice.warn_sharing,
    advice.warn_teams_without_queues,
    advice.warn_pod_preemption,
    advice.warn_known_holes,
    advice.warn_exposure,
)
"""Checks for missing parts: skipped if any faulty part of the stack file was omitted from the plan."""


def validate(planned: PlanningResult) -> tuple[Problem, ...]:
    """Return every problem of the plan and of the plan of each worker."""
    own_pools = planned.plan.own_pools
    own_held = tuple(each for each in planned.plan.held if {*each.pools} <= {pool.name for pool in own_pools})
    own_machines_only = replace(planned, plan=replace(planned.plan, pools=own_pools, held=own_held))
    problems, claims = Problems(), collect_claims(own_machines_only.plan, own_machines_only.origins)
    checks = (MACHINE_CHECKS if planned.machines_complete else ()) + (COMPLETENESS_CHECKS if planned.complete else ())
    for check in checks:
        check(claims, problems)
    worker_claims = {name: collect_claims(worker.plan, worker.origins) for name, worker in planned.workers.items()}
    for name, claims_on_worker in worker_claims.items():
        worker_problems = Problems()
        for check in WORKER_CHECKS if planned.machines_complete and planned.workers[name].made_here else ():
            check(claims_on_worker, worker_problems)
        problems.entries.extend(
            replace(problem, path=("workers", name, *problem.path)) for problem in worker_problems.entries
        )
    if planned.complete:
        note_one_worker_per_job(claims, worker_claims, problems)
    if not problems.has_faults() and not any(p.severity == Severity.FAULT for p in planned.problems):
        problems.entries.extend(check_kueue_rules(own_machines_only))
        for worker in planned.workers.values():
            problems.entries.extend(p for p in check_kueue_rules(worker) if p not in problems.entries)
    return tuple(replace(problem, path=worker_path(problem.path)) for problem in problems.entries)


def check_kueue_rules(planned: PlanningResult) -> tuple[Problem, ...]:
    """Return every rule of Kueue that the plan breaks, at the place of its cause.

    Call it only for a plan without other faults: most of those break a rule of Kueue too and would be reported twice.
    """
    return tuple(
        Problem(v.severity, v.code, (*planned.origins.get(v.ref, ()), *_stack_file_path(v.ref, v.path)), v.message)
        for v in fleet_violations(planned.plan, complete=planned.complete)
    )


def _stack_file_path(ref: ObjectRef, path: FieldPath) -> FieldPath:
    """Return the path in the stack file for a field that Kueue names differently."""
    keys: dict[tuple[str, FieldPath], FieldPath] = {
        ("flavor", ("topology",)): ("topologyAware",),
        ("admission check", ("name",)): ("admissionCheck",),
        ("admission check", ("parameters", "name")): ("provisioningRequestConfig",),
        ("provisioning config", ("name",)): ("provisioningRequestConfig",),
    }
    return keys.get((ref[0], path), path)
