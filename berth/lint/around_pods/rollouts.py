"""What waits for itself: rollouts without room for a new pod, volumes that are bound late or that nobody has described.

Sources: Kubernetes docs, "Deployments" (rolling update); Kueue docs, "Run Deployment" (each pod is a workload);
kubernetes-sigs/kueue#2389 and kubernetes/autoscaler#7321 (volumes of queued machines, both open on 2026-11-25).
"""

from __future__ import annotations

from collections import Counter

from msgspec import Struct

from berth.diagnostics import join_quoted
from berth.jobs.pod_templates import find
from berth.jobs.values import SourceValue, get_nested
from berth.lint.around_pods.storage import immediate_classes
from berth.lint.fleet import SubmittedJob, list_job_pods
from berth.workloads.rollout import DEFAULT_STEP, rollout_steps, room_for

_DEFAULT_UNAVAILABLE = {"Deployment": DEFAULT_STEP, "LeaderWorkerSet": 1}
_DEFAULT_SURGE = {"Deployment": DEFAULT_STEP, "LeaderWorkerSet": 0}


class Rollout(Struct, frozen=True):
    """How a service replaces its pods or groups: where that is written, how many more it starts, how many it stops."""

    source: SourceValue
    surge: int
    unavailable: int
    remedy: str


def check_rollout(job: SubmittedJob) -> None:
    """Warn of a rolling update that waits forever: it starts a new pod before it stops an old one, and none fits."""
    number, rollout = job.job.workloads, read_rollout(job)
    if rollout is None or not rollout.surge or rollout.unavailable or not job.job.pod_sets:
        return
    total: Counter[str] = Counter()
    for pod_set in job.job.pod_sets:
        total.update({resource: amount * pod_set.count for resource, amount in pod_set.requests.items()})
    room = room_for(job.context.plan, job.queue, total, job.job.pod_sets[0].node_selector)
    if room != number:
        return
    what = "group" if job.job.kind == "LeaderWorkerSet" else "pod"
    message = f"an update starts a new {what} before it stops an old one, and {job.queue_name} has room for {number}"
    job.warn("rollout", rollout.source.path, f"{message}: the new {what} waits forever; {rollout.remedy}")


def read_rollout(job: SubmittedJob) -> Rollout | None:
    """Return how the object replaces its pods; None of a kind that does not start new ones first."""
    kind, source = job.job.kind, job.job.source
    if kind == "Deployment":
        path, remedy = "spec.strategy", "write strategy: {rollingUpdate: {maxSurge: 0, maxUnavailable: 1}}"
    elif kind == "LeaderWorkerSet":
        path = "spec.rolloutStrategy"
        remedy = "write rolloutStrategy: {rollingUpdateConfiguration: {maxSurge: 0, maxUnavailable: 1}}"
    else:
        return None
    strategy = find(source, path)
    written = strategy.value if strategy is not None else None
    if get_nested(written, "type") == "Recreate":
        return None
    update = "rollingUpdate" if kind == "Deployment" else "rollingUpdateConfiguration"
    surge, unavailable = (get_nested(written, update, key) for key in ("maxSurge", "maxUnavailable"))
    steps = rollout_steps(
        job.job.workloads,
        _DEFAULT_SURGE[kind] if surge is None else surge,
        _DEFAULT_UNAVAILABLE[kind] if unavailable is None else unavailable,
    )
    place = strategy if strategy is not None else source.child("spec", None)
    return Rollout(place, *steps, remedy) if steps is not None else None


def warn_of_late_volumes(job: SubmittedJob) -> None:
    """Warn of volumes that are made or bound only when a pod has a node, in a queue whose nodes wait for the pods."""
    if not any(shape.pool.capacity == "queued" for shape in job.context.node_shapes(job.queue)):
        return
    for pods in list_job_pods(job):
        for volume in pods.pod_set.volumes:
            if volume.kind == "ephemeral":
                message = (
                    f"the volume '{volume.name}' is made for a pod that has a node, and queued machines are requested"
                )
                remedy = "write emptyDir, or a PersistentVolumeClaim that is bound before"
                path = pods.at(volume.path).path
                job.warn("late-volume", path, f"{message} without it, so the pods can wait forever; {remedy}")
            elif volume.kind == "persistentVolumeClaim":
                message = f"the claim '{volume.target}' must be bound before: queued machines are requested without it"
                remedy = "a StorageClass with WaitForFirstConsumer, as GKE's own are, binds it too late"
                job.warn("late-volume", pods.at(volume.path).path, f"{message}, and {remedy}")


def check_claimed_volumes(job: SubmittedJob) -> None:
    """Name PersistentVolumeClaims that are not in the files: without one, or in another zone, pods never start."""
    namespace, zones, said = job.local_queue.namespace, job.context.volume_zones, set[str]()
    for pods in list_job_pods(job):
        for reference in pods.pod_set.references:
            if reference.kind != "PersistentVolumeClaim" or reference.name in said:
                continue
            said.add(reference.name)
            if why := zones.open_question(namespace, reference.name):
                claim = f"PersistentVolumeClaim '{reference.name}'"
                message = f"not checked: whether the job's nodes can mount {claim}: {why}"
                remedy = f"add its manifest, or look at kubectl get pvc {reference.name} -n {namespace}"
                path = pods.at(reference.path).path
                job.job.source.problems.unknown("volume-unknown", path, f"{message}; {remedy}")
            elif (made := zones.early_class(namespace, reference.name, immediate_classes())) and (
                all_zones := _zones_beyond(job)
            ):
                message = (
                    f"StorageClass '{made}' makes the volume of '{reference.name}' before a pod has a node, in any of "
                    f"{join_quoted(all_zones)}, and its pods may get nodes in another zone"
                )
                remedy = "write a StorageClass with WaitForFirstConsumer, such as standard-rwo"
                path = pods.at(reference.path).path
                job.job.source.problems.unknown("volume-unknown", path, f"{message}; {remedy}")


def _zones_beyond(job: SubmittedJob) -> list[str]:
    """Return the zones of the fleet's nodes if those of a flavor of the queue are in fewer; else none."""
    nodes = job.context.nodes
    everywhere = {each.zone for each in nodes.groups if each.zone is not None}
    is_narrow = any(
        not everywhere <= {group.zone for group in nodes.by_flavor.get(each.flavor, ())} for each in job.queue.flavors
    )
    return sorted(everywhere) if is_narrow else []
