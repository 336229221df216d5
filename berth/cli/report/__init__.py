"""`berth report`: the fleet as one HTML page."""

from __future__ import annotations

import pathlib
from datetime import UTC, datetime
from importlib.metadata import version
from typing import TYPE_CHECKING, Annotated

import typer
from msgspec.structs import replace

from berth.cli import comparison
from berth.cli import prices as costs
from berth.cli.arguments import (
    EXIT_FAULTS,
    EXIT_OK,
    Output,
    StackArgument,
    exit_with_error,
    google_fleet,
    print_problems,
    project_root,
    write_output,
)
from berth.document import Heading, Note, ProblemList, Table
from berth.evaluate import Evaluation, evaluate_stack
from berth.loader.revisions import RevisionNotFound

if TYPE_CHECKING:
    from berth.cli.admit.simulate import SimulationResult
    from berth.cost.prices import Prices
    from berth.report.page import LiveView, TraceView
    from berth.report.timeline import Timeline
    from berth.report.usage_plot import UsageView
    from berth.report.view import ChangeSummary

EPILOG = "Example: berth report dev --since HEAD -o report.html"


def report_command(
    stack: StackArgument,
    revision: Annotated[
        str | None, typer.Option("--since", metavar="REV", help="Add the changes since this branch left REV.")
    ] = None,
    prices: costs.PricesFile = None,
    jobs: Annotated[
        list[str] | None,
        typer.Option(
            "--jobs", metavar="JOBS", help="Manifests or a scenario to simulate; adds a timeline of jobs; repeatable."
        ),
    ] = None,
    metrics: Annotated[
        list[pathlib.Path] | None,
        typer.Option(
            "--metrics", metavar="FILE", help="Answers of Prometheus (berth usage --queries); adds what teams used."
        ),
    ] = None,
    live: Annotated[
        pathlib.Path | None,
        typer.Option(
            "--live",
            metavar="FILE",
            help="The output of `kubectl get workloads,clusterqueues -A -o json`; adds what the cluster holds now.",
        ),
    ] = None,
    trace: Annotated[
        pathlib.Path | None,
        typer.Option(
            "--trace",
            metavar="FILE",
            help="A trace of jobs to simulate (berth simulate); adds use and waiting by time.",
        ),
    ] = None,
    output: Output = None,
) -> None:
    """Write the fleet as one HTML page.

    Shows capacity and guarantees, the quota tree, who can preempt whom, pools, cost, changes, a timeline of jobs, what
    teams used of their guarantees, what a cluster holds now, what a trace of jobs meets, and every warning. The page
    needs no other file and no network. A stack with faults has a page too; with -o they are also printed, and the exit
    status is 1.
    """
    price_table = costs.load_prices(prices)
    evaluation = evaluate_stack(stack, project_root())
    costs.require_priceable(evaluation, price_table)
    from berth.cost.fleet import fleet_cost
    from berth.loader.revisions import current_commit
    from berth.report.page import render_page
    from berth.report.view import ReportOrigin

    changes = (
        None if revision is None or evaluation.faults else _changes_since(stack, evaluation, revision, price_table)
    )
    fleet_cost = fleet_cost(evaluation.fleet_plan, price_table) if evaluation.fleet_plan and price_table else None
    live_section = _live(evaluation, live, with_jobs=bool(jobs)) if live and not evaluation.faults else None
    simulation = _simulate(stack, evaluation, jobs, live) if jobs and not evaluation.faults else None
    timeline = None if simulation is None else _timeline(simulation, live)
    usage = _usage(evaluation, metrics) if metrics and not evaluation.faults else None
    traced = _trace(evaluation, trace, price_table) if trace and not evaluation.faults else None
    origin = ReportOrigin(datetime.now(UTC).date().isoformat(), version("berth"), current_commit(project_root()))
    write_output(render_page(evaluation, fleet_cost, changes, timeline, origin, usage, live_section, traced), output)
    if output is not None:
        print_problems(evaluation.faults)
    has_faults = evaluation.faults or (simulation is not None and simulation.faults)
    raise typer.Exit(EXIT_FAULTS if has_faults else EXIT_OK)


