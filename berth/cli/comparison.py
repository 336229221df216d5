"""What `berth diff` and its kin are told to compare: stack names, files, and either at a revision of git."""

from __future__ import annotations

import pathlib

from msgspec import Struct
from msgspec.structs import replace

from berth.evaluate import Verdict, of_stack
from berth.loader import revisions
from berth.loader.locate import locate


class Named(Struct, frozen=True):
    """One side: STACK, or REV:STACK with its `revision`. `shown` is what to call it."""

    stack: str
    revision: str | None = None

    @property
    def shown(self) -> str:
        """As a person would write it."""
        return self.stack if self.revision is None else f"{self.revision}:{self.stack}"


def named(text: str) -> Named:
    """`dev`, `Pulumi.dev.yaml`, `main:dev`, `HEAD~2:stacks/examples/dws.yaml`."""
    revision, colon, stack = text.rpartition(":")
    return Named(stack, revision) if colon and revision else Named(text)


def since(stack: str, revision: str, root: pathlib.Path) -> Named:
    """STACK where the current branch left `revision`. Raises NoRevision."""
    return Named(locate(stack, root).shown, revisions.branched_off(revision, root))


def verdict(side: Named, root: pathlib.Path, called: str | None = None) -> Verdict:
    """The verdict on one side, its team files of the same revision; planned as the stack `called` so, if given.

    Raises NoRevision.
    """
    if side.revision is None:
        return of_stack(side.stack, root, called)
    with revisions.checked_out(side.revision, root) as folder:
        by_name = locate(side.stack, folder).by_name
        # A relative path means the file of the revision, never one that lies in the current folder.
        found = of_stack(side.stack if by_name else f"{folder / side.stack}", folder, called)
    placed = (p.at(f"{side.revision}:{p.place}") if p.place else p for p in found.problems)
    return replace(found, problems=tuple(placed))
