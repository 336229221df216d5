"""Values of nodes and pods, such as counts and taints, and derived settings of a pool's nodes; see NodeSettings."""

from __future__ import annotations

from typing import Final

from msgspec import Struct

from berth.spec.machines.node_system import SurgeSpec


class Toleration(Struct, frozen=True, kw_only=True):
    """A toleration of pods; without a key or effect it matches any, and `Exists` matches any value.

    Tolerations of a flavor have a key and an effect, and a value if and only if `operator` is Equal.
    """

    key: str | None = None
    operator: str = "Exists"
    effect: str | None = None
    value: str | None = None


class Taint(Struct, frozen=True, kw_only=True):
    """A node taint; `effect` is NoSchedule, PreferNoSchedule or NoExecute."""

    key: str
    value: str
    effect: str

    @property
    def tolerated(self) -> Toleration:
        """Return the toleration of exactly this taint."""
        return Toleration(key=self.key, operator="Equal", value=self.value, effect=self.effect)


class Bounds(Struct, frozen=True, kw_only=True):
    """An inclusive range of counts; equal bounds mean a fixed count."""

    min: int
    max: int


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


INTERFACES: Final = "networking.gke.io/interfaces"
"""Annotation by which pods ask for interfaces of additional networks."""
NETWORK_RESOURCE: Final = "networking.gke.io.networks/"
"""Prefix of the resources as which GKE counts the additional interfaces of a node."""


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


class AcceleratorSubnetPlan(Struct, frozen=True, kw_only=True):
    """A subnet for one interface of every node.

    `ip_range` is a CIDR block without host bits, disjoint from all other ranges of the fleet. `device` is the name of
    the Network object with which pods request the interface; `device_mode` is NetDevice or RDMA.
    """

    name: str
    ip_range: str
    device: str
    device_mode: str = "NetDevice"


class AcceleratorVpcPlan(Struct, frozen=True, kw_only=True):
    """A VPC for accelerators, with one subnet for each interface that it gives a node.

    `key` is its name within its set and never changes. `profile` is the path of a zonal RDMA network profile
    (projects/P/global/networkProfiles/Z-vpc-roce or Z-vpc-falcon), or None. A firewall rule allows all ingress from
    `allowed_ranges`; without ranges there is no rule, because a VPC with a profile does not accept one.
    """

    key: str
    name: str
    mtu: int | None = None
    profile: str | None = None
    allowed_ranges: tuple[str, ...] = ()
    subnets: tuple[AcceleratorSubnetPlan, ...]


class AcceleratorNetworksPlan(Struct, frozen=True, kw_only=True):
    """All accelerator VPCs of the nodes of one kind of pool.

    TCPX has 4 VPCs with one subnet each, TCPXO 8; RDMA has one VPC for gVNIC and one with the RDMA profile and 8
    subnets; Falcon has one VPC with its profile and one subnet. The order of VPCs and subnets is the order of the
    interfaces. `key` never changes.
    """

    key: str
    region: str
    vpcs: tuple[AcceleratorVpcPlan, ...]

    @property
    def devices(self) -> tuple[str, ...]:
        """The names by which pods request the interfaces, in their order."""
        return tuple(subnet.device for vpc in self.vpcs for subnet in vpc.subnets)
