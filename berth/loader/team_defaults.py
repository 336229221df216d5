"""`teamDefaults`: keys that a stack file writes once for all of its teams.

A team gets every key of `teamDefaults` that it does not write itself: mappings are combined key by key, and lists and
other values of the team replace those of `teamDefaults`. A key without a value removes the default, as in Helm.
`{team}` in text stands for the name of the team.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

from berth.diagnostics import FieldPath

KEY = "teamDefaults"


def with_team_defaults(fleet: Mapping[str, object]) -> dict[str, object]:
    """Return the fleet with the defaults in every team; without valid defaults, the fleet as it is."""
    defaults, teams = fleet.get(KEY), fleet.get("teams")
    if not (isinstance(defaults, dict) and defaults and isinstance(teams, dict)):
        return dict(fleet)
    entries = cast("dict[str, object]", teams)
    default = cast("object", defaults)
    return {**fleet, "teams": {team: _combined(default, value, team) for team, value in entries.items()}}


def _combined(default: object, own: object, team: str) -> object:
    if own is None:
        own = {}
    if not (isinstance(default, dict) and isinstance(own, dict)):
        return cast("object", own)
    defaults, written = cast("dict[str, object]", default), cast("dict[str, object]", own)
    result = dict(written)
    for key, value in defaults.items():
        if key not in written:
            result[key] = _named(value, team)
        elif written[key] is not None:
            result[key] = _combined(value, written[key], team)
        else:
            del result[key]
    return result


def _named(value: object, team: str) -> object:
    """Return a value with the team's name in its text."""
    if isinstance(value, str):
        return value.replace("{team}", team)
    if isinstance(value, dict):
        return {key: _named(each, team) for key, each in cast("dict[str, object]", value).items()}
    return [_named(each, team) for each in cast("list[object]", value)] if isinstance(value, list) else value


def written_path(fleet: object, path: FieldPath) -> FieldPath:
    """Return where the value at a path is written: at the path itself, or below `teamDefaults`.

    `fleet` is the fleet as written. A path of neither belongs to the one that has the longer part of it.
    """
    if len(path) < 3 or path[0] != "teams" or not isinstance(fleet, dict):
        return path
    sections = cast("dict[str, object]", fleet)
    teams = cast("dict[object, object]", sections.get("teams") or {}) if isinstance(sections.get("teams"), dict) else {}
    own, is_replaced = _depth(teams.get(path[1]), path[2:])
    default, _ = _depth(sections.get(KEY), path[2:])
    return path if is_replaced or own >= default else (KEY, *path[2:])


def _depth(value: object, path: FieldPath) -> tuple[int, bool]:
    """Return how many steps of a path a value has, and whether it has something else than a mapping on the way."""
    for depth, step in enumerate(path):
        if isinstance(value, list):
            return len(path), True
        if not isinstance(value, dict):
            return depth, value is not None
        entries = cast("dict[object, object]", value)
        if step not in entries:
            return depth, False
        value = entries[step]
    return len(path), False
