"""What Berth makes in Google Cloud: network, cluster, reservations, node pools."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from components.plan.nodes import Bounds, Taint


@dataclass(frozen=True, slots=True, kw_only=True)
class NetworkPlan:
    """A VPC of the fleet's own with one subnet, and a router with NAT where nodes have no public address.

    Ranges are CIDR blocks with no host bits set, pairwise disjoint (the control plane's included).
    """

    name: str
    region: str
    node_range: str
    pod_range: str
    service_range: str
    pod_range_name: str
    service_range_name: str
    nat: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class AuthorizedNetwork:
    """A CIDR block that may reach the control plane, with the name people know it by."""

    name: str
    cidr: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ControlPlanePlan:
    """How the control plane is reached. `authorized_networks` None leaves the endpoint open to any address."""

    private_nodes: bool
    public_endpoint: bool
    ip_range: str | None
    authorized_networks: tuple[AuthorizedNetwork, ...] | None
    google_ranges: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ResourceLimit:
    """One limit of node auto-provisioning: cpu in cores, memory in GB, accelerators by node-label value; cluster-wide."""

    resource: str
    minimum: int
    maximum: int


@dataclass(frozen=True, slots=True, kw_only=True)
class AutoProvisioningPlan:
    """Node auto-provisioning (NAP) of a Standard cluster, with the defaults of the pools it makes."""

    profile: str
    limits: tuple[ResourceLimit, ...]
    zones: tuple[str, ...]
    disk_type: str


@dataclass(frozen=True, slots=True, kw_only=True)
class MaintenanceExclusion:
    """A span in which GKE may not upgrade. Times are RFC 3339; `scope` is Google's enum."""

    name: str
    start: str
    end: str
    scope: str


@dataclass(frozen=True, slots=True, kw_only=True)
class MaintenancePlan:
    """A recurring window (RFC 3339 start and end, RFC 5545 recurrence) and exclusions from it."""

    start: str | None
    end: str | None
    recurrence: str | None
    exclusions: tuple[MaintenanceExclusion, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceAccountPlan:
    """A Google service account and the project roles it gets. `email` is what it will be."""

    account_id: str
    display_name: str
    email: str
    roles: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterPlan:
    """A regional GKE cluster. `mode` is standard or autopilot; `zones` empty lets GKE choose."""

    name: str
    mode: str
    project: str
    location: str
    zones: tuple[str, ...]
    release_channel: str
    version: str | None
    workload_pool: str
    network: NetworkPlan
    control_plane: ControlPlanePlan
    node_service_account: ServiceAccountPlan
    auto_provisioning: AutoProvisioningPlan | None
    maintenance: MaintenancePlan | None
    storage_drivers: tuple[str, ...]
    image_streaming: bool
    gateway_api: bool
    monitoring_components: tuple[str, ...]
    logging_components: tuple[str, ...]
    deletion_protection: bool
    protect: bool
    labels: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReservationPlan:
    """A zonal reservation that Berth owns, to be consumed by name only. `gpu_type` None: no guest accelerators.

    `key` names it within the program and never changes; `name` is Google's.
    """

    key: str
    name: str
    zone: str
    machine_type: str
    count: int
    gpu_type: str | None
    gpu_count: int
    protect: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class GpuPlan:
    """The accelerators of one GPU node. `driver_version` is the provider's enum (DEFAULT, LATEST, ...)."""

    type: str
    count: int
    driver_version: str


@dataclass(frozen=True, slots=True, kw_only=True)
class NodePoolPlan:
    """One GKE node pool.

    `key` names it within the program and never changes; `name` is GKE's (40 characters at most) and carries the topology.
    Exactly one of `nodes_per_zone` (static) and `total_nodes` (autoscaled over all zones) is set. `slice_topology` is set
    only for a multi-host slice: the pool is then COMPACT, atomic, in one zone, and replaced when the topology changes.
    `reservation` is the value of the reservation affinity; None means that no reservation is ever consumed.
    """

    key: str
    name: str
    machine_type: str
    zones: tuple[str, ...]
    nodes_per_zone: int | None
    total_nodes: Bounds | None
    location_policy: str | None
    slice_topology: str | None
    gpu: GpuPlan | None
    spot: bool
    reservation: str | None
    labels: Mapping[str, str]
    taints: tuple[Taint, ...]
    disk_type: str | None
    disk_size_gb: int
    secure_boot: bool
    image_streaming: bool
    protect: bool
