"""Operators and functions of HCL whose result depends on their arguments alone."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, cast

_MAX_ITEMS = 10_000
"""Maximum length of a range."""


def hcl_text(value: Any) -> str:
    """Return a value as a template has it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return "" if value is None else str(value)


def hcl_number(value: Any) -> int | float:
    """Return a number, which may be written as text. Raises TypeError or ValueError for anything else."""
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


def _merged(*values: Any) -> dict[str, Any]:
    return {key: value for each in values if each is not None for key, value in each.items()}


def _numbers(*bounds: Any) -> list[int]:
    numbers = range(*map(int, bounds))
    if len(numbers) > _MAX_ITEMS:
        raise ValueError
    return list(numbers)


def negated(value: Any) -> Any:
    """Return a number with the other sign."""
    return -hcl_number(value)


def _looked_up(values: Any, key: Any, *default: Any) -> Any:
    return values[key] if key in values or not default else default[0]


def _divided(left: Any, right: Any) -> int | float:
    quotient = hcl_number(left) / hcl_number(right)
    return int(quotient) if quotient == int(quotient) else quotient


def _arithmetic(apply: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    return lambda left, right: apply(hcl_number(left), hcl_number(right))


OPERATORS: Final[Sequence[Mapping[str, Callable[[Any, Any], Any]]]] = (
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
    "abs": lambda value: abs(hcl_number(value)),
    "ceil": lambda value: -int(-hcl_number(value) // 1),
    "compact": lambda values: [each for each in values if each not in (None, "")],
    "distinct": lambda values: list(dict.fromkeys(values)),
    "flatten": _flatten,
    "floor": lambda value: int(hcl_number(value) // 1),
    "keys": lambda value: sorted(value),
    "length": len,
    "lower": str.lower,
    "tolist": list,
    "tomap": dict,
    "tonumber": hcl_number,
    "toset": lambda values: sorted(set(values)),
    "tostring": hcl_text,
    "trimspace": str.strip,
    "upper": str.upper,
    "values": lambda value: [value[key] for key in sorted(value)],
}
_OF_TWO: Final[Mapping[str, Callable[[Any, Any], Any]]] = {
    "contains": lambda values, value: value in values,
    "element": lambda values, index: values[int(index) % len(values)],
    "join": lambda separator, values: str(separator).join(map(hcl_text, values)),
    "split": lambda separator, value: str(value).split(separator),
    "zipmap": lambda keys, values: dict(zip(keys, values, strict=True)),
}
_OF_MANY: Final[Mapping[str, Callable[..., Any]]] = {
    "coalesce": lambda *values: next(each for each in values if each is not None and each != ""),
    "concat": lambda *lists: [each for values in lists for each in values],
    "lookup": _looked_up,
    "max": max,
    "merge": _merged,
    "min": min,
    "range": _numbers,
    "replace": str.replace,
}
FUNCTIONS: Final[Mapping[str, Callable[..., Any]]] = {**_OF_ONE, **_OF_TWO, **_OF_MANY}
"""Functions of HCL whose result depends on their arguments alone."""
