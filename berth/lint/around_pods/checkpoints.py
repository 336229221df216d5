"""Long jobs that lose all their work when they are interrupted: nothing that their pods mount outlives them.

How long a job may run is what it says itself: the deadline of a Job, Kueue's maximum execution time, or the run
duration of queued machines. Without one of these that is unknown, and nothing is said.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from berth import catalog
from berth.jobs.values import SourceValue, inside
from berth.lint.around_pods.storage import claimed_volumes
from berth.lint.fleet import SubmittedJob
from berth.lint.job_pods import JobPods, list_job_pods
from berth.plan.fleet import PoolPlan
from berth.plan.kueue import ClusterQueuePlan, root_of
from berth.text import format_duration
from berth.workloads.run_duration import RUN_DURATION

MAX_EXECUTION = "kueue.x-k8s.io/max-exec-time-seconds"
"""Label by which a job says how long it runs at most (Kueue 0.19)."""
_SHORT = 3600
"""Seconds of work that are lost without a warning where a job can be interrupted at any time."""
_LASTING = ("persistentVolumeClaim", "csi", "nfs")
"""Kinds of volumes that may outlive the pods; secrets and images of a CSI driver do not."""
_ONLY_READ = ("secrets-store-gke.csi.k8s.io", "secrets-store.csi.k8s.io")


def check_checkpoints(job: SubmittedJob, flavors: Iterable[str]) -> None:
    """Warn of a job that may run longer than `flavors`, which it is assigned, are assured, and that keeps nothing."""
    stated = _stated_seconds(job)
    all_pods = list_job_pods(job)
    if stated is None or any(_keeps(pods) for pods in all_pods):
        return
    source, seconds = stated
    assured = sorted((each for name in dict.fromkeys(flavors) for each in _assured(job, all_pods, name)), key=_first)
    if not assured or seconds <= max(assured[0][0], _SHORT):
        return
    message = f"it may run for {format_duration(seconds)}, but {assured[0][1]}, and its pods mount nothing that they"
    remedy = "mount a bucket or a claim and save checkpoints there, or let it run shorter"
    job.warn("no-checkpoint", source.path, f"{message} could save a checkpoint in; {remedy}")


def _first(assured: tuple[int, str]) -> int:
    return assured[0]


def _stated_seconds(job: SubmittedJob) -> tuple[SourceValue, int] | None:
    """Return how long the job may run by its own words, and where it says so."""
    places = (
        job.job.label(MAX_EXECUTION),
        inside(job.job.parameters, "annotations", RUN_DURATION),
        inside(job.job.source, "spec", "activeDeadlineSeconds"),
    )
    found = [(each, int(str(each.value))) for each in places if str(each.value).isdecimal()]
    return min(found, key=lambda each: each[1]) if found else None


def _keeps(pods: JobPods) -> bool:
    """Whether pods mount a volume that outlives them and that they may write to; that of a claim template is one."""
    return bool(claimed_volumes(pods)) or any(
        each.kind in _LASTING
        and each.target not in _ONLY_READ
        and pods.settings.volume_fields(each).get("readOnly") is not True
        for each in pods.pod_set.volumes
    )


def _assured(job: SubmittedJob, all_pods: list[JobPods], flavor: str) -> Iterator[tuple[int, str]]:
    """Yield for how many seconds machines and quota of a flavor stay with the job, with what ends that."""
    plan = job.context.plan
    for pool in plan.pools:
        if pool.flavor == flavor:
            yield from _machines(pool)
    shape = next((each for each in job.context.node_shapes(job.queue) if each.flavor.name == flavor), None)
    if shape is None:
        return
    resource = shape.flavor.resource
    wanted = sum(pods.pod_set.count * pods.pod_set.requests.get(resource, 0) for pods in all_pods)
    if wanted > _nominal(job.queue, flavor, resource) and (owners := _reclaiming(job, flavor, resource)):
        yield 0, f"what it borrows of '{flavor}' is taken back when jobs of {owners[0]} need their guarantee"


def _machines(pool: PoolPlan) -> Iterator[tuple[int, str]]:
    if pool.capacity == "spot":
        yield 0, f"spot machines of '{pool.name}' are taken back at any time"
    elif pool.capacity == "flex-start":
        lives = [each.max_run_seconds for each in pool.node_pools if each.max_run_seconds]
        longest = min(lives, default=catalog.limits().max_run_seconds)
        yield longest, f"flex-start machines of '{pool.name}' live for at most {format_duration(longest)}"


def _reclaiming(job: SubmittedJob, flavor: str, resource: str) -> list[str]:
    """Return the queues of the cohort that take their guarantee of a flavor back."""
    plan, queue = job.context.plan, job.queue
    if queue.cohort is None:
        return []
    cohorts = {each.name: each for each in plan.cohorts}
    root = root_of(cohorts, queue.cohort)
    return [
        other.name
        for other in plan.cluster_queues
        if other.name != queue.name
        and other.cohort is not None
        and root_of(cohorts, other.cohort) == root
        and other.preemption.reclaim_within_cohort != "Never"
        and _nominal(other, flavor, resource)
    ]


def _nominal(queue: ClusterQueuePlan, flavor: str, resource: str) -> int:
    entries = (entry for entry in queue.flavors if entry.flavor == flavor)
    return sum(quota.nominal for entry in entries for quota in entry.quotas if quota.resource == resource)
