"""Evaluate expressions of HCL, which Terraform and blueprints use, as far as the files say their values.

What no file says is `Unresolved`, and so is everything that depends on it: nothing is guessed.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final, cast

from msgspec import Struct

_MAX_ITEMS = 10_000
_MAX_DEPTH = 60
"""Maximum nesting of an expression, and of variables that refer to each other."""
_TOKEN = re.compile(
    r"\s*(?:(?P<number>\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)|(?P<name>[A-Za-z_][\w-]*)|(?P<string>\")"
    r"|(?P<operator>&&|\|\||==|!=|<=|>=|\[\*\]|\.\*|=>|\.\.\.|[-+*/%<>!?:.,()\[\]{}=\n]))"
)
_ESCAPES = {"n": "\n", "t": "\t", '"': '"', "\\": "\\", "r": "\r"}


class Unresolved(Struct, frozen=True):
    """A value that the files do not say: what it depends on, as the file has it."""

    text: str

    def __str__(self) -> str:
        return self.text


class Names:
    """Values by name, each evaluated when it is first read; one that needs itself is unresolved."""

    def __init__(self, what: str, values: Mapping[str, Callable[[], Any]]) -> None:
        self._what = what
        self._values = values
        self._known: dict[str, Any] = {}
        self._open: list[str] = []

    def get(self, name: str) -> Any:
        """Return a value; Unresolved if there is none, or if it needs itself."""
        if name in self._known:
            return self._known[name]
        if name not in self._values:
            return Unresolved(f"{self._what}.{name}")
        if name in self._open or len(self._open) > _MAX_DEPTH:
            return Unresolved(f"{self._what}.{name}, which refers to itself")
        self._open.append(name)
        try:
            self._known[name] = self._values[name]()
        finally:
            self._open.pop()
        return self._known[name]


Scope = Mapping[str, Any]
"""The names that an expression may use: values, or `Names`."""


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
    return unresolved if unresolved is not None else "".join(map(_text, parts))


def unresolved_in(value: Any) -> Iterator[Unresolved]:
    """Yield every unresolved value in a nested one."""
    if isinstance(value, Unresolved):
        yield value
    elif isinstance(value, Mapping):
        for inner in cast("Mapping[str, Any]", value).values():
            yield from unresolved_in(inner)
    elif isinstance(value, list):
        for inner in cast("list[Any]", value):
            yield from unresolved_in(inner)


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


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return "" if value is None else str(value)


def _number(value: Any) -> int | float:
    if isinstance(value, bool) or value is None:
        raise TypeError(value)
    if isinstance(value, str):
        return float(value) if "." in value else int(value)
    return cast("int | float", value)


def _flatten(values: Any) -> list[Any]:
    result: list[Any] = []
    for each in values:
        result += _flatten(cast("list[Any]", each)) if isinstance(each, list) else [each]
    return result


def _coalesce(*values: Any) -> Any:
    return next(each for each in values if each is not None and each != "")


def _merged(*values: Any) -> dict[str, Any]:
    return {key: value for each in values if each is not None for key, value in each.items()}


def _concatenated(*lists: Any) -> list[Any]:
    return [each for values in lists for each in values]


def _looked_up(values: Any, key: Any, *default: Any) -> Any:
    return values[key] if key in values or not default else default[0]


def _numbers(*bounds: Any) -> list[int]:
    numbers = range(*map(int, bounds))
    if len(numbers) > _MAX_ITEMS:
        raise ValueError
    return list(numbers)


def _negated(value: Any) -> Any:
    return -_number(value)


def _divided(left: Any, right: Any) -> int | float:
    quotient = _number(left) / _number(right)
    return int(quotient) if quotient == int(quotient) else quotient


def _arithmetic(apply: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    return lambda left, right: apply(_number(left), _number(right))


_OPERATORS: Final[Sequence[Mapping[str, Callable[[Any, Any], Any]]]] = (
    {"||": lambda left, right: left or right},
    {"&&": lambda left, right: left and right},
    {"==": operator.eq, "!=": operator.ne},
    {"<=": _arithmetic(operator.le), ">=": _arithmetic(operator.ge), "<": _arithmetic(operator.lt),
     ">": _arithmetic(operator.gt)},
    {"+": _arithmetic(operator.add), "-": _arithmetic(operator.sub)},
    {"*": _arithmetic(operator.mul), "/": _divided, "%": _arithmetic(operator.mod)},
)  # fmt: skip
"""Binary operators by precedence, the weakest first."""

_OF_ONE: Final[Mapping[str, Callable[[Any], Any]]] = {
    "abs": lambda value: abs(_number(value)),
    "ceil": lambda value: -int(-_number(value) // 1),
    "compact": lambda values: [each for each in values if each not in (None, "")],
    "distinct": lambda values: list(dict.fromkeys(values)),
    "flatten": _flatten,
    "floor": lambda value: int(_number(value) // 1),
    "keys": lambda value: sorted(value),
    "length": len,
    "lower": str.lower,
    "tolist": list,
    "tomap": dict,
    "tonumber": _number,
    "toset": lambda values: sorted(set(values)),
    "tostring": _text,
    "trimspace": str.strip,
    "upper": str.upper,
    "values": lambda value: [value[key] for key in sorted(value)],
}
_OF_TWO: Final[Mapping[str, Callable[[Any, Any], Any]]] = {
    "contains": lambda values, value: value in values,
    "element": lambda values, index: values[int(index) % len(values)],
    "join": lambda separator, values: str(separator).join(map(_text, values)),
    "split": lambda separator, value: str(value).split(separator),
    "zipmap": lambda keys, values: dict(zip(keys, values, strict=True)),
}
_OF_MANY: Final[Mapping[str, Callable[..., Any]]] = {
    "coalesce": _coalesce,
    "concat": _concatenated,
    "lookup": _looked_up,
    "max": max,
    "merge": _merged,
    "min": min,
    "range": _numbers,
    "replace": str.replace,
}
_FUNCTIONS: Final[Mapping[str, Callable[..., Any]]] = {**_OF_ONE, **_OF_TWO, **_OF_MANY}
"""Functions of HCL whose result depends on their arguments alone."""


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
        if level == len(_OPERATORS):
            return self._unary()
        value = self._binary(level + 1)
        while (symbol := self._peek()) in _OPERATORS[level]:
            self._take(symbol)
            right = self._binary(level + 1)
            unresolved = next((each for each in (value, right) if isinstance(each, Unresolved)), None)
            value = _OPERATORS[level][symbol](value, right) if unresolved is None else unresolved
        return value

    def _unary(self) -> Any:
        for symbol, apply in (("!", operator.not_), ("-", _negated)):
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
            return _number(match["number"]), match["number"]
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
        if name not in _FUNCTIONS:
            return Unresolved(f"{name}()")
        if name not in ("concat", "flatten", "merge", "length"):  # these keep what they are given
            for each in arguments:
                for unresolved in unresolved_in(each):
                    return unresolved
        unresolved = next((each for each in arguments if isinstance(each, Unresolved)), None)
        return _FUNCTIONS[name](*arguments) if unresolved is None else unresolved

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
                key = _text(self.expression())
            if not self._take("=") and not self._take(":"):
                raise _SyntaxError
            result[key] = self.expression()
            self._take(",")
        return result

    def _with_steps(self, value: Any, path: str) -> Any:
        """Return what the attributes, indices and splats after a value select."""
        while True:
            if self._take("[*]") or self._take(".*"):
                steps = self._splat_steps()
                items = cast("list[Any]", value) if isinstance(value, list) else [value]
                value = value if isinstance(value, Unresolved) else [_selected(each, steps, path) for each in items]
            elif self._take("["):
                key = self.expression()
                self._need("]")
                value = key if isinstance(key, Unresolved) else _selected(value, [key], path)
                path = f"{path}[{_text(key)}]"
            elif self._take("."):
                key = self._step()
                value, path = _selected(value, [key], path), f"{path}.{key}"
            else:
                return value

    def _splat_steps(self) -> list[Any]:
        steps: list[Any] = []
        while self._take("."):
            steps.append(self._step())
        return steps

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
