"""Plain-text tables, aligned with spaces so that they can be pasted anywhere."""

from __future__ import annotations

from collections.abc import Sequence

_BLOCKS = 10


def table(head: Sequence[str], rows: Sequence[Sequence[str]], right: Sequence[int] = ()) -> str:
    """Return a table whose rows are indented below its head; "" without rows.

    `right` are the columns that hold numbers.
    """
    if not rows:
        return ""
    lines = [list(head), *([f"  {row[0]}", *row[1:]] for row in rows)]
    widths = [max(len(line[i]) for line in lines) for i in range(len(head))]
    return "\n".join(_line(line, widths, right) for line in lines)


def _line(cells: Sequence[str], widths: Sequence[int], right: Sequence[int]) -> str:
    padded = (c.rjust(w) if i in right else c.ljust(w) for i, (c, w) in enumerate(zip(cells, widths, strict=True)))
    return "   ".join(padded).rstrip()


def bar(amount: int, total: int) -> str:
    """Return a bar of ten blocks that shows `amount` as a share of `total`, with a `!` if it is more than `total`."""
    if total == 0:
        return ""
    filled = min(_BLOCKS, amount * _BLOCKS // total)
    return "█" * filled + "░" * (_BLOCKS - filled) + ("!" if amount > total else "")
