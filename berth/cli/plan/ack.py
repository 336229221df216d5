"""`berth plan` of a fleet on Alibaba Cloud: members, capacity, teams and the quota tree."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from berth.cli.arguments import problem_as_json
from berth.cli.plan.fleet import bounds_as_json, left_out_text, problems_text
from berth.cli.tables import bar, table
from berth.diagnostics import join_words
from berth.evaluate import Evaluation
from berth.manifests.quantities import quantity
from berth.plan.ack import AckFleetPlan, AckNodePoolPlan, MemberPlan, PropagationPlan, QuotaNodePlan
from berth.plan.kueue import FlavorPlan
from berth.plan.teams import TeamPlan
from berth.text import format_range, job_placement, pluralize

# --- JSON -------------------------------------------------------------------------------------------------------------


def as_json(evaluation: Evaluation) -> dict[str, Any]:
    """Return the plan and its problems as JSON values (docs/backends.md)."""
    plan = evaluation.plan
    assert isinstance(plan, AckFleetPlan)
    return {
        "stack": plan.stack,
        "region": plan.region,
        "fleet": {"name": plan.fleet.name, "existing": plan.fleet.existing},
        "members": [_member(each) for each in plan.members],
        "flavors": [
            {"name": f.name, "resource": f.resource, "capacity": bounds_as_json(f.capacity), "guaranteed": f.promised}
            for f in plan.flavors
        ],
        "quotaTree": None if plan.quotas is None else _node(plan.quotas),
        "propagations": [_propagation(each) for each in plan.propagations],
        "teams": [_team(each) for each in plan.teams],
        "leftOut": list(evaluation.left_out),
        "problems": [problem_as_json(each) for each in evaluation.problems],
    }


def _member(member: MemberPlan) -> dict[str, Any]:
    return {
        "name": member.name,
        "existing": member.existing,
        "clusterSpec": None if member.existing else member.cluster_spec,
        "version": member.version,
        "reservation": member.reservation,
        "nodePools": [_node_pool(each) for each in member.node_pools],
    }


def _node_pool(pool: AckNodePoolPlan) -> dict[str, Any]:
    return {
        "name": pool.name,
        "instanceType": pool.instance_type,
        "nodes": bounds_as_json(pool.nodes),
        "accelerators": bounds_as_json(pool.accelerators),
        "capacity": "spot" if pool.spot else "on-demand",
        "flavor": pool.flavor,
    }


def _node(node: QuotaNodePlan) -> dict[str, Any]:
    return {
        "name": node.name,
        "min": dict(node.minimum),
        "max": dict(node.maximum),
        "lend": None if node.lend is None else dict(node.lend),
        "maxJobs": node.max_jobs,
        "namespaces": list(node.namespaces),
        "children": [_node(child) for child in node.children],
    }


def _propagation(policy: PropagationPlan) -> dict[str, Any]:
    return {
        "name": policy.name,
        "namespace": policy.namespace,
        "gang": policy.gang,
        "suspension": policy.suspension,
    }


def _team(team: TeamPlan) -> dict[str, Any]:
    return {
        "name": team.name,
        "namespaces": [place.name for place in team.namespaces],
        "guaranteed": dict(team.guaranteed),
        "ceiling": dict(team.ceiling),
    }


# --- text -------------------------------------------------------------------------------------------------------------


def text(evaluation: Evaluation) -> str:
    """Return the plan as paragraphs: a summary, capacity, members, teams, the quota tree, problems."""
    plan = evaluation.plan
    assert isinstance(plan, AckFleetPlan)
    tree = "" if plan.quotas is None else _tree(plan.quotas)
    jobs = "\n".join(job_placement(plan))
    parts = [_head(plan), _capacity(plan), _pools(plan), _teams(plan), tree, jobs]
    return "\n\n".join(part for part in (left_out_text(evaluation), *parts, problems_text(evaluation)) if part)


def _head(plan: AckFleetPlan) -> str:
    fleet_state = "existing" if plan.fleet.existing else "new"
    existing = [member.name for member in plan.members if member.existing]
    existing_text = f" ({join_words(existing)} existing)" if existing else ""
    return (
        f"{plan.stack} · Alibaba Cloud · {plan.region} · ACK One fleet {plan.fleet.name} ({fleet_state}), "
        f"{pluralize(len(plan.members), 'member')}{existing_text}, {pluralize(len(plan.teams), 'team')}, "
        f"{'no quota tree' if plan.quotas is None else pluralize(len(plan.cluster_queues), 'queue')}"
    )


def _capacity(plan: AckFleetPlan) -> str:
    if plan.quotas is None:
        rows = [[f.name, f"{format_range(f.capacity)} {f.noun}", _per_member(plan, f)] for f in plan.flavors]
        return table(["Capacity", "GPUs", "largest job"], rows)
    rows = [
        [
            f.name,
            f"{format_range(f.capacity)} {f.noun}",
            str(f.promised),
            bar(f.promised, f.capacity.max),
            _per_member(plan, f),
        ]
        for f in plan.flavors
    ]
    return table(["Capacity", "GPUs", "guaranteed", "", "largest job"], rows, right=(2,))


def _per_member(plan: AckFleetPlan, flavor: FlavorPlan) -> str:
    """Return the maximum of one member, because a gang runs on a single member."""
    capacities: Mapping[str, int] = {
        member.name: sum(pool.accelerators.max for pool in member.node_pools if pool.flavor == flavor.name)
        for member in plan.members
    }
    largest = max(capacities.values(), default=0)
    return f"{largest}, on {join_words([name for name, each in capacities.items() if each == largest])}"


def _pools(plan: AckFleetPlan) -> str:
    rows = [
        [
            f"{member.name}/{pool.name}",
            pool.instance_type,
            format_range(pool.nodes),
            f"{format_range(pool.accelerators)} {pool.gpu}",
            "existing" if member.existing else "spot" if pool.spot else "on-demand",
        ]
        for member in plan.members
        for pool in member.node_pools
    ]
    return table(["Node pools", "instance type", "nodes", "GPUs", "from"], rows, right=(2,))


def _teams(plan: AckFleetPlan) -> str:
    rows = [row for team in plan.teams for row in _entitlements(team)]
    return table(["Teams", "flavor", "guaranteed", "ceiling", "namespaces"], rows, right=(2, 3))


def _entitlements(team: TeamPlan) -> Iterator[list[str]]:
    name, namespaces = team.name, join_words([place.name for place in team.namespaces])
    for flavor, ceiling in team.ceiling.items():
        yield [name, flavor, str(team.guaranteed.get(flavor, 0) or "–"), str(ceiling), namespaces]
        name, namespaces = "", ""
    if name:
        yield [name, "–", "–", "–", namespaces]


def _tree(root: QuotaNodePlan) -> str:
    resources = list(root.minimum)
    rows = [
        [
            "  " * depth + node.name,
            *(_range(resource, node) for resource in resources),
            "–" if node.max_jobs is None else str(node.max_jobs),
            join_words(list(node.namespaces)) if node.namespaces else "–",
        ]
        for depth, node in root.walk()
    ]
    return table(["Quota tree (min–max)", *resources, "max jobs", "namespaces"], rows)


def _range(resource: str, node: QuotaNodePlan) -> str:
    least, most = quantity(resource, node.minimum[resource]), quantity(resource, node.maximum[resource])
    return least if least == most else f"{least}–{most}"
