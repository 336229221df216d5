"""What watches a fleet: dashboards and alerts as data, and how metrics are collected. Queries are PromQL."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from msgspec import Struct

from berth.plan.kueue import ChartPlan

PROMETHEUS_NAMESPACE: Final = "monitoring"
"""Where a Prometheus and a Grafana of the cluster's own run."""


class PanelPlan(Struct, frozen=True, kw_only=True):
    """One chart. `queries` maps the legend, `{{label}}` standing for a label's value, to the query.

    `unit` is a UCUM unit as Cloud Monitoring spells it (1, %, s, By); `limit` is drawn as a line.
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
    """A dashboard; `key` names its resource."""

    key: str
    title: str
    sections: tuple[SectionPlan, ...]


class AlertPlan(Struct, frozen=True, kw_only=True):
    """An alert that fires for each series that `query` yields for as long as `seconds`; `by` are its labels.

    `severity` is critical or warning. `meaning` and `remedy` are for the person who reads it.
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
    """How a fleet is watched.

    `backend` is managed (Google's Managed Prometheus and Cloud Monitoring) or in-cluster (a Prometheus and a Grafana of
    its own, `charts`). `channels` are names of notification channels. `collects_gpus` where DCGM's
    metrics are to be collected by us.
    """

    backend: str
    dashboards: tuple[DashboardPlan, ...]
    alerts: tuple[AlertPlan, ...]
    channels: tuple[str, ...] = ()
    charts: tuple[ChartPlan, ...] = ()
    collects_gpus: bool = False
