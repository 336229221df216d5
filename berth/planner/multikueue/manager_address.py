"""The address from which a manager reaches its workers: reserved, so that they authorize it from the first update."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from msgspec.structs import replace

from berth.names import MAX_COMPUTE_NAME, shorten
from berth.plan.fleet import FleetPlan, WorkerPlan
from berth.plan.gke import ClusterPlan, NetworkPlan
from berth.planner.context import PlanningContext


def reserve_manager_address(
    context: PlanningContext, manager: FleetPlan, workers: Sequence[WorkerPlan]
) -> tuple[FleetPlan, list[WorkerPlan]]:
    """The manager with a reserved address for its NAT, and the workers that authorize it.

    Only workers that list authorized networks need it. A note instead where the address is not Berth's to reserve.
    """
    closed = [worker.name for worker in workers if _authorizes_addresses(worker)]
    cluster = manager.cluster
    if not closed or not isinstance(cluster, ClusterPlan):
        return manager, [*workers]
    network = cluster.network
    if not isinstance(network, NetworkPlan) or not network.nat or not cluster.control_plane.private_nodes:
        _note_unknown_address(context, closed)
        return manager, [*workers]
    address = shorten(f"{network.name}-nat", MAX_COMPUTE_NAME)
    reserved = replace(cluster, network=replace(network, nat_address=address))
    return replace(manager, cluster=reserved), [
        _with_manager_access(worker) if worker.name in closed else worker for worker in workers
    ]


def _authorizes_addresses(worker: WorkerPlan) -> bool:
    """Whether the manager reaches a worker that is made here at an address which lets in listed networks alone."""
    cluster = worker.plan.cluster
    if not worker.made_here or worker.plan.manager_access is None or not isinstance(cluster, ClusterPlan):
        return False
    control_plane = cluster.control_plane
    is_public = control_plane.public_endpoint and control_plane.ip_endpoint
    return is_public and control_plane.authorized_networks is not None


def _with_manager_access(worker: WorkerPlan) -> WorkerPlan:
    cluster = worker.plan.cluster
    assert isinstance(cluster, ClusterPlan)
    control_plane = replace(cluster.control_plane, manager_access=True)
    return replace(worker, plan=replace(worker.plan, cluster=replace(cluster, control_plane=control_plane)))


def _note_unknown_address(context: PlanningContext, workers: Iterable[str]) -> None:
    for name in workers:
        path = ("workers", name, "cluster", "controlPlane", "authorizedNetworks")
        message = (
            "must contain the addresses from which the manager's nodes reach the internet: Berth reserves one only "
            "in a network of the manager's own, with NAT and private nodes"
        )
        context.problems.note("manager-address", path, message)
