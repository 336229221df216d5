"""Checks of pod groups: Kueue waits until all Pods of a group exist."""

from __future__ import annotations

from berth.jobs.job_manifests import JobManifest
from berth.jobs.pod_groups import POD_GROUP_SIZE, group_name


def check_pod_group(job: JobManifest) -> None:
    """Report a group without a size, or whose size differs from its number of Pods in the manifests."""
    name = group_name(job)
    if name is None:
        return
    metadata, size = job.metadata, job.annotations.get(POD_GROUP_SIZE)
    if size is None:
        message = f"pod group '{name}' has no size, so Kueue refuses the Pod; write the annotation {POD_GROUP_SIZE}"
        metadata.fault("pod-group", message)
        return
    source = metadata.child("annotations", job.annotations).child(POD_GROUP_SIZE, size)
    if not isinstance(size, str) or not size.isdecimal() or not int(size):
        source.fault("pod-group", f"'{size}' is not a size of a pod group; write a quoted number of at least 1")
        return
    members = sum(each.count for each in job.group)
    if members and members < int(size):
        message = f"pod group '{name}' has {size} Pods, but {members} are in the manifests; Kueue waits for the others"
        job.source.problems.warning("pod-group", source.path, message)
    elif members > int(size):
        message = f"pod group '{name}' has {size} Pods, but {members} are in the manifests; write '{members}'"
        source.fault("pod-group", message)
