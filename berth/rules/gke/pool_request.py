"""The words of the capacity rules: what one pool asks for, what its cluster gives, and what is wrong with that.

Plain values only; whoever reads a stack file fills them in. A field left at None leaves the choice to Berth.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from msgspec import Struct

from berth.catalog import Machine, ProvisioningModel, SliceShape, limits
from berth.diagnostics import Severity
from berth.plan.node_settings import UpgradePlan
from berth.plan.nodes import Bounds

CapacityKind = Literal["on-demand", "spot", "reservation", "flex-start", "queued"]
"""How a pool gets its machines."""

SettingKey = Literal[
    "capacity", "reservation", "maxRunDuration", "machineType", "accelerator", "topology", "nodes", "slices", "zones",
    "placement", "autoProvisioned", "surge", "diskSizeGb", "localSsd",
    "gpuSharing", "gpuPartition", "driverVersion", "confidentialNodes", "networking",
    "topologyAware", "maxPodsPerNode", "secureBoot", "serviceAccount", "nodeSystemConfig", "count", "end", "version",
]  # fmt: skip
"""What of a pool, a reservation (count, end) or a cluster (version) is to blame, in the words of the stack file."""

DWS: tuple[CapacityKind, ...] = ("flex-start", "queued")
"""The two ways of the Dynamic Workload Scheduler."""


MODEL_LABELS: dict[str, str] = {
    "on-demand": "on-demand",
    "spot": "spot",
    "reservation-any": "any reservation",
    "reservation-specific": "a reservation by its name",
    "flex-start": "flex-start",
    "queued": "queued",
}
"""The columns of the provisioning matrix, as messages say them."""


class GkeViolation(Struct, frozen=True, kw_only=True):
    """A broken rule. `code` is a stable word, `key` what is to blame; the message holds both sides and the remedy."""

    code: str
    key: SettingKey
    message: str
    severity: Severity = Severity.FAULT


Violations = Iterator[GkeViolation]


class ReservationRequest(Struct, frozen=True, kw_only=True):
    """The reservation that a pool takes machines from.

    `form`: own (made by Berth), named (somebody else's), any (one that fits, else on-demand) or any-or-fail. `project`
    is set where another project shares it. A `sub_block` lies in a `block`. `begins` and `ends` are days of one whose
    machines are there only between them.
    """

    form: Literal["own", "named", "any", "any-or-fail"]
    name: str | None = None
    project: str | None = None
    block: str | None = None
    sub_block: str | None = None
    begins: str | None = None
    ends: str | None = None

    @property
    def is_specific(self) -> bool:
        """Whether it is taken by its name."""
        return self.form in ("own", "named")


class GpuSharing(Struct, frozen=True, kw_only=True):
    """One GPU for several containers: the provider's strategy (TIME_SHARING, MPS), and clients per GPU or partition."""

    strategy: str
    clients: int


class ClusterFeatures(Struct, frozen=True, kw_only=True):
    """What the cluster gives to its pools. `dcgm` is GKE's managed package of GPU metrics.

    `confidential` is the kind of confidential VM that every node is to be.
    """

    autopilot: bool = False
    dcgm: bool = False
    confidential: str | None = None


class PoolRequest(Struct, frozen=True, kw_only=True):
    """One pool as its owner asks for it. `nodes` counts the whole pool, over all zones and slices.

    `shape` is the slice of a TPU pool. `autoscaled` is whether the count follows the jobs. `max_run_seconds` bounds the
    life of a node. `compact` asks for GPU nodes close to each other; slices always are. `topology_aware`: Kueue places
    jobs by where nodes stand. `auto_provisioned`: GKE makes the pool when jobs ask (always so on Autopilot),
    `compute_class` through a ComputeClass that names its machines.

    `local_ssds` are counts per node, `boot_disk_gb` is GB; `partition` is a MIG size, `driver` is default, latest or
    disabled. `network` is none, gpudirect (additional networks, which Berth makes) or dranet (the accelerator network
    profile, by which GKE makes them). `max_pods`, `secure_boot`, `service_account` and `node_system` (whether the
    kubelet or the kernel is configured) are of every node.
    """

    machine: Machine
    nodes: Bounds
    capacity: CapacityKind = "on-demand"
    reservation: ReservationRequest | None = None
    max_run_seconds: int | None = None
    shape: SliceShape | None = None
    autoscaled: bool = False
    zones: tuple[str, ...] = ()
    compact: bool = False
    topology_aware: bool = False
    upgrade: UpgradePlan | None = None
    auto_provisioned: bool = False
    compute_class: bool = False
    boot_disk_gb: int | None = None
    local_ssds: int | None = None
    local_ssd_use: Literal["ephemeral", "block"] = "ephemeral"
    sharing: GpuSharing | None = None
    partition: str | None = None
    driver: str | None = None
    confidential: str | None = None
    network: Literal["none", "gpudirect", "dranet"] = "none"
    max_pods: int | None = None
    secure_boot: bool | None = None
    node_system: bool = False
    service_account: str | None = None
    cluster: ClusterFeatures = ClusterFeatures()

    @property
    def uses_dws(self) -> bool:
        """Whether the Dynamic Workload Scheduler gives the machines."""
        return self.capacity in DWS

    @property
    def provisioning_model(self) -> ProvisioningModel:
        """The column of the provisioning matrix."""
        if self.capacity != "reservation":
            return self.capacity
        return "reservation-specific" if self.is_specific else "reservation-any"

    @property
    def node_run_seconds(self) -> int | None:
        """The life of a node that GKE is asked for: of flex-start, where none is written, the longest that DWS gives.

        The job, not the node, has that of a queued pool: it is a parameter of the request.
        """
        if self.capacity == "queued":
            return None
        return self.max_run_seconds or (limits().max_run_seconds if self.capacity == "flex-start" else None)

    @property
    def is_specific(self) -> bool:
        """Whether the machines come from a reservation taken by its name."""
        return self.reservation is None or self.reservation.is_specific

    @property
    def made_by_gke(self) -> bool:
        """Whether GKE makes the node pools, and Berth does not."""
        return self.auto_provisioned or self.cluster.autopilot

    @property
    def multi_host(self) -> bool:
        """Whether the pool consists of slices of several hosts."""
        return self.shape is not None and self.shape.multi_host

    @property
    def size_key(self) -> SettingKey:
        """What its owner counts: slices or nodes."""
        return "slices" if self.shape else "nodes"
