"""A fleet on Google Cloud, whose queues are Kueue's."""

from __future__ import annotations

import pathlib
from collections.abc import Iterable, Iterator, Sequence
from math import gcd
from typing import TYPE_CHECKING, Any

from berth.backends.interface import FleetBackend
from berth.backends.old_tables import old_tables
from berth.diagnostics import Problem, format_path
from berth.evaluate import Evaluation, Need, PlannedStack
from berth.loader import StackFile
from berth.plan.fleet import FleetPlan
from berth.plan.kueue import FlavorPlan
from berth.planner import PlanningResult, plan_fleet
from berth.planner.left_out import left_out_paths
from berth.planner.machines.unlisted import with_machine_types
from berth.spec.parse import parse_fleet
from berth.validation import validate
from berth.validation.every_instant import at_every_instant
from berth.worker_stacks import worker_stack_problems

if TYPE_CHECKING:
    from berth.backends.interface import (
        Block,
        Changes,
        DependentChange,
        ExampleStack,
        FleetCost,
        InitAnswers,
        InitOption,
        PreviewRules,
        References,
        ReportBody,
        TreeBox,
        WorkloadOptions,
        WorkloadResult,
    )


class GkeBackend(FleetBackend[FleetPlan]):
    """The functions for fleets on Google Cloud."""

    title = "a fleet on Google Cloud"
    program = "stacks.platform:build_platform"
    offers: frozenset[Need] = frozenset({"kueue", "jobs"})
    refusal = None
    cohort_quota = team_groups = True

    def plan_stack(self, file: StackFile, load_problems: Sequence[Problem], root: pathlib.Path) -> PlannedStack:
        """Parse, plan and validate a stack file; `load_problems` are not reported again."""
        parsed = parse_fleet(file.fleet, load_problems)
        planned = plan_fleet(file.stack, parsed)
        problems = tuple(with_machine_types(problem, file.fleet) for problem in parsed.problems)
        if planned is None:
            return PlannedStack(None, problems)
        written = parsed.spec.workers if parsed.spec else {}

        def problems_now(result: PlanningResult | None) -> tuple[Problem, ...]:
            if result is None:
                return ()
            proofs = tuple(worker_stack_problems(result.plan, written, root)) if result.plan.workers else ()
            return result.problems + validate(result) + proofs

        plan = planned.plan
        pools = None if plan.workers else [pool.name for pool in plan.pools]
        paths = left_out_paths(file.fleet, parsed.set_aside, pools, set(planned.origins.values()))
        proved = at_every_instant(
            problems_now(planned), lambda: problems_now(plan_fleet(file.stack, parsed)), plan.calendar, plan.held
        )
        return PlannedStack(
            plan if parsed.has_frame else None,
            problems + proved + old_tables(),
            left_out=tuple(map(format_path, paths)),
            unread=parsed.problems if parsed.set_aside else (),
        )

    def objects(self, plan: FleetPlan) -> Iterable[dict[str, object]]:
        """Return the objects in one cluster, without the patch of webhooks that Kueue's chart makes."""
        from berth.manifests.fleet import all_manifests
        from berth.manifests.serving.webhooks import without_patch

        return map(without_patch, all_manifests(plan))

    def compare(self, old: FleetPlan, new: FleetPlan) -> Changes:
        """Compare two plans of a fleet, both without faults."""
        from berth.diff.compare import compare_fleets

        return compare_fleets(old, new)

    def dependents(self, old: Evaluation, new: Evaluation, root: pathlib.Path) -> Iterable[DependentChange]:
        """Return what the change takes from teams' own stacks of the repository."""
        from berth.backends.team_stacks_here import team_stack_changes

        return team_stack_changes(old, new, root)

    def preview_rules(self, plan: FleetPlan) -> PreviewRules:
        """Return what the guard has to know of the fleet."""
        from berth.diff.guard.fleet_rules import fleet_rules

        return fleet_rules(plan)

    def as_json(self, evaluation: Evaluation, cost: FleetCost | None) -> dict[str, Any]:
        """Return the plan, its problems and its cost, if given, as JSON values (docs/plan.md)."""
        from berth.cli.plan.fleet import fleet_plan_as_json

        return fleet_plan_as_json(evaluation, cost)

    def document(self, evaluation: Evaluation, cost: FleetCost | None) -> Iterator[Block]:
        """Yield a summary, capacity, pools, teams, who can preempt whom, cost, problems."""
        from berth.overview.fleet import fleet_document

        return fleet_document(evaluation, cost)

    def report(self, evaluation: Evaluation) -> ReportBody | None:
        """Return the body of the report page; None without a plan."""
        from berth.report.fleet import fleet_body

        return None if evaluation.fleet_plan is None else fleet_body(evaluation.fleet_plan)

    def tree(self, evaluation: Evaluation) -> tuple[TreeBox, ...]:
        """Return the boxes of cohorts and queues."""
        from berth.report.tree import quota_tree_boxes

        return () if evaluation.fleet_plan is None else quota_tree_boxes(evaluation.fleet_plan)

    def workload(self, evaluation: Evaluation, team: str, queue: str, options: WorkloadOptions) -> WorkloadResult:
        """Return the job for a local queue of a team, or the faults of `berth lint` on it."""
        from berth.lint.made_jobs import linted_workload

        written = None if evaluation.file is None else evaluation.file.fleet
        return linted_workload(evaluation.fleet, written, team, queue, options)

    def stand_in_references(self, evaluation: Evaluation, project: str) -> References:
        """Return a kubeconfig that reaches no cluster, for each worker of another stack."""
        from berth import outputs

        kubeconfig = {outputs.KUBECONFIG_OUTPUT: outputs.PLACEHOLDER_KUBECONFIG}
        workers = evaluation.fleet_plan.workers if evaluation.fleet_plan else ()
        return {worker.stack: (kubeconfig, {outputs.KUBECONFIG_OUTPUT}) for worker in workers if worker.stack}

    def init_options(self, example: ExampleStack, answers: InitAnswers) -> tuple[InitOption, ...]:
        """Return the options for the project and the place of the cluster, or an existing one, and for teams."""
        from berth.cli.init.example import fleet_options

        return fleet_options(example, answers)

    def share_unit(self, plan: FleetPlan, flavor: FlavorPlan, amount: int) -> tuple[int, str | None]:
        """Return the accelerators of a slice, a sub-block of dynamic slices, or a whole number of nodes."""
        if flavor.slicing is not None:
            return flavor.slicing.block_chips, "sub-block"
        pools = [pool for pool in plan.pools if pool.flavor == flavor.name]
        if all(pool.slices for pool in pools):
            return flavor.unit, "slice"
        nodes = (pool.accelerators.max // pool.nodes.max for pool in pools if pool.nodes.max)
        return gcd(amount, *nodes), None


BACKEND = GkeBackend()
