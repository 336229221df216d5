"""Types of the rows of the hardware table. Every field is a fact about GKE; the table names its sources."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Literal, get_args

from msgspec import Struct

from berth.catalog.network_rows import NetworkDevices
from berth.plan.node_settings import Taint


class DynamicSlicing(Struct, frozen=True, kw_only=True):
    """How jobs can form slices themselves of one TPU generation.

    `modes` are the values of `dynamicSlicing`. A node pool is one `block`, None if any slice of several hosts can be
    divided. `parts` are the shapes of parts, the largest first, `label` (and `state`) the node labels of one, with {}
    for its shape. Blocks are joined within one value of `outer`. `controller` is the Kueue controller that forms
    slices, and nodes that wait for it have the label `mode_label`: without one, hosts keep the connections of their
    slice.
    """

    modes: tuple[str, ...]
    parts: tuple[str, ...]
    label: str
    block: str | None = None
    outer: str | None = None
    state: str | None = None
    controller: str | None = None
    mode_label: str | None = None


DEFAULT_BOOT_DISK: Final = "pd-balanced"
"""The boot disk of nodes whose machines take any, or of which no table says which they take."""

Availability = Literal["offered", "doubtful", "refused"]
"""offered: documented; doubtful: neither documented nor refused; refused: GKE refuses it."""

Confidence = Literal["source", "documentation", "example", "recalled"]
"""What a fact rests on: source code, documentation, a published example, or memory, which no source confirms."""

ProvisioningModel = Literal["on-demand", "spot", "reservation-any", "reservation-specific", "flex-start", "queued"]
"""How GKE gets machines; a reservation is either named (specific) or any that matches."""


class Provisioning(Struct, frozen=True, kw_only=True):
    """Availability of a kind of machine: one row of GKE's provisioning matrix. Models that a row omits are refused.

    `compact` are the models that support compact placement. `doubts` is why cells are doubtful. `reservations` is how
    Google reserves such machines: zonal (by machine type), dense (also by block and sub-block), or aggregate (by the
    chip; not possible with `compute.Reservation`). `confidence` is that of `source`, for the certain cells.
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
    confidence: Confidence = "source"

    def availability(self, model: ProvisioningModel) -> Availability:
        """Return whether the machines are available with a provisioning model."""
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
        """Documented provisioning models."""
        return tuple(model for model in _PROVISIONING_MODELS if self.availability(model) == "offered")


_PROVISIONING_MODELS: tuple[ProvisioningModel, ...] = get_args(ProvisioningModel)


class Machine(Struct, frozen=True, kw_only=True):
    """One machine type as a node. Counts are per node; `memory_gb` is in Google's GB (GiB in Kubernetes).

    `accelerator` is the node-label value, `resource` the resource name, `noun` the name in messages after a count ("v5e
    chips", "L4"). `accelerators` counts chips or GPUs; for a fractional GPU machine, fractions (and `noun` says so).
    `status`: legacy is usable but old; unsupported is refused by Berth, and `note` says why (0 vCPU or GB: unknown).
    `explicit_only`: GKE creates it only for a pool that names it. `provisioning` is its availability.

    A machine of kind `cpu` has no accelerator (""): its `resource` is cpu, and `accelerators` are the whole cores that
    pods can request on a node. `shared_core`: it has a fraction of its vCPUs, and GKE reserves a fixed part of them.
    `known` is what the tables know: the type, only its series (its local SSDs are unknown), or nothing but its name and
    the size in the stack file.

    TPU: `generation` is a key of `generations()`, None for GPUs and unsupported machines. `multi_host_placement` is how
    hosts form one slice (compact_tpu_topology, workload_policy_high_throughput), None if they cannot.

    `additional_networks` counts the networks that `gpudirect` (none, tcpx, tcpxo, rdma; falcon without GPUs) needs
    besides the cluster's. GPU: `ssd_automatic` local SSDs are included; `ssd_options` are the counts to choose
    from. `compact_max_nodes` is the maximum of nodes with compact placement (0: not available). With a
    `domain_topology`, nodes form one NVLink domain of `domain_nodes`, placed by a workload policy; nodes with one
    value of the label `domain_level` are in one (a pool is a domain). A resource is 1/`fraction` of a GPU.
    `confidential` are the confidential VM types that it supports.

    `boot_disk_types` are the allowed boot disks, empty if no source says. `accelerator_network_profile` is the value
    that GKE accepts ("auto", which excludes additional networks), or None; `dranet` is whether Google documents it.
    Pods claim the node's `network_devices` then, None if no source tells how many.

    `one_thread`: each vCPU is a core, as on arm64. `only_cos`: GKE has no other node image than Container-Optimized
    OS. `topology_levels` are labels of its location, widest first. `aggregate_type` (acceleratorType) and
    `aggregate_family` (Compute Engine's VmFamily) reserve machines by the chip.
    """

    name: str
    kind: Literal["tpu", "gpu", "cpu"]
    accelerator: str
    resource: str
    noun: str
    accelerators: int
    vcpu: int
    memory_gb: float
    shared_core: bool = False
    known: Literal["type", "series", "nothing"] = "type"
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
    domain_level: str | None = None
    fraction: int = 1
    confidential: tuple[str, ...] = ()
    dranet: bool = False
    network_devices: NetworkDevices | None = None
    topology_levels: tuple[str, ...] = ()
    aggregate_type: str | None = None
    aggregate_family: str | None = None
    provisioning: Provisioning = Provisioning()
    arch: str = "amd64"
    one_thread: bool = False
    only_cos: bool = False
    explicit_only: bool = False
    status: Literal["current", "legacy", "unsupported"] = "current"
    note: str = ""
    min_gke_standard: str | None = None
    min_gke_autopilot: str | None = None

    @property
    def has_threads(self) -> bool:
        """Whether a core has two threads."""
        return not (self.one_thread or self.arch == "arm64" or self.shared_core or self.vcpu < 2)

    @property
    def multi_host(self) -> bool:
        """Whether several of these hosts can form one slice."""
        return self.multi_host_placement is not None

    @property
    def supports_dws(self) -> bool:
        """Whether the Dynamic Workload Scheduler may provide it: flex-start or queued provisioning is not refused."""
        return "refused" not in (self.provisioning.flex_start, self.provisioning.queued)

    @property
    def supports_compact_flex_start(self) -> bool:
        """Whether flex-start supports compact placement."""
        return "flex-start" in self.provisioning.compact

    @property
    def default_boot_disk(self) -> str:
        """The boot disk Berth uses: pd-balanced, or the first that the machine takes (hyperdisk-balanced)."""
        takes_default = not self.boot_disk_types or DEFAULT_BOOT_DISK in self.boot_disk_types
        return DEFAULT_BOOT_DISK if takes_default else self.boot_disk_types[0]


