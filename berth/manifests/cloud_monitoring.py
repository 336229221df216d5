"""Dashboards and alerts of Cloud Monitoring, as plain values. Pure: plan in, mappings out.

Values that the service omits from its answers (positions of 0) are omitted here too, or every preview would show them.
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
_BANDS = ((0, 10), (10, 50), (50, 90), (90, 101))
"""Bands of percent of a heatmap: from, and below."""
_LABELS = re.compile(r"\s*\{\{\w+\}\}\s*/?")


def managed_dashboard_json(plan: DashboardPlan, stack: str) -> str:
    """Return the JSON of a dashboard for the provider, with sorted keys."""
    return json.dumps(managed_dashboard(plan, stack), sort_keys=True, ensure_ascii=False)


def managed_dashboard(plan: DashboardPlan, stack: str) -> dict[str, Any]:
    """Return a mosaic of 48 columns: each section has a header and rows of three panels."""
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
    data_sets = [_data_set(legend, query, plan.unit, stacked=plan.stacked) for legend, query in plan.queries.items()]
    if plan.heatmap:
        # The number of series in each band of percent: Cloud Monitoring draws heatmaps of distributions only
        # (Monitoring API v1, DataSet.plotType), and no reducer makes a distribution of series.
        data_sets = [
            _data_set(
                f"{least}–{min(below, 100)} %", f"count(({query}) >= {least} < {below}) or vector(0)", "1", stacked=True
            )
            for query in plan.queries.values()
            for least, below in _BANDS
        ]
    chart: dict[str, Any] = {
        "chartOptions": {"mode": "COLOR"},
        "dataSets": data_sets,
        "yAxis": {"scale": "LINEAR"},
    }
    if plan.limit is not None:
        chart["thresholds"] = [{"targetAxis": "Y1", "value": plan.limit}]
    return {"title": plan.title, "xyChart": chart}


def _data_set(legend: str, query: str, unit: str, *, stacked: bool) -> dict[str, Any]:
    """Return a data set; the legend has only its text, because Cloud Monitoring shows labels by itself."""
    template = _LABELS.sub("", legend).strip()
    return {
        "plotType": "STACKED_AREA" if stacked else "LINE",
        "targetAxis": "Y1",
        "timeSeriesQuery": {"prometheusQuery": query, "unitOverride": unit},
        **({"legendTemplate": template} if template else {}),
    }
