"""A small fleet without faults and warnings, to be changed key by key, and its messages.

No file is read: values go straight into parse, plan and prove.
"""

from __future__ import annotations

import copy
from typing import Any

from berth.diagnostics import Problem, format_path
from berth.plan.fleet import FleetPlan, PoolPlan
from berth.plan.gke import ClusterPlan, NetworkPlan
from berth.plan.kueue import ClusterQueuePlan, FlavorPlan, QuotaPlan
from berth.plan.teams import TeamPlan
from berth.planner import PlanningResult, plan_fleet
from berth.spec.parse import parse_fleet
from berth.validation import validate

ZONE = "us-central1-a"
GI = 2**30
REMOVED: Any = ...
"""In `changed`: the key is taken out."""

# Two teams share 3 slices of 8 v5e chips and 4 nodes of 2 L4; everything is promised once.
_FLEET: dict[str, Any] = {
    "project": "acme-ml-dev",
    "region": "us-central1",
    "cluster": {
        "controlPlane": {"publicEndpoint": False},
        "maintenance": {
            "exclusions": [{"name": "freeze", "start": "2026-12-01T00:00:00Z", "end": "2027-01-10T00:00:00Z"}]
        },
    },
    "pools": {
        "v5e": {"machineType": "ct5lp-hightpu-4t", "topology": "2x4", "slices": 3, "zone": ZONE},
        "l4": {"machineType": "g2-standard-24", "nodes": 4, "zone": ZONE},
    },
    "priorities": {"low": {"value": 10, "default": True, "preempts": False}, "high": {"value": 20}},
    "cohorts": {"research": {}},
    "teams": {
        "vision": {
            "cohort": "research",
            "queues": {
                "train": {"flavors": [{"pool": "v5e", "guaranteed": "1 slice"}]},
                "urgent": {"flavors": [{"pool": "l4", "guaranteed": 4}]},
            },
        },
        "speech": {
            "cohort": "research",
            "queues": {
                "train": {"flavors": [{"pool": "v5e", "guaranteed": "2 slices"}]},
                "serve": {"flavors": [{"pool": "l4", "guaranteed": 4}]},
            },
        },
    },
}

TRAIN = "teams.vision.queues.train"
URGENT = "teams.vision.queues.urgent"


def fleet_with(changes: dict[str, Any] | None = None, /, base: dict[str, Any] | None = None) -> dict[str, Any]:
    """The small fleet (or `base`) with values put in at dotted paths; `flavors.0` is a list's item, GONE takes out."""
    fleet = copy.deepcopy(base or _FLEET)
    for path, value in (changes or {}).items():
        steps: list[Any] = [int(step) if step.isdecimal() else step for step in path.split(".")]
        *parents, last = steps
        node: Any = fleet
        for step in parents:
            node = node[step] if isinstance(node, list) else node.setdefault(step, {})
        if value is REMOVED:
            del node[last]
        else:
            node[last] = copy.deepcopy(value)
    return fleet


def fleet_of_pools(pools: dict[str, dict[str, Any]], **rest: Any) -> dict[str, Any]:
    """A fleet of these pools, all of each guaranteed to one team; their zones are accepted if they say nothing."""
    pools = {name: pool if "computeClass" in pool else {"acceptZone": True, **pool} for name, pool in pools.items()}
    queues = {name: {"flavors": [{"pool": name, "guaranteed": "all"}]} for name in pools}
    return fleet_with({"pools": pools, "teams": {"vision": {"queues": queues}}, "cohorts": REMOVED, **rest})


def run_planner(fleet: dict[str, Any], stack: str = "test") -> PlanningResult:
    """What the planner makes of a fleet."""
    result = plan_fleet(stack, parse_fleet(fleet))
    assert result is not None
    return result


def own_cluster(plan: FleetPlan) -> ClusterPlan:
    """The cluster of a fleet that makes its own."""
    assert isinstance(plan.cluster, ClusterPlan)
    return plan.cluster


def own_network(cluster: ClusterPlan) -> NetworkPlan:
    """The network of a cluster that stands in the fleet's own."""
    assert isinstance(cluster.network, NetworkPlan)
    return cluster.network


def plan(fleet: dict[str, Any], stack: str = "test") -> FleetPlan:
    """The plan of a fleet that has no fault."""
    result, reported = _evaluate(fleet, stack)
    assert [_code_and_path(problem) for problem in reported if problem.severity == "fault"] == []
    assert result is not None
    return result.plan


def problems(fleet: dict[str, Any], stack: str = "test") -> list[Problem]:
    """Return all problems of a fleet."""
    return _evaluate(fleet, stack)[1]


def _evaluate(fleet: dict[str, Any], stack: str) -> tuple[PlanningResult | None, list[Problem]]:
    """What the planner makes of a fleet, and everything that is reported for it."""
    parsed = parse_fleet(fleet)
    result = plan_fleet(stack, parsed)
    return result, [*parsed.problems, *((*result.problems, *validate(result)) if result else ())]


def faults(fleet: dict[str, Any], stack: str = "test") -> list[str]:
    """`code path` of every fault."""
    return [_code_and_path(p) for p in problems(fleet, stack) if p.severity == "fault"]


def warnings(fleet: dict[str, Any], stack: str = "test") -> list[str]:
    """`code path` of every warning."""
    return [_code_and_path(p) for p in problems(fleet, stack) if p.severity == "warning"]


def message(fleet: dict[str, Any], code: str) -> str:
    """What the only problem of that code says."""
    (problem,) = [p for p in problems(fleet) if p.code == code]
    return problem.message


def _code_and_path(problem: Problem) -> str:
    return f"{problem.code} {format_path(problem.path)}"


# --- finding things in a plan -----------------------------------------------------------------------------------------


def pool(plan: FleetPlan, name: str) -> PoolPlan:
    """A pool by name."""
    return next(p for p in plan.pools if p.name == name)


def flavor(plan: FleetPlan, name: str) -> FlavorPlan:
    """A flavor by name."""
    return next(f for f in plan.flavors if f.name == name)


def queue(plan: FleetPlan, name: str) -> ClusterQueuePlan:
    """A cluster queue by name."""
    return next(q for q in plan.cluster_queues if q.name == name)


def team(plan: FleetPlan, name: str) -> TeamPlan:
    """A team by name."""
    return next(t for t in plan.teams if t.name == name)


def quota(plan: FleetPlan, queue_name: str, flavor_name: str, resource: str) -> QuotaPlan:
    """One quota of a cluster queue."""
    (entry,) = (e for e in queue(plan, queue_name).flavors if e.flavor == flavor_name)
    (match,) = (q for q in entry.quotas if q.resource == resource)
    return match
