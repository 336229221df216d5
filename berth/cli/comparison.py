"""The two sides of a comparison: stack names or files, optionally at a git revision."""

from __future__ import annotations

import pathlib

from msgspec import Struct
from msgspec.structs import replace

from berth.evaluate import Evaluation, evaluate_stack
from berth.loader import revisions
from berth.loader.locate import locate


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


def at_merge_base(stack: str, revision: str, root: pathlib.Path) -> StackRevision:
    """Return the stack at the merge base of HEAD and `revision`. Raises RevisionNotFound."""
    return StackRevision(locate(stack, root).display_path, revisions.merge_base(revision, root))


def new_warnings(old: Evaluation, new: Evaluation) -> tuple[str, ...]:
    """Return the warnings of `new` that `old` does not have, one line each."""
    known = {(warning.code, warning.path, warning.message) for warning in old.warnings}
    added = (warning for warning in new.warnings if (warning.code, warning.path, warning.message) not in known)
    return tuple(warning.line().removeprefix("warning: ") for warning in added)


def evaluate_revision(side: StackRevision, root: pathlib.Path, stack_name: str | None = None) -> Evaluation:
    """Evaluate one side with the team files of its revision, under `stack_name` if given.

    Raises RevisionNotFound.
    """
    if side.revision is None:
        return evaluate_stack(side.stack, root, stack_name)
    with revisions.yaml_checkout(side.revision, root) as folder:
        by_name = locate(side.stack, folder).by_name
        # A relative path is a file of the revision, never one in the current folder.
        evaluation = evaluate_stack(side.stack if by_name else f"{folder / side.stack}", folder, stack_name)
    problems = (p.with_place(f"{side.revision}:{p.place}") if p.place else p for p in evaluation.problems)
    return replace(evaluation, problems=tuple(problems))
