"""What a verb shows, without how: a document of headings, tables, lists and notes. One module renders each format.

A block without content is not rendered, so that a document lists all that it could have. Text in it is as a person or a
cluster wrote it: renderers escape it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from msgspec import Struct

from berth.diagnostics import Problem

_BLOCKS = 10


class Share(Struct, frozen=True):
    """A cell that shows `amount` as a share of `total`."""

    amount: int
    total: int

    def __str__(self) -> str:
        """Return ten blocks, with a `!` if the amount is more than the total; nothing without a total."""
        if self.total == 0:
            return ""
        filled = min(_BLOCKS, self.amount * _BLOCKS // self.total)
        return "█" * filled + "░" * (_BLOCKS - filled) + ("!" if self.amount > self.total else "")


class Change(Struct, frozen=True):
    """A cell that shows a value before and after."""

    before: str
    after: str

    def __str__(self) -> str:
        """Return `16 → 8`, or one value if it does not change."""
        return self.after if self.before == self.after else f"{self.before} → {self.after}"


Cell = str | Share | Change
Line = str | tuple[str, ...]
"""A line, or a line with those that belong to it."""


class Heading(Struct, frozen=True):
    """The answer in one line."""

    text: str


class Note(Struct, frozen=True):
    """Sentences, one a line."""

    lines: Sequence[str]


class Table(Struct, frozen=True):
    """A table under a title. `numbers`, `once` and `wide` are indices of its columns.

    Columns of `numbers` are aligned right. Of consecutive rows with the same first cell, a terminal shows the columns
    in `once` in the first row only. Columns in `wide` are shown on a page only. What is `folded` opens on a click. In
    a terminal the title takes the place of the first head; a table without a title begins with a column of numbers.
    """

    title: str
    head: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    numbers: Collection[int] = ()
    once: Collection[int] = ()
    wide: Collection[int] = ()
    folded: bool = False


class Lines(Struct, frozen=True):
    """A list under a title. What is `folded` opens on a click; what is `whole` is never folded or truncated."""

    title: str
    lines: Sequence[Line]
    folded: bool = False
    whole: bool = False


class ProblemList(Struct, frozen=True):
    """Faults, warnings or notes under a title. What is `folded` opens on a click.

    A terminal prints them as `berth/diagnostics/listing.py` says, `everything` on request; other formats have all.
    """

    title: str
    problems: Sequence[Problem]
    folded: bool = False
    everything: bool = False


Block = Heading | Note | Table | Lines | ProblemList
Document = Iterable[Block]
