"""The nodes of a fleet from its plan."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from msgspec.structs import replace

from berth import catalog
from berth.nodes.cluster import checkpointing_of, device_classes_of, runtime_classes, storage_drivers
from berth.nodes.facts import node_facts
from berth.nodes.labels import (
    flavor_slicing,
    healthy_parts,
    one_place,
    part_labels,
    predicted_labels,
    uncertain_labels,
)
from berth.nodes.model import FleetNodes, NodeGroup
from berth.nodes.resources import node_resources
from berth.nodes.sources import NodeSource, node_sources
from berth.plan.fleet import ExistingClusterPlan, FleetPlan, PoolPlan
from berth.plan.gke import ClusterPlan
from berth.plan.grouping import grouped
from berth.plan.node_settings import Taint

DESCRIBED: Final = "the nodes belong to an existing cluster, of which the stack file states only a part"
"""Why labels, taints and resources of described nodes may be unknown."""
ADOPTED: Final = "another tool created the node pool, with labels of its own"
"""Why labels without a domain may be on the nodes of an adopted pool."""
_STATED: Final = "topologyAware says that the nodes have this label, and not which value"
_MADE_TO_ORDER: Final = "GKE creates these nodes for the pods that wait for them, and labels them as the pods select"
_EXISTING: Final = "the cluster is an existing one, of which the stack file states only a part"


def fleet_nodes(plan: FleetPlan) -> FleetNodes:
    """Return the nodes of a fleet: those of its cluster, or of the clusters of its workers."""
    groups = tuple(group for pool in plan.pools for group in pool_nodes(plan, pool))
    by_pool = grouped((group.pool, group) for group in groups)
    return FleetNodes(
        groups=groups,
        storage_drivers=storage_drivers(plan),
        runtime_classes=runtime_classes(plan),
        device_classes=tuple(sorted({name for group in groups for name in group.device_classes})),
        open_reason=None if isinstance(plan.cluster, ClusterPlan) else _EXISTING,
        by_flavor={
            flavor.name: tuple(group for pool in flavor.pools for group in by_pool.get(pool, ()))
            for flavor in plan.flavors
        },
        workers={worker.name: fleet_nodes(worker.plan) for worker in plan.workers},
    )


def pool_nodes(plan: FleetPlan, pool: PoolPlan) -> tuple[NodeGroup, ...]:
    """Return the groups of nodes of one pool of a fleet; none if the pool can never have a node."""
    if pool.worker is None:
        return tuple(_pool_groups(plan, pool))
    worker = next(each.plan for each in plan.workers if each.name == pool.worker)
    own = next(each for each in worker.pools if f"{pool.worker}/{each.name}" == pool.name)
    return tuple(replace(group, pool=pool.name, worker=pool.worker) for group in _pool_groups(worker, own))


def _pool_groups(plan: FleetPlan, pool: PoolPlan) -> Iterator[NodeGroup]:
    for source in node_sources(plan, pool):
        facts = node_facts(plan, source)
        written = {**source.pool.node_labels, **(source.node_pool.labels if source.node_pool else {})}
        labels = predicted_labels(facts, written, described=source.maker == "described")
        slicing = flavor_slicing(plan, source.pool.flavor)
        is_described = source.maker == "described" or isinstance(plan.cluster, ExistingClusterPlan)
        resources = node_resources(
            source,
            image_streaming=facts["image_streaming"] == "true",
            checkpointing=checkpointing_of(plan, source.machine_type),
        )
        yield NodeGroup(
            pool=pool.name,
            flavor=pool.flavor,
            maker=source.maker,
            capacity=source.capacity,
            machine_type=source.machine_type,
            node_pools=source.node_pools,
            slices=source.slices,
            nodes=source.nodes,
            pool_nodes=pool.nodes,
            zone=source.zone,
            priority=source.priority,
            arch=source.machine.arch if source.machine else None,
            labels=dict(sorted({**labels.known, **healthy_parts(slicing)}.items())),
            unknown_labels=dict(
                sorted({**_stated_levels(plan, source, labels.known), **labels.unknown, **part_labels(slicing)}.items())
            ),
            uncertain_labels=dict(sorted(uncertain_labels(slicing, labels.uncertain).items())),
            parts=slicing.nodes_by_label if slicing is not None else {},
            place=one_place(plan, source.pool, slicing),
            taints=_taints(source),
            allocatable=resources.known,
            least=resources.least,
            taken=resources.taken,
            held=resources.held,
            unknown_resources=resources.unknown,
            device_classes=device_classes_of(plan, source),
            networks=_networks(plan, source),
            open_reason=DESCRIBED if is_described else None if source.maker == "berth" else _MADE_TO_ORDER,
            kept_reason=ADOPTED if source.is_adopted else None,
        )


def _networks(plan: FleetPlan, source: NodeSource) -> tuple[str, ...]:
    """Return the names of the interfaces that Berth's node pool gives a node beside its first."""
    key = source.node_pool.network.accelerator_networks if source.node_pool and not source.is_adopted else None
    return next((each.devices for each in plan.accelerator_networks if each.key == key), ())


def _stated_levels(plan: FleetPlan, source: NodeSource, known: Mapping[str, str]) -> dict[str, str]:
    """Return the labels that `topologyAware` of a described pool states without their values: the levels."""
    if source.maker != "described":
        return {}
    topology = next((flavor.topology for flavor in plan.flavors if flavor.name == source.pool.flavor), None)
    levels = next((each.levels for each in plan.topologies if each.name == topology), ())
    return {level: _STATED for level in levels if level not in known}


def _taints(source: NodeSource) -> tuple[Taint, ...]:
    """Return the taints of nodes. Of a compute class, only a priority of spot machines has the taint of spot."""
    spot = catalog.labels().spot
    return tuple(
        dict.fromkeys(
            taint
            for taint in source.pool.taints
            if source.maker != "compute-class" or taint.key != spot or source.capacity == "spot"
        )
    )
