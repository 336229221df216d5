"""Arguments of Views. `make golden` writes this module from the keys of the stack file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import pulumi

from berth.spec.fleet import FleetSpec
from berth.spec.model import Model
from berth.spec.monitoring import MonitoringSpec

from .base import ComponentArguments


class ViewsArgs(ComponentArguments):
    """Dashboards of Cloud Monitoring and alert policies for the queues, capacity, GPUs and TPU slices of a cluster that
    has Kueue. `Collection` in `monitoring.collection` takes the same arguments and lets Managed Prometheus collect its
    metrics."""

    models: ClassVar[Sequence[type[Model]]] = (MonitoringSpec, FleetSpec)

    cluster: str
    """Name of the cluster, by which metrics are chosen. It is also in the titles."""
    pools: Mapping[str, Mapping[str, Any]]
    """Pools of machines by name."""
    project: str
    """Google Cloud project ID, not the number. Required, unless the cluster is an existing one."""
    alerts: Any | None = None
    """`{<alert>: {limit, for}}` changes an alert, `{<alert>: false}` disables it, `false` disables all
    (docs/monitoring.md lists them; `false` means `enabled: false`). By default all."""
    cohorts: Mapping[str, Mapping[str, Any]] | None = None
    """Cohorts by name: queues in a cohort use each other's idle quota."""
    dashboards: bool | None = None
    """Create dashboards for queues and teams, capacity, GPUs and TPU slices, as far as the fleet has them. Default:
    `true`."""
    flavors: Mapping[str, Mapping[str, Any]] | None = None
    """Settings of flavors by name. A flavor exists without an entry here."""
    kueue: Mapping[str, Any] | None = None
    """Kueue, and its own Configuration."""
    labels: Mapping[str, str] | None = None
    """Google Cloud labels of the alert policies."""
    notification_channels: pulumi.Input[Sequence[pulumi.Input[str]]] | None = None
    """Notification channels of Cloud Monitoring, by their full names."""
    prices: Mapping[str, Any] | None = None
    """Prices of accelerators, for panels and recording rules of each team's cost."""
    teams: Mapping[str, Mapping[str, Any]] | None = None
    """Teams by name, each with its namespaces, identity and queues."""
