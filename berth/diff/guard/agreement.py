"""Whether a preview does what the stack file says: every step ends in what the file registers, and in nothing else.

A run of other team files, of another commit or with edited values differs in a step. The engine does not say that a run
had `--target` or `--exclude` either: what it leaves alone is a step `same`, and what it does not create is one without
an ID. A stream of events has all steps, and so has an object of `--show-sames`; without that flag an object only counts
what stays as it is.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, Final, cast

from msgspec import Struct

from berth.diff.guard.preview_steps import (
    HIDDEN,
    STACK_REFERENCE,
    EnginePreview,
    Expected,
    PreviewRules,
    PreviewStep,
    is_hidden,
)
from berth.diff.provider_inputs.changes import input_at
from berth.diff.provider_inputs.effects import default_inputs, without_indexes
from berth.registration import Reference, Registration, provider_inputs
from berth.resource import IN_WORKER

_OF_PULUMI: Final = ("pulumi.com/", "app.kubernetes.io/managed-by")
"""How the labels and annotations begin that only Pulumi reads or adds."""
_PROVIDER: Final = "pulumi:providers:"
_DEFAULTED: Final = "__defaults"
"""The input in which a bridged provider lists those that it added itself. A preview can claim it of any input."""
_OF_ENGINE: Final = ("__internal", "version", "pluginDownloadURL")
"""Inputs of a provider that the engine adds: they say which plugin it is."""
_OF_UPDATE: Final = ("enablePatchForce",)
"""Inputs of a provider that an environment sets for one update: fields of other clients are taken over (adoption)."""
_OF_HELM: Final = ("resourceNames", "compat", "checksum")
"""Inputs of a release that the provider computes."""
_EMPTY: Final[tuple[object, ...]] = (None, {}, [], "", False, 0)
"""Values that a provider may add or leave out."""
_WHOLE: Final = "run it without --target and --exclude"
_AGAIN: Final = "run it again, with this stack file and its team files"
_ENDS: Final = ("delete", "discard")
"""Operations after which a resource is no longer there, or no longer known."""
_PARTS: Final = ("refresh", "delete-replaced", "discard-replaced", "remove-pending-replace")
"""Operations that do not say how a resource of the program ends."""
ObjectName = tuple[str, str, str, str]
"""Worker, kind without "Patch", which only Pulumi knows, namespace and name."""


def disagreements(preview: EnginePreview, rules: PreviewRules) -> Iterator[str]:
    """Yield what the steps do otherwise than the stack file says, each in one line."""
    for step in preview.steps:
        state = step.old or {}
        if step.op == "same" and state.get("custom") and not state.get("id"):
            yield f"it leaves out the creation of {step.type.rpartition(':')[2]} {step.name}; {_WHOLE}"
    if rules.expected is not None:
        yield from _Agreement(preview, rules.expected(), rules.workers).differences()


class _Agreement:
    """The ends of the steps of a preview, against what the program registers."""

    def __init__(self, preview: EnginePreview, expected: Expected, workers: Collection[str]) -> None:
        self._expected, self._workers = expected, workers
        self._objects: dict[ObjectName, Mapping[str, Any]] = {
            _name_of(each, worker): each for worker, each in expected.objects
        }
        named = [each.arguments for each in expected.registrations.values()]
        self._names = frozenset(str(each[key]) for each in named for key in ("name", "account_id") if key in each)
        # What a refresh finds is a step, too, and the last step of a resource says how it ends.
        last = {step.urn: step for step in preview.steps if step.op not in _PARTS and not step.is_leftover}
        self._steps = list(last.values())
        self._lists_all = preview.lists_all and not preview.only_refreshed
        self._seen: set[object] = set()

    def differences(self) -> Iterator[str]:
        """Yield how each step ends otherwise than the stack file says, then what has no step."""
        ended = [step for step in self._steps if step.op in _ENDS]
        for step in self._steps:
            if step.op not in _ENDS:
                yield from self._difference(step)
        for step in ended:
            name = self._object_name(step) if self._is_object(step) else (step.type, step.name)
            if name not in self._seen and (name in self._objects or name in self._expected.registrations):
                yield f"it deletes {self._title(step)}, which the stack file has; {_AGAIN}"
            self._seen.add(name)
        if self._lists_all:
            # The namespace of an object may be an output that is not known yet: only objects without one are missed.
            for name in sorted(each for each in self._objects.keys() - self._seen if not each[2]):
                yield f"it leaves out {_object_title(name)}; {_WHOLE}"
            for kind, own in sorted(self._expected.registrations.keys() - self._seen):
                if not kind.startswith("pulumi:"):
                    yield f"it leaves out {kind.rpartition(':')[2]} {own}; {_WHOLE}"

    def _difference(self, step: PreviewStep) -> Iterator[str]:
        state, inputs = step.new or step.old or {}, step.inputs[1] or step.inputs[0]
        if step.is_component and not state.get("custom") and step.type != STACK_REFERENCE:
            if inputs:
                yield f"it makes {self._title(step)} with inputs, and a component of Berth has none; {_AGAIN}"
            return
        is_made = step.op == "create"  # the engine then passes on also what a later update leaves as it is
        if self._is_object(step):
            name = self._found(step, inputs)
            one = self._objects.get(name)
            is_same = one is not None and _is_as_written(one, inputs, is_made=is_made)
        else:
            name = (step.type, step.name)
            made = self._expected.registrations.get(name)
            one, is_same = made, made is not None and _is_registered(made, inputs, self._names, is_made=is_made)
            is_same = is_same and made is not None and _keeps_what_is_ignored(made, *step.inputs)
        self._seen.add(name)
        if one is None or not is_same:
            yield _told(step, self._title(step), is_known=one is not None)
        elif not self._is_provider_of(step, str(state.get("provider") or "")):
            yield f"it makes {self._title(step)} with another provider than the stack file says; {_AGAIN}"

    def _is_object(self, step: PreviewStep) -> bool:
        return step.type.startswith("kubernetes:") and (step.type, step.name) not in self._expected.registrations

    def _object_name(self, step: PreviewStep) -> ObjectName:
        """Return the name of an object in a step.

        Of a kind that the cluster does not serve yet the provider cannot know whether it has namespaces: it adds one.
        """
        name = _name_of(step.inputs[1] or step.inputs[0], self._worker(step.name))
        without = (*name[:2], "", name[3])
        return without if name[2] == "default" and name not in self._objects and without in self._objects else name

    def _title(self, step: PreviewStep) -> str:
        """Return what people call the resource of a step: an object by its own name, all else by the program's."""
        inputs = step.inputs[1] or step.inputs[0]
        is_named = self._is_object(step) and inputs.get("kind") and inputs.get("metadata")
        return _object_title(self._object_name(step)) if is_named else f"{step.type.rpartition(':')[2]} {step.name}"

    def _worker(self, name: str) -> str:
        first, _, rest = name.partition(IN_WORKER)
        return first if rest and first in self._workers else ""

    def _found(self, step: PreviewStep, inputs: Mapping[str, Any]) -> ObjectName:
        """Return the name of an object in a step; if its namespace is not known yet, of one like it."""
        name = self._object_name(step)
        if not is_hidden(name[2]):
            return name
        alike = [each for each in self._objects if each[:2] == name[:2] and each[3] == name[3]]
        alike = [each for each in alike if each not in self._seen]
        return next((each for each in alike if _is_as_written(self._objects[each], inputs)), (*alike, name)[0])

    def _is_provider_of(self, step: PreviewStep, provider: str) -> bool:
        """Return whether a provider, by its URN and ID, is the one of the resource's package and cluster."""
        if not provider or step.type.startswith("pulumi:"):
            return True
        kind, _, name = "::".join(provider.split("::")[2:4]).partition("::")
        is_known = (kind, name) in self._expected.registrations
        is_of_package = kind == f"{_PROVIDER}{step.type.partition(':')[0]}"
        return is_known and is_of_package and self._worker(name) == self._worker(step.name)


