"""Rows of dashboards.yaml that are repeated for each flavor, team or kind of capacity of a fleet."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from berth.plan.fleet import PoolPlan
from berth.plan.kueue import ClusterQueuePlan, FlavorPlan
from berth.plan.teams import TeamPlan

TableRow = Mapping[str, Any]
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
