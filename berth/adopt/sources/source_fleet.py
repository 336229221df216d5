"""A cluster and its node pools as a source describes them, and values that no file says."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final, cast

from msgspec import Struct, field

from berth.adopt.api_objects import ApiObject, NotAdopted

Resource = dict[str, Any]
"""The arguments of a resource: blocks as mappings, repeated blocks as lists; a value may be `Unresolved`."""

SYSTEM = "system"
"""Name of Berth's own node pool for what has no accelerators."""


class SourceFleet(Struct):
    """What a source describes.

    `what` is the source in words, such as `blueprint gke-a4`. `cluster` has also `project`, and `network` and
    `subnetwork` if they exist without it. With `keeps_cluster` the source only names the cluster. `notes` say what has
    no key. `objects` are those of Kueue that it applies in the cluster.
    """

    what: str
    cluster: Resource
    node_pools: list[Resource]
    notes: list[NotAdopted] = field(default_factory=list[NotAdopted])
    keeps_cluster: bool = False
    objects: list[ApiObject] = field(default_factory=list[ApiObject])


def mapping_or_empty(value: Any) -> Mapping[str, Any]:
    """Return a mapping, or an empty one for any other value."""
    return cast("Mapping[str, Any]", value) if isinstance(value, Mapping) else {}


def list_or_empty(value: Any) -> list[Any]:
    """Return a list, or an empty one for any other value."""
    return cast("list[Any]", value) if isinstance(value, list) else []


class UnusableSource(Exception):
    """A source that gives no stack file; one line for each reason."""

    def __init__(self, *lines: str) -> None:
        super().__init__("\n".join(lines))
        self.lines = lines


_MAX_DEPTH = 60
"""Maximum number of values that need each other."""
_MAX_SIZE: Final = 100_000
_TOO_LARGE: Final = f"which is larger than {_MAX_SIZE:,} characters"


def _fits(value: object, room: int) -> bool:
    """Return whether a value has at most so many characters and entries: 40 that each double the next are too many."""
    return _room_left(value, room) >= 0


def _room_left(value: object, room: int) -> int:
    if isinstance(value, str):
        return room - len(value)
    if isinstance(value, Mapping):
        value = [*cast("Mapping[str, object]", value).items()]
    if isinstance(value, (list, tuple)):
        for each in cast("Sequence[object]", value):
            room = _room_left(each, room - 1)
            if room < 0:
                break
    return room


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
            value = self._values[name]()
            is_large = not _fits(value, _MAX_SIZE)
            self._known[name] = Unresolved(f"{self._what}.{name}, {_TOO_LARGE}") if is_large else value
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
