"""Explain a parser error in one line, at the line of its cause, which often is not where the parser stopped."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import yaml
from msgspec import Struct

from berth.diagnostics import Problem, Severity, format_value

_CLOSING = {"[": "]", "{": "}", '"': '"', "'": "'"}


class _ParserError(Struct, frozen=True):
    """Where the parser stopped (`line`, `column`), and where what it was reading begins; all count from 0."""

    lines: list[str]
    problem: str
    line: int
    column: int
    start_line: int
    start_column: int

    def text(self, line: int) -> str:
        return self.lines[line] if 0 <= line < len(self.lines) else ""

    @property
    def stopped_at(self) -> str:
        return self.text(self.line)[self.column :]

    @property
    def opened_by(self) -> str:
        return self.text(self.start_line)[self.start_column : self.start_column + 1]

    def before(self, line: int) -> int:
        """Return the nearest earlier line with more than a comment; -1 without one."""
        return next((n for n in range(line - 1, -1, -1) if _content(self.lines[n])), -1)


_Explanation = tuple[int, int, str]
"""The line and the column of the cause, from 0, and the message."""


def explain_parser_error(error: yaml.YAMLError, text: str, display_path: str) -> Problem:
    """Return the fault `bad-yaml` for a parser error in `text`, placed at `display_path:LINE:COLUMN` of the cause."""
    if not isinstance(error, yaml.MarkedYAMLError) or error.problem_mark is None:
        return Problem(Severity.FAULT, "bad-yaml", (), " ".join(f"not valid YAML: {error}".split()), display_path)
    stop: Any = error.problem_mark
    start: Any = error.context_mark or stop
    failure = _ParserError(text.splitlines(), error.problem or "", stop.line, stop.column, start.line, start.column)
    line, column, message = _explain(failure)
    return Problem(Severity.FAULT, "bad-yaml", (), message, f"{display_path}:{line + 1}:{column + 1}")


def _explain(error: _ParserError) -> _Explanation:
    if error.stopped_at.startswith("\t"):
        return error.line, error.column, "a tab cannot indent YAML; use spaces"
    if any(phrase in error.problem for phrase in _INDENTATION_PHRASES) and (cause := _misindented_neighbour(error)):
        return cause
    for phrase, explain in _EXPLANATIONS.items():
        if phrase in error.problem:
            return (error.line, error.column, explain) if isinstance(explain, str) else explain(error)
    return error.line, error.column, f"not valid YAML: {error.problem}; check this line and the one above it"


def _misindented_neighbour(error: _ParserError) -> _Explanation | None:
    """Explain a line that is right itself, below a key of the same mapping that is indented too far or too little.

    The mapping's keys belong one step further in than the key above them; a step is what the file mostly uses.
    """
    indent, step = _indent(error.text(error.line)), _step(error.lines[: error.line])
    parent = _parent(error, error.line, indent)
    first_child = next((n for n in range(parent + 1, error.line) if _content(error.lines[n])), -1)
    for line in (error.before(error.line), first_child):
        own = _indent(error.text(line))
        parent = _parent(error, line, own)
        if line >= 0 <= parent and own != indent and _indent(error.text(parent)) + step == indent:
            cause = parent if _is_out(error, parent, indent, step) else line
            return cause, _indent(error.text(cause)), _unlike_neighbour(error, cause, indent)
    return _outlier(error, indent, step)


def _outlier(error: _ParserError, indent: int, step: int) -> _Explanation | None:
    """Explain a line that lost its indentation between lines that keep theirs: it is out by more than one step."""
    line = _parent(error, error.line, indent)
    own = _indent(error.text(line))
    if line < 0 or indent - own <= step:
        return None
    before = error.before(line)
    above = _parent(error, line, indent)
    is_sibling = before >= 0 and _indent(error.text(before)) >= indent
    is_first = before == above >= 0 and _indent(error.text(above)) + step == indent
    return (line, own, _unlike_neighbour(error, line, indent)) if is_sibling or is_first else None


def _is_out(error: _ParserError, line: int, indent: int, step: int) -> bool:
    """Return whether a key itself lost a step, and not the line below it.

    It follows a key without a value that is out too, or the lines before it and several right below it keep theirs.
    """
    before = error.text(error.before(line))
    if _indent(before) < indent:
        return _indent(before) == _indent(error.text(line)) and _content(before).endswith(":")
    below = [_indent(each) for each in error.lines[line + 1 : error.line] if _content(each)]
    return min(below) == indent + step and below.count(indent + step) > 1


def _unlike_neighbour(error: _ParserError, line: int, indent: int) -> str:
    own, neighbour = _indent(error.text(line)), _named(error, error.line)
    return (
        f"{_named(error, line)} is indented by {own} spaces, but {neighbour} on line {error.line + 1} by {indent}; "
        f"indent it by {indent}"
    )


def _parent(error: _ParserError, line: int, indent: int) -> int:
    """Return the nearest earlier line that is indented by less; -1 without one."""
    earlier = range(line - 1, -1, -1)
    return next((n for n in earlier if _content(error.lines[n]) and _indent(error.lines[n]) < indent), -1)


def _step(lines: list[str]) -> int:
    """Return by how much the lines of a file are mostly indented below a key; 2 if nothing is indented."""
    indents = [_indent(line) for line in lines if _content(line)]
    steps = Counter(below - above for above, below in pairwise(indents) if below > above)
    return max(steps, key=lambda step: steps[step], default=2)


def _missing_colon(error: _ParserError) -> _Explanation:
    words = _content(error.text(error.start_line)[error.start_column :])
    key, colon, value = words.partition(":")
    if not colon:
        return error.start_line, error.start_column, _no_colon(words)
    message = f"has no space after its colon; write '{format_value(f'{key}: {value}'.rstrip())}'"
    if value.startswith(" "):  # the text of the key began on an earlier line
        message = "continues the text of the line above; indent it as the key there"
    return error.start_line, error.start_column, f"'{format_value(words)}' {message}"


def _no_colon(words: str) -> str:
    """Explain a line without a colon; its first word is the key."""
    key, _, value = words.removesuffix("=").partition(" ")
    return f"'{format_value(words)}' has no colon; write '{format_value(f'{key}: {value}'.rstrip())}'"


def _unexpected_key(error: _ParserError) -> _Explanation:
    """Explain a key where a value was read: two keys on one line, or a line that is indented too far."""
    line = error.text(error.line)
    before, indent = error.before(error.line), _indent(line)
    if ": " in line[indent : error.column] or before < 0:
        return error.line, error.column, "a second ': ' on one line; quote the value, or begin a new line"
    above = _content(error.text(before))
    if ":" not in above:
        return before, _indent(error.text(before)), _no_colon(above)
    return error.line, indent, _indented_too_far(error, before, indent)


def _indented_too_far(error: _ParserError, before: int, indent: int) -> str:
    key, above = _key_at(error, error.line), _key_at(error, before)
    return (
        f"'{key}' is indented by {indent} spaces, but '{above}' on line {before + 1} has a value already; "
        f"indent it by {_indent(error.text(before))}"
    )


def _unexpected_block(error: _ParserError) -> _Explanation:
    """Explain a line that does not continue the mapping that began on the start line."""
    line = error.text(error.line)
    indent = _indent(line)
    if error.column > indent:
        message = (
            f"'{format_value(_content(error.stopped_at))}' follows a complete value; remove it, or put quotes "
            "around both"
        )
        return error.line, error.column, message
    if _is_item(line) and _is_item(above := error.text(error.before(error.line))):
        message = f"this item is indented by {indent} spaces, but the one above by {_indent(above)}; indent both alike"
        return error.line, error.column, message
    if (
        _is_item(line)
        and _indent(error.text(error.before(error.line))) == indent
        and _content(error.text(error.before(error.line))).startswith(("{", "["))
    ):
        return (
            error.before(error.line),
            indent,
            "this item has no '-', but the item below has one; write '- ' before it",
        )
    if _is_item(line):
        message = f"a list item follows the keys that begin on line {error.start_line + 1}; remove its '-'"
        return error.line, error.column, message
    if not _content(line).strip("]}),;"):
        return error.line, error.column, f"'{_content(line)}' closes nothing that is open; remove it"
    levels = " or ".join(str(level) for level in _levels(error))
    message = f"'{_key_at(error, error.line)}' is indented by {indent} spaces, and no key above it is"
    return error.line, error.column, f"{message}; indent it by {levels}"


def _levels(error: _ParserError) -> list[int]:
    """Return the indentations that the line may have, of the keys it can follow: the nearest, or the nearest two."""
    indent = _indent(error.text(error.line))
    open_levels: list[int] = []
    for line in filter(_content, reversed(error.lines[: error.line])):
        if not open_levels or _indent(line) < open_levels[-1]:
            open_levels.append(_indent(line))
    distance = min(abs(level - indent) for level in open_levels)
    return sorted(level for level in open_levels if abs(level - indent) == distance)


def _unclosed(error: _ParserError) -> _Explanation:
    """Explain a bracket or a quote that is not closed, or a missing comma."""
    if error.line == error.start_line and _content(error.stopped_at):
        return error.line, error.column, f"a ',' or '{_CLOSING.get(error.opened_by, '}')}' is missing here; write one"
    return error.start_line, error.start_column, _not_closed(error.opened_by)


def _not_closed(opening: str) -> str:
    return f"'{opening}' opens here and is not closed; write '{_CLOSING.get(opening, 'the closing sign')}' at its end"


def _missing_value(error: _ParserError) -> _Explanation:
    last = error.text(error.before(error.line))
    if not any(map(_content, error.lines[error.line :])) and last.rstrip()[-1:] in ("[", "{"):
        opening = last.rstrip()[-1]
        return error.before(error.line), len(last.rstrip()) - 1, _not_closed(opening)
    return error.line, error.column, "a value is missing here, or a bracket before it is not closed; write it"


def _cannot_begin(character: str) -> str:
    return f"a value cannot begin with '{character}'; quote the value"


def _bad_escape(error: _ParserError) -> _Explanation:
    escape = error.text(error.line)[error.column : error.column + 2]
    message = f"'{escape}' is not a valid escape in double quotes; write '\\\\' for a backslash, or use single quotes"
    return error.line, error.column, message


_EXPLANATIONS: dict[str, Callable[[_ParserError], _Explanation] | str] = {
    "could not find expected ':'": _missing_colon,
    "mapping values are not allowed": _unexpected_key,
    "did not find expected key": _unexpected_block,
    "did not find expected '-' indicator": lambda error: (
        error.line,
        error.column,
        f"a key among the items of the list that begins on line {error.start_line + 1}; write '- ' before it, "
        "or indent it less",
    ),
    "did not find expected ','": _unclosed,
    "did not find expected node content": _missing_value,
    "found unexpected end of stream": _unclosed,
    "found character that cannot start any token": lambda error: (
        error.line,
        error.column,
        _cannot_begin(error.stopped_at[:1]),
    ),
    "did not find expected alphabetic or numeric character": lambda error: (
        error.start_line,
        error.start_column,
        _cannot_begin(error.opened_by),
    ),
    "block sequence entries are not allowed": (
        "a list item cannot follow a key on the same line; begin a new line before '-'"
    ),
    "did not find expected <document start>": (
        "a second YAML document begins here; keep one, and remove '---' and '...'"
    ),
    "invalid Unicode character": "an escape that is not a valid Unicode character; write the character itself",
    "escape": _bad_escape,
}
"""How to explain each of libyaml's messages, by a phrase of it: a text where the parser stopped is the cause."""

_INDENTATION_PHRASES = ("mapping values are not allowed", "did not find expected key")
"""Phrases of messages that wrong indentation can lead to."""


def _key_at(error: _ParserError, line: int) -> str:
    return _content(error.text(line)).partition(":")[0]


def _named(error: _ParserError, line: int) -> str:
    return "the item" if _is_item(error.text(line)) else f"'{_key_at(error, line)}'"


def _is_item(line: str) -> bool:
    return line.lstrip(" ").startswith("- ")


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip(" "))


def _content(line: str) -> str:
    """The line without its indentation and a comment."""
    words = line.strip()
    return "" if words.startswith("#") else words.partition(" #")[0].rstrip()
