"""Schema of a cluster. Keys are terms of GKE."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Literal

from berth.spec.amounts import CountField, Range, RangeField
from berth.spec.base import (
    ConfidentialType,
    DnsLabel,
    Entry,
    GkeVersion,
    MachineType,
    Model,
    NetworkTags,
    NonEmptyText,
    ProjectId,
    Section,
    Sequence,
    Text,
    Zones,
    default_field,
    unique_items,
    validation_fault,
)
from berth.spec.core import AfterValidator
from berth.spec.existing_cluster import Cidr, ClusterName, ExistingClusterSpec
from berth.spec.machines.bucket_mounts import CheckpointingSpec
from berth.spec.machines.encryption import DatabaseEncryptionSpec, KmsKey
from berth.spec.machines.gpu_installers import GpuInstallersSpec
from berth.spec.model import Field

END_OF_SUPPORT = "end-of-support"
"""End of an exclusion that lasts as long as the cluster's version is supported."""


def _check_timestamp(value: str) -> str:
    if value == END_OF_SUPPORT:
        return value
    try:
        datetime.fromisoformat(value)
    except ValueError:
        raise validation_fault(
            "bad-value", f"'{value}' is not a valid date and time; write one such as 2026-12-01T00:00:00Z"
        ) from None
    return value


_TIME, _TIMESTAMP_EXAMPLE = (
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}Z",
    'a UTC time such as "2026-12-01T00:00:00Z"',
)

Timestamp = Annotated[str, Text(_TIME, _TIMESTAMP_EXAMPLE), AfterValidator(_check_timestamp)]
ExclusionEnd = Annotated[
    str,
    Text(f"{_TIME}|{END_OF_SUPPORT}", f"{_TIMESTAMP_EXAMPLE}, or {END_OF_SUPPORT}"),
    AfterValidator(_check_timestamp),
]
TimeOfDay = Annotated[str, Text(r"([01][0-9]|2[0-3]):[0-5][0-9]", 'a time of day in UTC such as "03:00"')]
ComputeName = Annotated[
    str,
    Text(
        r"[a-z]([-a-z0-9]{0,61}[a-z0-9])?",
        "a Compute Engine resource name: lower-case letters, digits and '-', starting with a letter, at most 63 "
        "characters",
    ),
]

Recurrence = Annotated[
    str,
    Text(
        r"FREQ=(DAILY|WEEKLY|MONTHLY)(;.+)?",
        "a supported recurrence: daily, weekly or monthly, such as FREQ=WEEKLY;BYDAY=SA",
    ),
]


class AuthorizedNetworkSpec(Model):
    """An address range that may reach the control plane."""

    name: NonEmptyText
    """Name of the range."""
    cidr_block: Cidr
    """The range, such as `203.0.113.0/24`."""


class ControlPlaneSpec(Model):
    """Access to the control plane."""

    public_endpoint: bool = True
    """Give the control plane a public address."""
    ip_endpoint: bool = True
    """Answer on IP addresses. `false` closes all IP endpoints, so that only the DNS endpoint of `dnsEndpoint`
    remains."""
    cidr_block: Cidr = "172.16.0.32/28"
    """Private address range of the control plane."""
    authorized_networks: Sequence[AuthorizedNetworkSpec] | None = None
    """Address ranges that may reach the control plane. Without any, the public endpoint answers everyone."""
    gcp_public_cidrs_access: bool = False
    """Let public addresses of Google Cloud reach the control plane."""
    global_access: bool = False
    """Let clients in other regions reach the private endpoint through the VPC."""


class NetworkSpec(Model):
    """The VPC of the cluster and its address ranges, or an existing VPC, which Berth does not change."""

    existing: ComputeName | None = None
    """Name of an existing VPC. Ranges, `mtu` and `nat` cannot be set with it."""
    project: ProjectId | None = None
    """Project that shares the existing VPC. GKE's service agent needs access there."""
    subnetwork: ComputeName | None = None
    """Subnet of the existing VPC."""
    pod_range_name: ComputeName | None = None
    """Name of the subnet's secondary range for pods."""
    service_range_name: ComputeName | None = None
    """Name of the subnet's secondary range for services."""
    additional_pod_range_names: Annotated[Sequence[ComputeName], AfterValidator(unique_items)] = ()
    """Names of further secondary ranges for pods, from which GKE takes addresses when the first range is used up."""
    node_cidr_block: Cidr = "10.40.0.0/22"
    """Address range of nodes."""
    pod_cidr_block: Cidr = "10.64.0.0/13"
    """Address range of pods."""
    service_cidr_block: Cidr = "10.44.0.0/20"
    """Address range of services."""
    accelerator_cidr_block: Cidr = "10.96.0.0/11"
    """Address range of the networks between accelerators. The default has 64 sets of 16 subnets, at most 2044 nodes
    each."""
    mtu: int | None = Field(default=None, ge=1300, le=8896)
    """MTU of the VPC in bytes. Google's blueprints of A3 raise it to 8244. A change replaces the VPC. By default
    Google's 1460."""
    nat: bool = True
    """Create a NAT gateway, so that private nodes reach the internet."""


