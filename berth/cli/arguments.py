"""Exit statuses, arguments and helpers that verbs share."""

from __future__ import annotations

import json
import os
import pathlib
import sys
from collections.abc import Iterable
from typing import Annotated, NoReturn, cast

import typer
import yaml

from berth.cli import terminal
from berth.diagnostics import Problem, printable
from berth.diagnostics.listing import count_problems
from berth.document import Document
from berth.document.text import problem_lines, render_text
from berth.evaluate import Evaluation, Need, evaluate_stack, require_offer
from berth.loader.locate import EXAMPLES, locate, stack_names
from berth.plan.fleet import FleetPlan
from berth.yaml_loader import load_yaml

EXIT_OK, EXIT_FAULTS, EXIT_USAGE, EXIT_BLOCKED = 0, 1, 2, 3


def complete_stack(incomplete: str) -> list[str]:
    """Return the names of the project's stacks that begin with `incomplete`; the shell itself completes paths."""
    return sorted(name for name in stack_names(project_root()) if name.startswith(incomplete))


def or_example(stack: str) -> str:
    """Return the path of an example for its name, unless the project has a stack of that name; else `stack`."""
    root = project_root()
    located, example = locate(stack, root), f"{EXAMPLES}/{stack}.yaml"
    is_taken = os.path.exists(located.file) or os.path.exists(stack)  # False for a name that no file can have
    is_example = located.by_name and not is_taken and os.path.isfile(root / example)
    return example if is_example else stack


def or_examples(stacks: list[str] | None) -> list[str] | None:
    """Return the paths of examples for their names; see `or_example`."""
    return None if stacks is None else [or_example(each) for each in stacks]


StackArgument = Annotated[
    str,
    typer.Argument(
        metavar="STACK",
        help="A stack's name (dev: Pulumi.dev.yaml), an example's name, or a path to a stack file.",
        autocompletion=complete_stack,
        callback=or_example,
    ),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON instead.")]
Output = Annotated[
    pathlib.Path | None,
    typer.Option("-o", "--output", metavar="FILE", help="Write to this file instead of stdout; - is stdout."),
]
AllOption = Annotated[
    bool, typer.Option("--all", help="Print every problem, also equal ones and more than 200.", show_default=False)
]


def project_root() -> pathlib.Path:
    """Return the nearest directory with a Pulumi.yaml, from the current one upwards; else the current one."""
    cwd = pathlib.Path.cwd()
    return next((folder for folder in (cwd, *cwd.parents) if (folder / "Pulumi.yaml").is_file()), cwd)


def project_name() -> str | None:
    """Return the name in the project's Pulumi.yaml; None where there is no such file, or no name in it."""
    file = project_root() / "Pulumi.yaml"
    try:
        values = load_yaml(file.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, yaml.YAMLError):
        return None
    name = cast("dict[str, object]", values).get("name") if isinstance(values, dict) else None
    return name if isinstance(name, str) else None


def evaluate_or_exit(stack: str, *, needs: Need | None = "kueue") -> Evaluation:
    """Return the evaluation of a stack without faults; otherwise print the faults on stderr and exit 1.

    What no table of facts knows is printed on stderr too. A stack whose backend does not offer what the verb `needs` is
    a fault; None accepts a stack of any kind.
    """
    evaluation = evaluate_stack(stack, project_root())
    evaluation = evaluation if needs is None else require_offer(evaluation, needs)
    if evaluation.faults:
        exit_with_problems(evaluation.faults)
    print_problems(problem for problem in evaluation.warnings if problem.is_unknown)
    return evaluation


def google_fleet(evaluation: Evaluation, refusal: str, option: str | None = None) -> FleetPlan:
    """Return the plan of a fleet on Google Cloud; `refusal` says why a verb, or its `option`, is for no other stack."""
    if evaluation.fleet_plan is None:
        raise typer.BadParameter(f"'{evaluation.stack}' {refusal}", param_hint=option)
    return evaluation.fleet_plan


def print_problems(problems: Iterable[Problem]) -> None:
    """Print problems on stderr, one a line, and of several their number."""
    found = list(problems)
    for line in problem_lines(found, coloured=terminal.is_coloured(sys.stderr)):
        typer.echo(line, err=True)
    if len(found) > 1:
        typer.echo(count_problems(found), err=True)


def exit_with_problems(problems: Iterable[Problem]) -> NoReturn:
    """Print problems on stderr, and exit 1."""
    print_problems(problems)
    raise typer.Exit(EXIT_FAULTS)


def exit_with_error(error: object) -> NoReturn:
    """Print an error that has no place in a file on stderr, and exit 1."""
    typer.echo("\n".join(map(printable, f"{error}".splitlines())), err=True)
    raise typer.Exit(EXIT_FAULTS)


def print_answer(document: Document, value: object = None) -> None:
    """Print the answer of a verb on stdout: `value` as JSON, or without one the document, in colours on a terminal."""
    coloured, width = terminal.is_coloured(sys.stdout), terminal.width_of(sys.stdout)
    typer.echo(render_text(document, coloured=coloured, width=width) if value is None else format_json(value))


def format_json(value: object) -> str:
    """Return a value as indented JSON text, the format of every verb's `--json`."""
    return json.dumps(value, indent=2, ensure_ascii=False)


def writable_project_folder() -> pathlib.Path:
    """Return the project's directory; exit 1 if there is none, because the verb writes a file into it."""
    folder = project_root()
    if not (folder / "Pulumi.yaml").is_file():
        exit_with_error("no Pulumi.yaml here or in a directory above; change to the directory of the project")
    return folder


def write_output(text: str, output: pathlib.Path | None, *, beside_answer: bool = False) -> None:
    """Write text to a file, creating its folders, and print its name, or to stdout for `-`; exit 1 if that fails.

    The name goes to stderr if stdout has an answer.
    """
    if output is None or output == pathlib.Path("-"):
        typer.echo(text, nl=False)
        return
    try:
        output.parent.mkdir(parents=True, exist_ok=True)
        output.write_text(text, encoding="utf-8")
    except OSError as error:
        exit_with_error(f"{output}: cannot be written: {error.strerror}")
    typer.echo(f"{output}: written", err=beside_answer)
