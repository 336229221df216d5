"""Kubernetes quantities as whole numbers: cpu in milli, everything else in its own unit (memory in bytes)."""

from __future__ import annotations

import re
from fractions import Fraction
from functools import lru_cache
from math import ceil

from berth.manifests.quantities import quantity

_QUANTITY = re.compile(r"([+-]?)([0-9]+\.?[0-9]*|\.[0-9]+)([numkMGTPE]|[KMGTPE]i|[eE][+-]?[0-9]{1,2})?")
_MAX_LENGTH = 64
"""Maximum length of a quantity in characters; Kubernetes' largest has 19 digits."""
_DECIMAL = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_BINARY = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}


def parse_quantity(resource: str, text: object) -> int | None:
    """Return a quantity of a manifest, rounded up to a whole number; None if it is invalid or negative.

    Kueue also rounds up: half an accelerator counts as one (`resource.Quantity.Value`).
    """
    if isinstance(text, bool) or not isinstance(text, int | float | str):
        return None
    written = str(text)
    return _whole(written, 1000 if resource == "cpu" else 1) if len(written) <= _MAX_LENGTH else None


@lru_cache(maxsize=4096)  # jobs have few different quantities, which every check reads again
def _whole(written: str, parts: int) -> int | None:
    match = _QUANTITY.fullmatch(written)
    if match is None or match[1] == "-":
        return None
    suffix = match[3] or ""
    if suffix in _BINARY:
        factor = Fraction(1 << _BINARY[suffix])
    else:
        factor = Fraction(10) ** (_DECIMAL[suffix] if suffix in _DECIMAL else int(suffix[1:]))
    number = ceil(Fraction(match[2]) * factor * parts)
    return number if number < 2**63 else None


def format_quantity(resource: str, number: int) -> str:
    """Return a whole number as Kubernetes prints it: cpu 1500 → `1500m`, memory 2³⁰ → `1Gi`, 8 → `8`.

    Whole cores are digits: 2000, and not `2k` as Kubernetes prints them.
    """
    if resource == "cpu" and number > 0 and number % 1000 == 0:
        return str(number // 1000)
    return quantity(resource, max(0, number))
