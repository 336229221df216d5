"""The plan of a fleet, as text and as the JSON of docs/plan.md."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from berth.cli import prices as costs
from berth.cli.arguments import problem_as_json
from berth.cli.plan import accelerator_networks, cohorts, compute_classes, quotas, reservations, workers
from berth.cli.tables import bar, table
from berth.cost.fleet import fleet_cost
from berth.cost.prices import Prices
from berth.diagnostics import Problem, Severity, join_words
from berth.evaluate import Evaluation
from berth.plan.existing import ExistingClusterPlan, ExistingGkeClusterPlan
from berth.plan.fleet import FleetPlan, PoolPlan
from berth.plan.gke import ClusterPlan
from berth.plan.kueue import ClusterQueuePlan, FlavorPlan, QuotaPlan
from berth.plan.nodes import Bounds
from berth.plan.teams import TeamPlan
from berth.planner.queueing.preemption import describe_rules, preemption_rules
from berth.planner.queueing.quota_tree import accelerator_quotas
from berth.text import abbreviate_names, capacity_source, cluster_summary, format_range, format_slices, pluralize

# --- JSON -------------------------------------------------------------------------------------------------------------


def as_json(evaluation: Evaluation, prices: Prices | None = None) -> dict[str, Any]:
    """Return the plan, its problems and, with prices, its cost as JSON values; without a plan, lists are empty."""
    plan = evaluation.fleet_plan
    priced = {"cost": costs.as_json(fleet_cost(plan, prices))} if plan and prices else {}
    clusters = [plan, *(worker.plan for worker in plan.workers if worker.made_here)] if plan else []
    return {
        "stack": evaluation.stack,
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
        "leftOut": list(evaluation.left_out),
        "problems": [problem_as_json(p) for p in evaluation.problems],
    }


def _cluster(plan: FleetPlan) -> dict[str, Any]:
    cluster = plan.cluster
    existing_cluster = cluster if isinstance(cluster, ExistingClusterPlan) else None
    channel = None if isinstance(cluster, ExistingClusterPlan) else cluster.release_channel
    return {
        "name": cluster.name,
        "project": plan.project,
        "location": cluster.location if isinstance(cluster, ExistingGkeClusterPlan) else plan.region,
        "existing": not isinstance(cluster, ClusterPlan),
        "mode": cluster.mode,
        "releaseChannel": channel.lower() if channel else None,
        "version": None if isinstance(cluster, ExistingClusterPlan) else cluster.version,
        "kubeconfig": existing_cluster.kubeconfig if existing_cluster else None,
        "context": existing_cluster.context if existing_cluster else None,
    }


def _pool(pool: PoolPlan) -> dict[str, Any]:
    return {
        "name": pool.name,
        "machineType": pool.machine_type,
        "topology": pool.topology,
        "slices": pool.slices.max if pool.slices else None,
        "hostsPerSlice": pool.hosts_per_slice,
        "nodes": bounds_as_json(pool.nodes),
        "accelerators": bounds_as_json(pool.accelerators),
        "resource": pool.resource,
        "capacity": pool.capacity,
        "computeClass": pool.compute_class,
        "reservation": pool.reservation,
        "madeBy": pool.made_by,
        "zones": list(pool.zones),
        "flavor": pool.flavor,
        "nodePools": [n.name for n in pool.node_pools],
    }


def bounds_as_json(interval: Bounds) -> dict[str, int]:
    """Return a range of counts as JSON values, `{min, max}`."""
    return {"min": interval.min, "max": interval.max}


def _flavor(flavor: FlavorPlan) -> dict[str, Any]:
    return {
        "name": flavor.name,
        "resource": flavor.resource,
        "capacity": bounds_as_json(flavor.capacity),
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
        "quotas": [cohorts.quota_as_json(entry.flavor, quota) for entry in queue.flavors for quota in entry.quotas],
    }


def _team(team: TeamPlan) -> dict[str, Any]:
    return {
        "name": team.name,
        "state": team.state,
        "namespaces": [place.name for place in team.namespaces],
        "queues": sorted({local_queue.name for local_queue in team.local_queues}),
        "guaranteed": dict(team.guaranteed),
        "ceiling": dict(team.ceiling),
    }


# --- text -------------------------------------------------------------------------------------------------------------


def text(evaluation: Evaluation, prices: Prices | None = None) -> str:
    """Return the plan as paragraphs: a summary, capacity, pools, teams, who can preempt whom, problems."""
    plan = evaluation.fleet_plan
    parts = [left_out_text(evaluation), *(_plan_parts(plan) if plan else ())]
    if plan and prices:
        parts.append(costs.text(fleet_cost(plan, prices)))
    parts.append(problems_text(evaluation))
    return "\n\n".join(part for part in parts if part)


def _plan_parts(plan: FleetPlan) -> Iterator[str]:
    yield from (_head(plan), _capacity(plan), _pools(plan), compute_classes.text(plan), reservations.text(plan))
    yield quotas.text(plan)
    yield from (
        workers.text(plan),
        accelerator_networks.text(plan),
        teams_text(plan),
        cohorts.text(plan),
        _preemption_text(plan),
    )


def _head(plan: FleetPlan) -> str:
    counts = [
        *([pluralize(len(plan.workers), "worker")] if plan.workers else []),
        pluralize(len(plan.pools), "pool"),
        pluralize(len(plan.teams), "team"),
        pluralize(len(plan.cluster_queues), "cluster queue"),
    ]
    return f"{plan.stack} · {cluster_summary(plan)}, {', '.join(counts)}"


def _capacity(plan: FleetPlan) -> str:
    quotas = _quotas_by_flavor(plan)
    rows = [
        [
            f.name,
            f"{format_range(f.capacity)} {f.noun}",
            str(f.promised),
            bar(f.promised, f.capacity.max),
            _borrowable(quotas.get(f.name, [])),
            join_words(list(f.pools)),
        ]
        for f in plan.flavors
    ]
    return table(["Capacity", "accelerators", "guaranteed", "", "may borrow", "pools"], rows, right=(2, 4))


def _quotas_by_flavor(plan: FleetPlan) -> Mapping[str, list[QuotaPlan]]:
    resources = {f.name: f.resource for f in plan.flavors}
    quotas: dict[str, list[QuotaPlan]] = {}
    for queue in plan.cluster_queues:
        for flavor, quota in accelerator_quotas(queue, resources):
            quotas.setdefault(flavor, []).append(quota)
    return quotas


def _borrowable(quotas: list[QuotaPlan]) -> str:
    if any(q.borrowing_limit is None for q in quotas):
        return "unlimited"
    return str(sum(q.borrowing_limit or 0 for q in quotas) or "–")


def _pools(plan: FleetPlan) -> str:
    nouns = {f.name: f.noun for f in plan.flavors}
    rows = [
        [
            _name_with_former(p),
            p.machine_type,
            format_range(p.nodes),
            f"{format_range(p.accelerators)} {nouns[p.flavor]}",
            format_slices(p),
            capacity_source(p),
        ]
        for p in plan.pools
    ]
    return table(["Pools", "machine", "nodes", "accelerators", "shape", "from"], rows, right=(2,))


def _name_with_former(entry: PoolPlan | TeamPlan) -> str:
    """Return the name, with the former one that its objects in the cluster still have."""
    return f"{entry.name} (formerly {entry.formerly})" if entry.formerly else entry.name


def teams_text(plan: FleetPlan, only: str | None = None) -> str:
    """Return a table of each team's guarantee and ceiling; `only` selects one team."""
    teams = [team for team in plan.teams if only in (None, team.name)]
    rows = [row for team in teams for row in _entitlements(team, {f.name: f.noun for f in plan.flavors})]
    return table(["Teams", "flavor", "guaranteed", "ceiling", ""], rows, right=(2, 3))


