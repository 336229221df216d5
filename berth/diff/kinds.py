"""The kinds of changes that a diff reports, and the changes of cloud resources, as plain data."""

from __future__ import annotations

from enum import StrEnum

from msgspec import Struct
from msgspec.structs import replace

from berth.diff.provider_inputs.effects import UpdateEffect
from berth.resource import IN_WORKER, ResourceKind


class ChangeKind(StrEnum):
    """What happens to a resource, an object, a pool, a team, a queue, a worker, a file or a right."""

    ADDED = "added"
    """A pool, team, worker, workload, file or right that the old stack file does not have."""
    CHANGED = "changed"
    """Other settings in place; for a right, whether it gives more or less is not known."""
    CREATED = "created"
    """A cloud resource or Kubernetes object that does not exist yet."""
    DELETED = "deleted"
    """It is deleted, with everything in it."""
    DRAINED = "drained"
    """A team or queue that admits no job, and evicts those it admitted."""
    HELD = "held"
    """A team or queue that admits no job; those it admitted keep running."""
    KEPT = "kept"
    """A right that the new stack file does not have, and that the provider does not take back."""
    NARROWED = "narrowed"
    """A right that allows less than before."""
    RECREATED = "recreated"
    """The resource stays, and each of its nodes is recreated."""
    REMOVED = "removed"
    """A team or right that the new stack file does not have."""
    RENAMED = "renamed"
    """Only its name changes."""
    REPLACED = "replaced"
    """It is deleted and created again."""
    RESIZED = "resized"
    """A pool whose number of nodes changes."""
    RESUMED = "resumed"
    """A team or queue that admits jobs again."""
    UNMANAGED = "left"
    """It keeps running, and this stack no longer manages it."""
    UPDATED = "updated"
    """A cloud resource or Kubernetes object that is updated in place."""
    WIDENED = "widened"
    """A right that allows more than before."""


class FieldEffect(Struct, frozen=True):
    """A changed input: what people call it, the `input` as the provider spells it, and what the change `does`.

    With an empty `input`, `path` names a resource that this one depends on and that is replaced.
    """

    path: str
    input: str
    before: object
    after: object
    does: UpdateEffect


class ResourceChange(Struct, frozen=True):
    """A resource that is created, updated in place, replaced or deleted, or whose nodes are recreated in place."""

    kind: ResourceKind
    key: str
    pool: str | None
    what: ChangeKind
    fields: tuple[FieldEffect, ...] = ()

    @property
    def because(self) -> tuple[FieldEffect, ...]:
        """The fields that force the change, without a node pool's name if another field changes the name."""
        forcing = tuple(f for f in self.fields if f.does == UpdateEffect.REPLACE)
        chosen = tuple(f for f in forcing if f.path != "name" or self.kind != ResourceKind.NODE_POOL)
        return chosen or forcing


def in_worker(change: ResourceChange) -> tuple[str, ResourceChange] | None:
    """Return the worker of a change and the change with the worker's own keys, or None for the fleet's own cluster."""
    worker, slash, key = change.key.partition(IN_WORKER)
    pool = change.pool and change.pool.removeprefix(worker + IN_WORKER)
    return (worker, replace(change, key=key, pool=pool)) if slash else None
