"""The nodes of a flavor as seen by a job: accelerators and allocatable resources of a node, hosts of a slice."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct

from berth import catalog
from berth.catalog import Allocatable, GpuDirect
from berth.nodes import NodeGroup, pool_nodes
from berth.plan.fleet import FleetPlan, PoolPlan
from berth.plan.kueue import FlavorPlan


class NodeShape(Struct, frozen=True):
    """The nodes of one pool.

    `per_node` is the number of accelerators (or cores) of a node, `per_pod` the maximum for one pod (1 for shared GPUs,
    all for a host of a slice). `hosts` is 1 except for multi-host slices of a fixed topology. Allocatable
    resources are None if unknown. `saves_checkpoints` is whether every node has the volume of multi-tier checkpointing.
    """

    pool: PoolPlan
    flavor: FlavorPlan
    per_node: int
    hosts: int
    allocatable: Allocatable | None
    saves_checkpoints: bool = False

    @property
    def per_pod(self) -> int:
        """The maximum number of accelerators of one pod."""
        return 1 if catalog.labels().gpu_sharing_strategy in self.flavor.node_labels else self.per_node

    @property
    def is_tpu(self) -> bool:
        """Whether the accelerators are TPU chips."""
        return self.flavor.resource == catalog.extended_resource("tpu")

    @property
    def is_cpu(self) -> bool:
        """Whether the nodes have no accelerators, so that their cores are counted."""
        return self.flavor.resource == catalog.CPU

    @property
    def is_multi_host(self) -> bool:
        """Whether a slice has several nodes, which are used together."""
        return self.hosts > 1

    @property
    def domain_level(self) -> str | None:
        """The node label whose values are NVLink domains; None if the machines form none."""
        machine = catalog.machines().get(self.pool.machine_type)
        return machine and machine.domain_level

    @property
    def domain_nodes(self) -> int:
        """The most nodes of one NVLink domain; 0 if the machines form none."""
        machine = catalog.machines().get(self.pool.machine_type)
        return machine.domain_nodes if machine is not None else 0

    @property
    def rdma(self) -> GpuDirect | None:
        """The RDMA of machines without GPUs, if the nodes have a network for it; None without one."""
        machine = catalog.cpu_machine(self.pool.machine_type)
        has_networks = any(each.network.accelerator_networks is not None for each in self.pool.node_pools)
        return catalog.gpudirect()[machine.gpudirect] if machine is not None and has_networks else None

    @property
    def description(self) -> str:
        """A description: `2x4 slices of v5e (2 pods of 4 chips)`, `g2-standard-24 (2 L4)`."""
        if (slicing := self.flavor.slicing) is not None:
            shapes = slicing.shapes
            sizes = f"slices from {shapes[0].topology} to {shapes[-1].topology}"
            return f"{sizes} (pods of {self.per_node} {self.flavor.noun})"
        if not self.is_multi_host:
            topology = f" {self.pool.topology}" if self.pool.topology else ""
            return f"{self.pool.machine_type}{topology} ({self.per_node} {self.flavor.noun})"
        return f"{self.pool.topology} slices ({self.hosts} pods of {self.per_node} {self.flavor.noun})"

    @property
    def has_pod_network(self) -> bool:
        """Whether GKE attaches the accelerator network to pods, so that they do not need the host network."""
        networks = [pool.network for pool in self.pool.node_pools]
        return any(network.accelerator_profile is not None for network in networks)


def list_node_shapes(plan: FleetPlan, flavors: Iterable[str]) -> list[NodeShape]:
    """List the shapes of flavors, in order and by pool, without pools that can never have a node."""
    known = {flavor.name: flavor for flavor in plan.flavors}
    return [
        NodeShape(
            pool,
            known[name],
            pool.accelerators.max // pool.nodes.max,
            _hosts(pool, known[name]),
            _size(groups),
            all(group.held for group in groups),
        )
        for name in flavors
        for pool in plan.pools
        if pool.flavor == name and (groups := pool_nodes(plan, pool))
    ]


def pod_networks(plan: FleetPlan, pools: Iterable[str]) -> tuple[str, ...]:
    """List the names by which pods on the nodes of pools request additional interfaces, in their order."""
    names = set(pools)
    return tuple(
        device
        for networks in plan.accelerator_networks
        if not names.isdisjoint(plan.pools_on(networks.key))
        for device in networks.devices
    )


def _hosts(pool: PoolPlan, flavor: FlavorPlan) -> int:
    """Return the hosts of a slice that is used as a whole; 1 where jobs form slices themselves."""
    return 1 if flavor.slicing is not None else pool.hosts_per_slice or 1


def _size(groups: tuple[NodeGroup, ...]) -> Allocatable | None:
    """Return the cpu and memory that pods can certainly use of a node of a pool; None if no table has its size."""
    group = groups[0]
    cpu, memory = (group.least.get(resource, group.amount(resource)) for resource in ("cpu", "memory"))
    return None if cpu is None or memory is None else Allocatable(cpu, memory)
