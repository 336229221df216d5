"""GPUs of a node: how many a job can ask for, the labels that follow, drivers, partitions, sharing and local SSDs.

Facts 2.1 and 2.3, from GKE's autoscaler and the provider's schema; MPS from GKE's page on it.
"""

from __future__ import annotations

from msgspec import Struct

from berth import catalog
from berth.catalog import Machine
from berth.diagnostics import Severity
from berth.rules.gke.pool_request import GkeViolation, PoolRequest, SettingKey, Violations

DRIVER_INSTALL_MODES = {"default": "DEFAULT", "latest": "LATEST", "disabled": "INSTALLATION_DISABLED"}
"""What an owner writes, to the provider's enum; disabled wants an installer DaemonSet."""

_DRIVER_LABELS = {"default": "default", "latest": "latest", "disabled": "autoinstall-disabled"}
_STRATEGY_LABELS = {"TIME_SHARING": "time-sharing", "MPS": "mps"}


class GpuCounts(Struct, frozen=True):
    """GPUs of one node, MIG partitions of each GPU, and clients of each partition (or GPU); 1 where not divided."""

    gpus: int
    partitions: int = 1
    clients: int = 1

    @property
    def allocatable(self) -> int:
        """What the node says it has of `nvidia.com/gpu`; quotas count these."""
        return self.gpus * self.partitions * self.clients


def gpu_counts(request: PoolRequest) -> GpuCounts:
    """How a node's GPUs are divided. An unknown partition size counts as 1: `gpu` reports it."""
    partitions = catalog.mig_partitions(request.machine.accelerator).get(request.partition or "", 1)
    return GpuCounts(request.machine.accelerators, partitions, request.sharing.clients if request.sharing else 1)


def gpu_labels(request: PoolRequest) -> dict[str, str]:
    """The labels that GKE puts on the nodes of a GPU pool, for flavors to select by; none of a TPU pool."""
    if request.machine.kind != "gpu":
        return {}
    keys = catalog.labels()
    labels = {keys.gpu_accelerator: request.machine.accelerator}
    if request.partition:
        labels[keys.gpu_partition] = request.partition
    if request.sharing:
        labels[keys.gpu_sharing_strategy] = _STRATEGY_LABELS.get(request.sharing.strategy, request.sharing.strategy)
        labels[keys.gpu_max_shared_clients] = str(request.sharing.clients)
    return labels


def driver_label(request: PoolRequest) -> dict[str, str]:
    """The label that says which driver GKE installs; two flavors rarely differ in it, so it stands apart."""
    driver = _DRIVER_LABELS.get(request.driver or "default") if request.machine.kind == "gpu" else None
    return {catalog.labels().gpu_driver_version: driver} if driver else {}


# --- local SSDs -------------------------------------------------------------------------------------------------------


class SsdLayout(Struct, frozen=True):
    """Local SSDs of a node: for ephemeral storage, or raw as NVMe blocks. At most one of them is above 0."""

    ephemeral: int = 0
    block: int = 0


def ssd_layout(request: PoolRequest) -> SsdLayout:
    """The local SSDs as the provider wants them; those of the machine count, where its owner says nothing."""
    count = request.machine.ssd_automatic if request.local_ssds is None else request.local_ssds
    return SsdLayout(block=count) if request.local_ssd_use == "block" else SsdLayout(ephemeral=count)


def local_ssd_error(machine: Machine, count: int) -> str | None:
    """What is wrong with so many local SSDs on a machine; None where it takes them."""
    if count == machine.ssd_automatic or count in machine.ssd_options:
        return None
    if machine.ssd_automatic:
        remedy = f"it comes with {machine.ssd_automatic}: leave localSsd out"
    elif machine.ssd_options:
        remedy = f"write one of {', '.join(map(str, (0, *machine.ssd_options)))}"
    else:
        remedy = "it has none: leave localSsd out"
    return f"'{count}' local SSDs do not go with {machine.name}; {remedy}"


def _check_local_ssds(request: PoolRequest) -> Violations:
    message = None if request.local_ssds is None else local_ssd_error(request.machine, request.local_ssds)
    if message:
        yield GkeViolation(code="local-ssds", key="localSsd", message=message)


# --- rules ------------------------------------------------------------------------------------------------------------


