"""What a CEL expression still asks where a part of the request is known.

An expression for requests of many kinds has operands that are constant for those of one: they are evaluated here, and
the API server neither compiles nor stores them. CEL's `||` and `&&` are commutative, also about errors, so that an
operand that decides may decide alone (CEL specification, "Logical Operators").
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache, lru_cache
from typing import Final

TRUE: Final = "true"
FALSE: Final = "false"
_NEGATED: Final = {TRUE: FALSE, FALSE: TRUE}
_OPERATORS: Final = ((" || ", TRUE), (" && ", FALSE))
"""Each with the operand that decides alone; of those that do not, the loosest first."""
_LITERAL: Final = r"'([^']*)'"
_EQUAL: Final = re.compile(rf"{_LITERAL} (==|!=) {_LITERAL}")
_LISTED: Final = re.compile(rf"{_LITERAL} in \[((?:'[^']*'(?:, )?)*)\]")
_BRACKET: Final = re.compile(r"['(\[{)\]}]")
_COMPARISONS: Final = (" == ", " != ", " <= ", " >= ", " < ", " > ", " in ", " + ")


def partly_evaluated(expression: str, known: Mapping[str, str]) -> str:
    """Return an expression with the parts that `known` has as keys replaced by their values, and what follows."""
    parts = "|".join(map(re.escape, known))
    replaced = re.sub(rf"'[^']*'|(?<![\w.])(?:{parts})(?!\w)", lambda found: known.get(found[0], found[0]), expression)
    return _evaluated(replaced)


@lru_cache(maxsize=20_000)
def _evaluated(text: str) -> str:
    if (parts := _conditional(text)) is not None:
        asked, yes, no = map(_evaluated, parts)
        return {TRUE: yes, FALSE: no}.get(asked, f"{asked} ? {yes} : {no}")
    for operator, decides in _OPERATORS:
        if len(operands := _split(text, operator)) > 1:
            left = [each for each in map(_evaluated, operands) if each != _NEGATED[decides]]
            return decides if decides in left else operator.join(left) or _NEGATED[decides]
    if any(len(_split(text, each)) > 1 for each in _COMPARISONS):
        return _compared(_within(text))
    if text.startswith("!"):
        inner = _evaluated(text[1:])
        return _NEGATED.get(inner, f"!{inner}")
    if text.startswith("(") and _end(text, 0) == len(text):
        inner = _evaluated(text[1:-1])
        return f"({inner})" if _find(inner, " ") >= 0 else inner
    return _within(text)


def _compared(text: str) -> str:
    if (equal := _EQUAL.fullmatch(text)) is not None:
        return TRUE if (equal[1] == equal[3]) == (equal[2] == "==") else FALSE
    if (listed := _LISTED.fullmatch(text)) is not None:
        return TRUE if f"'{listed[1]}'" in listed[2].split(", ") else FALSE
    return FALSE if text.endswith(" in []") else text


def _within(text: str) -> str:
    """Return a text whose arguments and groups are evaluated, one by one."""
    made, start = "", 0
    while (opened := _find(text, "(", start)) >= 0:
        end = _end(text, opened)
        inner = ", ".join(map(_evaluated, _split(text[opened + 1 : end - 1], ", ")))
        made += f"{text[start:opened]}({inner})"
        start = end
    return made + text[start:]


def _conditional(text: str) -> tuple[str, str, str] | None:
    """Return the three parts of a conditional expression; None if the text is another."""
    asked = _find(text, " ? ")
    if asked < 0:
        return None
    open_conditions, at = 1, asked + 3
    while open_conditions:
        more, otherwise = _find(text, " ? ", at), _find(text, " : ", at)
        open_conditions += 1 if 0 <= more < otherwise else -1
        at = (more if 0 <= more < otherwise else otherwise) + 3
    return text[:asked], text[asked + 3 : at - 3], text[at:]


def _split(text: str, separator: str) -> list[str]:
    """Return the parts of a text between separators that are in no group, argument or literal."""
    parts: list[str] = []
    start = 0
    while (at := _find(text, separator, start)) >= 0:
        parts.append(text[start:at])
        start = at + len(separator)
    return [*parts, text[start:]]


def _find(text: str, searched: str, start: int = 0) -> int:
    """Return where a text is outside of groups, arguments and literals; -1 if it is not."""
    at = start if text.find(searched, start) >= 0 else len(text)
    while (found := _stops(searched).search(text, at)) is not None:
        if found[0] == searched:
            return found.start()
        at = _end(text, found.start())
    return -1


@cache
def _stops(searched: str) -> re.Pattern[str]:
    """Return the pattern of a text, and of what begins a part in which it is not looked for."""
    return re.compile(rf"{re.escape(searched)}|['(\[{{]")


def _end(text: str, at: int) -> int:
    """Return where the literal or the group that begins at a place ends."""
    if text[at] == "'":
        return text.index("'", at + 1) + 1
    at += 1
    while (found := _BRACKET.search(text, at)) is not None:
        if found[0] in ")]}":
            return found.end()
        at = _end(text, found.start())
    raise ValueError(f"not an expression: {text}")
