"""`berth render`: every Kubernetes object as YAML, in the order in which it may be applied."""

from __future__ import annotations

import pathlib
from collections.abc import Iterable, Iterator
from typing import IO, Any, cast

import yaml

from components.manifests import all_manifests
from components.plan.fleet import FleetPlan

_Fast = cast("type[yaml.SafeDumper]", getattr(yaml, "CSafeDumper", yaml.SafeDumper))


class _Dumper(_Fast):  # type: ignore[misc, valid-type]
    """Writes equal objects out in full: an anchor in a manifest helps nobody."""

    def ignore_aliases(self, data: Any) -> bool:
        return True


class Occupied(Exception):
    """The output folder holds something that is not a rendered object; nothing was written."""


def write(plan: FleetPlan, stream: IO[str]) -> None:
    """Write every object to `stream`, one YAML document each."""
    _dump(all_manifests(plan), stream)


def write_folder(plan: FleetPlan, folder: pathlib.Path) -> int:
    """Write one file an object, numbered in apply order, and say how many. Files of an earlier render are replaced.

    Raises Occupied where the folder holds anything else.
    """
    old = list(folder.iterdir()) if folder.is_dir() else []
    if strangers := [f.name for f in old if not _is_ours(f.name)]:
        raise Occupied(f"{folder} holds {strangers[0]}, which was not rendered; name an empty or a new folder")
    folder.mkdir(parents=True, exist_ok=True)
    for file in old:
        file.unlink()
    count = 0
    for name, manifest in _named(all_manifests(plan)):
        with (folder / name).open("w", encoding="utf-8") as stream:
            _dump([manifest], stream)
        count += 1
    return count


def _dump(manifests: Iterable[dict[str, object]], stream: IO[str]) -> None:
    yaml.dump_all(
        manifests, stream, Dumper=_Dumper, sort_keys=False, explicit_start=True, default_flow_style=False, width=120
    )


def _named(manifests: Iterable[dict[str, object]]) -> Iterator[tuple[str, dict[str, object]]]:
    for number, manifest in enumerate(manifests, 1):
        metadata = cast("dict[str, str]", manifest["metadata"])
        place = f"{metadata['namespace']}-" if "namespace" in metadata else ""
        yield f"{number:05d}-{str(manifest['kind']).lower()}-{place}{metadata['name']}.yaml", manifest


def _is_ours(name: str) -> bool:
    return name[:5].isdecimal() and name[5:6] == "-" and name.endswith(".yaml")
