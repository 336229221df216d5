"""A document as plain text, aligned with spaces so that it can be pasted anywhere; in colours for a terminal."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator, Sequence

from berth.diagnostics import Problem, Severity, printable
from berth.diagnostics.listing import printed_problems
from berth.document import Block, Document, Heading, Lines, Note, ProblemList, Table

_RED, _YELLOW, _BOLD, _DIM, _END = "\033[31m", "\033[33m", "\033[1m", "\033[2m", "\033[0m"
_GAP = "   "
_LEAST = 24
"""Least width of a column that is wrapped: one that is narrower is hard to read."""
_COLOURS = {Severity.FAULT: _RED, Severity.WARNING: _YELLOW, Severity.NOTE: _DIM}


def render_text(document: Document, *, coloured: bool = False, width: int | None = None) -> str:
    """Return the blocks as paragraphs; with colours, first lines are bold, severities and codes red or yellow.

    Sentences are wrapped to `width`, but messages and tables with many columns of their own, which stay one line each.
    """
    paragraphs = [list(_lines(block, coloured, width)) for block in document]
    for paragraph in paragraphs if coloured else ():
        paragraph[:1] = [f"{_BOLD}{line}{_END}" for line in paragraph[:1]]
    return "\n\n".join("\n".join(paragraph) for paragraph in paragraphs if paragraph)


def problem_lines(problems: Iterable[Problem], *, coloured: bool = False, everything: bool = False) -> Iterator[str]:
    """Yield the problems that are printed, one a line, and how many are not; `everything` yields all of them."""
    shown, more = printed_problems(problems, everything=everything)
    for problem in shown:
        yield (
            problem.line(lambda word, each=problem: f"{_COLOURS[each.severity]}{word}{_END}")
            if coloured
            else (problem.line())
        )
    if more:
        yield f"… and {more} more; berth check --all prints them"


def _lines(block: Block, coloured: bool, width: int | None) -> Iterator[str]:
    match block:
        case Heading():
            yield printable(block.text)
        case Note():
            yield from (part for line in block.lines for part in _wrapped(printable(line), "", width))
        case Table():
            yield from _table(block, width) if block.rows else ()
        case Lines():
            yield from (block.title,) if block.lines else ()
            for line in block.lines:
                first, *below = (line,) if isinstance(line, str) else line
                yield from _wrapped(printable(first), "  ", width)
                for each in below:
                    yield from _wrapped(printable(each), " " * 6, width)
        case ProblemList():
            yield from (block.title,) if block.problems else ()
            lines = problem_lines(block.problems, coloured=coloured, everything=block.everything)
            yield from (f"  {line}" for line in lines)


def _wrapped(text: str, indent: str, width: int | None) -> list[str]:
    """Return a sentence in lines of at most `width`, as far as no word is longer; the second line is indented more."""
    if width is None or len(indent) + len(text) <= width:
        return [f"{indent}{text}"]
    return textwrap.wrap(
        text,
        width,
        initial_indent=indent,
        subsequent_indent=f"{indent}    ",
        break_long_words=False,
        break_on_hyphens=False,
    )


def _table(table: Table, width: int | None) -> Iterator[str]:
    shown = [column for column in range(len(table.head)) if column not in table.wide]
    lines: list[Sequence[str]] = [[table.title or table.head[0], *(table.head[column] for column in shown[1:])]]
    for above, row in zip([None, *table.rows], table.rows, strict=False):
        hidden = table.once if above is not None and above[0] == row[0] else ()
        first, *rest = ("" if column in hidden else printable(str(row[column])) for column in shown)
        lines.append([f"  {first}" if table.title else first, *rest])
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    start = sum(widths[:-1]) + len(_GAP) * (len(widths) - 1)
    for line in lines:
        cells = zip(shown, line, widths, strict=True)
        padded = (text.rjust(size) if column in table.numbers else text.ljust(size) for column, text, size in cells)
        whole = _GAP.join(padded).rstrip()
        if width is None or len(whole) <= width or width - start < _LEAST or shown[-1] in table.numbers:
            yield whole
            continue
        parts = textwrap.wrap(line[-1], width - start, break_long_words=False, break_on_hyphens=False)
        yield whole[:start] + parts[0]
        yield from (" " * start + part for part in parts[1:])
