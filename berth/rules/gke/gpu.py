"""GPUs of a node: how many a job can request, their labels, drivers, partitions, sharing and local SSDs.

Sources: GKE's autoscaler, the schema of Pulumi's Google provider, and GKE's page on MPS.
"""

from __future__ import annotations

from msgspec import Struct

from berth import catalog
from berth.catalog import Machine
from berth.diagnostics import Severity
from berth.rules.gke.pool_request import GkeViolation, PoolRequest, SettingKey, Violations

_DRIVER_LABELS = {"default": "default", "latest": "latest", "disabled": "autoinstall-disabled"}


class GpuCounts(Struct, frozen=True):
    """GPUs of one node, MIG partitions of each GPU, and clients of each partition (or GPU); 1 if not divided."""

    gpus: int
    partitions: int = 1
    clients: int = 1

    @property
    def allocatable(self) -> int:
        """Allocatable `nvidia.com/gpu` of the node, the unit of quotas."""
        return self.gpus * self.partitions * self.clients


def gpu_counts(request: PoolRequest) -> GpuCounts:
    """Return how a node's GPUs are divided. An unknown partition size counts as 1; `device_violations` reports it."""
    partition, sharing = request.settings.gpu_partition, request.settings.gpu_sharing
    partitions = catalog.mig_partitions(request.machine.accelerator).get(partition or "", 1)
    return GpuCounts(request.machine.accelerators, partitions, sharing.max_shared_clients if sharing else 1)


def gpu_labels(request: PoolRequest) -> dict[str, str]:
    """Return the labels of GKE on the nodes of a GPU pool, which flavors select by; empty for other pools."""
    if request.machine.kind != "gpu":
        return {}
    keys = catalog.labels()
    labels = {keys.gpu_accelerator: request.machine.accelerator}
    if request.settings.gpu_partition:
        labels[keys.gpu_partition] = request.settings.gpu_partition
    if sharing := request.settings.gpu_sharing:
        labels[keys.gpu_sharing_strategy] = sharing.strategy
        labels[keys.gpu_max_shared_clients] = str(sharing.max_shared_clients)
    return labels


def driver_label(request: PoolRequest) -> dict[str, str]:
    """Return GKE's label for its driver version; separate from `gpu_labels` because flavors rarely differ in it."""
    driver = _DRIVER_LABELS[request.settings.driver_version] if request.machine.kind == "gpu" else None
    return {catalog.labels().gpu_driver_version: driver} if driver else {}


# --- local SSDs -------------------------------------------------------------------------------------------------------


def local_ssd_error(machine: Machine, count: int) -> str | None:
    """Return why a machine cannot have `count` local SSDs, with the remedy; None if it can."""
    if count == machine.ssd_automatic or count in machine.ssd_options:
        return None
    if machine.ssd_automatic:
        remedy = f"remove localSsd, because the machine includes {machine.ssd_automatic}"
    elif machine.ssd_options:
        remedy = f"write one of {', '.join(map(str, (0, *machine.ssd_options)))}"
    else:
        remedy = "remove localSsd, because the machine supports none"
    return f"{machine.name} cannot have '{count}' local SSDs; {remedy}"


def _check_local_ssds(request: PoolRequest) -> Violations:
    message = None if request.local_ssds is None else local_ssd_error(request.machine, request.local_ssds)
    if message:
        yield GkeViolation(code="local-ssds", key="localSsd", message=message)


# --- rules ------------------------------------------------------------------------------------------------------------


def device_violations(request: PoolRequest) -> Violations:
    """Yield what is wrong with the GPU and disk settings of a pool."""
    yield from _check_local_ssds(request)
    yield from _check_confidential(request)
    if request.machine.kind == "gpu":
        yield from _check_driver(request)
        yield from _check_partition(request)
        yield from _check_sharing(request)
        return
    gpu_settings: tuple[tuple[SettingKey, object], ...] = (
        ("gpuSharing", request.settings.gpu_sharing),
        ("gpuPartition", request.settings.gpu_partition),
        ("driverVersion", request.driver_version),
    )
    for key, value in gpu_settings:
        if value is not None:
            has = "TPUs" if request.machine.kind == "tpu" else "no GPUs"
            message = f"'{request.machine.name}' has {has}, and {key} is a setting of GPUs; remove {key}"
            yield GkeViolation(code="gpu-only", key=key, message=message)


