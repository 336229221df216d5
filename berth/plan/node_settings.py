"""Derived settings of a pool's nodes: placement, network, upgrades; those that a stack file writes are NodeSettings."""

from __future__ import annotations

from typing import Final

from msgspec import Struct

from berth.spec.machines.node_system import SurgeSpec


class PlacementPlan(Struct, frozen=True, kw_only=True):
    """Placement of a pool's nodes relative to each other.

    `policy` is a resource policy in the pool's project and region: the workload policy of a TPU7x slice or of an NVLink
    domain, or one that the pool names. Google's Terraform blueprint requests a TPU7x slice as COMPACT with both policy
    and topology.
    """

    type: str
    policy: str | None = None
    tpu_topology: str | None = None


SURGE_ONE: Final = SurgeSpec.model_construct(max_surge=1)
"""One node at a time; its replacement is created first."""
DRAIN_FIRST: Final = SurgeSpec.model_construct(max_unavailable=1)
"""One node at a time; it is drained and deleted before its replacement is created."""


class NodeInterfacePlan(Struct, frozen=True, kw_only=True):
    """An additional network interface of every node: names of a VPC and of its subnet.

    GKE reports names, and with paths the provider would replace the pool.
    """

    network: str
    subnetwork: str


class NodeNetworkPlan(Struct, frozen=True, kw_only=True):
    """The network settings of a pool's nodes.

    `private_nodes` None: a new pool follows the cluster, an existing pool keeps its value. It must be set if any other
    field is: the provider then sends false for it by default, and nodes of a private cluster would get public
    addresses. `interfaces` follow the node's first interface, in order; they belong to the AcceleratorNetworksPlan with
    the key `accelerator_networks`, or to existing networks. `accelerator_profile` ("auto": GKE creates networks and
    interfaces, for DRANET) excludes interfaces.
    """

    private_nodes: bool | None = None
    interfaces: tuple[NodeInterfacePlan, ...] = ()
    accelerator_networks: str | None = None
    accelerator_profile: str | None = None