def _told(step: PreviewStep, title: str, *, is_known: bool) -> str:
    """Return how the end of a step differs from the stack file."""
    if step.op == "same":
        return f"it leaves out the {'change' if is_known else 'deletion'} of {title}; {_WHOLE}"
    verb = "reads" if step.op == "read" else "makes"
    how = " otherwise than the stack file says" if is_known else ", which the stack file does not have"
    return f"it {verb} {title}{how}; {_AGAIN}"


def _name_of(values: Mapping[str, Any], worker: str) -> ObjectName:
    metadata: Mapping[str, Any] = values.get("metadata") or {}
    kind = str(values.get("kind")).removesuffix("Patch")
    return worker, kind, str(metadata.get("namespace") or ""), str(metadata.get("name"))


def _object_title(name: ObjectName) -> str:
    worker, kind, namespace, own = name
    return f"{kind} {f'{namespace}/' if namespace else ''}{own}{f' of worker {worker}' if worker else ''}"


# --- values -----------------------------------------------------------------------------------------------------------


class _Comparison(Struct, frozen=True):
    """Whether values in a state are those that the program registers, where the engine shows them.

    `ignored` are paths that the program leaves as they are, `defaults` the values that the provider sets where neither
    side has one. `is_loose` is whether a provider may have added these and empty values, and turned values into the
    types of its schema: "8" into 8, true into "true". `names` are those of the resources that the program makes: an ID
    of one of them ends with its name.
    """

    is_loose: bool = False
    ignored: frozenset[str] = frozenset()
    defaults: Mapping[str, object] = {}
    names: frozenset[str] = frozenset()

    def agrees(self, ours: object, theirs: object, path: str = "") -> bool:
        """Return whether a value at `path` is the registered one; only outputs and secrets may be hidden."""
        if path in self.ignored or (ours is None and any(each.startswith(f"{path}.") for each in self.ignored)):
            return True
        if ours is None or theirs is None:
            default = self.defaults.get(path)
            ours, theirs = (default if ours is None else ours), (default if theirs is None else theirs)
        if is_hidden(theirs):
            return ours == HIDDEN or isinstance(ours, Reference)
        if isinstance(ours, Reference):
            return self._is_of(ours, theirs)
        if self.is_loose and ours is None and isinstance(theirs, Mapping):
            ours = cast("Mapping[str, object]", {})  # a block that has nothing but defaults is as good as none
        if isinstance(ours, Mapping) and isinstance(theirs, Mapping):
            one, two = cast("Mapping[str, object]", ours), cast("Mapping[str, object]", theirs)
            keys = (one.keys() | two.keys()) - ({_DEFAULTED} if self.is_loose else set[str]())
            below = f"{path}." if path else ""
            return all(self.agrees(one.get(key), two.get(key), f"{below}{key}") for key in keys)
        if isinstance(ours, (list, tuple)) and isinstance(theirs, list):
            items, others = cast("Sequence[object]", ours), cast("list[object]", theirs)
            return len(items) == len(others) and all(
                self.agrees(*pair, path) for pair in zip(items, others, strict=True)
            )
        if ours == theirs and isinstance(ours, bool) == isinstance(theirs, bool):
            return True
        if not self.is_loose:
            return False
        return (ours in _EMPTY and theirs in _EMPTY) or _text(ours) == _text(theirs)

    def _is_of(self, ours: Reference, theirs: object) -> bool:
        """Return whether a value is the output of a resource of the program, as far as that is known."""
        if ours.value is not None or not isinstance(theirs, str):
            return ours.value == theirs or (isinstance(theirs, list) and ours.value is None)
        last = theirs.rpartition("/")[2]
        return not theirs.startswith(("projects/", "https://")) or bool({last, last.partition("@")[0]} & self.names)


