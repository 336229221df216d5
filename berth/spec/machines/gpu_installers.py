"""Schema of the DaemonSets that prepare GPU nodes."""

from __future__ import annotations

from typing import Annotated

from berth.spec.base import Entry, Model, NonEmptyText, Text, default_field

DriverVersion = Annotated[
    str, Text(r"default|latest|[0-9]{3,4}(\.[0-9]{1,4}){1,2}", 'a driver: default, latest or one such as "580.65.06"')
]


class InstallerImagesSpec(Model):
    """Images of the DaemonSets that prepare GPU nodes, for mirrors and digests."""

    driver: NonEmptyText | None = None
    """Installer of the GPU driver."""
    partition: NonEmptyText | None = None
    """Partitioner of MIG GPUs."""
    device_injector: NonEmptyText | None = None
    """Injector of devices into containers."""
    tcpx: NonEmptyText | None = None
    """Installer of GPUDirect-TCPX."""
    tcpxo: NonEmptyText | None = None
    """Installer of GPUDirect-TCPXO."""
    rdma: NonEmptyText | None = None
    """Installer of GPUDirect-RDMA on x86 machines."""
    rdma_arm: NonEmptyText | None = None
    """Installer of GPUDirect-RDMA on Arm machines."""
    host: NonEmptyText | None = None
    """Image that changes settings of the host."""
    pause: NonEmptyText | None = None
    """Container that keeps the pod running."""


class GpuInstallersSpec(Model):
    """Settings of the DaemonSets that prepare GPU nodes."""

    driver_version: DriverVersion = "default"
    """Driver of pools with `driverVersion: disabled`: `default`, `latest` or an exact version."""
    images: Entry[InstallerImagesSpec] = default_field(InstallerImagesSpec)
    """Images of the DaemonSets, for mirrors and digests."""
