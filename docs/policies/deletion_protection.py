"""Neither Pulumi nor a user can delete the cluster."""

from collections.abc import Iterator

from berth.diagnostics import Problem
from berth.plan.fleet import FleetPlan
from berth.plan.gke import ClusterPlan
from berth.policy import fault


def deletion_protection(plan: FleetPlan) -> Iterator[Problem]:
    """Require the deletion protection of GKE and the protection of Pulumi."""
    if not isinstance(plan.cluster, ClusterPlan):  # an existing cluster
        return
    if not plan.cluster.settings.deletion_protection:
        yield fault(("cluster", "deletionProtection"), "the cluster can be deleted by hand; remove it")
    if not plan.cluster.protect:
        yield fault(("protect",), "Pulumi can delete the cluster; remove protect and allowDeletion")
