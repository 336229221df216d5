"""`berth init`: a stack file to begin with."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from berth.cli.arguments import EXIT_FAULTS, print_problems, writable_project_folder
from berth.diagnostics import join_words

if TYPE_CHECKING:
    from berth.cli.init.stack_file import InitOption

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
EPILOG = "Example: berth init prod --project acme-ml-prod --region us-central1 --team vision"


def command(
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
    from berth.text import pluralize

    single_values = {"project": project, "region": region, "context": context, "platform": platform}
    answers = {flag: (value,) for flag, value in single_values.items() if value is not None}
    answers |= {flag: tuple(values) for flag, values in (("zone", zone), ("team", team)) if values}
    folder = writable_project_folder()
    file = folder / f"Pulumi.{name}.yaml"
    try:
        example = verb.load_example(source, folder)
        errors = verb.answer_errors(name, example, answers)
        if not sys.stdin.isatty() and (missing := verb.missing_flags(example, answers)):
            errors.append(f"{example.display_path} wants {join_words(missing)} too")
        if errors:
            raise typer.BadParameter("; ".join(errors))
        if file.exists():
            raise FileExistsError
        while sys.stdin.isatty() and (
            unanswered := [s for s in verb.init_options(example, answers) if s.flag not in answers]
        ):
            answers[unanswered[0].flag] = _prompt_values(unanswered[0])
        stack_text = verb.stack_file_text(
            name, example, {flag: given for flag, given in answers.items() if given}, folder
        )
        evaluation = verb.evaluate_text(stack_text, name, folder)
        if not evaluation.faults:
            with file.open("x", encoding="utf-8") as stream:
                stream.write(stack_text)
    except FileExistsError:
        typer.echo(f"{file.name} is there, and is not overwritten: take another name, or edit it", err=True)
        raise typer.Exit(EXIT_FAULTS) from None
    except (verb.ExampleError, OSError) as error:
        typer.echo(f"{error}", err=True)
        raise typer.Exit(EXIT_FAULTS) from None
    if evaluation.faults:
        typer.echo(f"{file.name} would be refused, and is not written:", err=True)
        print_problems(problem.with_place("") for problem in evaluation.faults)
        raise typer.Exit(EXIT_FAULTS)
    warning_text = f", {pluralize(len(evaluation.warnings), 'warning')}" if evaluation.warnings else ""
    typer.echo(f"{file.name}: written from {example.display_path}, sound{warning_text}. Next:")
    typer.echo(f"  berth plan {name}       # what will exist, for whom")
    typer.echo(f"  berth preview {name}    # every resource that `pulumi up` would make")


def _prompt_values(option: InitOption) -> tuple[str, ...]:
    """What somebody answers, asked again until it can be so; nothing where the example's value may stay."""
    while True:
        values = tuple(typer.prompt(option.question, default="", show_default=False, err=True).split())
        if not values and not option.required:
            return ()
        errors = option.value_errors(values) if values else ["is needed"]
        if not errors:
            return values
        typer.echo(f"  {'; '.join(errors)}", err=True)
