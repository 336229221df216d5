"""Schema of pools and flavors."""

from __future__ import annotations

from typing import Annotated, Literal, cast

from berth.names import NODE_ACCOUNT
from berth.spec.amounts import Bytes, CountField
from berth.spec.base import (
    ConfidentialType,
    DnsName,
    JsonSchema,
    MachineType,
    Model,
    Section,
    Sequence,
    Text,
    Zone,
    Zones,
    validation_fault,
)
from berth.spec.core import AfterValidator
from berth.spec.machines.capacity import Capacity, CapacityField
from berth.spec.machines.node_system import NodeSystemSpec, SurgeSpec
from berth.spec.machines.reservations import AcceleratorSpec
from berth.spec.model import Field, check_model

LabelKey = Annotated[
    str,
    Text(
        r"([a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?",
        "a Kubernetes label key: at most 63 letters, digits, '-', '_' and '.', starting and ending with a letter or "
        "digit",
    ),
]
LabelValue = Annotated[
    str,
    Text(
        r"([A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?",
        "a Kubernetes label value: at most 63 letters, digits, '-', '_' and '.'",
    ),
]
PodRangeName = Annotated[
    str,
    Text(
        r"[a-z]([-a-z0-9]{0,61}[a-z0-9])?",
        "a secondary range's name: lower-case letters, digits and '-', starting with a letter, at most 63 characters",
    ),
]
PoolName = Annotated[
    str,
    Text(
        r"[a-z]([-a-z0-9]{0,28}[a-z0-9])?",
        "a pool name: lower-case letters, digits and '-', starting with a letter, at most 30 characters",
    ),
]

NodePoolPattern = Annotated[
    str,
    Text(
        r"[a-z]([-a-z0-9]|\{[ni]\})*",
        "a node pool name such as slices-a, or a pattern for slices such as nodepool{n} (from 1) or demo-np-{i} "
        "(from 0)",
    ),
]

Topology = Annotated[str, Text(r"[1-9][0-9]{0,3}(x[1-9][0-9]{0,3}){1,2}", "a slice topology such as 2x4 or 4x4x8")]


def _check_reason(value: str) -> str:
    if not value.strip():
        raise validation_fault("missing-key", "is empty; write the reason")
    return value


Reason = Annotated[str, AfterValidator(_check_reason), JsonSchema({"type": "string", "pattern": r"\S"})]
"""Reason for accepting something that Berth refuses by default."""


class GpuSharingSpec(Model):
    """One GPU, or each partition of it, for several containers."""

    strategy: Literal["time-sharing", "mps"] = "time-sharing"
    """How containers share."""
    max_shared_clients: int = Field(ge=1, le=1000)
    """Maximum number of containers of one GPU."""


class LocalSsdSpec(Model):
    """Local SSDs of a node. Exactly one of the keys."""

    ephemeral: int = Field(default=0, ge=0, le=64)
    """Number of SSDs for ephemeral storage."""
    block: int = Field(default=0, ge=0, le=64)
    """Number of SSDs as raw block devices."""

    @check_model
    def _check_single_use(self) -> LocalSsdSpec:
        if self.ephemeral and self.block:
            raise validation_fault(
                "bad-value",
                f"ephemeral: {self.ephemeral} and block: {self.block} cannot be combined; remove one of them",
            )
        return self


class TaintSpec(Model):
    """A node taint."""

    key: LabelKey
    """Key of the taint."""
    value: LabelValue
    """Value of the taint."""
    effect: Literal["NoSchedule", "PreferNoSchedule", "NoExecute"] = "NoSchedule"
    """Effect of the taint."""


ServiceAccountEmail = Annotated[
    str,
    Text(
        NODE_ACCOUNT,
        "the address of a Google service account such as slices@my-project.iam.gserviceaccount.com",
    ),
]


