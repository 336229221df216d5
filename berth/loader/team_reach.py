"""What a team writes that reaches beyond the team: the stack file has to allow it, with a reason (`allowTeams`).

A team's own file is changed by the team. So what gives it namespaces of others, settings of the whole fleet or rights
over more than its own is a warning there until the stack file allows it. Values are as they are written, before any
check of their form; what is not of the right form is left to the spec.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Final, cast

from msgspec import Struct

from berth.diagnostics import FieldPath, Problem, Severity, closest_match, format_value

KEY: Final = "allowTeams"
_FAULT_FROM: Final = "0.3.0"
"""The version in which the warning becomes a fault."""


class Reach(Struct, frozen=True):
    """Something in a team's entry that reaches beyond the team: its name in `allowTeams`, its place, and what it is."""

    name: str
    path: FieldPath
    what: str


def team_reach_problems(fleet: Mapping[str, object], team_files: Iterable[str]) -> Iterator[Problem]:
    """Yield a warning for each reach of a team in a file of its own that the stack file does not allow.

    `fleet` is as written, without defaults in its teams; `team_files` are the teams in files of their own. Yields a
    fault for each entry of `allowTeams` that allows nothing.
    """
    teams = _mapping(fleet.get("teams"))
    reaches = {name: list(_reaches(name, _mapping(team))) for name, team in teams.items()}
    allowed = _mapping(fleet.get(KEY))
    for team in team_files:
        own = _mapping(allowed.get(team))
        for reach in reaches.get(team, ()):
            if reach.name not in own:
                message = (
                    f"{reach.what}, which a team's own file cannot decide from {_FAULT_FROM} on; write "
                    f"{KEY}: {{{team}: {{{reach.name}: <why>}}}} in the stack file"
                )
                yield Problem(Severity.WARNING, "team-reach", reach.path, message)
    for team, entries in allowed.items():
        # What `teamDefaults` give to every team, the stack file has decided by that.
        defaults = _mapping(fleet.get("teamDefaults"))
        known = {reach.name for reach in reaches.get(team, ())} | {reach.name for reach in _reaches("", defaults)}
        for name in _mapping(entries):
            if name not in known:
                best = closest_match(name, sorted(known))
                remedy = f"did you mean '{best}'?" if best else "remove it"
                message = f"'{format_value(name)}' is nothing that team '{format_value(team)}' has; {remedy}"
                yield Problem(Severity.FAULT, "unknown-reference", (KEY, team, name), message)


def _reaches(team: str, entry: Mapping[str, object]) -> Iterator[Reach]:
    path: FieldPath = ("teams", team)
    namespaces = entry.get("namespaces")
    listed = cast("list[object]", namespaces) if isinstance(namespaces, list) else []
    written = [(("namespace",), entry.get("namespace")), *((("namespaces", i), each) for i, each in enumerate(listed))]
    for at, namespace in written:
        settings = _mapping(namespace)
        name = settings.get("name") or team
        if settings.get("existing") is True:
            what = f"namespace '{format_value(name)}' is not the team's own"
            yield Reach(f"namespaces.{name}", (*path, *at), what)
    for queue, settings in _mapping(entry.get("queues")).items():
        if _mapping(settings).get("namespaces") == "all":
            what = "a queue for every namespace lets jobs without a queue start outside all quota"
            yield Reach(f"queues.{queue}", (*path, "queues", queue, "namespaces"), what)
    if entry.get("podSecurity") == "privileged":
        yield Reach("podSecurity", (*path, "podSecurity"), "'privileged' pods reach every node of the cluster")
    for role in _mapping(_mapping(entry.get("identity")).get("acceptRoles")):
        what = f"'{format_value(role)}' reaches beyond the team"
        yield Reach(role, (*path, "identity", "acceptRoles", role), what)


def _mapping(value: object) -> Mapping[str, object]:
    return cast("dict[str, object]", value) if isinstance(value, dict) else {}
