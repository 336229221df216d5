"""The verbs on changes."""

from __future__ import annotations

import pathlib
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from berth.cli import prices as costs
from berth.cli import terminal
from berth.cli.arguments import FAULTS, GUARDED, SOUND, AsJson, Stack, as_json_text, complain, root, sound
from berth.cli.comparison import Named, named, since, verdict
from berth.evaluate import Verdict
from berth.loader.revisions import NoRevision

if TYPE_CHECKING:
    from berth.cost.prices import Prices

Format = Literal["text", "markdown", "json"]


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
    form: Annotated[Format, typer.Option("--format", help="For a terminal, a comment or a program.")] = "text",
    prices: costs.PricesFile = None,
) -> None:
    """Say what a change means, for whom.

    Who gains and loses, which machines are replaced or deleted and why, which objects change. Exits 3 when something
    would be lost that the stack file does not allow.
    """
    if (new is None) == (revision is None):
        raise typer.BadParameter("write OLD NEW, or STACK --since REV")
    table = costs.prices(prices)
    try:
        before = named(old) if revision is None else since(old, revision, root())
        _told(before, named(new or old), form, table)
    except NoRevision as error:
        typer.echo(f"{error}", err=True)
        raise typer.Exit(FAULTS) from None


def _told(before: Named, after: Named, form: Format, prices: Prices | None) -> None:
    from berth.cli.diff import costs as cost_changes
    from berth.cli.diff import markdown, plain_text
    from berth.cost.fleet import cost
    from berth.diff.compare import Incomparable, compare

    found = _both(before, after)
    costs.of_kueue(found[1], prices)
    old, new = (each.whole for each in found)
    assert old is not None
    assert new is not None
    try:
        changes = compare(old, new)
    except Incomparable as error:
        typer.echo(f"{before.shown} and {after.shown} cannot be compared: {error}", err=True)
        raise typer.Exit(FAULTS) from None
    fleets = [each.plan for each in found if each.plan is not None]
    both = (cost(fleets[0], prices), cost(fleets[1], prices)) if prices else None
    if form == "json":
        priced = {"cost": cost_changes.as_json(*both)} if both else {}
        typer.echo(as_json_text({**plain_text.as_json(changes, before.shown, after.shown), **priced}))
    elif form == "text":
        typer.echo(plain_text.text(changes) + (f"\n\n{cost_changes.text(*both)}" if both else ""))
    else:
        typer.echo(markdown.markdown(changes) + (f"\n{cost_changes.markdown(*both)}" if both else ""), nl=False)
    raise typer.Exit(GUARDED if changes.guarded else SOUND)


def _both(before: Named, after: Named) -> tuple[Verdict, Verdict]:
    """The verdicts on both sides, as of one stack; where one has a fault, all are told, and exit 1."""
    with terminal.progress("planning both"):
        new = verdict(after, root())
        old = verdict(before, root(), called=new.stack)
    faults = (*old.faults, *(fault for fault in new.faults if fault not in old.faults))
    if faults:
        complain(faults)
        raise typer.Exit(FAULTS)
    return old, new


def _guard(
    stack: Stack,
    preview: Annotated[typer.FileText, typer.Argument(metavar="PREVIEW", help="What the engine printed; - is stdin.")],
    as_json: AsJson = False,
) -> None:
    """Judge what the engine is about to do.

    Reads `pulumi preview --json` and exits 3 when something would be lost that the stack file does not allow, in the
    words of `berth diff`; 1 when the preview failed for another reason.
    """
    found = sound(stack, any_kind=True)
    from berth.cli import guard as verb
    from berth.diff.guard.preview import NoPreview, judge

    assert found.whole is not None
    try:
        judged = judge(verb.read(preview.read()), found.whole)
    except (NoPreview, UnicodeDecodeError) as error:
        said = "this is not what `pulumi preview --json` prints: it is no text in UTF-8"
        typer.echo(f"{error}" if isinstance(error, NoPreview) else said, err=True)
        raise typer.Exit(FAULTS) from None
    told = [as_json_text(verb.as_json(judged, found.stack))] if as_json else verb.lines(judged, found.stack)
    for line in told:
        typer.echo(line)
    raise typer.Exit(GUARDED if judged.guarded else FAULTS if judged.errors else SOUND)


def _rotate(
    stack: Stack,
    pool: Annotated[str, typer.Argument(metavar="POOL", help="A pool of the stack file.")],
    settings: Annotated[
        list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="What the new pool is to have instead.")
    ] = None,
    in_place: Annotated[
        bool, typer.Option("--in-place", help="Drain the queues and replace it, though both could stand side by side.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Print the steps that replace a pool.

    Edits of the stack file as diffs, one pull request each: the new pool beside the old one, or, where no machines can
    be had twice, queues drained first. Each step's stack file is checked; exits 1 when one would be refused.
    """
    found = sound(stack)
    from berth.cli import rotate as verb
    from berth.rotate.yaml_editor import NotEdited

    try:
        steps = verb.steps(found, pool, settings or (), in_place, root())
    except NotEdited as error:
        typer.echo(f"{error}", err=True)
        raise typer.Exit(FAULTS) from None
    told = [as_json_text(verb.as_json(steps, found.stack, pool))] if as_json else verb.lines(steps, found.stack, pool)
    for line in told:
        typer.echo(line)
    raise typer.Exit(FAULTS if any(step.faults for step in steps) else SOUND)


def _drain(
    stack: Stack,
    output: Annotated[
        pathlib.Path | None, typer.Option("-o", "--output", help="The file to write; stdout otherwise.")
    ] = None,
) -> None:
    """Print the stack file with every queue drained.

    What `make down` deploys before it destroys a stack. Exits 3 when something is protected that would have to go.
    """
    from berth.cli import drain as verb

    found = sound(stack)
    written = verb.text(found)
    after = verb.verdict(written, found.stack)
    if after.faults or after.plan is None:
        complain(after.faults)
        raise typer.Exit(FAULTS)
    if output is None:
        typer.echo(written, nl=False)
    else:
        output.parent.mkdir(parents=True, exist_ok=True)
        output.write_text(written, encoding="utf-8")
    refused = list(verb.refusal(after.plan))
    for line in refused:
        typer.echo(line, err=True)
    raise typer.Exit(GUARDED if refused else SOUND)


def _split(
    stack: Stack,
    most: Annotated[int, typer.Option("--most", min=1, help="Resources a stack may have.")] = 2000,
    as_json: AsJson = False,
) -> None:
    """Propose stacks for a large fleet.

    Counts the resources of teams, cohorts and queues, and groups them so that whatever shares quota stays together.
    """
    found = sound(stack)
    from berth.cli import split as verb

    assert found.plan is not None
    typer.echo(as_json_text(verb.as_json(found.plan, most)) if as_json else verb.text(found.plan, most))
