"""Plan what prepares GPU nodes: drivers, NCCL plugins, and NVIDIA's DRA driver."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from berth.plan.installers import (
    DRIVER_IMAGE,
    HOST_IMAGE,
    INJECTOR_IMAGE,
    PARTITION_IMAGE,
    PAUSE_IMAGE,
    RDMA_ARM64_IMAGE,
    RDMA_IMAGE,
    TCPX_IMAGE,
    TCPXO_IMAGE,
    DeviceInjectorPlan,
    DriverInstallerPlan,
    InstallersPlan,
    NcclInstallerPlan,
)
from berth.planner.context import PlanningContext
from berth.planner.machines.dra_driver import dra_driver
from berth.planner.machines.pools import PlannedPool
from berth.rules.gke.networks import network_needs
from berth.spec.machines.gpu_installers import InstallerImagesSpec


def plan_installers(context: PlanningContext, planned_pools: Mapping[str, PlannedPool]) -> InstallersPlan | None:
    """Return driver installers of pools that disable GKE's, and NCCL plugins per type of GPUDirect; else None."""
    berth_pools = [pool for pool in planned_pools.values() if not pool.made_by_gke]
    spec = context.spec.cluster.gpu_installers
    images, pause = spec.images, spec.images.pause or PAUSE_IMAGE
    injected_accelerators = _accelerators_using(berth_pools, ("tcpx", "tcpxo"))
    plan = InstallersPlan(
        driver=DriverInstallerPlan(
            version=spec.driver_version,
            image=images.driver or DRIVER_IMAGE,
            partition_image=images.partition or PARTITION_IMAGE,
            pause_image=pause,
        )
        if any(pool.spec.driver_version == "disabled" for pool in berth_pools)
        else None,
        nccl=tuple(_nccl_installers(berth_pools, images, pause)),
        injector=DeviceInjectorPlan(accelerators=injected_accelerators, image=images.device_injector or INJECTOR_IMAGE)
        if injected_accelerators
        else None,
        dra=dra_driver(context, berth_pools),
    )
    return None if plan == InstallersPlan() else plan


def _nccl_installers(
    berth_pools: list[PlannedPool], images: InstallerImagesSpec, pause: str
) -> Iterator[NcclInstallerPlan]:
    for kind, arch, image in (
        ("tcpx", "amd64", images.tcpx or TCPX_IMAGE),
        ("tcpxo", "amd64", images.tcpxo or TCPXO_IMAGE),
        ("rdma", "amd64", images.rdma or RDMA_IMAGE),
        ("rdma", "arm64", images.rdma_arm or RDMA_ARM64_IMAGE),
    ):
        if accelerators := _accelerators_using((p for p in berth_pools if p.hardware.machine.arch == arch), (kind,)):
            yield NcclInstallerPlan(
                mode=kind.upper(),
                arch=arch,
                accelerators=accelerators,
                image=image,
                host_image=images.host or HOST_IMAGE,
                pause_image=pause,
            )


def _accelerators_using(pools: Iterable[PlannedPool], gpudirect_kinds: tuple[str, ...]) -> tuple[str, ...]:
    """Return the accelerators of pools with one of these types of GPUDirect."""
    return tuple(
        sorted({p.hardware.machine.accelerator for p in pools if network_needs(p.request).nccl in gpudirect_kinds})
    )
