"""Changes of the resources of a fleet other than Kubernetes objects, as plain data."""

from __future__ import annotations

from msgspec import Struct
from msgspec.structs import replace

from berth.diff.kinds import ChangeKind
from berth.diff.provider_inputs.effects import UpdateEffect
from berth.resource import IN_WORKER, ResourceKind


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
