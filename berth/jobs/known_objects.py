"""The objects that manifests contain, by kind, namespace and name: what a job needs may be beside it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from berth.jobs.files import ManifestDocument
from berth.jobs.values import get_nested
from berth.manifests.workloads.values import as_list

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
