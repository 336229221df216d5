"""What a simulation is about: cluster queues, cohorts, quotas and jobs, as plain frozen values.

Amounts are whole numbers in one unit per resource: accelerators as counts, cpu in milli, memory in bytes for a fleet;
whatever the file says for recorded cases. The rules that act on these values are Kueue's (v0.19 and the main branch
that became 0.20), read from its source; fair sharing and topology-aware scheduling are not modelled.
"""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct, field

from berth.jobs.pod_set import PodSet
from berth.plan.kueue import PreemptionPlan, QuotaLimits
from berth.plan.nodes import Taint, Toleration

FlavorResource = tuple[str, str]
"""Flavor and resource: what a quota is of."""

NEVER = "Never"
LOWER_PRIORITY = "LowerPriority"
LOWER_OR_NEWER_EQUAL = "LowerOrNewerEqualPriority"
ANY = "Any"
"""Preemption policies: whom a rule lets a job push out."""

MAY_STOP_SEARCH = "MayStopSearch"
TRY_NEXT_FLAVOR = "TryNextFlavor"
BORROWING_FIRST = "BorrowingOverPreemption"
PREEMPTION_FIRST = "PreemptionOverBorrowing"
"""Fungibility: when the search for a flavor goes on, and what is preferred."""

STRICT_FIFO = "StrictFIFO"
BEST_EFFORT_FIFO = "BestEffortFIFO"

RUNNING = "None"
HOLD = "Hold"
HOLD_AND_DRAIN = "HoldAndDrain"
"""Stop policies."""

BLOCKING_EFFECTS = frozenset({"NoSchedule", "NoExecute"})
"""Effects of taints that keep pods away."""


class FlavorFungibility(Struct, frozen=True, kw_only=True):
    """When the search for a flavor goes on past one that would do, and what it prefers among those it saw."""

    when_can_borrow: str = MAY_STOP_SEARCH
    when_can_preempt: str = TRY_NEXT_FLAVOR
    preference: str = BORROWING_FIRST


class ResourceGroup(Struct, frozen=True, kw_only=True):
    """Resources that take one flavor together, and the flavors in order of preference."""

    resources: tuple[str, ...]
    flavors: tuple[str, ...]


class ClusterQueue(Struct, frozen=True, kw_only=True):
    """A cluster queue. `checks`: the admission checks that a job waits for which uses the cell."""

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


class Cohort(Struct, frozen=True, kw_only=True):
    """A cohort: its parent, and quota of its own that belongs to no queue."""

    name: str
    parent: str | None = None
    quotas: Mapping[FlavorResource, QuotaLimits] = field(default_factory=dict[FlavorResource, QuotaLimits])


class SchedulerSetup(Struct, frozen=True, kw_only=True):
    """All queues and cohorts at one time; a cohort that only a queue or another cohort names exists too.

    With `workers` (by name) these are a manager's: what holds quota here runs in the queue of the same name on one.
    """

    queues: tuple[ClusterQueue, ...]
    cohorts: tuple[Cohort, ...] = ()
    resource_flavors: Mapping[str, ResourceFlavor] = field(default_factory=dict[str, "ResourceFlavor"])
    workers: Mapping[str, SchedulerSetup] = field(default_factory=dict[str, "SchedulerSetup"])


class ResourceFlavor(Struct, frozen=True, kw_only=True):
    """The nodes of a flavor, as its ResourceFlavor describes them. `tolerations` are given to pods that get it."""

    node_labels: Mapping[str, str] = field(default_factory=dict[str, str])
    node_taints: tuple[Taint, ...] = ()
    tolerations: tuple[Toleration, ...] = ()


class Job(Struct, frozen=True, kw_only=True):
    """What is admitted whole or not at all. `queue` is a cluster queue."""

    name: str
    queue: str
    priority: int
    pod_sets: tuple[PodSet, ...]


SchedulingShape = tuple[object, ...]
"""Jobs of one shape are treated alike in the same queue."""


def scheduling_shape(job: Job) -> SchedulingShape:
    """Return all that the scheduler knows of a job."""
    pod_sets = (
        (
            p.name,
            p.count,
            *sorted(p.requests.items()),
            *sorted(p.node_selector.items()),
            p.affinity_terms,
            p.tolerations,
        )
        for p in job.pod_sets
    )
    return (job.priority, *pod_sets)
