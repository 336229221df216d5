"""The verbs before there is a fleet: a stack file to begin with, or of a cluster that stands, and its schema."""

from __future__ import annotations

import pathlib
import sys
from typing import TYPE_CHECKING, Annotated

import typer

from berth.cli.arguments import FAULTS, as_json_text, complain, root
from berth.diagnostics import in_words

if TYPE_CHECKING:
    from berth.cli.init.stack_file import Setting

Name = Annotated[str, typer.Argument(metavar="NAME", help="The stack's name: Pulumi.NAME.yaml is written.")]
From = Annotated[
    str, typer.Option("--from", metavar="EXAMPLE", help="An example's name, a stack's name or a stack file.")
]
Project = Annotated[str | None, typer.Option("--project", metavar="ID", help="The Google Cloud project.")]
Region = Annotated[
    str | None, typer.Option("--region", metavar="REGION", help="The region, of Google Cloud or of Alibaba Cloud.")
]
Zones = Annotated[
    list[str] | None,
    typer.Option("--zone", metavar="ZONE", help="In place of the example's; several for an example with several."),
]
Teams = Annotated[
    list[str] | None,
    typer.Option("--team", metavar="TEAM", help="A team instead of the example's; may be said several times."),
]
Context = Annotated[
    str | None, typer.Option("--context", metavar="CONTEXT", help="The kubeconfig's context of a cluster that exists.")
]
Platform = Annotated[
    str | None, typer.Option("--platform", metavar="STACK", help="The stack that a team's own stack belongs to.")
]


def add_to(app: typer.Typer) -> None:
    """Make these verbs commands of the app."""
    app.command("init", epilog="Example: berth init prod --project acme-ml-prod --region us-central1 --team vision")(
        _init
    )
    app.command("adopt", epilog="Example: berth adopt prod cluster.json node-pools.json objects.json")(_adopt)
    app.command("schema", epilog="Example: berth schema > docs/stack.schema.json")(_schema)


def _init(
    name: Name,
    source: From = "multislice",
    project: Project = None,
    region: Region = None,
    zone: Zones = None,
    team: Teams = None,
    context: Context = None,
    platform: Platform = None,
) -> None:
    """Write a stack file of your own.

    From an example, with your project, region and teams; each team has a queue with its share of the machines. What is
    not said is asked on a terminal. The file is checked before it is written, and nothing is ever overwritten.
    """
    from berth.cli.init import stack_file as verb
    from berth.text import many

    one = {"project": project, "region": region, "context": context, "platform": platform}
    answers = {flag: (value,) for flag, value in one.items() if value is not None}
    answers |= {flag: tuple(values) for flag, values in (("zone", zone), ("team", team)) if values}
    folder = _folder()
    file = folder / f"Pulumi.{name}.yaml"
    try:
        start = verb.example(source, folder)
        wrong = verb.refusals(name, start, answers)
        if not sys.stdin.isatty() and (missing := verb.left_out(start, answers)):
            wrong.append(f"{start.shown} wants {in_words(missing)} too")
        if wrong:
            raise typer.BadParameter("; ".join(wrong))
        if file.exists():
            raise FileExistsError
        while sys.stdin.isatty() and (left := [s for s in verb.settings(start, answers) if s.flag not in answers]):
            answers[left[0].flag] = _asked(left[0])
        text = verb.written(name, start, {flag: said for flag, said in answers.items() if said}, folder)
        found = verb.judged(text, name, folder)
        if not found.faults:
            with file.open("x", encoding="utf-8") as stream:
                stream.write(text)
    except FileExistsError:
        typer.echo(f"{file.name} is there, and is not overwritten: take another name, or edit it", err=True)
        raise typer.Exit(FAULTS) from None
    except (verb.NoExample, OSError) as error:
        typer.echo(f"{error}", err=True)
        raise typer.Exit(FAULTS) from None
    if found.faults:
        typer.echo(f"{file.name} would be refused, and is not written:", err=True)
        complain(problem.at("") for problem in found.faults)
        raise typer.Exit(FAULTS)
    warned = f", {many(len(found.warnings), 'warning')}" if found.warnings else ""
    typer.echo(f"{file.name}: written from {start.shown}, sound{warned}. Next:")
    typer.echo(f"  berth plan {name}       # what will exist, for whom")
    typer.echo(f"  berth preview {name}    # every resource that `pulumi up` would make")


def _adopt(
    name: Name,
    files: Annotated[
        list[pathlib.Path],
        typer.Argument(metavar="FILE...", help="What gcloud (--format json) and kubectl (-o json) say of the cluster."),
    ],
    inside: Annotated[
        str | None,
        typer.Option("--inside", metavar="CONTEXT", help="Only what lies in the cluster, which this context reaches."),
    ] = None,
) -> None:
    """Write a stack file for a cluster that stands.

    And the files by which `pulumi import` takes over what is there. What the stack file cannot say, and what the first
    `pulumi up` would change, is told. Nothing is asked of a cloud, and nothing is ever overwritten.
    """
    from berth.cli import adopt as verb
    from berth.cli.init.stack_file import refusals_of_name
    from berth.engine import ProgramError

    folder = _folder()
    if wrong := refusals_of_name(name):
        raise typer.BadParameter("; ".join(wrong))
    try:
        result = verb.run(name, files, folder, inside)
        verb.write(result, folder)
    except (verb.Unusable, ProgramError, OSError) as error:
        typer.echo(f"{error}", err=True)
        raise typer.Exit(FAULTS) from None
    for line in verb.lines(result):
        typer.echo(line)
    if result.faults:
        typer.echo("the stack file has faults, so that nothing can be imported yet:", err=True)
        complain(problem.at("") for problem in result.faults)
        raise typer.Exit(FAULTS)


def _folder() -> pathlib.Path:
    """The project's folder. Here none stands in for it, as something is written."""
    folder = root()
    if folder not in (pathlib.Path.cwd(), *pathlib.Path.cwd().parents):
        typer.echo("no Pulumi.yaml lies here or above; go to the project's folder", err=True)
        raise typer.Exit(FAULTS)
    return folder


def _asked(setting: Setting) -> tuple[str, ...]:
    """What somebody answers, asked again until it can be so; nothing where the example's value may stay."""
    while True:
        said = tuple(typer.prompt(setting.question, default="", show_default=False, err=True).split())
        if not said and not setting.needed:
            return ()
        wrong = setting.refusals(said) if said else ["is needed"]
        if not wrong:
            return said
        typer.echo(f"  {'; '.join(wrong)}", err=True)


def _schema() -> None:
    """Print the stack file's JSON Schema."""
    from berth.spec.schema import stack_schema

    typer.echo(as_json_text(stack_schema()))
