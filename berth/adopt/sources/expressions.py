"""Evaluate expressions of HCL, which Terraform and blueprints use, as far as the files say their values.

What no file says is `Unresolved`, and so is everything that depends on it: nothing is guessed.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, cast

from berth.adopt.sources.hcl_functions import FUNCTIONS, OPERATORS, hcl_number, hcl_text, negated
from berth.adopt.sources.source_fleet import Names, Scope, Unresolved, unresolved_in

_MAX_DEPTH = 60
"""Maximum nesting of an expression."""
_TOKEN = re.compile(
    r"\s*(?:(?P<number>\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)|(?P<name>[A-Za-z_][\w-]*)|(?P<string>\")"
    r"|(?P<operator>&&|\|\||==|!=|<=|>=|\[\*\]|\.\*|=>|\.\.\.|[-+*/%<>!?:.,()\[\]{}=\n]))"
)
_ESCAPES = {"n": "\n", "t": "\t", '"': '"', "\\": "\\", "r": "\r"}


def evaluate(text: str, scope: Scope) -> Any:
    """Return the value of an expression; Unresolved with its text if it uses what the files or this module lack."""
    try:
        parser = _Parser(text, scope)
        value = parser.expression()
        parser.expect_end()
    except (_SyntaxError, TypeError, ValueError, ArithmeticError, LookupError, AttributeError, RecursionError):
        return Unresolved(_short(text))
    return value


def expand(text: str, scope: Scope, opening: str = "${", closing: str = "}") -> Any:
    """Return a template with the values of its expressions; a template of one expression keeps the value's type."""
    try:
        pieces = list(_template_parts(text, opening, closing))
    except (_SyntaxError, IndexError):
        return Unresolved(_short(text))
    parts = [evaluate(piece, scope) if is_expression else piece for piece, is_expression in pieces]
    if len(parts) == 1:
        return parts[0]
    unresolved = next((each for each in parts if isinstance(each, Unresolved)), None)
    return unresolved if unresolved is not None else "".join(map(hcl_text, parts))


class _SyntaxError(Exception):
    """An expression that this module does not read."""


def _short(text: str) -> str:
    flat = " ".join(text.split())
    return flat if len(flat) <= 80 else f"{flat[:77]}..."


def _template_parts(text: str, opening: str, closing: str) -> Iterator[tuple[str, bool]]:
    """Yield the parts of a template, and whether each is an expression."""
    rest, literal = text, ""
    while opening in rest:
        before, _, after = rest.partition(opening)
        if before.endswith(("\\", "$")):  # an escaped opening is text
            literal, rest = literal + before[:-1] + opening, after
            continue
        literal += before
        if literal:
            yield literal, False
        literal = ""
        end = _closing_position(after, closing)
        yield after[:end], True
        rest = after[end + len(closing) :]
    if literal + rest or not text:
        yield literal + rest, False


def _closing_position(text: str, closing: str) -> int:
    """Return where the expression at the start of a text ends. Raises _SyntaxError if it does not."""
    depth, in_string, position = 0, False, 0
    while position < len(text):
        character = text[position]
        if in_string:
            position += character == "\\"
            in_string = character != '"'
        elif character == '"':
            in_string = True
        elif depth == 0 and text.startswith(closing, position):
            return position
        elif character in "([{":
            depth += 1
        elif character in ")]}":
            depth -= 1
        position += 1
    raise _SyntaxError


