"""Benchmark of the admission model: `make bench`. Prints CPU seconds, memory and milliseconds a job; asserts nothing.

A fleet is cohorts of five queues with one to three flavors and all kinds of preemption rules. Jobs of 48 shapes arrive
one by one. Either all stay, so that the state is as full as it can be; or each ends after a while, so that the fleet is
about full and others wait most of the time. Then 300 more are put to the state that is there.
"""

from __future__ import annotations

import heapq
import json
import pathlib
import random
import resource
import subprocess
import sys
import time

from berth.jobs.pod_set import PodSet
from berth.plan.kueue import PreemptionPlan, QuotaLimits
from berth.simulator.scheduler.model import (
    ANY,
    LOWER_OR_NEWER_EQUAL,
    LOWER_PRIORITY,
    MAY_STOP_SEARCH,
    TRY_NEXT_FLAVOR,
    ClusterQueue,
    FlavorFungibility,
    FlavorResource,
    Job,
    ResourceGroup,
    SchedulerSetup,
)
from berth.simulator.scheduler.simulate import Simulator
from berth.simulator.story import gc_paused

ROOT = pathlib.Path(__file__).parents[2]
SIZES = ((40, 8, 2_000), (200, 40, 10_000), (1_000, 200, 50_000))
"""Queues, cohorts, jobs."""
GI = 2**30
RULES = (
    PreemptionPlan(),
    PreemptionPlan(within_cluster_queue=LOWER_PRIORITY),
    PreemptionPlan(within_cluster_queue=LOWER_PRIORITY, reclaim_within_cohort=ANY),
    PreemptionPlan(
        within_cluster_queue=LOWER_OR_NEWER_EQUAL,
        reclaim_within_cohort=LOWER_PRIORITY,
        borrow_within_cohort=LOWER_PRIORITY,
        max_priority_threshold=10,
    ),
)
ONE_MORE = 300
"""Jobs that are put to a full state, one after the other."""


def fleet(queues: int, cohorts: int, rng: random.Random) -> SchedulerSetup:
    """Queues by turns in the cohorts."""
    return SchedulerSetup(queues=tuple(_queue(index, index * cohorts // queues, rng) for index in range(queues)))


def _queue(index: int, cohort: int, rng: random.Random) -> ClusterQueue:
    flavors = ("reserved", "on-demand", "spot")[: rng.randint(1, 3)]
    quotas: dict[FlavorResource, QuotaLimits] = {}
    for flavor in flavors:
        limit = rng.choice((None, 0, 32))
        quotas[flavor, "nvidia.com/gpu"] = QuotaLimits(nominal=rng.choice((16, 32, 64)), borrowing_limit=limit)
        quotas[flavor, "cpu"] = QuotaLimits(nominal=64_000)
        quotas[flavor, "memory"] = QuotaLimits(nominal=1024 * GI)
    return ClusterQueue(
        name=f"q{index}",
        cohort=f"c{cohort}",
        is_strict_fifo=rng.random() < 0.3,
        resource_groups=(ResourceGroup(resources=("cpu", "memory", "nvidia.com/gpu"), flavors=flavors),),
        quotas=quotas,
        preemption=rng.choice(RULES),
        fungibility=FlavorFungibility(when_can_borrow=rng.choice((MAY_STOP_SEARCH, TRY_NEXT_FLAVOR))),
    )


def arrival(number: int, queues: int, rng: random.Random) -> Job:
    """A job of one to four pods of one to eight GPUs."""
    gpus = rng.choice((1, 2, 4, 8))
    requests = {"cpu": 1000 * gpus, "memory": 8 * gpus * GI, "nvidia.com/gpu": gpus}
    pods = PodSet(name="main", count=rng.choice((1, 1, 2, 4)), requests=requests)
    name, queue = f"j{number}", f"q{rng.randrange(queues)}"
    return Job(name=name, queue=queue, priority=rng.choice((0, 0, 10, 100)), pod_sets=(pods,))


def run(queues: int, cohorts: int, jobs: int, stay: bool) -> tuple[str, float]:
    """One benchmark: a line of the table, and ms a step; as in `berth admit`, without Python's cycle collector."""
    with gc_paused():
        return _run(queues, cohorts, jobs, stay)


def _run(queues: int, cohorts: int, jobs: int, stay: bool) -> tuple[str, float]:
    rng = random.Random(1)
    simulator = Simulator(fleet(queues, cohorts, rng))
    began, steps, ends = time.process_time(), 0, list[tuple[int, str]]()
    for number in range(jobs):
        while ends and ends[0][0] <= number:
            simulator.finish(heapq.heappop(ends)[1])
            steps += 1
        simulator.submit(arrival(number, queues, rng))
        steps += 1
        if not stay:
            heapq.heappush(ends, (number + rng.randint(2 * queues, 8 * queues), f"j{number}"))
    spent = time.process_time() - began
    held = sum(work.has_quota() for work in simulator.workloads.values())
    lost = sum(work.eviction_count for work in simulator.workloads.values())
    what = f"{queues:>5,} queues {cohorts:>4} cohorts {jobs:>7,} jobs {'stay' if stay else 'end ':>4}"
    state = f"{held:>6,} of {len(simulator.workloads):>6,} hold, {lost:>6,} preempted"
    each = 1000 * spent / steps
    more = _more(simulator, queues, jobs, rng)
    return f"{what} {spent:7.2f} s CPU {_memory():5.0f} MB   {more}   {state}   {each:5.2f} ms a step", each


def _more(simulator: Simulator, queues: int, jobs: int, rng: random.Random) -> str:
    """How long one new job takes on the state that is there."""
    taken: list[float] = []
    for number in range(jobs, jobs + ONE_MORE):
        job = arrival(number, queues, rng)
        began = time.process_time()
        simulator.submit(job)
        taken.append(1000 * (time.process_time() - began))
    taken.sort()
    return f"one more: {taken[len(taken) // 2]:.2f} ms, slowest {taken[-1]:.1f} ms"


def _memory() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main() -> None:
    """Every size, each in a process of its own, with its growth; or one of them, when it is named."""
    if len(sys.argv) > 1:
        queues, cohorts, jobs = map(int, sys.argv[1:4])
        print(json.dumps(run(queues, cohorts, jobs, stay=sys.argv[4] == "stay")))
        return
    for mode in ("end", "stay"):
        before = 0.0
        for size in SIZES:
            command = [sys.executable, "-m", "tests.bench.admission", *map(str, size), mode]
            done = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True)
            line, each = json.loads(done.stdout)
            print(line + (f" ({each / before:.2f} × the line above)" if before else ""), flush=True)
            before = each


if __name__ == "__main__":
    main()
