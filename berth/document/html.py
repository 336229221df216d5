"""A document as parts of the report's page. Texts are escaped; the page's style and filter know the classes."""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Iterator

from berth.diagnostics import printable
from berth.document import Block, Document, Heading, Line, Lines, Note, ProblemList, Table


def render_html(document: Document) -> str:
    """Return the blocks as elements, one after another."""
    return "\n".join(line for block in document for line in _elements(block))


def _text(text: object) -> str:
    return html.escape(printable(str(text)))


def _words(text: object) -> str:
    """Return text whose names with hyphens, such as `us-central1-a`, stay in one line where the line has room."""
    return re.sub(r"\w+(?:-\w+)+", r'<span class="name">\g<0></span>', _text(text))


_SIGNS = {"+ ": "added: ", "- ": "removed: ", "~ ": "changed: "}
"""Signs of a difference, and their words: a sign at the start of a line is easy to miss in a list of a page."""


def _line(text: str) -> str:
    """Return a line of a list; a path that is wider than the screen breaks after a dot or a slash, not in a name."""
    words = _SIGNS.get(text[:2], text[:2]) + text[2:]
    return re.sub(r"(?<=[\w\])>])([./])(?=[a-zA-Z_<])", r"\1<wbr>", _words(words))


def _elements(block: Block) -> Iterator[str]:
    match block:
        case Heading():
            yield f'<p class="headline">{_text(block.text)}</p>'
        case Note():
            yield from _list(block.lines) if block.lines else ()
        case Table():
            yield from _part(block.title, block.folded, _table(block)) if block.rows else ()
        case Lines():
            yield from _part(block.title, block.folded, _list(block.lines)) if block.lines else ()
        case ProblemList():
            lines = [each.line_without_severity() for each in block.problems]
            yield from _part(block.title, block.folded, _list(lines)) if lines else ()


def _part(title: str, folded: bool, body: Iterable[str]) -> Iterator[str]:
    yield '<div class="part">'
    name = _text(title)
    yield f'<details data-group="{name}">\n<summary>{name}</summary>' if folded else f"<h3>{name}</h3>"
    yield from body
    yield "</details>\n</div>" if folded else "</div>"


def _list(lines: Iterable[Line]) -> Iterator[str]:
    yield '<ul class="lines">'
    for line in lines:
        first, *below = (line,) if isinstance(line, str) else line
        yield f"<li>{_line(first)}</li>"
        yield from (f'<li class="under">{_line(each)}</li>' for each in below)
    yield "</ul>"


def _table(table: Table) -> Iterator[str]:
    labels = [_text(each) for each in table.head]
    numbers = [' class="number"' if column in table.numbers else "" for column in range(len(labels))]
    heads = [f'<th scope="col"{number}>{label}</th>' for label, number in zip(labels, numbers, strict=True)]
    yield f'<div class="wide" tabindex="0" role="region" aria-label="{_text(table.title)}">\n<table class="cards">'
    yield f"<thead><tr>{''.join(heads)}</tr></thead>\n<tbody>"
    above: object = None
    for row in table.rows:
        again, above = ' class="again"' if row[0] == above else "", row[0]
        cells = zip(row, labels, numbers, strict=True)
        first, *rest = [f' data-label="{label}"{number}>{_words(cell)}' for cell, label, number in cells]
        yield f'<tr{again}><th scope="row"{first}</th>' + "".join(f"<td{cell}</td>" for cell in rest) + "</tr>"
    yield "</tbody>\n</table>\n</div>"
