"""Plan priorities, lowest first."""

from __future__ import annotations

from berth.plan.kueue import PriorityPlan
from berth.planner.context import PlanningContext


def plan_priorities(context: PlanningContext) -> tuple[PriorityPlan, ...]:
    """Return every priority, lowest first."""
    specs = sorted(context.spec.priorities.items(), key=lambda item: (item[1].value, item[0]))
    defaults = [name for name, spec in specs if spec.default]
    for name in defaults[1:]:
        message = f"'{defaults[0]}' is already the default, and a cluster has only one; remove default here"
        context.problems.fault("two-defaults", ("priorities", name, "default"), message)
    for name, _ in specs:
        context.origins["priority", name] = ("priorities", name)
        if name.startswith("system-"):
            message = f"'{name}' starts with system-, which Kubernetes reserves; write another name"
            context.problems.fault("bad-value", ("priorities", name), message)
    return tuple(
        PriorityPlan(
            name=name, value=spec.value, default=spec.default, preempts=spec.preempts, description=spec.description
        )
        for name, spec in specs
    )
