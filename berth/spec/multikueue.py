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
    """Number of clusters that the incremental dispatcher adds in each round."""

    step_size: int = Field(default=3, ge=1)


class AccessProviderSpec(Model):
    """A program in Kueue's container that gets credentials for clusters known by a ClusterProfile."""

    name: NonEmptyText
    command: NonEmptyText
    args: Sequence[str] = ()


class ClusterProfileSpec(Model):
    """How Kueue gets credentials for clusters known by a ClusterProfile."""

    access_providers: Sequence[AccessProviderSpec] = Field(min_length=1)


class MultiKueueSpec(Model):
    """How jobs are sent to workers; omitted keys have Kueue's defaults."""

    dispatcher_name: Dispatcher | None = None
    incremental_dispatcher_config: IncrementalSpec | None = None
    gc_interval: Seconds | None = None
    origin: str | None = None
    worker_lost_timeout: Seconds | None = None
    cluster_profile: ClusterProfileSpec | None = None
