"""Dashboards and alerts of one fleet on one backend: the rows of the tables that apply, filled in from its plan.

Rows of dashboards.yaml may be repeated for each flavor, team or kind of capacity of a fleet.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, cast

from msgspec import Struct
from msgspec.structs import replace

from berth.monitoring.metrics import is_available, monitoring_table, render_query
from berth.plan.fleet import PoolPlan
from berth.plan.kueue import ClusterQueuePlan, FlavorPlan
from berth.plan.monitoring import AlertPlan, DashboardPlan, PanelPlan, RecordingPlan, SectionPlan
from berth.plan.teams import TeamPlan

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


Values = tuple[tuple[str, Any], ...]
"""Placeholders with their values; hashable, because panels are cached by them."""

MAX_TEAM_PANELS = 48
"""Maximum of panels of teams; more teams have none. A dashboard of Cloud Monitoring has at most 100 widgets."""

AUTO_CREATED = "created by GKE"
"""Capacity of nodes in no node pool of the stack file."""


class PanelValues(Struct, frozen=True, kw_only=True):
    """Values of the placeholders for each panel of a flavor or team, and for each query of a capacity."""

    flavors: tuple[Values, ...] = ()
    teams: tuple[Values, ...] = ()
    capacities: tuple[Values, ...] = ()
    currency: str = ""

    def used_by(self, rows: Sequence[TableRow]) -> PanelValues:
        """Return the values that some rows expand to, without the others."""
        kinds = {row.get("each") for row in rows}
        return replace(
            self,
            flavors=self.flavors if "flavor" in kinds else (),
            teams=self.teams if "team" in kinds else (),
            capacities=self.capacities if "capacity" in kinds else (),
        )

    def expand(self, row: TableRow) -> Iterator[TableRow]:
        """Yield the panels of a row."""
        match row.get("each"):
            case "flavor":
                yield from (_fill(row, values) for values in self.flavors)
            case "team":
                yield from (_fill(row, values) for values in self.teams)
            case "capacity":
                pairs = [(values, *query) for values in self.capacities for query in row["queries"].items()]
                queries = {_text(legend, values): _text(query, values) for values, legend, query in pairs}
                yield from [{**row, "queries": queries}] if queries else []
            case _:
                yield {**row, "title": _text(row["title"], (("currency", self.currency),))}


def panel_values(
    flavors: Sequence[FlavorPlan],
    queues: Sequence[ClusterQueuePlan],
    teams: Sequence[TeamPlan],
    pools: Sequence[PoolPlan],
    currency: str,
) -> PanelValues:
    """Return the values of a fleet. A team has panels of the flavors in its own queues, if the teams are few."""
    by_flavor = {
        each.name: (("flavor", each.name), ("resource", each.resource), ("noun", each.noun)) for each in flavors
    }
    own = {(*queue.teams, entry.flavor) for queue in queues if len(queue.teams) == 1 for entry in queue.flavors}
    of_teams = tuple(
        (*by_flavor[flavor], ("team", team.name), ("size", float(ceiling)))
        for team in teams
        for flavor, ceiling in team.ceiling.items()
        if (team.name, flavor) in own and ceiling
    )
    return PanelValues(
        flavors=tuple((*by_flavor[each.name], ("size", float(each.capacity.max))) for each in flavors if each.promised),
        teams=of_teams if len(of_teams) <= MAX_TEAM_PANELS else (),
        capacities=tuple(_capacity_values(pools)),
        currency=currency,
    )


def _capacity_values(pools: Sequence[PoolPlan]) -> Iterator[Values]:
    """Yield each kind of capacity with a matcher of its node pools; nodes of other pools are the last kind."""
    names: dict[str, list[str]] = {}
    for pool in pools:
        names.setdefault(pool.capacity, []).extend(each.name for each in pool.node_pools)
    for capacity, node_pools in sorted(names.items()):
        if node_pools:
            yield ("capacity", capacity), ("node_pools", f'=~"{"|".join(node_pools)}"')
    if any(pool.made_by == "gke" for pool in pools):
        known = [name for each in names.values() for name in each]
        yield ("capacity", AUTO_CREATED), ("node_pools", f'!~"{"|".join([*known, "system"])}"')


def _fill(row: TableRow, values: Values) -> TableRow:
    filled = {**row, "title": _text(row["title"], values)}
    filled["queries"] = {_text(legend, values): _text(query, values) for legend, query in row["queries"].items()}
    return filled | ({"limit": dict(values)["size"]} if row.get("limit") == "size" else {})


def _text(template: str, values: Values) -> str:
    """Replace each `{name}` of `values`; a legend's `{{label}}` is Grafana's own, is none of them and is kept."""
    for name, value in values:
        template = template.replace(f"{{{name}}}", str(value))
    return template
