"""What Berth makes in Google Cloud: network, cluster, reservations, node pools."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from msgspec import Struct, field

from berth.plan.node_settings import (
    GpuSharingPlan,
    KubeletPlan,
    LinuxPlan,
    LocalSsdPlan,
    NodeNetworkPlan,
    PlacementPlan,
    UpgradePlan,
)
from berth.plan.nodes import Bounds, Taint


class NetworkPlan(Struct, frozen=True, kw_only=True):
    """A VPC of the fleet's own with one subnet, and a router with NAT where nodes have no public address.

    Ranges are CIDR blocks with no host bits set, pairwise disjoint (the control plane's included). `mtu` None is
    Google's 1460; pods of GPUDirect-TCPX and TCPXO talk over this VPC too, and Google's blueprints give it 8244.
    `nat_address` names a reserved address that NAT uses alone; None lets NAT allocate addresses.
    """

    name: str
    region: str
    node_range: str
    pod_range: str
    service_range: str
    nat: bool = True
    nat_address: str | None = None
    mtu: int | None = None
    pod_range_name: ClassVar[str] = "pods"
    service_range_name: ClassVar[str] = "services"


class ExistingNetworkPlan(Struct, frozen=True, kw_only=True):
    """A VPC that somebody else made, as paths (projects/P/global/networks/N); both ranges are of its `subnetwork`."""

    network: str
    subnetwork: str
    pod_range_name: str
    service_range_name: str


class WebhookFirewallPlan(Struct, frozen=True, kw_only=True):
    """A firewall rule that lets the control plane reach the webhooks of controllers on the nodes.

    GKE's own rule for a control plane with a range of its own has ports 443 and 10250 alone.
    """

    name: str
    source_range: str
    ports: tuple[int, ...]


class AuthorizedNetwork(Struct, frozen=True, kw_only=True):
    """A CIDR block that may reach the control plane, with the name people know it by."""

    name: str
    cidr: str


class ControlPlanePlan(Struct, frozen=True, kw_only=True):
    """How the control plane is reached. `authorized_networks` None leaves the endpoint open to any address.

    `dns_endpoint` True: by its DNS name, from anywhere, by whoever IAM lets in, and so does the kubeconfig. None says
    nothing of it, and leaves on what was on. `ip_endpoint` False closes every address. `manager_access`: a MultiKueue
    manager reaches it from the reserved address of its NAT, which is authorized beside the networks.
    """

    private_nodes: bool = True
    public_endpoint: bool = True
    ip_range: str | None = None
    authorized_networks: tuple[AuthorizedNetwork, ...] | None = None
    google_ranges: bool = False
    dns_endpoint: bool | None = None
    ip_endpoint: bool = True
    manager_access: bool = False


class ResourceLimit(Struct, frozen=True, kw_only=True):
    """One limit of node auto-provisioning, cluster-wide: cpu in cores, memory in GB, accelerators by label value."""

    resource: str
    minimum: int
    maximum: int


class AutoProvisioningPlan(Struct, frozen=True, kw_only=True):
    """Node auto-provisioning (NAP) of a Standard cluster, with the defaults of the pools it makes.

    Nodes that are made for queued provisioning are not to be repaired (`auto_repair` False): it would break up a job
    that has all its nodes. `disk_size_gb` None is GKE's 100.
    """

    profile: str
    limits: tuple[ResourceLimit, ...]
    zones: tuple[str, ...]
    disk_type: str
    disk_size_gb: int | None = None
    auto_repair: bool = True
    secure_boot: bool = True


class MaintenanceExclusion(Struct, frozen=True, kw_only=True):
    """A span in which GKE may not upgrade. Times are RFC 3339; `scope` is Google's enum.

    `end` None lasts until the cluster's version is no longer supported.
    """

    name: str
    start: str
    end: str | None
    scope: str


class MaintenancePlan(Struct, frozen=True, kw_only=True):
    """A window in which GKE may upgrade, and exclusions from it.

    The window recurs (RFC 3339 `start` and `end`, RFC 5545 `recurrence`), or is the four hours from `daily_start`
    ("03:00", GMT). Neither is any time.
    """

    start: str | None
    end: str | None
    recurrence: str | None
    exclusions: tuple[MaintenanceExclusion, ...]
    daily_start: str | None = None


class ServiceAccountPlan(Struct, frozen=True, kw_only=True):
    """A Google service account and the project roles it gets. `email` is what it will be."""

    account_id: str
    display_name: str
    email: str
    roles: tuple[str, ...]


class ClusterPlan(Struct, frozen=True, kw_only=True):
    """A regional GKE cluster. `mode` is standard or autopilot; `zones` empty lets GKE choose.

    What has no default is essential. What is None is not set, and stays as it is in GKE. `confidential_nodes` (SEV,
    SEV_SNP, TDX) holds for every node, so that the pool that GKE makes at first needs a `first_machine_type` that can
    do it. `fleet_project` hosts the fleet that the cluster is a member of. `security_group` holds the groups that
    rights in the cluster are given to (gke-security-groups@<domain>); `secret_manager` is the add-on that mounts
    secrets.
    """

    name: str
    project: str
    location: str
    workload_pool: str
    network: NetworkPlan | ExistingNetworkPlan
    node_service_account: ServiceAccountPlan
    mode: str = "standard"
    zones: tuple[str, ...] = ()
    release_channel: str = "REGULAR"
    version: str | None = None
    control_plane: ControlPlanePlan = ControlPlanePlan()
    auto_provisioning: AutoProvisioningPlan | None = None
    maintenance: MaintenancePlan | None = None
    storage_drivers: tuple[str, ...] = ()
    image_streaming: bool = True
    gateway_api: bool = False
    monitoring_components: tuple[str, ...] = ("SYSTEM_COMPONENTS",)
    deletion_protection: bool = True
    protect: bool = False
    labels: Mapping[str, str] = field(default_factory=dict[str, str])
    multi_networking: bool = False
    fleet_project: str | None = None
    confidential_nodes: str | None = None
    first_machine_type: str | None = None
    shielded_nodes: bool = True
    cost_management: bool | None = None
    security_group: str | None = None
    secret_manager: bool = False
    webhook_firewall: WebhookFirewallPlan | None = None


class ReservationPlan(Struct, frozen=True, kw_only=True):
    """A zonal reservation that Berth owns, to be consumed by name only. `gpu_type` None: no guest accelerators.

    `key` names it within the program and never changes; `name` is Google's. `local_ssds` counts the
    local SSDs of a machine, which must be those of the pools. `share_with` are projects that may use it too.
    `attached_ssds`: the machine brings SSDs by itself and `local_ssds` does not count them, so what Google reports of
    them is ignored; else the provider would replace the reservation to remove them.
    """

    key: str
    name: str
    zone: str
    machine_type: str
    count: int
    gpu_type: str | None
    gpu_count: int
    protect: bool
    local_ssds: int = 0
    share_with: tuple[str, ...] = ()
    attached_ssds: bool = False


class GpuPlan(Struct, frozen=True, kw_only=True):
    """The accelerators of one GPU node. `driver_version` is the provider's enum (DEFAULT, LATEST, ...).

    `partition_size` cuts each GPU into MIG partitions (1g.10gb); `sharing` then holds for each of them.
    """

    type: str
    count: int
    driver_version: str
    partition_size: str | None = None
    sharing: GpuSharingPlan | None = None


class NodePoolPlan(Struct, frozen=True, kw_only=True):
    """One GKE node pool.

    `key` names it within the program and never changes; `name` is GKE's (40 characters at most) and carries the
    topology. Exactly one of `nodes_per_zone` (static), `total_nodes` (autoscaled over all zones) and `zone_nodes`
    (autoscaled, bounds of each zone) is set. `slice_topology` is set only for a multi-host slice: the pool is then
    COMPACT, atomic, in one zone, and replaced when the topology changes. `placement` says it in other words (a workload
    policy, GPU nodes close to each other); None leaves it to `slice_topology`.

    `reservation` is the value of the reservation affinity, see `capacity.reservation_path`. `affinity` is Google's
    consume type; None is SPECIFIC_RESERVATION where `reservation` is set, else NO_RESERVATION.

    `flex_start` and `queued` are the two ways of the Dynamic Workload Scheduler, often together: such nodes live for
    `max_run_seconds` at most, must not be repaired (`auto_repair` False), and are upgraded as GKE sees fit. `upgrade`
    None sets nothing. `attached_ssds`: the machine brings SSDs by itself and `local_ssd` does not name them, so what
    GKE reports of them is ignored; else the provider would replace the pool to remove them.

    `service_account` is the address of an account that somebody else made; None is the cluster's account of nodes.

    What has no default is essential. What else is None is not set, and stays as it was in a pool that had it: the
    provider fills it in.
    """

    name: str
    machine_type: str
    key: str = ""
    zones: tuple[str, ...] = ()
    nodes_per_zone: int | None = None
    total_nodes: Bounds | None = None
    zone_nodes: Bounds | None = None
    location_policy: str | None = None
    slice_topology: str | None = None
    gpu: GpuPlan | None = None
    spot: bool = False
    reservation: str | None = None
    labels: Mapping[str, str] = field(default_factory=dict[str, str])
    taints: tuple[Taint, ...] = ()
    disk_type: str | None = None
    disk_size_gb: int = 100
    secure_boot: bool = True
    image_streaming: bool = True
    protect: bool = False
    affinity: str | None = None
    flex_start: bool = False
    queued: bool = False
    max_run_seconds: int | None = None
    auto_repair: bool = True
    upgrade: UpgradePlan | None = None
    placement: PlacementPlan | None = None
    local_ssd: LocalSsdPlan | None = None
    attached_ssds: bool = False
    network: NodeNetworkPlan = NodeNetworkPlan()
    confidential: str | None = None
    service_account: str | None = None
    max_pods_per_node: int | None = None
    kubelet: KubeletPlan | None = None
    linux: LinuxPlan | None = None
