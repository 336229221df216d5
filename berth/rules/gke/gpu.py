"""GPUs of a node: how many a job can ask for, the labels that follow, drivers, partitions, sharing and local SSDs.

Facts 2.1 and 2.3, from GKE's autoscaler and the provider's schema; MPS from GKE's page on it.
"""

from __future__ import annotations

from msgspec import Struct

from berth import catalog
from berth.catalog import Machine
from berth.rules.gke.pool_request import Asked, Found, Key, Violation

DRIVERS = {"default": "DEFAULT", "latest": "LATEST", "disabled": "INSTALLATION_DISABLED"}
"""What an owner writes, to the provider's enum; disabled wants an installer DaemonSet."""

_DRIVER_LABELS = {"default": "default", "latest": "latest", "disabled": "autoinstall-disabled"}
_STRATEGY_LABELS = {"TIME_SHARING": "time-sharing", "MPS": "mps"}


class Counts(Struct, frozen=True):
    """GPUs of one node, MIG partitions of each GPU, and clients of each partition (or GPU); 1 where not divided."""

    gpus: int
    partitions: int = 1
    clients: int = 1

    @property
    def allocatable(self) -> int:
        """What the node says it has of `nvidia.com/gpu`; quotas count these."""
        return self.gpus * self.partitions * self.clients


def counts(asked: Asked) -> Counts:
    """How a node's GPUs are divided. An unknown partition size counts as 1: `gpu` reports it."""
    partitions = catalog.mig_partitions(asked.machine.accelerator).get(asked.partition or "", 1)
    return Counts(asked.machine.accelerators, partitions, asked.sharing.clients if asked.sharing else 1)


def gpu_labels(asked: Asked) -> dict[str, str]:
    """The labels that GKE puts on the nodes of a GPU pool, for flavors to select by; none of a TPU pool."""
    if asked.machine.kind != "gpu":
        return {}
    keys = catalog.labels()
    labels = {keys.gpu_accelerator: asked.machine.accelerator}
    if asked.partition:
        labels[keys.gpu_partition] = asked.partition
    if asked.sharing:
        labels[keys.gpu_sharing_strategy] = _STRATEGY_LABELS.get(asked.sharing.strategy, asked.sharing.strategy)
        labels[keys.gpu_max_shared_clients] = str(asked.sharing.clients)
    return labels


def driver_label(asked: Asked) -> dict[str, str]:
    """The label that says which driver GKE installs; two flavors rarely differ in it, so it stands apart."""
    named = _DRIVER_LABELS.get(asked.driver or "default") if asked.machine.kind == "gpu" else None
    return {catalog.labels().gpu_driver_version: named} if named else {}


# --- local SSDs -------------------------------------------------------------------------------------------------------


class SsdLayout(Struct, frozen=True):
    """Local SSDs of a node: for ephemeral storage, or raw as NVMe blocks. At most one of them is above 0."""

    ephemeral: int = 0
    block: int = 0


def ssd_layout(asked: Asked) -> SsdLayout:
    """The local SSDs as the provider wants them; those of the machine count, where its owner says nothing."""
    count = asked.machine.ssd_automatic if asked.local_ssds is None else asked.local_ssds
    return SsdLayout(block=count) if asked.local_ssd_use == "block" else SsdLayout(ephemeral=count)


def local_ssds(machine: Machine, count: int) -> str | None:
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


def _ssds(asked: Asked) -> Found:
    message = None if asked.local_ssds is None else local_ssds(asked.machine, asked.local_ssds)
    if message:
        yield Violation(code="local-ssds", key="localSsd", message=message)


# --- rules ------------------------------------------------------------------------------------------------------------


def gpu(asked: Asked) -> Found:
    """What is wrong with the devices of a node."""
    yield from _ssds(asked)
    yield from _confidential(asked)
    if asked.machine.kind == "gpu":
        yield from _driver(asked)
        yield from _partition(asked)
        yield from _sharing(asked)
        return
    of_gpus: tuple[tuple[Key, object], ...] = (
        ("gpuSharing", asked.sharing),
        ("gpuPartition", asked.partition),
        ("driverVersion", asked.driver),
    )
    for key, value in of_gpus:
        if value is not None:
            message = f"'{asked.machine.name}' has TPUs, and {key} is of GPUs; leave {key} out"
            yield Violation(code="gpu-only", key=key, message=message)


