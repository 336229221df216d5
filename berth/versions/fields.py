"""What the CRDs of two releases say differently: API versions, immutable fields, limits of lists (`crds.yaml`)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any, Literal, cast

from msgspec import Struct

from berth.versions.numbers import Version, minor_of, parse_release
from berth.versions.standing import version_table

Fact = Literal["served", "immutable", "maxItems"]
ABSENT = "-"
"""The value of a fact in a minor that does not have it."""


class CrdChange(Struct, frozen=True):
    """A fact of a kind that differs between two releases; `path` is empty for its API versions."""

    kind: str
    fact: Fact
    path: str
    before: str
    after: str

    @property
    def sentence(self) -> str:
        """The change of a field in words; API versions of several kinds share a line."""
        if self.fact == "maxItems":
            return f"{self.kind} {self.path} takes at most {self.after} items ({self.before} before)"
        if self.after == ABSENT:
            return f"{self.kind} {self.path} becomes mutable ({_when(self.before)} before)"
        if self.before == ABSENT:
            return f"{self.kind} {self.path} becomes {_when(self.after)}"
        return f"{self.kind} {self.path} is {_when(self.after)} ({_when(self.before)} before)"


def _when(value: str) -> str:
    return "immutable" if value == "always" else f"immutable {value}"


def field_changes(component: str, before: str, after: str) -> tuple[CrdChange, ...] | None:
    """Return the facts that differ between two releases; None if the table lacks one of the minors."""
    table = _table().get(component)
    versions = (parse_release(before), parse_release(after))
    if table is None or any(minor_of(version) not in table["read"] for version in versions):
        return None
    found: list[CrdChange] = []
    for kind, facts in table.items():
        if kind == "read":
            continue
        for fact, path, values in _facts(facts):
            old, new = (_value_at(values, version) for version in versions)
            if fact == "served" and component == "kueue":
                # A changelog that is newer than the CRDs read may say otherwise.
                row = version_table("kueue")["crds"]["served"]
                old, new = (
                    str(row["value"]) if value != ABSENT and version >= parse_release(row["in"]) else value
                    for value, version in zip((old, new), versions, strict=True)
                )
            if old != new and not (fact == "maxItems" and ABSENT in (old, new)):
                found.append(CrdChange(kind, fact, path, old, new))
    return tuple(found)


def _facts(facts: Mapping[str, Any]) -> Iterator[tuple[Fact, str, Any]]:
    served: tuple[Fact, str, Any] = ("served", "", facts["served"])
    yield served
    names: tuple[Fact, ...] = ("immutable", "maxItems")
    for fact in names:
        for path, values in facts.get(fact, {}).items():
            yield fact, path, values


def _value_at(values: object, version: Version) -> str:
    """Return a value, or of values by the first minor that has them the one for a version."""
    if not isinstance(values, dict):
        return str(values)
    found = ABSENT
    for minor, value in cast("dict[str, object]", values).items():
        if tuple(map(int, minor.split("."))) <= version[:2]:
            found = str(value)
    return found


@cache
def _table() -> Mapping[str, Any]:
    return version_table("crds")
