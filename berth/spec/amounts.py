"""Amounts as people write them (`8`, `2 slices`, `4 nodes`, `25%`, `all`, `unlimited`), counts, ranges, cpu, memory."""

from __future__ import annotations

import re
from fractions import Fraction
from typing import Annotated, Any, cast

from msgspec import Struct

from berth.diagnostics import format_value
from berth.spec.base import JsonSchema, Model, validation_fault, wrong_type
from berth.spec.core import BeforeValidator, PlainValidator
from berth.spec.model import Field, check_model

# Longer numbers are typing errors, and slow to compute with.
_COUNTED = re.compile(r"([0-9]{1,9}) (slice|sub-block|node|host|chip|GPU|gpu|core)s?")
_UNITS = {
    "slice": "slices",
    "sub-block": "sub-blocks",
    "node": "nodes",
    "host": "nodes",
    "chip": "chips",
    "GPU": "GPUs",
    "gpu": "GPUs",
    "core": "cores",
}
_SHARE = re.compile(r"([0-9]{1,9}(?:\.[0-9]{1,9})?)%")
_CPU = re.compile(r"([0-9]{1,9})(m?)")
_MISTYPED = re.compile(r"([0-9]{1,9})[ _-]*((?:slice|sub-?block|node|host|chip|gpu|core)s?|%)", re.IGNORECASE)
"""An amount that a person can read, with another space or case than `_COUNTED` and `_SHARE`."""
_NOTHING = ("none", "None", "no", "nothing")
"""Words that people write for a limit of 0."""
_DIGITS = 9
"""Digits of a number without a unit, above which an amount is too large."""
_MEMORY = re.compile(r"([0-9]{1,15})(Ki|Mi|Gi|Ti)?")
_BINARY = {"": 1, "Ki": 2**10, "Mi": 2**20, "Gi": 2**30, "Ti": 2**40}


class Amount(Struct, frozen=True):
    """An amount of a flavor, before the contents of the flavor are known.

    `unit` is 'accelerators', 'chips' (of TPUs), 'GPUs', 'cores' (of machines without accelerators), 'slices',
    'sub-blocks' (of dynamic slicing), 'nodes', 'share' (a fraction of the pool's maximum; `all` is 1) or
    'unlimited'. `written` is what the person typed.
    """

    unit: str
    value: Fraction
    written: str


ZERO_AMOUNT = Amount("accelerators", Fraction(0), "0")

_NUMBERS = "write a number of accelerators (8) or cores (64 cores), slices (2 slices), nodes (4 nodes), a share (25%)"
_AMOUNT_FORMS = f"{_NUMBERS} or all"
_LIMIT_FORMS = f"{_NUMBERS}, all or unlimited"


def _parse_amount(value: Any, forms: str = _AMOUNT_FORMS) -> Amount:
    if isinstance(value, int) and not isinstance(value, bool):
        if value < 0:
            raise validation_fault("bad-amount", f"'{value}' is negative; {forms}")
        return Amount("accelerators", Fraction(value), str(value))
    if not isinstance(value, str):
        written = cast("object", value)
        remedy = _amount_in(written) or _share_of_one(str(written)) or forms
        raise validation_fault("bad-amount", f"{'is empty' if value is None else _not_an_amount(written)}; {remedy}")
    return _parse_text_amount(value, forms)


def _not_an_amount(value: object) -> str:
    return f"'{format_value(value)}' is not an amount"


def _parse_text_amount(value: str, forms: str) -> Amount:
    if value == "all":
        return Amount("share", Fraction(1), value)
    if match := _COUNTED.fullmatch(value):
        return Amount(_UNITS[match[2]], Fraction(int(match[1])), value)
    if match := _SHARE.fullmatch(value):
        percent = Fraction(match[1])
        if percent > 100:
            raise validation_fault("bad-amount", f"'{value}' is more than 100%; write at most 100%")
        return Amount("share", percent / 100, value)
    if value.isdecimal() and value.isascii():
        raise validation_fault("bad-amount", f"'{format_value(value)}' is text; write the number without quotes")
    if value == "unlimited":
        forms = "write all, which is as much as the machines give"
    raise validation_fault("bad-amount", f"{_not_an_amount(value)}; {_repaired_amount(value) or forms}")


def _repaired_amount(value: str) -> str:
    """Return what to write for an amount with a typing error such as `2slices`, `8 Chips` or `50 %`; "" if unclear."""
    match = _MISTYPED.fullmatch(value)
    if not match:
        return _share_of_one(value)
    number, unit = match[1], match[2].lower().removesuffix("s").replace("gpu", "GPU").replace("subblock", "sub-block")
    plural = "" if int(number) == 1 else "s"
    return f"write {number}%" if unit == "%" else f"write {number} {unit}{plural}"


