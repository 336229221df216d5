"""Feature gates of one release: stage, default, whether it is locked, and what a gate needs.

The gates of JobSet, Trainer and KubeRay are whole lists by minor (`companion_gates.yaml`).
Tags of Kueue give whole lists (`kueue_gates.yaml`); of later releases there are the gates that changelogs name
(`kueue.yaml`), so that a gate which neither has is unknown there.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from types import MappingProxyType
from typing import Any

from msgspec import Struct

from berth.versions.numbers import has_change, minor_of, parse_release
from berth.versions.standing import version_table

UNSTATED = "?"
"""The state of a gate whose stage and default no source says."""


class Gates(Struct, frozen=True, kw_only=True):
    """The gates of a release: each with its state, such as `beta on` or `ga on locked`, and with those that it needs.

    `is_whole` is False where a gate may be missing from the list, and `source` says what it was read from.
    """

    release: str
    states: Mapping[str, str]
    requires: Mapping[str, tuple[str, ...]]
    is_whole: bool
    source: str

    def default(self, gate: str) -> bool | None:
        """Return whether a gate is on by default; None for one that the list does not have, or says nothing of."""
        state = self.states.get(gate, UNSTATED)
        return None if state == UNSTATED else "on" in state.split()

    def is_locked(self, gate: str) -> bool:
        """Return whether a gate cannot differ from its default."""
        return "locked" in self.states.get(gate, "").split()

    def is_on(self, written: Mapping[str, bool], gate: str) -> bool:
        """Return whether a gate is on, as written or by default."""
        return written.get(gate, self.default(gate) or False)


@cache
def kueue_gates(release: str) -> Gates | None:
    """Return the gates of a release of Kueue; None for a minor that no table has. Raises InvalidReleaseError."""
    version = parse_release(release)
    row = _tagged().get(minor_of(version))
    if row is None:
        return None
    states: dict[str, str] = {}
    for state, names in row.items():
        if state.split()[0] in ("alpha", "beta", "ga", "deprecated"):
            states |= dict.fromkeys(names.split(), state)
    for gate, since in row["since"].items():
        if version < parse_release(since):
            del states[gate]
    requires = {gate: tuple(needed) for gate, needed in row["requires"].items() if gate in states}
    is_whole = row["whole_to"] is not None and version <= parse_release(row["whole_to"])
    if not is_whole:
        for gate, named in _named().items():
            if has_change(version, named["in"]):
                states[gate] = _state(named, release)
                requires |= {gate: tuple(named["requires"])} if "requires" in named else {}
    return Gates(release=release, states=states, requires=requires, is_whole=is_whole, source=row["source"])


@cache
def companion_gates(component: str, release: str) -> Gates | None:
    """Return the gates of a release of JobSet, Trainer or KubeRay, as the newest tag of its minor has them.

    None for a minor that no tag tells. Raises InvalidReleaseError.
    """
    row = version_table("companion_gates").get(component, {}).get(minor_of(parse_release(release)))
    if row is None:
        return None
    return Gates(release=release, states=row["gates"], requires={}, is_whole=True, source=row["source"])


def _state(named: Mapping[str, Any], release: str) -> str:
    """Return the state of a gate that changelogs name; `then` has later ones by their release."""
    state: str = named["state"]
    for first, later in named.get("then", {}).items():
        if has_change(parse_release(release), [first]):
            state = later
    return state


def span_of(gate: str, minor: str) -> str | None:
    """Return which releases have a gate that one of `minor` lacks, as a phrase; None if no list has it."""
    first = {name: row["since"].get(gate, f"{name}.0") for name, row in _tagged().items() if _lists(row, gate)}
    for release in _named().get(gate, {"in": {}})["in"]:
        first.setdefault(minor_of(parse_release(release)), release)
    if minor in first:
        return f"Kueue {minor} has it since {first[minor]}"
    minors = sorted(first, key=lambda name: tuple(map(int, name.split("."))))
    return (
        f"only Kueue {minors[0]} to {minors[-1]} have it"
        if minors[1:]
        else f"only Kueue {minors[0]} has it"
        if minors
        else None
    )


def _lists(row: Mapping[str, Any], gate: str) -> bool:
    return any(gate in str(names).split() for names in row.values())


@cache
def _tagged() -> Mapping[str, dict[str, Any]]:
    return MappingProxyType(version_table("kueue_gates"))


@cache
def _named() -> Mapping[str, dict[str, Any]]:
    return MappingProxyType(version_table("kueue")["gates"])
