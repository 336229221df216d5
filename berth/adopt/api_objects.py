"""Objects as APIs return them, their values by path, the names in their paths, and reports of what is not adopted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Any, TypeVar, cast

from msgspec import Struct

T = TypeVar("T")

ApiObject = Mapping[str, Any]
"""One object as an API returns it."""

StackEntry = dict[str, Any]
"""An entry of the stack file."""


class Fate(StrEnum):
    """What becomes of something after adoption; the value is the heading of its lines."""

    LEFT = "not adopted, or assumed"
    CHANGED = "changed by the first `pulumi up`"
    CREATED = "created by the first `pulumi up`"


class Kept(StrEnum):
    """Why an object of the answers is not imported, and stays as it is: the closed list of reasons."""

    OTHERS = "another owner's"
    """No entry of the stack file makes or changes it."""
    EXISTING = "existing"
    """The stack file uses it, or names it as existing, and its owner keeps it."""
    SYSTEM = "Kubernetes', GKE's or a controller's"
    """They make it again by themselves."""
    ELSEWHERE = "in another region"
    """It is outside of the cluster's region."""
    NETWORK = "in another network"
    """It is of a network that neither the cluster nor its nodes are in."""
    CLUSTER = "the cluster's"
    """It stays with the owner of a cluster that exists: its network, and its nodes without accelerators."""
    UNUSED = "unused"
    """No pool, queue or job of the stack file can use it."""
    NO_MACHINES = "without accelerators"
    """Its machines have no accelerators that Berth knows."""
    NO_KEY = "without a key"
    """A stack file cannot express it."""
    SECOND = "a second one"
    """The stack file has one of its kind, and another one is it."""


class NotAdopted(Struct, frozen=True):
    """Something that is not adopted, or is changed or created: its name, and the reason or the result.

    `kept` says of objects of the answers, and of nothing else, why they are not imported; `names` are theirs if the
    subject has several.
    """

    subject: str
    reason: str
    fate: Fate = Fate.LEFT
    kept: Kept | None = None
    names: tuple[str, ...] = ()

    def line(self) -> str:
        """Return both in one line."""
        return f"{self.subject}: {self.reason}"


class InvalidInventory(Exception):
    """Answers that cannot be adopted; has one line for each problem."""

    def __init__(self, *lines: str) -> None:
        super().__init__("\n".join(lines))
        self.lines = lines


def name_of(resource: ApiObject) -> str:
    """Return a Kubernetes object's name."""
    return str(resource["metadata"]["name"])


def namespace_of(resource: ApiObject) -> str:
    """Return its namespace, "" if it has none."""
    return str(resource["metadata"].get("namespace", ""))


def labels_of(resource: ApiObject) -> dict[str, str]:
    """Return its labels."""
    return dict(resource["metadata"].get("labels") or {})


def value_at(resource: ApiObject, path: str) -> Any:
    """Return the value at a dotted path, None if there is none."""
    value: Any = resource
    for step in path.split("."):
        value = cast("ApiObject", value).get(step) if isinstance(value, Mapping) else None
    return value


def mapping_at(resource: ApiObject, path: str) -> ApiObject:
    """Return the object at a dotted path; an empty one if there is none."""
    return cast("ApiObject", value_at(resource, path) or {})


def list_at(resource: ApiObject, path: str) -> list[Any]:
    """Return the list at a dotted path; an empty one if there is none."""
    return cast("list[Any]", value_at(resource, path) or [])


def stated(entry: Mapping[str, Any]) -> StackEntry:
    """Return the keys of an entry that say something: without None, and without empty texts, lists and mappings."""
    return {key: value for key, value in entry.items() if value not in (None, "", [], (), {})}


def other_than(default: object, value: T) -> T | None:
    """Return a value, None if it is the default, which a stack file does not state."""
    return None if value == default else value


def in_order(entry: StackEntry, first: Sequence[str]) -> StackEntry:
    """Return an entry whose keys begin with those of `first`, in their order."""
    return {**{key: entry[key] for key in first if key in entry}, **entry}


def last_segment(path: str) -> str:
    """Return the name in a path or URL: `projects/p/zones/z/acceleratorTypes/nvidia-l4` is `nvidia-l4`."""
    return path.rstrip("/").rpartition("/")[2]


def reservation_value(path: str, project: str) -> str:
    """Return a reservation as GKE's affinity names it: NAME, or projects/P/reservations/NAME of another project.

    Blocks and sub-blocks of it stay. `path` may be a full URL, and may have a zone, which the affinity has not.
    """
    if "projects/" not in path:
        return path
    segments = path.rpartition("projects/")[2].split("/")
    owner, parts = segments[0], dict(zip(segments[1::2], segments[2::2], strict=False))
    name = parts.pop("reservations", None)
    if name is None:
        return path
    below = "".join(f"/{key}/{parts[key]}" for key in ("reservationBlocks", "reservationSubBlocks") if key in parts)
    return f"{name}{below}" if owner == project else f"projects/{owner}/reservations/{name}{below}"
