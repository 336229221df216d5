"""GPUs of a node: how many a job can request, their labels, drivers, partitions, sharing and local SSDs.

Sources: GKE's autoscaler, the schema of Pulumi's Google provider, and GKE's page on MPS.
"""

from __future__ import annotations

from msgspec import Struct

from berth import catalog
from berth.catalog import Machine
from berth.diagnostics import Severity
from berth.rules.gke.pool_request import GkeViolation, PoolRequest, SettingKey, Violations, gke_fault, gke_warning


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


# --- local SSDs -------------------------------------------------------------------------------------------------------


def local_ssd_error(machine: Machine, count: int) -> str | None:
    """Return why a machine cannot have `count` local SSDs, with the remedy; None if it can, or if no table knows."""
    if machine.known != "type" or count == machine.ssd_automatic or count in machine.ssd_options:
        return None
    if machine.ssd_automatic:
        remedy = f"remove localSsd, because the machine includes {machine.ssd_automatic}"
    elif machine.ssd_options:
        remedy = f"write one of {', '.join(map(str, (0, *machine.ssd_options)))}"
    else:
        remedy = "remove localSsd, because the machine supports none"
    return f"{machine.name} cannot have '{count}' local SSDs; {remedy}"


# --- rules ------------------------------------------------------------------------------------------------------------


def device_violations(request: PoolRequest) -> Violations:
    """Yield what is wrong with the GPU and disk settings of a pool."""
    local_ssds = request.local_ssds
    if local_ssds is not None and (message := local_ssd_error(request.machine, local_ssds)):
        yield gke_fault("local-ssds", "localSsd", message)
    yield from _check_confidential(request)
    if request.machine.kind == "gpu":
        if request.driver_version == "disabled" and request.cluster.dcgm and not request.made_by_gke:
            message = "'disabled' means no DCGM metrics of these GPUs, because the metrics need GKE's driver"
            yield gke_warning("driver-dcgm", "driverVersion", f"{message}; write default or latest")
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
            yield gke_fault(
                "gpu-only", key, f"'{request.machine.name}' has {has}, and {key} is a setting of GPUs; remove {key}"
            )


def _check_confidential(request: PoolRequest) -> Violations:
    machine, written = request.machine, request.settings.confidential_nodes
    kind = written or request.cluster.confidential
    if written and request.cluster.confidential not in (None, written):
        yield gke_fault(
            "confidential",
            "confidentialNodes",
            f"'{written}' differs from the cluster's {request.cluster.confidential}; remove "
            "confidentialNodes from the pool",
        )
    if kind is None or kind in machine.confidential or machine.known == "nothing":
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


def _check_partition(request: PoolRequest) -> Violations:
    partition = request.settings.gpu_partition
    if partition is None:
        return
    sizes = catalog.mig_partitions(request.machine.accelerator)
    if not sizes:
        yield gke_fault(
            "partition", "gpuPartition", f"'{request.machine.accelerator}' cannot be partitioned; remove gpuPartition"
        )
    elif partition not in sizes:
        yield gke_fault(
            "partition",
            "gpuPartition",
            f"'{partition}' is not a partition of {request.machine.accelerator}; write one of {', '.join(sizes)}",
        )
    elif request.machine.fraction > 1:
        yield gke_warning(
            "partition-fraction",
            "gpuPartition",
            f"'{partition}' is not documented for {request.machine.name}, which has 1/{request.machine.fraction} of a "
            "GPU; remove gpuPartition",
        )


def _check_sharing(request: PoolRequest) -> Violations:
    limits, sharing = catalog.limits(), request.settings.gpu_sharing
    if sharing is None:
        return
    min_clients, max_clients = limits.min_shared_clients, limits.max_shared_clients
    if not min_clients <= sharing.max_shared_clients <= max_clients:
        yield gke_fault(
            "shared-clients",
            "gpuSharing",
            f"'{sharing.max_shared_clients}' clients of one GPU are not possible; write a number from {min_clients} to "
            f"{max_clients}",
        )
    if sharing.strategy != "mps":
        return
    if partition := request.settings.gpu_partition:
        yield gke_warning(
            "mps-partition",
            "gpuSharing",
            f"'MPS' is not documented together with a partition ('{partition}'); write time-sharing",
        )
    if request.cluster.autopilot:
        yield gke_warning(
            "mps-autopilot",
            "gpuSharing",
            "'MPS' is documented for Standard clusters, and this cluster is Autopilot; write time-sharing",
        )
