"""A fleet on Alibaba Cloud: member clusters of an ACK One fleet, with a quota tree or without."""

from __future__ import annotations

import pathlib
from collections.abc import Iterable, Iterator, Sequence
from math import gcd
from typing import TYPE_CHECKING, Any

from berth.backends.interface import FleetBackend
from berth.diagnostics import Problem, Severity, format_path
from berth.evaluate import Evaluation, Need, PlannedStack
from berth.loader import StackFile
from berth.plan.ack import AckFleetPlan
from berth.plan.kueue import FlavorPlan
from berth.planner.ack.fleet import AckPlanningResult, plan_ack
from berth.planner.left_out import left_out_paths
from berth.spec.ack import AckFleetSpec
from berth.spec.parse import parse_as
from berth.validation.ack import validate_ack
from berth.validation.every_instant import at_every_instant

if TYPE_CHECKING:
    from berth.backends.interface import (
        Block,
        Changes,
        ExampleStack,
        FleetCost,
        InitAnswers,
        InitOption,
        PreviewRules,
        ReportBody,
        TreeBox,
        WorkloadOptions,
        WorkloadResult,
    )


class AckBackend(FleetBackend[AckFleetPlan]):
    """The functions for fleets on Alibaba Cloud."""

    title = "a fleet on Alibaba Cloud"
    program = "stacks.ack:build_ack_fleet"
    extra = "ack"
    offers: frozenset[Need] = frozenset({"jobs"})
    refusal = Problem(
        Severity.FAULT,
        "wrong-backend",
        ("ack",),
        "this command supports only fleets with Kueue, not an ACK One fleet; write a stack on Google Cloud",
    )
    cohort_quota = team_groups = False
    unpriced = "price tables cover machines on Google Cloud, and this fleet has none; remove --prices"

    def plan_stack(self, file: StackFile, load_problems: Sequence[Problem], root: pathlib.Path) -> PlannedStack:
        """Parse, plan and validate a stack file; `load_problems` are not reported again."""
        parsed = parse_as(AckFleetSpec, file.fleet, load_problems)
        planned = plan_ack(file.stack, parsed)
        if planned is None:
            return PlannedStack(None, parsed.problems)

        def problems_now(result: AckPlanningResult | None) -> tuple[Problem, ...]:
            return () if result is None else result.problems + validate_ack(result)

        paths = left_out_paths(file.fleet, parsed.set_aside, None, set(planned.origins.values()))
        proved = at_every_instant(
            problems_now(planned), lambda: problems_now(plan_ack(file.stack, parsed)), planned.plan.calendar
        )
        return PlannedStack(
            planned.plan if parsed.has_frame else None,
            parsed.problems + proved,
            left_out=tuple(map(format_path, paths)),
            unread=parsed.problems if parsed.set_aside else (),
        )

    def objects(self, plan: AckFleetPlan) -> Iterable[dict[str, object]]:
        """Return the objects in the ACK One fleet."""
        from berth.manifests.ack import ack_manifests

        return ack_manifests(plan)

    def compare(self, old: AckFleetPlan, new: AckFleetPlan) -> Changes:
        """Compare two plans of a fleet, both without faults."""
        from berth.diff.ack.compare import compare_ack_fleets

        return compare_ack_fleets(old, new)

    def preview_rules(self, plan: AckFleetPlan) -> PreviewRules:
        """Return what the guard has to know of the fleet."""
        from berth.diff.ack.compare import ack_rules

        return ack_rules(plan)

    def as_json(self, evaluation: Evaluation, cost: FleetCost | None) -> dict[str, Any]:
        """Return the plan and its problems as JSON values (docs/backends.md); without a plan, as of any fleet."""
        from berth.cli.plan import ack, fleet

        return fleet.fleet_plan_as_json(evaluation) if evaluation.plan is None else ack.ack_plan_as_json(evaluation)

    def document(self, evaluation: Evaluation, cost: FleetCost | None) -> Iterator[Block]:
        """Yield a summary, capacity, members, teams, the quota tree, problems."""
        from berth.overview.ack import ack_document

        return ack_document(evaluation)

    def report(self, evaluation: Evaluation) -> ReportBody | None:
        """Return the body of the report page; None without a plan."""
        from berth.report.ack import ack_body

        return ack_body(evaluation.plan) if isinstance(evaluation.plan, AckFleetPlan) else None

    def tree(self, evaluation: Evaluation) -> tuple[TreeBox, ...] | Problem:
        """Return the boxes of the quota tree, or a fault for a fleet without one."""
        from berth.report.ack import ack_boxes

        assert isinstance(evaluation.plan, AckFleetPlan)
        if evaluation.plan.quotas is None:
            message = "the fleet has no quota tree to draw; berth plan shows its members and teams"
            return Problem(Severity.FAULT, "wrong-kind", ("ack", "fleet", "quotaTree"), message)
        return ack_boxes(evaluation.plan)

    def workload(self, evaluation: Evaluation, team: str, queue: str, options: WorkloadOptions) -> WorkloadResult:
        """Return the PyTorchJob for a leaf of the quota tree; `queue` is a namespace in a fleet without one."""
        from berth.manifests.ack import training_job
        from berth.workloads.ack import derive_ack_workload
        from berth.workloads.options import WorkloadResult

        assert isinstance(evaluation.plan, AckFleetPlan)
        derived = derive_ack_workload(evaluation.plan, team, queue, options)
        return WorkloadResult((training_job(derived.job),) if derived.job else (), derived.notes, derived.problems)

    def init_options(self, example: ExampleStack, answers: InitAnswers) -> tuple[InitOption, ...]:
        """Return the options for the region and for teams."""
        from berth.cli.init.example import TEAMS, InitOption
        from berth.spec.ack import AlibabaRegion

        return (InitOption("region", AlibabaRegion, "Alibaba Cloud region", ("ack", "region"), required=True), TEAMS)

    def share_unit(self, plan: AckFleetPlan, flavor: FlavorPlan, amount: int) -> tuple[int, str | None]:
        """Return the GPUs of a whole number of nodes."""
        pools = [pool for member in plan.members for pool in member.node_pools if pool.flavor == flavor.name]
        return gcd(amount, *(pool.gpus for pool in pools)), None


BACKEND = AckBackend()
