"""Monitoring: dashboards and alerts as data, and how metrics are collected. Queries are PromQL."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from msgspec import Struct

from berth.plan.kueue import ChartPlan

PROMETHEUS_NAMESPACE: Final = "monitoring"
"""Namespace of Prometheus and Grafana in the cluster."""


class PanelPlan(Struct, frozen=True, kw_only=True):
    """One chart of a dashboard. `queries` maps legend → query; `{{label}}` in a legend is the value of a label.

    `unit` is a UCUM unit as in Cloud Monitoring (1, %, s, By); `limit` is drawn as a line. A `heatmap` has one query,
    of percentages.
    """

    title: str
    unit: str
    queries: Mapping[str, str]
    stacked: bool = False
    limit: float | None = None
    heatmap: bool = False


class SectionPlan(Struct, frozen=True, kw_only=True):
    """Panels under one heading."""

    title: str
    panels: tuple[PanelPlan, ...]


class DashboardPlan(Struct, frozen=True, kw_only=True):
    """A dashboard; `key` is its name in the Pulumi program."""

    key: str
    title: str
    sections: tuple[SectionPlan, ...]


class AlertPlan(Struct, frozen=True, kw_only=True):
    """An alert that fires for each series that `query` returns for at least `seconds`; `by` are its labels.

    `severity` is critical or warning. `meaning` and `remedy` are text for the person who receives it.
    """

    key: str
    title: str
    query: str
    seconds: int
    severity: str
    meaning: str
    remedy: str
    by: tuple[str, ...] = ()


class RecordingPlan(Struct, frozen=True, kw_only=True):
    """A recording rule: the result of `query` is stored as the metric `name`, with these `labels` added."""

    name: str
    query: str
    labels: Mapping[str, str] = {}


class BackendPlan(Struct, frozen=True, kw_only=True):
    """Dashboards, alerts and recording rules of one backend, in its PromQL. `name` is managed or in-cluster."""

    name: str
    dashboards: tuple[DashboardPlan, ...]
    alerts: tuple[AlertPlan, ...]
    recordings: tuple[RecordingPlan, ...] = ()


class MonitoringPlan(Struct, frozen=True, kw_only=True):
    """Monitoring of a fleet.

    `managed` is Google's Managed Prometheus with Cloud Monitoring, `in_cluster` Prometheus and Grafana from `charts`;
    at least one is set. `channels` are names of notification channels. `collects` are exporters of GKE that a
    Prometheus in the cluster reads: gpu (DCGM) and tpu (the device plugin).
    """

    managed: BackendPlan | None = None
    in_cluster: BackendPlan | None = None
    channels: tuple[str, ...] = ()
    charts: tuple[ChartPlan, ...] = ()
    collects: tuple[str, ...] = ()

    @property
    def backends(self) -> tuple[BackendPlan, ...]:
        """The backends that are set."""
        return tuple(each for each in (self.managed, self.in_cluster) if each is not None)

    @property
    def alert_keys(self) -> tuple[str, ...]:
        """The keys of alerts that can fire on any backend."""
        return tuple(dict.fromkeys(alert.key for each in self.backends for alert in each.alerts))
