"""The order of problems, and how many of them are printed."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable

from msgspec.structs import replace

from berth.diagnostics import Problem, Severity, format_path

PLACE = re.compile(r"(.*?)(?::(\d+))?(?::(\d+))?", re.DOTALL)
"""A place: file, line and column."""
MAX_PRINTED = 200
"""Maximum number of problems in one answer; `--all` and JSON have all of them."""
_MIN_FOLDED = 3
"""Number of equal messages from which only the first is printed, with the names of some others."""
_MAX_NAMED = 3


def printed_problems(problems: Iterable[Problem], *, everything: bool = False) -> tuple[list[Problem], int]:
    """Return the problems to print, and how many are left out.

    Errors come first, then warnings, then notes, each in the given order, which is that of positions. Of equal messages
    only the first is printed, with the number of the others. `everything` folds and leaves out nothing.
    """
    in_order = sorted(problems, key=lambda problem: list(Severity).index(problem.severity))
    if everything:
        return in_order, 0
    equal: dict[tuple[Severity, str, str], list[Problem]] = {}
    for problem in in_order:
        equal.setdefault((problem.severity, problem.code, problem.message), []).append(problem)
    shown: list[Problem] = []
    for each in in_order:
        first, *others = equal[each.severity, each.code, each.message]
        if len(others) + 1 < _MIN_FOLDED:
            shown.append(each)
        elif each is first:  # `9 more like this: Pulumi.dev.yaml:18 pools.b.zones, Pulumi.dev.yaml:19 pools.c.zones, …`
            names = [" ".join(filter(None, (other.place, format_path(other.path)))) for other in others[:_MAX_NAMED]]
            named = ", ".join([*filter(None, names), *(["…"] if len(others) > _MAX_NAMED else [])])
            more = f"{len(others)} more like this{f': {named}' if named else ''}"
            shown.append(replace(each, message=f"{each.message} ({more})"))
    return shown[:MAX_PRINTED], max(0, len(shown) - MAX_PRINTED)


def count_problems(problems: Collection[Problem]) -> str:
    """Return `2 errors, 1 warning`; `no errors` without any. Notes are not counted."""
    errors, warnings = (
        sum(each.severity == severity for each in problems) for severity in (Severity.FAULT, Severity.WARNING)
    )
    text = f"{errors or 'no'} error{'' if errors == 1 else 's'}"
    return f"{text}, {warnings} warning{'' if warnings == 1 else 's'}" if warnings else text


def sort_by_place(problems: list[Problem]) -> list[Problem]:
    """Return the problems sorted by file, line and column (as numbers), then by path and message."""

    def position(problem: Problem) -> tuple[str, int, int, tuple[tuple[int, str], ...], str]:
        match = PLACE.fullmatch(problem.place)
        file, line, column = match.groups() if match else (problem.place, None, None)
        path = tuple((step, "") if isinstance(step, int) else (-1, step) for step in problem.path)
        return file, int(line or 0), int(column or 0), path, problem.message

    return sorted(problems, key=position)
