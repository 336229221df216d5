"""Random set-ups and steps for the property tests: a tree of cohorts, limits at every level, all preemption rules.

Quotas are small and jobs many, so that queues are full most of the time: with room for all, nothing could go wrong.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from hypothesis import strategies as st

from berth.jobs.pod_set import PodSet
from berth.plan.kueue import PreemptionPlan, QuotaLimits
from berth.simulator.scheduler.model import (
    ANY,
    BORROWING_FIRST,
    LOWER_OR_NEWER_EQUAL,
    LOWER_PRIORITY,
    MAY_STOP_SEARCH,
    NEVER,
    PREEMPTION_FIRST,
    TRY_NEXT_FLAVOR,
    ClusterQueue,
    Cohort,
    FlavorFungibility,
    FlavorResource,
    Job,
    ResourceGroup,
    SchedulerSetup,
)
from berth.simulator.scheduler.simulate import Simulator

FLAVORS: tuple[str, ...] = ("reserved", "spot")
RESOURCES: tuple[str, ...] = ("cpu", "gpu")
COHORTS = {"all": None, "left": "all", "right": "all"}

nominals = st.sampled_from((0, 2, 3, 4, 4, 5, 6))
limits = st.sampled_from((None, None, None, 0, 1, 3))
amounts: st.SearchStrategy[dict[str, int]] = st.one_of(
    st.fixed_dictionaries({"gpu": st.integers(1, 3)}),
    st.fixed_dictionaries({"gpu": st.integers(1, 4)}),
    st.fixed_dictionaries({"gpu": st.integers(0, 2), "cpu": st.integers(0, 3)}),
)


@st.composite
def quotas(draw: st.DrawFn, flavors: tuple[str, ...]) -> dict[FlavorResource, QuotaLimits]:
    """Return a quota of every cell; what is lent is no more than what there is."""
    values: dict[FlavorResource, QuotaLimits] = {}
    for flavor in flavors:
        for resource in RESOURCES:
            nominal = draw(nominals)
            lending = draw(st.sampled_from((None, None, nominal, nominal // 2, 0)))
            values[flavor, resource] = QuotaLimits(nominal=nominal, borrowing_limit=draw(limits), lending_limit=lending)
    return values


@st.composite
def queues(draw: st.DrawFn, name: str, preempts: bool) -> ClusterQueue:
    """Return a queue in the tree, or without a cohort."""
    flavors = tuple(draw(st.permutations(FLAVORS))[: draw(st.integers(1, 2))])
    reclaim = draw(st.sampled_from((NEVER, LOWER_PRIORITY, ANY, ANY))) if preempts else NEVER
    preemption = PreemptionPlan(
        within_cluster_queue=draw(st.sampled_from((NEVER, LOWER_PRIORITY, LOWER_OR_NEWER_EQUAL)))
        if preempts
        else NEVER,
        reclaim_within_cohort=reclaim,
        borrow_within_cohort=NEVER if reclaim == NEVER else draw(st.sampled_from((NEVER, LOWER_PRIORITY))),
        max_priority_threshold=draw(st.none() | st.integers(0, 2)),
    )
    return ClusterQueue(
        name=name,
        cohort=draw(st.sampled_from(("left", "left", "all", "right", None))),
        is_strict_fifo=draw(st.booleans()),
        resource_groups=(ResourceGroup(resources=RESOURCES, flavors=flavors),),
        quotas=draw(quotas(flavors)),
        preemption=preemption,
        fungibility=FlavorFungibility(
            when_can_borrow=draw(st.sampled_from((MAY_STOP_SEARCH, TRY_NEXT_FLAVOR))),
            when_can_preempt=draw(st.sampled_from((MAY_STOP_SEARCH, TRY_NEXT_FLAVOR))),
            preference=draw(st.sampled_from((BORROWING_FIRST, PREEMPTION_FIRST))),
        ),
    )


@st.composite
def setups(draw: st.DrawFn, preempts: bool = True) -> SchedulerSetup:
    """Up to four queues, and cohorts with some quota of their own."""
    values = tuple(draw(queues(f"q{index}", preempts)) for index in range(draw(st.sampled_from((2, 3, 4, 1)))))
    cohorts = tuple(
        Cohort(name=name, parent=parent, quotas=draw(quotas(FLAVORS)) if draw(st.booleans()) else {})
        for name, parent in COHORTS.items()
    )
    return SchedulerSetup(queues=values, cohorts=cohorts)


Step = tuple[str, object]
"""submit a Job, or finish, hold, drain or resume by the index of a job or queue."""


@st.composite
def jobs(draw: st.DrawFn, name: str, setup: SchedulerSetup) -> Job:
    """Return a job of one or two pod sets for one of the queues."""
    sets = tuple(
        PodSet(name=f"p{index}", count=draw(st.sampled_from((1, 1, 2))), requests=draw(amounts))
        for index in range(draw(st.sampled_from((1, 1, 1, 2))))
    )
    queue = draw(st.sampled_from([queue.name for queue in setup.queues]))
    return Job(name=name, queue=queue, priority=draw(st.sampled_from((0, 0, 1, 2))), pod_sets=sets)


@st.composite
def steps(draw: st.DrawFn, setup: SchedulerSetup, kinds: tuple[str, ...]) -> list[Step]:
    """Up to twenty-four steps, most of them arrivals."""
    values: list[Step] = []
    for number in range(draw(st.sampled_from((24, 16, 8, 2)))):
        kind = draw(st.sampled_from(("submit", "submit", "submit", *kinds)))
        values.append((kind, draw(jobs(f"j{number}", setup)) if kind == "submit" else draw(st.integers(0, 9))))
    return values


@dataclass(frozen=True, slots=True)
class Run:
    """A set-up and what happens to it."""

    setup: SchedulerSetup
    steps: list[Step]


@st.composite
def runs(draw: st.DrawFn, preempts: bool = True, kinds: tuple[str, ...] = ("submit", "finish")) -> Run:
    """Return a whole run."""
    setup = draw(setups(preempts))
    return Run(setup, draw(steps(setup, kinds)))


def play(run: Run, simulator: Simulator, after: Callable[[Simulator], None]) -> None:
    """Take every step, and look at what is so after it."""
    for kind, what in run.steps:
        if isinstance(what, Job):
            simulator.submit(what)
        elif isinstance(what, int):
            _act(simulator, kind, what)
        after(simulator)


def _act(simulator: Simulator, kind: str, index: int) -> None:
    names = list(simulator.workloads)
    queues = list(simulator.queue_states)
    if kind == "finish" and names:
        simulator.finish(names[index % len(names)])
    elif kind == "hold":
        simulator.hold(queues[index % len(queues)])
    elif kind == "drain":
        simulator.hold(queues[index % len(queues)], drain=True)
    elif kind == "resume":
        simulator.resume(queues[index % len(queues)])
