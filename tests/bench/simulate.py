"""Benchmark of `berth simulate`: `make bench`. Prints CPU seconds, memory, evictions and the conservation of work.

The sets are those of Kueue's own performance suite (kueue 0.19.2, `test/performance/scheduler/configs`), a millisecond
as a second: each queue gets its jobs at fixed intervals, and quota is short for most of the time.
"""

from __future__ import annotations

import heapq
import resource
import subprocess
import sys
import time
from collections.abc import Iterator

from msgspec import Struct

from berth.jobs.pod_set import PodSet
from berth.plan.kueue import PreemptionPlan, QuotaLimits
from berth.simulator.scheduler.model import (
    ANY,
    LOWER_PRIORITY,
    ClusterQueue,
    FlavorResource,
    Job,
    ResourceGroup,
    SchedulerSetup,
)
from berth.simulator.story import gc_paused
from berth.simulator.timed.figures import Accountant
from berth.simulator.timed.timed_run import run_trace
from berth.simulator.timed.trace import TimedJob, Timing

CELL: FlavorResource = ("default", "cpu")


class JobClass(Struct, frozen=True):
    """Jobs of one kind in every queue: how many, a new one every `interval`; run time, priority and request of each."""

    count: int
    interval: int
    seconds: int
    priority: int
    request: int


class GeneratedSet(Struct, frozen=True):
    """Cohorts of equal queues with the same jobs."""

    cohorts: int
    queues: int
    jobs: tuple[JobClass, ...]


SETS = {
    "baseline": GeneratedSet(
        5, 6, (JobClass(350, 100, 200, 50, 1), JobClass(100, 500, 500, 100, 5), JobClass(50, 1200, 1000, 200, 20))
    ),
    "one cohort": GeneratedSet(
        1, 100, (JobClass(35, 60, 150, 50, 1), JobClass(11, 300, 350, 100, 5), JobClass(4, 700, 700, 200, 20))
    ),
    "large-scale": GeneratedSet(
        10, 100, (JobClass(35, 60, 150, 50, 1), JobClass(11, 300, 350, 100, 5), JobClass(4, 700, 700, 200, 20))
    ),
}


def queues_of(generated: GeneratedSet) -> SchedulerSetup:
    """Return the queues of a set."""
    return SchedulerSetup(
        queues=tuple(
            ClusterQueue(
                name=f"q{cohort}-{index}",
                cohort=f"c{cohort}",
                is_strict_fifo=False,
                resource_groups=(ResourceGroup(resources=("cpu",), flavors=("default",)),),
                quotas={CELL: QuotaLimits(nominal=20, borrowing_limit=100)},
                preemption=PreemptionPlan(within_cluster_queue=LOWER_PRIORITY, reclaim_within_cohort=ANY),
            )
            for cohort in range(generated.cohorts)
            for index in range(generated.queues)
        )
    )


def jobs_of(generated: GeneratedSet) -> Iterator[TimedJob]:
    """Yield the jobs of a set in the order of submission."""
    streams = (
        [(each.interval * (n + 1), kind, each) for n in range(each.count)] for kind, each in enumerate(generated.jobs)
    )
    for at, kind, each in heapq.merge(*streams, key=lambda row: row[:2]):
        pods = (PodSet(name="main", count=1, requests={"cpu": each.request}),)
        for cohort in range(generated.cohorts):
            for index in range(generated.queues):
                queue = f"q{cohort}-{index}"
                job = Job(name=f"{queue}-{kind}-{at}", queue=queue, priority=each.priority, pod_sets=pods)
                yield TimedJob(job=job, submitted=at, seconds=each.seconds)


def run(name: str) -> str:
    """Run a set, and return its row."""
    generated = SETS[name]
    setup = queues_of(generated)
    jobs = list(jobs_of(generated))
    accountant = Accountant(setup, {CELL})
    began = time.process_time()
    with gc_paused():
        end = run_trace(setup, jobs, Timing(), accountant)
    spent = time.process_time() - began
    figures = accountant.finish(end.time, (live for live, _ in end.unfinished))
    kept = sum(each.kept for each in figures.work.values())
    needed = sum(each.seconds * each.job.pod_sets[0].requests["cpu"] for each in jobs)
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return (
        f"{name:12} {len(setup.queues):>5,} queues {len(jobs):>6,} jobs {spent:7.1f} s CPU {memory:5.0f} MB"
        f" {sum(figures.evictions.values()):>6,} evictions {len(end.unfinished):>3} unfinished, ends at {end.time:,},"
        f" {'work conserved' if kept == needed else f'kept {kept:,} of {needed:,}'}"
    )


def main() -> None:
    """Every set, each in a process of its own; or one of them, when it is named."""
    if len(sys.argv) > 1:
        print(run(sys.argv[1]))
        return
    for name in SETS:
        subprocess.run([sys.executable, "-m", "tests.bench.simulate", name], check=True)


if __name__ == "__main__":
    main()
