"""Kubernetes objects and Helm releases whose deletion or update kills jobs, loses data or takes a safeguard away.

So does the deletion of a resource of a kind that Berth does not make. The tables are protected_objects.yaml and, for
updates in place, safeguards.yaml. A deletion is allowed by `allowDeletion` of the new stack file, or by its queues
having been drained before: then no job of it runs or waits.
"""

from __future__ import annotations

import pathlib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from functools import cache
from typing import Any, Final, cast

from msgspec import Struct, convert

from berth.diff.guard.allowances import UNPROTECTED, GuardedAction
from berth.diff.guard.changes import QUEUE_DRAINED, GuardedChange
from berth.diff.guard.preview_steps import PreviewStep
from berth.diff.objects import load_kinds
from berth.diff.provider_inputs.effects import has_input_rules
from berth.plan.fleet import AllowancesPlan
from berth.resource import IN_WORKER, ResourceKind
from berth.yaml_loader import load_table

_FILE: Final = pathlib.Path(__file__).with_name("protected_objects.yaml")
_DRAINED: Final = "HoldAndDrain"
_OTHER: Final = "other"
"""The row of kinds that Berth does not make."""
_NAMESPACE: Final = "kubernetes:core/v1:Namespace"
_RELEASE: Final = "kubernetes:helm.sh/v3:Release"


class ProtectedObjectKind(Struct, frozen=True, forbid_unknown_fields=True):
    """A row of the table: the `key` of an allowance, what is lost, and whether a replacement loses it too.

    `inside`: the deletion of its namespace or queue includes it.
    """

    key: str
    loses: str
    replaced: bool = False
    inside: bool = False


@cache
def protected_object_kinds() -> Mapping[str, ProtectedObjectKind]:
    """Return the table, by the kind of the objects."""
    return convert(load_table(_FILE), dict[str, ProtectedObjectKind])


class _Lost(Struct, frozen=True):
    """An object that a step deletes or replaces."""

    row: ProtectedObjectKind
    kind: str
    namespace: str
    name: str
    action: GuardedAction
    worker: str | None
    step: PreviewStep

    @property
    def title(self) -> str:
        """What people call it."""
        return f"{self.kind} {self.namespace}/{self.name}" if self.namespace else f"{self.kind} {self.name}"

    @property
    def key(self) -> str:
        """Its name in an allowance."""
        return self.row.key.format(name=self.name, namespace=self.namespace)


def lost_objects(
    steps: Iterable[PreviewStep],
    allowances_of: Callable[[str | None], AllowancesPlan],
    workers: Collection[str],
    guarded: Collection[str],
) -> Iterator[GuardedChange]:
    """Yield the losses of objects in a preview; `guarded` are the URNs of steps that are losses of another kind."""
    steps = list(steps)
    lost = [each for each in (_lost(step, workers) for step in steps) if each is not None]
    deleted = [each for each in lost if each.action == GuardedAction.DELETE]
    namespaces = {(each.worker, each.name) for each in lost if each.kind == "Namespace"}
    queues = {(each.worker, each.name) for each in deleted if each.kind == "ClusterQueue"}
    drained = _drained_queues(steps, workers)
    made = {  # also in the place of another one
        str(cast("Mapping[str, Any]", step.inputs[1].get("metadata") or {}).get("name"))
        for step in steps
        if step.type == _NAMESPACE and step.op in ("create", "replace", "create-replacement")
    }
    for each in lost:
        where = (each.worker, each.namespace)
        if each.step.urn in guarded or (each.row.inside and where in namespaces):
            continue
        queue = _queue_of(each.step)
        if each.kind == "LocalQueue" and (each.worker, queue) in queues:
            continue
        allowances = allowances_of(each.worker)
        allowed = allowances.deletion.get(each.key) if allowances.protect else UNPROTECTED
        if allowed is None and _is_drained(each, queue, lost, drained):
            allowed = QUEUE_DRAINED
        name = f"{each.worker}{IN_WORKER}{each.title}" if each.worker else each.title
        yield GuardedChange(
            ResourceKind.OBJECT,
            name,
            each.key,
            each.action,
            parts=(each.row.loses,),
            allowed=allowed,
            worker=each.worker,
            kept_by=_kept_by(each) if each.kind == "Namespace" and each.name in made else "",
        )


def _kept_by(lost: _Lost) -> str:
    """Return the entry that keeps a namespace: the program knows it as `vision-namespace`, or with `/models` behind."""
    home = "".join(lost.step.name.rpartition("-namespace")[::2])
    return f"{{name: {lost.name}, formerly: {home.removeprefix(f'{lost.worker}{IN_WORKER}')}}}"


