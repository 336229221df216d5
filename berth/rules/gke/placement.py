"""Placement of a pool's nodes relative to each other: what GKE is asked for, and when GKE cannot provide it.

Sources: GKE's autoscaler and Cluster Toolkit's blueprints.
"""

from __future__ import annotations

from msgspec import Struct
from msgspec.structs import replace

from berth import catalog
from berth.catalog import Machine
from berth.plan.dynamic_slices import PROVISION_ONLY
from berth.rules.gke.dynamic_slicing import connects_slices, slicing_violations
from berth.rules.gke.pool_request import MODEL_LABELS, PoolRequest, Violations, gke_fault, gke_warning
from berth.spec.machines.node_system import SurgeSpec


class WorkloadPolicyRequest(Struct, frozen=True, kw_only=True):
    """A `compute.ResourcePolicy` with a workload policy, in the pool's region; pools of one topology may share one.

    Every field forces a replacement.
    """

    accelerator_topology: str
    type: str = "HIGH_THROUGHPUT"
    topology_mode: str | None = None


class Placement(Struct, frozen=True, kw_only=True):
    """The `placement_policy` of one node pool; without a `type` the block is omitted.

    The block names the `policy`, if there is one, or `existing_policy`, which somebody else made. `one_zone`: all nodes
    must be in a single zone. `max_nodes` None: the placement has no limit. `atomic_nodes`: the pool has either 0 or
    exactly this many nodes (None: any number).
    """

    type: str | None = None
    tpu_topology: str | None = None
    policy: WorkloadPolicyRequest | None = None
    existing_policy: str | None = None
    one_zone: bool = False
    max_nodes: int | None = None
    atomic_nodes: int | None = None


def placement(request: PoolRequest) -> Placement:
    """Return the placement of each node pool of this pool.

    A slice behind a workload policy (TPU7x) is sent as Google's Terraform blueprint does: type COMPACT, the policy's
    name and the topology. A policy that the pool names takes the place of Berth's.
    """
    own, existing_policy = _own_placement(request), request.settings.placement_policy
    if existing_policy is None:
        return own
    return replace(own, type=own.type or "COMPACT", policy=None, existing_policy=existing_policy)


def _own_placement(request: PoolRequest) -> Placement:
    if request.multi_host:
        return _slice_placement(request)
    if request.machine.domain_topology:
        policy = WorkloadPolicyRequest(accelerator_topology=request.machine.domain_topology)
        return Placement(type="COMPACT", policy=policy, one_zone=True, max_nodes=request.machine.domain_nodes)
    if request.settings.compact_placement and (limit := _compact_limit(request.machine)) != 0:
        return Placement(type="COMPACT", one_zone=True, max_nodes=limit)
    return Placement()


def _compact_limit(machine: Machine) -> int | None:
    """Return the maximum of nodes with compact placement: 0 without it, None for a machine that no table has."""
    return None if machine.known == "nothing" else machine.compact_max_nodes


def _slice_placement(request: PoolRequest) -> Placement:
    assert request.shape is not None
    topology, hosts = request.shape.topology, request.shape.hosts
    if request.machine.multi_host_placement != "workload_policy_high_throughput":
        return Placement(type="COMPACT", tpu_topology=topology, one_zone=True, max_nodes=hosts, atomic_nodes=hosts)
    mode = PROVISION_ONLY if connects_slices(request) else None
    policy = WorkloadPolicyRequest(accelerator_topology=topology, topology_mode=mode)
    return Placement(
        type="COMPACT", tpu_topology=topology, policy=policy, one_zone=True, max_nodes=hosts, atomic_nodes=hosts
    )


# --- rules ------------------------------------------------------------------------------------------------------------


def placement_violations(request: PoolRequest) -> Violations:
    """Yield what is wrong with the placement of a pool's nodes."""
    if request.shape:
        yield from _check_slices(request)
    elif request.machine.domain_topology:
        yield from _check_domain(request)
    elif request.settings.compact_placement:
        yield from _check_compact(request)
    if request.settings.topology_aware:
        yield from _check_topology_aware(request)
    yield from slicing_violations(request)


def _check_topology_aware(request: PoolRequest) -> Violations:
    """Kueue places jobs on nodes that already exist, by their labels (Kueue docs: topology-aware scheduling)."""
    if not request.machine.topology_levels:
        yield gke_fault(
            "topology-levels",
            "topologyAware",
            f"nodes of '{request.machine.name}' have no topology labels; remove topologyAware",
        )
    elif request.autoscaled and request.capacity != "queued":
        yield gke_warning(
            "topology-from-zero",
            "topologyAware",
            f"with topologyAware, Kueue places jobs only on existing nodes (at least {request.nodes.min}), so GKE "
            f"never creates the other {request.nodes.max - request.nodes.min} for a job; write a fixed number of "
            f"{'slices' if request.shape else 'nodes'}, or capacity: queued",
        )


