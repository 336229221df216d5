"""Every difference of what a stack registers: inputs of resources, fields of objects, sizes of pools."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final, cast

from msgspec import Struct
from msgspec.structs import replace

from berth.diff.entitlements import QuotaChanges
from berth.diff.kinds import ChangeKind, FieldEffect, ResourceChange
from berth.diff.objects import ObjectChange
from berth.diff.pools import PoolChange
from berth.diff.provider_inputs.effects import UpdateEffect
from berth.resource import IN_WORKER, ResourceKind, resource_title

POOL: Final = "pool"
LIMITS: Final = "ResourceQuota"
"""The kind of the limits of a namespace, which follow from what its team can use."""
NOT_APPLIED: Final = "not applied"
NEW_NODES: Final = "new nodes"
_INDEX: Final = re.compile(r"\[\d+\]")
_KEY: Final = re.compile(r"\[([^\]]*)\]")


class Difference(Struct, frozen=True):
    """One difference: of which kind of thing (`of`, and `name` as people say it), where in it, and both values.

    `path` has the names of list entries as steps and no indexes, and is empty if the thing itself comes, goes or is
    replaced. `note` says if the change is not applied, or applied to new nodes only. `namespace` is that of an object,
    `worker` the worker that has it, `key` its name. `block` is the path of the block that comes or goes as a whole, of
    which the difference is a part.
    """

    of: str
    name: str
    path: str
    what: ChangeKind
    before: object = None
    after: object = None
    note: str = ""
    key: str = ""
    namespace: str = ""
    worker: str | None = None
    block: str = ""


_NOTES: Final = {
    UpdateEffect.KEPT: NOT_APPLIED,
    UpdateEffect.IGNORED: NOT_APPLIED,
    UpdateEffect.STATED: NOT_APPLIED,
    UpdateEffect.NEW_NODES_ONLY: NEW_NODES,
}


def pool_differences(change: PoolChange) -> Iterator[Difference]:
    """Yield the differences of a pool: its size, then its inputs."""
    worker = change.pool.partition(IN_WORKER)[0] if IN_WORKER in change.pool else None
    title = resource_title(ResourceKind.POOL, change.pool)
    if change.what not in (ChangeKind.CHANGED, ChangeKind.RESIZED):
        yield Difference(POOL, title, "", change.what, key=change.pool, worker=worker)
        return
    if change.nodes[0] != change.nodes[1]:
        yield Difference(POOL, title, "nodes", change.what, *change.nodes, key=change.pool, worker=worker)
    for field in change.fields:
        note = _NOTES.get(field.does, "")
        yield from _leaves(
            Difference(POOL, title, field.input, change.what, field.before, field.after, note, change.pool, "", worker)
        )


def resource_differences(change: ResourceChange) -> Iterator[Difference]:
    """Yield the differences of a cloud resource or controller."""
    worker, _, key = change.key.rpartition(IN_WORKER)
    title = resource_title(change.kind, change.key)
    if change.what != ChangeKind.UPDATED or not change.fields:
        yield Difference(change.kind, title, "", change.what, key=key, worker=worker or None)
        return
    for field in _with_renamed_entries(change.fields):
        note = _NOTES.get(field.does, "")
        yield from _leaves(
            Difference(
                change.kind, title, field.input, change.what, field.before, field.after, note, key, "", worker or None
            )
        )


def _with_renamed_entries(fields: Sequence[FieldEffect]) -> Iterator[FieldEffect]:
    """Yield the fields, with an entry of a list that goes and an equal one of another name as a change of the name."""
    rest = list(fields)
    for gone in fields:
        old: object = gone.before
        for come in fields if isinstance(old, Mapping) and gone.after is None else ():
            name, new = ENTRY_NAMES.get(gone.input), come.after
            if name is None or come.before is not None or come.input != gone.input or not isinstance(new, Mapping):
                continue
            sides = [cast("Mapping[str, object]", old), cast("Mapping[str, object]", new)]
            if {**sides[0], name: ""} == {**sides[1], name: ""} and gone in rest and come in rest:
                rest[rest.index(gone)] = FieldEffect(
                    gone.path, f"{gone.input}.{name}", sides[0].get(name), sides[1].get(name), gone.does
                )
                rest.remove(come)
    yield from rest


ENTRY_NAMES: Final = {"maintenancePolicy.maintenanceExclusions": "exclusionName"}
"""Lists whose entries may be named otherwise without being others → the key of the name."""


def object_differences(change: ObjectChange) -> Iterator[Difference]:
    """Yield the differences of a Kubernetes object."""
    place = f"{change.namespace}/" if change.namespace else ""
    title = f"{NOUNS.get(change.kind, change.kind)} {place}{change.name}" + (
        f" on worker {change.worker}" if change.worker else ""
    )
    if change.what != ChangeKind.UPDATED:
        yield Difference(
            change.kind, title, "", change.what, key=change.name, namespace=change.namespace, worker=change.worker
        )
        return
    for field in change.fields:
        yield from _leaves(
            Difference(
                change.kind,
                title,
                field.path,
                change.what,
                field.before,
                field.after,
                "",
                change.name,
                change.namespace,
                change.worker,
            )
        )


NOUNS: Final = {"ClusterQueue": "queue", "ValidatingAdmissionPolicy": "admission policy"}
"""Kinds of objects → what a headline calls them."""


def quota_differences(changes: QuotaChanges) -> Iterator[Difference]:
    """Yield what changes of flavors without being registered: guarantees above the capacity that are accepted now."""
    for flavor in changes.flavors:
        before = max(0, flavor.promised.before - flavor.capacity.before)
        after = max(0, flavor.promised.after - flavor.capacity.after)
        if after > before:
            title = f"flavor {flavor.flavor}"
            what = "guarantees above the capacity"
            yield Difference("flavor", title, what, ChangeKind.CHANGED, before, after, key=flavor.flavor)


def _leaves(difference: Difference) -> Iterator[Difference]:
    """Yield a difference, or the inner ones of a block that comes or goes, each with its path spelt by steps."""
    path = _KEY.sub(r".\1", _INDEX.sub("", difference.path)).removeprefix(".")
    before, after = difference.before, difference.after
    blocks = [cast("Mapping[str, object]", each) for each in (before, after) if isinstance(each, Mapping)]
    if not blocks or len(blocks) + (before is None) + (after is None) < 2:
        yield replace(difference, path=path)
        return
    old, new = (cast("Mapping[str, object]", each or {}) for each in (before, after))
    for key in dict.fromkeys((*old, *new)):
        if old.get(key) != new.get(key):
            inner = replace(difference, path=f"{path}.{key}", before=old.get(key), after=new.get(key))
            is_whole = not difference.block and (before is None or after is None)
            yield from _leaves(replace(inner, block=path) if is_whole else inner)
