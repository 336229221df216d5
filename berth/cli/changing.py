"""The verbs on changes."""

from __future__ import annotations

import pathlib
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from berth.cli import prices as costs
from berth.cli import terminal
from berth.cli.arguments import (
    EXIT_BLOCKED,
    EXIT_FAULTS,
    EXIT_OK,
    JsonOption,
    StackArgument,
    evaluate_or_exit,
    format_json,
    print_problems,
    project_root,
)
from berth.cli.comparison import StackRevision, at_merge_base, evaluate_revision, parse_revision
from berth.evaluate import Evaluation
from berth.loader.revisions import RevisionNotFound

if TYPE_CHECKING:
    from berth.cost.prices import Prices

OutputFormat = Literal["text", "markdown", "json"]


def add_to(app: typer.Typer) -> None:
    """Make these verbs commands of the app."""
    app.command("diff", epilog="Example: berth diff dev --since main --format markdown")(_diff)
    app.command("guard", epilog="Example: berth guard dev preview.json")(_guard)
    app.command("rotate", epilog="Example: berth rotate dev v5e --set topology=4x4")(_rotate)
    app.command("drain", epilog="Example: berth drain dev -o build/drained/Pulumi.dev.yaml")(_drain)
    app.command("split", epilog="Example: berth split dev --most 500")(_split)


def _diff(
    old: Annotated[
        str, typer.Argument(metavar="OLD", help="A stack's name, a file, or either at a revision: main:dev.")
    ],
    new: Annotated[str | None, typer.Argument(metavar="NEW", help="The same, for what it becomes.")] = None,
    revision: Annotated[
        str | None, typer.Option("--since", metavar="REV", help="Compare OLD with itself, where this branch left REV.")
    ] = None,
    output_format: Annotated[
        OutputFormat, typer.Option("--format", help="For a terminal, a comment or a program.")
    ] = "text",
    prices: costs.PricesFile = None,
) -> None:
    """Say what a change means, for whom.

    Who gains and loses, which machines are replaced or deleted and why, which objects change. Exits 3 when something
    would be lost that the stack file does not allow.
    """
    if (new is None) == (revision is None):
        raise typer.BadParameter("write OLD NEW, or STACK --since REV")
    price_table = costs.load_prices(prices)
    try:
        before = parse_revision(old) if revision is None else at_merge_base(old, revision, project_root())
        _print_changes(before, parse_revision(new or old), output_format, price_table)
    except RevisionNotFound as error:
        typer.echo(f"{error}", err=True)
        raise typer.Exit(EXIT_FAULTS) from None


def _print_changes(
    before: StackRevision, after: StackRevision, output_format: OutputFormat, prices: Prices | None
) -> None:
    from berth.cli.diff import costs as cost_changes
    from berth.cli.diff import markdown, plain_text
    from berth.cost.fleet import fleet_cost
    from berth.diff.compare import IncomparablePlans, compare

    evaluations = _evaluate_both(before, after)
    costs.require_priceable(evaluations[1], prices)
    old, new = (each.plan_of_any_kind for each in evaluations)
    assert old is not None
    assert new is not None
    try:
        changes = compare(old, new)
    except IncomparablePlans as error:
        typer.echo(f"{before.label} and {after.label} cannot be compared: {error}", err=True)
        raise typer.Exit(EXIT_FAULTS) from None
    fleet_plans = [each.plan for each in evaluations if each.plan is not None]
    cost_pair = (fleet_cost(fleet_plans[0], prices), fleet_cost(fleet_plans[1], prices)) if prices else None
    if output_format == "json":
        cost_json = {"cost": cost_changes.as_json(*cost_pair)} if cost_pair else {}
        typer.echo(format_json({**plain_text.as_json(changes, before.label, after.label), **cost_json}))
    elif output_format == "text":
        typer.echo(plain_text.text(changes) + (f"\n\n{cost_changes.text(*cost_pair)}" if cost_pair else ""))
    else:
        typer.echo(
            markdown.render_markdown(changes) + (f"\n{cost_changes.markdown(*cost_pair)}" if cost_pair else ""),
            nl=False,
        )
    raise typer.Exit(EXIT_BLOCKED if changes.blocked else EXIT_OK)


def _evaluate_both(before: StackRevision, after: StackRevision) -> tuple[Evaluation, Evaluation]:
    """The verdicts on both sides, as of one stack; where one has a fault, all are told, and exit 1."""
    with terminal.progress("planning both"):
        new = evaluate_revision(after, project_root())
        old = evaluate_revision(before, project_root(), stack_name=new.stack)
    faults = (*old.faults, *(fault for fault in new.faults if fault not in old.faults))
    if faults:
        print_problems(faults)
        raise typer.Exit(EXIT_FAULTS)
    return old, new


