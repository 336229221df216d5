"""Kubernetes quantities in the API server's canonical form.

Kueue's webhook decodes and encodes a queue in Go, so a quota comes back in the canonical form of `resource.Quantity`
(apimachinery 0.36, `CanonicalizeBytes`); any other form would be a change in every later preview. Each function
returns that form: parsing and printing it in Go gives the same string.

Factors of 1000 move into a decimal suffix, factors of 1024 into a binary one. A number of bytes gets the binary suffix
if 1024 divides it; otherwise Go parses it as decimal, and the decimal rule applies (1,000,000 bytes become `1M`).
"""

from __future__ import annotations

from fractions import Fraction
from typing import Final

MAXIMUM: Final = 2**63 - 1
"""The largest number; Go truncates larger ones to this."""

_DECIMAL: Final = ("", "k", "M", "G", "T", "P", "E")
_BINARY: Final = ("", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei")
_BYTES: Final = frozenset({"memory", "ephemeral-storage"})


def count(number: int) -> str:
    """Format a count (accelerators, pods): 8 → `8`, 1000 → `1k`. ValueError below 0 or above MAXIMUM."""
    return _format(number, 1000, _DECIMAL)


def cpu(milli: int) -> str:
    """Format milli-CPU: 1500 → `1500m`, 2000 → `2`, 12,000,000 → `12k`. ValueError below 0 or above MAXIMUM."""
    return _format(milli, 1000, ("m", *_DECIMAL)) if milli else "0"


def memory(number_of_bytes: int) -> str:
    """Format bytes of memory or storage: 96 · 2³⁰ → `96Gi`, 1500 → `1500`. ValueError below 0 or above MAXIMUM."""
    binary = number_of_bytes >= 1024 and number_of_bytes % 1024 == 0
    return _format(number_of_bytes, 1024, _BINARY) if binary else count(number_of_bytes)


def quantity(resource: str, number: int) -> str:
    """Format a quota in the plan's unit: cpu in milli, memory and ephemeral-storage in bytes, else a count."""
    if resource == "cpu":
        return cpu(number)
    return memory(number) if resource in _BYTES else count(number)


def weight(number: float) -> str:
    """Format a weight: 2 → `2`, 0.5 → `500m`. ValueError below 0, or for more than 9 decimals."""
    nano = Fraction(str(number)) * 10**9
    if nano.denominator != 1:
        raise ValueError(f"{number} is not a quantity: it has more than 9 decimals")
    return _format(nano.numerator, 1000, ("n", "u", "m", *_DECIMAL)) if nano else "0"


def _format(number: int, base: int, suffixes: tuple[str, ...]) -> str:
    """Format a number, moving every factor of `base` into the suffix."""
    if not 0 <= number <= MAXIMUM:
        raise ValueError(f"{number} is not a quantity: it must be between 0 and {MAXIMUM}")
    power = 0
    while number and number % base == 0:
        number //= base
        power += 1
    return f"{number}{suffixes[power]}"
