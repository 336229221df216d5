"""The output of `berth render`: Kubernetes objects as YAML, in an order in which they can be applied."""

from __future__ import annotations

import enum
import pathlib
import re
from collections.abc import Callable, Iterable
from typing import IO, cast

from berth.backends.interface import backend_of
from berth.backends.table import StackPlan
from berth.cli.render.documents import yaml_document
from berth.cli.render.nodes import simulated_nodes as simulated
from berth.manifests.preview_reader import preview_reader
from berth.plan.fleet import FleetPlan

MANAGER, WORKER = "manager", "worker-"
"""Names of the folders with a manager's and its workers' objects."""


class Content(enum.Enum):
    """What is printed of each cluster."""

    OBJECTS = enum.auto()
    NODES = enum.auto()
    READER = enum.auto()


class OutputNotEmpty(Exception):
    """The output folder is a file, or contains one that berth did not render; nothing was written."""


def write_objects(plan: StackPlan, stream: IO[str], content: Content = Content.OBJECTS) -> None:
    """Write every object to `stream` as a YAML document; with workers, a comment precedes each cluster's objects.

    `content` can be the simulated nodes of the fleet instead, or the ClusterRole of previews.
    """
    clusters = _clusters(plan)
    for name, cluster in clusters:
        if len(clusters) > 1:
            stream.write(f"# cluster: {name}\n")
        stream.writelines(map(yaml_document, _objects(cluster, content)))


def write_folder(plan: StackPlan, folder: pathlib.Path, content: Content = Content.OBJECTS) -> int:
    """Write one file for each object, numbered in apply order; with workers, one folder for each cluster.

    Returns the number of files. Files of an earlier render are replaced. Raises OutputNotEmpty if a folder contains
    anything else.
    """
    clusters = _clusters(plan)
    if len(clusters) == 1:
        return _write_cluster(plan, folder, content)
    names = {name for name, _ in clusters}
    _require_no_other_files(folder, names.__contains__)
    return sum(_write_cluster(cluster, folder / name, content) for name, cluster in clusters)


def _clusters(
    plan: StackPlan,
) -> list[tuple[str, StackPlan]]:
    """Return each cluster with the name of its folder: the manager, then workers."""
    workers = plan.workers if isinstance(plan, FleetPlan) else ()
    return [(MANAGER, plan), *((f"{WORKER}{worker.name}", worker.plan) for worker in workers)]


def _require_no_other_files(folder: pathlib.Path, is_ours: Callable[[str], bool]) -> list[pathlib.Path]:
    """Return the files of a folder. Raises OutputNotEmpty for a file, or if `is_ours` is false for the name of one."""
    if folder.is_file():
        raise OutputNotEmpty(f"{folder} is a file; choose an empty or a new folder")
    files = sorted(folder.iterdir()) if folder.is_dir() else []
    for file in files:
        if not is_ours(file.name):
            raise OutputNotEmpty(
                f"{folder} contains {file.name}, which berth render did not write; choose an empty or a new folder"
            )
    return files


def _write_cluster(plan: StackPlan, folder: pathlib.Path, content: Content) -> int:
    """Write the objects of one cluster, and return the number of files."""
    old_files = _require_no_other_files(folder, lambda name: re.fullmatch(r"\d{5}-.*\.yaml", name) is not None)
    folder.mkdir(parents=True, exist_ok=True)
    for file in old_files:
        file.unlink()
    number = 0
    for number, manifest in enumerate(_objects(plan, content), 1):
        metadata = cast("dict[str, str]", manifest["metadata"])
        namespace = f"{metadata['namespace']}-" if "namespace" in metadata else ""
        name = f"{number:05d}-{str(manifest['kind']).lower()}-{namespace}{metadata['name']}.yaml"
        (folder / name).write_text(yaml_document(manifest), encoding="utf-8")
    return number


def _objects(plan: StackPlan, content: Content) -> Iterable[dict[str, object]]:
    if content is Content.NODES and isinstance(plan, FleetPlan):
        return simulated(plan)
    if content is Content.READER:
        return [preview_reader(_objects(plan, Content.OBJECTS))]
    return backend_of(plan).objects(plan)
