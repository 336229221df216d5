"""What Kueue would refuse at its door, or take and never act on: its own rules, held against the plan."""

from __future__ import annotations

from berth.diagnostics import FieldPath, Problem
from berth.planner import PlannedFleet
from berth.rules.kueue import fleet_violations
from berth.rules.kueue.rule import ObjectRef


def check_kueue_rules(planned: PlannedFleet) -> tuple[Problem, ...]:
    """Every rule of Kueue's that the plan breaks, at the place of its cause.

    Asked of a plan without other faults: what the planner refuses breaks rules of Kueue's too, and once is enough.
    """
    return tuple(
        Problem(v.severity, v.code, (*planned.origins.get(v.ref, ()), *_stack_file_path(v.ref, v.path)), v.message)
        for v in fleet_violations(planned.plan, complete=planned.complete)
    )


def _stack_file_path(ref: ObjectRef, path: FieldPath) -> FieldPath:
    """Where in the cause, for what the stack file calls otherwise than Kueue."""
    keys: dict[tuple[str, FieldPath], FieldPath] = {
        ("flavor", ("topology",)): ("topologyAware",),
        ("admission check", ("name",)): ("admissionCheck",),
        ("admission check", ("parameters", "name")): ("provisioningRequestConfig",),
        ("provisioning config", ("name",)): ("provisioningRequestConfig",),
    }
    return keys.get((ref[0], path), path)