def _live(evaluation: Evaluation, file: pathlib.Path, *, with_jobs: bool) -> LiveView:
    """Return what a cluster holds; print the problems of the file unless a simulation does, exit 1 if it is invalid."""
    from berth.cli.report.live import live_view

    plan = google_fleet(evaluation, "is no fleet with queues of Kueue", "--live")
    return live_view(file, plan, prints_warnings=not with_jobs)


def _simulate(stack: str, evaluation: Evaluation, jobs: list[str], live: pathlib.Path | None) -> SimulationResult:
    """Simulate jobs, after those of a live cluster if it is given; print the problems, and exit 1 without a result."""
    from berth.cli.admit import simulate

    simulation = simulate.run_stacks([stack], jobs, [live] if live else [], project_root(), known={stack: evaluation})
    print_problems(simulation.problems)
    if not simulation.stories:
        raise typer.Exit(EXIT_FAULTS)
    return simulation


def _timeline(simulation: SimulationResult, live: pathlib.Path | None) -> Timeline:
    """Return the jobs of a simulation by time, with a note where it starts from a live cluster."""
    from berth.cli.admit.timeline import story_timeline

    timeline = story_timeline(simulation.stories[0])
    notes = () if live is None else (Note([f"Step 0 is the state in {live.name}."]),)
    rows = [
        (each.object_name, each.queue or "–", each.verdict, "; ".join(reason.message for reason in each.reasons))
        for _, each in simulation.findings
    ]
    verdicts = Table("Whether the jobs run", ("job", "queue", "verdict", "why"), rows, wide=(3,))
    return replace(timeline, document=(*timeline.document, verdicts, *notes))


def _usage(evaluation: Evaluation, metrics: list[pathlib.Path]) -> UsageView:
    """Return what teams used according to metrics; print the faults and exit 1 if there are any."""
    from berth.cli.usage import answer
    from berth.cli.usage.tables import usage_view

    plan = google_fleet(evaluation, "is no fleet with metrics of Kueue", "--metrics")
    result = answer.measure_usage(plan, metrics, None, None, None)
    print_problems(result.problems)
    if result.report is None:
        raise typer.Exit(EXIT_FAULTS)
    return usage_view(result.report)


def _trace(evaluation: Evaluation, file: pathlib.Path, prices: Prices | None) -> TraceView:
    """Return what a trace of jobs meets on the stack; print the problems, and exit 1 with a fault."""
    from berth.cli.simulate import answer, output
    from berth.cli.simulate.picture import simulation_svg
    from berth.cli.simulate.wait_picture import waits_svg
    from berth.report.page import TraceView

    request = answer.Request(stacks=(evaluation.stack,), trace=file, prices=prices)
    result = answer.simulate(request, project_root(), evaluation)
    print_problems(result.problems)
    if not result.summaries:
        raise typer.Exit(EXIT_FAULTS)
    summary = result.summaries[0]
    return TraceView(
        trace=file.name,
        over_time=simulation_svg(summary),
        waits=waits_svg(summary),
        document=tuple(output.trace_document(result)),
    )


def _changes_since(stack: str, new: Evaluation, revision: str, prices: Prices | None) -> ChangeSummary:
    """Return what changed since a revision, or why it cannot be shown; exit 1 if git has no such revision."""
    from berth.backends.interface import IncomparablePlans
    from berth.cost.fleet import fleet_cost
    from berth.cost.text import cost_change_blocks
    from berth.diff.document import changes_document
    from berth.report.view import ChangeSummary

    try:
        old = comparison.evaluate_revision(
            comparison.at_merge_base(stack, revision, project_root()), project_root(), stack_name=new.stack
        )
    except RevisionNotFound as error:
        exit_with_error(error)
    if old.faults or old.plan is None or new.plan is None:
        message = "The changes cannot be shown, because the stack had faults at that revision."
        return ChangeSummary(revision, [Heading(message), ProblemList("Faults", old.faults)])
    try:
        changes = comparison.changes_between(old, comparison.with_project(new, stack, project_root()))
    except IncomparablePlans as error:
        return ChangeSummary(revision, [Heading(f"The changes cannot be shown: {error}.")])
    document = list(changes_document(changes))
    if prices and old.fleet_plan and new.fleet_plan:
        document += cost_change_blocks(fleet_cost(old.fleet_plan, prices), fleet_cost(new.fleet_plan, prices))
    return ChangeSummary(revision, document)
