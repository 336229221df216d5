"""Dashboards and alerts of one fleet: the rows of the tables that say something about it, and panels for its teams."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, cast

from msgspec import Struct

from berth.monitoring.metrics import available, query, rows
from berth.plan.kueue import ClusterQueuePlan, FlavorPlan
from berth.plan.monitoring import AlertPlan, DashboardPlan, PanelPlan, SectionPlan
from berth.plan.teams import TeamPlan

Row = Mapping[str, Any]

MANY_TEAMS = 12
"""More teams than this have no panel each: a dashboard of Cloud Monitoring holds a hundred widgets."""


class Watched(Struct, frozen=True, kw_only=True):
    """What a fleet has: `features` (gpu, tpu, multi-host, queued), and the `settings` of its collectors."""

    cluster: str
    backend: str
    features: frozenset[str]
    settings: frozenset[str]

    def shows(self, row: Row) -> bool:
        """Whether a row of a table concerns this fleet."""
        return row.get("needs") is None or row["needs"] in self.features

    def has(self, expression: str) -> bool:
        """Whether there are samples for an expression."""
        return available(expression, self.backend, self.settings)


class Threshold(Struct, frozen=True):
    """What a stack file changes of an alert: None leaves a value as it is; not `enabled` leaves the alert out."""

    enabled: bool = True
    limit: float | None = None
    seconds: int | None = None


def alert_keys() -> tuple[str, ...]:
    """The keys of all alerts, sorted."""
    return tuple(sorted(row["key"] for row in cast("list[Row]", rows("alerts"))))


def has_limit(key: str) -> bool:
    """Whether an alert has a threshold that could be changed."""
    return any(row["key"] == key and "limit" in row for row in cast("list[Row]", rows("alerts")))


def alerts(watched: Watched, thresholds: Mapping[str, Threshold]) -> tuple[AlertPlan, ...]:
    """Every alert that can fire in this fleet, in the order of the table."""
    return tuple(
        _alert(row, watched, thresholds.get(row["key"], Threshold()))
        for row in cast("list[Row]", rows("alerts"))
        if watched.shows(row) and watched.has(row["expression"]) and thresholds.get(row["key"], Threshold()).enabled
    )


def _alert(row: Row, watched: Watched, threshold: Threshold) -> AlertPlan:
    limit = row.get("limit") if threshold.limit is None else threshold.limit
    expression = row["expression"] if limit is None else row["expression"].replace("{limit}", f"{limit:g}")
    return AlertPlan(
        key=row["key"],
        title=row["title"],
        query=query(expression, watched.backend, watched.cluster),
        seconds=seconds(row["for"]) if threshold.seconds is None else threshold.seconds,
        severity=row["severity"],
        meaning=row["meaning"],
        remedy=row["remedy"],
        by=tuple(row.get("by", ())),
    )


def seconds(duration: str) -> int:
    """`15m` as 900."""
    return int(duration[:-1]) * {"s": 1, "m": 60, "h": 3600, "d": 86400}[duration[-1]]


def dashboards(
    watched: Watched,
    flavors: Sequence[FlavorPlan],
    queues: Sequence[ClusterQueuePlan],
    teams: Sequence[TeamPlan],
) -> tuple[DashboardPlan, ...]:
    """Every dashboard that has something to show, in the order of the table."""
    found: list[DashboardPlan] = []
    for row in cast("list[Row]", rows("dashboards")):
        sections = [*_sections(row, watched)] if watched.shows(row) else []
        if row["key"] == "queues":
            sections += _use(watched, flavors, queues, teams)
        if sections:
            found.append(DashboardPlan(key=row["key"], title=row["title"], sections=tuple(sections)))
    return tuple(found)


def _sections(dashboard: Row, watched: Watched) -> Iterator[SectionPlan]:
    for row in dashboard["sections"]:
        panels = [_panel(p, watched) for p in row["panels"] if all(map(watched.has, p["queries"].values()))]
        if watched.shows(row) and panels:
            yield SectionPlan(title=row["title"], panels=tuple(panels))


def _panel(row: Row, watched: Watched) -> PanelPlan:
    queries = {legend: query(text, watched.backend, watched.cluster) for legend, text in row["queries"].items()}
    return PanelPlan(
        title=row["title"],
        unit=row["unit"],
        queries=queries,
        stacked=row.get("stacked", False),
        limit=row.get("limit"),
    )


# --- what the plan itself knows: guarantees and ceilings --------------------------------------------------------------


def _use(
    watched: Watched,
    flavors: Sequence[FlavorPlan],
    queues: Sequence[ClusterQueuePlan],
    teams: Sequence[TeamPlan],
) -> Iterator[SectionPlan]:
    """Use of each flavor by queue against what it holds; and of each team against its guarantee and its ceiling."""
    usage = '<kueue_cluster_queue_resource_usage flavor="{}",resource="{}"{}>'
    if not watched.has(usage.format("", "", "")):
        return
    panels = [
        PanelPlan(
            title=f"{flavor.name}: {flavor.noun} used by queue",
            unit="1",
            stacked=True,
            limit=float(flavor.capacity.max),
            queries={
                "{{cluster_queue}}": _query(
                    watched, f"sum by (cluster_queue) ({usage.format(flavor.name, flavor.resource, '')})"
                )
            },
        )
        for flavor in flavors
        if flavor.promised
    ]
    yield SectionPlan(title="Use of each flavor, and what it holds", panels=tuple(panels))
    if len(teams) <= MANY_TEAMS:
        own = {team.name: [q.name for q in queues if q.teams == (team.name,)] for team in teams}
        named = {flavor.name: flavor for flavor in flavors}
        of_teams = [
            _entitled(watched, team, named[flavor], own[team.name], ceiling, usage)
            for team in teams
            for flavor, ceiling in team.ceiling.items()
            if own[team.name] and ceiling
        ]
        if of_teams:
            yield SectionPlan(title="Teams: use, guaranteed and ceiling", panels=tuple(of_teams))


def _entitled(
    watched: Watched, team: TeamPlan, flavor: FlavorPlan, queues: Sequence[str], ceiling: int, usage: str
) -> PanelPlan:
    named = ',cluster_queue=~"' + "|".join(name.replace(".", "\\\\.") for name in queues) + '"'
    used = f"sum({usage.format(flavor.name, flavor.resource, named)})"
    return PanelPlan(
        title=f"{team.name}: {flavor.noun} of {flavor.name}",
        unit="1",
        limit=float(ceiling),
        queries={"used": _query(watched, used), "guaranteed": f"vector({team.guaranteed.get(flavor.name, 0)})"},
    )


def _query(watched: Watched, expression: str) -> str:
    return query(expression, watched.backend, watched.cluster)