def _confidential(asked: Asked) -> Found:
    machine, kind = asked.machine, asked.confidential or asked.cluster.confidential
    if asked.confidential and asked.cluster.confidential not in (None, asked.confidential):
        message = f"'{asked.confidential}' is not the {asked.cluster.confidential} of the whole cluster; leave it out"
        yield Violation(code="confidential", key="confidentialNodes", message=message)
    if kind is None or kind in machine.confidential:
        return
    able = [m.name for m in catalog.machines().values() if kind in m.confidential]
    others = f"write one such as {able[0]}" if able else "write SEV or TDX"
    remedy = f"it can be {machine.confidential[0]}" if machine.confidential else f"leave it out, or {others}"
    sure = machine.kind == "gpu"
    message = f"'{kind}' confidential nodes {'do not go with' if sure else 'are not known of'}"
    yield Violation(
        code="confidential",
        key="confidentialNodes",
        message=f"{message} {machine.name}; {remedy}",
        severity="fault" if sure else "warning",
    )


def _driver(asked: Asked) -> Found:
    if asked.driver not in (None, *DRIVERS):
        message = f"'{asked.driver}' is no driver; write one of {', '.join(DRIVERS)}"
        yield Violation(code="driver", key="driverVersion", message=message)
    if asked.driver == "latest" and not asked.image_type.upper().startswith("COS"):
        message = f"'latest' driver goes with Container-Optimized OS, and imageType is '{asked.image_type}'"
        yield Violation(code="driver-image", key="driverVersion", message=f"{message}; write default")
    if asked.driver == "disabled" and asked.cluster.dcgm and not asked.made_by_gke:
        message = "'disabled' driver leaves GKE's DCGM metrics without GPUs, since they need GKE's driver"
        yield Violation(
            code="driver-dcgm",
            key="driverVersion",
            message=f"{message}; write default or latest",
            severity="warning",
        )


def _partition(asked: Asked) -> Found:
    if asked.partition is None:
        return
    sizes = catalog.mig_partitions(asked.machine.accelerator)
    if not sizes:
        message = f"'{asked.machine.accelerator}' cannot be partitioned; leave gpuPartition out"
        yield Violation(code="partition", key="gpuPartition", message=message)
    elif asked.partition not in sizes:
        message = f"'{asked.partition}' is no partition of {asked.machine.accelerator}; write one of {', '.join(sizes)}"
        yield Violation(code="partition", key="gpuPartition", message=message)
    elif asked.machine.fraction > 1:
        message = f"no source shows partitions of {asked.machine.name}, which has 1/{asked.machine.fraction} of a GPU"
        message = f"{message}, and '{asked.partition}' is asked for; leave it out"
        yield Violation(code="partition-fraction", key="gpuPartition", message=message, severity="warning")


def _sharing(asked: Asked) -> Found:
    if asked.sharing is None:
        return
    limits, sharing = catalog.limits(), asked.sharing
    if sharing.strategy not in limits.sharing_strategies:
        message = f"'{sharing.strategy}' is no way to share a GPU; write {' or '.join(limits.sharing_strategies)}"
        yield Violation(code="sharing", key="gpuSharing", message=message)
    low, high = limits.min_shared_clients, limits.max_shared_clients
    if not low <= sharing.clients <= high:
        message = f"'{sharing.clients}' clients of one GPU are not from {low} to {high}; write a number between them"
        yield Violation(code="shared-clients", key="gpuSharing", message=message)
    yield from _mps(asked, sharing.strategy)


def _mps(asked: Asked, strategy: str) -> Found:
    if strategy != "MPS":
        return
    if asked.partition:
        message = f"'MPS' is not known to go with partitions, and '{asked.partition}' is asked for; write time-sharing"
        yield Violation(code="mps-partition", key="gpuSharing", message=message, severity="warning")
    if asked.cluster.autopilot:
        message = "'MPS' is documented for Standard clusters, and this one is Autopilot; write time-sharing"
        yield Violation(code="mps-autopilot", key="gpuSharing", message=message, severity="warning")
