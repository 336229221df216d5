"""The kinds of resources and of changes that a diff reports, one line each."""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple

from berth.resource import ResourceKind


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


class ResourceKey(NamedTuple):
    """The identity of a resource in the program."""

    kind: ResourceKind
    key: str
