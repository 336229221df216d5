"""What the page shows, as plain values: figures are computed here, and the template only lays them out."""

from __future__ import annotations

from collections.abc import Sequence

from markupsafe import Markup
from msgspec import Struct

from berth.document import Block
from berth.report.bars import SEGMENT_LABELS, FlavorChart
from berth.report.preemption_matrix import PreemptionMatrix
from berth.report.tree import TreeBox, TreeNode, nest_boxes


class ChangeSummary(Struct, frozen=True):
    """Changes of the fleet since a `revision`."""

    revision: str
    document: Sequence[Block]


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
    teams: Sequence[Block] = ()
    matrices: Sequence[PreemptionMatrix] = ()
    relations: Sequence[Block] = ()
    pools: Sequence[Block] = ()
    workloads: Sequence[Block] = ()

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
