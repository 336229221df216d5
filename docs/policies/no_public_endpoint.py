"""In production the control plane has no public address."""

from collections.abc import Iterator

from berth.diagnostics import Problem
from berth.plan.fleet import FleetPlan
from berth.plan.gke import ClusterPlan
from berth.policy import fault, warning


def no_public_endpoint(plan: FleetPlan) -> Iterator[Problem]:
    """A stack whose name begins with prod has none; another one that is open to everybody is warned."""
    if not isinstance(plan.cluster, ClusterPlan):  # an existing cluster
        return
    control_plane = plan.cluster.control_plane
    if not control_plane.public_endpoint:
        return
    where = ("cluster", "controlPlane", "publicEndpoint")
    if plan.stack.startswith("prod"):
        yield fault(where, "a production cluster has no public endpoint; write false")
    elif control_plane.authorized_networks is None:
        yield warning(where, "anybody may knock; list authorizedNetworks, or write false")