class PoolSpec(Model):
    """Machines of one kind: TPU slices (`topology` and `slices`), GPU or CPU nodes (`nodes`)."""

    machine_type: MachineType
    """Machine type, such as `ct5lp-hightpu-4t`, `g2-standard-24` or `n2-standard-32`."""
    formerly: PoolName | None = None
    """First key of the pool, after a rename."""
    node_pool_name: NodePoolPattern | None = None
    """Name of the node pool, or a pattern for the node pools of slices: `{n}` counts from 1, `{i}` from 0. By default
    the pool's key, and `<key>-<topology>-<number>` for slices."""
    adopted: bool = False
    """Another tool created the node pools; they keep the settings of their creation that cannot be changed in place."""
    cpu: int | None = Field(default=None, ge=1, le=1024)
    """Number of vCPUs of a machine without accelerators that Berth's table does not have."""
    memory: Bytes | None = None
    """Memory of a machine without accelerators that Berth's table does not have."""
    topology: Topology | None = None
    """Topology of a TPU slice, such as `2x4`."""
    accept_topology: bool = False
    """Accept a topology that is not in Berth's table and divides into whole hosts."""
    accelerator: AcceleratorSpec | None = None
    """GPUs attached to an N1 machine."""
    slices: CountField | None = None
    """Number of TPU slices: a fixed one, or a range to scale in."""
    nodes: CountField | None = None
    """Number of GPU or CPU nodes over all zones: a fixed one, or a range to scale in."""
    zone: Zone | None = None
    """Zone of the nodes. By default the reservation's, else the cluster's."""
    zones: Zones = ()
    """Several zones of the nodes, instead of `zone`."""
    accept_zone: bool = False
    """Accept a zone in which Google lists no such machine."""
    capacity: CapacityField = Field(default=cast("Capacity", "on-demand"), validate_default=True)
    """How the machines are obtained: `on-demand`, `spot`, `any-reservation`, `any-reservation-then-fail`, `flex-start`,
    `queued`, or an object for a reservation or with settings."""
    auto_provisioned: bool = False
    """GKE creates the nodes when jobs need them."""
    compute_class: str | None = None
    """Compute class by which GKE creates the nodes."""
    flavor: DnsName | None = None
    """Name of the flavor. By default the pool's name."""
    labels: Section[LabelKey, LabelValue] = Field(default_factory=dict)
    """Labels of the nodes, which the flavor selects."""
    node_labels: Section[LabelKey, LabelValue] = Field(default_factory=dict)
    """Labels by which nodes of an existing cluster are recognized. By default GKE's."""
    taints: Sequence[TaintSpec] = ()
    """Taints of the nodes, which the flavor tolerates."""
    driver_version: Literal["default", "latest", "disabled"] = "default"
    """GPU driver that GKE installs. With `disabled` Berth installs a driver DaemonSet."""
    networking: Literal["gpudirect", "dranet"] | None = None
    """Networks between accelerators."""
    compact_placement: bool = False
    """Place GPU nodes close to each other, in one zone."""
    topology_aware: bool = False
    """Let Kueue place jobs by the position of nodes."""
    gpu_sharing: GpuSharingSpec | None = None
    """Share each GPU between containers."""
    gpu_partition: str | None = None
    """MIG partition size, such as `1g.10gb`."""
    local_ssd: LocalSsdSpec | None = None
    """Use of the local SSDs of a node."""
    disk_size_gb: int = Field(default=100, ge=10, le=65536)
    """Size of the boot disk in GB."""
    surge: SurgeSpec | None = None
    """Nodes that an upgrade adds and drains at once. By default one node at a time."""
    pod_range_name: PodRangeName | None = None
    """Secondary range of the subnet from which the pods get addresses. By default the cluster's."""
    max_pods_per_node: int | None = Field(default=None, ge=8, le=256)
    """Maximum number of pods of a node. By default GKE's 110."""
    secure_boot: bool | None = Field(default=None, json_schema_extra={"default": True})
    """Boot signed software only."""
    confidential_nodes: ConfidentialType | None = None
    """Technology that encrypts the memory of the nodes. By default the cluster's."""
    service_account: ServiceAccountEmail | None = None
    """Email of an existing service account for the nodes of the pool. By default the cluster's account of nodes."""
    node_system_config: NodeSystemSpec | None = None
    """Kubelet and kernel settings."""


class FlavorSpec(Model):
    """Settings of a flavor besides its pools: an accepted oversubscription, and the reason."""

    oversubscription: float = Field(default=1, ge=1, le=100)
    """How many times the capacity of the flavor's pools may be guaranteed."""
    reason: Reason | None = None
    """The reason for oversubscription. Needed with it."""
