"""`berth init`: a new stack file from an example."""

from __future__ import annotations

import pathlib
import sys
from collections.abc import Mapping
from typing import Annotated

import typer

from berth.cli.arguments import exit_with_error, exit_with_problems, print_problems, writable_project_folder
from berth.cli.init import stack_file as verb
from berth.cli.init.base import base_error, split_text, write_new
from berth.cli.init.example import VALUE, ExampleError, ExampleStack, InitAnswers, InitOption, load_example
from berth.diagnostics import join_words
from berth.diagnostics.listing import count_problems
from berth.evaluate import Evaluation
from berth.text import pluralize

EPILOG = "Example: berth init prod --project acme-ml-prod --region us-central1 --team vision"


def init_command(
    name: Annotated[str, typer.Argument(metavar="NAME", help="The stack's name; writes Pulumi.NAME.yaml.")],
    source: Annotated[
        str, typer.Option("--from", metavar="EXAMPLE", help="An example's name, a stack's name or a stack file.")
    ] = "multislice",
    project: Annotated[str | None, typer.Option("--project", metavar="ID", help="The Google Cloud project.")] = None,
    region: Annotated[
        str | None, typer.Option("--region", metavar="REGION", help="The region of Google Cloud or Alibaba Cloud.")
    ] = None,
    zone: Annotated[
        list[str] | None,
        typer.Option(
            "--zone", metavar="ZONE", help="Replaces the example's zone; repeatable if the example has several."
        ),
    ] = None,
    team: Annotated[
        list[str] | None,
        typer.Option("--team", metavar="TEAM", help="Replaces the example's teams; repeatable."),
    ] = None,
    context: Annotated[
        str | None, typer.Option("--context", metavar="CONTEXT", help="The kubeconfig context of an existing cluster.")
    ] = None,
    cluster: Annotated[
        str | None, typer.Option("--cluster", metavar="NAME", help="The name of an existing GKE cluster.")
    ] = None,
    platform: Annotated[
        str | None, typer.Option("--platform", metavar="STACK", help="The platform's stack, for a team's own stack.")
    ] = None,
    value: Annotated[
        list[str] | None,
        typer.Option("--value", metavar="OLD=NEW", help="Replaces a placeholder of the example; repeatable."),
    ] = None,
    base: Annotated[
        str | None,
        typer.Option("--base", metavar="FILE", help="Also writes a file with what other stacks can share (base)."),
    ] = None,
) -> None:
    """Write a new stack file from an example.

    Replaces the example's project, region and teams with yours; each team gets an equal share of the machines, in the
    queues of the example's teamDefaults if it has these. On a terminal, asks for missing values, and for one in the
    place of each placeholder of the example. Checks the file before
    writing it, and never overwrites a file.
    """
    places = {"project": project, "region": region, "context": context, "cluster": cluster}
    single_values = places | {"platform": platform}
    answers = {flag: (value,) for flag, value in single_values.items() if value is not None}
    answers |= {flag: tuple(values) for flag, values in (("zone", zone), ("team", team)) if values}
    answers |= _placeholder_values(value or [])
    folder = writable_project_folder()
    file = folder / f"Pulumi.{name}.yaml"
    if base is not None and (error := base_error(base, folder)):
        raise typer.BadParameter(error, param_hint="--base")
    try:
        example = load_example(source, folder)
        _check_answers(name, example, answers)
        if file.exists():
            raise FileExistsError
        stack_text, evaluation = _answered_stack(name, example, answers, folder)
        if not evaluation.faults:
            texts = {file.name: stack_text}
            if base is not None:
                texts = dict(zip((file.name, base), split_text(stack_text, name, base), strict=True))
            write_new(texts, folder)
    except FileExistsError:
        exit_with_error(f"{file.name} exists and is not overwritten; choose another name, or edit the file")
    except (ExampleError, OSError) as error:
        exit_with_error(error)
    _print_result(name, file.name, example, answers, evaluation)
    if base is not None and not evaluation.faults:
        typer.echo(f"{base}: what other stacks can share. The next one: berth init NAME --from {name}")
    for note in verb.result_notes(example, answers.get("team", ())):
        typer.echo(note)
    if remaining := verb.remaining_placeholders(evaluation, example, answers):
        typer.echo("\n".join(["write your own values for:", *remaining]))


