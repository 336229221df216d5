"""Dashboards and alerts of one fleet: the rows of the tables that apply to it, and panels for its teams."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, cast

from msgspec import Struct

from berth.monitoring.metrics import is_available, load_table, render_query
from berth.plan.kueue import ClusterQueuePlan, FlavorPlan
from berth.plan.monitoring import AlertPlan, DashboardPlan, PanelPlan, SectionPlan
from berth.plan.teams import TeamPlan

TableRow = Mapping[str, Any]

MAX_TEAM_PANELS = 12
"""Maximum of teams with their own panel: a dashboard of Cloud Monitoring has at most 100 widgets."""


class MonitoredFleet(Struct, frozen=True, kw_only=True):
    """Properties of a fleet: `features` (gpu, tpu, multi-host, queued), and the `settings` of its collectors."""

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


class AlertThreshold(Struct, frozen=True):
    """Changes of a stack file to an alert: None keeps a value; `enabled` false leaves the alert out."""

    enabled: bool = True
    limit: float | None = None
    seconds: int | None = None


def alert_keys() -> tuple[str, ...]:
    """Return the keys of all alerts, sorted."""
    return tuple(sorted(row["key"] for row in cast("list[TableRow]", load_table("alerts"))))


def has_limit(key: str) -> bool:
    """Return whether an alert has a threshold."""
    return any(row["key"] == key and "limit" in row for row in cast("list[TableRow]", load_table("alerts")))


def build_alerts(fleet: MonitoredFleet, thresholds: Mapping[str, AlertThreshold]) -> tuple[AlertPlan, ...]:
    """Return every alert that can fire in this fleet, in the order of the table."""
    return tuple(
        _alert(row, fleet, thresholds.get(row["key"], AlertThreshold()))
        for row in cast("list[TableRow]", load_table("alerts"))
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
        query=render_query(expression, fleet.backend, fleet.cluster),
        seconds=parse_duration(row["for"]) if threshold.seconds is None else threshold.seconds,
        severity=row["severity"],
        meaning=row["meaning"],
        remedy=row["remedy"],
        by=tuple(row.get("by", ())),
    )


def parse_duration(duration: str) -> int:
    """Return `15m` as 900."""
    return int(duration[:-1]) * {"s": 1, "m": 60, "h": 3600, "d": 86400}[duration[-1]]


def build_dashboards(
    fleet: MonitoredFleet,
    flavors: Sequence[FlavorPlan],
    queues: Sequence[ClusterQueuePlan],
    teams: Sequence[TeamPlan],
) -> tuple[DashboardPlan, ...]:
    """Return every dashboard that has panels for this fleet, in the order of the table."""
    built: list[DashboardPlan] = []
    for row in cast("list[TableRow]", load_table("dashboards")):
        sections = [*_sections(row, fleet)] if fleet.is_relevant(row) else []
        if row["key"] == "queues":
            sections += _usage_sections(fleet, flavors, queues, teams)
        if sections:
            built.append(DashboardPlan(key=row["key"], title=row["title"], sections=tuple(sections)))
    return tuple(built)


def _sections(dashboard: TableRow, fleet: MonitoredFleet) -> Iterator[SectionPlan]:
    for row in dashboard["sections"]:
        panels = [_panel(p, fleet) for p in row["panels"] if all(map(fleet.has_samples, p["queries"].values()))]
        if fleet.is_relevant(row) and panels:
            yield SectionPlan(title=row["title"], panels=tuple(panels))


def _panel(row: TableRow, fleet: MonitoredFleet) -> PanelPlan:
    queries = {legend: render_query(text, fleet.backend, fleet.cluster) for legend, text in row["queries"].items()}
    return PanelPlan(
        title=row["title"],
        unit=row["unit"],
        queries=queries,
        stacked=row.get("stacked", False),
        limit=row.get("limit"),
    )


# --- guarantees and ceilings, from the plan ---------------------------------------------------------------------------


def _usage_sections(
    fleet: MonitoredFleet,
    flavors: Sequence[FlavorPlan],
    queues: Sequence[ClusterQueuePlan],
    teams: Sequence[TeamPlan],
) -> Iterator[SectionPlan]:
    """Return panels of each flavor's use by queue and its capacity, and of each team's use, guarantee and ceiling."""
    usage = '<kueue_cluster_queue_resource_usage flavor="{}",resource="{}"{}>'
    if not fleet.has_samples(usage.format("", "", "")):
        return
    panels = [
        PanelPlan(
            title=f"{flavor.name}: {flavor.noun} used by queue",
            unit="1",
            stacked=True,
            limit=float(flavor.capacity.max),
            queries={
                "{{cluster_queue}}": _render_query(
                    fleet, f"sum by (cluster_queue) ({usage.format(flavor.name, flavor.resource, '')})"
                )
            },
        )
        for flavor in flavors
        if flavor.promised
    ]
    yield SectionPlan(title="Usage and capacity of each flavor", panels=tuple(panels))
    if len(teams) <= MAX_TEAM_PANELS:
        queues_by_team = {team.name: [q.name for q in queues if q.teams == (team.name,)] for team in teams}
        flavors_by_name = {flavor.name: flavor for flavor in flavors}
        team_panels = [
            _team_panel(fleet, team, flavors_by_name[flavor], queues_by_team[team.name], ceiling, usage)
            for team in teams
            for flavor, ceiling in team.ceiling.items()
            if queues_by_team[team.name] and ceiling
        ]
        if team_panels:
            yield SectionPlan(title="Teams: usage, guarantee and ceiling", panels=tuple(team_panels))


def _team_panel(
    fleet: MonitoredFleet, team: TeamPlan, flavor: FlavorPlan, queues: Sequence[str], ceiling: int, usage: str
) -> PanelPlan:
    queue_matcher = ',cluster_queue=~"' + "|".join(name.replace(".", "\\\\.") for name in queues) + '"'
    used = f"sum({usage.format(flavor.name, flavor.resource, queue_matcher)})"
    return PanelPlan(
        title=f"{team.name}: {flavor.noun} of {flavor.name}",
        unit="1",
        limit=float(ceiling),
        queries={"used": _render_query(fleet, used), "guaranteed": f"vector({team.guaranteed.get(flavor.name, 0)})"},
    )


def _render_query(fleet: MonitoredFleet, expression: str) -> str:
    return render_query(expression, fleet.backend, fleet.cluster)
