"""Plan what prepares GPU nodes: drivers, NCCL plugins, and NVIDIA's DRA driver.

With NVIDIA's DRA driver the pods of a job reach each other over NVLink between nodes (ComputeDomain). Values of its
chart: Cluster Toolkit, `modules/management/kubectl-apply/main.tf` and `examples/gke-a4x` (104708037, 2026-06-25). GPUs
stay those of GKE's device plugin: the driver hands out only channels, one of each node.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

from berth.diagnostics import join_quoted
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
    DraDriverPlan,
    DriverInstallerPlan,
    InstallersPlan,
    NcclInstallerPlan,
)
from berth.plan.kueue import CHANNEL_CLASS, ChartPlan, NetworkDevicesPlan
from berth.planner.context import PlanningContext
from berth.planner.machines.network_devices import counted_as, counts_claims
from berth.planner.machines.pools import PlannedPool
from berth.rules.gke.networks import network_needs
from berth.spec.machines.gpu_installers import InstallerImagesSpec
from berth.versions.numbers import parse_release


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


_NAME: Final = "nvidia-dra-driver-gpu"
DRA_DRIVER_RELEASE: Final = "25.8.0"
"""The first release that speaks resource.k8s.io/v1, and that of Cluster Toolkit's blueprint for A4X Max."""
_CHART: Final = "https://helm.ngc.nvidia.com/nvidia/charts/nvidia-dra-driver-gpu-{}.tgz"
_PODS: Final = 100
"""Pods of the driver itself, besides one for each node of a domain that a job uses."""
_PATH: Final = ("nvidiaDraDriver",)


def domain_channels(context: PlanningContext, pools: Sequence[PlannedPool]) -> NetworkDevicesPlan | None:
    """Return the channels of a flavor's nodes, one of each; None if they have none, or Kueue cannot count them."""
    machines = [pool.hardware.machine for pool in pools]
    is_domain = all(machine.domain_topology is not None for machine in machines)
    if context.spec.nvidia_dra_driver is None or not is_domain or not counts_claims(context.spec.kueue):
        return None
    resource = counted_as(context.spec.kueue, CHANNEL_CLASS)
    accelerators = min(machine.accelerators for machine in machines)
    return NetworkDevicesPlan(device_class=CHANNEL_CLASS, resource=resource, per_node=1, accelerators=accelerators)


def dra_driver(context: PlanningContext, pools: Sequence[PlannedPool]) -> DraDriverPlan | None:
    """Return the driver that Berth installs; report machines without it, and a driver without its machines."""
    spec = context.spec.nvidia_dra_driver
    domains = [pool for pool in pools if pool.hardware.machine.domain_topology is not None]
    if spec is None:
        for pool in () if context.is_set_aside("nvidiaDraDriver", "") else domains:
            _warn_without(context, pool)
        return None
    if not domains and not context.set_aside:
        message = "has no effect without a pool of machines that form an NVLink domain (a4x-highgpu-4g)"
        context.problems.fault("no-domain", _PATH, f"{message}; remove nvidiaDraDriver")
    _warn_unplaced(context, domains)
    version = spec.version or DRA_DRIVER_RELEASE
    if parse_release(version) < parse_release(DRA_DRIVER_RELEASE):
        message = f"'{version}' uses resource.k8s.io/v1beta1, which GKE does not serve by default"
        message += f'; write "{DRA_DRIVER_RELEASE}"'
        context.problems.fault("version-too-old", (*_PATH, "version"), message)
    if spec.existing or not domains:
        return None
    accelerators = tuple(sorted({pool.hardware.machine.accelerator for pool in domains}))
    chart = ChartPlan(
        name=_NAME,
        chart=spec.chart or _CHART.format(version),
        version=version,
        namespace=_NAME,
        values=_values(accelerators, sorted({pool.hardware.machine.arch for pool in domains})),
        waits=False,
    )
    nodes = sum(pool.hardware.nodes.max for pool in domains)
    return DraDriverPlan(chart=chart, accelerators=accelerators, pods=_PODS + 2 * nodes)


def _warn_without(context: PlanningContext, pool: PlannedPool) -> None:
    nodes = pool.hardware.nodes.max
    if nodes > 1:
        context.problems.warning(
            "no-nvlink",
            ("pools", pool.name, "machineType"),
            f"pods on its {nodes} nodes reach each other over the network, not over NVLink, without NVIDIA's DRA "
            "driver; write nvidiaDraDriver: {} beside pools, or nvidiaDraDriver: {existing: true} if it is there",
        )


def _warn_unplaced(context: PlanningContext, domains: Sequence[PlannedPool]) -> None:
    """Warn of several domains whose jobs Kueue does not place in one of them."""
    unplaced = [pool.name for pool in domains if not pool.spec.topology_aware]
    if len(domains) > 1 and unplaced:
        context.problems.warning(
            "spread-domains",
            ("pools", unplaced[0]),
            f"Kueue does not know which nodes of {join_quoted(unplaced)} share NVLink, and may spread a job over "
            "domains; write topologyAware: true for each",
        )


def _values(accelerators: Sequence[str], archs: Sequence[str]) -> dict[str, object]:
    """Return the values of the chart: no GPUs, the controller beside other nodes, the plugin on those of a domain."""
    is_domain = [
        {"key": "cloud.google.com/gke-accelerator", "operator": "In", "values": [*accelerators]},
        {"key": "kubernetes.io/arch", "operator": "In", "values": [*archs]},
    ]
    arm = [{"key": "kubernetes.io/arch", "operator": "Equal", "value": arch, "effect": "NoSchedule"} for arch in archs]
    gpu = {"key": "nvidia.com/gpu", "operator": "Equal", "value": "present", "effect": "NoSchedule"}
    return {
        "nvidiaDriverRoot": "/home/kubernetes/bin/nvidia",
        "resources": {"gpus": {"enabled": False}},
        "controller": {"affinity": _node_affinity([{"key": "nvidia.com/gpu", "operator": "DoesNotExist"}])},
        "kubeletPlugin": {"affinity": _node_affinity(is_domain), "tolerations": [gpu, *arm]},
    }


def _node_affinity(expressions: Sequence[Mapping[str, object]]) -> dict[str, object]:
    terms = [{"matchExpressions": [*expressions]}]
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}}
