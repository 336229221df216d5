"""What a row of the hardware table says. Every field is a fact of GKE's, none a choice; the table names its sources."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from msgspec import Struct

from berth.plan.nodes import Taint

Availability = Literal["offered", "doubtful", "refused"]
"""A source shows it · no source shows it, though none refuses it · GKE refuses it."""

ProvisioningModel = Literal["on-demand", "spot", "reservation-any", "reservation-specific", "flex-start", "queued"]
"""How GKE gets machines; a reservation is taken by its name (specific) or as any that fits."""


class Provisioning(Struct, frozen=True, kw_only=True):
    """How a kind of machine can be had: one row of GKE's provisioning matrix. What a row does not name is refused.

    `compact` are the ways that go with compact placement. `doubts` says why cells are doubtful. `reservations` is how
    Google reserves such machines: zonal (by machine type), dense (the same, in blocks and sub-blocks), or aggregate
    (by the chip; cannot be made with `compute.Reservation`). `confidence` is that of `source`, for the certain cells.
    """

    name: str = "none"
    on_demand: Availability = "refused"
    spot: Availability = "refused"
    reservation_any: Availability = "refused"
    reservation_specific: Availability = "refused"
    flex_start: Availability = "refused"
    queued: Availability = "refused"
    compact: tuple[str, ...] = ()
    reservations: Literal["zonal", "dense", "aggregate"] = "zonal"
    doubts: str = ""
    source: str = ""
    confidence: Literal["source", "documentation", "example", "recalled"] = "source"

    def availability(self, model: ProvisioningModel) -> Availability:
        """Whether the machines can be had this way."""
        by_model: dict[ProvisioningModel, Availability] = {
            "on-demand": self.on_demand,
            "spot": self.spot,
            "reservation-any": self.reservation_any,
            "reservation-specific": self.reservation_specific,
            "flex-start": self.flex_start,
            "queued": self.queued,
        }
        return by_model[model]

    @property
    def offered_models(self) -> tuple[ProvisioningModel, ...]:
        """The ways that a source shows."""
        return tuple(model for model in _PROVISIONING_MODELS if self.availability(model) == "offered")


_PROVISIONING_MODELS: tuple[ProvisioningModel, ...] = (
    "on-demand",
    "spot",
    "reservation-any",
    "reservation-specific",
    "flex-start",
    "queued",
)


class Machine(Struct, frozen=True, kw_only=True):
    """One machine type as a node. Counts are per node; `memory_gb` is GB as Google says it (GiB in Kubernetes).

    `accelerator` is the node-label value, `resource` what a container asks for, `noun` what people say after a count
    ("v5e chips", "L4"). `accelerators` are chips or GPUs; of a fractional GPU machine, fractions (the noun says so).
    `status`: legacy is usable but old; unsupported is refused by Berth, `note` says why (0 vCPU or GB means unknown).
    `explicit_only`: GKE creates it only where it is named. `provisioning` is how it can be had.

    TPU: `generation` is a key of `generations()`, None for GPUs and for what is unsupported. `multi_host_placement` is
    how hosts become one slice (compact_tpu_topology, workload_policy_high_throughput), None where they cannot.

    GPU: `additional_networks` counts the VPC networks that `gpudirect` (none, tcpx, tcpxo, rdma) wants besides the
    cluster's. `ssd_automatic` local SSDs come by themselves; `ssd_options` are the counts one may choose.
    `compact_max_nodes` is the most nodes under compact placement (0: there is none). With a `domain_topology`, nodes
    form one NVLink domain of `domain_nodes`, placed by a workload policy. A resource is 1/`fraction` of a GPU.
    `confidential` are the kinds of confidential VM it can be.

    `boot_disk_types` are those allowed, empty for any. `accelerator_network_profile` is the value GKE accepts ("auto",
    which excludes additional networks), None where it accepts none; `dranet` is whether Google documents it there.

    `topology_levels` are the node labels that say where a node stands, the widest first; empty where none do.
    `aggregate_type` (an acceleratorType) and `aggregate_family` (Compute Engine's VmFamily) say what to ask for where
    such machines are reserved by the chip.
    """

    name: str
    kind: Literal["tpu", "gpu"]
    accelerator: str
    resource: str
    noun: str
    accelerators: int
    vcpu: int
    memory_gb: float
    generation: str | None = None
    single_host_topology: str | None = None
    multi_host_placement: str | None = None
    boot_disk_types: tuple[str, ...] = ()
    accelerator_network_profile: str | None = None
    gpudirect: str = "none"
    additional_networks: int = 0
    ssd_automatic: int = 0
    ssd_options: tuple[int, ...] = ()
    compact_max_nodes: int = 0
    domain_topology: str | None = None
    domain_nodes: int = 0
    fraction: int = 1
    confidential: tuple[str, ...] = ()
    dranet: bool = False
    topology_levels: tuple[str, ...] = ()
    aggregate_type: str | None = None
    aggregate_family: str | None = None
    provisioning: Provisioning = Provisioning()
    arch: str = "amd64"
    explicit_only: bool = False
    status: Literal["current", "legacy", "unsupported"] = "current"
    note: str = ""
    min_gke_standard: str | None = None
    min_gke_autopilot: str | None = None

    @property
    def multi_host(self) -> bool:
        """Whether several of these hosts can form one slice."""
        return self.multi_host_placement is not None

    @property
    def supports_dws(self) -> bool:
        """Whether the Dynamic Workload Scheduler may give it: flex-start or queued provisioning is not refused."""
        return "refused" not in (self.provisioning.flex_start, self.provisioning.queued)

    @property
    def supports_compact_flex_start(self) -> bool:
        """Whether flex-start goes with compact placement."""
        return "flex-start" in self.provisioning.compact

    @property
    def default_boot_disk(self) -> str:
        """The boot disk Berth uses: pd-balanced, or what the machine requires (hyperdisk-balanced)."""
        any_or_balanced = not self.boot_disk_types or "pd-balanced" in self.boot_disk_types
        return "pd-balanced" if any_or_balanced else self.boot_disk_types[0]


class Generation(Struct, frozen=True, kw_only=True):
    """One TPU generation. Counts are chips; a slice topology has `dims` dimensions, and its product counts chips.

    `shapes` are listed topologies. With a `cube_edge`, every AxBxC follows whose dimensions are multiples of it,
    A <= B <= C <= `max_dimension`, and whose product is at most `max_slice_chips`. `pod_chips` is a pod's size where it
    is more than the largest documented slice; `multislice_max_chips` bounds one job over several slices (None: not
    documented). `aliases` are other names people use.
    """

    name: str
    aliases: tuple[str, ...]
    dims: int
    tensorcores_per_chip: int
    max_slice_chips: int
    shapes: tuple[str, ...]
    cube_edge: int | None = None
    max_dimension: int = 0
    pod_chips: int | None = None
    multislice_max_chips: int | None = None
    sub_slicing_topologies: tuple[str, ...] = ()
    note: str = ""


class SliceShape(Struct, frozen=True):
    """A slice on a given machine: chips in all, and hosts (nodes), chips / chips per host."""

    topology: str
    chips: int
    hosts: int

    @property
    def multi_host(self) -> bool:
        """Whether the slice spans hosts: the pool is then one atomic slice, at 0 or at exactly `hosts` nodes."""
        return self.hosts > 1


class NodeLabelKeys(Struct, frozen=True, kw_only=True):
    """Keys of the node labels that GKE sets (`provisioning_request` is a selector of DWS, `placement_group` of pods
    whose nodes GKE makes close to each other). A compute class and a placement group are also taints, by the same keys.
    """

    tpu_accelerator: str
    tpu_topology: str
    accelerator_count: str
    gpu_accelerator: str
    gpu_partition: str
    gpu_sharing_strategy: str
    gpu_max_shared_clients: str
    gpu_driver_version: str
    nodepool: str
    spot: str
    flex_start: str
    queued: str
    reservation_name: str
    reservation_project: str
    reservation_blocks: str
    reservation_subblocks: str
    gpudirect: str
    dra_driver: str
    placement_group: str
    provisioning_request: str
    compute_class: str


class GkeTaints(Struct, frozen=True, kw_only=True):
    """The taints GKE puts on nodes by itself: of TPU hosts, of GPU nodes, of queued-provisioning nodes."""

    tpu: Taint
    gpu: Taint
    queued: Taint


class GkeLimits(Struct, frozen=True, kw_only=True):
    """What GKE and the provider accept beside machines; bounds are inclusive.

    Run times, of queued provisioning and flex-start, in seconds. `max_request_nodes` is per request and zone,
    `max_resize_requests` the default quota of requests under way in a project and region. `sharing_strategies` and
    `driver_versions` are the provider's words. Shared clients are per GPU, or per MIG partition: allocatable is
    GPUs x partitions x clients.
    """

    queued_provisioning_class: str
    min_run_seconds: int
    max_run_seconds: int
    sharing_strategies: tuple[str, ...]
    min_shared_clients: int
    max_shared_clients: int
    driver_versions: tuple[str, ...]
    max_request_nodes: int
    max_resize_requests: int


class GpuDirect(Struct, frozen=True, kw_only=True):
    """What one kind of GPUDirect wants beside the `additional_networks` of a machine.

    With `rdma`, one of them is a gVNIC network and the rest are subnetworks of one VPC with the zonal RDMA profile;
    else each lies in a VPC of its own. `mtu` in bytes. Pods mount `host_paths` and `read_only_host_paths` from the node
    and add `capabilities` to those of the Pod Security level `baseline`.
    """

    rdma: bool
    mtu: int
    host_paths: tuple[str, ...]
    read_only_host_paths: tuple[str, ...]
    capabilities: tuple[str, ...]


class AttachableGpus(Struct, frozen=True, kw_only=True):
    """What may be attached to n1 machines.

    `gpus` maps an accelerator to GPUs per node to the most vCPUs of the machine; `hosts` maps a machine type to its
    vCPUs and GB; `ssd_options` are the local SSD counts one may choose, `provisioning` how such nodes can be had.
    """

    gpus: Mapping[str, Mapping[int, int]]
    hosts: Mapping[str, tuple[int, float]]
    ssd_options: tuple[int, ...]
    provisioning: Provisioning
