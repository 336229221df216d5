"""Resources of queueing: flavors, quotas, queues, cohorts, priorities, and the controllers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from msgspec import Struct, field
from msgspec.structs import replace

from berth.plan.dynamic_slices import SlicingPlan
from berth.plan.node_settings import Bounds, Toleration

KUEUE_NAMESPACE: Final = "kueue-system"
"""Namespace of Kueue."""
CHANNEL_CLASS: Final = "compute-domain-default-channel.nvidia.com"
"""The DeviceClass of the channels to other nodes of an NVLink domain, which NVIDIA's DRA driver creates."""
CPU: Final = "cpu"
"""The resource that a flavor of machines without accelerators counts, in cores; its quotas are in milli-cpu."""
USAGE_BASED: Final = "UsageBasedAdmissionFairSharing"
"""The admission mode in which local queues take turns by past use."""
PODS: Final = "pods"
"""The resource that Kueue counts for each pod of a job, if a queue covers it; pods cannot request it."""
MILLI: Final = 1000
"""Milli-cpu of a core."""


class TopologyPlan(Struct, frozen=True, kw_only=True):
    """A Kueue Topology: node labels with the location of a node, widest level first (block, rack, host).

    Its levels are immutable, and Kueue keeps it while a flavor refers to it, so other levels need another name.
    """

    name: str
    levels: tuple[str, ...]


class NetworkDevicesPlan(Struct, frozen=True, kw_only=True):
    """The network devices that pods claim from the DRA driver of a flavor's nodes (GKE managed DRANET).

    `device_class` is the DeviceClass that GKE installs, and `resource` what one of its devices counts as in quotas. A
    node with `accelerators` has `per_node` devices.
    """

    device_class: str
    resource: str
    per_node: int
    accelerators: int

    def claimed(self, accelerators: int) -> int:
        """Return the devices of a pod with this many of a node's accelerators; 0 if they cannot be divided so."""
        whole, rest = divmod(self.per_node * accelerators, self.accelerators)
        return 0 if rest else whole

    @property
    def claim_sizes(self) -> tuple[int, ...]:
        """The numbers of devices that one claim takes: those of a node, and those of one accelerator."""
        return tuple(sorted({self.claimed(1), self.per_node} - {0}, reverse=True))


class ClaimTemplatePlan(Struct, frozen=True, kw_only=True):
    """A ResourceClaimTemplate in the namespaces of a team: a claim of `count` devices of a DeviceClass."""

    device_class: str
    count: int

    @property
    def name(self) -> str:
        """Its name, such as `mrdma-8`."""
        return f"{self.device_class.partition('.')[0]}-{self.count}"


class FlavorPlan(Struct, frozen=True, kw_only=True):
    """A Kueue ResourceFlavor and the capacity of its pools.

    `resource` is the accelerator's resource name. `capacity` is the minimum and maximum number of accelerators. `unit`
    is the accelerators of one slice (1 if divisible). `noun` names the accelerator in messages (`v5e chips`, `L4`). A
    flavor without accelerators counts cores: its resource is cpu.
    `spare` accelerators of it are those of machines that stand by, and are nobody's.
    `promised` is the sum of nominal quota over all cluster queues and cohorts; `oversubscription` the accepted factor
    (1: none). With a `topology` Kueue also places pods by its levels; labels, tolerations and topology are then
    immutable. Every pod of the flavor gets its `tolerations`. `devices` are what its pods claim besides accelerators;
    `channels` those of NVLink between nodes, of which a pod with a whole node has one.
    `pods` of jobs fit on its machines, besides those of the system; None if the fleet does not count pods. `slicing` is
    how jobs form slices of its nodes, None if slices have a fixed topology.
    """

    name: str
    resource: str
    noun: str = ""
    node_labels: Mapping[str, str] = field(default_factory=dict[str, str])
    tolerations: tuple[Toleration, ...] = ()
    capacity: Bounds = Bounds(min=0, max=0)
    unit: int = 1
    spare: int = 0
    promised: int = 0
    oversubscription: float = 1.0
    oversubscription_reason: str | None = None
    pools: tuple[str, ...] = ()
    topology: str | None = None
    devices: NetworkDevicesPlan | None = None
    channels: NetworkDevicesPlan | None = None
    pods: int | None = None
    slicing: SlicingPlan | None = None

    @property
    def shared(self) -> int:
        """The accelerators that can be guaranteed: all but the spare ones."""
        return self.capacity.max - self.spare

    @property
    def scale(self) -> int:
        """What its quotas and the requests of pods have for each of what it counts: 1000 milli-cpu for a core."""
        return MILLI if self.resource == CPU else 1


class QuotaLimits(Struct, frozen=True, kw_only=True):
    """How much of something a cluster queue or cohort is guaranteed, may borrow, and may lend.

    `borrowing_limit` None is unlimited, `lending_limit` None lends everything.
    """

    nominal: int
    borrowing_limit: int | None = None
    lending_limit: int | None = None


