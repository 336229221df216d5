"""A cluster is deleted neither by the engine nor by hand."""

from collections.abc import Iterator

from berth.diagnostics import Problem
from berth.plan.fleet import FleetPlan
from berth.plan.gke import ClusterPlan
from berth.policy import fault


def deletion_protection(plan: FleetPlan) -> Iterator[Problem]:
    """GKE's own protection is on, and Pulumi's."""
    if not isinstance(plan.cluster, ClusterPlan):  # an existing cluster
        return
    if not plan.cluster.deletion_protection:
        yield fault(("cluster", "deletionProtection"), "the cluster can be deleted; remove it")
    if not plan.cluster.protect:
        yield fault(("protect",), "the engine may delete the cluster; leave protect and allowDeletion out")
