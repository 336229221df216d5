"""A document as plain text, aligned with spaces so that it can be pasted anywhere; in colours for a terminal."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from berth.diagnostics import Problem, Severity, printable
from berth.diagnostics.listing import printed_problems
from berth.document import Block, Document, Heading, Lines, Note, ProblemList, Table

_RED, _YELLOW, _BOLD, _DIM, _END = "\033[31m", "\033[33m", "\033[1m", "\033[2m", "\033[0m"
_COLOURS = {Severity.FAULT: _RED, Severity.WARNING: _YELLOW, Severity.NOTE: _DIM}


def render_text(document: Document, *, coloured: bool = False) -> str:
    """Return the blocks as paragraphs; with colours, first lines are bold, severities and codes red or yellow."""
    paragraphs = [list(_lines(block, coloured)) for block in document]
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


def _lines(block: Block, coloured: bool) -> Iterator[str]:
    match block:
        case Heading():
            yield printable(block.text)
        case Note():
            yield from map(printable, block.lines)
        case Table():
            yield from _table(block) if block.rows else ()
        case Lines():
            yield from (block.title,) if block.lines else ()
            for line in block.lines:
                first, *below = (line,) if isinstance(line, str) else line
                yield f"  {printable(first)}"
                yield from (f"      {printable(each)}" for each in below)
        case ProblemList():
            yield from (block.title,) if block.problems else ()
            lines = problem_lines(block.problems, coloured=coloured, everything=block.everything)
            yield from (f"  {line}" for line in lines)


def _table(table: Table) -> Iterator[str]:
    shown = [column for column in range(len(table.head)) if column not in table.wide]
    lines: list[Sequence[str]] = [[table.title or table.head[0], *(table.head[column] for column in shown[1:])]]
    for above, row in zip([None, *table.rows], table.rows, strict=False):
        hidden = table.once if above is not None and above[0] == row[0] else ()
        first, *rest = ("" if column in hidden else printable(str(row[column])) for column in shown)
        lines.append([f"  {first}" if table.title else first, *rest])
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    for line in lines:
        cells = zip(shown, line, widths, strict=True)
        padded = (text.rjust(width) if column in table.numbers else text.ljust(width) for column, text, width in cells)
        yield "   ".join(padded).rstrip()
