"""Objects of a cluster, from the output of `kubectl get … -o json`."""

from __future__ import annotations

import pathlib
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final, cast

from msgspec import Struct

from berth.diagnostics import Problem, Problems
from berth.jobs.files import read_kubectl_json
from berth.jobs.values import SourceValue
from berth.manifests.workloads.values import as_mapping

KINDS: Final = (
    *("Node", "ResourceFlavor", "Topology", "Cohort", "ClusterQueue", "LocalQueue", "WorkloadPriorityClass"),
    *("CapacityBuffer", "CSIDriver", "DeviceClass", "RuntimeClass"),
)
"""Kinds that are compared."""

COMMAND: Final = (
    "kubectl get nodes,resourceflavors,topologies.kueue.x-k8s.io,cohorts,clusterqueues,localqueues,"
    "workloadpriorityclasses,csidrivers,deviceclasses,runtimeclasses -A -o json"
)
"""The command that prints all of them."""

LiveObject = Mapping[str, Any]


class LiveObjects(Struct, frozen=True):
    """The objects of all files: kind → name, or namespace/name, → object."""

    by_kind: Mapping[str, Mapping[str, LiveObject]]

    def of_kind(self, kind: str) -> Mapping[str, LiveObject] | None:
        """Return the objects of a kind by name; None if no file has one."""
        return self.by_kind.get(kind)


def read_live_objects(files: Iterable[tuple[pathlib.Path, str]]) -> tuple[LiveObjects, list[Problem]]:
    """Return the objects in files (path, name in messages), and every fault.

    Faults: those of `read_json`; `live-answer` for a file without an object that is compared, `bad-value` and
    `missing-key` in an object.
    """
    by_kind: dict[str, dict[str, LiveObject]] = {}
    all_problems: list[Problem] = []
    for file, name in files:
        documents, faults = read_kubectl_json(file, name)
        all_problems += faults
        for document in documents:
            problems = Problems()
            found = False
            for item in _items(document.root_value(problems)):
                found = True
                key = _key(item)
                if key is not None:
                    by_kind.setdefault(str(as_mapping(item.value)["kind"]), {})[key] = cast("LiveObject", item.value)
            if not found and not problems.entries:
                problems.fault(
                    "live-answer", (), f"contains no {', '.join(KINDS[:-1])} or {KINDS[-1]}; write {COMMAND}"
                )
            all_problems += document.locate_problems(problems.entries)
    return LiveObjects(by_kind), all_problems


def _items(document: SourceValue) -> Iterator[SourceValue]:
    """Yield the objects of a list or the single object, of the kinds that are compared."""
    fields = document.mapping("an object of the Kubernetes API")
    if fields is None:
        return
    items = fields["items"].sequence("a list of objects") if "items" in fields else [document]
    for item in items or ():
        if item.mapping("an object of the Kubernetes API") and as_mapping(item.value).get("kind") in KINDS:
            yield item


def _key(item: SourceValue) -> str | None:
    """Return `name` or `namespace/name`; None after a fault."""
    metadata = item.child("metadata", as_mapping(item.value).get("metadata")).mapping("the metadata of an object")
    if metadata is None:
        return None
    if "name" not in metadata:
        item.fault("missing-key", f"'metadata.name' is missing; write {COMMAND}")
        return None
    name = metadata["name"].text("a name")
    ok = all(
        each is None or _is_mapping(item, *path)
        for path in (("metadata", "labels"), ("spec",), ("status",), ("status", "allocatable"))
        if (each := _at(item.value, *path)) is not None
    )
    taints = _at(item.value, "spec", "taints")
    if taints is not None and not isinstance(taints, list):
        item.child("spec", {}).child("taints", taints).reject("a list of taints")
        ok = False
    namespace = metadata["namespace"].value if "namespace" in metadata else None
    if name is None or not ok:
        return None
    return f"{namespace}/{name}" if namespace else name


def _at(value: object, *path: str) -> object:
    for step in path:
        value = as_mapping(value).get(step)
    return value


def _is_mapping(item: SourceValue, *path: str) -> bool:
    child = item
    for step in path:
        child = child.child(step, as_mapping(child.value).get(step))
    return child.mapping("a mapping") is not None