def _check_slices(request: PoolRequest) -> Violations:
    shape = request.shape
    assert shape is not None
    if request.settings.compact_placement and not shape.multi_host:
        yield gke_fault(
            "compact-single-host",
            "placement",
            f"'compact' has no effect on {shape.topology}, a slice of one host; remove compactPlacement",
        )
    if shape.multi_host and not request.made_by_gke and len(request.zones) != 1:
        yield gke_fault(
            "slice-zone",
            "zones",
            f"a slice of {shape.hosts} hosts is in exactly one zone, {_zones_text(request)}; {_one_zone(request)}",
        )


def _check_domain(request: PoolRequest) -> Violations:
    """An NVLink domain is upgraded as a whole, without spare nodes."""
    machine, surge = request.machine, request.settings.surge
    if not request.made_by_gke and len(request.zones) != 1:
        yield gke_fault(
            "compact-zones",
            "zones",
            f"the nodes of a {machine.domain_topology} domain are in one zone, {_zones_text(request)}; "
            f"{_one_zone(request)}",
        )
    if request.nodes.max > machine.domain_nodes:
        message = (
            f"'{request.nodes.max}' nodes are more than the {machine.domain_nodes} of a {machine.domain_topology} "
            f"domain of {machine.name}; write a pool for each domain"
        )
        if request.made_by_gke:
            yield gke_warning("domain-nodes", "nodes", message)
        else:
            yield gke_fault("domain-nodes", "nodes", message)
    required = domain_surge(request)
    if surge and surge != required and not request.made_by_gke:
        yield gke_fault(
            "domain-upgrade",
            "surge",
            f"'{_surge_text(surge)}' is impossible with a {machine.domain_topology} domain of {machine.name}, "
            "which is "
            f"upgraded as a whole; remove surge, which is {_surge_text(required)} by default",
        )


def domain_surge(request: PoolRequest) -> SurgeSpec:
    """Return the upgrade settings of a pool that is one NVLink domain: all of its nodes at once."""
    return SurgeSpec.model_construct(max_unavailable=max(1, min(request.nodes.max, request.machine.domain_nodes)))


def _check_compact(request: PoolRequest) -> Violations:
    machine = request.machine
    if _compact_limit(machine) == 0:
        yield gke_fault(
            "compact-not-offered",
            "placement",
            f"'compact' placement is not available for {machine.name}; remove compactPlacement",
        )
        return
    if machine.known != "nothing" and request.provisioning_model not in machine.provisioning.compact:
        yield gke_fault(
            "compact-capacity",
            "placement",
            f"'compact' placement of {machine.name} is not available with {request.capacity} capacity; "
            "remove compactPlacement, or write a capacity that has it: "
            f"{', '.join(MODEL_LABELS[model] for model in machine.provisioning.compact)}",
        )
    yield from _check_compact_pool(request)


def _check_compact_pool(request: PoolRequest) -> Violations:
    """One zone, no more nodes than the family's limit."""
    limit = _compact_limit(request.machine)
    if not request.made_by_gke and len(request.zones) != 1:
        yield gke_fault(
            "compact-zones",
            "zones",
            f"'compact' placement needs exactly one zone, {_zones_text(request)}; "
            f"{_one_zone(request)}, or remove compactPlacement",
        )
    if limit is not None and request.nodes.max > limit:
        yield gke_fault(
            "compact-nodes",
            "nodes",
            f"'{request.nodes.max}' nodes are more than the maximum of {limit} for "
            f"compact placement of {request.machine.name}; "
            f"write at most {limit}, or several pools",
        )


def _surge_text(surge: SurgeSpec) -> str:
    return f"SURGE maxSurge {surge.max_surge} maxUnavailable {surge.max_unavailable}"


def _one_zone(request: PoolRequest) -> str:
    """Return the remedy: one of the pool's zones that list the machine, or else of the region's."""
    listed = catalog.listed_zones(request.machine, dws=request.uses_dws)
    names = catalog.zones_in(request.region, listed.proposed) if listed else ()
    names = tuple(zone for zone in request.zones if zone in names) or names
    *others, last = names or ("",)
    choice = f"{', '.join(others)} or {last}" if others else last
    return f"write one zone: {choice}" if choice else "write one zone"


def _zones_text(request: PoolRequest) -> str:
    return (
        f"but the pool names {len(request.zones)} ({', '.join(request.zones)})"
        if request.zones
        else "but none is named"
    )
