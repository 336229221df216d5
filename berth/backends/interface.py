"""What a backend is: one object with the functions that verbs call for a stack of its kind."""

from __future__ import annotations

import pathlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, TypeVar

from berth.backends.table import StackPlan, load_backend
from berth.diagnostics import Problem
from berth.evaluate import Evaluation, PlannedStack, StackPlanner
from berth.loader import StackFile
from berth.plan.kueue import FlavorPlan

if TYPE_CHECKING:  # a verb loads what its own functions need
    from berth.cli.init.example import ExampleStack, InitAnswers, InitOption
    from berth.cost.fleet import FleetCost
    from berth.diff.changes import Changes, DependentChange
    from berth.diff.guard.preview import GuardReport
    from berth.diff.guard.preview_steps import EnginePreview, PreviewRules
    from berth.document import Block
    from berth.engine import References
    from berth.report.tree import TreeBox
    from berth.report.view import ReportBody
    from berth.workloads.options import WorkloadOptions, WorkloadResult

P = TypeVar("P", contravariant=True)


class Backend(StackPlanner, Protocol[P]):
    """The functions for stacks with a plan of class P.

    `title` names such a stack in messages, and `noun` in short. `unpriced` is why price tables do not apply to it.
    `program` is the module and the function that register the plan, and `extra` what has to be installed for that.
    """

    title: ClassVar[str]
    noun: ClassVar[str] = "fleet"
    unpriced: ClassVar[str | None] = None
    program: ClassVar[str]
    extra: ClassVar[str | None] = None

    def plan_stack(self, file: StackFile, load_problems: Sequence[Problem], root: pathlib.Path) -> PlannedStack:
        """Parse, plan and validate a stack file; `load_problems` are not reported again."""
        ...

    def objects(self, plan: P) -> Iterable[dict[str, object]]:
        """Return the Kubernetes objects, in an order in which they can be applied."""
        ...

    def compare(self, old: P, new: P) -> Changes:
        """Compare two plans of a stack, both without faults."""
        ...

    def dependents(self, old: Evaluation, new: Evaluation, root: pathlib.Path) -> Iterable[DependentChange]:
        """Return what the change takes from stacks of the repository that run on this one, by default nothing."""
        return ()

    def preview_rules(self, plan: P) -> PreviewRules:
        """Return what the guard has to know of the stack."""
        ...

    def as_json(self, evaluation: Evaluation, cost: FleetCost | None) -> Mapping[str, Any]:
        """Return the plan, its problems and its cost, if given, as JSON values."""
        ...

    def document(self, evaluation: Evaluation, cost: FleetCost | None) -> Iterator[Block]:
        """Yield the plan, its cost, if given, and its problems."""
        ...

    def report(self, evaluation: Evaluation) -> ReportBody | None:
        """Return the body of the report page; None without a plan."""
        ...

    def tree(self, evaluation: Evaluation) -> tuple[TreeBox, ...] | Problem:
        """Return the boxes of the quota tree of a stack without faults, or why there is none to draw."""
        ...

    def stand_in_references(self, evaluation: Evaluation, project: str) -> References:
        """Return outputs of other stacks of a Pulumi project, for a preview without them."""
        return {}

    def init_options(self, example: ExampleStack, answers: InitAnswers) -> tuple[InitOption, ...]:
        """Return what `berth init` asks for a new stack like an example, in the order of the prompts."""
        ...


class FleetBackend(Backend[P], Protocol[P]):
    """The functions for stacks whose teams submit jobs.

    In a new stack file, a cohort can have a quota (`cohort_quota`), and teams have Google Groups (`team_groups`).
    """

    cohort_quota: ClassVar[bool]
    team_groups: ClassVar[bool]

    def workload(self, evaluation: Evaluation, team: str, queue: str, options: WorkloadOptions) -> WorkloadResult:
        """Return the job for a queue of a team."""
        ...

    def share_unit(self, plan: P, flavor: FlavorPlan, amount: int) -> tuple[int, str | None]:
        """Return the accelerators in one unit in which teams share an amount of a flavor, and the unit's word.

        Whole nodes have no word: the stack file has the number of their accelerators.
        """
        ...


class IncomparablePlans(Exception):
    """The two stacks are of different kinds."""


def backend_of(stack: Evaluation | StackPlan) -> Backend[Any]:
    """Return the backend of an evaluated stack, or of a plan."""
    return load_backend(stack.backend)


def fleet_backend_of(evaluation: Evaluation) -> FleetBackend[Any] | None:
    """Return the backend of an evaluated stack; None if no team submits jobs to such a stack."""
    backend = load_backend(evaluation.backend)
    return backend if "jobs" in backend.offers else None


def compare(old: StackPlan, new: StackPlan) -> Changes:
    """Compare two plans of a stack, both without faults. Raises IncomparablePlans if their kinds differ."""
    before, after = backend_of(old), backend_of(new)
    if before is not after:
        raise IncomparablePlans(f"one is {before.title}, the other {after.title}")
    return after.compare(old, new)


def check_preview(
    preview: EnginePreview,
    plan: StackPlan,
    config: Mapping[str, object] | None = None,
    running: Mapping[str, int] | None = None,
) -> GuardReport:
    """Return the losses in a preview of the stack of `plan`, whose stack file has this `config`.

    `running` are the accelerators of each flavor that admitted jobs hold, where that is known.
    """
    from berth.diff.guard.capacity import guarding_what_runs
    from berth.diff.guard.preview import find_losses

    rules = guarding_what_runs(backend_of(plan).preview_rules(plan), plan, running or {})
    return find_losses(preview, rules, config)
