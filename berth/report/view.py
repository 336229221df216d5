"""What the page shows, as plain values: figures are computed before, and the template only lays them out."""

from __future__ import annotations

from collections.abc import Sequence

from markupsafe import Markup
from msgspec import Struct

from berth.report.bars import Chart
from berth.report.preemption_matrix import Matrix


class Part(Struct, frozen=True):
    """A table (`head` and `rows`; `right` are the columns of numbers) or a list of `lines`, under a `caption`.

    A line that begins with four spaces belongs to the one above it. What is `folded` opens on a click.
    """

    caption: str
    head: Sequence[str] = ()
    rows: Sequence[Sequence[str]] = ()
    right: Sequence[int] = ()
    lines: Sequence[str] = ()
    folded: bool = False

    @property
    def empty(self) -> bool:
        """Whether there is nothing to show."""
        return not self.rows and not self.lines


class Changed(Struct, frozen=True):
    """What became of the fleet `since` a revision: in one line, and in parts."""

    since: str
    headline: str
    parts: Sequence[Part]


class Figure(Struct, frozen=True):
    """One number of the fleet at a glance, what it counts and a word on it."""

    number: str
    what: str
    more: str = ""


class Body(Struct, frozen=True):
    """What is shown of a plan, whatever its kind; what a kind has not is empty.

    `tree_says` explains the picture. `workloads` are those that a stack deploys itself.
    """

    subtitle: str
    figures: Sequence[Figure]
    picture: Markup
    tree_says: str
    tree: Part
    charts: Sequence[Chart] = ()
    teams: Part = Part("")
    matrices: Sequence[Matrix] = ()
    relations: Part = Part("")
    pools: Sequence[Part] = ()
    workloads: Sequence[Part] = ()
