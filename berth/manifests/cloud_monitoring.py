"""Dashboards and alerts in Cloud Monitoring's own form, as plain values. Pure: plan in, mappings out.

What the service leaves out of its answers (positions of 0) is left out here too, or every preview would show a change.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from berth.plan.monitoring import DashboardPlan, PanelPlan, SectionPlan

Widget = dict[str, Any]

COLUMNS = 48
_PANEL = (COLUMNS // 3, 14)
_HEADER = (COLUMNS, 4)
_LABELS = re.compile(r"\s*\{\{\w+\}\}\s*/?")


def dashboard_json(plan: DashboardPlan, stack: str) -> str:
    """The JSON of a dashboard, keys sorted, as the provider wants it."""
    return json.dumps(dashboard(plan, stack), sort_keys=True, ensure_ascii=False)


def dashboard(plan: DashboardPlan, stack: str) -> dict[str, Any]:
    """A mosaic of 48 columns: each section a header and rows of three panels."""
    return {
        "displayName": f"{stack}: {plan.title}",
        "mosaicLayout": {"columns": COLUMNS, "tiles": list(_tiles(plan.sections))},
    }


def _tiles(sections: tuple[SectionPlan, ...]) -> Iterator[dict[str, Any]]:
    top = 0
    for section in sections:
        header = {"title": section.title, "sectionHeader": {"dividerBelow": True}}
        yield _tile(0, top, _HEADER, header)
        top += _HEADER[1]
        for index, panel in enumerate(section.panels):
            row, column = divmod(index, COLUMNS // _PANEL[0])
            yield _tile(column * _PANEL[0], top + row * _PANEL[1], _PANEL, _panel(panel))
        top += -(-len(section.panels) * _PANEL[0] // COLUMNS) * _PANEL[1]


def _tile(x: int, y: int, size: tuple[int, int], widget: Widget) -> dict[str, Any]:
    position = {key: value for key, value in (("xPos", x), ("yPos", y)) if value}
    return {**position, "width": size[0], "height": size[1], "widget": widget}


def _panel(plan: PanelPlan) -> Widget:
    chart: dict[str, Any] = {
        "chartOptions": {"mode": "COLOR"},
        "dataSets": [_data_set(plan, legend, query) for legend, query in plan.queries.items()],
        "yAxis": {"scale": "LINEAR"},
    }
    if plan.limit is not None:
        chart["thresholds"] = [{"targetAxis": "Y1", "value": plan.limit}]
    return {"title": plan.title, "xyChart": chart}


def _data_set(plan: PanelPlan, legend: str, query: str) -> dict[str, Any]:
    """Labels of a series are shown by themselves, so only the words of a legend are said."""
    template = _LABELS.sub("", legend).strip()
    return {
        "plotType": "STACKED_AREA" if plan.stacked else "LINE",
        "targetAxis": "Y1",
        "timeSeriesQuery": {"prometheusQuery": query, "unitOverride": plan.unit},
        **({"legendTemplate": template} if template else {}),
    }
