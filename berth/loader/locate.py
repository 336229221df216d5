"""Find the file of STACK, its display name, and suggestions if it does not exist."""

from __future__ import annotations

import os
import pathlib

from msgspec import Struct

from berth.diagnostics import Problem, Severity, did_you_mean

EXAMPLES = "stacks/examples"


class LocatedStack(Struct, frozen=True):
    """The stack's name, its file (which may not exist) and the file's name as a person would type it."""

    stack: str
    file: pathlib.Path
    display_path: str
    by_name: bool


def locate(stack: str, root: pathlib.Path) -> LocatedStack:
    """Return the file of STACK: a path if it has a `/` or ends in `.yaml` or `.yml`, else `root/Pulumi.<stack>.yaml`.

    A relative path is relative to the current directory, or to `root` if it does not exist there.
    """
    if "/" not in stack and not stack.endswith((".yaml", ".yml")):
        return LocatedStack(stack, root / f"Pulumi.{stack}.yaml", f"Pulumi.{stack}.yaml", by_name=True)
    file = pathlib.Path(stack)
    if not file.is_absolute() and not os.path.exists(file):
        file = root / file
    return LocatedStack(file.stem.removeprefix("Pulumi."), file, display_path(file, root), by_name=False)


def display_path(file: pathlib.Path, root: pathlib.Path) -> str:
    """Return `file` as a person would type it: relative to `root`, else to the current directory, else unchanged."""
    absolute = os.path.abspath(file)
    for folder in (os.path.abspath(root), os.getcwd()):
        if absolute.startswith(folder + os.sep):
            return os.path.relpath(absolute, folder)
    return str(file)


def project_of(located: LocatedStack, root: pathlib.Path) -> pathlib.Path:
    """Return the directory of the Pulumi.yaml that the stack file belongs to, the nearest above it; else `root`.

    A file of another checkout has the team files of that checkout, not those of `root`.
    """
    here, own = pathlib.Path(os.path.abspath(root)), pathlib.Path(os.path.abspath(located.file))
    if located.by_name:
        return root
    for folder in own.parents:
        if folder == here:
            return root
        if (folder / "Pulumi.yaml").is_file():
            return folder
    return root


def stack_names(root: pathlib.Path) -> list[str]:
    """Return the names of the stacks beside Pulumi.yaml, in the order of their files."""
    return [file.stem.removeprefix("Pulumi.") for file in sorted(root.glob("Pulumi.*.yaml"))]


def missing_file_fault(located: LocatedStack, root: pathlib.Path) -> Problem:
    """Return the fault `no-file`, with the nearest stack or example, or with all stacks."""
    examples = {f.stem: f"{EXAMPLES}/{f.name}" for f in sorted((root / EXAMPLES).glob("*.yaml"))}
    if not located.by_name:
        folder = located.file.parent
        siblings = sorted(folder.glob("*.y*ml")) if os.path.isdir(folder) else []
        example = examples.get(located.stack)
        similar = [example] if example else [display_path(file, root) for file in siblings]
        hint = f"; did you mean '{example}'?" if example else did_you_mean(located.display_path, similar)
        return Problem(Severity.FAULT, "no-file", (), f"no file '{located.display_path}'{hint}")
    stacks = sorted(stack_names(root))
    other = _other_file(located.stack)
    message = f"no stack '{located.stack}' ({located.display_path}){other}"
    suggestion = _available(located.stack, stacks, examples) if other else _suggestion(located.stack, stacks, examples)
    return Problem(Severity.FAULT, "no-file", (), message + suggestion)


def directory_fault(located: LocatedStack, root: pathlib.Path) -> Problem | None:
    """Return the fault `unreadable` for a directory that is named as a stack file, with a file to name."""
    if located.by_name or not os.path.isdir(located.file):
        return None
    first = next((display_path(file, root) for file in sorted(located.file.glob("*.yaml"))), None)
    remedy = f"name a file in it, such as {first}" if first else "name a YAML file"
    return Problem(
        Severity.FAULT, "unreadable", (), f"is a directory, not a file; {remedy}", place=located.display_path
    )


def _other_file(stack: str) -> str:
    """Return what a name is that is no stack's: a file or a directory here, or stdin."""
    if stack == "-":
        return "; a stack file is not read from stdin"
    if os.path.isdir(stack):
        return f"; '{stack}' is a directory"
    return f"; the name of a stack file ends in .yaml, that of '{stack}' does not" if os.path.isfile(stack) else ""


def missing_project_fault(located: LocatedStack, root: pathlib.Path) -> Problem | None:
    """Return the fault `no-file` for a stack named outside a project; None if `root` has a Pulumi.yaml."""
    if not located.by_name or (root / "Pulumi.yaml").is_file():
        return None
    if os.path.exists(located.file):
        message = f"{located.display_path} is here, but Pulumi.yaml is not; copy Pulumi.yaml from Berth's repository"
        return Problem(Severity.FAULT, "no-file", (), message)
    message = f"no stack '{located.stack}': there is no Pulumi.yaml here or in a directory above"
    return Problem(Severity.FAULT, "no-file", (), f"{message}; change to the directory of the project")


def _suggestion(stack: str, stacks: list[str], examples: dict[str, str]) -> str:
    if close := did_you_mean(stack, [*stacks, *(name for name in examples if name not in stacks)]):
        match = close.split("'")[1]
        return close if match in stacks else close.replace(match, examples[match])
    return _available(stack, stacks, examples)


def _available(stack: str, stacks: list[str], examples: dict[str, str]) -> str:
    available = (
        f"; write {'one of ' if len(stacks) > 1 else ''}{', '.join(stacks)}"
        if stacks
        else f"; create one with: berth init {stack}"
    )
    return available + (f", or use an example in {EXAMPLES}" if examples else "")
