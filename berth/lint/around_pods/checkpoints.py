"""Checkpoints: long jobs that lose all their work when they are interrupted, and volumes of multi-tier checkpointing.

How long a job may run is what it says itself: the deadline of a Job, Kueue's maximum execution time, or the run
duration of queued machines. Without one of these that is unknown, and nothing is said.

The driver of multi-tier checkpointing runs on the nodes that its configuration selects. It gives a rank, without which
it copies nothing, to pods of JobSets with one replicated job (high-scale-checkpointing, `pkg/idfile/ranks_server.go`;
read 2026-11-29).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from berth import catalog
from berth.jobs.values import SourceValue, inside, items
from berth.lint.around_pods.storage import claimed_volumes
from berth.lint.fleet import JobPods, SubmittedJob, list_job_pods
from berth.lint.machines import flavor_refusals
from berth.plan.fleet import ExistingClusterPlan, PoolPlan
from berth.plan.gke import CHECKPOINT_DRIVER, CheckpointingPlan
from berth.plan.kueue import ClusterQueuePlan, root_of
from berth.text import format_duration
from berth.workloads.run_duration import RUN_DURATION


def check_checkpoint_volumes(job: SubmittedJob) -> None:
    """Report pods that may get nodes without the driver of their volume, and jobs of which it copies nothing."""
    cluster = job.context.plan.cluster
    settings = None if isinstance(cluster, ExistingClusterPlan) else cluster.checkpointing
    if settings is None:
        return
    for pods in list_job_pods(job):
        for volume in pods.pod_set.volumes:
            if volume.kind == "csi" and volume.target == CHECKPOINT_DRIVER:
                _check_nodes(pods, pods.at(volume.path), settings)
                _check_ranks(pods, pods.at(volume.path))


def _check_nodes(pods: JobPods, source: SourceValue, settings: CheckpointingPlan) -> None:
    job, refusals = pods.submitted, flavor_refusals(pods)
    requests = pods.pod_set.requests
    shapes = [
        each
        for each in job.context.node_shapes(job.queue)
        if refusals[each.flavor.name] is None and (each.flavor.resource in requests)
    ]
    without = [each for each in shapes if not each.saves_checkpoints]
    if not without:
        return
    message = f"the driver of its volume runs on nodes of {settings.machine_type}"
    if len(without) == len(shapes):
        remedy = "remove the volume, or use a queue with that machine type"
        source.fault(
            "checkpoint-nodes", f"{message}, of which its pods get none in {job.queue_name}: they never start; {remedy}"
        )
        return
    name = without[0].flavor.name
    remedy = "write a node selector for the intended nodes"
    job.warn(
        "checkpoint-nodes",
        source.path,
        f"{message}, and Kueue may assign '{name}' to its pods, where they never start; {remedy}",
    )


def _check_ranks(pods: JobPods, source: SourceValue) -> None:
    job = pods.submitted.job
    if job.kind == "JobSet" and len(items(inside(job.source, "spec", "replicatedJobs"))) == 1:
        return
    message = "GKE copies the checkpoints of JobSets with one replicated job alone, so those of this"
    what = "JobSet with several" if job.kind == "JobSet" else job.kind
    remedy = "write such a JobSet, or mount a bucket"
    pods.submitted.warn("checkpoint-ranks", source.path, f"{message} {what} are lost with its node; {remedy}")


MAX_EXECUTION = "kueue.x-k8s.io/max-exec-time-seconds"
"""Label by which a job says how long it runs at most (Kueue 0.19)."""
_SHORT = 3600
"""Seconds of work that are lost without a warning where a job can be interrupted at any time."""
_LASTING = ("persistentVolumeClaim", "csi", "nfs")
"""Kinds of volumes that may outlive the pods; secrets and images of a CSI driver do not."""


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
        and each.target not in ("secrets-store-gke.csi.k8s.io", "secrets-store.csi.k8s.io")
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