class Generation(Struct, frozen=True, kw_only=True):
    """One TPU generation. Counts are chips; a slice topology has `dims` dimensions, and its product counts chips.

    `shapes` are listed topologies. With a `cube_edge`, every AxBxC is possible whose dimensions are multiples of it,
    with A <= B <= C <= `max_dimension` and a product of at most `max_slice_chips`. `pod_chips` is the size of a pod if
    it is larger than the largest documented slice; `multislice_max_chips` limits one job over several slices (None: not
    documented). `aliases` are other common names. `any_order`: the dimensions may also be written in another order.
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
    any_order: bool = False
    sub_slicing_topologies: tuple[str, ...] = ()
    dynamic_slicing: DynamicSlicing | None = None
    note: str = ""


class SliceShape(Struct, frozen=True):
    """A slice on a given machine: total chips, and hosts (nodes) = chips / chips per host."""

    topology: str
    chips: int
    hosts: int

    @property
    def multi_host(self) -> bool:
        """Whether the slice spans hosts; the pool is then atomic, with either 0 or exactly `hosts` nodes."""
        return self.hosts > 1


class NodeLabelKeys(Struct, frozen=True, kw_only=True):
    """Keys of the node labels that GKE sets.

    DWS selects by `provisioning_request`, and pods whose nodes GKE creates close together by `placement_group`. Compute
    class, placement group and sandbox are also taints.
    """

    tpu_accelerator: str
    tpu_topology: str
    accelerator_count: str
    gpu_accelerator: str
    gpu_partition: str
    gpu_sharing_strategy: str
    gpu_max_shared_clients: str
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
    sandbox: str


class GkeTaints(Struct, frozen=True, kw_only=True):
    """Taints that GKE sets by itself: on hosts of TPUs and GPUs, on queued nodes and on those of GKE Sandbox."""

    tpu: Taint
    gpu: Taint
    queued: Taint
    sandbox: Taint


class GkeLimits(Struct, frozen=True, kw_only=True):
    """Limits of GKE and the provider besides machines; bounds are inclusive.

    Run times of queued provisioning and flex-start are in seconds. `max_request_nodes` is per request and zone,
    `max_resize_requests` the default quota of pending requests per project and region. `sharing_strategies` and
    `driver_versions` are the provider's enums. Shared clients are per GPU, or per MIG partition: allocatable is GPUs x
    partitions x clients.
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


class AttachableGpus(Struct, frozen=True, kw_only=True):
    """GPUs and disks of N1 machines: accelerator → GPUs per node → most vCPUs; machine type → vCPUs and GB."""

    gpus: Mapping[str, Mapping[int, int]]
    hosts: Mapping[str, tuple[int, float]]
    ssd_options: tuple[int, ...]
    boot_disk_types: tuple[str, ...]
    provisioning: Provisioning
