"""What the webhooks of Kueue's slice controller add to a job that asks for a dynamic slice: its topology request.

Source: xpk, `slice/internal/webhooks` (Job, JobSet and LeaderWorkerSet with a queue; `defaults.go`), read 2026-11-28.
"""

from __future__ import annotations

from typing import Final

from msgspec.structs import replace

from berth.jobs.pod_set import PodSet, TopologyRequest
from berth.plan.dynamic_slices import SlicingPlan

READ_FRAMEWORKS: Final = ("batch/job", "jobset.x-k8s.io/jobset", "leaderworkerset.x-k8s.io/leaderworkerset")
"""The kinds that the webhooks read."""
ACCELERATOR: Final = "cloud.google.com/gke-tpu-accelerator"
"""The node label that a pod template must select for the webhooks to read it."""


def with_slice_request(pod_set: PodSet, topology: object, slicing: SlicingPlan) -> PodSet:
    """Return the pods with the topology request of the slice that they ask for; as they are if it cannot be formed."""
    formed = slicing.formed(str(topology))
    if formed is None or not selects_accelerator(pod_set):
        return pod_set
    request = TopologyRequest(required=slicing.outer, slice_level=formed.level, slice_size=formed.size)
    return replace(pod_set, topology=request)


def selects_accelerator(pod_set: PodSet) -> bool:
    """Return whether pods select the accelerator, by a node selector or a required affinity with one value."""
    if ACCELERATOR in pod_set.node_selector:
        return True
    return any(
        each.key == ACCELERATOR and each.operator == "In" and len(each.values) == 1
        for term in pod_set.affinity_terms
        for each in term
    )
