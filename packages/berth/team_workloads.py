"""The workloads of a team as one component."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pulumi
from msgspec.structs import replace

from berth.backends.team_stack import evaluate_team_values
from berth.diagnostics import Problem, Severity
from berth.evaluate import Evaluation
from berth.outputs import output_mismatch
from berth.plan.team_stack import TeamStackPlan
from packages.berth.arguments import Arguments, as_mapping, read_arguments, refuse, warn
from packages.berth.fleet import evaluate_definition
from packages.berth.scopes import scope_below
from stacks import team


class TeamWorkloads(pulumi.ComponentResource):
    """Everything that a stack file under `berth:team` describes, below one component."""

    def __init__(self, name: str, args: Mapping[str, Any], opts: pulumi.ResourceOptions | None = None) -> None:
        arguments = read_arguments("TeamWorkloads", args)
        fleet = _evaluate_fleet(arguments)
        evaluation = evaluate_team_values(name, {**arguments.of_model("fleet"), "platform": fleet.stack}, fleet)
        of_fleet = [replace(each, path=("fleet", *each.path)) for each in fleet.problems]
        refuse(arguments, name, [*of_fleet, *evaluation.problems])
        plan = evaluation.plan
        assert isinstance(plan, TeamStackPlan)
        if "platform" in arguments.known and (mismatch := output_mismatch(arguments.known["platform"], plan)):
            refuse(arguments, name, [Problem(Severity.FAULT, "contradiction", ("platform",), mismatch)])
        super().__init__("berth:index:TeamWorkloads", name, None, opts)
        warn(self, evaluation.warnings)
        namespace = team.compose_team_stack(plan, scope_below(self, name, arguments), arguments.live.get("platform"))
        self.outputs: Mapping[str, pulumi.Input[Any]] = {"namespace": namespace, "workloads": sorted(plan.workloads)}
        self.register_outputs(dict(self.outputs))


def _evaluate_fleet(arguments: Arguments) -> Evaluation:
    """Evaluate the arguments of the fleet that the workloads run on."""
    definition = as_mapping(arguments.plain.get("fleet"))
    if definition is None:
        return Evaluation("fleet", None, None, ())  # its absence is a fault of the arguments
    name = str(definition.get("name", ""))
    if not name:
        message = "is missing; write the name that the Fleet has"
        return Evaluation("fleet", None, None, (Problem(Severity.FAULT, "missing-key", ("name",), message),))
    known = [replace(each, path=each.path[1:]) for each in arguments.problems if each.path[0] == "fleet"]
    return evaluate_definition(name, {key: each for key, each in definition.items() if key != "name"}, True, known)
