"""Placement annotations of pods, for flavors with topology-aware scheduling.

Source: Kueue docs, "Run workloads with topology-aware scheduling" (annotations of the pod template).
"""

from __future__ import annotations

from berth import catalog
from berth.workloads.target import WorkloadTarget

_PREFIX = "kueue.x-k8s.io/podset-"
PREFERRED_TOPOLOGY = f"{_PREFIX}preferred-topology"
SLICE_TOPOLOGY = f"{_PREFIX}slice-required-topology"
SLICE_SIZE = f"{_PREFIX}slice-size"


def placement_annotations(target: WorkloadTarget, group_size: int) -> dict[str, str]:
    """Annotate pods that are placed in groups of `group_size`; no annotations if the flavor has no topology.

    The hosts of a TPU slice must be in one node pool; GPU nodes are placed as close to each other as possible.
    """
    flavor = target.shape.flavor
    levels = next((each.levels for each in target.plan.topologies if each.name == flavor.topology), ())
    if not levels or group_size == 1:
        return {}
    if target.shape.is_multi_host:
        return {SLICE_TOPOLOGY: catalog.labels().nodepool, SLICE_SIZE: str(group_size)}
    return {PREFERRED_TOPOLOGY: levels[0]}
