"""Where the nodes of a pool stand to each other: what placement GKE is asked for, and when it cannot be had.

From GKE's autoscaler and Cluster Toolkit's blueprints.
"""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from berth import catalog
from berth.rules.gke.pool_request import WAYS, Asked, Found, Upgrade, Violation


class WorkloadPolicy(Struct, frozen=True, kw_only=True):
    """A `compute.ResourcePolicy` with a workload policy, in the pool's region; pools of one topology may share one.

    `topology_mode` is None where the provider's default is meant. Every field forces a replacement.
    """

    accelerator_topology: str
    topology_mode: Literal["AUTO_CONNECT", "PROVISION_ONLY"] | None = None
    type: str = "HIGH_THROUGHPUT"


class Placement(Struct, frozen=True, kw_only=True):
    """The `placement_policy` of one node pool; `type` None: the block is left out.

    With a `policy`, the block also names it. `one_zone`: the nodes must stand in a single zone. `max_nodes` None: the
    placement sets no bound. `atomic_nodes`: the pool has none or exactly as many (None: any number).
    """

    type: str | None = None
    tpu_topology: str | None = None
    policy: WorkloadPolicy | None = None
    one_zone: bool = False
    max_nodes: int | None = None
    atomic_nodes: int | None = None


_POLICY = "workload_policy_high_throughput"


def placement(asked: Asked, *, policy_only: bool = False) -> Placement:
    """The placement of each node pool of this pool.

    A slice behind a workload policy (TPU7x) is sent as Google's Terraform blueprint does: type COMPACT, the policy's
    name and the topology. `policy_only` leaves the topology out, as xpk does.
    """
    if asked.multi_host:
        return _slice(asked, policy_only)
    if asked.machine.domain_topology:
        policy = WorkloadPolicy(accelerator_topology=asked.machine.domain_topology)
        return Placement(type="COMPACT", policy=policy, one_zone=True, max_nodes=asked.machine.domain_nodes)
    if asked.compact and asked.machine.compact_max_nodes:
        return Placement(type="COMPACT", one_zone=True, max_nodes=asked.machine.compact_max_nodes)
    return Placement()


def _slice(asked: Asked, policy_only: bool) -> Placement:
    assert asked.shape is not None
    topology, hosts = asked.shape.topology, asked.shape.hosts
    if asked.machine.multi_host_placement != _POLICY:
        return Placement(type="COMPACT", tpu_topology=topology, one_zone=True, max_nodes=hosts, atomic_nodes=hosts)
    policy = WorkloadPolicy(
        accelerator_topology=topology, topology_mode="PROVISION_ONLY" if asked.dynamic_slicing else None
    )
    told = None if policy_only else topology
    return Placement(
        type="COMPACT", tpu_topology=told, policy=policy, one_zone=True, max_nodes=hosts, atomic_nodes=hosts
    )


# --- rules ------------------------------------------------------------------------------------------------------------


def placed(asked: Asked) -> Found:
    """What is wrong with where the nodes shall stand."""
    if asked.shape:
        yield from _slices(asked)
    elif asked.machine.domain_topology:
        yield from _domain(asked)
    elif asked.compact:
        yield from _compact(asked)
    if asked.dynamic_slicing:
        yield from _dynamic(asked)
    if asked.topology_aware:
        yield from _aware(asked)


def _aware(asked: Asked) -> Found:
    """Kueue places jobs on nodes that are there, by labels that say where (Kueue docs: topology-aware scheduling)."""
    if not asked.machine.topology_levels:
        message = f"nodes of '{asked.machine.name}' do not say where they stand; leave topologyAware out"
        yield Violation(code="topology-levels", key="topologyAware", message=message)
    elif asked.autoscaled and asked.capacity != "queued":
        message = (
            f"Kueue counts the nodes that are there, {asked.nodes.min} at the least: no job waits for the other "
            f"{asked.nodes.max - asked.nodes.min}, so nothing makes them; write a fixed number, or queued capacity"
        )
        yield Violation(code="topology-from-zero", key="topologyAware", message=message, severity="warning")


def _slices(asked: Asked) -> Found:
    shape = asked.shape
    assert shape is not None
    if asked.compact and not shape.multi_host:
        message = f"'compact' has no meaning for {shape.topology}, a slice of one host; leave placement out"
        yield Violation(code="compact-single-host", key="placement", message=message)
    if shape.multi_host and not asked.made_by_gke and len(asked.zones) != 1:
        message = f"a slice of {shape.hosts} hosts stands in exactly one zone, {_named(asked)}; write one zone"
        yield Violation(code="slice-zone", key="zones", message=message)
    odd = [count for count in (asked.nodes.min, asked.nodes.max) if count % shape.hosts]
    if odd:
        message = (
            f"'{odd[0]}' nodes are no whole number of {shape.topology} slices, which have {shape.hosts} hosts each; "
            f"write a multiple of {shape.hosts}"
        )
        yield Violation(code="slice-size", key="slices", message=message)


