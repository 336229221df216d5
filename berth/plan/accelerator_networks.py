"""Networks between accelerators of different nodes (GPUDirect)."""

from __future__ import annotations

from msgspec import Struct


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
    (projects/P/global/networkProfiles/Z-vpc-roce), or None. A firewall rule allows all ingress from `allowed_ranges`;
    without ranges there is no rule, because a VPC with a profile does not accept one.
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
    subnets. The order of VPCs and subnets is the order of the interfaces. `key` never changes.
    """

    key: str
    region: str
    vpcs: tuple[AcceleratorVpcPlan, ...]
