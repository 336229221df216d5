"""The plan of a fleet on Alibaba Cloud as the JSON of docs/backends.md."""

from __future__ import annotations

from typing import Any

from berth.cli.plan.fleet import bounds_as_json
from berth.evaluate import Evaluation
from berth.overview.calendar import calendar_as_json
from berth.plan.ack import AckFleetPlan, AckNodePoolPlan, MemberPlan, PropagationPlan, QuotaNodePlan
from berth.plan.teams import TeamPlan


def ack_plan_as_json(evaluation: Evaluation) -> dict[str, Any]:
    """Return the plan and its problems as JSON values (docs/backends.md)."""
    plan = evaluation.plan if isinstance(evaluation.plan, AckFleetPlan) else None
    assert plan is not None
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
        "calendar": calendar_as_json(plan),
        "leftOut": list(evaluation.left_out),
        "problems": [each.as_json() for each in evaluation.problems],
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
