"""What a simulation is about: cluster queues, cohorts, quotas and jobs, as plain frozen values.

Amounts are whole numbers in one unit per resource: accelerators as counts, cpu in milli, memory in bytes for a fleet;
whatever the file says for recorded cases. The rules that act on these values are Kueue's (v0.19 and the main branch
that became 0.20), read from its source; fair sharing and topology-aware scheduling are not modelled.
"""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct, field

from berth.jobs.pod_set import PodSet, Toleration

Cell = tuple[str, str]
"""Flavor and resource: what a quota is of."""

NEVER = "Never"
LOWER_PRIORITY = "LowerPriority"
LOWER_OR_NEWER = "LowerOrNewerEqualPriority"
ANY = "Any"
"""Preemption policies: whom a rule lets a job push out."""

STOP_SEARCH = "MayStopSearch"
TRY_NEXT = "TryNextFlavor"
BORROW_FIRST = "BorrowingOverPreemption"
PUSH_FIRST = "PreemptionOverBorrowing"
"""Fungibility: when the search for a flavor goes on, and what is preferred."""

STRICT_FIFO = "StrictFIFO"
BEST_EFFORT_FIFO = "BestEffortFIFO"

RUNNING = "None"
HOLD = "Hold"
HOLD_AND_DRAIN = "HoldAndDrain"
"""Stop policies."""

CHECKED = frozenset({"NoSchedule", "NoExecute"})
"""Effects of taints that keep pods away."""


class Quota(Struct, frozen=True, kw_only=True):
    """Quota of one flavor and resource in a queue or cohort; None as a limit means no limit."""

    nominal: int
    borrowing_limit: int | None = None
    lending_limit: int | None = None


class Preemption(Struct, frozen=True, kw_only=True):
    """Whom a queue's jobs may push out, in Kueue's own values; `threshold` is `maxPriorityThreshold`."""

    within_queue: str = NEVER
    reclaim: str = NEVER
    borrow: str = NEVER
    threshold: int | None = None


class Fungibility(Struct, frozen=True, kw_only=True):
    """When the search for a flavor goes on past one that would do, and what it prefers among those it saw."""

    borrow: str = STOP_SEARCH
    preempt: str = TRY_NEXT
    prefer: str = BORROW_FIRST


class Group(Struct, frozen=True, kw_only=True):
    """Resources that take one flavor together, and the flavors in order of preference."""

    resources: tuple[str, ...]
    flavors: tuple[str, ...]


class Queue(Struct, frozen=True, kw_only=True):
    """A cluster queue. `checks`: the admission checks that a job waits for which uses the cell."""

    name: str
    cohort: str | None
    strict: bool
    groups: tuple[Group, ...]
    quotas: Mapping[Cell, Quota]
    preemption: Preemption = Preemption()
    fungibility: Fungibility = Fungibility()
    stop: str = RUNNING
    checks: Mapping[Cell, tuple[str, ...]] = field(default_factory=dict[Cell, tuple[str, ...]])


class Cohort(Struct, frozen=True, kw_only=True):
    """A cohort: its parent, and quota of its own that belongs to no queue."""

    name: str
    parent: str | None = None
    quotas: Mapping[Cell, Quota] = field(default_factory=dict[Cell, Quota])


class Setup(Struct, frozen=True, kw_only=True):
    """All queues and cohorts at one time; a cohort that only a queue or another cohort names exists too.

    With `workers` (by name) these are a manager's: what holds quota here runs in the queue of the same name on one.
    """

    queues: tuple[Queue, ...]
    cohorts: tuple[Cohort, ...] = ()
    nodes: Mapping[str, Nodes] = field(default_factory=dict[str, "Nodes"])
    workers: Mapping[str, Setup] = field(default_factory=dict[str, "Setup"])


class Taint(Struct, frozen=True):
    """A taint of a flavor's nodes."""

    key: str
    value: str
    effect: str


class Nodes(Struct, frozen=True, kw_only=True):
    """The nodes of a flavor, as its ResourceFlavor describes them. `tolerations` are given to pods that get it."""

    labels: Mapping[str, str] = field(default_factory=dict[str, str])
    taints: tuple[Taint, ...] = ()
    tolerations: tuple[Toleration, ...] = ()


class Job(Struct, frozen=True, kw_only=True):
    """What is admitted whole or not at all. `queue` is a cluster queue."""

    name: str
    queue: str
    priority: int
    pod_sets: tuple[PodSet, ...]
