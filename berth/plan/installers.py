"""DaemonSets that prepare GPU nodes: drivers, NCCL plugins, devices for containers.

Images are parameters. The defaults are those of GoogleCloudPlatform/container-engine-accelerators at 992db81
(2026-06-11), pinned by digest or tag as in that repository. The stack file can set a mirror or another digest.
"""

from __future__ import annotations

from typing import Final

from msgspec import Struct

from berth.plan.kueue import ChartPlan

PAUSE_IMAGE: Final = "gke.gcr.io/pause:3.8@sha256:880e63f94b145e46f1b1082bb71b85e21f16b99b180b9996407d61240ceb9830"
"""Image of the container that keeps the pod running after the installer has finished."""
DRIVER_IMAGE: Final = "cos-nvidia-installer:fixed"
"""Preloaded on Container-Optimized OS, so it is never pulled; its content is part of the node image."""
PARTITION_IMAGE: Final = (
    "gcr.io/gke-release/nvidia-partition-gpu@sha256:de12f85ebfb4fb6c1893cd30c23aab662a72fa0448f97ef74fccb82d7522ef17"
)
"""Creates the MIG partitions that a node is configured with; does nothing on other nodes."""
INJECTOR_IMAGE: Final = (
    "gcr.io/gke-release/nri-device-injector@sha256:6e79483d52abdc28454bf186320b10a56b0f117a10e8d65d5c74dbb821a76970"
)
"""Gives containers the devices in their pod's annotations; TCPX and TCPXO need it."""
TCPX_IMAGE: Final = "us-docker.pkg.dev/gce-ai-infra/gpudirect-tcpx/nccl-plugin-gpudirecttcpx-dev:v3.1.9"
TCPXO_IMAGE: Final = "us-docker.pkg.dev/gce-ai-infra/gpudirect-tcpxo/nccl-plugin-gpudirecttcpx-dev:v1.0.15"
RDMA_IMAGE: Final = "us-docker.pkg.dev/gce-ai-infra/gpudirect-gib/nccl-plugin-gib:v1.1.1"
RDMA_ARM64_IMAGE: Final = "us-docker.pkg.dev/gce-ai-infra/gpudirect-gib/nccl-plugin-gib-arm64:v1.1.1"
HOST_IMAGE: Final = "ubuntu:24.04"
"""Any image with `nsenter`, with which TCPXO prepares the node before its plugin is installed. Google's manifest uses
`ubuntu` without a tag."""


class DriverInstallerPlan(Struct, frozen=True, kw_only=True):
    """Installs NVIDIA's driver on every GPU node without GKE's installation (INSTALLATION_DISABLED; COS only).

    `version` is default, latest, or an exact version that the installer supports. Nodes with confidential GPUs are
    excluded, because they need another installer.
    """

    version: str = "default"
    image: str = DRIVER_IMAGE
    partition_image: str = PARTITION_IMAGE
    pause_image: str = PAUSE_IMAGE


class NcclInstallerPlan(Struct, frozen=True, kw_only=True):
    """Installs the NCCL plugin of a GPUDirect `mode` (TCPX, TCPXO or RDMA) on nodes with one of these accelerators.

    `accelerators` are values of `cloud.google.com/gke-accelerator`, all of one `arch` (amd64, or arm64 for RDMA).
    Only TCPXO uses `host_image`.
    """

    mode: str
    arch: str = "amd64"
    accelerators: tuple[str, ...]
    image: str
    host_image: str = HOST_IMAGE
    pause_image: str = PAUSE_IMAGE


class DeviceInjectorPlan(Struct, frozen=True, kw_only=True):
    """Runs the NRI device injector on nodes with one of these accelerators."""

    accelerators: tuple[str, ...]
    image: str = INJECTOR_IMAGE


class DraDriverPlan(Struct, frozen=True, kw_only=True):
    """NVIDIA's DRA driver, for NVLink between nodes with one of these accelerators.

    GKE admits pods of system-critical priority only to a namespace with a quota for them, which is for `pods`.
    """

    chart: ChartPlan
    accelerators: tuple[str, ...]
    pods: int


class InstallersPlan(Struct, frozen=True, kw_only=True):
    """Every installer of a cluster, one per kind; each selects its nodes by their accelerators."""

    driver: DriverInstallerPlan | None = None
    nccl: tuple[NcclInstallerPlan, ...] = ()
    injector: DeviceInjectorPlan | None = None
    dra: DraDriverPlan | None = None
