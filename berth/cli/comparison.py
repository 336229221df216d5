"""The two sides of a comparison: stack names or files, optionally at a git revision."""

from __future__ import annotations

import os
import pathlib
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final, cast

from msgspec import Struct
from msgspec.structs import replace

from berth.cli.arguments import or_example
from berth.diagnostics import Problem
from berth.diagnostics.acceptance import ACCEPTED_WARNINGS, without_reason
from berth.evaluate import Evaluation, evaluate_stack
from berth.loader import revisions
from berth.loader.document import parse
from berth.loader.locate import locate, project_of
from berth.loader.text_file import read_text

if TYPE_CHECKING:
    from berth.diff.changes import Changes

PROJECT: Final = "Pulumi.yaml"
"""The file of a Pulumi project, which names its program, its plugins and config of all its stacks."""


class StackRevision(Struct, frozen=True):
    """One side of a comparison: a stack, at `revision` if one is set."""

    stack: str
    revision: str | None = None

    @property
    def label(self) -> str:
        """`dev` or `main:dev`, as it is typed."""
        return self.stack if self.revision is None else f"{self.revision}:{self.stack}"


def parse_revision(text: str) -> StackRevision:
    """Parse `dev`, `Pulumi.dev.yaml`, `main:dev` or `HEAD~2:stacks/examples/dws.yaml`."""
    revision, colon, stack = text.rpartition(":")
    return StackRevision(stack, revision) if colon and revision else StackRevision(text)


def with_examples(
    sides: tuple[StackRevision, StackRevision], since: str | None, root: pathlib.Path
) -> tuple[StackRevision, StackRevision]:
    """Return the sides with the examples that their names mean.

    A stack that a compared commit has, and another lacks, was deleted: its name means no example.
    """
    commits = {commit for commit in (since, *(side.revision for side in sides)) if commit is not None}

    def resolve(side: StackRevision) -> StackRevision:
        located = locate(side.stack, root)
        was_here = located.by_name and any(
            revisions.has_file(commit, located.display_path, root) for commit in sorted(commits)
        )
        return side if was_here else replace(side, stack=or_example(side.stack))

    return resolve(sides[0]), resolve(sides[1])


def at_merge_base(stack: str, revision: str, root: pathlib.Path) -> StackRevision:
    """Return the stack at the merge base of HEAD and `revision`. Raises RevisionNotFound."""
    return StackRevision(locate(stack, root).display_path, revisions.merge_base(revision, root))


def evaluate_revision(side: StackRevision, root: pathlib.Path, stack_name: str | None = None) -> Evaluation:
    """Evaluate one side with the team files of its revision, under `stack_name` if given.

    The Pulumi.yaml of the stack is added to what its file has around the fleet. Raises RevisionNotFound.
    """
    if side.revision is None:
        return with_project(evaluate_stack(side.stack, root, stack_name), side.stack, root)
    with revisions.yaml_checkout(side.revision, root) as folder:
        by_name = locate(side.stack, folder).by_name
        # A path is a file of the revision, never one in the current folder, or one outside the project.
        stack = side.stack if by_name else f"{folder / _in_project(side.stack, root)}"
        evaluation = with_project(evaluate_stack(stack, folder, stack_name), stack, folder)
    problems = (p.with_place(f"{side.revision}:{p.place}") if p.place else p for p in evaluation.problems)
    return replace(evaluation, problems=tuple(problems))


def _in_project(path: str, root: pathlib.Path) -> str:
    """Return a path relative to the project. Raises RevisionNotFound for one that leads out of it."""
    inner = os.path.relpath(root / path, root)
    if inner.split(os.sep)[0] == os.pardir:
        message = f"'{path}' is outside the project, so no commit of it has that file; name a file in the project"
        raise revisions.RevisionNotFound(message)
    return inner


def with_project(evaluation: Evaluation, stack: str, root: pathlib.Path) -> Evaluation:
    """Return the evaluation with the project's file around the stack's: it names the program and its plugins."""
    if evaluation.file is None:
        return evaluation
    text = read_text(project_of(locate(stack, root), root) / PROJECT, PROJECT, "")
    if isinstance(text, Problem):
        return evaluation
    document, _ = parse(text, PROJECT)
    project = text if document is None else document.value
    return replace(evaluation, file=replace(evaluation.file, around={**evaluation.file.around, PROJECT: project}))


def changes_between(old: Evaluation, new: Evaluation) -> Changes:
    """Return all that differs between two evaluations without faults, also beside the fleet.

    Raises IncomparablePlans.
    """
    from berth.backends.interface import compare
    from berth.diff.settings import compare_settings

    assert old.file is not None and old.plan is not None
    assert new.file is not None and new.plan is not None
    known = set(map(_identity, (*old.warnings, *old.accepted_risks)))
    added = [each for each in (*new.warnings, *new.accepted_risks) if _identity(each) not in known]
    codes = cast("Mapping[str, Mapping[str, object]]", new.file.fleet).get(ACCEPTED_WARNINGS) or {}
    written = (cast("Mapping[str, object]", file.written or {}) for file in (old.file, new.file))
    return replace(
        compare(old.plan, new.plan),
        warnings=tuple(each.line().removeprefix(f"{each.severity.word}: ") for each in added),
        newly_accepted=tuple(each.code for each in added if each.accepted and each.code in codes),
        settings=compare_settings(old.file.settings, new.file.settings),
        written=compare_settings(*written),
    )


def _identity(problem: Problem) -> tuple[object, ...]:
    """Return what makes a warning the same one on both sides: another reason to accept it is no new warning."""
    return problem.code, problem.path, problem.accepted, without_reason(problem.message)
