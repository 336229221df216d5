"""Durations as a trace has them."""

from __future__ import annotations

import re

_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86_400}
_DURATION = re.compile(r"(?:(\d+)d)?(?:(\d+)h)?(?:(\d+)m)?(?:(\d+)s)?", re.ASCII)


def parse_duration(text: object) -> int | None:
    """Return a duration in whole seconds: `90`, 90, `15m`, `1h30m` or `2d`; None if it is none."""
    if isinstance(text, bool) or not isinstance(text, int | str):
        return None
    written = str(text).strip()
    if written.isascii() and written.isdigit():
        return int(written) if len(written) <= 10 else None
    match = _DURATION.fullmatch(written)
    if not written or match is None or any(part is not None and len(part) > 10 for part in match.groups()):
        return None
    return sum(int(part or 0) * _UNITS[unit] for part, unit in zip(match.groups(), "dhms", strict=True))
