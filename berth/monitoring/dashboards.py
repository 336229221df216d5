"""Dashboards and alerts of one fleet on one backend: the rows of the tables that apply, filled in from its plan."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any, cast

from msgspec import Struct

from berth.monitoring.expansion import PanelValues
from berth.monitoring.metrics import is_available, monitoring_table, render_query
from berth.plan.monitoring import AlertPlan, DashboardPlan, PanelPlan, RecordingPlan, SectionPlan

TableRow = Mapping[str, Any]


class MonitoredFleet(Struct, frozen=True, kw_only=True):
    """A fleet on a backend: `features` (gpu, tpu, multi-host, queued, prices) and the `settings` of its collectors."""

    cluster: str
    backend: str
    features: frozenset[str]
    settings: frozenset[str]

    def is_relevant(self, row: TableRow) -> bool:
        """Return whether a row of a table applies to this fleet."""
        return row.get("needs") is None or row["needs"] in self.features

    def has_samples(self, expression: str) -> bool:
        """Return whether there are samples for an expression."""
        return is_available(expression, self.backend, self.settings)

    def render(self, expression: str) -> str:
        """Return an expression as PromQL of the backend."""
        return render_query(expression, self.backend, self.cluster)


class AlertThreshold(Struct, frozen=True):
    """Changes of a stack file to an alert: None keeps a value; `enabled` false leaves the alert out."""

    enabled: bool = True
    limit: float | None = None
    seconds: int | None = None


def alert_keys() -> tuple[str, ...]:
    """Return the keys of all alerts, sorted."""
    return tuple(sorted(row["key"] for row in cast("list[TableRow]", monitoring_table("alerts"))))


def has_limit(key: str) -> bool:
    """Return whether an alert has a threshold."""
    return any(row["key"] == key and "limit" in row for row in cast("list[TableRow]", monitoring_table("alerts")))


def build_alerts(fleet: MonitoredFleet, thresholds: Mapping[str, AlertThreshold]) -> tuple[AlertPlan, ...]:
    """Return every alert that can fire in this fleet, in the order of the table."""
    return _build_alerts(fleet, frozenset(thresholds.items()))


@lru_cache(maxsize=256)
def _build_alerts(fleet: MonitoredFleet, changes: frozenset[tuple[str, AlertThreshold]]) -> tuple[AlertPlan, ...]:
    thresholds = dict(changes)
    return tuple(
        _alert(row, fleet, thresholds.get(row["key"], AlertThreshold()))
        for row in cast("list[TableRow]", monitoring_table("alerts"))
        if fleet.is_relevant(row)
        and fleet.has_samples(row["expression"])
        and thresholds.get(row["key"], AlertThreshold()).enabled
    )


def _alert(row: TableRow, fleet: MonitoredFleet, threshold: AlertThreshold) -> AlertPlan:
    limit = row.get("limit") if threshold.limit is None else threshold.limit
    expression = row["expression"] if limit is None else row["expression"].replace("{limit}", f"{limit:g}")
    return AlertPlan(
        key=row["key"],
        title=row["title"],
        query=fleet.render(expression),
        seconds=alert_seconds(row["for"]) if threshold.seconds is None else threshold.seconds,
        severity=row["severity"],
        meaning=row["meaning"],
        remedy=row["remedy"],
        by=tuple(row.get("by", ())),
    )


def alert_seconds(duration: str) -> int:
    """Return `15m` as 900."""
    return int(duration[:-1]) * {"s": 1, "m": 60, "h": 3600, "d": 86400}[duration[-1]]


def build_recordings(fleet: MonitoredFleet, constants: tuple[RecordingPlan, ...]) -> tuple[RecordingPlan, ...]:
    """Return the recording rules of a fleet in the order of the table, after the `constants` that they join."""
    rules = [
        RecordingPlan(name=row["record"], query=fleet.render(row["expression"]))
        for row in cast("list[TableRow]", monitoring_table("recordings"))
        if fleet.has_samples(row["expression"])
    ]
    return (*constants, *rules) if rules else ()


def build_dashboards(fleet: MonitoredFleet, values: PanelValues) -> tuple[DashboardPlan, ...]:
    """Return every dashboard that has panels for this fleet, in the order of the table."""
    built: list[DashboardPlan] = []
    for row in cast("list[TableRow]", monitoring_table("dashboards")):
        sections = [
            _section(row["key"], number, fleet, values.used_by(section["panels"]))
            for number, section in enumerate(row["sections"])
            if fleet.is_relevant(row) and fleet.is_relevant(section)
        ]
        with_panels = tuple(section for section in sections if section.panels)
        if with_panels:
            built.append(DashboardPlan(key=row["key"], title=row["title"], sections=with_panels))
    return tuple(built)


@lru_cache(maxsize=2048)  # most panels name neither a flavor nor a team, and are those of every plan of a cluster
def _section(dashboard: str, number: int, fleet: MonitoredFleet, values: PanelValues) -> SectionPlan:
    table = cast("list[TableRow]", monitoring_table("dashboards"))
    row = next(row for row in table if row["key"] == dashboard)["sections"][number]
    expanded = [panel for each in row["panels"] for panel in values.expand(each)]
    panels = [_panel(each, fleet) for each in expanded if all(map(fleet.has_samples, each["queries"].values()))]
    return SectionPlan(title=row["title"], panels=tuple(panels))


def _panel(row: TableRow, fleet: MonitoredFleet) -> PanelPlan:
    return PanelPlan(
        title=row["title"],
        unit=row["unit"],
        queries={legend: fleet.render(text) for legend, text in row["queries"].items()},
        stacked=row.get("stacked", False),
        limit=row.get("limit"),
        heatmap=row.get("type") == "heatmap",
    )
