"""Nodes have no public addresses."""

from collections.abc import Iterator

from berth.diagnostics import Problem
from berth.plan.fleet import FleetPlan
from berth.plan.gke import ClusterPlan
from berth.policy import fault


def private_nodes(plan: FleetPlan) -> Iterator[Problem]:
    """Require nodes with only internal addresses."""
    if isinstance(plan.cluster, ClusterPlan) and not plan.cluster.control_plane.private_nodes:
        yield fault(("cluster", "privateNodes"), "'false' gives nodes public addresses; remove it")
