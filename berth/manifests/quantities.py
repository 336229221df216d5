"""Kubernetes quantities as the API server prints them back.

Kueue's webhook decodes a queue into Go and encodes it again, so a quota comes back in the one spelling that Go's
`resource.Quantity` gives it (apimachinery 0.36, `CanonicalizeBytes`); any other spelling shows as a change in every
later preview. Each function returns that spelling: the string which, parsed and printed by Go, is itself.

The rule: factors of 1000 move into a decimal suffix, factors of 1024 into a binary one. A number of bytes takes the
binary suffix when 1024 divides it; otherwise it has no binary suffix to be recognised by, Go reads it as decimal, and
the decimal rule holds (1,000,000 bytes come back as `1M`).
"""

from __future__ import annotations

from fractions import Fraction
from typing import Final

MAXIMUM: Final = 2**63 - 1
"""The greatest number that may be printed: Go cuts what is larger down to this."""

_DECIMAL: Final = ("", "k", "M", "G", "T", "P", "E")
_BINARY: Final = ("", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei")
_BYTES: Final = frozenset({"memory", "ephemeral-storage"})


def count(number: int) -> str:
    """Accelerators, pods, anything counted whole: 8 → `8`, 1000 → `1k`. ValueError below 0 or above MAXIMUM."""
    return _format(number, 1000, _DECIMAL)


def cpu(milli: int) -> str:
    """CPU in milli: 1500 → `1500m`, 2000 → `2`, 12,000,000 → `12k`. ValueError below 0 or above MAXIMUM."""
    return _format(milli, 1000, ("m", *_DECIMAL)) if milli else "0"


def memory(number_of_bytes: int) -> str:
    """Memory or storage in bytes: 96 · 2³⁰ → `96Gi`, 1500 → `1500`. ValueError below 0 or above MAXIMUM."""
    binary = number_of_bytes >= 1024 and number_of_bytes % 1024 == 0
    return _format(number_of_bytes, 1024, _BINARY) if binary else count(number_of_bytes)


def quantity(resource: str, number: int) -> str:
    """A quota in the unit of the plan: cpu in milli, memory and ephemeral-storage in bytes, everything else counted."""
    if resource == "cpu":
        return cpu(number)
    return memory(number) if resource in _BYTES else count(number)


def weight(number: float) -> str:
    """A share as it was written: 2 → `2`, 0.5 → `500m`. ValueError below 0, or finer than 1n (nine decimals)."""
    nano = Fraction(str(number)) * 10**9
    if nano.denominator != 1:
        raise ValueError(f"{number} is no quantity: it has more than nine decimals")
    return _format(nano.numerator, 1000, ("n", "u", "m", *_DECIMAL)) if nano else "0"


def _format(number: int, base: int, suffixes: tuple[str, ...]) -> str:
    """The number with every factor of `base` moved into the suffix."""
    if not 0 <= number <= MAXIMUM:
        raise ValueError(f"{number} is no quantity: it must lie between 0 and {MAXIMUM}")
    power = 0
    while number and number % base == 0:
        number //= base
        power += 1
    return f"{number}{suffixes[power]}"
