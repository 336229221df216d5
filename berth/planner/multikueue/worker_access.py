"""How a manager gets into its workers: by an account whose role is for the kinds of jobs that it sends."""

from __future__ import annotations

from collections.abc import Iterable

from berth.diagnostics import FieldPath, join_words
from berth.plan.admission_checks import WorkerAccessPlan
from berth.plan.kueue import ClusterQueuePlan
from berth.planner.cluster.controllers import KUEUE_RELEASE, job_frameworks
from berth.planner.context import PlanningContext
from berth.planner.multikueue.worker_clusters import WorkerContext
from berth.planner.tenancy.access import job_kinds

MULTIKUEUE_ACCOUNT = "multikueue"
"""Account, role and token on a worker, and how the names of what is MultiKueue's begin on the manager."""

_POD_FRAMEWORKS = {"pod": ("", "pods"), "deployment": ("", "pods"), "statefulset": ("apps", "statefulsets")}
"""Frameworks without an API group, to the group and resource that the manager makes on a worker."""

_PREINSTALLED = ("batch/job", "jobset.x-k8s.io/jobset", *_POD_FRAMEWORKS)
"""Frameworks of kinds that every worker has: Kubernetes' own, and that of the JobSet that Berth installs."""


def kubeconfig_secret(worker_context: WorkerContext) -> str:
    """The Secret on the manager that holds the worker's kubeconfig."""
    return f"{MULTIKUEUE_ACCOUNT}-{worker_context.name}"


def worker_access_plan(context: PlanningContext, worker_context: WorkerContext) -> WorkerAccessPlan:
    """The account of the manager on a worker, and what it may make there."""
    framework_names = job_frameworks(context)
    resources_by_group = {group: set(resources) for group, resources in job_kinds(framework_names).items()}
    for framework in framework_names:
        if framework in _POD_FRAMEWORKS:
            group, resource = _POD_FRAMEWORKS[framework]
            resources_by_group.setdefault(group, set()).add(resource)
    return WorkerAccessPlan(
        account=MULTIKUEUE_ACCOUNT,
        namespace=KUEUE_RELEASE[2],
        secret=kubeconfig_secret(worker_context),
        job_kinds={group: tuple(sorted(resources_by_group[group])) for group in sorted(resources_by_group)},
    )


def note_required_crds(context: PlanningContext) -> None:
    """A note of the CRDs that workers must have by other hands: the manager connects to none that lacks one."""
    framework_names = context.spec.kueue.integrations.frameworks or ()
    if extra_frameworks := [framework for framework in framework_names if framework not in _PREINSTALLED]:
        message = (
            f"{join_words(extra_frameworks)}: every worker must have these kinds' CRDs, which Berth does not install; "
            "Kueue sends nothing at all to one that lacks any"
        )
        context.problems.note("kinds-on-workers", ("kueue", "integrations", "frameworks"), message)


def note_required_namespaces(context: PlanningContext, queue_plans: Iterable[ClusterQueuePlan]) -> None:
    """A note of queues open to namespaces that Berth does not make: a job runs in the same namespace of a worker."""
    for queue in queue_plans:
        if queue.namespaces is None:
            message = (
                "'all': a namespace that is no team's must be on every worker too, with a local queue of the same "
                "name, which Berth does not make; Kueue sends its jobs nowhere else"
            )
            path = (*context.origins["cluster queue", queue.name], "namespaces")
            context.problems.note("namespaces-on-workers", path, message)


def check_reachable(context: PlanningContext, worker_context: WorkerContext) -> None:
    """The manager can reach the worker's control plane."""
    path: FieldPath = ("workers", worker_context.name)
    profiles = context.spec.kueue.multi_kueue and context.spec.kueue.multi_kueue.cluster_profile
    if worker_context.spec.cluster_profile is not None and profiles is None and not context.spec.kueue.existing:
        message = (
            f"'{worker_context.spec.cluster_profile}' says how the cluster "
            "is reached, and nothing gets credentials for it; "
            "write kueue.multiKueue.clusterProfile.accessProviders"
        )
        context.problems.fault("no-access-provider", (*path, "clusterProfile"), message)
    control_plane = worker_context.context.spec.cluster.control_plane
    if not worker_context.spec.made_here or worker_context.spec.cluster_profile is not None:
        return
    if not control_plane.ip_endpoint:
        message = "'false': the manager reaches this control plane at its IP address; write ipEndpoint: true with"
        context.problems.warning(
            "unreachable-worker", (*path, "cluster", "controlPlane", "ipEndpoint"), f"{message} authorizedNetworks"
        )
    elif not control_plane.public_endpoint:
        message = (
            "'false': the manager is in another VPC and cannot reach this control plane; write publicEndpoint: true "
            "with authorizedNetworks, or connect the two networks"
        )
        context.problems.warning("unreachable-worker", (*path, "cluster", "controlPlane", "publicEndpoint"), message)
