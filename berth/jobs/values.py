"""Plain values, as a YAML or JSON file holds them, taken apart: what is asked of one and is not so becomes a fault."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import cast

from msgspec import Struct

from berth.diagnostics import Path, Problems, near_miss, quoted

_SHOWN = 60


class At(Struct, frozen=True):
    """A value and where it stands. A method that returns None has added a fault to `problems`."""

    value: object
    path: Path
    problems: Problems

    def fault(self, code: str, message: str) -> None:
        """Add a fault about this value."""
        self.problems.fault(code, self.path, message)

    def wrong(self, allowed: str) -> None:
        """Add the fault that the value is not what is allowed here."""
        self.fault("bad-value", f"{shown(self.value)} is not {allowed}")

    def keys(self, required: Iterable[str], optional: Iterable[str] = ()) -> dict[str, At] | None:
        """A mapping's values by key; every required key is there, and no other than those named."""
        found = self.entries("a mapping")
        if found is None:
            return None
        known = [*required, *optional]
        for key in found.keys() - set(known):
            found[key].fault("unknown-key", f"unknown key '{key}'; one of {', '.join(known)}{near_miss(key, known)}")
        missing = [key for key in required if key not in found]
        if missing:
            self.fault("missing-key", f"{quoted(missing)} {'is' if len(missing) == 1 else 'are'} missing; write it")
        return None if missing else found

    def entries(self, what: str) -> dict[str, At] | None:
        """A mapping's values by key, whatever the keys."""
        if not isinstance(self.value, dict):
            self.wrong(what)
            return None
        values = cast("dict[object, object]", self.value)
        return {str(key): self.under(str(key), value) for key, value in values.items()}

    def items(self, what: str) -> list[At] | None:
        """The items of a list."""
        if not isinstance(self.value, list):
            self.wrong(what)
            return None
        return list(self._items(cast("list[object]", self.value)))

    def _items(self, values: list[object]) -> Iterator[At]:
        for index, value in enumerate(values):
            yield self.under(index, value)

    def under(self, step: str | int, value: object) -> At:
        """A value inside this one."""
        return At(value, (*self.path, step), self.problems)

    def text(self, what: str) -> str | None:
        """Text that is not empty."""
        if isinstance(self.value, str) and self.value:
            return self.value
        self.wrong(what)
        return None

    def whole(self, what: str, low: int, high: int = 2**63 - 1) -> int | None:
        """A whole number from `low` to `high`."""
        if isinstance(self.value, int) and not isinstance(self.value, bool) and low <= self.value <= high:
            return self.value
        quotes = isinstance(self.value, str) and self.value.removeprefix("-").isdigit()
        self.wrong(f"{what}: leave the quotes out" if quotes else what)
        return None

    def one_of(self, words: Iterable[str]) -> str | None:
        """One of some words."""
        known = list(words)
        if isinstance(self.value, str) and self.value in known:
            return self.value
        near = near_miss(self.value, known) if isinstance(self.value, str) else ""
        self.wrong(f"one of {', '.join(known)}{near}")
        return None


def as_mapping(value: object) -> dict[str, object]:
    """A mapping as it is; nothing of anything else."""
    return cast("dict[str, object]", value) if isinstance(value, dict) else {}


def as_list(value: object) -> list[object]:
    """A list as it is; nothing of anything else."""
    return cast("list[object]", value) if isinstance(value, list) else []


def deep(value: object, *keys: str) -> object:
    """A value some mappings down; None where one of them is missing."""
    for key in keys:
        value = as_mapping(value).get(key)
    return value


def shown(value: object) -> str:
    """A wrong value in quotes; of lists and mappings only what they are."""
    if isinstance(value, dict):
        return "a mapping"
    if isinstance(value, list):
        return "a list"
    if value is None:
        return "nothing"
    text = {True: "true", False: "false"}[value] if isinstance(value, bool) else str(value)
    return f"'{text[:_SHOWN]}…'" if len(text) > _SHOWN else f"'{text}'"