def _text(value: Any) -> str:
    return json.dumps(value, default=str).strip('"').lower()


_OBJECT: Final = _Comparison(ignored=frozenset(("spec.suspend", "spec.runPolicy.suspend")))
"""Kueue changes these fields of jobs, and the program leaves them as they are."""


def _is_as_written(ours: Mapping[str, Any], theirs: Mapping[str, Any], *, is_made: bool = False) -> bool:
    """Return whether an object in a state is the one of the stack file, but for its name and namespace."""
    return (_Comparison() if is_made else _OBJECT).agrees(_compared(ours), _compared(theirs))


def _compared(values: Mapping[str, Any]) -> Mapping[str, object]:
    """Return what of an object a stack file decides: its labels, annotations and content."""
    metadata: Mapping[str, Any] = {**(values.get("metadata") or {})}
    for key in ("labels", "annotations"):
        texts: Mapping[str, object] = metadata.get(key) or {}
        metadata[key] = {name: text for name, text in texts.items() if not name.startswith(_OF_PULUMI)}
    content = {key: each for key, each in values.items() if key not in ("kind", "status")}
    return {**content, "metadata": {**metadata, "name": None, "namespace": None}}


def _is_registered(
    one: Registration, inputs: Mapping[str, Any], names: frozenset[str], *, is_made: bool = False
) -> bool:
    """Return whether inputs in a state are those of a registration, but for what the provider or the engine added."""
    ours = provider_inputs(one.arguments)
    if one.type == STACK_REFERENCE:  # a team's stack file names the platform without organization and project
        return str(inputs.get("name")).endswith(("", "/")[len(ours["name"].split("/")) == 1] + ours["name"])
    if one.type.startswith(_PROVIDER):
        return _Comparison(is_loose=True).agrees(ours, _without(inputs, (*_OF_ENGINE, *_OF_UPDATE)))
    if one.type.startswith("kubernetes:"):
        values = {"values": ours.pop("values", None)}, {"values": inputs.get("values")}
        rest = _without(inputs, (*_OF_HELM, "values"))
        return _Comparison().agrees(*values) and _Comparison(is_loose=True).agrees(ours, rest)
    ignored = frozenset(map(without_indexes, () if is_made else one.ignore_changes))
    defaults = default_inputs(one.type)
    return _Comparison(is_loose=True, ignored=ignored, defaults=defaults, names=names).agrees(ours, inputs)


def _keeps_what_is_ignored(one: Registration, before: Mapping[str, Any], after: Mapping[str, Any]) -> bool:
    """Return whether an update leaves as they are the inputs that the engine ignores: it takes them from the state."""
    comparison = _Comparison(is_loose=True, defaults=default_inputs(one.type))
    paths = () if not before or not after else map(without_indexes, one.ignore_changes)
    return all(comparison.agrees(input_at(before, path), input_at(after, path), path) for path in paths)


def _without(inputs: Mapping[str, Any], keys: Collection[str]) -> dict[str, Any]:
    return {key: each for key, each in inputs.items() if key not in keys}
