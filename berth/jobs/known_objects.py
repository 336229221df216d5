"""The objects that manifests contain, by kind, namespace and name: what a job needs may be beside it."""

from __future__ import annotations

from collections.abc import Iterable

from berth.jobs.files import ManifestDocument
from berth.jobs.values import get_nested
from berth.manifests.workloads.values import as_list


class KnownObjects:
    """The objects of the manifests, by kind, namespace and name."""

    def __init__(self, documents: Iterable[ManifestDocument] = ()) -> None:
        self._names: set[tuple[str, str, str]] = set()
        for document in documents:
            items = as_list(get_nested(document.value, "items")) if _kind(document.value) == "List" else []
            for value in (document.value, *items):
                namespace = str(get_nested(value, "metadata", "namespace") or "default")
                self._names.add((_kind(value), namespace, str(get_nested(value, "metadata", "name"))))

    def has(self, kind: str, namespace: str, name: str) -> bool:
        """Whether the manifests contain this object."""
        return (kind, namespace, name) in self._names


def _kind(value: object) -> str:
    return str(get_nested(value, "kind"))
