"""The control plane of a production cluster has no public endpoint."""

from collections.abc import Iterator

from berth.diagnostics import Problem
from berth.plan.fleet import FleetPlan
from berth.plan.gke import ClusterPlan
from berth.policy import fault, warning


def no_public_endpoint(plan: FleetPlan) -> Iterator[Problem]:
    """Refuse a public endpoint in stacks named prod…; in others, warn if it is open to all addresses."""
    if not isinstance(plan.cluster, ClusterPlan):  # an existing cluster
        return
    control_plane = plan.cluster.control_plane
    if not control_plane.public_endpoint:
        return
    where = ("cluster", "controlPlane", "publicEndpoint")
    if plan.stack.startswith("prod"):
        yield fault(where, "a production cluster must not have a public endpoint; write false")
    elif control_plane.authorized_networks is None:
        yield warning(where, "the control plane is open to all addresses; list authorizedNetworks, or write false")
