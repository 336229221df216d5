"""Volumes of multi-tier checkpointing: on which nodes they are, and for which jobs GKE copies what is in them.

GKE's driver runs on the nodes that its configuration selects. It gives a rank, without which it copies nothing, to pods
of JobSets with one replicated job (high-scale-checkpointing, `pkg/idfile/ranks_server.go`; read 2026-11-29).
"""

from __future__ import annotations

from berth.jobs.values import SourceValue, inside, items
from berth.lint.fleet import SubmittedJob
from berth.lint.job_pods import JobPods, list_job_pods
from berth.lint.machines import flavor_refusals
from berth.plan.existing import ExistingClusterPlan
from berth.plan.gke import CHECKPOINT_DRIVER, CheckpointingPlan


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