def device_violations(request: PoolRequest) -> Violations:
    """What is wrong with the devices of a node."""
    yield from _check_local_ssds(request)
    yield from _check_confidential(request)
    if request.machine.kind == "gpu":
        yield from _check_driver(request)
        yield from _check_partition(request)
        yield from _check_sharing(request)
        return
    gpu_settings: tuple[tuple[SettingKey, object], ...] = (
        ("gpuSharing", request.sharing),
        ("gpuPartition", request.partition),
        ("driverVersion", request.driver),
    )
    for key, value in gpu_settings:
        if value is not None:
            message = f"'{request.machine.name}' has TPUs, and {key} is of GPUs; leave {key} out"
            yield GkeViolation(code="gpu-only", key=key, message=message)


def _check_confidential(request: PoolRequest) -> Violations:
    machine, kind = request.machine, request.confidential or request.cluster.confidential
    if request.confidential and request.cluster.confidential not in (None, request.confidential):
        message = (
            f"'{request.confidential}' is not the {request.cluster.confidential} of the whole cluster; leave it out"
        )
        yield GkeViolation(code="confidential", key="confidentialNodes", message=message)
    if kind is None or kind in machine.confidential:
        return
    machine_names = [m.name for m in catalog.machines().values() if kind in m.confidential]
    alternative = f"write one such as {machine_names[0]}" if machine_names else "write SEV or TDX"
    remedy = f"it can be {machine.confidential[0]}" if machine.confidential else f"leave it out, or {alternative}"
    is_gpu = machine.kind == "gpu"
    message = f"'{kind}' confidential nodes {'do not go with' if is_gpu else 'are not known of'}"
    yield GkeViolation(
        code="confidential",
        key="confidentialNodes",
        message=f"{message} {machine.name}; {remedy}",
        severity=Severity.FAULT if is_gpu else Severity.WARNING,
    )


def _check_driver(request: PoolRequest) -> Violations:
    if request.driver == "disabled" and request.cluster.dcgm and not request.made_by_gke:
        message = "'disabled' driver leaves GKE's DCGM metrics without GPUs, since they need GKE's driver"
        yield GkeViolation(
            code="driver-dcgm",
            key="driverVersion",
            message=f"{message}; write default or latest",
            severity=Severity.WARNING,
        )


def _check_partition(request: PoolRequest) -> Violations:
    if request.partition is None:
        return
    sizes = catalog.mig_partitions(request.machine.accelerator)
    if not sizes:
        message = f"'{request.machine.accelerator}' cannot be partitioned; leave gpuPartition out"
        yield GkeViolation(code="partition", key="gpuPartition", message=message)
    elif request.partition not in sizes:
        message = (
            f"'{request.partition}' is no partition of {request.machine.accelerator}; write one of {', '.join(sizes)}"
        )
        yield GkeViolation(code="partition", key="gpuPartition", message=message)
    elif request.machine.fraction > 1:
        message = (
            f"no source shows partitions of {request.machine.name}, which has 1/{request.machine.fraction} of a GPU"
        )
        message = f"{message}, and '{request.partition}' is asked for; leave it out"
        yield GkeViolation(code="partition-fraction", key="gpuPartition", message=message, severity=Severity.WARNING)


def _check_sharing(request: PoolRequest) -> Violations:
    if request.sharing is None:
        return
    limits, sharing = catalog.limits(), request.sharing
    min_clients, max_clients = limits.min_shared_clients, limits.max_shared_clients
    if not min_clients <= sharing.clients <= max_clients:
        message = (
            f"'{sharing.clients}' clients of one GPU are not from {min_clients} "
            f"to {max_clients}; write a number between them"
        )
        yield GkeViolation(code="shared-clients", key="gpuSharing", message=message)
    yield from _check_mps(request, sharing.strategy)


def _check_mps(request: PoolRequest, strategy: str) -> Violations:
    if strategy != "MPS":
        return
    if request.partition:
        message = (
            f"'MPS' is not known to go with partitions, and '{request.partition}' is asked for; write time-sharing"
        )
        yield GkeViolation(code="mps-partition", key="gpuSharing", message=message, severity=Severity.WARNING)
    if request.cluster.autopilot:
        message = "'MPS' is documented for Standard clusters, and this one is Autopilot; write time-sharing"
        yield GkeViolation(code="mps-autopilot", key="gpuSharing", message=message, severity=Severity.WARNING)
