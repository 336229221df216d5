"""What Kueue would refuse at its door, or take and never act on: its own rules, held against the plan."""

from __future__ import annotations

from collections.abc import Mapping

from components.plan.fleet import FleetPlan
from stacks.planner import Planned
from stacks.problems import Path, Problem
from stacks.rules.kueue import violations
from stacks.rules.kueue.rule import Thing


def kueue_accepts(planned: Planned) -> tuple[Problem, ...]:
    """Every rule of Kueue's that the plan breaks, at the place of its cause.

    Asked of a plan without other faults: what the planner refuses breaks rules of Kueue's too, and once is enough.
    """
    pools = {flavor.name: flavor.pools[0] for flavor in planned.plan.flavors}
    doors = _doors(planned.plan)
    return tuple(
        Problem(v.severity, v.code, (*_cause(planned, v.thing, pools, doors), *_key(v.thing, v.hint)), v.message)
        for v in violations(planned.plan, complete=planned.complete)
    )


def _cause(planned: Planned, thing: Thing, pools: Mapping[str, str], doors: Mapping[str, str]) -> Path:
    kind, name = thing
    if kind == "flavor":
        return ("pools", pools[name])
    if kind == "local queue":
        return planned.origins.get(("cluster queue", doors[name]), ())
    if kind == "configuration":
        return ("kueue",)
    sections = {"cohort": "cohorts", "priority": "priorities"}
    return (sections[kind], name) if kind in sections else planned.origins.get(thing, ())


def _key(thing: Thing, hint: Path) -> Path:
    """Where in the cause, for what the stack file calls otherwise than Kueue."""
    keys: dict[tuple[str, Path], Path] = {
        ("admission check", ("name",)): ("admissionCheck",),
        ("admission check", ("parameters", "name")): ("provisioningRequestConfig",),
        ("provisioning config", ("name",)): ("provisioningRequestConfig",),
        ("provisioning config", ("parameters", "maxRunDurationSeconds")): ("maxRunDuration",),
    }
    return keys.get((thing[0], hint), hint)


def _doors(plan: FleetPlan) -> dict[str, str]:
    """`namespace/name` of a local queue to its cluster queue."""
    return {f"{d.namespace}/{d.name}": q.name for q in plan.cluster_queues for d in q.local_queues}
