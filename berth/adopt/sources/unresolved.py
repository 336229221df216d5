"""Values that no file says, and values by name that are evaluated when they are read."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, cast

from msgspec import Struct

_MAX_DEPTH = 60
"""Maximum number of values that need each other."""


class Unresolved(Struct, frozen=True):
    """A value that the files do not say: what it depends on, as the file has it."""

    text: str

    def __str__(self) -> str:
        return self.text


class Names:
    """Values by name, each evaluated when it is first read; one that needs itself is unresolved."""

    def __init__(self, what: str, values: Mapping[str, Callable[[], Any]]) -> None:
        self._what = what
        self._values = values
        self._known: dict[str, Any] = {}
        self._open: list[str] = []

    def get(self, name: str) -> Any:
        """Return a value; Unresolved if there is none, or if it needs itself."""
        if name in self._known:
            return self._known[name]
        if name not in self._values:
            return Unresolved(f"{self._what}.{name}")
        if name in self._open or len(self._open) > _MAX_DEPTH:
            return Unresolved(f"{self._what}.{name}, which refers to itself")
        self._open.append(name)
        try:
            self._known[name] = self._values[name]()
        finally:
            self._open.pop()
        return self._known[name]


Scope = Mapping[str, Any]
"""The names that an expression may use: values, or `Names`."""


def unresolved_in(value: Any) -> Iterator[Unresolved]:
    """Yield every unresolved value in a nested one."""
    if isinstance(value, Unresolved):
        yield value
    elif isinstance(value, Mapping):
        for inner in cast("Mapping[str, Any]", value).values():
            yield from unresolved_in(inner)
    elif isinstance(value, list):
        for inner in cast("list[Any]", value):
            yield from unresolved_in(inner)
