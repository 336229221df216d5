"""Warnings that a stack file accepts for a reason: they become notes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, cast

from msgspec.structs import replace

from berth.diagnostics import Problem, Severity, did_you_mean, format_path, format_value

ACCEPTED_WARNINGS: Final = "acceptWarnings"
"""The key of the stack file: reasons by codes of warnings."""
_REASON: Final = "; accepted with the reason: "


def accept_warnings(problems: Sequence[Problem], reasons: object) -> tuple[Problem, ...]:
    """Return the problems with accepted warnings as notes that give the reason, and a warning of each idle acceptance.

    `reasons` is the value in the stack file; a faulty entry accepts nothing, and its fault is reported elsewhere.
    """
    entries = cast("Mapping[object, object]", reasons if isinstance(reasons, Mapping) else {})
    valid = {code: why for code, why in entries.items() if isinstance(code, str) and isinstance(why, str)}
    known = {
        each.code
        for each in problems
        if each.severity == Severity.WARNING and not each.is_unknown and each.code != "placeholder"
    }
    kept = tuple(
        replace(
            each,
            severity=Severity.NOTE,
            message=f"{each.message}{_REASON}'{format_value(valid[each.code])}'",
            accepted=True,
        )
        if each.code in known & valid.keys()
        else each
        for each in problems
    )
    if any(each.severity == Severity.FAULT for each in problems):  # what a fault sets aside gives no warning
        return kept
    return (*kept, *(_idle(code, known, problems) for code in valid if code not in known))


def without_reason(message: str) -> str:
    """Return the message of a warning, without the reason for which it is accepted."""
    return message.partition(_REASON)[0]


def _idle(code: str, known: set[str], problems: Sequence[Problem]) -> Problem:
    """Return the warning of an entry that accepts nothing: no warning has its code, or one that cannot be accepted."""
    path = (ACCEPTED_WARNINGS, code)
    reason = "cannot be accepted" if any(each.code == code for each in problems) else "is no warning of this stack"
    remedy = did_you_mean(code, known) or f"; remove {format_path(path)}"
    return Problem(Severity.WARNING, "needless-acceptance", path, f"'{format_value(code)}' {reason}{remedy}")
