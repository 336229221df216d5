"""The networks over which accelerators of different nodes talk to each other (GPUDirect)."""

from __future__ import annotations

from msgspec import Struct


class AcceleratorSubnetPlan(Struct, frozen=True, kw_only=True):
    """A subnet for one interface of every node.

    `ip_range` is a CIDR block without host bits, disjoint from every other range of the fleet. `device` names the
    Network object by which pods ask for the interface; `device_mode` is NetDevice or RDMA.
    """

    name: str
    ip_range: str
    device: str
    device_mode: str = "NetDevice"


class AcceleratorVpcPlan(Struct, frozen=True, kw_only=True):
    """A VPC for accelerators, with one subnet for each interface that it gives a node.

    `key` names it within its set and never changes. `profile` is the path of a zonal RDMA network profile
    (projects/P/global/networkProfiles/Z-vpc-roce), or None. `allowed_ranges` are those from which everything may come
    in; none makes no firewall rule, as a VPC with a profile takes none.
    """

    key: str
    name: str
    mtu: int | None = None
    profile: str | None = None
    allowed_ranges: tuple[str, ...] = ()
    subnets: tuple[AcceleratorSubnetPlan, ...]


class AcceleratorNetworksPlan(Struct, frozen=True, kw_only=True):
    """All VPCs that the nodes of one kind of pool have interfaces in.

    TCPX four VPCs with a subnet each, TCPXO eight; RDMA one for gVNIC and one with the RDMA profile and eight subnets.
    The order of VPCs and subnets is the order of the interfaces. `key` as everywhere.
    """

    key: str
    region: str
    vpcs: tuple[AcceleratorVpcPlan, ...]