def _guard(
    stack: StackArgument,
    preview: Annotated[typer.FileText, typer.Argument(metavar="PREVIEW", help="What the engine printed; - is stdin.")],
    as_json: JsonOption = False,
) -> None:
    """Judge what the engine is about to do.

    Reads `pulumi preview --json` and exits 3 when something would be lost that the stack file does not allow, in the
    words of `berth diff`; 1 when the preview failed for another reason.
    """
    evaluation = evaluate_or_exit(stack, allow_any_kind=True)
    from berth.cli import guard as verb
    from berth.diff.guard.preview import PreviewFormatError, check_preview

    assert evaluation.plan_of_any_kind is not None
    try:
        result = check_preview(verb.parse_preview(preview.read()), evaluation.plan_of_any_kind)
    except (PreviewFormatError, UnicodeDecodeError) as error:
        message = "this is not what `pulumi preview --json` prints: it is no text in UTF-8"
        typer.echo(f"{error}" if isinstance(error, PreviewFormatError) else message, err=True)
        raise typer.Exit(EXIT_FAULTS) from None
    output_lines = (
        [format_json(verb.as_json(result, evaluation.stack))] if as_json else verb.lines(result, evaluation.stack)
    )
    for line in output_lines:
        typer.echo(line)
    raise typer.Exit(EXIT_BLOCKED if result.blocked else EXIT_FAULTS if result.errors else EXIT_OK)


def _rotate(
    stack: StackArgument,
    pool: Annotated[str, typer.Argument(metavar="POOL", help="A pool of the stack file.")],
    settings: Annotated[
        list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="What the new pool is to have instead.")
    ] = None,
    in_place: Annotated[
        bool, typer.Option("--in-place", help="Drain the queues and replace it, though both could stand side by side.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Print the steps that replace a pool.

    Edits of the stack file as diffs, one pull request each: the new pool beside the old one, or, where no machines can
    be had twice, queues drained first. Each step's stack file is checked; exits 1 when one would be refused.
    """
    evaluation = evaluate_or_exit(stack)
    from berth.cli import rotate as verb
    from berth.rotate.yaml_editor import ManualEditRequired

    try:
        steps = verb.rotation_steps(evaluation, pool, settings or (), in_place, project_root())
    except ManualEditRequired as error:
        typer.echo(f"{error}", err=True)
        raise typer.Exit(EXIT_FAULTS) from None
    output_lines = (
        [format_json(verb.as_json(steps, evaluation.stack, pool))]
        if as_json
        else verb.lines(steps, evaluation.stack, pool)
    )
    for line in output_lines:
        typer.echo(line)
    raise typer.Exit(EXIT_FAULTS if any(step.faults for step in steps) else EXIT_OK)


def _drain(
    stack: StackArgument,
    output: Annotated[
        pathlib.Path | None, typer.Option("-o", "--output", help="The file to write; stdout otherwise.")
    ] = None,
) -> None:
    """Print the stack file with every queue drained.

    What `make down` deploys before it destroys a stack. Exits 3 when something is protected that would have to go.
    """
    from berth.cli import drain as verb

    evaluation = evaluate_or_exit(stack)
    drained_text = verb.drained_stack_file(evaluation)
    drained = verb.evaluate_drained(drained_text, evaluation.stack)
    if drained.faults or drained.plan is None:
        print_problems(drained.faults)
        raise typer.Exit(EXIT_FAULTS)
    if output is None:
        typer.echo(drained_text, nl=False)
    else:
        output.parent.mkdir(parents=True, exist_ok=True)
        output.write_text(drained_text, encoding="utf-8")
    refusals = list(verb.destroy_refusals(drained.plan))
    for line in refusals:
        typer.echo(line, err=True)
    raise typer.Exit(EXIT_BLOCKED if refusals else EXIT_OK)


def _split(
    stack: StackArgument,
    max_resources: Annotated[int, typer.Option("--most", min=1, help="Resources a stack may have.")] = 2000,
    as_json: JsonOption = False,
) -> None:
    """Propose stacks for a large fleet.

    Counts the resources of teams, cohorts and queues, and groups them so that whatever shares quota stays together.
    """
    evaluation = evaluate_or_exit(stack)
    from berth.cli import split as verb

    assert evaluation.plan is not None
    typer.echo(
        format_json(verb.as_json(evaluation.plan, max_resources))
        if as_json
        else verb.text(evaluation.plan, max_resources)
    )
