"""Types of rows about the networks of machines besides their first: interfaces that pods claim, GPUDirect and RDMA."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

NETWORK_DEVICE_CLASSES = ("mrdma.google.com", "netdev.google.com")
"""The DeviceClasses of GKE's DRANET: interfaces with RDMA, and other interfaces."""


class NetworkDevices(Struct, frozen=True, kw_only=True):
    """Interfaces of a node that pods can claim, besides its first (GKE's autoscaler, `machinetypes/dranet.go`)."""

    rdma: int = 0
    other: int = 0

    @property
    def by_class(self) -> dict[str, int]:
        """DeviceClass → devices of the node."""
        return dict(zip(NETWORK_DEVICE_CLASSES, (self.rdma, self.other), strict=True))


class GpuDirect(Struct, frozen=True, kw_only=True):
    """Requirements of one type of GPUDirect, or of RDMA without GPUs, besides a machine's `additional_networks`.

    `networking` is the key's value that asks for it. With `rdma`, the networks are subnetworks of one VPC with the
    zone's network `profile`, except one for gVNIC if `gvnic`; otherwise each has its own VPC. `mtu` is in bytes. Pods
    mount `host_paths` and `read_only_host_paths` of the node and add `capabilities` to those of the Pod Security level
    `baseline`. `mpi` is the implementation of MPI that uses it, "" if any may.
    """

    networking: Literal["gpudirect", "rdma"]
    rdma: bool
    gvnic: bool = False
    profile: str = ""
    mpi: str = ""
    mtu: int
    host_paths: tuple[str, ...]
    read_only_host_paths: tuple[str, ...]
    capabilities: tuple[str, ...]
