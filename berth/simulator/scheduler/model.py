"""The input of a simulation: cluster queues, cohorts, quotas and jobs, as frozen values.

Amounts are whole numbers in one unit per resource. For a fleet: accelerators as counts, cpu in milli, memory in bytes;
for recorded cases: the unit of the file. The rules are Kueue's (v0.19 and the main branch that became 0.20), taken from
its source.
"""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct, field

from berth.jobs.pod_set import PodSet
from berth.placement.kueue import ResourceFlavor
from berth.placement.node_classes import NodeClass
from berth.plan.kueue import PreemptionPlan, QuotaLimits

FlavorResource = tuple[str, str]
"""(flavor, resource), the key of a quota."""

NEVER = "Never"
LOWER_PRIORITY = "LowerPriority"
LOWER_OR_NEWER_EQUAL = "LowerOrNewerEqualPriority"
ANY = "Any"
"""Preemption policies: which jobs a rule allows to be preempted."""

MAY_STOP_SEARCH = "MayStopSearch"
TRY_NEXT_FLAVOR = "TryNextFlavor"
BORROWING_FIRST = "BorrowingOverPreemption"
PREEMPTION_FIRST = "PreemptionOverBorrowing"
"""Flavor fungibility: when the flavor search continues, and which result is preferred."""

STRICT_FIFO = "StrictFIFO"
BEST_EFFORT_FIFO = "BestEffortFIFO"

RUNNING = "None"
HOLD = "Hold"
HOLD_AND_DRAIN = "HoldAndDrain"
"""Stop policies."""


class FlavorFungibility(Struct, frozen=True, kw_only=True):
    """When the flavor search continues after a usable flavor, and which of the results is preferred."""

    when_can_borrow: str = MAY_STOP_SEARCH
    when_can_preempt: str = TRY_NEXT_FLAVOR
    preference: str = BORROWING_FIRST


class ResourceGroup(Struct, frozen=True, kw_only=True):
    """Resources that get the same flavor, and the flavors in order of preference."""

    resources: tuple[str, ...]
    flavors: tuple[str, ...]


class ClusterQueue(Struct, frozen=True, kw_only=True):
    """A cluster queue. `checks`: flavor and resource → the admission checks of jobs that use it.

    `weight` is that of fair sharing, below its cohort. `local_weights` are those of its local queues if they take turns
    by usage (None: they do not); a local queue without one has 1.
    """

    name: str
    cohort: str | None
    is_strict_fifo: bool
    resource_groups: tuple[ResourceGroup, ...]
    quotas: Mapping[FlavorResource, QuotaLimits]
    preemption: PreemptionPlan = PreemptionPlan()
    fungibility: FlavorFungibility = FlavorFungibility()
    stop_policy: str = RUNNING
    admission_checks: Mapping[FlavorResource, tuple[str, ...]] = field(
        default_factory=dict[FlavorResource, tuple[str, ...]]
    )
    weight: float = 1.0
    local_weights: Mapping[str, float] | None = None


class Cohort(Struct, frozen=True, kw_only=True):
    """A cohort: its parent, quota of its own that belongs to no queue, and its weight below its parent."""

    name: str
    parent: str | None = None
    quotas: Mapping[FlavorResource, QuotaLimits] = field(default_factory=dict[FlavorResource, QuotaLimits])
    weight: float = 1.0


class AdmissionFairSharing(Struct, frozen=True, kw_only=True):
    """How local queues take turns by usage, which is half after `half_life_seconds`; with 0 there is none.

    `resource_weights` are for one unit of each resource (1 for others). Usage counts from the admission of a job, or
    from its reservation of quota.
    """

    half_life_seconds: float
    sampling_seconds: float
    resource_weights: Mapping[str, float] = field(default_factory=dict[str, float])
    from_reservation: bool = False


class SchedulerSetup(Struct, frozen=True, kw_only=True):
    """All queues and cohorts at one time, including cohorts that only a queue or another cohort names.

    With `partial_admission` (a feature gate) jobs that allow it are admitted with fewer pods. With `workers` (by name)
    this is a manager: a job that holds quota here runs in the queue of that name on a worker.
    `fair_strategies` are the preemption strategies of fair sharing, in order; None if it is off. `topology_nodes` are
    the nodes of flavors with a topology, on which Kueue places pods; without them only quota decides. Local queues take
    turns by `admission_fair_sharing` where a queue has `local_weights`.
    """

    queues: tuple[ClusterQueue, ...]
    cohorts: tuple[Cohort, ...] = ()
    resource_flavors: Mapping[str, ResourceFlavor] = field(default_factory=dict[str, "ResourceFlavor"])
    partial_admission: bool = True
    fair_strategies: tuple[str, ...] | None = None
    admission_fair_sharing: AdmissionFairSharing | None = None
    topology_nodes: Mapping[str, tuple[NodeClass, ...]] = field(default_factory=dict[str, "tuple[NodeClass, ...]"])
    workers: Mapping[str, SchedulerSetup] = field(default_factory=dict[str, "SchedulerSetup"])


class Job(Struct, frozen=True, kw_only=True):
    """A job, which is admitted as a whole. `queue` is a cluster queue, `local_queue` such as `namespace/name` if known.

    `barred` has, for each pod set, the flavors on whose topology Kueue finds no room for it even on empty nodes.
    """

    name: str
    queue: str
    priority: int
    pod_sets: tuple[PodSet, ...]
    barred: tuple[frozenset[str], ...] = ()
    local_queue: str = ""


SchedulingShape = tuple[object, ...]
"""The scheduler treats jobs with equal shapes in one queue alike."""


def scheduling_shape(job: Job) -> SchedulingShape:
    """Return the shape of a job: everything that affects its scheduling."""
    pod_sets = (
        (
            p.name,
            p.count,
            p.least,
            *sorted(p.requests.items()),
            *sorted(p.node_selector.items()),
            p.affinity_terms,
            p.tolerations,
            p.topology,
        )
        for p in job.pod_sets
    )
    return (job.priority, job.barred, *pod_sets)