def _domain(asked: Asked) -> Found:
    """An NVLink domain is upgraded as a whole, without spare nodes."""
    machine, upgrade = asked.machine, asked.upgrade
    if not asked.made_by_gke and len(asked.zones) != 1:
        message = f"the nodes of a {machine.domain_topology} domain stand in one zone, {_named(asked)}; write one zone"
        yield Violation(code="compact-zones", key="zones", message=message)
    if asked.nodes.max > machine.domain_nodes:
        message = (
            f"'{asked.nodes.max}' nodes are more than the {machine.domain_nodes} of a {machine.domain_topology} domain "
            f"of {machine.name}; write a pool for each domain"
        )
        yield Violation(code="domain-nodes", key="nodes", message=message, severity="warning")
    wanted = domain_upgrade(asked)
    if upgrade and upgrade != wanted and not asked.made_by_gke:
        message = (
            f"'{_upgrade(upgrade)}' does not go with a {machine.domain_topology} domain of {machine.name}, which is "
            f"upgraded as a whole; leave surge out: it is {_upgrade(wanted)}"
        )
        yield Violation(code="domain-upgrade", key="surge", message=message)


def domain_upgrade(asked: Asked) -> Upgrade:
    """The upgrade settings of a pool that is one NVLink domain: all of its nodes at once."""
    return Upgrade(max_surge=0, max_unavailable=max(1, min(asked.nodes.max, asked.machine.domain_nodes)))


def _compact(asked: Asked) -> Found:
    machine = asked.machine
    if not machine.compact_max_nodes:
        message = f"'compact' placement does not exist for {machine.name}; leave placement out"
        yield Violation(code="compact-not-offered", key="placement", message=message)
        return
    if asked.way not in machine.provisioning.compact:
        message = (
            f"'compact' placement does not go with {asked.capacity} for {machine.name}; leave placement out, "
            f"or write a capacity that it goes with: {', '.join(WAYS[way] for way in machine.provisioning.compact)}"
        )
        yield Violation(code="compact-capacity", key="placement", message=message)
    yield from _compact_pool(asked)


def _compact_pool(asked: Asked) -> Found:
    """One zone, no blue-green upgrades, no more nodes than the family's limit."""
    most = asked.machine.compact_max_nodes
    if not asked.made_by_gke and len(asked.zones) != 1:
        message = f"'compact' placement needs exactly one zone, {_named(asked)}; write one zone, or leave placement out"
        yield Violation(code="compact-zones", key="zones", message=message)
    if asked.nodes.max > most:
        message = (
            f"'{asked.nodes.max}' nodes are more than the {most} that compact placement of {asked.machine.name} holds; "
            f"write at most {most}, or several pools"
        )
        yield Violation(code="compact-nodes", key="nodes", message=message)
    if asked.upgrade and asked.upgrade.strategy == "BLUE_GREEN":
        message = "'BLUE_GREEN' upgrades do not go with compact placement; write SURGE, or leave placement out"
        yield Violation(code="compact-blue-green", key="surge", message=message)


def _dynamic(asked: Asked) -> Found:
    """Dynamic slicing of TPU7x, from base cubes of a reservation taken by name."""
    generation = catalog.generations().get(asked.machine.generation or "")
    base = generation.dynamic_slicing_topology if generation else None
    if base is None:
        message = f"'{asked.machine.name}' has no dynamic slicing; leave dynamicSlicing out"
        yield Violation(code="dynamic-slicing", key="dynamicSlicing", message=message)
        return
    if asked.shape is None or asked.shape.topology != base:
        topology = asked.shape.topology if asked.shape else "none"
        message = f"'{topology}' is no base of dynamic slicing, which joins slices of {base}; write topology: {base}"
        yield Violation(code="dynamic-slicing", key="topology", message=message)
    if asked.way != "reservation-specific":
        message = f"'{asked.way}' capacity does not go with dynamic slicing; write a reservation by its name"
        yield Violation(code="dynamic-slicing", key="capacity", message=message)
    if not asked.cluster.slice_controller:
        message = "dynamic slicing needs the cluster's slice controller, which is off; switch it on, or leave this out"
        yield Violation(code="dynamic-slicing", key="dynamicSlicing", message=message)


def _upgrade(upgrade: Upgrade) -> str:
    counts = (("maxSurge", upgrade.max_surge), ("maxUnavailable", upgrade.max_unavailable))
    return " ".join([upgrade.strategy, *(f"{key} {count}" for key, count in counts if count is not None)])


def _named(asked: Asked) -> str:
    return f"and {len(asked.zones)} are named ({', '.join(asked.zones)})" if asked.zones else "and none is named"
