"""Small set-ups and jobs for the tests of the admission model, written in one line each."""

from __future__ import annotations

from typing import Any

from berth.jobs.pod_set import PodSet
from berth.plan.kueue import PreemptionPlan, QuotaLimits
from berth.simulator.scheduler.model import (
    ANY,
    HOLD,
    LOWER_OR_NEWER_EQUAL,
    LOWER_PRIORITY,
    MAY_STOP_SEARCH,
    NEVER,
    TRY_NEXT_FLAVOR,
    ClusterQueue,
    Cohort,
    FlavorFungibility,
    FlavorResource,
    Job,
    ResourceFlavor,
    ResourceGroup,
    SchedulerSetup,
)
from berth.simulator.scheduler.simulate import Simulator

GPU = "gpu"

__all__ = ["ANY", "HOLD", "LOWER_OR_NEWER_EQUAL", "LOWER_PRIORITY", "MAY_STOP_SEARCH", "NEVER", "TRY_NEXT_FLAVOR"]


def quota(nominal: int, borrow: int | None = None, lend: int | None = None) -> QuotaLimits:
    """Return a quota; no limit where none is given."""
    return QuotaLimits(nominal=nominal, borrowing_limit=borrow, lending_limit=lend)


def queue(
    name: str,
    quotas: dict[str, QuotaLimits] | int,
    cohort: str | None = None,
    *,
    strict: bool = False,
    within: str = NEVER,
    reclaim: str = NEVER,
    borrow: str = NEVER,
    threshold: int | None = None,
    when_borrow: str = MAY_STOP_SEARCH,
    when_preempt: str = TRY_NEXT_FLAVOR,
    **rest: Any,
) -> ClusterQueue:
    """Return a queue with quotas of GPUs: flavor → quota in the order of preference, or one flavor `f` with so many."""
    by_flavor = {"f": quota(quotas)} if isinstance(quotas, int) else quotas
    return ClusterQueue(
        name=name,
        cohort=cohort,
        is_strict_fifo=strict,
        resource_groups=(ResourceGroup(resources=(GPU,), flavors=tuple(by_flavor)),),
        quotas={(flavor, GPU): of for flavor, of in by_flavor.items()},
        preemption=PreemptionPlan(
            within_cluster_queue=within,
            reclaim_within_cohort=reclaim,
            borrow_within_cohort=borrow,
            max_priority_threshold=threshold,
        ),
        fungibility=FlavorFungibility(when_can_borrow=when_borrow, when_can_preempt=when_preempt),
        **rest,
    )


def cohort(name: str, parent: str | None = None, **quotas: QuotaLimits) -> Cohort:
    """Return a cohort, with quotas of GPUs of its own by flavor."""
    return Cohort(name=name, parent=parent, quotas={(flavor, GPU): of for flavor, of in quotas.items()})


def job(name: str, queue: str, gpus: int, priority: int = 0, pods: int = 1) -> Job:
    """Return a job of `pods` pods that ask for `gpus` each."""
    return Job(
        name=name, queue=queue, priority=priority, pod_sets=(PodSet(name="main", count=pods, requests={GPU: gpus}),)
    )


def simulator(
    *queues: ClusterQueue,
    cohorts: tuple[Cohort, ...] = (),
    nodes: dict[str, ResourceFlavor] | None = None,
    fair: tuple[str, ...] | None = None,
) -> Simulator:
    """Return a simulator of some queues."""
    return Simulator(SchedulerSetup(queues=queues, cohorts=cohorts, resource_flavors=nodes or {}, fair_strategies=fair))


def submitted(simulator: Simulator, *jobs: Job) -> dict[str, str]:
    """Submit jobs one after the other; where all stand then."""
    for each in jobs:
        simulator.submit(each)
    return standing(simulator)


def standing(simulator: Simulator) -> dict[str, str]:
    """Job → the flavor it holds, or `-`."""
    return {
        name: "+".join(dict.fromkeys(f for chosen in work.flavors for f in chosen.values()))
        if work.has_quota()
        else "-"
        for name, work in simulator.workloads.items()
    }


def used(simulator: Simulator, name: str, flavor: str = "f") -> int:
    """What a queue uses of a flavor."""
    cell: FlavorResource = (flavor, GPU)
    return simulator.queue_states[name].node.quota_state(cell).usage
