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
    NonEmptyText,
    ProjectId,
    Section,
    Sequence,
    Text,
    Zones,
    default_field,
    validation_fault,
)
from berth.spec.core import AfterValidator
from berth.spec.existing_cluster import Cidr, ClusterName, ExistingClusterSpec
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
DriverVersion = Annotated[
    str, Text(r"default|latest|[0-9]{3,4}(\.[0-9]{1,4}){1,2}", 'a driver: default, latest or one such as "580.65.06"')
]
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
    cidr_block: Cidr


class ControlPlaneSpec(Model):
    """Access to the control plane. Without `authorizedNetworks` a public endpoint accepts every address."""

    public_endpoint: bool = True
    ip_endpoint: bool = True
    cidr_block: Cidr = "172.16.0.32/28"
    authorized_networks: Sequence[AuthorizedNetworkSpec] | None = None
    gcp_public_cidrs_access: bool = False


class NetworkSpec(Model):
    """The VPC of the cluster, and the ranges of the VPCs for accelerator traffic.

    An `existing` VPC (in another `project`, if it is shared) is not changed. Berth uses a subnet in the fleet's region
    and two of its secondary ranges. Without `existing`, Berth creates a VPC.
    """

    existing: ComputeName | None = None
    project: ProjectId | None = None
    subnetwork: ComputeName | None = None
    pod_range_name: ComputeName | None = None
    service_range_name: ComputeName | None = None
    node_cidr_block: Cidr = "10.40.0.0/22"
    pod_cidr_block: Cidr = "10.64.0.0/13"
    service_cidr_block: Cidr = "10.44.0.0/20"
    accelerator_cidr_block: Cidr = "10.96.0.0/11"
    mtu: int | None = Field(default=None, ge=1300, le=8896)
    nat: bool = True


class AutoProvisioningSpec(Model):
    """Cluster-wide limits of node auto-provisioning, and settings of the nodes that it creates.

    Cpu in cores, memory in GB. `autoRepair` is on by default, unless some nodes use queued provisioning or flex-start.
    """

    profile: Literal["BALANCED", "OPTIMIZE_UTILIZATION"] = "BALANCED"
    cpu: RangeField
    memory: RangeField
    accelerators: Section[str, CountField] = Field(default_factory=dict)
    zones: Zones = ()
    disk_type: NonEmptyText = "pd-balanced"
    disk_size_gb: int | None = Field(default=None, ge=10, le=65536)
    auto_repair: bool | None = None
    secure_boot: bool = True


class InstallerImagesSpec(Model):
    """Images of the DaemonSets that prepare GPU nodes, for mirrors and other digests."""

    driver: NonEmptyText | None = None
    partition: NonEmptyText | None = None
    device_injector: NonEmptyText | None = None
    tcpx: NonEmptyText | None = None
    tcpxo: NonEmptyText | None = None
    rdma: NonEmptyText | None = None
    rdma_arm: NonEmptyText | None = None
    host: NonEmptyText | None = None
    pause: NonEmptyText | None = None


class GpuInstallersSpec(Model):
    """DaemonSets that prepare GPU nodes; `driverVersion` applies to pools that disable GKE's driver installation."""

    driver_version: DriverVersion = "default"
    images: Entry[InstallerImagesSpec] = default_field(InstallerImagesSpec)


class SystemPoolSpec(Model):
    """The node pool for the controllers; `nodes` is a total over all zones."""

    machine_type: MachineType = "e2-standard-4"
    nodes: CountField = default_field(Range, min=1, max=6)
    zones: Zones = ()
    disk_size_gb: int = Field(default=100, ge=10, le=65536)


class MaintenanceWindowSpec(Model):
    """A recurring window in which GKE may upgrade. Times are UTC, `recurrence` is an RFC 5545 rule."""

    start: Timestamp
    end: Timestamp
    recurrence: Recurrence


class MaintenanceExclusionSpec(Model):
    """A time span without upgrades. An open one lasts as long as the cluster's version is supported."""

    name: DnsLabel
    start: Timestamp
    end: ExclusionEnd
    scope: Literal["NO_UPGRADES", "NO_MINOR_UPGRADES", "NO_MINOR_OR_NODE_UPGRADES"] = "NO_MINOR_OR_NODE_UPGRADES"


class MaintenanceSpec(Model):
    """When GKE may upgrade. `window` recurs; `dailyStart` begins a daily window of four hours, in UTC."""

    window: MaintenanceWindowSpec | None = None
    daily_start: TimeOfDay | None = None
    exclusions: Sequence[MaintenanceExclusionSpec] = Field(default=(), max_length=20)


class ClusterSpec(Model):
    """A GKE cluster, or an `existing` one. `name` defaults to the stack's; `zones` to GKE's choice.

    Of an existing GKE cluster the keys state what it is; `pulumi up` compares them with the cluster.
    """

    existing: ExistingClusterSpec | None = None
    name: ClusterName | None = None
    mode: Literal["standard", "autopilot"] = "standard"
    datapath_provider: Literal["advanced", "legacy"] = "advanced"
    release_channel: Literal["rapid", "regular", "stable", "extended"] = "regular"
    version: GkeVersion | None = None
    zones: Zones = ()
    private_nodes: bool = True
    control_plane: Entry[ControlPlaneSpec] = default_field(ControlPlaneSpec)
    network: Entry[NetworkSpec] = default_field(NetworkSpec)
    node_auto_provisioning: AutoProvisioningSpec | None = None
    system_pool: Entry[SystemPoolSpec] = default_field(SystemPoolSpec)
    maintenance: MaintenanceSpec | None = None
    storage_drivers: Sequence[Literal["gcs-fuse", "filestore", "parallelstore", "lustre"]] = ()
    image_streaming: bool = True
    gateway_api: bool = False
    multi_networking: bool = False
    gpu_installers: Entry[GpuInstallersSpec] = default_field(GpuInstallersSpec)
    deletion_protection: bool = True
    dns_endpoint: bool | None = None
    fleet_project: ProjectId | None = None
    confidential_nodes: ConfidentialType | None = None
    shielded_nodes: bool = True