class _Parser:
    """Reads and evaluates an expression at once: what it has read is known or Unresolved, so no tree is kept."""

    def __init__(self, text: str, scope: Scope) -> None:
        self._text, self._scope = text, scope
        self._position, self._depth = 0, 0

    def expect_end(self) -> None:
        """Raise _SyntaxError if text is left."""
        if self._text[self._position :].strip():
            raise _SyntaxError

    def expression(self) -> Any:
        """Return the value of a whole expression."""
        self._depth += 1
        if self._depth > _MAX_DEPTH:
            raise _SyntaxError
        condition = self._binary(0)
        if self._take("?"):
            chosen = self.expression()
            self._need(":")
            other = self.expression()
            condition = condition if isinstance(condition, Unresolved) else (chosen if condition else other)
        self._depth -= 1
        return condition

    def _binary(self, level: int) -> Any:
        if level == len(OPERATORS):
            return self._unary()
        value = self._binary(level + 1)
        while (symbol := self._peek()) in OPERATORS[level]:
            self._take(symbol)
            right = self._binary(level + 1)
            unresolved = next((each for each in (value, right) if isinstance(each, Unresolved)), None)
            value = OPERATORS[level][symbol](value, right) if unresolved is None else unresolved
        return value

    def _unary(self) -> Any:
        for symbol, apply in (("!", operator.not_), ("-", negated)):
            if self._take(symbol):
                value = self._unary()
                return value if isinstance(value, Unresolved) else apply(value)
        return self._with_steps(*self._primary())

    def _primary(self) -> tuple[Any, str]:
        """Return a value, and how it is called in the text."""
        match = _TOKEN.match(self._text, self._position)
        if match is None:
            raise _SyntaxError
        if match["number"]:
            self._position = match.end()
            return hcl_number(match["number"]), match["number"]
        if match["string"]:
            return self._string(match.end()), "text"
        if match["name"]:
            self._position = match.end()
            return self._named(match["name"])
        return self._enclosed(match["operator"]), "value"

    def _string(self, start: int) -> Any:
        position = start
        while self._text[position] != '"':
            if self._text.startswith("${", position):
                position += 2 + _closing_position(self._text[position + 2 :], "}")
            position += 2 if self._text[position] == "\\" else 1
        self._position = position + 1
        raw = self._text[start:position]
        return expand(re.sub(r"\\(.)", lambda match: _ESCAPES.get(match[1], match[0]), raw), self._scope)

    def _named(self, name: str) -> tuple[Any, str]:
        if name in ("true", "false", "null"):
            return {"true": True, "false": False, "null": None}[name], name
        if self._take("("):
            return self._call(name, self._items(")")), f"{name}()"
        return self._scope.get(name, Unresolved(name)), name

    def _call(self, name: str, arguments: list[Any]) -> Any:
        if name == "try":
            return next((each for each in arguments if not isinstance(each, Unresolved)), arguments[-1])
        if name not in FUNCTIONS:
            return Unresolved(f"{name}()")
        if name not in ("concat", "flatten", "merge", "length"):  # these keep what they are given
            for each in arguments:
                for unresolved in unresolved_in(each):
                    return unresolved
        unresolved = next((each for each in arguments if isinstance(each, Unresolved)), None)
        return FUNCTIONS[name](*arguments) if unresolved is None else unresolved

    def _enclosed(self, symbol: str) -> Any:
        self._need(symbol)
        if symbol == "(":
            value = self.expression()
            self._need(")")
            return value
        if symbol == "[":
            return self._items("]")
        if symbol == "{":
            return self._object()
        raise _SyntaxError

    def _items(self, closing: str) -> list[Any]:
        items: list[Any] = []
        while not self._take(closing):
            items.append(self.expression())
            if self._take("..."):
                items += items.pop()
            if not self._take(","):
                self._need(closing)
                break
        return items

    def _object(self) -> dict[str, Any]:
        result: dict[str, Any] = {}
        while not self._take("}"):
            match = re.compile(r"\s*([A-Za-z_][\w-]*)(?=\s*[=:])").match(self._text, self._position)
            if match is not None and match[1] != "for":
                self._position, key = match.end(), match[1]
            else:
                key = hcl_text(self.expression())
            if not self._take("=") and not self._take(":"):
                raise _SyntaxError
            result[key] = self.expression()
            self._take(",")
        return result

    def _with_steps(self, value: Any, path: str) -> Any:
        """Return what the attributes, indices and splats after a value select."""
        while True:
            if self._take("[*]") or self._take(".*"):
                steps = list[Any]()
                while self._take("."):
                    steps.append(self._step())
                items = cast("list[Any]", value) if isinstance(value, list) else [value]
                value = value if isinstance(value, Unresolved) else [_selected(each, steps, path) for each in items]
            elif self._take("["):
                key = self.expression()
                self._need("]")
                value = key if isinstance(key, Unresolved) else _selected(value, [key], path)
                path = f"{path}[{hcl_text(key)}]"
            elif self._take("."):
                key = self._step()
                value, path = _selected(value, [key], path), f"{path}.{key}"
            else:
                return value

    def _step(self) -> str | int:
        match = re.compile(r"\s*(?:(\d+)|([A-Za-z_][\w-]*))").match(self._text, self._position)
        if match is None:
            raise _SyntaxError
        self._position = match.end()
        return int(match[1]) if match[1] else match[2]

    def _peek(self) -> str:
        match = _TOKEN.match(self._text, self._position)
        return (match["operator"] or "") if match is not None else ""

    def _take(self, symbol: str) -> bool:
        match = _TOKEN.match(self._text, self._position)
        if match is None or match["operator"] != symbol:
            return False
        self._position = match.end()
        return True

    def _need(self, symbol: str) -> None:
        if not self._take(symbol):
            raise _SyntaxError


def _selected(value: Any, steps: Sequence[Any], path: str) -> Any:
    """Return the value at some steps; Unresolved with the whole path if there is none."""
    for step in steps:
        if isinstance(value, Unresolved):
            return Unresolved(f"{value.text}.{step}") if value.text == path else value
        path = f"{path}.{step}"
        if isinstance(value, Names):
            value = value.get(str(step))
        elif isinstance(value, Mapping):
            value = cast("Mapping[Any, Any]", value).get(step, Unresolved(path))
        elif isinstance(value, list) and isinstance(step, (int, float)):
            items = cast("list[Any]", value)
            value = items[int(step)] if 0 <= step < len(items) else Unresolved(path)
        else:
            return Unresolved(path)
    return value
