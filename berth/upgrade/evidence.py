"""What an upgrade is judged by: the plan of a stack and objects of manifests; and the verdict, with its reason."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Final, cast

from msgspec import Struct

from berth.diagnostics import FieldPath, join_words
from berth.manifests.workloads.values import as_mapping
from berth.plan.fleet import FleetPlan
from berth.versions.gates import Gates

if TYPE_CHECKING:
    from berth.jobs.files import ManifestDocument


class JobObject(Struct, frozen=True):
    """One object of a manifest: what it is, where it is written, and its values."""

    kind: str
    api_version: str
    name: str
    namespace: str
    location: str
    value: Mapping[str, Any]

    @property
    def title(self) -> str:
        """The object with its place, as messages name it."""
        return f"{self.kind} {self.name} ({self.location})"

    def at(self, path: Sequence[str]) -> object:
        """Return the value at a path; None without one."""
        value: object = self.value
        for step in path:
            value = as_mapping(value).get(step)
        return value

    def everywhere(self, key: str) -> Iterator[object]:
        """Yield the values of a key, wherever it is in the object."""
        return _values_of(self.value, key)

    def annotation_sets(self) -> Iterator[Mapping[str, Any]]:
        """Yield the annotations of the object and of its pod templates."""
        return (as_mapping(value) for value in _values_of(self.value, "annotations"))


class Evidence(Struct, frozen=True):
    """A stack's plan, the gates of the new Kueue, the objects that were read, and where from.

    `source` is a phrase for messages, such as `stacks/jobs`; empty if no file was read.
    """

    plan: FleetPlan
    gates: Gates | None = None
    objects: tuple[JobObject, ...] = ()
    source: str = ""

    @property
    def queued_frameworks(self) -> tuple[str, ...] | None:
        """The integrations of Kueue that are on; None for an existing Kueue, which the stack does not configure."""
        return None if self.plan.kueue is None else self.plan.kueue.frameworks


def objects_of(documents: Iterable[ManifestDocument], plan: FleetPlan) -> tuple[tuple[JobObject, ...], int]:
    """Return the objects for a stack, and how many are of namespaces that it does not have.

    An object without a namespace goes to the namespace of the person who submits it, so it is one of the stack's.
    """
    namespaces = {namespace.name for team in plan.teams for namespace in team.namespaces}
    mine: list[JobObject] = []
    others = 0
    for document in documents:
        for path, value in _objects(document.value, ()):
            found = _job_object(document, path, value)
            if found.namespace and namespaces and found.namespace not in namespaces:
                others += 1
            else:
                mine.append(found)
    return tuple(mine), others


def _objects(value: object, path: FieldPath) -> Iterator[tuple[FieldPath, Mapping[str, Any]]]:
    """Yield an object, or those of a List."""
    fields = as_mapping(value)
    items = fields.get("items")
    if isinstance(items, list) and str(fields.get("kind", "")).endswith("List"):
        for index, item in enumerate(cast("list[object]", items)):
            yield from _objects(item, (*path, "items", index))
    elif "kind" in fields:
        yield path, fields


def _job_object(document: ManifestDocument, path: FieldPath, value: Mapping[str, Any]) -> JobObject:
    metadata = as_mapping(value.get("metadata"))
    return JobObject(
        kind=str(value.get("kind", "")),
        api_version=str(value.get("apiVersion", "")),
        name=str(metadata.get("name") or metadata.get("generateName") or ""),
        namespace=str(metadata.get("namespace") or ""),
        location=document.location((*path, "kind")),
        value=value,
    )


def _values_of(value: object, key: str) -> Iterator[object]:
    if isinstance(value, dict):
        for name, inner in cast("dict[object, object]", value).items():
            if name == key:
                yield inner
            yield from _values_of(inner, key)
    elif isinstance(value, list):
        for inner in cast("list[object]", value):
            yield from _values_of(inner, key)


class Applicability(StrEnum):
    """Whether a change concerns a stack."""

    APPLIES = "applies"
    UNKNOWN = "unknown"
    NOT = "does not apply"


class Judgement(Struct, frozen=True):
    """A verdict, the reason as a sentence without its full stop, and the objects that it is about."""

    verdict: Applicability
    why: str
    objects: tuple[JobObject, ...] = ()


EXISTING: Final = "Kueue is existing, and its Configuration is not in this stack"
"""The reason of a verdict on a Configuration that Berth does not write."""
_SEVERAL: Final = 3
"""Number of names in a reason; more are counted."""


def applies(why: str, objects: Iterable[JobObject] = ()) -> Judgement:
    """Return the verdict that a change concerns the stack, or these objects."""
    return Judgement(Applicability.APPLIES, why, tuple(objects))


def is_not(why: str) -> Judgement:
    """Return the verdict that a change does not concern the stack."""
    return Judgement(Applicability.NOT, why)


def is_open(why: str) -> Judgement:
    """Return the verdict that what was read does not tell whether a change concerns the stack."""
    return Judgement(Applicability.UNKNOWN, why)


def listed(names: list[str]) -> str:
    """Return at most three names, or two and the number of the others."""
    shown = names if len(names) <= _SEVERAL else [*names[: _SEVERAL - 1], f"{len(names) - _SEVERAL + 1} more"]
    return join_words(shown)
