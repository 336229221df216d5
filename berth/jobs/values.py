"""Values of a YAML or JSON file with their positions; reading one as the wrong type adds a fault."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from typing import TypeGuard, cast

from msgspec import Struct

from berth.diagnostics import FieldPath, Problems, closest_match, did_you_mean, join_quoted
from berth.manifests.workloads.values import as_list, as_mapping

_MAX_LENGTH = 60


class SourceValue(Struct, frozen=True):
    """A value and its path. A method that returns None has added a fault to `problems`."""

    value: object
    path: FieldPath
    problems: Problems

    def fault(self, code: str, message: str) -> None:
        """Add a fault about this value."""
        self.problems.fault(code, self.path, message)

    def reject(self, allowed: str) -> None:
        """Add the fault that the value is not `allowed`."""
        self.fault("bad-value", f"{describe_value(self.value)} is not {allowed}")

    def known_fields(self, required: Iterable[str], optional: Iterable[str] = ()) -> dict[str, SourceValue] | None:
        """Return a mapping's values by key; adds faults for missing required keys and unknown keys.

        A misspelt key is read as it seems to be meant, so that what is wrong with its value is said as well.
        """
        fields = self.mapping("a mapping")
        if fields is None:
            return None
        known = [*required, *optional]
        for key in [each for each in fields if each not in known]:
            fields[key].fault(
                "unknown-key", f"unknown key '{key}'; write one of {', '.join(known)}{did_you_mean(key, known)}"
            )
            if (meant := closest_match(key, known)) and meant not in fields:
                fields[meant] = fields.pop(key)
        missing = [key for key in required if key not in fields]
        if missing:
            self.fault(
                "missing-key",
                f"{join_quoted(missing)} {'is missing; write it' if len(missing) == 1 else 'are missing; write them'}",
            )
        return None if missing else fields

    def mapping(self, expected: str) -> dict[str, SourceValue] | None:
        """Return a mapping's values by key, with any keys."""
        if not isinstance(self.value, dict):
            self.reject(expected)
            return None
        values = cast("dict[object, object]", self.value)
        return {str(key): self.child(str(key), value) for key, value in values.items()}

    def sequence(self, expected: str) -> list[SourceValue] | None:
        """Return the items of a list."""
        if not isinstance(self.value, list):
            self.reject(expected)
            return None
        return list(self._children(cast("list[object]", self.value)))

    def _children(self, values: list[object]) -> Iterator[SourceValue]:
        for index, value in enumerate(values):
            yield self.child(index, value)

    def child(self, step: str | int, value: object) -> SourceValue:
        """Return a value inside this one."""
        return SourceValue(value, (*self.path, step), self.problems)

    def text(self, expected: str) -> str | None:
        """Return non-empty text."""
        if isinstance(self.value, str) and self.value:
            return self.value
        self.reject(expected)
        return None

    def integer(self, expected: str, minimum: int, maximum: int = 2**63 - 1) -> int | None:
        """Return a whole number from `minimum` to `maximum`."""
        if isinstance(self.value, int) and not isinstance(self.value, bool) and minimum <= self.value <= maximum:
            return self.value
        is_quoted = isinstance(self.value, str) and self.value.removeprefix("-").isdigit()
        self.reject(f"{expected}; remove the quotes" if is_quoted else expected)
        return None

    def one_of(self, choices: Iterable[str]) -> str | None:
        """Return the value if it is one of `choices`."""
        known = list(choices)
        if isinstance(self.value, str) and self.value in known:
            return self.value
        suggestion = did_you_mean(self.value, known) if isinstance(self.value, str) else ""
        self.reject(f"one of {', '.join(known)}{suggestion}")
        return None


def get_nested(value: object, *keys: str) -> object:
    """Return the value at nested keys; None if one of them is missing."""
    for key in keys:
        value = as_mapping(value).get(key)
    return value


def inside(source: SourceValue, *keys: str) -> SourceValue:
    """Return the value at nested keys; None as its value if it is not written."""
    for key in keys:
        source = source.child(key, as_mapping(source.value).get(key))
    return source


def items(source: SourceValue) -> list[SourceValue]:
    """Return the items of a list; none of another value."""
    return [source.child(index, each) for index, each in enumerate(as_list(source.value))]


def read_time(text: object) -> datetime | None:
    """Return an ISO time, such as 2026-11-23T08:01:30Z, in UTC if it names no zone; None for another value."""
    try:
        time = datetime.fromisoformat(text) if isinstance(text, str) else None
    except ValueError:
        return None
    return time if time is None or time.tzinfo is not None else time.replace(tzinfo=UTC)


def is_whole(value: object) -> TypeGuard[int]:
    """Return whether a value is a whole number; YAML's true and false are none."""
    return isinstance(value, int) and not isinstance(value, bool)


def describe_value(value: object) -> str:
    """Return an invalid value in quotes; for lists and mappings, their type."""
    if isinstance(value, dict):
        return "a mapping"
    if isinstance(value, list):
        return "a list"
    if value is None:
        return "nothing"
    text = {True: "true", False: "false"}[value] if isinstance(value, bool) else str(value)
    return f"'{text[:_MAX_LENGTH]}…'" if len(text) > _MAX_LENGTH else f"'{text}'"
