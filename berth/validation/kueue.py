"""Check the plan against Kueue's rules: objects that it would reject, and settings that have no effect."""

from __future__ import annotations

from berth.diagnostics import FieldPath, Problem
from berth.planner import PlanningResult
from berth.rules.kueue import fleet_violations
from berth.rules.kueue.rule import ObjectRef


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
