"""A document as GitHub-flavoured Markdown, for a comment on a pull request.

Text from a stack file is escaped, because the workflow that posts the comment has more rights than the author of the
pull request. Long parts are folded.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator

from berth.diagnostics import printable
from berth.document import Block, Cell, Change, Document, Heading, Lines, Note, ProblemList, Table

_FOLD_ABOVE = 12
"""A part with more lines or rows than this is folded."""
_MAX_LINES = 400
"""Maximum number of lines in a folded part; GitHub accepts 65,536 characters in a comment."""

_MARKUP = re.compile(r"([\\`*_\[\]|~])|(?<=[#@])(?=\S)|(?<=:)(?=//)|^(?=[-+#>])")
"""Markdown syntax, and the positions where GitHub would read a mention, an issue number or a URL."""

_ZERO_WIDTH_SPACE = "\u200b"
"""Inserted between characters that must not be read together."""


def render_markdown(document: Document) -> str:
    """Return the blocks, separated by empty lines."""
    return "\n\n".join(part for part in map(_part, document) if part) + "\n"


def escape_markdown(text: str) -> str:
    """Return text that Markdown and HTML show unchanged, and that mentions no GitHub user."""
    marked = _MARKUP.sub(lambda match: f"\\{match[1]}" if match[1] else _ZERO_WIDTH_SPACE, printable(text))
    return html.escape(marked, quote=False)


def _part(block: Block) -> str:
    match block:
        case Heading():
            return f"### {escape_markdown(block.text)}"
        case Note():
            return "\n".join(_bullets(block))
        case Table():
            rows = [f"| {' | '.join(map(_cell, row))} |" for row in block.rows]
            rules = ["---:" if column in block.numbers else "---" for column in range(len(block.head))]
            body = [f"| {' | '.join(block.head)} |", f"|{'|'.join(rules)}|", *_truncated(rows)]
            is_long = block.folded or len(rows) > _FOLD_ABOVE
            return "" if not rows else _folded(block.title, len(rows), "\n".join(body)) if is_long else "\n".join(body)
        case Lines(folded=True):  # as a code block, which no line can close
            lines = [html.escape(line, quote=False) for line in _indented(block)]
            return _folded(block.title, None, "<pre>\n" + "\n".join(_truncated(lines)) + "\n</pre>") if lines else ""
        case Lines() | ProblemList():
            bullets = list(_bullets(block))
            if not isinstance(block, Lines) or block.whole or len(bullets) <= _FOLD_ABOVE:
                return f"**{block.title}**\n\n" + "\n".join(bullets) if bullets else ""
            return _folded(block.title, len(bullets), "\n".join(_truncated(bullets)))


def _bullets(block: Note | Lines | ProblemList) -> Iterator[str]:
    """Yield a bullet for each line, with those below it."""
    for line in [each.line() for each in block.problems] if isinstance(block, ProblemList) else block.lines:
        first, *below = (line,) if isinstance(line, str) else line
        yield "\n".join([f"- {escape_markdown(first)}", *(f"  - {escape_markdown(each)}" for each in below)])


def _indented(block: Lines) -> Iterator[str]:
    for line in block.lines:
        first, *below = (line,) if isinstance(line, str) else line
        yield printable(first)
        yield from (f"    {printable(each)}" for each in below)


def _cell(cell: Cell) -> str:
    """Return an escaped cell; what a value changes to is bold."""
    if isinstance(cell, Change) and cell.before != cell.after:
        return f"{escape_markdown(cell.before)} → **{escape_markdown(cell.after)}**"
    return escape_markdown(str(cell))


def _folded(title: str, count: int | None, body: str) -> str:
    summary = html.escape(title if count is None else f"{title} ({count})", quote=False)
    return f"<details><summary>{summary}</summary>\n\n{body}\n\n</details>"


def _truncated(lines: list[str]) -> list[str]:
    more = len(lines) - _MAX_LINES
    return lines if more <= 0 else [*lines[:_MAX_LINES], f"… and {more} more lines"]