_SHARES_IN_WORDS = {"half": "1/2", "quarter": "1/4", **dict.fromkeys(("everything", "max", "maximum", "full"), "1")}


def _amount_in(value: object) -> str:
    """Return what to write for amounts at times, or for `{nvidia.com/gpu: 4}`; "" for anything else."""
    if not isinstance(value, (dict, list)):
        return ""
    if re.search(r"\b(from|until|start|end|weekly|recurrence):", format_value(cast("object", value))):
        return "write one amount here, and what is guaranteed at other times as windows beside it"
    written = cast("dict[object, object]", value) if isinstance(value, dict) else {}
    counts = [count for key, count in written.items() if "/" in str(key) and isinstance(count, int)]
    return f"write {counts[0]}" if len(counts) == len(written) == 1 else ""


def _share_of_one(value: str) -> str:
    """Return what to write for a share in other words (0.5, 1/2, half, everything); "" for anything else."""
    text = _SHARES_IN_WORDS.get(value.lower(), value)
    if not re.fullmatch(r"0?\.[0-9]{1,2}|[1-9][0-9]?/[1-9][0-9]?|1", text) or text == value == "1":
        return ""
    share = Fraction(text)
    return "write all" if share == 1 else f"write {float(share * 100):g}%" if share < 1 else ""


def _parse_limit(value: Any) -> Amount:
    if isinstance(value, bool) or value in _NOTHING:
        remedy = "write unlimited, or an amount such as 8" if value is True else "write 0, or remove the key"
        raise validation_fault("bad-amount", f"{_not_an_amount(value)}; {remedy}")
    return Amount("unlimited", Fraction(0), value) if value == "unlimited" else _parse_amount(value, _LIMIT_FORMS)


def _amount_schema(*words: str) -> JsonSchema:
    pattern = r"^([0-9]+ (slice|sub-block|node|host|chip|GPU|gpu|core)s?|[0-9]+(\.[0-9]+)?%)$"
    choices = [{"type": "integer", "minimum": 0}, {"type": "string", "pattern": pattern}, {"enum": list(words)}]
    return JsonSchema({"anyOf": choices, "description": "8, '2 slices', '4 nodes', '25%' or " + " or ".join(words)})


AmountField = Annotated[Amount, PlainValidator(_parse_amount), _amount_schema("all")]
LimitField = Annotated[Amount, PlainValidator(_parse_limit), _amount_schema("all", "unlimited")]


MAX_COUNT = 1_000_000
"""Maximum of every count: nodes, slices, machines of a reservation, cores of a cluster."""


class Range(Model):
    """A count that can vary between two bounds."""

    min: int = Field(default=0, ge=0, le=MAX_COUNT)
    """Lower bound."""
    max: int = Field(ge=0, le=MAX_COUNT)
    """Upper bound."""

    @check_model
    def _check_order(self) -> Range:
        if self.min > self.max:
            raise validation_fault(
                "bad-size", f"min {self.min} is above max {self.max}; write a min of at most {self.max}"
            )
        return self


class FixedCount(Range):
    """A count that was written as one number: it does not scale with jobs."""


def parse_count(value: Any) -> Any:
    """Return a number as a fixed range, and a mapping as it is.

    Faults are raised here, because the range would report two numbers.
    """
    if isinstance(value, dict | Range):
        return cast("object", value)
    if not isinstance(value, int) or isinstance(value, bool):
        raise wrong_type(value, _count_remedy(value))
    if not 0 <= value <= MAX_COUNT:
        bound = "small; write at least 0" if value < 0 else f"large; write at most {MAX_COUNT}"
        raise validation_fault("bad-value", f"'{value}' is too {bound}")
    return FixedCount(min=value, max=value)


def _count_remedy(value: object) -> str:
    ends = cast("list[object]", value) if isinstance(value, list) else []
    text = value if isinstance(value, str) else "..".join(map(str, ends))
    if bounds := re.fullmatch(r"([0-9]{1,7}) *(?:-|\.\.|to) *([0-9]{1,7})", text):
        return f"write {{min: {int(bounds[1])}, max: {int(bounds[2])}}}"
    if counted := re.fullmatch("([0-9]{1,7})(?: *[a-z]+)?", text):
        number = str(int(counted[1]))
        return f"write {number}{' without quotes' if number == value else ''}"
    return "write a whole number, or {min: 1, max: 24}"


