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

    `unit` is a UCUM unit as in Cloud Monitoring (1, %, s, By); `limit` is drawn as a line.
    """

    title: str
    unit: str
    queries: Mapping[str, str]
    stacked: bool = False
    limit: float | None = None


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


class MonitoringPlan(Struct, frozen=True, kw_only=True):
    """Monitoring of a fleet.

    `backend` is managed (Google's Managed Prometheus and Cloud Monitoring) or in-cluster (Prometheus and Grafana from
    `charts`). `channels` are names of notification channels. `collects_gpus`: Berth configures the collection of DCGM
    metrics.
    """

    backend: str
    dashboards: tuple[DashboardPlan, ...]
    alerts: tuple[AlertPlan, ...]
    channels: tuple[str, ...] = ()
    charts: tuple[ChartPlan, ...] = ()
    collects_gpus: bool = False
