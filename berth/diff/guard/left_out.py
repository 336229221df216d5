"""What a preview leaves out of the stack file: a run with `--target` or `--exclude`, or of other team files.

The engine does not say that a run had targets: what it leaves alone is a step `same`. So the objects of teams in such
steps are compared with those of the stack file. An object lists only what changes, without such steps; a stream of
events has all, and so has `--show-sames`.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any, Final, cast

from berth.diff.guard.preview_steps import EnginePreview
from berth.resource import IN_WORKER

_HIDDEN: Final = ("[secret]", "[unknown]", "04da6b54-80e4-46f7-96ec-b56ff0331ba9")
"""How the engine prints a secret, and a value that is not known before the update."""
_COMPARED: Final = ("Namespace", "ClusterQueue", "LocalQueue", "ResourceQuota", "LimitRange", "NetworkPolicy")
"""Kinds that a stack file has for its teams, by the names that are registered."""
ObjectName = tuple[str, str, str]
"""Kind, namespace and name."""


def left_out(preview: EnginePreview, objects: Iterable[Mapping[str, Any]], workers: Collection[str]) -> Iterator[str]:
    """Yield what the stack file says otherwise than the steps, each in one line, without objects of `workers`."""
    wanted = {name: each for each in objects if (name := _name_of(each))[0] in _COMPARED}
    if not wanted:
        return
    seen: set[ObjectName] = set()
    for step in preview.steps:
        inputs = step.inputs[1] or step.inputs[0]
        name = _name_of(inputs)
        if (
            name[0] not in _COMPARED
            or not step.type.startswith("kubernetes:")
            or step.name.partition(IN_WORKER)[0] in workers
        ):
            continue
        seen.add(name)
        if step.op != "same":
            continue
        if name not in wanted:
            yield f"it leaves out the deletion of {_title(name)}; run it without --target and --exclude"
        elif not _agrees(json.loads(json.dumps(wanted[name].get("spec"))), inputs.get("spec")):
            yield f"it leaves out the change of {_title(name)}; run it without --target and --exclude"
    if preview.is_stream:
        # The namespace of an object may be an output that is not known yet: only objects without one are missed.
        for name in sorted(each for each in wanted.keys() - seen if not each[1]):
            yield f"it leaves out {_title(name)}; run it without --target and --exclude"


def _name_of(values: Mapping[str, Any]) -> ObjectName:
    metadata: Mapping[str, Any] = values.get("metadata") or {}
    return str(values.get("kind")), str(metadata.get("namespace") or ""), str(metadata.get("name"))


def _title(name: ObjectName) -> str:
    kind, namespace, own = name
    return f"{kind} {namespace}/{own}" if namespace else f"{kind} {own}"


def _agrees(ours: object, theirs: object) -> bool:
    """Return whether two plain values are equal where the engine shows them."""
    if theirs in _HIDDEN:
        return True
    if isinstance(ours, dict) and isinstance(theirs, Mapping):
        one, two = cast("dict[str, object]", ours), cast("Mapping[str, object]", theirs)
        return one.keys() == two.keys() and all(_agrees(value, two[key]) for key, value in one.items())
    if isinstance(ours, list) and isinstance(theirs, list):
        items, others = cast("list[object]", ours), cast("list[object]", theirs)
        return len(items) == len(others) and all(map(_agrees, items, others))
    return ours == theirs