def _parse_range(value: Any) -> Any:
    if not isinstance(value, dict | Range):
        raise wrong_type(value, f"write {{max: {value if isinstance(value, int) and value > 1 else 24}}}")
    return cast("object", value)


CountField = Annotated[Range, BeforeValidator(parse_count, json_schema_input_type=int | Range)]
"""`4`, or `{min: 0, max: 24}`."""

RangeField = Annotated[Range, BeforeValidator(_parse_range, json_schema_input_type=Range)]
"""`{min: 0, max: 24}`. A single number is refused, because it could mean the minimum as well."""


def _parse_cpu(value: Any) -> int:
    match = _CPU.fullmatch(str(value)) if isinstance(value, int | str) and not isinstance(value, bool) else None
    if not match or not int(match[1]):
        raise validation_fault("bad-amount", _bad_amount(value, "cpu", "1m", "write cores (4) or milli-cores (500m)"))
    return int(match[1]) * (1 if match[2] else 1000)


def _bad_amount(value: Any, resource: str, smallest: str, forms: str) -> str:
    """Return what is wrong with an amount of cpu or memory, and what to write."""
    shown = f"'{format_value(value)}'"
    if isinstance(value, int | str) and (match := re.fullmatch(r"([0-9]+)(m|[KMGT]i)?", str(value))):
        if not match[1].strip("0"):
            return f"{shown} is zero; write at least {smallest}"
        if match[2] or len(match[1]) > _DIGITS:
            return f"{shown} is too large for an amount of {resource}; write a smaller one"
    if resource == "cpu" and isinstance(value, float) and value > 0 and (value * 1000).is_integer():
        return f"{shown} is a fraction of cores; write {value * 1000:.0f}m"
    return f"{shown} is not an amount of {resource}; {forms}"


def _parse_memory(value: Any) -> int:
    match = _MEMORY.fullmatch(value) if isinstance(value, str) else None
    if not match or not int(match[1]):
        raise validation_fault("bad-amount", _bad_amount(value, "memory", "1Mi", "write it with its unit, as in 20Gi"))
    return int(match[1]) * _BINARY[match[2] or ""]


MilliCpu = Annotated[
    int, PlainValidator(_parse_cpu), JsonSchema({"type": ["integer", "string"], "pattern": f"^(?:{_CPU.pattern})$"})
]
"""Cores (`4`, `500m`), kept as milli-CPU."""

Bytes = Annotated[
    int, PlainValidator(_parse_memory), JsonSchema({"type": "string", "pattern": f"^(?:{_MEMORY.pattern})$"})
]
"""Memory (`20Gi`), kept as bytes."""

_QUANTITY = re.compile(r"(-?[0-9]{1,15})(m|Ki|Mi|Gi|Ti)?")


class Quantity(Struct, frozen=True):
    """An amount of any resource, in whole units; `written` is what the person typed."""

    value: Fraction
    written: str


def _parse_quantity(value: Any) -> Quantity:
    match = _QUANTITY.fullmatch(str(value)) if isinstance(value, int | str) and not isinstance(value, bool) else None
    if not match:
        raise validation_fault(
            "bad-amount", f"'{format_value(value)}' is not an amount of a resource; write one such as 2, 500m or 5Gi"
        )
    number, suffix = Fraction(match[1]), match[2] or ""
    return Quantity(number / 1000 if suffix == "m" else number * _BINARY[suffix], str(value))


QuantityField = Annotated[
    Quantity,
    PlainValidator(_parse_quantity),
    JsonSchema({"type": ["integer", "string"], "pattern": f"^(?:{_QUANTITY.pattern})$"}),
]
"""`2`, `500m` or `5Gi` of any resource."""


# --- time -------------------------------------------------------------------------------------------------------------

_DURATION = re.compile(r"([0-9]{1,7})([smhd])")
_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400}


def parse_seconds(value: Any) -> int:
    """Return a duration such as `45m` in seconds; raise a fault for anything else."""
    match = _DURATION.fullmatch(value) if isinstance(value, str) else None
    if not match:
        subject = "is empty" if value is None else f"'{format_value(value)}' is not a duration"
        remedy = f"{value}s, with a unit" if type(value) is int and value > 0 else "one such as 3600s, 36h or 7d"
        raise validation_fault("bad-value", f"{subject}; write {remedy}")
    return int(match[1]) * _SECONDS[match[2]]


Seconds = Annotated[
    int, PlainValidator(parse_seconds), JsonSchema({"type": "string", "pattern": f"^(?:{_DURATION.pattern})$"})
]
"""`45m`, kept as seconds."""
