"""What Kueue would refuse at its door, or take and never act on: its own rules, held against the plan."""

from __future__ import annotations

from berth.diagnostics import Path, Problem
from berth.planner import Planned
from berth.rules.kueue import violations
from berth.rules.kueue.rule import Thing


def kueue_accepts(planned: Planned) -> tuple[Problem, ...]:
    """Every rule of Kueue's that the plan breaks, at the place of its cause.

    Asked of a plan without other faults: what the planner refuses breaks rules of Kueue's too, and once is enough.
    """
    return tuple(
        Problem(v.severity, v.code, (*planned.origins.get(v.thing, ()), *_key(v.thing, v.hint)), v.message)
        for v in violations(planned.plan, complete=planned.complete)
    )


def _key(thing: Thing, hint: Path) -> Path:
    """Where in the cause, for what the stack file calls otherwise than Kueue."""
    keys: dict[tuple[str, Path], Path] = {
        ("multikueue config", ("clusters",)): (),
        ("flavor", ("topology",)): ("topologyAware",),
        ("admission check", ("name",)): ("admissionCheck",),
        ("admission check", ("parameters", "name")): ("provisioningRequestConfig",),
        ("provisioning config", ("name",)): ("provisioningRequestConfig",),
        ("provisioning config", ("parameters", "maxRunDurationSeconds")): ("maxRunDuration",),
    }
    return keys.get((thing[0], hint), hint)
