"""Schema of pools and flavors."""

from __future__ import annotations

from typing import Annotated, Literal, cast

from berth.names import NODE_ACCOUNT
from berth.spec.amounts import Bytes, CountField
from berth.spec.base import (
    ConfidentialType,
    DnsName,
    GkeVersion,
    MachineType,
    MaintenanceInterval,
    Model,
    NetworkTags,
    NonEmptyText,
    Section,
    Sequence,
    Text,
    Zone,
    Zones,
    validation_fault,
)
from berth.spec.machines.capacity import Capacity, CapacityField
from berth.spec.machines.encryption import KmsKey
from berth.spec.machines.node_system import BlueGreenSpec, NodeSystemSpec, SurgeSpec
from berth.spec.machines.reservations import AcceleratorSpec, Reason
from berth.spec.machines.slices import SlicesField
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
DiskImage = Annotated[
    str,
    Text(
        r"(projects/[a-z0-9.:-]+/)?global/images/(family/)?[a-z]([-a-z0-9]{0,61}[a-z0-9])?",
        "a disk image such as projects/my-project/global/images/llm-weights",
    ),
]
PolicyName = Annotated[
    str,
    Text(
        r"[a-z]([-a-z0-9]{0,61}[a-z0-9])?",
        "a resource policy's name: lower-case letters, digits and '-', starting with a letter, at most 63 characters",
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


class GpuSharingSpec(Model):
    """One GPU, or each partition of it, for several containers."""

    strategy: Literal["time-sharing", "mps"] = "time-sharing"
    """How containers share."""
    max_shared_clients: int = Field(ge=1, le=1000)
    """Maximum number of containers of one GPU."""


class LocalSsdSpec(Model):
    """Local SSDs of a node. Exactly one of the keys."""

    ephemeral: int = Field(default=0, ge=0, le=64)
    """Number of local SSDs for ephemeral storage."""
    block: int = Field(default=0, ge=0, le=64)
    """Number of local SSDs as raw block devices."""

    @check_model
    def _check_single_use(self) -> LocalSsdSpec:
        if self.ephemeral and self.block:
            raise validation_fault(
                "bad-value",
                f"ephemeral: {self.ephemeral} and block: {self.block} cannot be combined; remove one of them",
            )
        return self


class SecondaryBootDiskSpec(Model):
    """A disk that GKE makes for each node from an image, with container images or data on it."""

    disk_image: DiskImage
    """Disk image, such as `global/images/llm-weights`."""
    mode: Literal["CONTAINER_IMAGE_CACHE"] | None = None
    """`CONTAINER_IMAGE_CACHE` for container images. By default pods mount the disk's data."""


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


class PoolMachines(Model):
    """The machines of a pool: what they are, how many, where, and how they are obtained and marked."""

    machine_type: MachineType
    """Machine type, such as `ct5lp-hightpu-4t` (docs/hardware.md)."""
    formerly: PoolName | None = None
    """First key of the pool, after a rename."""
    node_pool_name: NodePoolPattern | None = None
    """Name of the node pool, or a pattern for slices: `{n}` is the number of the slice from 1 (`nodepool{n}`), `{i}`
    from 0 (`demo-np-{i}`). At most 40 characters. A change replaces the node pools. By default the pool's key, and
    `<key>-<topology>-<number>` for slices."""
    adopted: bool = False
    """Another tool created the node pools, and `pulumi import` took them over (docs/adopt.md). They keep what their
    creation chose: service account (write it as `serviceAccount`), OAuth scopes, disk type, secure boot, image
    streaming, gVNIC, metadata server, node labels and taints, node system settings, network, upgrade and repair
    settings, GPU driver, and their affinity to reservations unless `capacity` names one. Node pools that are created
    later have Berth's settings."""
    cpu: int | None = Field(default=None, ge=1, le=1024)
    """Number of vCPUs of a machine that Berth's tables do not have. By default the table's."""
    memory: Bytes | None = None
    """Memory of a machine that Berth's tables do not have, such as `720Gi`. By default the table's."""
    topology: Topology | None = None
    """Topology of a TPU slice, such as `2x4`. Each slice of several hosts is a node pool."""
    accept_topology: bool = False
    """Accept a topology that is not in Berth's table but divides into whole hosts."""
    accelerator: AcceleratorSpec | None = None
    """GPUs attached to each N1 machine of the pool, or those of a machine that Berth's table does not have."""
    slices: SlicesField | None = None
    """Number of TPU slices: a fixed one, or a range to scale in. A list has the numbers of slices of several hosts
    (`[1, 3]`, after slice 2 was removed) or the names of their node pools; `{min: 0, of: [1, 3]}` scales."""
    nodes: CountField | None = None
    """Number of GPU or CPU nodes, a total over all zones: a fixed one, or a range to scale in."""
    spares: int = Field(default=0, ge=0, le=1000)
    """Slices, or nodes of machines without slices, that no queue is guaranteed, of a fixed number: the pods of a failed
    slice or node go there before any other job is preempted. `guaranteed: all` and other shares are of the rest."""
    zone: Zone | None = None
    """Zone of the nodes. A slice of several hosts is in exactly one zone; a fixed number of nodes needs zones. `berth
    plan` prints the zones of a pool without zones, which do not change when Berth's table of zones grows. By default
    the reservation's, else the cluster's, else the zones of the region that list the machine."""
    zones: Zones = ()
    """Several zones of the nodes, instead of `zone`."""
    accept_zone: bool = False
    """Accept a zone in which Google does not list the machine (early access), one of which no source says whether it
    has the machine (docs/unknown.md), or one that is newer than Berth's table."""
    capacity: CapacityField = Field(default=cast("Capacity", "on-demand"), validate_default=True)
    """How the machines are obtained: `on-demand`, `spot`, `any-reservation` (else on-demand),
    `any-reservation-then-fail`, `flex-start`, `queued`, or a mapping for a reservation or with settings."""
    auto_provisioned: bool = False
    """GKE creates the nodes when jobs need them; the maximum is the capacity that the fleet counts on. Labels of such a
    pool are also its taints, because GKE creates labelled nodes only for jobs that tolerate the label."""
    compute_class: str | None = None
    """GKE creates the nodes according to this compute class; only the machine, its number and `flavor` are allowed with
    it."""
    flavor: DnsName | None = None
    """Name of the flavor. Pools of one kind form one; so do reserved ones that name it. By default the pool's name."""
    labels: Section[LabelKey, LabelValue] = Field(default_factory=dict)
    """Additional labels of the nodes; the flavor selects them."""
    node_labels: Section[LabelKey, LabelValue] = Field(default_factory=dict)
    """Labels by which nodes of an existing cluster or worker are recognized, such as `nvidia.com/gpu.product`. By
    default GKE's."""
    taints: Sequence[TaintSpec] = ()
    """Additional taints of the nodes; the flavor tolerates them."""


class NodeSettings(Model):
    """Settings of a pool's nodes. The plan keeps them as they are, and the rules and the node pool read them by key.

    Nodes that GKE creates can have only those that `berth.rules.gke.capacity` lists.
    """

    driver_version: Literal["default", "latest", "disabled"] = "default"
    """GPU driver that GKE installs: `default` or `latest`. With `disabled` Berth installs a driver DaemonSet."""
    networking: Literal["gpudirect", "rdma", "dranet"] | None = None
    """Networks between accelerators. `gpudirect`: additional networks for the machine's type of GPUDirect (TCPX, TCPXO,
    RDMA), with the NCCL plugin; pods name them, such as `rdma-a-0` in zone a. `rdma`: the network of H4D, which pods
    name `falcon-a-0`. `dranet`: GKE creates networks, which pods claim; TPU pods otherwise use the node's network."""
    compact_placement: bool = False
    """Place nodes without TPUs close to each other, in one zone. If GKE creates the nodes, those of one job, whose pods
    select a placement group: `berth workload` writes the selector, `berth lint` warns without it."""
    placement_policy: PolicyName | None = None
    """Name of an existing resource policy of Compute Engine, in the project and region of the pool, that places the
    nodes. A change replaces the pool. By default Berth creates the policy of slices and domains that need one."""
    topology_aware: bool = False
    """Let Kueue place jobs by the location of nodes: block and rack (A3, A4), or slice (TPU). The labels of the flavor
    are then immutable; to change them, give the flavor another name."""
    dynamic_slicing: Literal["super-slicing", "sub-slicing"] | None = None
    """Jobs form TPU slices themselves (docs/dynamic-slicing.md): with `super-slicing` of whole sub-blocks, which are
    the `slices` of the pool, with `sub-slicing` also of parts. Adding or removing it replaces the pool."""
    gpu_sharing: GpuSharingSpec | None = None
    """Share each GPU between containers; quota counts what jobs can request."""
    gpu_partition: str | None = None
    """MIG partition size, such as `1g.10gb`."""
    local_ssd: LocalSsdSpec | None = None
    """Use of the local SSDs of a node. By default the machine's."""
    disk_type: NonEmptyText | None = None
    """Type of the boot disk, such as `pd-ssd`. A change recreates the nodes one by one. By default `pd-balanced`, or
    what the machine's series takes (docs/hardware.md)."""
    disk_size_gb: int = Field(default=100, ge=10, le=65536)
    """Size of the boot disk in GB."""
    image_type: Literal["COS_CONTAINERD", "UBUNTU_CONTAINERD"] | None = None
    """Image of the nodes. A change recreates them one by one. By default GKE's, COS_CONTAINERD."""
    boot_disk_kms_key: KmsKey | None = None
    """Key of Cloud KMS that encrypts the boot disks. A change replaces the pool. By default the cluster's."""
    secondary_boot_disks: Sequence[SecondaryBootDiskSpec] = Field(default=(), max_length=126)
    """Disks with container images or data that every node gets. A change replaces the pool."""
    tags: NetworkTags = ()
    """Network tags of the nodes, which firewall rules and routes name."""
    sandbox: Literal["gvisor"] | None = None
    """`gvisor`: the nodes take only pods of GKE Sandbox (`runtimeClassName: gvisor`). A change replaces the pool."""
    threads_per_core: int | None = Field(default=None, ge=1, le=2)
    """Threads of each core: with 1, jobs have half of the vCPUs, and the price stays. A change replaces the pool. By
    default the machine's."""
    maintenance_interval: MaintenanceInterval | None = None
    """How often hosts are maintained: `PERIODIC`, or `AS_NEEDED`, which interrupts more often. It equals that of the
    pool's reservation. A change replaces the pool. By default Google's choice."""
    surge: SurgeSpec | None = None
    """Nodes that an upgrade adds before others are drained, and drains first; together at most 20. By default one node
    at a time."""
    blue_green: BlueGreenSpec | None = None
    """Upgrade by new nodes beside all old ones, instead of `surge`."""
    version: GkeVersion | None = None
    """Version of the nodes, in quotes: at most that of the control plane, and at most two minors older. A change
    recreates the nodes. By default GKE's, which follows the control plane."""
    exclusion_until_end_of_support: bool = False
    """Keep GKE from upgrading these nodes until the support of their version ends."""
    pod_range_name: PodRangeName | None = None
    """Secondary range of the subnet from which the pods of these nodes get addresses, in an existing cluster or VPC.
    Its owner creates the range, and GKE refuses a pool whose range does not exist. A change replaces the pool. By
    default the cluster's."""
    max_pods_per_node: int | None = Field(default=None, ge=8, le=256)
    """Maximum number of pods of a node; a node uses a block of the pod range for twice as many. By default GKE's
    110."""
    secure_boot: bool | None = Field(default=None, json_schema_extra={"default": True})
    """Boot signed software only."""
    confidential_nodes: ConfidentialType | None = None
    """Technology that encrypts the memory of the nodes. By default the cluster's."""
    service_account: ServiceAccountEmail | None = None
    """Address of an existing Google service account that the nodes run as, and so do pods on the network of the nodes
    (docs/tenancy.md); give it the roles of the account that Berth creates for nodes. A change replaces the pool. In an
    `adopted` pool it states which account the nodes keep, also `default`, Compute Engine's own, and changes nothing;
    with the address of the account that Berth made for nodes, Berth keeps that account. By default the cluster's
    account of nodes."""
    node_system_config: NodeSystemSpec | None = None
    """Kubelet and kernel settings of the nodes. By default GKE's."""


class PoolSpec(PoolMachines, NodeSettings):
    """Machines of one kind: TPU slices (`topology` and `slices`), GPU or CPU nodes (`nodes`)."""


class FlavorSpec(Model):
    """Settings of a flavor besides its pools: an accepted oversubscription, and the reason."""

    oversubscription: float = Field(default=1, ge=1, le=100)
    """How many times the capacity of the flavor's pools may be guaranteed."""
    reason: Reason | None = None
    """The reason for `oversubscription`. Needed with it."""
