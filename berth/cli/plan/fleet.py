"""`berth plan`: what will exist, in the words of people, or as the JSON that docs/plan.md describes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from berth.cli import prices as costs
from berth.cli.plan import accelerator_networks, cohorts, compute_classes, reservations, workers
from berth.cli.tables import bar, table
from berth.cost.fleet import cost
from berth.cost.prices import Prices
from berth.diagnostics import Problem, dotted, in_words
from berth.evaluate import Verdict
from berth.plan.existing import ExistingClusterPlan
from berth.plan.fleet import FleetPlan, PoolPlan
from berth.plan.gke import ClusterPlan
from berth.plan.kueue import ClusterQueuePlan, FlavorPlan, QuotaPlan
from berth.plan.nodes import Bounds
from berth.plan.teams import TeamPlan
from berth.planner.queueing.preemption import push_outs, sentences
from berth.planner.queueing.quota_tree import accelerator_quotas
from berth.text import many, shape, source, span, whereabouts

# --- for machines -----------------------------------------------------------------------------------------------------


def as_json(verdict: Verdict, prices: Prices | None = None) -> dict[str, Any]:
    """The plan and its problems as docs/plan.md says; without a plan, its lists are empty. With prices, its cost."""
    plan = verdict.plan
    priced = {"cost": costs.as_json(cost(plan, prices))} if plan and prices else {}
    clusters = [plan, *(worker.plan for worker in plan.workers if worker.made_here)] if plan else []
    return {
        "stack": verdict.stack,
        "clusters": [_cluster(p) for p in clusters],
        "reservations": [reservations.as_json(each) for each in plan.held] if plan else [],
        "pools": [_pool(p) for p in plan.pools] if plan else [],
        "flavors": [_flavor(f) for f in plan.flavors] if plan else [],
        "cohorts": cohorts.as_json(plan) if plan else [],
        "computeClasses": [compute_classes.as_json(c) for p in clusters for c in p.compute_classes],
        "clusterQueues": [_cluster_queue(q) for q in plan.cluster_queues] if plan else [],
        "teams": [_team(t) for t in plan.teams] if plan else [],
        "networks": [each for p in clusters for each in accelerator_networks.as_json(p)],
        "workers": workers.as_json(plan) if plan else [],
        **priced,
        "problems": [problem(p) for p in verdict.problems],
    }


def problem(found: Problem) -> dict[str, str]:
    """One problem; `path` is dotted, `place` is FILE:LINE or empty."""
    return {
        "severity": found.severity,
        "code": found.code,
        "place": found.place,
        "path": dotted(found.path),
        "message": found.message,
    }


def _cluster(plan: FleetPlan) -> dict[str, Any]:
    cluster = plan.cluster
    made = cluster if isinstance(cluster, ClusterPlan) else None
    found = cluster if isinstance(cluster, ExistingClusterPlan) else None
    return {
        "name": cluster.name,
        "project": plan.project,
        "location": plan.region,
        "mode": cluster.mode,
        "releaseChannel": made.release_channel.lower() if made else None,
        "version": made.version if made else None,
        "kubeconfig": found.kubeconfig if found else None,
        "context": found.context if found else None,
    }


def _pool(pool: PoolPlan) -> dict[str, Any]:
    return {
        "name": pool.name,
        "machineType": pool.machine_type,
        "topology": pool.topology,
        "slices": pool.slices.max if pool.slices else None,
        "hostsPerSlice": pool.hosts_per_slice,
        "nodes": bounds(pool.nodes),
        "accelerators": bounds(pool.accelerators),
        "resource": pool.resource,
        "capacity": pool.capacity,
        "computeClass": pool.compute_class,
        "reservation": pool.reservation,
        "madeBy": pool.made_by,
        "zones": list(pool.zones),
        "flavor": pool.flavor,
        "nodePools": [n.name for n in pool.node_pools],
    }


def bounds(least_to_most: Bounds) -> dict[str, int]:
    """A count as every plan tells it to machines."""
    return {"min": least_to_most.min, "max": least_to_most.max}


def _flavor(flavor: FlavorPlan) -> dict[str, Any]:
    return {
        "name": flavor.name,
        "resource": flavor.resource,
        "capacity": bounds(flavor.capacity),
        "guaranteed": flavor.promised,
        "unit": flavor.unit,
        "oversubscription": flavor.oversubscription,
        "nodeLabels": dict(flavor.node_labels),
        "pools": list(flavor.pools),
        "topologyName": flavor.topology,
    }


def _cluster_queue(queue: ClusterQueuePlan) -> dict[str, Any]:
    preemption = queue.preemption
    return {
        "name": queue.name,
        "teams": list(queue.teams),
        "cohort": queue.cohort,
        "strategy": queue.queueing_strategy,
        "priority": queue.priority,
        "preemption": {
            "withinClusterQueue": preemption.within_cluster_queue,
            "reclaimWithinCohort": preemption.reclaim_within_cohort,
            "borrowWithinCohort": preemption.borrow_within_cohort or "Never",
        },
        "quotas": [cohorts.quota(entry.flavor, quota) for entry in queue.flavors for quota in entry.quotas],
    }


def _team(team: TeamPlan) -> dict[str, Any]:
    return {
        "name": team.name,
        "state": team.state,
        "namespaces": [place.name for place in team.namespaces],
        "queues": sorted({door.name for door in team.local_queues}),
        "guaranteed": dict(team.guaranteed),
        "ceiling": dict(team.ceiling),
    }


# --- for people -------------------------------------------------------------------------------------------------------


def text(verdict: Verdict, prices: Prices | None = None) -> str:
    """The plan as paragraphs: the answer, capacity, pools, teams, who can push out whom, what to worry about."""
    plan = verdict.plan
    parts = [*_planned(plan)] if plan else []
    if plan and prices:
        parts.append(costs.text(cost(plan, prices)))
    parts.append(problems_told(verdict))
    return "\n\n".join(part for part in parts if part)


def _planned(plan: FleetPlan) -> Iterator[str]:
    yield from (_head(plan), _capacity(plan), _pools(plan), compute_classes.text(plan), reservations.text(plan))
    yield from (
        workers.text(plan),
        accelerator_networks.text(plan),
        teams_text(plan),
        cohorts.text(plan),
        _relations(plan),
    )


def _head(plan: FleetPlan) -> str:
    counts = [
        *([many(len(plan.workers), "worker")] if plan.workers else []),
        many(len(plan.pools), "pool"),
        many(len(plan.teams), "team"),
        many(len(plan.cluster_queues), "cluster queue"),
    ]
    return f"{plan.stack} · {whereabouts(plan)}, {', '.join(counts)}"


def _capacity(plan: FleetPlan) -> str:
    claims = _claims(plan)
    rows = [
        [
            f.name,
            f"{span(f.capacity)} {f.noun}",
            str(f.promised),
            bar(f.promised, f.capacity.max),
            _borrowable(claims.get(f.name, [])),
            in_words(list(f.pools)),
        ]
        for f in plan.flavors
    ]
    return table(["Capacity", "accelerators", "promised", "", "may borrow", "pools"], rows, right=(2, 4))


def _claims(plan: FleetPlan) -> Mapping[str, list[QuotaPlan]]:
    resources = {f.name: f.resource for f in plan.flavors}
    found: dict[str, list[QuotaPlan]] = {}
    for queue in plan.cluster_queues:
        for flavor, quota in accelerator_quotas(queue, resources):
            found.setdefault(flavor, []).append(quota)
    return found


def _borrowable(quotas: list[QuotaPlan]) -> str:
    if any(q.borrowing_limit is None for q in quotas):
        return "unlimited"
    return str(sum(q.borrowing_limit or 0 for q in quotas) or "–")


def _pools(plan: FleetPlan) -> str:
    nouns = {f.name: f.noun for f in plan.flavors}
    rows = [
        [_named(p), p.machine_type, span(p.nodes), f"{span(p.accelerators)} {nouns[p.flavor]}", shape(p), source(p)]
        for p in plan.pools
    ]
    return table(["Pools", "machine", "nodes", "accelerators", "shape", "from"], rows, right=(2,))


def _named(what: PoolPlan | TeamPlan) -> str:
    """Its name, with the one that its things in the cluster have kept."""
    return f"{what.name} (formerly {what.formerly})" if what.formerly else what.name


def teams_text(plan: FleetPlan, only: str | None = None) -> str:
    """What each team (or the one named) is guaranteed, and can reach at most."""
    teams = [team for team in plan.teams if only in (None, team.name)]
    rows = [row for team in teams for row in _entitlements(team, {f.name: f.noun for f in plan.flavors})]
    return table(["Teams", "flavor", "guaranteed", "ceiling", ""], rows, right=(2, 3))


def _entitlements(team: TeamPlan, nouns: Mapping[str, str]) -> Iterator[list[str]]:
    """A row for each flavor that the team can ever use; the first one names the team."""
    name = _named(team)
    for flavor, most in team.ceiling.items():
        yield [name, flavor, str(team.guaranteed.get(flavor, 0) or "–"), str(most), nouns[flavor]]
        name = ""
    if name:
        yield [name, "–", "–", "–", "no queues"]


def _relations(plan: FleetPlan) -> str:
    lines = [f"  {line}" for line in sentences(push_outs(plan), len(plan.cluster_queues))]
    return "\n".join(["Who can push out whom", *(lines or ["  nobody ▸ nobody"])]) if plan.cluster_queues else ""


def problems_told(verdict: Verdict) -> str:
    """Every fault, warning and note, as a paragraph each."""
    troubles = [_listed("fault", verdict.faults), _listed("warning", verdict.warnings)]
    parts = [part for part in troubles if part] or ["No faults, no warnings."]
    return "\n\n".join([*parts, *filter(None, [_listed("note", verdict.notes)])])


def _listed(what: str, found: tuple[Problem, ...]) -> str:
    return "\n".join([many(len(found), what), *(f"  {p.line()}" for p in found)]) if found else ""
