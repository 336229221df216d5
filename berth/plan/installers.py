"""DaemonSets that make GPU nodes ready where GKE does not: drivers, NCCL plugins, devices for containers.

Images are parameters. The defaults are those of GoogleCloudPlatform/container-engine-accelerators at 992db81
(2026-06-11), pinned by digest wherever that repository pins them; those it names by tag are so here. A mirror, or a
digest of one's own choice, goes into the stack file.
"""

from __future__ import annotations

from typing import Final

from msgspec import Struct

PAUSE_IMAGE: Final = "gke.gcr.io/pause:3.8@sha256:880e63f94b145e46f1b1082bb71b85e21f16b99b180b9996407d61240ceb9830"
"""What runs on once the work of an installer is done."""
DRIVER_IMAGE: Final = "cos-nvidia-installer:fixed"
"""Preloaded on Container-Optimized OS, so it is never pulled, and its content belongs to the node's image."""
PARTITION_IMAGE: Final = (
    "gcr.io/gke-release/nvidia-partition-gpu@sha256:de12f85ebfb4fb6c1893cd30c23aab662a72fa0448f97ef74fccb82d7522ef17"
)
"""Makes the MIG partitions that a node's settings ask for; does nothing elsewhere."""
INJECTOR_IMAGE: Final = (
    "gcr.io/gke-release/nri-device-injector@sha256:6e79483d52abdc28454bf186320b10a56b0f117a10e8d65d5c74dbb821a76970"
)
"""Gives containers the devices that their pod's annotations ask for; TCPX and TCPXO need it."""
TCPX_IMAGE: Final = "us-docker.pkg.dev/gce-ai-infra/gpudirect-tcpx/nccl-plugin-gpudirecttcpx-dev:v3.1.9"
TCPXO_IMAGE: Final = "us-docker.pkg.dev/gce-ai-infra/gpudirect-tcpxo/nccl-plugin-gpudirecttcpx-dev:v1.0.15"
RDMA_IMAGE: Final = "us-docker.pkg.dev/gce-ai-infra/gpudirect-gib/nccl-plugin-gib:v1.1.1"
RDMA_ARM64_IMAGE: Final = "us-docker.pkg.dev/gce-ai-infra/gpudirect-gib/nccl-plugin-gib-arm64:v1.1.1"
HOST_IMAGE: Final = "ubuntu:24.04"
"""Any image with `nsenter`: TCPXO prepares the node itself before its plugin is installed. Google's file says
`ubuntu` alone."""


class DriverInstallerPlan(Struct, frozen=True, kw_only=True):
    """Installs NVIDIA's driver on every GPU node that GKE installs none on (INSTALLATION_DISABLED; COS only).

    `version` is default, latest, or an exact one that the installer knows. Nodes with confidential GPUs are left out:
    theirs is another installer.
    """

    version: str = "default"
    image: str = DRIVER_IMAGE
    partition_image: str = PARTITION_IMAGE
    pause_image: str = PAUSE_IMAGE


class NcclInstallerPlan(Struct, frozen=True, kw_only=True):
    """Installs the NCCL plugin of a GPUDirect `mode` (TCPX, TCPXO or RDMA) on nodes with one of these accelerators.

    `accelerators` are values of `cloud.google.com/gke-accelerator`, all of one `arch` (amd64, or arm64 for RDMA).
    `host_image` is used by TCPXO alone.
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


class InstallersPlan(Struct, frozen=True, kw_only=True):
    """Every installer of a cluster. One per kind: each is told by its accelerators which nodes are its own."""

    driver: DriverInstallerPlan | None = None
    nccl: tuple[NcclInstallerPlan, ...] = ()
    injector: DeviceInjectorPlan | None = None
