"""What does it exactly mean? A spec becomes a plan: pure, total, and in one direction."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from components.plan.fleet import FleetPlan
from stacks.planner import cluster, flavors, pools, priorities, queues, teams
from stacks.planner.ceilings import accelerator_quotas
from stacks.planner.draft import Draft
from stacks.problems import Path, Problem
from stacks.spec.parse import Parsed


@dataclass(frozen=True, slots=True)
class Planned:
    """A plan of everything that could be planned, what was found on the way, and where each queue came from.

    `complete` is False where entries had to be left out: what a proof then finds missing may only be set aside.
    """

    plan: FleetPlan
    problems: tuple[Problem, ...]
    origins: Mapping[tuple[str, str], Path]
    complete: bool


def plan_fleet(stack: str, parsed: Parsed) -> Planned | None:
    """Plan the fleet of one stack; None where not even its frame could be understood."""
    if parsed.spec is None:
        return None
    draft = Draft(stack, parsed.spec, set(parsed.set_aside))
    plan = _plan(draft)
    return Planned(plan, tuple(draft.problems.found), draft.origins, not draft.set_aside)


def _plan(draft: Draft) -> FleetPlan:
    known = pools.pools(draft)
    kinds = flavors.flavors(draft, known)
    asked = queues.cluster_queues(draft, known, kinds)
    resource_of = {f.name: f.resource for f in kinds.values()}
    promised = Counter[str]()
    for queue in asked:
        for flavor, quota in accelerator_quotas(queue, resource_of):
            promised[flavor] += quota.nominal
    flavor_of = {p.name: f.name for f in kinds.values() for p in f.pools}
    return FleetPlan(
        stack=draft.stack,
        project=draft.spec.project,
        region=draft.spec.region,
        services=cluster.services(draft),
        cluster=cluster.cluster_plan(draft),
        system_pool=cluster.system_pool(draft),
        reservations=pools.reservations(draft, known),
        pools=tuple(pools.pool_plan(draft, p, flavor_of[n]) for n, p in known.items() if n in flavor_of),
        charts=priorities.charts(draft, len(asked)),
        flavors=tuple(flavors.flavor_plan(draft, f, promised[n]) for n, f in kinds.items()),
        priorities=priorities.priorities(draft),
        cohorts=priorities.cohorts(draft),
        cluster_queues=asked,
        teams=teams.teams(draft, asked, resource_of),
        labels=cluster.labels(draft),
    )
