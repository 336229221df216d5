"""Compute classes in `berth plan`, as text and as JSON."""

from __future__ import annotations

from typing import Any

from berth.cli.tables import table
from berth.plan.compute_classes import ClassPriorityPlan, ComputeClassPlan
from berth.plan.fleet import FleetPlan


def text(plan: FleetPlan) -> str:
    """Return a table with a row for each priority; "" without compute classes."""
    rows = [
        ["" if number else each.name, str(number + 1), _provisioning_model(priority), _machine(priority)]
        for each in plan.compute_classes
        for number, priority in enumerate(each.priorities)
    ]
    return table(["Compute classes", "", "from", "machine"], rows, right=(1,)) if rows else ""


def as_json(plan: ComputeClassPlan) -> dict[str, Any]:
    """Return a compute class as JSON values (docs/plan.md)."""
    return {
        "name": plan.name,
        "whenUnsatisfiable": plan.when_unsatisfiable,
        "priorities": [
            {"accelerator": _machine(p), "capacity": _provisioning_model(p), "zones": list(p.zones)}
            for p in plan.priorities
        ],
    }


def _machine(priority: ClassPriorityPlan) -> str:
    """Return the machine or slice of one priority."""
    return f"{priority.tpu.type} {priority.tpu.topology}" if priority.tpu else str(priority.machine_type)


def _provisioning_model(priority: ClassPriorityPlan) -> str:
    """Return the provisioning model of one priority, as the stack file spells it."""
    if priority.reservations:
        return f"reservation {priority.reservations[0].name}"
    if priority.affinity == "AnyBestEffort":
        return "any-reservation"
    return "spot" if priority.spot else "flex-start" if priority.flex_start else "on-demand"
