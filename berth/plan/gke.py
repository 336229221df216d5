"""Resources in Google Cloud: network, cluster, reservations, node pools."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Final

from msgspec import Struct, field
from msgspec.structs import replace

from berth.plan.node_settings import Bounds, NodeNetworkPlan, PlacementPlan, Taint, Toleration
from berth.spec.cluster import ClusterSettings
from berth.spec.machines.pools import NodeSettings


class NetworkPlan(Struct, frozen=True, kw_only=True):
    """A new VPC with one subnet, and a router with NAT if nodes have no public address.

    Ranges are CIDR blocks without host bits, pairwise disjoint (including the control plane's). `mtu` None is Google's
    default of 1460; Google's blueprints use 8244, because pods with GPUDirect-TCPX and TCPXO use this VPC too.
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
    """An existing VPC, as paths (projects/P/global/networks/N); both ranges are secondary ranges of `subnetwork`."""

    network: str
    subnetwork: str
    pod_range_name: str
    service_range_name: str
    additional_pod_range_names: tuple[str, ...] = ()


class WebhookFirewallPlan(Struct, frozen=True, kw_only=True):
    """A firewall rule that lets the control plane reach the webhooks of controllers on the nodes.

    GKE's own rule for a control plane with a range of its own has ports 443 and 10250 alone.
    """

    name: str
    source_range: str
    ports: tuple[int, ...]


class AuthorizedNetwork(Struct, frozen=True, kw_only=True):
    """A CIDR block that may reach the control plane, with a display name."""

    name: str
    cidr: str


class ControlPlanePlan(Struct, frozen=True, kw_only=True):
    """Access to the control plane. `authorized_networks` None leaves the endpoint open to any address.

    `dns_endpoint` True: the control plane is reachable by its DNS name from anywhere, with IAM permissions, and the
    kubeconfig uses that name. None does not set it, so an enabled one stays enabled. `ip_endpoint` False closes every
    IP endpoint. `manager_access`: a MultiKueue
    manager reaches it from the reserved address of its NAT, which is authorized beside the networks.
    """

    private_nodes: bool = True
    public_endpoint: bool = True
    ip_range: str | None = None
    authorized_networks: tuple[AuthorizedNetwork, ...] | None = None
    google_ranges: bool = False
    global_access: bool = False
    dns_endpoint: bool | None = None
    ip_endpoint: bool = True
    manager_access: bool = False


class ResourceLimit(Struct, frozen=True, kw_only=True):
    """One limit of node auto-provisioning, cluster-wide: cpu in cores, memory in GB, accelerators by label value."""

    resource: str
    minimum: int
    maximum: int


class AutoProvisioningPlan(Struct, frozen=True, kw_only=True):
    """Node auto-provisioning (NAP) of a Standard cluster, with the defaults of the pools it creates.

    `auto_repair` is False if any nodes are for queued provisioning: a repair would interrupt a job that has all its
    nodes. `disk_size_gb` None is GKE's default of 100.
    """

    profile: str
    limits: tuple[ResourceLimit, ...]
    zones: tuple[str, ...]
    disk_type: str
    disk_size_gb: int | None = None
    auto_repair: bool = True
    secure_boot: bool = True


class MaintenanceExclusion(Struct, frozen=True, kw_only=True):
    """A time span in which GKE may not upgrade. Times are RFC 3339; `scope` is Google's enum.

    `end` None lasts until the cluster's version is no longer supported.
    """

    name: str
    start: str
    end: str | None
    scope: str


class MaintenancePlan(Struct, frozen=True, kw_only=True):
    """A window in which GKE may upgrade, and exclusions from it.

    The window either recurs (RFC 3339 `start` and `end`, RFC 5545 `recurrence`), or lasts four hours from `daily_start`
    ("03:00", GMT). Without one, GKE may upgrade at any time.
    """

    start: str | None
    end: str | None
    recurrence: str | None
    exclusions: tuple[MaintenanceExclusion, ...]
    daily_start: str | None = None


class ServiceAccountPlan(Struct, frozen=True, kw_only=True):
    """A Google service account and its project roles. `email` is its address after creation."""

    account_id: str
    display_name: str
    email: str
    roles: tuple[str, ...]


NO_CLUSTER_SETTINGS: Final = ClusterSettings.model_construct()
"""Settings of a cluster for which a stack file writes none."""


CHECKPOINT_DRIVER: Final = "multitier-checkpoint.csi.storage.gke.io"
"""CSI driver of multi-tier checkpointing."""


class CheckpointingPlan(Struct, frozen=True, kw_only=True):
    """Multi-tier checkpointing: `memory` bytes of each node of `machine_type` are for checkpoints, copied to `bucket`.
    GKE's driver runs there as `member`, with `tolerations` of their taints."""

    bucket: str
    machine_type: str
    memory: int
    member: str
    tolerations: tuple[Toleration, ...] = ()


class ClusterPlan(Struct, frozen=True, kw_only=True):
    """A regional GKE cluster. `mode` is standard or autopilot; `zones` empty lets GKE choose.

    Fields without a default are required. None means not set: GKE keeps its current value. `datapath` is advanced
    (Dataplane V2) or legacy, which Autopilot ignores. `confidential_nodes` (SEV,
    SEV_SNP, TDX) applies to every node, so the initial pool of GKE needs a `first_machine_type` that supports it.
    `settings` are keys of the stack file that the cluster reads as they are. `security_group`
    (gke-security-groups@<domain>) contains the groups with access to the cluster; `secret_manager` is the add-on that
    mounts secrets, `slice_controller` the one that connects the TPU chips of a dynamic slice, and `checkpointing` the
    settings of the one for multi-tier checkpointing.
    """

    name: str
    project: str
    location: str
    workload_pool: str
    network: NetworkPlan | ExistingNetworkPlan
    node_service_account: ServiceAccountPlan
    settings: ClusterSettings = NO_CLUSTER_SETTINGS
    mode: str = "standard"
    datapath: str = "advanced"
    zones: tuple[str, ...] = ()
    release_channel: str = "REGULAR"
    version: str | None = None
    control_plane: ControlPlanePlan = ControlPlanePlan()
    auto_provisioning: AutoProvisioningPlan | None = None
    maintenance: MaintenancePlan | None = None
    storage_drivers: tuple[str, ...] = ()
    image_streaming: bool = True
    monitoring_components: tuple[str, ...] = ("SYSTEM_COMPONENTS",)
    protect: bool = False
    labels: Mapping[str, str] = field(default_factory=dict[str, str])
    multi_networking: bool = False
    confidential_nodes: str | None = None
    first_machine_type: str | None = None
    cost_management: bool | None = None
    security_group: str | None = None
    secret_manager: bool = False
    slice_controller: bool = False
    checkpointing: CheckpointingPlan | None = None
    webhook_firewall: WebhookFirewallPlan | None = None


class ReservationPlan(Struct, frozen=True, kw_only=True):
    """A zonal reservation that Berth creates, consumed only by name. `gpu_type` None: no guest accelerators.

    `key` is its name in the Pulumi program and never changes; `name` is its name in Google Cloud. `local_ssds` counts
    the local SSDs of a machine, which must equal those of the pools. `share_with` are other projects that may use it.
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
    maintenance_interval: str | None = None


class GpuPlan(Struct, frozen=True, kw_only=True):
    """The accelerators of one GPU node: Google's name of the GPU, and how many there are."""

    type: str
    count: int


NO_SETTINGS: Final = NodeSettings.model_construct()
"""Settings of nodes for which a stack file writes none."""


class NodePoolPlan(Struct, frozen=True, kw_only=True):
    """One GKE node pool.

    `key` is its name in the Pulumi program and never changes; `name` is that in GKE (at most 40 characters) and
    includes the topology. Exactly one of `nodes_per_zone` (static), `total_nodes` (autoscaled over all zones) and
    `zone_nodes` (autoscaled, limits per zone) is set. `slice_topology` is set only for a multi-host slice: the pool is
    then COMPACT, atomic, in one zone, and replaced if the topology changes. `placement` is set for a workload policy or
    for GPU nodes close to each other; None: only `slice_topology` applies.

    `reservation` is the value of the reservation affinity, see `capacity.reservation_path`. `affinity` is Google's
    consume type; None is SPECIFIC_RESERVATION where `reservation` is set, else NO_RESERVATION. It is set without
    `reservation` where only the reservation's resource knows the name.

    `flex_start` and `queued` are the modes of the Dynamic Workload Scheduler, often combined: such nodes live for at
    most `max_run_seconds`, must not be repaired (`auto_repair` False), and GKE decides how to upgrade them.
    `attached_ssds`: the machine type includes SSDs that `settings.local_ssd` does not list, so what GKE reports of them
    is ignored; otherwise the provider would replace the pool to remove them.

    `settings` are the keys of the stack file that describe nodes, with Berth's defaults for `secure_boot` and `surge`.
    `service_account` None is the cluster's account of nodes.

    `adopted`: another tool created the pool, and settings of its nodes that can only be chosen at creation, or that
    replace or recreate the nodes, stay as they are (`berth.google.node_pool`). They apply to a new pool.

    Fields without a default are required. Others that are None are not set: an existing pool keeps its value, which the
    provider reads back.
    """

    name: str
    machine_type: str
    settings: NodeSettings = NO_SETTINGS
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
    image_streaming: bool = True
    protect: bool = False
    affinity: str | None = None
    flex_start: bool = False
    queued: bool = False
    max_run_seconds: int | None = None
    auto_repair: bool = True
    placement: PlacementPlan | None = None
    attached_ssds: bool = False
    network: NodeNetworkPlan = NodeNetworkPlan()
    adopted: bool | None = None

    def without_account(self, email: str | None) -> NodePoolPlan:
        """Return the plan without its service account if that is `email`, such as the cluster's account of nodes."""
        if email is None or self.settings.service_account != email:
            return self
        return replace(self, settings=self.settings.model_copy({"service_account": None}))
