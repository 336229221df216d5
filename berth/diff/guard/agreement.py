"""Whether a preview does what the stack file says: every step ends in what the file registers, and in nothing else.

A run of other team files, of another commit or with edited values differs in a step. The engine does not say that a run
had `--target` or `--exclude` either: what it leaves alone is a step `same`, and what it does not create is one without
an ID. A stream of events has all steps, and so has an object of `--show-sames`; without that flag an object only counts
what stays as it is.
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
_WHOLE: Final = "run it without --target and --exclude"
_AGAIN: Final = "run it again, with this stack file and its team files"
_ENDS: Final = ("delete", "discard")
"""Operations after which a resource is no longer there, or no longer known."""
_PARTS: Final = ("read", "refresh", "delete-replaced", "discard-replaced", "remove-pending-replace")
"""Operations that do not say how a resource of the program ends."""
ObjectName = tuple[str, str, str]
"""Kind without "Patch", which only Pulumi knows, namespace and name."""


def disagreements(preview: EnginePreview, rules: PreviewRules) -> Iterator[str]:
    """Yield what the steps do otherwise than the stack file says, each in one line, without objects of workers."""
    for step in preview.steps:
        state = step.old or {}
        if step.op == "same" and state.get("custom") and not state.get("id"):
            yield f"it leaves out the creation of {step.type.rpartition(':')[2]} {step.name}; {_WHOLE}"
    steps = [step for step in preview.steps if step.op not in _PARTS and not (step.old or {}).get("delete")]
    if (preview.counts or {}).get("refresh") and not preview.is_stream:
        # Such an object lists what the refresh found as an update or a deletion, too.
        steps = [step for step in steps if step.op not in ("update", "delete")]
    yield from _of_objects(preview, steps, rules)
    registrations = rules.registrations()
    in_clouds = {key: each for key, each in registrations.items() if not key[0].startswith("pulumi:")}
    if in_clouds:
        yield from _of_registrations(preview, steps, in_clouds)


def _of_objects(preview: EnginePreview, steps: Iterable[PreviewStep], rules: PreviewRules) -> Iterator[str]:
    wanted = {_name_of(each): each for each in rules.objects() if each.get("kind") != "Secret"}
    if not wanted:
        return
    made: set[ObjectName] = set()
    gone: list[ObjectName] = []
    for step in steps:
        inputs = step.inputs[1] or step.inputs[0]
        is_compared = step.type.startswith("kubernetes:") and inputs.get("kind", "Secret") != "Secret"
        if not is_compared or _is_in(step, rules.workers):
            continue
        if step.op in _ENDS:
            gone.append(_name_of(inputs))
            continue
        name = _found(inputs, wanted, made)
        made.add(name)
        one = wanted.get(name)
        yield from _told(step, _title(name), one is not None, one is not None and _is_as_written(one, inputs))
    for name in gone:
        if name in wanted and name not in made:
            yield f"it deletes {_title(name)}, which the stack file has; {_AGAIN}"
    if preview.lists_all:
        # The namespace of an object may be an output that is not known yet: only objects without one are missed.
        for name in sorted(each for each in wanted.keys() - {*made, *gone} if not each[1]):
            yield f"it leaves out {_title(name)}; {_WHOLE}"


def _found(
    inputs: Mapping[str, Any], wanted: Mapping[ObjectName, Mapping[str, Any]], made: Collection[ObjectName]
) -> ObjectName:
    """Return the name of an object in a step; if its namespace is an output that is not known yet, of one like it."""
    name = _name_of(inputs)
    if name[1] not in HIDDEN_VALUES:
        return name
    alike = [each for each in wanted if each[::2] == name[::2] and each not in made]
    return next((each for each in alike if _is_as_written(wanted[each], inputs)), (*alike, name)[0])


def _told(step: PreviewStep, title: str, is_known: bool, is_same: bool) -> Iterator[str]:
    """Yield how the end of a step differs from the stack file."""
    if is_known and is_same:
        return
    if step.op == "same":
        yield f"it leaves out the {'change' if is_known else 'deletion'} of {title}; {_WHOLE}"
    elif is_known:
        yield f"it makes {title} otherwise than the stack file says; {_AGAIN}"
    else:
        yield f"it makes {title}, which the stack file does not have; {_AGAIN}"


def _of_registrations(
    preview: EnginePreview, steps: Iterable[PreviewStep], registrations: Mapping[tuple[str, str], Registration]
) -> Iterator[str]:
    """Yield what the program registers in a cloud and the steps have otherwise, by type and name in the program."""
    seen: set[tuple[str, str]] = set()
    for step in steps:
        if not step.type.startswith(("gcp:", "kubernetes:helm")):
            continue
        identity, title = (step.type, step.name), f"{step.type.rpartition(':')[2]} {step.name}"
        seen.add(identity)
        one = registrations.get(identity)
        if step.op in _ENDS:
            if one is not None:
                yield f"it deletes {title}, which the stack file has; {_AGAIN}"
            continue
        ignored = {re.sub(r"\[[^]]*\]", "", path) for path in one.ignore_changes} if one else set[str]()
        is_same = one is not None and _is_registered(
            provider_inputs(one.arguments), step.inputs[1] or step.inputs[0], ignored
        )
        yield from _told(step, title, one is not None, is_same)
    if preview.lists_all:
        for kind, name in sorted(registrations.keys() - seen):
            yield f"it leaves out {kind.rpartition(':')[2]} {name}; {_WHOLE}"


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
    return ours == theirs or json.dumps(ours, default=str).strip('"').lower() == json.dumps(theirs).strip('"').lower()


def _is_in(step: PreviewStep, workers: Collection[str]) -> bool:
    return step.name.partition(IN_WORKER)[0] in workers


def _name_of(values: Mapping[str, Any]) -> ObjectName:
    metadata: Mapping[str, Any] = values.get("metadata") or {}
    kind = str(values.get("kind")).removesuffix("Patch")
    return kind, str(metadata.get("namespace") or ""), str(metadata.get("name"))


def _title(name: ObjectName) -> str:
    kind, namespace, own = name
    return f"{kind} {namespace}/{own}" if namespace else f"{kind} {own}"


def _is_as_written(ours: Mapping[str, Any], theirs: Mapping[str, Any]) -> bool:
    """Return whether an object in a state is the one of the stack file, but for its name and namespace."""
    return _agrees(_compared(json.loads(json.dumps(ours))), _compared(theirs))


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
