"""What a CEL expression still asks where a part of the request is known.

An expression for requests of many kinds has operands that are constant for those of one: they are evaluated here, and
the API server neither compiles nor stores them. CEL's `||` and `&&` are commutative, also about errors, so that an
operand that decides may decide alone (CEL specification, "Logical Operators").
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Final

TRUE: Final = "true"
FALSE: Final = "false"
_NEGATED: Final = {TRUE: FALSE, FALSE: TRUE}
_LOGICAL: Final = ((" || ", TRUE), (" && ", FALSE))
"""Each with the operand that decides alone, the loosest first."""
_LITERAL: Final = r"'([^']*)'"
_EQUAL: Final = re.compile(rf"{_LITERAL} (==|!=) {_LITERAL}")
_LISTED: Final = re.compile(rf"{_LITERAL} in \[((?:'[^']*'(?:, )?)*)\]")
_TOKEN: Final = re.compile(r"'[^']*'|[()\[\]{}]| (?:\|\||&&|[=!<>]=|in|[?:<>+*/%-]) |, ")
"""What divides an expression: literals, brackets, operators and commas."""
_Operators = list[tuple[str, int]]
_Groups = list[tuple[int, int]]


def partly_evaluated(expression: str, known: Mapping[str, str]) -> str:
    """Return an expression with the parts that `known` has as keys replaced by their values, and what follows."""
    return _evaluated(_pattern(tuple(known)).sub(lambda found: known.get(found[0], found[0]), expression))


@lru_cache
def _pattern(names: tuple[str, ...]) -> re.Pattern[str]:
    return re.compile(rf"'[^']*'|(?<![\w.])(?:{'|'.join(map(re.escape, names))})(?!\w)")


@lru_cache(maxsize=20_000)
def _evaluated(text: str) -> str:
    operators, groups = _outermost(text)
    written = {operator for operator, _ in operators}
    if ", " in written:
        return ", ".join(map(_evaluated, _split(text, operators, ", ")))
    if " ? " in written:
        asked, yes, no = map(_evaluated, _conditional(text, operators))
        return {TRUE: yes, FALSE: no}.get(asked, f"{asked} ? {yes} : {no}")
    for operator, decides in _LOGICAL:
        if operator in written:
            operands = map(_evaluated, _split(text, operators, operator))
            left = [each for each in operands if each != _NEGATED[decides]]
            return decides if decides in left else operator.join(left) or _NEGATED[decides]
    if operators:
        return _compared(_within(text, groups))
    if text.startswith("!"):
        inner = _evaluated(text[1:])
        return _NEGATED.get(inner, f"!{inner}")
    if groups == [(0, len(text))]:
        inner = _evaluated(text[1:-1])
        return f"({inner})" if _outermost(inner)[0] else inner
    return _within(text, groups)


def _compared(text: str) -> str:
    if (equal := _EQUAL.fullmatch(text)) is not None:
        return TRUE if (equal[1] == equal[3]) == (equal[2] == "==") else FALSE
    if (listed := _LISTED.fullmatch(text)) is not None:
        return TRUE if f"'{listed[1]}'" in listed[2].split(", ") else FALSE
    return FALSE if text.endswith(" in []") else text


def _within(text: str, groups: _Groups) -> str:
    """Return a text whose arguments and groups are evaluated, one by one."""
    made, start = "", 0
    for opened, end in groups:
        made += f"{text[start:opened]}({_evaluated(text[opened + 1 : end - 1])})"
        start = end
    return made + text[start:]


def _conditional(text: str, operators: _Operators) -> tuple[str, str, str]:
    """Return the three parts of a conditional expression."""
    places = [(operator, at) for operator, at in operators if operator in (" ? ", " : ")]
    asked, open_conditions = places[0][1], 0
    for operator, at in places:
        open_conditions += 1 if operator == " ? " else -1
        if not open_conditions:
            return text[:asked], text[asked + 3 : at], text[at + 3 :]
    raise ValueError(f"not an expression: {text}")


def _split(text: str, operators: _Operators, separator: str) -> list[str]:
    """Return the operands of one of the operators of a text."""
    parts: list[str] = []
    start = 0
    for operator, at in operators:
        if operator == separator:
            parts.append(text[start:at])
            start = at + len(separator)
    return [*parts, text[start:]]


def _outermost(text: str) -> tuple[_Operators, _Groups]:
    """Return the operators and the round brackets of a text that are in no brackets, and where they are."""
    operators: _Operators = []
    groups: _Groups = []
    depth = opened = 0
    for found in _TOKEN.finditer(text):
        token = found[0]
        if token in "([{":
            depth += 1
            opened = found.start() if depth == 1 else opened
        elif token in ")]}":
            depth -= 1
            if depth == 0 and token == ")":
                groups.append((opened, found.end()))
        elif depth == 0 and token[0] != "'":
            operators.append((token, found.start()))
    return operators, groups
