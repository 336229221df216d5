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
    max_shared_clients: int = Field(ge=1, le=1000)


class LocalSsdSpec(Model):
    """Local SSDs of a node: for its ephemeral storage, or as raw block devices."""

    ephemeral: int = Field(default=0, ge=0, le=64)
    block: int = Field(default=0, ge=0, le=64)

    @check_model
    def _check_single_use(self) -> LocalSsdSpec:
        if self.ephemeral and self.block:
            raise validation_fault(
                "bad-value",
                f"ephemeral: {self.ephemeral} and block: {self.block} cannot be combined; remove one of them",
            )
        return self


class TaintSpec(Model):
    """A node taint with the keys of Kubernetes."""

    key: LabelKey
    value: LabelValue
    effect: Literal["NoSchedule", "PreferNoSchedule", "NoExecute"] = "NoSchedule"


ServiceAccountEmail = Annotated[
    str,
    Text(
        NODE_ACCOUNT,
        "the address of a Google service account such as slices@my-project.iam.gserviceaccount.com",
    ),
]


class PoolSpec(Model):
    """Machines of one kind: TPU slices (`topology` and `slices`), GPU or CPU nodes (`nodes`, a total over all zones).

    `cpu` (vCPUs) and `memory` are the size of a machine without accelerators that Berth's table does not have.
    GKE creates `autoProvisioned` pools, and those of a `computeClass`, when jobs need them; their maximum is the
    capacity that the fleet counts on.
    `nodeLabels` identify the nodes of an existing cluster if they have no labels of GKE. `nodePoolName` is the name of
    the node pool, or the pattern of those of slices; `adopted` node pools keep the settings of their creation.
    """

    machine_type: MachineType
    formerly: PoolName | None = None
    node_pool_name: NodePoolPattern | None = None
    adopted: bool = False
    cpu: int | None = Field(default=None, ge=1, le=1024)
    memory: Bytes | None = None
    topology: Topology | None = None
    accept_topology: bool = False
    accelerator: AcceleratorSpec | None = None
    slices: CountField | None = None
    nodes: CountField | None = None
    zone: Zone | None = None
    zones: Zones = ()
    accept_zone: bool = False
    capacity: CapacityField = Field(default=cast("Capacity", "on-demand"), validate_default=True)
    auto_provisioned: bool = False
    compute_class: str | None = None
    flavor: DnsName | None = None
    labels: Section[LabelKey, LabelValue] = Field(default_factory=dict)
    node_labels: Section[LabelKey, LabelValue] = Field(default_factory=dict)
    taints: Sequence[TaintSpec] = ()
    driver_version: Literal["default", "latest", "disabled"] = "default"
    networking: Literal["gpudirect", "dranet"] | None = None
    compact_placement: bool = False
    topology_aware: bool = False
    gpu_sharing: GpuSharingSpec | None = None
    gpu_partition: str | None = None
    local_ssd: LocalSsdSpec | None = None
    disk_size_gb: int = Field(default=100, ge=10, le=65536)
    surge: SurgeSpec | None = None
    pod_range_name: PodRangeName | None = None
    max_pods_per_node: int | None = Field(default=None, ge=8, le=256)
    secure_boot: bool | None = Field(default=None, json_schema_extra={"default": True})
    confidential_nodes: ConfidentialType | None = None
    service_account: ServiceAccountEmail | None = None
    node_system_config: NodeSystemSpec | None = None


class FlavorSpec(Model):
    """Settings of a flavor besides its pools: an accepted oversubscription, and the reason."""

    oversubscription: float = Field(default=1, ge=1, le=100)
    reason: Reason | None = None
