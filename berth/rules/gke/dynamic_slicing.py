"""Dynamic slicing: pools whose slices jobs form themselves, and what GKE and its slice controller need for it.

Sources: GKE docs, "Schedule dynamic slices with Kueue and TAS" (requirements); Cluster Toolkit,
`modules/compute/gke-node-pool` (preconditions of PROVISION_ONLY); xpk, `core/kueue_manager.py`; read 2026-11-28.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from berth import catalog
from berth.catalog import DynamicSlicing
from berth.plan.dynamic_slices import SlicingPlan, chips_of, sides_of
from berth.rules.gke.pool_request import PoolRequest, Violations, gke_fault, gke_warning

SUB_SLICING: Final = "sub-slicing"
_KEY: Final = "dynamicSlicing"


def connects_slices(request: PoolRequest) -> bool:
    """Return whether a controller connects the chips of the pool for each slice."""
    facts = catalog.slicing_of(request.machine)
    return request.settings.dynamic_slicing is not None and facts is not None and facts.controller is not None


def slicing_plan(requests: Sequence[PoolRequest]) -> SlicingPlan | None:
    """Return how jobs form slices of the nodes of pools of one kind; None if slices are fixed."""
    first = requests[0]
    facts, shape, mode = catalog.slicing_of(first.machine), first.shape, first.settings.dynamic_slicing
    if facts is None or shape is None or mode is None:
        return None
    return SlicingPlan(
        block=shape.topology,
        blocks=sum(each.nodes.max // shape.hosts for each in requests),
        chips_per_node=first.machine.accelerators,
        parts=_parts(facts, shape.topology) if mode == SUB_SLICING else (),
        joins=facts.block is not None,
        label=facts.label,
        most_chips=catalog.generations()[first.machine.generation or ""].max_slice_chips,
        outer=facts.outer,
        state=facts.state,
        controller=facts.controller,
    )


def _parts(facts: DynamicSlicing, block: str) -> tuple[str, ...]:
    """Return the shapes that are parts of a block, the largest first."""
    whole = sides_of(block) or ()
    return tuple(
        part
        for part in facts.parts
        if chips_of(part) < chips_of(block)
        and all(a <= b for a, b in zip(sorted(sides_of(part) or ()), sorted(whole), strict=True))
    )


def slicing_violations(request: PoolRequest) -> Violations:
    """Yield what is wrong with the dynamic slicing of a pool."""
    mode, facts, shape = request.settings.dynamic_slicing, catalog.slicing_of(request.machine), request.shape
    if mode is None:
        return
    if facts is None or shape is None:
        known = " and ".join(name for name, each in catalog.generations().items() if each.dynamic_slicing)
        message = f"'{mode}' is for {known}, and '{request.machine.name}' is neither; remove dynamicSlicing"
        yield gke_fault("dynamic-slicing", _KEY, message)
        return
    if mode not in facts.modes:
        message = f"'{mode}' is not offered for {request.machine.generation}; write {' or '.join(facts.modes)}"
        yield gke_fault("dynamic-slicing", _KEY, message)
        return
    if facts.block is not None and shape.topology != facts.block:
        message = (
            f"'{shape.topology}' is no sub-block: jobs form their slices of sub-blocks of {facts.block}; write "
            f"topology: {facts.block}, and slices for the number of sub-blocks"
        )
        yield gke_fault("dynamic-slicing", "topology", message)
    elif facts.block is None and not _parts(facts, shape.topology):
        message = f"'{shape.topology}' has no parts; write a larger topology, or remove dynamicSlicing"
        yield gke_fault("dynamic-slicing", "topology", message)
    yield from _check_pool(request, has_controller=facts.controller is not None)


def _check_pool(request: PoolRequest, *, has_controller: bool) -> Violations:
    settings = request.settings
    if request.made_by_gke:
        return  # nodes that GKE creates cannot have the setting
    if request.autoscaled:
        message = (
            f"with dynamicSlicing Kueue places jobs only on nodes that exist, so the number of slices is fixed; write "
            f"slices: {request.nodes.max // (request.shape.hosts if request.shape else 1)}"
        )
        yield gke_fault("dynamic-slicing", "slices", message)
    if settings.topology_aware:
        message = "dynamicSlicing has topology levels of its own; remove topologyAware"
        yield gke_fault("dynamic-slicing", "topologyAware", message)
    if not has_controller or request.cluster.only_connects:
        return  # the rest is about making the nodes
    if request.capacity != "reservation" or not request.is_specific:
        message = (
            "dynamic slicing needs a reservation in All Capacity mode, by name; write capacity: {reservation: <name>}"
        )
        yield gke_fault("dynamic-slicing", "capacity", message)
    if settings.image_type == "UBUNTU_CONTAINERD":
        message = "dynamic slicing needs Container-Optimized OS; write imageType: COS_CONTAINERD"
        yield gke_fault("dynamic-slicing", "imageType", message)
    if settings.placement_policy is not None:
        message = (
            f"'{settings.placement_policy}' must have the topology mode PROVISION_ONLY, which Berth cannot see; remove "
            "placementPolicy, and Berth creates one that has it"
        )
        yield gke_warning("dynamic-slicing-policy", "placementPolicy", message)
    if request.cluster.channel != "rapid":
        message = (
            f"GKE documents dynamic slicing for the release channel rapid, and the cluster has "
            f"{request.cluster.channel}; write cluster.releaseChannel: rapid"
        )
        yield gke_warning("dynamic-slicing-channel", _KEY, message)
