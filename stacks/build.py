"""Select the composition of a stack, and import only that, because a fleet needs only its own cloud's provider."""

from __future__ import annotations

import importlib
from typing import Any

import pulumi

from berth.backends.interface import backend_of
from berth.backends.table import StackPlan
from berth.evaluate import Evaluation


def build_stack(evaluation: Evaluation) -> dict[str, Any]:
    """Register a valid stack and return its outputs. Raises RunError, which the engine prints without a traceback."""
    plan, backend = buildable_plan(evaluation), backend_of(evaluation)
    module, _, function = backend.program.partition(":")
    try:
        program = importlib.import_module(module)
    except ModuleNotFoundError as error:
        if backend.extra is None or str(error.name).startswith("stacks"):
            raise
        needed = f"{backend.title} needs its provider; run: pip install -e '.[{backend.extra}]'"
        raise pulumi.RunError(needed) from None
    return getattr(program, function)(plan)


def buildable_plan(evaluation: Evaluation) -> StackPlan:
    """Return the plan of a stack that may be built, and log its warnings. Raises RunError."""
    if evaluation.faults or evaluation.plan is None:
        raise pulumi.RunError(
            "\n".join(
                [f"stack '{evaluation.stack}' has faults:", *(p.line_without_severity() for p in evaluation.faults)]
            )
        )
    for problem in evaluation.warnings:
        pulumi.log.warn(problem.line_without_severity())
    return evaluation.plan
