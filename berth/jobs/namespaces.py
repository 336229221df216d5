"""What a manifest leaves to others: objects beside it, its namespace, and the requests that a LimitRange gives."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from msgspec import Struct, field
from msgspec.structs import replace

from berth.jobs.files import ManifestDocument
from berth.jobs.values import get_nested
from berth.manifests.workloads.values import as_list, as_mapping
from berth.plan.dynamic_slices import SlicingPlan
from berth.plan.fleet import FleetPlan

_OF_THE_CLUSTER = ("PersistentVolume", "StorageClass")
"""Kinds without a namespace."""


class KnownObjects:
    """The objects of the manifests, by kind, namespace and name; those of the cluster have the namespace ""."""

    def __init__(self, documents: Iterable[ManifestDocument] = ()) -> None:
        self._objects: dict[tuple[str, str, str], object] = {}
        for document in documents:
            listed = get_nested(document.value, "kind") == "List"
            items = as_list(get_nested(document.value, "items")) if listed else []
            for value in (document.value, *items):
                kind, namespace = str(get_nested(value, "kind")), get_nested(value, "metadata", "namespace")
                space = "" if kind in _OF_THE_CLUSTER else str(namespace or "default")
                self._objects[kind, space, str(get_nested(value, "metadata", "name"))] = value

    def has(self, kind: str, namespace: str, name: str) -> bool:
        """Whether the manifests contain this object."""
        return (kind, namespace, name) in self._objects

    def get(self, kind: str, namespace: str, name: object) -> object:
        """Return an object; None if the manifests do not contain it."""
        return self._objects.get((kind, namespace, str(name)))

    def of_kind(self, kind: str) -> Iterator[object]:
        """Yield the objects of a kind."""
        return (value for (each, _, _), value in self._objects.items() if each == kind)


class NamespaceDefaults(Struct, frozen=True):
    """The `namespace` that a manifest is applied to, and the requests of containers without any, by namespace.

    `slicing` is what the webhooks of Kueue's slice controller add to jobs that ask for a slice; None without them.
    """

    namespace: str = "default"
    requests: Mapping[str, Mapping[str, int]] = field(default_factory=dict[str, "Mapping[str, int]"])
    slicing: SlicingPlan | None = None


def in_namespace(document: ManifestDocument, namespace: str) -> ManifestDocument:
    """Return a document whose objects are in a namespace, as with `kubectl apply -n`, unless they name one."""
    value = as_mapping(document.value)
    items = [_object_in(each, namespace) for each in as_list(value.get("items"))]
    listed = {"items": items} if value.get("kind") == "List" else {}
    return replace(document, value={**as_mapping(_object_in(document.value, namespace)), **listed} or document.value)


def _object_in(value: object, namespace: str) -> object:
    """Return an object with a namespace; anything without a kind and metadata as it is."""
    fields = as_mapping(value)
    metadata = fields.get("metadata")
    if "kind" not in fields or not as_mapping(metadata) or "namespace" in as_mapping(metadata):
        return value
    return {**fields, "metadata": {**as_mapping(metadata), "namespace": namespace}}


NO_NAMESPACE_DEFAULTS: Final = NamespaceDefaults()
"""A cluster without LimitRanges; objects without a namespace are in `default`."""


def namespace_defaults(plan: FleetPlan, namespace: str = "default") -> NamespaceDefaults:
    """Return the defaults of a fleet: the LimitRange of each namespace that a team owns."""
    return NamespaceDefaults(
        namespace,
        {
            each.name: {"cpu": team.isolation.requests_cpu, "memory": team.isolation.requests_memory}
            for team in plan.teams
            for each in team.namespaces
            if each.owned
        },
        next((each.slicing for each in plan.flavors if each.slicing and each.slicing.controller), None),
    )
