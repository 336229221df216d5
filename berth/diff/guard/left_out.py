"""What a preview leaves out of the stack file: a run with `--target` or `--exclude`, or of other team files.

The engine does not say that a run had targets: what it leaves alone is a step `same`, and what it does not create is
one without an ID. So such steps are compared with what the stack file registers. A stream of events has all of them,
and so has an object of `--show-sames`; without that flag an object only counts them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, cast

from berth.diff.guard.preview_rules import PreviewRules
from berth.diff.guard.preview_steps import HIDDEN_VALUES, EnginePreview, PreviewStep
from berth.registration import Reference, Registration, provider_inputs
from berth.resource import IN_WORKER

_OF_PULUMI: Final = ("pulumi.com/", "app.kubernetes.io/managed-by")
"""How the labels and annotations begin that only Pulumi reads or adds."""
_DEFAULTED: Final = "__defaults"
"""The input in which a bridged provider lists those that it added itself."""
_EMPTY: Final[tuple[object, ...]] = (None, {}, [])
"""Values that a provider may leave out."""
_REMEDY: Final = "run it without --target and --exclude"
ObjectName = tuple[str, str, str]
"""Kind without "Patch", which only Pulumi knows, namespace and name."""


def left_out(preview: EnginePreview, rules: PreviewRules) -> Iterator[str]:
    """Yield what the stack file says otherwise than the steps, each in one line, without objects of workers."""
    for step in preview.steps:
        state = step.old or {}
        if step.op == "same" and state.get("custom") and not state.get("id"):
            yield f"it leaves out the creation of {step.type.rpartition(':')[2]} {step.name}; {_REMEDY}"
    yield from _objects_left_out(preview, rules.objects(), rules.workers)
    registrations = rules.registrations()
    in_clouds = {key: each for key, each in registrations.items() if not key[0].startswith("pulumi:")}
    yield from _registrations_left_out(preview, in_clouds)


def _objects_left_out(
    preview: EnginePreview, objects: Iterable[Mapping[str, Any]], workers: Collection[str]
) -> Iterator[str]:
    wanted = {_name_of(each): each for each in objects if each.get("kind") != "Secret"}
    kinds = {name[0] for name in wanted}
    seen: set[ObjectName] = set()
    for step in preview.steps:
        inputs = step.inputs[1] or step.inputs[0]
        name = _name_of(inputs)
        if name[0] not in kinds or not step.type.startswith("kubernetes:") or _is_in(step, workers):
            continue
        seen.add(name)
        if step.op != "same":
            continue
        if name not in wanted:
            yield f"it leaves out the deletion of {_title(name)}; {_REMEDY}"
        elif not _agrees(_compared(json.loads(json.dumps(wanted[name]))), _compared(inputs)):
            yield f"it leaves out the change of {_title(name)}; {_REMEDY}"
    if preview.lists_all:
        # The namespace of an object may be an output that is not known yet: only objects without one are missed.
        for name in sorted(each for each in wanted.keys() - seen if not each[1]):
            yield f"it leaves out {_title(name)}; {_REMEDY}"


def _registrations_left_out(
    preview: EnginePreview, registrations: Mapping[tuple[str, str], Registration]
) -> Iterator[str]:
    """Yield what the program registers in a cloud and the steps have otherwise, by type and name in the program."""
    seen: set[tuple[str, str]] = set()
    for step in preview.steps:
        if not registrations or not step.type.startswith(("gcp:", "kubernetes:helm")):
            continue
        identity, title = (step.type, step.name), f"{step.type.rpartition(':')[2]} {step.name}"
        seen.add(identity)
        if step.op != "same":
            continue
        if (one := registrations.get(identity)) is None:
            yield f"it leaves out the deletion of {title}; {_REMEDY}"
            continue
        ignored = {re.sub(r"\[[^]]*\]", "", path) for path in one.ignore_changes}
        if not _is_registered(provider_inputs(one.arguments), step.inputs[1] or step.inputs[0], ignored):
            yield f"it leaves out the change of {title}; {_REMEDY}"
    if preview.lists_all:
        for kind, name in sorted(registrations.keys() - seen):
            yield f"it leaves out {kind.rpartition(':')[2]} {name}; {_REMEDY}"


def _is_registered(ours: object, theirs: object, ignored: Collection[str], path: str = "") -> bool:
    """Return whether inputs in a state are those of a registration, but for references and what the provider added."""
    if (
        theirs in HIDDEN_VALUES
        or path in ignored
        or (ours is None and any(each.startswith(f"{path}.") for each in ignored))
    ):
        return True
    if isinstance(ours, Reference):
        return ours.value is None or not isinstance(theirs, str) or ours.value == theirs
    if isinstance(ours, Mapping) and isinstance(theirs, Mapping):
        one, two = cast("Mapping[str, object]", ours), cast("Mapping[str, object]", theirs)
        defaulted = cast("Collection[str] | None", two.get(_DEFAULTED))
        added = two.keys() if defaulted is None else {_DEFAULTED, *defaulted}
        below = f"{path}." if path else ""
        return all(
            _is_registered(one.get(key), two.get(key), ignored, f"{below}{key}")
            for key in one.keys() | two.keys() - added
        )
    if isinstance(ours, (list, tuple)) and isinstance(theirs, list):
        items, others = cast("Sequence[object]", ours), cast("list[object]", theirs)
        return len(items) == len(others) and all(
            _is_registered(*pair, ignored, path) for pair in zip(items, others, strict=True)
        )
    if ours in _EMPTY and theirs in _EMPTY:
        return True
    # A bridged provider turns the SDK's values into the types of its schema: "8" into 8, true into "true".
    return ours == theirs or json.dumps(ours).strip('"').lower() == json.dumps(theirs).strip('"').lower()


def _is_in(step: PreviewStep, workers: Collection[str]) -> bool:
    return step.name.partition(IN_WORKER)[0] in workers


def _name_of(values: Mapping[str, Any]) -> ObjectName:
    metadata: Mapping[str, Any] = values.get("metadata") or {}
    kind = str(values.get("kind")).removesuffix("Patch")
    return kind, str(metadata.get("namespace") or ""), str(metadata.get("name"))


def _title(name: ObjectName) -> str:
    kind, namespace, own = name
    return f"{kind} {namespace}/{own}" if namespace else f"{kind} {own}"


def _compared(values: Mapping[str, Any]) -> Mapping[str, object]:
    """Return what of an object a stack file decides: its labels, annotations and content."""
    metadata: Mapping[str, Mapping[str, object] | None] = values.get("metadata") or {}
    compared: dict[str, object] = {
        key: {name: text for name, text in (metadata.get(key) or {}).items() if not name.startswith(_OF_PULUMI)}
        for key in ("labels", "annotations")
    }
    return {**compared, **{key: each for key, each in values.items() if key not in ("kind", "metadata", "status")}}


def _agrees(ours: object, theirs: object) -> bool:
    """Return whether two plain values are equal where the engine shows them."""
    if theirs in HIDDEN_VALUES:
        return True
    if isinstance(ours, dict) and isinstance(theirs, Mapping):
        one, two = cast("dict[str, object]", ours), cast("Mapping[str, object]", theirs)
        return one.keys() == two.keys() and all(_agrees(value, two[key]) for key, value in one.items())
    if isinstance(ours, list) and isinstance(theirs, list):
        items, others = cast("list[object]", ours), cast("list[object]", theirs)
        return len(items) == len(others) and all(map(_agrees, items, others))
    return ours == theirs