def _entitlements(team: TeamPlan, nouns: Mapping[str, str]) -> Iterator[list[str]]:
    """Yield a row for each flavor that the team can use; only the first one has the team's name."""
    name = _name_with_former(team)
    for flavor, ceiling in team.ceiling.items():
        yield [name, flavor, str(team.guaranteed.get(flavor, 0) or "–"), str(ceiling), nouns[flavor]]
        name = ""
    if name:
        yield [name, "–", "–", "–", "no queues"]


def _preemption_text(plan: FleetPlan) -> str:
    lines = [f"  {line}" for line in describe_rules(preemption_rules(plan), len(plan.cluster_queues))]
    return (
        "\n".join(["Who can preempt whom", *(lines or ["  no queue can preempt jobs"])]) if plan.cluster_queues else ""
    )


def left_out_text(evaluation: Evaluation) -> str:
    """Return what a plan with faults leaves out, as the first thing to read; empty without faults."""
    if not evaluation.faults:
        return ""
    head = f"{evaluation.stack} has {pluralize(len(evaluation.faults), 'fault')}, listed at the end."
    cause = "it" if len(evaluation.faults) == 1 else "them"
    if evaluation.plan is None:
        return f"{head} Because of {cause} there is no plan."
    if not evaluation.left_out:
        return head
    return f"{head} Because of {cause} this plan leaves out {abbreviate_names(list(evaluation.left_out))}."


def problems_text(evaluation: Evaluation) -> str:
    """Return the faults, the warnings and the notes, one paragraph each."""
    sections = [_problem_list(Severity.FAULT, evaluation.faults), _problem_list(Severity.WARNING, evaluation.warnings)]
    parts = [part for part in sections if part] or ["No faults or warnings."]
    return "\n\n".join([*parts, *filter(None, [_problem_list(Severity.NOTE, evaluation.notes)])])


def _problem_list(severity: Severity, problems: tuple[Problem, ...]) -> str:
    return "\n".join([pluralize(len(problems), severity), *(f"  {p.line()}" for p in problems)]) if problems else ""
