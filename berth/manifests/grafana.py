"""Dashboards for Grafana, as plain values. Pure: plan in, mappings out."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

from berth.names import shorten
from berth.plan.monitoring import DashboardPlan, PanelPlan, SectionPlan

MAX_UID = 40
"""Grafana's maximum length of a dashboard's uid, in characters."""

_WIDTH, _HEIGHT, _COLUMNS = 8, 8, 24
_SCHEMA = 39
_UNITS = {
    "1": "short",
    "%": "percent",
    "s": "s",
    "By": "bytes",
    "MiBy": "decmbytes",
    "By/s": "Bps",
    "Cel": "celsius",
    "W": "watt",
}
"""Unit of Cloud Monitoring → unit of Grafana."""

_DATASOURCE = {"type": "prometheus", "uid": "${datasource}"}


def grafana_dashboard_json(plan: DashboardPlan, stack: str) -> str:
    """Return the JSON of a dashboard, with sorted keys on separate lines, so that differences are readable."""
    return _on_lines(json.dumps(grafana_dashboard(plan, stack), sort_keys=True, ensure_ascii=False))


@lru_cache(maxsize=64)  # both sides of a diff have equal dashboards, and indentation is not done in C
def _on_lines(text: str) -> str:
    return json.dumps(json.loads(text), ensure_ascii=False, indent=1) + "\n"


def grafana_dashboard(plan: DashboardPlan, stack: str) -> dict[str, Any]:
    """Return a dashboard with a variable for the Prometheus data source."""
    return {
        "uid": shorten(f"berth-{stack}-{plan.key}", MAX_UID),
        "title": f"{stack}: {plan.title}",
        "tags": ["berth", stack],
        "schemaVersion": _SCHEMA,
        "refresh": "1m",
        "time": {"from": "now-6h", "to": "now"},
        "templating": {"list": [{"name": "datasource", "type": "datasource", "query": "prometheus"}]},
        "panels": list(_panels(plan.sections)),
    }


def _panels(sections: tuple[SectionPlan, ...]) -> Iterator[dict[str, Any]]:
    top, number = 0, 0
    for section in sections:
        number += 1
        yield {"id": number, "type": "row", "title": section.title, "gridPos": _grid_position(0, top, _COLUMNS, 1)}
        top += 1
        for index, panel in enumerate(section.panels):
            row, column = divmod(index, _COLUMNS // _WIDTH)
            number += 1
            grid_position = _grid_position(column * _WIDTH, top + row * _HEIGHT, _WIDTH, _HEIGHT)
            yield {"id": number, "gridPos": grid_position, **_panel(panel)}
        top += -(-len(section.panels) * _WIDTH // _COLUMNS) * _HEIGHT


def _grid_position(x: int, y: int, width: int, height: int) -> dict[str, int]:
    return {"x": x, "y": y, "w": width, "h": height}


def _panel(plan: PanelPlan) -> dict[str, Any]:
    targets = [
        {"refId": chr(ord("A") + index), "datasource": _DATASOURCE, "expr": query, "legendFormat": legend}
        for index, (legend, query) in enumerate(plan.queries.items())
    ]
    common = {"title": plan.title, "datasource": _DATASOURCE, "targets": targets}
    return common | (_heatmap(plan) if plan.heatmap else _time_series(plan))


def _heatmap(plan: PanelPlan) -> dict[str, Any]:
    """Return a row for each series, colored by its value: a panel of buckets that Grafana does not calculate."""
    color = {"mode": "scheme", "scheme": "Oranges", "steps": 64, "min": 0, "max": 100}
    return {
        "type": "heatmap",
        "fieldConfig": {"defaults": {}, "overrides": []},
        "options": {
            "calculate": False,
            "cellValues": {"unit": _UNITS[plan.unit]},
            "color": color,
            "legend": {"show": True},
            "rowsFrame": {"layout": "auto"},
            "tooltip": {"mode": "single"},
            "yAxis": {"axisPlacement": "left"},
        },
    }


def _time_series(plan: PanelPlan) -> dict[str, Any]:
    custom: dict[str, Any] = {"fillOpacity": 20, "stacking": {"mode": "normal"}} if plan.stacked else {}
    defaults: dict[str, Any] = {"unit": _UNITS[plan.unit], "min": 0}
    if plan.limit is not None:
        custom["thresholdsStyle"] = {"mode": "line"}
        steps = [{"color": "green", "value": None}, {"color": "red", "value": plan.limit}]
        defaults["thresholds"] = {"mode": "absolute", "steps": steps}
    return {"type": "timeseries", "fieldConfig": {"defaults": {**defaults, "custom": custom}, "overrides": []}}
