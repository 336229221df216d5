"""`without` of a team: the defaults that it does not have. Stack files write null, which SDKs drop on the way."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, cast

from berth.diagnostics import FieldPath, Problem, Severity, did_you_mean, format_value

KEY: Final = "without"


def with_removed_defaults(fleet: Mapping[str, Any]) -> tuple[dict[str, Any], list[Problem]]:
    """Return the fleet with a null, as a stack file has it, for each key in a team's `without`; and what is wrong."""
    defaults = fleet.get("teamDefaults")
    known: Mapping[str, Any] = cast("Mapping[str, Any]", defaults) if isinstance(defaults, Mapping) else {}
    problems: list[Problem] = []
    teams = fleet.get("teams")
    if not isinstance(teams, Mapping):
        return dict(fleet), problems
    written = cast("Mapping[str, Any]", teams)
    made = {name: _team(team, known, ("teams", name, KEY), problems) for name, team in written.items()}
    return {**fleet, "teams": made}, problems


def _team(team: Any, defaults: Mapping[str, Any], path: FieldPath, problems: list[Problem]) -> Any:
    if not isinstance(team, Mapping) or KEY not in team:
        return cast("Any", team)
    result = dict(cast("Mapping[str, Any]", team))
    names = result.pop(KEY)
    if not isinstance(names, list):
        message = f"'{format_value(names)}' has another type; write a list of keys, such as [identity]"
        problems.append(Problem(Severity.FAULT, "bad-type", path, message))
        return result
    for index, name in enumerate(cast("list[Any]", names)):
        at = (*path, index)
        steps = _steps(name, defaults) if isinstance(name, str) else None
        if steps is None:
            meant = None if "." in str(name) else did_you_mean(str(name), defaults)
            hint = meant or "; name a key of teamDefaults, such as identity or queues.train"
            problems.append(
                Problem(Severity.FAULT, "unknown-key", at, f"teamDefaults have no '{format_value(name)}'{hint}")
            )
        elif not _removed(result, steps):
            problems.append(
                Problem(Severity.FAULT, "contradiction", at, f"the team writes '{name}' itself; remove one of the two")
            )
    return result


def _steps(name: str, defaults: Any) -> Sequence[str] | None:
    """Return the keys of `queues.train` in the defaults, whose names may have dots; None if they lack it."""
    if not isinstance(defaults, Mapping):
        return None
    entries = cast("Mapping[str, Any]", defaults)
    if name in entries:
        return [name]
    for key, value in entries.items():
        below = _steps(name[len(key) + 1 :], value) if name.startswith(f"{key}.") else None
        if below is not None:
            return [key, *below]
    return None


def _removed(team: dict[str, Any], steps: Sequence[str]) -> bool:
    """Write a null at the end of the steps; return False if something is there."""
    *above, last = steps
    for step in above:
        inner: Any = team.get(step, {})
        if not isinstance(inner, Mapping):
            return False
        team[step] = inner = dict(cast("Mapping[str, Any]", inner))
        team = inner
    is_free = team.get(last) is None
    team.setdefault(last, None)
    return is_free