def _placeholder_values(written: list[str]) -> dict[str, tuple[str, ...]]:
    """Return the answers of `--value OLD=NEW`, by the flags of their options."""
    if wrong := [each for each in written if not all(each.partition("="))]:
        raise typer.BadParameter(f"'{wrong[0]}' is not OLD=NEW, such as example.com=acme.dev", param_hint="--value")
    pairs = (each.partition("=") for each in written)
    return {f"{VALUE}{old}": (new,) for old, _, new in pairs}


def _check_answers(name: str, example: ExampleStack, answers: InitAnswers) -> None:
    """Raise BadParameter for options that do not fit the example, and without a terminal for those that are missing."""
    errors = verb.answer_errors(name, example, answers)
    if not sys.stdin.isatty() and (missing := verb.missing_flags(example, answers)):
        errors.append(f"{example.display_path} also needs {join_words(missing)}")
    if errors:
        raise typer.BadParameter("; ".join(errors))


def _print_result(
    name: str, file_name: str, example: ExampleStack, answers: InitAnswers, evaluation: Evaluation
) -> None:
    """Print what was written and the next commands; exit 1 with the faults of a file that was not written."""
    if evaluation.faults:
        typer.echo(f"{file_name} is not written, because it would have faults:", err=True)
        exit_with_problems(problem.with_place("") for problem in evaluation.faults)
    count = count_problems(evaluation.problems)
    if remaining := verb.remaining_placeholders(evaluation, example, answers):
        count = count.replace("no errors", f"{pluralize(len(remaining), 'placeholder')} left")
    typer.echo(f"{file_name}: written from {example.display_path}, {count}. Next:")
    typer.echo(f"  berth plan {name}       # what it creates and what each team gets")
    typer.echo(f"  berth preview {name}    # every resource that `pulumi up` would create")


def _answered_stack(
    name: str, example: ExampleStack, answers: dict[str, tuple[str, ...]], folder: pathlib.Path
) -> tuple[str, Evaluation]:
    """Return the text of the stack file and its evaluation; on a terminal, ask for the options that are not given.

    If the file has faults, the questions are asked again: Enter keeps an answer.
    """
    earlier: dict[str, tuple[str, ...]] = {}
    while True:
        asked = _prompt_missing(example, answers, earlier)
        given = {flag: values for flag, values in answers.items() if values}
        stack_text = verb.stack_file_text(name, example, given, folder)
        evaluation = verb.evaluate_text(stack_text, name, folder)
        if not evaluation.faults or not asked:
            return stack_text, evaluation
        print_problems(problem.with_place("") for problem in evaluation.faults)
        typer.echo("Answer again; Enter keeps the answer in brackets.", err=True)
        earlier = {flag: answers.pop(flag) for flag in asked}


def _prompt_missing(
    example: ExampleStack, answers: dict[str, tuple[str, ...]], earlier: Mapping[str, tuple[str, ...]]
) -> list[str]:
    """On a terminal, add an answer for every option that is not given; one answer can make others necessary."""
    asked = list[str]()
    while sys.stdin.isatty() and (
        unanswered := [option for option in verb.init_options(example, answers) if option.flag not in answers]
    ):
        flag = unanswered[0].flag
        answers[flag] = _prompt_values(unanswered[0], earlier.get(flag, ()))
        asked.append(flag)
    return asked


def _prompt_values(option: InitOption, earlier: tuple[str, ...] = ()) -> tuple[str, ...]:
    """Ask until the answer is valid; return nothing where the example's value may stay.

    Values are separated by commas or spaces. An `earlier` answer is kept with Enter.
    """
    kept = " ".join(earlier)
    while True:
        answer: str = typer.prompt(option.question, default=kept, show_default=bool(kept), err=True)
        values = tuple(answer.replace(",", " ").split())
        if not values and not option.required:
            return ()
        errors = option.value_errors(values) if values else ["a value is required"]
        if not errors:
            return values
        typer.echo(f"  {'; '.join(errors)}", err=True)
