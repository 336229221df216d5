"""What Berth makes for queueing: flavors, quotas, queues, cohorts, priorities, and the controllers themselves."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from msgspec import Struct, field

from berth.plan.nodes import Bounds, Toleration

KUEUE_NAMESPACE: Final = "kueue-system"
"""Where Kueue runs."""


class TopologyPlan(Struct, frozen=True, kw_only=True):
    """A Kueue Topology: node labels that say where a node stands, the widest level first (block, rack, host).

    Its levels cannot be changed, and Kueue keeps it while a flavor names it: other levels want another name.
    """

    name: str
    levels: tuple[str, ...]


class FlavorPlan(Struct, frozen=True, kw_only=True):
    """A Kueue ResourceFlavor, and what stands behind it.

    `resource` is the accelerator's resource name. `capacity` counts accelerators: always there, and at the most.
    `unit` is the accelerators of one slice (1 where nothing is indivisible). `noun` is what people call the resource
    (`chips`, `L4`). `promised` is the sum of nominal quota over all cluster queues; `oversubscription` the accepted
    factor (1 means none). With a `topology` Kueue also places pods by its levels; labels, tolerations and topology can
    then not be changed any more. `tolerations` are given to every pod that gets the flavor.
    """

    name: str
    resource: str
    noun: str = ""
    node_labels: Mapping[str, str] = field(default_factory=dict[str, str])
    tolerations: tuple[Toleration, ...] = ()
    capacity: Bounds = Bounds(min=0, max=0)
    unit: int = 1
    promised: int = 0
    oversubscription: float = 1.0
    oversubscription_reason: str | None = None
    pools: tuple[str, ...] = ()
    topology: str | None = None


class QuotaLimits(Struct, frozen=True, kw_only=True):
    """How much of something a cluster queue or cohort is guaranteed, may borrow, and may lend.

    `borrowing_limit` None is unlimited, `lending_limit` None lends everything.
    """

    nominal: int
    borrowing_limit: int | None = None
    lending_limit: int | None = None


class QuotaPlan(QuotaLimits, frozen=True, kw_only=True):
    """The limits of one resource of one flavor in a cluster queue or cohort.

    Accelerators as counts, cpu in milli, memory and ephemeral-storage in bytes. Both limits are 0 (and left out of the
    manifest) where the queue has no cohort.
    """

    resource: str


class FlavorQuotasPlan(Struct, frozen=True, kw_only=True):
    """A flavor of a cluster queue with a quota for each covered resource, in the order of `covered_resources`."""

    flavor: str
    quotas: tuple[QuotaPlan, ...]


class ResourceGroupPlan(Struct, frozen=True, kw_only=True):
    """Resources that come from one flavor together, and the flavors they may come from, in order of preference."""

    covered_resources: tuple[str, ...]
    flavors: tuple[FlavorQuotasPlan, ...]


class PreemptionPlan(Struct, frozen=True, kw_only=True):
    """Kueue's preemption policies of a cluster queue, in Kueue's own values; `borrow_within_cohort` None is Never."""

    within_cluster_queue: str = "Never"
    reclaim_within_cohort: str = "Never"
    borrow_within_cohort: str | None = None
    max_priority_threshold: int | None = None


class QueueCheckPlan(Struct, frozen=True, kw_only=True):
    """An AdmissionCheck that a cluster queue's workloads must pass, on the flavors named; none named means on all."""

    name: str
    on_flavors: tuple[str, ...] = ()


class LocalQueuePlan(Struct, frozen=True, kw_only=True):
    """A LocalQueue: a team's door to a cluster queue.

    `stop_policy` as in ClusterQueuePlan. `labels` are the team's own.
    """

    name: str
    namespace: str
    cluster_queue: str
    team: str = ""
    stop_policy: str | None = None
    labels: Mapping[str, str] = field(default_factory=dict[str, str])


class ClusterQueuePlan(Struct, frozen=True, kw_only=True):
    """A Kueue ClusterQueue. `teams` are those with a local queue to it; `flavors` are in order of preference.

    `namespaces` None admits from every namespace; otherwise only those named. `stop_policy` is Kueue's (None, Hold,
    HoldAndDrain), `fair_share_weight` the number as written (0.5, 2; at most nine decimals), `preference` that of
    flavorFungibility, `admission_mode` that of admissionScope; whichever is None is left to Kueue.
    `max_jobs` bounds the jobs that run at once, which only ACK can.
    `protect` holds for the cluster queue, not for the local queues in front of it. `labels` are those of the team whose
    alone it is.
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

    `resource_groups` are quotas of its own, on top of its queues'. `fair_share_weight` as in ClusterQueuePlan.
    """

    name: str
    parent: str | None
    fair_share_weight: float | None = None
    resource_groups: tuple[ResourceGroupPlan, ...] = ()

    @property
    def flavors(self) -> tuple[FlavorQuotasPlan, ...]:
        """The entries of all its groups, as a queue has them."""
        return tuple(entry for group in self.resource_groups for entry in group.flavors)


class ChartPlan(Struct, frozen=True, kw_only=True):
    """A controller installed by Helm. `chart` is an OCI address, a mirror's, or a path; `values` are the chart's."""

    name: str
    chart: str
    version: str
    namespace: str
    values: Mapping[str, object] = field(default_factory=dict[str, object])
