"""A team's own stack: its workloads, on the cluster of its platform's stack."""

from __future__ import annotations

import os
import pathlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

from berth.backends.interface import Backend, backend_of
from berth.backends.table import TEAM_KEY
from berth.diagnostics import Problem, Severity
from berth.evaluate import Evaluation, Need, PlannedStack, evaluate_stack
from berth.loader import SourceMap, StackFile, locate
from berth.plan.team_stack import TeamStackPlan
from berth.spec.team_stack import parse_team_stack
from berth.team_stack import plan_team_stack

if TYPE_CHECKING:
    from berth.backends.interface import (
        Block,
        Changes,
        ExampleStack,
        FleetCost,
        InitAnswers,
        InitOption,
        PreviewRules,
        References,
        ReportBody,
        TreeBox,
    )


class TeamStackBackend(Backend[TeamStackPlan]):
    """The functions for teams' own stacks."""

    title = "a team's own stack"
    noun = "stack"
    program = "stacks.team:build_team_stack"
    offers: frozenset[Need] = frozenset()
    refusal = Problem(
        Severity.FAULT,
        "wrong-kind",
        (),
        "this is a team's own stack, but the command needs a fleet; write the stack of its platform",
    )
    unpriced = "a team's own stack has no machines; remove --prices, or name the platform's stack"

    def plan_stack(self, file: StackFile, load_problems: Sequence[Problem], root: pathlib.Path) -> PlannedStack:
        """Parse and plan a stack file, with the plan of its platform instead of deployed outputs."""
        spec, problems, faulty = parse_team_stack(cast("dict[str, object]", file.fleet))
        if spec is None:
            return PlannedStack(None, tuple(problems))
        located = locate(spec.platform, root)
        if located.stack == file.stack:
            message = f"'{spec.platform}' is this stack itself; write the stack of the platform"
            return PlannedStack(None, (*problems, _platform_fault(message)))
        # Read the platform's file from the same project and revision, not from the current directory.
        platform_file = root / spec.platform
        is_named = located.by_name or not os.path.isfile(platform_file)
        platform = evaluate_stack(spec.platform if is_named else str(platform_file), root)
        if platform.fleet_plan is None or platform.file is None or platform.faults:
            fault = _platform_fault(_why_no_platform(spec.platform, platform))
            return PlannedStack(None, (*problems, fault), platform)
        plan, more = plan_team_stack(file.stack, located.stack, spec, faulty, platform.fleet_plan, platform.file.fleet)
        return PlannedStack(plan, (*problems, *more), platform, unread=tuple(problems))

    def objects(self, plan: TeamStackPlan) -> Iterable[dict[str, object]]:
        """Return the files and the workloads."""
        from berth.manifests.workloads.objects import team_stack_manifests

        return team_stack_manifests(plan)

    def compare(self, old: TeamStackPlan, new: TeamStackPlan) -> Changes:
        """Compare two plans of a stack, both without faults."""
        from berth.diff.changes import Changes
        from berth.diff.guard.allowances import IdleAllowance
        from berth.diff.workloads import compare_files, compare_team_objects, compare_workloads, moved_to_cluster

        losses = tuple(moved_to_cluster(old, new))
        idle: Mapping[str, str] = {} if losses else new.allowed_changes
        return Changes(
            stack=new.stack,
            workloads=tuple(compare_workloads(old, new)),
            files=tuple(compare_files(old, new)),
            objects=compare_team_objects(old, new),
            losses=losses,
            idle=tuple(IdleAllowance("allowChange", key, reason) for key, reason in idle.items()),
        )

    def preview_rules(self, plan: TeamStackPlan) -> PreviewRules:
        """Return that only the cluster is guarded, and that each workload and file is a resource."""
        from berth.diff.workloads import team_rules

        return team_rules(plan)

    def as_json(self, evaluation: Evaluation, cost: FleetCost | None) -> dict[str, Any]:
        """Return the plan and its problems as JSON values (docs/team-stacks.md)."""
        from berth.cli.plan.team_stack import team_plan_as_json

        return team_plan_as_json(evaluation)

    def document(self, evaluation: Evaluation, cost: FleetCost | None) -> Iterator[Block]:
        """Yield a summary, the team's limits, what it deploys, the rights for it, problems."""
        from berth.overview.team_stack import team_stack_document

        return team_stack_document(evaluation)

    def report(self, evaluation: Evaluation) -> ReportBody | None:
        """Return the body of the report page; None without a plan."""
        from berth.report.team import team_body

        plan, platform = evaluation.plan, evaluation.platform_evaluation
        if not isinstance(plan, TeamStackPlan) or platform is None or platform.fleet_plan is None:
            return None
        return team_body(plan, platform.fleet_plan)

    def tree(self, evaluation: Evaluation) -> tuple[TreeBox, ...]:
        """Return the boxes of the team's queues in its platform's tree, with its workloads."""
        from berth.report.team import team_boxes

        plan, platform = evaluation.plan, evaluation.platform_evaluation
        assert isinstance(plan, TeamStackPlan) and platform is not None and platform.fleet_plan is not None
        return team_boxes(plan, platform.fleet_plan)

    def stand_in_references(self, evaluation: Evaluation, project: str) -> References:
        """Return the outputs that the platform's stack will have, from its plan."""
        from berth import outputs

        plan, platform = evaluation.plan, evaluation.platform_evaluation
        if not isinstance(plan, TeamStackPlan) or platform is None or platform.fleet_plan is None:
            return {}
        exported = outputs.placeholder_outputs(platform.fleet_plan)
        return {f"organization/{project}/{plan.platform}": (exported, {outputs.KUBECONFIG_OUTPUT})}

    def init_options(self, example: ExampleStack, answers: InitAnswers) -> tuple[InitOption, ...]:
        """Return the options for the platform and the team."""
        from berth.cli.init.example import InitOption
        from berth.spec.base import DnsLabel, NonEmptyText

        return (
            InitOption("platform", NonEmptyText, f"Platform's stack ({example.value_at('platform')})", ("platform",)),
            InitOption("team", DnsLabel, f"Team ({example.value_at('team')})", ("team",)),
        )


def evaluate_team_values(name: str, team: Mapping[str, object], platform: Evaluation) -> Evaluation:
    """Evaluate a team's workloads of plain values, for an evaluated platform; with faults in that, only their keys.

    The key `platform` of `team` is what messages call the platform.
    """
    file = StackFile(name, None, team, SourceMap(), {}, TEAM_KEY)
    spec, problems, faulty = parse_team_stack(team)
    plan = None
    if spec is not None and platform.fleet_plan is not None and platform.file is not None and not platform.faults:
        plan, more = plan_team_stack(name, spec.platform, spec, faulty, platform.fleet_plan, platform.file.fleet)
        problems += more
    return Evaluation(name, file, plan, tuple(problems), platform)


def _platform_fault(message: str) -> Problem:
    return Problem(Severity.FAULT, "no-platform", ("platform",), message)


def _why_no_platform(name: str, platform: Evaluation) -> str:
    backend = backend_of(platform)
    if backend is BACKEND:
        return f"'{name}' is {backend.title}; write the stack of the platform"
    if "kueue" not in backend.offers:
        return f"'{name}' is {backend.title}, which does not support team stacks; write a platform on Google Cloud"
    if platform.file is None and len(platform.faults) == 1 and not platform.faults[0].place:
        return platform.faults[0].message
    return f"the platform '{name}' has faults; run berth check {name}"


BACKEND = TeamStackBackend()
