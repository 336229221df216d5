"""What a plan lacks of the fleet that was written, because of faults."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

from berth.diagnostics import FieldPath
from berth.manifests.workloads.values import as_mapping
from berth.spec.parse import SpecPart


def left_out_paths(
    fleet: object, set_aside: Collection[SpecPart], pools: Collection[str] | None, queues: Collection[FieldPath]
) -> tuple[FieldPath, ...]:
    """Return the paths of written sections, entries and queues that a plan does not have, in the order of the file.

    `set_aside` are the parts with a fault of their own. `pools` are the names of the pools in the plan (None: not
    compared), `queues` the paths of its queues. An entry is not repeated by the queues below it.
    """
    paths: list[FieldPath] = []
    for section, value in as_mapping(fleet).items():
        entries = as_mapping(value)
        if (section, "") in set_aside:
            paths.append((section,))
            continue
        lost = {name for name in entries if (section, name) in set_aside}
        if section == "pools" and pools is not None:
            lost |= entries.keys() - set(pools)
        paths += [(section, name) for name in entries if name in lost]
        if section in ("teams", "clusterQueues"):
            kept = {name: entry for name, entry in entries.items() if name not in lost}
            paths += [path for path in _queue_paths(section, kept) if path not in queues]
    return tuple(paths)


def _queue_paths(section: str, entries: Mapping[str, object]) -> Iterator[FieldPath]:
    for name, entry in entries.items():
        if section == "clusterQueues":
            yield section, name
        else:
            yield from ((section, name, "queues", queue) for queue in as_mapping(as_mapping(entry).get("queues")))