class AutoProvisioningSpec(Model):
    """Limits of node auto-provisioning for the whole cluster, and settings of the nodes that it creates."""

    profile: Literal["BALANCED", "OPTIMIZE_UTILIZATION"] = "BALANCED"
    """How eagerly GKE removes idle nodes."""
    cpu: RangeField
    """Limit of cores of the whole cluster: `{max: 400}`, also with a `min`."""
    memory: RangeField
    """Limit of memory of the whole cluster in GB."""
    accelerators: Section[str, CountField] = Field(default_factory=dict)
    """Limits of accelerators of the whole cluster by type."""
    zones: Zones = ()
    """Zones of auto-provisioned nodes."""
    disk_type: NonEmptyText = "pd-balanced"
    """Type of the boot disk of these nodes. No source says which one GKE gives machines that do not take it."""
    disk_size_gb: int | None = Field(default=None, ge=10, le=65536)
    """Size of the boot disk of these nodes in GB."""
    auto_repair: bool | None = None
    """Repair unhealthy nodes; GKE does not repair queued and flex-start nodes. By default `true`, unless some of these
    nodes are of that kind."""
    secure_boot: bool = True
    """Let these nodes boot signed software only."""


class SystemPoolSpec(Model):
    """The node pool that the controllers run on."""

    machine_type: MachineType = "e2-standard-4"
    """Machine type of the pool."""
    nodes: CountField = default_field(Range, min=1, max=6)
    """Number of nodes, a total over all zones."""
    zones: Zones = ()
    """Zones of the pool. By default the cluster's."""
    disk_type: NonEmptyText | None = None
    """Type of the boot disk. By default `pd-balanced`, or what the machine's series takes (docs/hardware.md)."""
    disk_size_gb: int = Field(default=100, ge=10, le=65536)
    """Size of the boot disk of a node in GB."""
    tags: NetworkTags = ()
    """Network tags of these nodes."""


class MaintenanceWindowSpec(Model):
    """A recurring window in which GKE may upgrade."""

    start: Timestamp
    """Start of the first window, in quotes, such as `"2026-12-05T00:00:00Z"`."""
    end: Timestamp
    """End of the first window, in quotes."""
    recurrence: Recurrence
    """Recurrence rule (RFC 5545), such as `FREQ=WEEKLY;BYDAY=SU`."""


class MaintenanceExclusionSpec(Model):
    """A time span without upgrades."""

    name: DnsLabel
    """Name of the exclusion."""
    start: Timestamp
    """Start of the exclusion, in quotes."""
    end: ExclusionEnd
    """End of the exclusion, in quotes, or `end-of-support`."""
    scope: Literal["NO_UPGRADES", "NO_MINOR_UPGRADES", "NO_MINOR_OR_NODE_UPGRADES"] = "NO_MINOR_OR_NODE_UPGRADES"
    """What the exclusion stops."""


class MaintenanceSpec(Model):
    """When GKE may upgrade, and when not."""

    window: MaintenanceWindowSpec | None = None
    """A recurring window in which GKE may upgrade."""
    daily_start: TimeOfDay | None = None
    """Start of a daily window of four hours, in quotes, such as `"03:00"`."""
    exclusions: Sequence[MaintenanceExclusionSpec] = Field(default=(), max_length=20)
    """Time spans without upgrades."""


