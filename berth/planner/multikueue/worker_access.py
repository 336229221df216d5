"""Plan the access of a manager and its workers to each other: accounts, and an address that workers authorize."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from msgspec.structs import replace

from berth.diagnostics import FieldPath, join_words
from berth.names import MAX_COMPUTE_NAME, shorten
from berth.plan.admission_checks import WorkerAccessPlan
from berth.plan.fleet import FleetPlan, WorkerPlan
from berth.plan.gke import ClusterPlan, NetworkPlan
from berth.plan.kueue import ClusterQueuePlan
from berth.planner.cluster.controllers import KUEUE_RELEASE, job_frameworks
from berth.planner.context import PlanningContext
from berth.planner.multikueue.worker_clusters import WorkerContext
from berth.planner.tenancy.access import job_kinds

MULTIKUEUE_ACCOUNT = "multikueue"
"""Name of the account, role and token on a worker, and prefix of MultiKueue's objects on the manager."""

_POD_FRAMEWORKS = {"pod": ("", "pods"), "deployment": ("", "pods"), "statefulset": ("apps", "statefulsets")}
"""Framework without an API group → group and resource that the manager creates on a worker."""

_PREINSTALLED = ("batch/job", "jobset.x-k8s.io/jobset", *_POD_FRAMEWORKS)
"""Frameworks whose kinds every worker has: those of Kubernetes, and the JobSet that Berth installs."""


def kubeconfig_secret_name(worker_context: WorkerContext) -> str:
    """Return the name of the Secret on the manager that holds the worker's kubeconfig."""
    return f"{MULTIKUEUE_ACCOUNT}-{worker_context.key}"


def worker_access_plan(context: PlanningContext, worker_context: WorkerContext) -> WorkerAccessPlan:
    """Return the manager's account on a worker, with its permissions."""
    framework_names = job_frameworks(context)
    resources_by_group = {group: set(resources) for group, resources in job_kinds(framework_names).items()}
    for framework in framework_names:
        if framework in _POD_FRAMEWORKS:
            group, resource = _POD_FRAMEWORKS[framework]
            resources_by_group.setdefault(group, set()).add(resource)
    return WorkerAccessPlan(
        account=MULTIKUEUE_ACCOUNT,
        namespace=KUEUE_RELEASE[2],
        secret=kubeconfig_secret_name(worker_context),
        job_kinds={group: tuple(sorted(resources_by_group[group])) for group in sorted(resources_by_group)},
        token_date=worker_context.spec.token_date,
    )


def note_required_crds(context: PlanningContext) -> None:
    """Note the CRDs that Berth does not install on workers: the manager does not connect to a worker without them."""
    framework_names = context.spec.kueue.integrations.frameworks or ()
    if extra_frameworks := [framework for framework in framework_names if framework not in _PREINSTALLED]:
        context.problems.note(
            "kinds-on-workers",
            ("kueue", "integrations", "frameworks"),
            f"{join_words(extra_frameworks)}: install the CRDs of these kinds on every worker, because Berth does not; "
            "Kueue sends no job at all to a worker that lacks one",
        )


def note_required_namespaces(context: PlanningContext, queue_plans: Iterable[ClusterQueuePlan]) -> None:
    """Note queues open to all namespaces: a job runs in the same namespace of a worker, which Berth may not create."""
    for queue in queue_plans:
        if queue.namespaces is None:
            message = (
                "'all': create each namespace that belongs to no team on every worker too, with a local queue of the "
                "same "
                "name; Berth does not, and Kueue sends jobs only to such workers"
            )
            path = (*context.origins["cluster queue", queue.name], "namespaces")
            context.problems.note("namespaces-on-workers", path, message)


def check_reachable(context: PlanningContext, worker_context: WorkerContext) -> None:
    """Report workers whose control plane the manager cannot reach."""
    path: FieldPath = ("workers", worker_context.name)
    profiles = context.spec.kueue.multi_kueue and context.spec.kueue.multi_kueue.cluster_profile
    is_unknown = context.spec.kueue.existing or context.is_set_aside("kueue", "")
    if worker_context.spec.cluster_profile is not None and profiles is None and not is_unknown:
        context.problems.fault(
            "no-access-provider",
            (*path, "clusterProfile"),
            f"the ClusterProfile '{worker_context.spec.cluster_profile}' has no credentials; "
            "write kueue.multiKueue.clusterProfile.accessProviders",
        )
    control_plane = worker_context.context.spec.cluster.control_plane
    if not worker_context.spec.made_here or worker_context.spec.cluster_profile is not None:
        return
    if not control_plane.ip_endpoint:
        message = "'false': the manager reaches this control plane at its IP address; write ipEndpoint: true with"
        context.problems.warning(
            "unreachable-worker", (*path, "cluster", "controlPlane", "ipEndpoint"), f"{message} authorizedNetworks"
        )
    elif not control_plane.public_endpoint:
        context.problems.warning(
            "unreachable-worker",
            (*path, "cluster", "controlPlane", "publicEndpoint"),
            "'false': the manager is in another VPC and cannot reach a private control plane; write publicEndpoint: "
            "true "
            "with authorizedNetworks, or connect the two networks",
        )


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
        context.problems.note(
            "manager-address",
            path,
            "must contain the addresses from which the manager's nodes reach the internet: Berth reserves one only "
            "in a network of the manager's own, with NAT and private nodes",
        )
