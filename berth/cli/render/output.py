"""`berth render`: every Kubernetes object as YAML, in the order in which it may be applied."""

from __future__ import annotations

import pathlib
from collections.abc import Iterable, Iterator
from typing import IO, cast

from berth.cli.render.documents import yaml_document
from berth.cli.render.nodes import simulated_nodes as simulated
from berth.manifests import ack
from berth.manifests.fleet import all_manifests
from berth.manifests.workloads.objects import team_stack_manifests
from berth.plan.ack import AckFleetPlan
from berth.plan.fleet import FleetPlan
from berth.plan.team_stack import TeamStackPlan

MANAGER, WORKER = "manager", "worker-"
"""How the folders of a manager's and its workers' objects are called."""


class OutputNotEmpty(Exception):
    """The output folder holds something that is not a rendered object; nothing was written."""


def write(plan: FleetPlan | AckFleetPlan | TeamStackPlan, stream: IO[str], *, nodes: bool = False) -> None:
    """Write every object to `stream`, one YAML document each; with workers, a comment before each cluster's.

    With `nodes` these are the simulated nodes of a fleet instead.
    """
    clusters = _clusters(plan)
    for name, cluster in clusters:
        if len(clusters) > 1:
            stream.write(f"# cluster: {name}\n")
        stream.writelines(map(yaml_document, _objects(cluster, nodes)))


def write_folder(plan: FleetPlan | AckFleetPlan | TeamStackPlan, folder: pathlib.Path, *, nodes: bool = False) -> int:
    """Write one file an object, numbered in apply order, and say how many; with workers, a folder for each cluster.

    Files of an earlier render are replaced. Raises Occupied where a folder holds anything else.
    """
    clusters = _clusters(plan)
    if len(clusters) == 1:
        return _write_cluster(plan, folder, nodes)
    names = {name for name, _ in clusters}
    if foreign_files := sorted(f.name for f in folder.iterdir() if f.name not in names) if folder.is_dir() else []:
        raise OutputNotEmpty(
            f"{folder} holds {foreign_files[0]}, which was not rendered; name an empty or a new folder"
        )
    return sum(_write_cluster(cluster, folder / name, nodes) for name, cluster in clusters)


def _clusters(
    plan: FleetPlan | AckFleetPlan | TeamStackPlan,
) -> list[tuple[str, FleetPlan | AckFleetPlan | TeamStackPlan]]:
    """Each cluster by the name of its folder: the manager, then workers."""
    workers = plan.workers if isinstance(plan, FleetPlan) else ()
    return [(MANAGER, plan), *((f"{WORKER}{worker.name}", worker.plan) for worker in workers)]


def _write_cluster(plan: FleetPlan | AckFleetPlan | TeamStackPlan, folder: pathlib.Path, nodes: bool) -> int:
    """Write the objects of one cluster, and say how many."""
    old_files = list(folder.iterdir()) if folder.is_dir() else []
    if foreign_files := [f.name for f in old_files if not _is_rendered(f.name)]:
        raise OutputNotEmpty(
            f"{folder} holds {foreign_files[0]}, which was not rendered; name an empty or a new folder"
        )
    folder.mkdir(parents=True, exist_ok=True)
    for file in old_files:
        file.unlink()
    count = 0
    for name, manifest in _numbered(_objects(plan, nodes)):
        with (folder / name).open("w", encoding="utf-8") as stream:
            stream.write(yaml_document(manifest))
        count += 1
    return count


def _objects(plan: FleetPlan | AckFleetPlan | TeamStackPlan, nodes: bool) -> Iterable[dict[str, object]]:
    if nodes and isinstance(plan, FleetPlan):
        return simulated(plan)
    if isinstance(plan, TeamStackPlan):
        return team_stack_manifests(plan)
    return ack.all_manifests(plan) if isinstance(plan, AckFleetPlan) else all_manifests(plan)


def _numbered(manifests: Iterable[dict[str, object]]) -> Iterator[tuple[str, dict[str, object]]]:
    for number, manifest in enumerate(manifests, 1):
        metadata = cast("dict[str, str]", manifest["metadata"])
        namespace_prefix = f"{metadata['namespace']}-" if "namespace" in metadata else ""
        yield f"{number:05d}-{str(manifest['kind']).lower()}-{namespace_prefix}{metadata['name']}.yaml", manifest


def _is_rendered(name: str) -> bool:
    return name[:5].isdecimal() and name[5:6] == "-" and name.endswith(".yaml")
