"""What an upgrade is judged by: the plan of a stack, and the objects of manifests that were read."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

from msgspec import Struct

from berth.diagnostics import FieldPath
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
