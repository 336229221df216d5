"""The kinds of resources and of changes that a diff reports, one line each."""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple


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


class ResourceKind(StrEnum):
    """A kind of cloud resource, as people call it."""

    ACCELERATOR_NETWORKS = "accelerator networks"
    """The networks of the accelerators of one machine type."""
    ACCESS = "access"
    """The roles of the owner group and of the teams in the project."""
    ALERT = "alert"
    """An alert policy of Cloud Monitoring."""
    CLUSTER = "cluster"
    """A GKE or ACK cluster that this stack creates."""
    CONNECTION = "connection"
    """The connection to an existing cluster; another identifier means another cluster."""
    CONTROLLER = "controller"
    """A Helm chart."""
    DASHBOARD = "dashboard"
    """A dashboard of Cloud Monitoring."""
    FLEET = "ACK One fleet"
    """The ACK One fleet instance."""
    FUTURE_RESERVATION = "future reservation"
    """A future reservation request of Compute Engine."""
    MEMBERSHIP = "membership"
    """The membership of a cluster in the ACK One fleet."""
    NETWORK = "network"
    """The VPC network of the cluster."""
    NODE_IDENTITY = "node identity"
    """The service account of the nodes."""
    NODE_POOL = "node pool"
    """A node pool; a multi-host slice is one."""
    POOL = "pool"
    """A pool of the stack file: all its node pools. Only guarded changes have this kind."""
    PROTECTION = "protect"
    """The protection of the whole stack. Only guarded changes have this kind."""
    QUEUE = "queue"
    """A cluster queue with a guarantee. Only guarded changes have this kind."""
    RESERVATION = "reservation"
    """A reservation of Compute Engine."""
    SERVICE = "service"
    """An API of Google Cloud that is enabled in the project."""
    SYSTEM_POOL = "system pool"
    """The node pool of the controllers."""
    TEAM_IDENTITY = "team identity"
    """The identity of a team's workloads, and its roles."""
    WORKLOAD_POLICY = "workload policy"
    """A workload policy of Compute Engine, for node pools placed together."""


class ResourceKey(NamedTuple):
    """The identity of a resource in the program."""

    kind: ResourceKind
    key: str
