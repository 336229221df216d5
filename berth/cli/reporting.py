"""The verbs that show a fleet to people who do not sit at a terminal."""

from __future__ import annotations

import pathlib
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from berth.cli import comparison
from berth.cli import prices as costs
from berth.cli.arguments import FAULTS, SOUND, Stack, complain, root, sound
from berth.evaluate import Verdict, of_stack
from berth.loader.revisions import NoRevision

if TYPE_CHECKING:
    from berth.cost.prices import Prices
    from berth.report.timeline import Timeline
    from berth.report.view import Changed

Output = Annotated[pathlib.Path | None, typer.Option("-o", "--output", help="A file to write; stdout otherwise.")]


def add_to(app: typer.Typer) -> None:
    """Make these verbs commands of the app."""
    app.command("report", epilog="Example: berth report dev --since HEAD -o report.html")(_report)
    app.command("graph", epilog="Example: berth graph stacks/examples/quota-tree.yaml --format svg > tree.svg")(_graph)


def _report(
    stack: Stack,
    revision: Annotated[
        str | None, typer.Option("--since", metavar="REV", help="Show what changed where this branch left REV.")
    ] = None,
    prices: costs.PricesFile = None,
    jobs: Annotated[
        list[str] | None,
        typer.Option("--jobs", metavar="JOBS", help="Manifests or a scenario: show who gets in, and when; repeatable."),
    ] = None,
    output: Output = None,
) -> None:
    """Write the fleet as one HTML page.

    Capacity and guarantees as bars, the quota tree, who can preempt whom, pools, cost, changes, jobs by time, every
    warning. The page needs no other file and no network. A faulty stack has one too, and exits 1.
    """
    table = costs.prices(prices)
    verdict = of_stack(stack, root())
    costs.of_kueue(verdict, table)
    from berth.cost.fleet import cost
    from berth.report.page import page

    changed = None if revision is None or verdict.faults else _changed(stack, verdict, revision, table)
    priced = cost(verdict.plan, table) if verdict.plan and table else None
    timeline = _timeline(stack, jobs) if jobs and not verdict.faults else None
    _written(page(verdict, priced, changed, timeline), output)
    raise typer.Exit(FAULTS if verdict.faults else SOUND)


def _timeline(stack: str, jobs: list[str]) -> Timeline:
    """What becomes of the jobs on the queues of a stack, without a cluster; exit 1 where that cannot be told."""
    from berth.cli.admit import answer as admit
    from berth.cli.admit.timeline import of_story

    answer = admit.run([stack, *jobs], (), root())
    complain(answer.problems)
    if answer.faults:
        raise typer.Exit(FAULTS)
    return of_story(answer.stories[0])


def _changed(stack: str, new: Verdict, revision: str, prices: Prices | None) -> Changed:
    """What changed since a revision, or why that is not known; exit 1 where git knows no such revision."""
    from berth.cli.diff import costs as cost_changes
    from berth.cli.diff.report_parts import changed
    from berth.cost.fleet import cost
    from berth.diff.compare import Incomparable, compare
    from berth.report.view import Changed, Part

    try:
        old = comparison.verdict(comparison.since(stack, revision, root()), root(), called=new.stack)
    except NoRevision as error:
        typer.echo(f"{error}", err=True)
        raise typer.Exit(FAULTS) from None
    unknown = "What changed cannot be told: the stack had faults then."
    if old.faults or old.whole is None or new.whole is None:
        return Changed(revision, unknown, [Part("Faults", lines=[problem.line() for problem in old.faults])])
    priced: tuple[Part, ...] = ()
    if prices and old.plan and new.plan:
        priced = tuple(cost_changes.parts(cost(old.plan, prices), cost(new.plan, prices)))
    try:
        return changed(compare(old.whole, new.whole), revision, priced)
    except Incomparable as error:
        return Changed(revision, f"What changed cannot be told: {error}.", [])


def _graph(
    stack: Stack,
    form: Annotated[Literal["mermaid", "svg"], typer.Option("--format", help="What to draw it in.")] = "mermaid",
    output: Output = None,
) -> None:
    """Draw the quota tree.

    Cohorts and queues with what each is guaranteed and can reach at the most: text that GitHub draws, or a picture. Of
    a team's own stack, its queues with its workloads.
    """
    verdict = sound(stack, any_kind=True)
    from berth.report.mermaid import mermaid
    from berth.report.page import drawn
    from berth.report.svg import svg

    found = drawn(verdict)
    _written(mermaid(found) if form == "mermaid" else svg(found, f"Quota tree of {verdict.stack}"), output)


def _written(text: str, output: pathlib.Path | None) -> None:
    """To the file, or to stdout; a file that cannot be written is told, and exit 1."""
    if output is None:
        typer.echo(text, nl=False)
        return
    try:
        output.write_text(text, encoding="utf-8")
    except OSError as error:
        typer.echo(f"{output}: cannot be written: {error.strerror}", err=True)
        raise typer.Exit(FAULTS) from None
