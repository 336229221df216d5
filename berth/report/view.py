"""What the page shows, as plain values: figures are computed here, and the template only lays them out."""

from __future__ import annotations

from collections.abc import Sequence

from markupsafe import Markup
from msgspec import Struct

from berth.report.bars import SEGMENT_LABELS, FlavorChart
from berth.report.preemption_matrix import PreemptionMatrix
from berth.report.tree import TreeBox, TreeNode, nest_boxes


class Section(Struct, frozen=True):
    """A table (`head` and `rows`; `right` are the columns of numbers) or a list of `lines`, under a `caption`.

    A line that begins with four spaces belongs to the one above it. What is `folded` opens on a click.
    """

    caption: str
    header: Sequence[str] = ()
    rows: Sequence[Sequence[str]] = ()
    numeric_columns: Sequence[int] = ()
    lines: Sequence[str] = ()
    folded: bool = False

    @property
    def is_empty(self) -> bool:
        """Return whether there is nothing to show."""
        return not self.rows and not self.lines


class ChangeSummary(Struct, frozen=True):
    """Changes of the fleet `since` a revision: as one line, and in parts."""

    revision: str
    headline: str
    sections: Sequence[Section]


class KeyFigure(Struct, frozen=True):
    """One key figure of the fleet: the number, what it counts, and a note."""

    number: str
    label: str
    description: str = ""


class ReportOrigin(Struct, frozen=True):
    """When and from what a report was made: a date, the version of Berth, and the commit (empty: not known)."""

    date: str
    version: str
    commit: str = ""


class ReportBody(Struct, frozen=True):
    """The view of a plan of any kind; parts that a kind does not have are empty.

    `tree_caption` explains the quota tree, which is `boxes`; it is empty for a fleet without one. `workloads` are those
    that a stack deploys itself.
    """

    subtitle: str
    figures: Sequence[KeyFigure]
    picture: Markup
    tree_caption: str
    boxes: Sequence[TreeBox]
    charts: Sequence[FlavorChart] = ()
    teams: Sequence[Section] = ()
    matrices: Sequence[PreemptionMatrix] = ()
    relations: Section = Section("")
    pools: Sequence[Section] = ()
    workloads: Sequence[Section] = ()

    @property
    def tree(self) -> tuple[TreeNode, ...]:
        """Return the quota tree as nested nodes."""
        return nest_boxes(self.boxes)

    @property
    def bar_labels(self) -> dict[str, str]:
        """Return the kinds of bar segments that the charts have, with their labels."""
        bars = [bar for chart in self.charts for bar in (*chart.totals, *chart.teams)]
        kinds = {segment.kind for bar in bars for segment in bar.segments}
        return {kind: label for kind, label in SEGMENT_LABELS.items() if kind in kinds}

    @property
    def rule_letters(self) -> set[str]:
        """Return the letters that the preemption matrices have."""
        cells = [cell for matrix in self.matrices for _, row in matrix.rows or () for cell in row]
        return {letter for cell in cells for letter in cell.letters.split()}
