"""Kueue's pod groups: Pods with one group label form one workload and are admitted together.

Source: Kueue 0.19.2 `pkg/controller/jobs/pod`, read 2026-11-22.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from msgspec.structs import replace

from berth.diagnostics import Problems, join_quoted
from berth.jobs.files import ManifestDocument
from berth.jobs.job_manifests import QUEUE_NAME, JobManifest, read_jobs
from berth.jobs.namespaces import NO_NAMESPACE_DEFAULTS, NamespaceDefaults
from berth.jobs.pod_set import PodSet

POD_GROUP = "kueue.x-k8s.io/pod-group-name"
POD_GROUP_SIZE = "kueue.x-k8s.io/pod-group-total-count"

_Key = tuple[str, str]


class PodGroups:
    """The pod groups of a set of manifests, with their members."""

    def __init__(
        self, documents: Iterable[ManifestDocument], defaults: NamespaceDefaults = NO_NAMESPACE_DEFAULTS
    ) -> None:
        self._members: dict[_Key, list[JobManifest]] = {}
        for document in documents:
            for job in read_jobs(document.root_value(Problems()), defaults):
                if job.kind == "Pod" and POD_GROUP in job.labels:
                    self._members.setdefault(_key(job), []).append(job)

    def join(self, job: JobManifest) -> JobManifest:
        """Return the job; for a Pod of a group, with the pod sets of the whole group."""
        members = self._members.get(_key(job), []) if job.kind == "Pod" else []
        if not members or any(each.pod_sets is None for each in members):
            return job
        group = _merged([pod_set for each in members for pod_set in each.pod_sets or ()])
        return replace(job, group=group, group_conflict=_conflict(members))

    def is_first(self, job: JobManifest) -> bool:
        """Return whether the job is the first of its group, or belongs to none."""
        members = self._members.get(_key(job), []) if job.kind == "Pod" else []
        return not members or members[0].source.value is job.source.value


NO_POD_GROUPS: Final = PodGroups(())


def group_name(job: JobManifest) -> str | None:
    """Return the pod group that a Pod belongs to."""
    name = job.labels.get(POD_GROUP) if job.kind == "Pod" else None
    return None if name is None else str(name)


def _conflict(members: list[JobManifest]) -> str:
    """Return what members of a group disagree on, for which Kueue makes no workload of them; empty if they agree."""
    queues = dict.fromkeys(str(each.labels.get(QUEUE_NAME)) for each in members)
    sizes = dict.fromkeys(str(each.annotations.get(POD_GROUP_SIZE)) for each in members)
    if len(queues) > 1:
        return f"name the queues {join_quoted(queues)}"
    return f"have the sizes {join_quoted(sizes)}" if len(sizes) > 1 and all(map(str.isdecimal, sizes)) else ""


def _key(job: JobManifest) -> _Key:
    return job.namespace, str(job.labels.get(POD_GROUP))


def _merged(pod_sets: list[PodSet]) -> tuple[PodSet, ...]:
    """Merge equal Pods into one pod set, as Kueue groups them by role."""
    merged: list[PodSet] = []
    for each in pod_sets:
        index = next((i for i, known in enumerate(merged) if replace(known, count=each.count) == each), None)
        if index is None:
            merged.append(each)
        else:
            merged[index] = replace(each, count=merged[index].count + each.count)
    return tuple(replace(each, name=f"{each.name}-{index}") for index, each in enumerate(merged))