class ClusterParts(Model):
    """What a cluster is, where it runs, and what it consists of."""

    existing: ExistingClusterSpec | None = None
    """An existing cluster, which Berth does not manage: any cluster by a kubeconfig, or a GKE cluster in which Berth
    makes machines. Of the latter the other keys state what it is."""
    name: ClusterName | None = None
    """Name of the cluster, at most 40 characters. By default the stack's name."""
    mode: Literal["standard", "autopilot"] = "standard"
    """`standard`, or `autopilot`, where GKE creates all nodes."""
    datapath_provider: Literal["advanced", "legacy"] = "advanced"
    """Data plane of a Standard cluster: `advanced` is Dataplane V2, `legacy` is not. A change replaces the cluster."""
    release_channel: Literal["rapid", "regular", "stable", "extended"] = "regular"
    """Release channel of GKE."""
    version: GkeVersion | None = None
    """Version of the control plane, in quotes. Berth compares it with what pools need, and without it `berth plan`
    notes its assumption. A new cluster is created with it: a minor version such as `"1.35"` means its newest patch, and
    GKE refuses an exact patch (`-gke.N`) after some weeks. For an existing GKE cluster of the stack it is a minimum:
    GKE upgrades an older cluster to it, and never downgrades. By default the channel's."""
    zones: Zones = ()
    """Zones of the cluster's nodes, and of pools that name none. By default GKE's choice."""
    private_nodes: bool = True
    """Create nodes without public addresses. If written, it is also set on every node pool, because GKE's default
    applies only to new pools: existing pools get new nodes. To undo `false`, write `true`; removing the key changes
    nothing."""
    control_plane: Entry[ControlPlaneSpec] = default_field(ControlPlaneSpec)
    """Access to the control plane."""
    network: Entry[NetworkSpec] = default_field(NetworkSpec)
    """The VPC of the cluster and its address ranges."""
    node_auto_provisioning: AutoProvisioningSpec | None = None
    """Limits of node auto-provisioning. Without them it is off."""
    system_pool: Entry[SystemPoolSpec] = default_field(SystemPoolSpec)
    """The node pool that the controllers run on."""
    maintenance: MaintenanceSpec | None = None
    """When GKE may upgrade, and when not, in UTC. GKE requires 48 hours in 92 days, in windows of at least 4 hours."""
    storage_drivers: Sequence[Literal["gcs-fuse", "filestore", "parallelstore", "lustre"]] = ()
    """CSI drivers that GKE installs. Of an existing cluster they state what it has."""
    checkpointing: CheckpointingSpec | None = None
    """Multi-tier checkpointing of JobSets (docs/checkpointing.md). Without it the add-on is off. Of an existing cluster
    it states what the owner set up."""
    image_streaming: bool = True
    """Start containers before their image is complete."""
    multi_networking: bool = False
    """Enable several networks for pods. Always on if a pool has `networking: gpudirect`. It cannot be changed on an
    existing cluster, so write `true` to keep it after removing such pools, or to prepare a new cluster for them."""
    gpu_installers: Entry[GpuInstallersSpec] = default_field(GpuInstallersSpec)
    """Settings of the DaemonSets that prepare GPU nodes."""
    dns_endpoint: bool | None = None
    """Give the control plane a DNS endpoint with access by IAM, which the kubeconfig then uses."""
    confidential_nodes: ConfidentialType | None = None
    """Technology that encrypts the memory of every node, including the system pool."""


class ClusterSettings(Model):
    """Settings of a GKE cluster that Berth creates. The plan keeps them as they are, and its arguments read them."""

    gateway_api: bool = False
    """Install the Gateway API."""
    deletion_protection: bool = True
    """GKE's own protection from deletion, in addition to Pulumi's."""
    fleet_project: ProjectId | None = None
    """Project of the GKE fleet that the cluster is a member of."""
    database_encryption: DatabaseEncryptionSpec | None = None
    """Encryption of Secrets in the cluster's database with a key of Cloud KMS. By default Google's own keys."""
    boot_disk_kms_key: KmsKey | None = None
    """Key of Cloud KMS that encrypts the boot disks of all nodes; Compute Engine's service agent must be allowed to use
    it. A change replaces the node pools. By default Google's own keys."""
    shielded_nodes: bool = True
    """Verify the identity of nodes."""
    logging_components: Sequence[Literal["WORKLOADS", "APISERVER", "SCHEDULER", "CONTROLLER_MANAGER"]] = ("WORKLOADS",)
    """Logs that GKE sends to Cloud Logging besides those of its system components: those of all pods (`WORKLOADS`),
    and of the control plane. By default `[WORKLOADS]`."""


class ClusterSpec(ClusterParts, ClusterSettings):
    """The GKE cluster of a fleet, or an existing cluster."""