def _check_confidential(request: PoolRequest) -> Violations:
    machine, written = request.machine, request.settings.confidential_nodes
    kind = written or request.cluster.confidential
    if written and request.cluster.confidential not in (None, written):
        message = (
            f"'{written}' differs from the cluster's {request.cluster.confidential}; remove "
            "confidentialNodes from the pool"
        )
        yield GkeViolation(code="confidential", key="confidentialNodes", message=message)
    if kind is None or kind in machine.confidential:
        return
    machine_names = [m.name for m in catalog.machines().values() if kind in m.confidential]
    alternative = f"write a machineType such as {machine_names[0]}" if machine_names else "write SEV or TDX"
    key = "cluster.confidentialNodes" if request.cluster.confidential else "confidentialNodes"
    remedy = f"write {key}: {machine.confidential[0]}" if machine.confidential else f"remove {key}, or {alternative}"
    is_gpu = machine.kind == "gpu"
    message = f"'{kind}' confidential nodes are {'not available' if is_gpu else 'not documented'} with"
    yield GkeViolation(
        code="confidential",
        key="confidentialNodes",
        message=f"{message} {machine.name}; {remedy}",
        severity=Severity.FAULT if is_gpu else Severity.WARNING,
    )


def _check_driver(request: PoolRequest) -> Violations:
    if request.driver_version == "disabled" and request.cluster.dcgm and not request.made_by_gke:
        message = "'disabled' means no DCGM metrics of these GPUs, because the metrics need GKE's driver"
        yield GkeViolation(
            code="driver-dcgm",
            key="driverVersion",
            message=f"{message}; write default or latest",
            severity=Severity.WARNING,
        )


def _check_partition(request: PoolRequest) -> Violations:
    partition = request.settings.gpu_partition
    if partition is None:
        return
    sizes = catalog.mig_partitions(request.machine.accelerator)
    if not sizes:
        message = f"'{request.machine.accelerator}' cannot be partitioned; remove gpuPartition"
        yield GkeViolation(code="partition", key="gpuPartition", message=message)
    elif partition not in sizes:
        message = f"'{partition}' is not a partition of {request.machine.accelerator}; write one of {', '.join(sizes)}"
        yield GkeViolation(code="partition", key="gpuPartition", message=message)
    elif request.machine.fraction > 1:
        message = (
            f"'{partition}' is not documented for {request.machine.name}, which has "
            f"1/{request.machine.fraction} "
            "of a GPU; remove gpuPartition"
        )
        yield GkeViolation(code="partition-fraction", key="gpuPartition", message=message, severity=Severity.WARNING)


def _check_sharing(request: PoolRequest) -> Violations:
    limits, sharing = catalog.limits(), request.settings.gpu_sharing
    if sharing is None:
        return
    min_clients, max_clients = limits.min_shared_clients, limits.max_shared_clients
    if not min_clients <= sharing.max_shared_clients <= max_clients:
        message = (
            f"'{sharing.max_shared_clients}' clients of one GPU are not possible; write a number from {min_clients} to "
            f"{max_clients}"
        )
        yield GkeViolation(code="shared-clients", key="gpuSharing", message=message)
    yield from _check_mps(request, sharing.strategy)


def _check_mps(request: PoolRequest, strategy: str) -> Violations:
    if strategy != "mps":
        return
    if partition := request.settings.gpu_partition:
        message = f"'MPS' is not documented together with a partition ('{partition}'); write time-sharing"
        yield GkeViolation(code="mps-partition", key="gpuSharing", message=message, severity=Severity.WARNING)
    if request.cluster.autopilot:
        message = "'MPS' is documented for Standard clusters, and this cluster is Autopilot; write time-sharing"
        yield GkeViolation(code="mps-autopilot", key="gpuSharing", message=message, severity=Severity.WARNING)