def _lost(step: PreviewStep, workers: Collection[str]) -> _Lost | None:
    """Return the object that a step takes away; None if it stays, is handed over, or is of a kind without a row."""
    action, inputs = step.action, step.inputs[0]
    if action is None or step.is_component or step.type.startswith("pulumi:"):
        return None
    kind = step.type.rpartition(":")[2]
    if step.type.startswith("kubernetes:"):
        row = protected_object_kinds().get(kind if kind != _OTHER else "")
        is_known = kind in load_kinds() or step.type == _RELEASE
    else:
        row, is_known = None, has_input_rules(step.type)
    row = row if row is not None or is_known else protected_object_kinds()[_OTHER]
    if row is None or (action == GuardedAction.REPLACE and not row.replaced):
        return None
    metadata: Mapping[str, Any] = inputs.get("metadata") or inputs
    namespace = "" if kind == "Release" else str(metadata.get("namespace") or "")
    worker = step.name.partition(IN_WORKER)[0]
    name = str(metadata.get("name") or step.name)
    if kind == "LocalQueue" and not namespace:
        *_, namespace, name = step.name.split(IN_WORKER)[-2:]
    return _Lost(row, kind, namespace, name, action, worker if worker in workers else None, step)


def _spec(step: PreviewStep) -> Mapping[str, Any]:
    return step.inputs[0].get("spec") or {}


def _queue_of(step: PreviewStep) -> str:
    """Return the cluster queue of a local queue; without inputs, by its name in the program."""
    return str(_spec(step).get("clusterQueue") or step.name.rpartition("-local-queue/")[0])


def _drained_queues(steps: Iterable[PreviewStep], workers: Collection[str]) -> set[tuple[str | None, str]]:
    """Return the cluster queues that the last deployment drained, by worker and name."""
    drained: set[tuple[str | None, str]] = set()
    for step in steps:
        if step.type.endswith(":ClusterQueue") and _spec(step).get("stopPolicy") == _DRAINED:
            worker = step.name.partition(IN_WORKER)[0]
            metadata: Mapping[str, Any] = step.inputs[0].get("metadata") or {}
            name = str(metadata.get("name"))
            drained.add((worker if worker in workers else None, name))
    return drained


def _is_drained(each: _Lost, queue: str, lost: Iterable[_Lost], drained: set[tuple[str | None, str]]) -> bool:
    """Return whether no job of a queue, or of a namespace and its queues, was admitted any more before this change."""
    if each.kind == "ClusterQueue":
        return (each.worker, each.name) in drained
    if each.kind == "LocalQueue":
        return _spec(each.step).get("stopPolicy") == _DRAINED or (each.worker, queue) in drained
    if each.kind != "Namespace" or each.action != GuardedAction.DELETE:
        return False
    queues = [
        other
        for other in lost
        if other.kind == "LocalQueue" and (other.worker, other.namespace) == (each.worker, each.name)
    ]
    return bool(queues) and all(_is_drained(other, _queue_of(other.step), (), drained) for other in queues)


_SAFEGUARDS: Final = pathlib.Path(__file__).with_name("safeguards.yaml")


class Safeguard(Struct, frozen=True, forbid_unknown_fields=True):
    """A row of the table: an input that protects, and the value that no longer does."""

    type: str
    path: tuple[str, ...]
    key: str
    title: str
    gone: bool | str | None = None
    default: bool | str | None = None
    keeps: str | None = None

    def protects(self, inputs: Mapping[str, Any]) -> bool:
        """Return whether the inputs of a resource still have the safeguard."""
        value: object = inputs
        for step in self.path:
            value = cast("Mapping[str, object]", value).get(step) if isinstance(value, Mapping) else None
        if self.keeps is not None:
            return isinstance(value, list) and self.keeps in value
        return (self.default if value is None else value) != self.gone


@cache
def safeguards() -> tuple[Safeguard, ...]:
    """Return the table."""
    return convert(load_table(_SAFEGUARDS), tuple[Safeguard, ...])


def lost_safeguards(
    steps: Iterable[PreviewStep], allowances_of: Callable[[str | None], AllowancesPlan], workers: Collection[str]
) -> Iterator[GuardedChange]:
    """Yield the safeguards that updates take away; `allowChange` of the new stack file allows it."""
    for step in steps:
        before, after = step.inputs
        if step.op != "update" or not before or not after:
            continue
        for row in safeguards():
            if step.type.endswith(row.type) and row.protects(before) and not row.protects(after):
                first = step.name.partition(IN_WORKER)[0]
                worker = first if first in workers else None
                allowances = allowances_of(worker)
                name = str((before.get("metadata") or before).get("name") or step.name)
                key = row.key.format(name=name)
                allowed = allowances.change.get(key) if allowances.protect else UNPROTECTED
                title = f"{step.type.rpartition(':')[2]} {name}"
                yield GuardedChange(
                    ResourceKind.OBJECT,
                    f"{worker}{IN_WORKER}{title}" if worker else title,
                    key,
                    GuardedAction.WEAKEN,
                    parts=(row.title,),
                    allowed=allowed,
                    worker=worker,
                )
