"""Where pods are to stand to each other, for flavors whose jobs Kueue places itself (topology-aware scheduling).

Source: Kueue docs, "Run workloads with topology-aware scheduling" (annotations of the pod template).
"""

from __future__ import annotations

from berth import catalog
from berth.workloads.target import Ground

_PREFIX = "kueue.x-k8s.io/podset-"
PREFERRED = f"{_PREFIX}preferred-topology"
SLICE = f"{_PREFIX}slice-required-topology"
SLICE_SIZE = f"{_PREFIX}slice-size"


def placement(ground: Ground, together: int) -> dict[str, str]:
    """The annotations of pods of which so many belong together; none where the flavor has no topology.

    The hosts of a TPU slice stand in one node pool, or nowhere; GPU nodes as near to each other as can be.
    """
    flavor = ground.shape.flavor
    levels = next((each.levels for each in ground.plan.topologies if each.name == flavor.topology), ())
    if not levels or together == 1:
        return {}
    if ground.shape.multi_host:
        return {SLICE: catalog.labels().nodepool, SLICE_SIZE: str(together)}
    return {PREFERRED: levels[0]}
