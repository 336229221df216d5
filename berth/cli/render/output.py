"""The output of `berth render`: YAML that parsers of 1.1 and 1.2 read alike, in an order in which it can be applied."""

from __future__ import annotations

import enum
import marshal
import pathlib
import re
from collections.abc import Callable, Iterable
from functools import lru_cache
from textwrap import indent
from typing import IO, Any, cast

import ryaml
import yaml

from berth.backends.interface import backend_of
from berth.backends.table import StackPlan
from berth.cli.render.nodes import simulated_nodes as simulated
from berth.manifests.preview_reader import preview_reader
from berth.plan.fleet import FleetPlan

_INDENT = "  "
_MARSHAL_VERSION = 2
"""A version of `marshal` without references between objects, so that equal values have equal bytes."""
_RETYPED = re.compile(
    r"(?:^| )(?!(?:0|-?[1-9][0-9]{0,17})$)(?:[yn]|yes|no|on|off|=|<<|[-+]?\.?[0-9][-+0-9_:.eETtZz ]*)(?::.*)?$",
    re.IGNORECASE | re.MULTILINE,
)
"""Matches the end of a line with text that YAML 1.1, which kubectl reads, may parse as a boolean, number or date.
It may match too much, never too little. Whole numbers are excluded: text that looks like one is already quoted."""


def yaml_document(manifest: dict[str, object]) -> str:
    """Return the document, with its `---` line."""
    lines = ["---\n"]
    _write(manifest, 0, lines)
    return "".join(lines)


def _write(mapping: dict[str, object], depth: int, lines: list[str]) -> None:
    for key, value in mapping.items():
        kind = type(value)
        if kind is dict and value:
            lines.append(_header(key, depth))
            _write(cast("dict[str, object]", value), depth + 1, lines)
        elif kind is dict or kind is list:
            lines.append(_list(key, marshal.dumps(cast("Any", value), _MARSHAL_VERSION), depth))
        else:
            lines.append(_scalar(key, value, depth))


@lru_cache(maxsize=1 << 16, typed=True)
def _scalar(key: str, value: object, depth: int) -> str:
    return indent(_text({key: value}), depth * _INDENT)


@lru_cache(maxsize=1 << 12)
def _header(key: str, depth: int) -> str:
    return indent(_text({key: 0}).removesuffix(" 0\n") + "\n", depth * _INDENT)


@lru_cache(maxsize=1 << 14)
def _list(key: str, value: bytes, depth: int) -> str:
    return indent(_text({key: marshal.loads(value)}), depth * _INDENT)


def _text(mapping: dict[str, object]) -> str:
    """Return a mapping as YAML: from ryaml, or from PyYAML if ryaml's text reads differently in YAML 1.1."""
    text = ryaml.dumps(mapping)  # pyright: ignore[reportPrivateImportUsage]: the package exports it without a stub
    if _RETYPED.search(text):
        text = yaml.safe_dump(mapping, sort_keys=False, default_flow_style=False, width=120)
    return text


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
