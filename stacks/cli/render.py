"""`berth render`: every Kubernetes object as YAML, in the order in which it may be applied."""

from __future__ import annotations

import functools
import marshal
import pathlib
import re
from collections.abc import Callable, Iterable, Iterator, Sized
from typing import IO, cast

import ryaml
import yaml

from components.ack import manifests as ack
from components.manifests import all_manifests
from components.plan.ack import AckFleetPlan
from components.plan.deployments import TeamStackPlan
from components.plan.fleet import FleetPlan
from components.workloads.manifests import deployed
from stacks.cli.nodes import nodes as simulated

_RETYPED = re.compile(
    r"(?:^| )(?!(?:0|-?[1-9][0-9]{0,17})$)(?:[yn]|yes|no|on|off|=|<<|[-+]?\.?[0-9][-+0-9_:.eETtZz ]*)(?::.*)?$",
    re.IGNORECASE,
)
"""The end of a line that YAML 1.1, which kubectl reads, may take for a boolean, a number or a date though it is text.
It finds too much rather than too little. A plain whole number is one to both: text that looks like it is quoted."""


Documents = Callable[[dict[str, object]], str]
"""What writes one object."""
_BY_VALUE = 2
"""The version of `marshal` that says nothing of which values are one object: what is equal has equal bytes."""

MANAGER, WORKER = "manager", "worker-"
"""How the folders of a manager's and its workers' objects are called."""


class Occupied(Exception):
    """The output folder holds something that is not a rendered object; nothing was written."""


def write(plan: FleetPlan | AckFleetPlan | TeamStackPlan, stream: IO[str], *, nodes: bool = False) -> None:
    """Write every object to `stream`, one YAML document each; with workers, a comment before each cluster's.

    With `nodes` these are the simulated nodes of a fleet instead.
    """
    clusters = _clusters(plan)
    written = _documents(clusters)
    for name, cluster in clusters:
        if len(clusters) > 1:
            stream.write(f"# cluster: {name}\n")
        stream.writelines(map(written, _objects(cluster, nodes)))


def write_folder(plan: FleetPlan | AckFleetPlan | TeamStackPlan, folder: pathlib.Path, *, nodes: bool = False) -> int:
    """Write one file an object, numbered in apply order, and say how many; with workers, a folder for each cluster.

    Files of an earlier render are replaced. Raises Occupied where a folder holds anything else.
    """
    clusters = _clusters(plan)
    written = _documents(clusters)
    if len(clusters) == 1:
        return _one_folder(plan, folder, nodes, written)
    names = {name for name, _ in clusters}
    if strangers := sorted(f.name for f in folder.iterdir() if f.name not in names) if folder.is_dir() else []:
        raise Occupied(f"{folder} holds {strangers[0]}, which was not rendered; name an empty or a new folder")
    return sum(_one_folder(cluster, folder / name, nodes, written) for name, cluster in clusters)


def _clusters(
    plan: FleetPlan | AckFleetPlan | TeamStackPlan,
) -> list[tuple[str, FleetPlan | AckFleetPlan | TeamStackPlan]]:
    """Each cluster by the name of its folder: the manager, then workers."""
    workers = plan.workers if isinstance(plan, FleetPlan) else ()
    return [(MANAGER, plan), *((f"{WORKER}{worker.name}", worker.plan) for worker in workers)]


def _one_folder(
    plan: FleetPlan | AckFleetPlan | TeamStackPlan, folder: pathlib.Path, nodes: bool, written: Documents
) -> int:
    """Write the objects of one cluster, and say how many."""
    old = list(folder.iterdir()) if folder.is_dir() else []
    if strangers := [f.name for f in old if not _is_ours(f.name)]:
        raise Occupied(f"{folder} holds {strangers[0]}, which was not rendered; name an empty or a new folder")
    folder.mkdir(parents=True, exist_ok=True)
    for file in old:
        file.unlink()
    count = 0
    for name, manifest in _named(_objects(plan, nodes)):
        with (folder / name).open("w", encoding="utf-8") as stream:
            stream.write(written(manifest))
        count += 1
    return count


def _documents(clusters: Sized) -> Documents:
    """`document`; of several clusters, once for what is the same on each, as most of a team's objects are."""
    if len(clusters) == 1:
        return document
    texts: dict[bytes, str] = {}

    def remembered(manifest: dict[str, object]) -> str:
        key = marshal.dumps(manifest, _BY_VALUE)
        text = texts.get(key)
        if text is None:
            text = texts[key] = document(manifest)
        return text

    return remembered


def document(manifest: dict[str, object]) -> str:
    """One YAML document that readers of YAML 1.1 and 1.2 understand alike.

    The fast writer speaks 1.2 and leaves a namespace called `no` unquoted; a document with such a word in it goes
    through the slow one.
    """
    text = ryaml.dumps(manifest)  # pyright: ignore[reportPrivateImportUsage]: it is the package's one public face
    if any(map(_retyped, text.split("\n"))):
        text = yaml.safe_dump(manifest, sort_keys=False, default_flow_style=False, width=120)
    return f"---\n{text}"


@functools.lru_cache(maxsize=1 << 16)
def _retyped(line: str) -> bool:
    """Whether readers of YAML 1.1 and 1.2 may differ about a line. Few of a fleet's lines are different ones."""
    return _RETYPED.search(line) is not None


def _objects(plan: FleetPlan | AckFleetPlan | TeamStackPlan, nodes: bool) -> Iterable[dict[str, object]]:
    if nodes and isinstance(plan, FleetPlan):
        return simulated(plan)
    if isinstance(plan, TeamStackPlan):
        return deployed(plan)
    return ack.all_manifests(plan) if isinstance(plan, AckFleetPlan) else all_manifests(plan)


def _named(manifests: Iterable[dict[str, object]]) -> Iterator[tuple[str, dict[str, object]]]:
    for number, manifest in enumerate(manifests, 1):
        metadata = cast("dict[str, str]", manifest["metadata"])
        place = f"{metadata['namespace']}-" if "namespace" in metadata else ""
        yield f"{number:05d}-{str(manifest['kind']).lower()}-{place}{metadata['name']}.yaml", manifest


def _is_ours(name: str) -> bool:
    return name[:5].isdecimal() and name[5:6] == "-" and name.endswith(".yaml")
