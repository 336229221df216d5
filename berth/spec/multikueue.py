"""Schema of MultiKueue: how a manager sends jobs to its workers. Keys are those of Kueue's Configuration."""

from __future__ import annotations

from typing import Literal

from berth.spec.amounts import Seconds
from berth.spec.base import Model, NonEmptyText, Sequence
from berth.spec.model import Field

Dispatcher = Literal[
    "kueue.x-k8s.io/multikueue-dispatcher-all-at-once", "kueue.x-k8s.io/multikueue-dispatcher-incremental"
]


class IncrementalSpec(Model):
    """Settings of the incremental dispatcher."""

    step_size: int = Field(default=3, ge=1)
    """Number of additional clusters of each round."""


class AccessProviderSpec(Model):
    """A program in Kueue's container that gets credentials."""

    name: NonEmptyText
    """Name of the provider."""
    command: NonEmptyText
    """The program."""
    args: Sequence[str] = ()
    """Arguments of the program."""


class ClusterProfileSpec(Model):
    """How Kueue gets credentials for clusters of a ClusterProfile."""

    access_providers: Sequence[AccessProviderSpec] = Field(min_length=1)
    """Programs in Kueue's container that get credentials."""


class MultiKueueSpec(Model):
    """How jobs are sent to workers. Keys that are left out have Kueue's defaults."""

    dispatcher_name: Dispatcher | None = None
    """Name of the dispatcher: all workers at once, or some more in each round."""
    incremental_dispatcher_config: IncrementalSpec | None = None
    """Settings of the incremental dispatcher."""
    gc_interval: Seconds | None = None
    """Interval at which orphaned objects on workers are deleted."""
    origin: str | None = None
    """Name of this manager in labels on workers."""
    worker_lost_timeout: Seconds | None = None
    """Time after which a worker without connection is lost."""
    cluster_profile: ClusterProfileSpec | None = None
    """How Kueue gets credentials for clusters of a ClusterProfile."""