class QuotaPlan(QuotaLimits, frozen=True, kw_only=True):
    """The limits of one resource of one flavor in a cluster queue or cohort.

    Accelerators and pods as counts, cpu in milli, memory and ephemeral-storage in bytes. Both limits are 0 (and left
    out of the manifest) where the queue has no cohort.
    """

    resource: str

    @property
    def counted(self) -> QuotaPlan:
        """The quota of a flavor's own resource as people count it: cpu in cores, which it has a whole number of."""
        if self.resource != CPU:
            return self
        return replace(
            self,
            nominal=self.nominal // MILLI,
            borrowing_limit=None if self.borrowing_limit is None else self.borrowing_limit // MILLI,
            lending_limit=None if self.lending_limit is None else self.lending_limit // MILLI,
        )


class FlavorQuotasPlan(Struct, frozen=True, kw_only=True):
    """A flavor of a cluster queue with a quota for each covered resource, in the order of `covered_resources`."""

    flavor: str
    quotas: tuple[QuotaPlan, ...]


class ResourceGroupPlan(Struct, frozen=True, kw_only=True):
    """Resources that are assigned from the same flavor, and the possible flavors in order of preference."""

    covered_resources: tuple[str, ...]
    flavors: tuple[FlavorQuotasPlan, ...]


class PreemptionPlan(Struct, frozen=True, kw_only=True):
    """Preemption policies of a cluster queue, with Kueue's values; `borrow_within_cohort` None is Never."""

    within_cluster_queue: str = "Never"
    reclaim_within_cohort: str = "Never"
    borrow_within_cohort: str | None = None
    max_priority_threshold: int | None = None


class QueueCheckPlan(Struct, frozen=True, kw_only=True):
    """An AdmissionCheck that workloads of a cluster queue must pass on `flavors` (empty: on all)."""

    name: str
    on_flavors: tuple[str, ...] = ()


class LocalQueuePlan(Struct, frozen=True, kw_only=True):
    """A LocalQueue: the queue in a team's namespace that submits to a cluster queue.

    `stop_policy` as in ClusterQueuePlan. `labels` are those of the team. `fair_share_weight` is that of admission fair
    sharing, as written.
    """

    name: str
    namespace: str
    cluster_queue: str
    team: str = ""
    stop_policy: str | None = None
    fair_share_weight: float | None = None
    labels: Mapping[str, str] = field(default_factory=dict[str, str])


class ClusterQueuePlan(Struct, frozen=True, kw_only=True):
    """A Kueue ClusterQueue. `teams` are those with a local queue for it; `flavors` are in order of preference.

    `namespaces` None admits from every namespace; otherwise only from those listed. `stop_policy` is Kueue's (None,
    Hold, HoldAndDrain), `fair_share_weight` the number as written (0.5, 2; at most 9 decimals), `preference` that of
    flavorFungibility, `admission_mode` that of admissionScope; Kueue's default applies if one is None.
    `max_jobs` limits the jobs that run at the same time, for which Kueue has no field.
    `protect` applies to the cluster queue, not to its local queues. `labels` are those of its team, if it has only one.
    """

    name: str
    covered_resources: tuple[str, ...]
    flavors: tuple[FlavorQuotasPlan, ...]
    teams: tuple[str, ...] = ()
    cohort: str | None = None
    queueing_strategy: str = "BestEffortFIFO"
    namespaces: tuple[str, ...] | None = None
    preemption: PreemptionPlan = PreemptionPlan()
    when_can_borrow: str | None = None
    when_can_preempt: str | None = None
    priority: str | None = None
    local_queues: tuple[LocalQueuePlan, ...] = ()
    admission_checks: tuple[QueueCheckPlan, ...] = ()
    stop_policy: str | None = None
    fair_share_weight: float | None = None
    preference: str | None = None
    admission_mode: str | None = None
    max_jobs: int | None = None
    protect: bool = False
    labels: Mapping[str, str] = field(default_factory=dict[str, str])


class PriorityPlan(Struct, frozen=True, kw_only=True):
    """One priority, as a PriorityClass for pods and a WorkloadPriorityClass for queueing."""

    name: str
    value: int
    default: bool
    preempts: bool
    description: str


class CohortPlan(Struct, frozen=True, kw_only=True):
    """A Kueue Cohort. `parent` None is a root, which neither lends nor borrows.

    `resource_groups` are its own quotas, in addition to those of its queues. `fair_share_weight` as in
    ClusterQueuePlan.
    """

    name: str
    parent: str | None
    fair_share_weight: float | None = None
    resource_groups: tuple[ResourceGroupPlan, ...] = ()

    @property
    def flavors(self) -> tuple[FlavorQuotasPlan, ...]:
        """The entries of all its groups."""
        return tuple(entry for group in self.resource_groups for entry in group.flavors)


def root_of(cohorts: Mapping[str, CohortPlan], name: str) -> str:
    """Return the root of the tree that a cohort is in, of all by name; a cohort without an entry is one itself."""
    while name in cohorts and (parent := cohorts[name].parent) is not None:
        name = parent
    return name


class ChartPlan(Struct, frozen=True, kw_only=True):
    """A controller installed by Helm. `chart` is an address (possibly of a mirror) or a path.

    A chart `waits` until its pods are ready, unless they start with the nodes of jobs.
    """

    name: str
    chart: str
    version: str
    namespace: str
    values: Mapping[str, object] = field(default_factory=dict[str, object])
    waits: bool = True
