"""Ray on TPU slices of several hosts, as KubeRay and Google's webhook for TPUs treat them.

KubeRay starts `numOfHosts` pods for each replica of a worker group. The webhook (`kuberay-tpu-webhook` of Google's
repositories, part of GKE's Ray operator add-on; read 2026-11-25) refuses a worker group whose `numOfHosts` is not the
number of hosts of the topology, and gives the pods of each replica a node pool of their own.
"""

from __future__ import annotations

from collections.abc import Iterator

from berth.jobs.values import SourceValue, get_nested
from berth.lint.fleet import JobPods
from berth.manifests.workloads.values import as_list, as_mapping
from berth.workloads.node_shapes import NodeShape

_HOSTS = "numOfHosts"


def is_of_ray(pods: JobPods) -> bool:
    """Whether KubeRay starts these pods."""
    row = pods.submitted.job.row
    return row is not None and row.group == "ray.io"


def check_ray_hosts(pods: JobPods, shape: NodeShape) -> bool:
    """Check that each replica of a worker group is a slice; return whether it is."""
    group = pods.submitted.job.at(pods.settings.path[:-1])
    written = as_mapping(group.value).get(_HOSTS, 1)
    if written == shape.hosts:
        return True
    source = group.child(_HOSTS, written) if _HOSTS in as_mapping(group.value) else group
    source.fault(
        "no-shape",
        f"a replica of its workers has {written} of the {shape.hosts} hosts of a {shape.pool.topology} slice, so "
        f"Google's webhook for TPUs refuses it; write {_HOSTS}: {shape.hosts}, and the number of slices as replicas",
    )
    return False


def warn_of_webhook(pods: JobPods, shape: NodeShape) -> None:
    """Warn that only the webhook keeps the pods of a slice together, which the stack file does not say is there."""
    job = pods.submitted
    message = "not checked: whether Google's webhook for TPUs in Ray, which is in GKE's Ray operator add-on, is in the "
    message += f"cluster; only it keeps the {shape.hosts} pods of a replica on one slice"
    if all(each.message != message for each in job.job.source.problems.entries):
        job.job.source.problems.unknown("operator-unknown", job.job.metadata.path, message)


def uncounted_workers(job: SourceValue, *, counts_hosts: bool) -> Iterator[tuple[SourceValue, str]]:
    """Yield worker groups with more pods than are counted, and a message; an AppWrapper counts no hosts."""
    spec = job.child("spec", get_nested(job.value, "spec"))
    holders = [spec.child(field, get_nested(spec.value, field)) for field in ("rayClusterSpec", "rayClusterConfig")]
    for holder in (spec, *holders):
        groups = get_nested(holder.value, "workerGroupSpecs")
        for index, group in enumerate(as_list(groups)):
            source = holder.child("workerGroupSpecs", groups).child(index, group)
            least, replicas = get_nested(group, "minReplicas"), get_nested(group, "replicas")
            counted = 1 if replicas is None else replicas
            if isinstance(least, int) and isinstance(counted, int) and least > counted:
                message = f"KubeRay starts {least} pods, of which {counted} are counted; write replicas: {least}"
                yield source.child("minReplicas", least), message
            hosts = get_nested(group, _HOSTS)
            if not counts_hosts and isinstance(hosts, int) and hosts > 1:
                message = f"KubeRay starts {hosts} pods for each replica, of which an AppWrapper counts one"
                yield source.child(_HOSTS, hosts), f"{message}; submit the cluster itself"
