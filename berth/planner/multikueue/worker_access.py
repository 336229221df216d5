"""How a manager gets into its workers: by an account whose role is for the kinds of jobs that it sends."""

from __future__ import annotations

from collections.abc import Iterable

from berth.diagnostics import Path, in_words
from berth.plan.admission_checks import WorkerAccessPlan
from berth.plan.kueue import ClusterQueuePlan
from berth.planner.cluster.controllers import KUEUE, frameworks
from berth.planner.context import Draft
from berth.planner.multikueue.worker_clusters import Site
from berth.planner.tenancy.access import job_kinds

ACCOUNT = "multikueue"
"""Account, role and token on a worker, and how the names of what is MultiKueue's begin on the manager."""

_KINDS_OF_PODS = {"pod": ("", "pods"), "deployment": ("", "pods"), "statefulset": ("apps", "statefulsets")}
"""Frameworks without an API group, to the group and resource that the manager makes on a worker."""

_THERE = ("batch/job", "jobset.x-k8s.io/jobset", *_KINDS_OF_PODS)
"""Frameworks of kinds that every worker has: Kubernetes' own, and that of the JobSet that Berth installs."""


def secret(site: Site) -> str:
    """The Secret on the manager that holds the worker's kubeconfig."""
    return f"{ACCOUNT}-{site.name}"


def access_plan(draft: Draft, site: Site) -> WorkerAccessPlan:
    """The account of the manager on a worker, and what it may make there."""
    wanted = frameworks(draft)
    kinds = {group: set(resources) for group, resources in job_kinds(wanted).items()}
    for framework in wanted:
        if framework in _KINDS_OF_PODS:
            group, resource = _KINDS_OF_PODS[framework]
            kinds.setdefault(group, set()).add(resource)
    return WorkerAccessPlan(
        account=ACCOUNT,
        namespace=KUEUE[2],
        secret=secret(site),
        job_kinds={group: tuple(sorted(kinds[group])) for group in sorted(kinds)},
    )


def kinds_are_there(draft: Draft) -> None:
    """A note of the CRDs that workers must have by other hands: the manager connects to none that lacks one."""
    wanted = draft.spec.kueue.integrations.frameworks or ()
    if others := [framework for framework in wanted if framework not in _THERE]:
        message = (
            f"{in_words(others)}: every worker must have these kinds' CRDs, which Berth does not install; "
            "Kueue sends nothing at all to one that lacks any"
        )
        draft.problems.note("kinds-on-workers", ("kueue", "integrations", "frameworks"), message)


def namespaces_are_there(draft: Draft, asked: Iterable[ClusterQueuePlan]) -> None:
    """A note of queues open to namespaces that Berth does not make: a job runs in the same namespace of a worker."""
    for queue in asked:
        if queue.namespaces is None:
            message = (
                "'all': a namespace that is no team's must be on every worker too, with a local queue of the same "
                "name, which Berth does not make; Kueue sends its jobs nowhere else"
            )
            path = (*draft.origins["cluster queue", queue.name], "namespaces")
            draft.problems.note("namespaces-on-workers", path, message)


def reached(draft: Draft, site: Site) -> None:
    """The manager can reach the worker's control plane."""
    path: Path = ("workers", site.name)
    profiles = draft.spec.kueue.multi_kueue and draft.spec.kueue.multi_kueue.cluster_profile
    if site.spec.cluster_profile is not None and profiles is None and not draft.spec.kueue.existing:
        message = (
            f"'{site.spec.cluster_profile}' says how the cluster is reached, and nothing gets credentials for it; "
            "write kueue.multiKueue.clusterProfile.accessProviders"
        )
        draft.problems.fault("no-access-provider", (*path, "clusterProfile"), message)
    control = site.draft.spec.cluster.control_plane
    if site.spec.made_here and site.spec.cluster_profile is None and not control.public_endpoint:
        message = (
            "'false': the manager is in another VPC and cannot reach this control plane; write publicEndpoint: true "
            "with authorizedNetworks, or connect the two networks"
        )
        draft.problems.warning("unreachable-worker", (*path, "cluster", "controlPlane", "publicEndpoint"), message)
