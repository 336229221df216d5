"""Nodes have no public addresses."""

from collections.abc import Iterator

from components.plan.fleet import FleetPlan
from components.plan.gke import ClusterPlan
from stacks.policy import fault
from stacks.problems import Problem


def private_nodes(plan: FleetPlan) -> Iterator[Problem]:
    """GKE gives the nodes addresses of the VPC alone."""
    if isinstance(plan.cluster, ClusterPlan) and not plan.cluster.control_plane.private_nodes:
        yield fault(("cluster", "privateNodes"), "'false' gives nodes public addresses; leave it out")
