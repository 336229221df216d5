"""Jobs that Kueue may start with fewer pods: as many as fit, against a second computation; all again after eviction."""

from __future__ import annotations

import random

from msgspec.structs import replace

from berth.simulator.scheduler.model import Job, SchedulerSetup
from berth.simulator.scheduler.simulate import Simulator
from tests.berth.simulator.setups import LOWER_PRIORITY, job, queue, quota, simulator, standing, submitted, used


def flexible(name: str, gpus: int, pods: int, least: int, priority: int = 0) -> Job:
    made = job(name, "q", gpus, priority, pods)
    return replace(made, pod_sets=tuple(replace(each, least=least) for each in made.pod_sets))


def test_a_job_gets_the_most_pods_that_fit_beside_others() -> None:
    rng = random.Random(34)
    outcomes = set[str]()
    for _ in range(200):
        capacity, taken, gpus, pods = (rng.randint(*each) for each in ((1, 40), (0, 20), (1, 4), (2, 14)))
        least = rng.randint(1, pods - 1)
        sim = simulator(queue("q", capacity))
        if 0 < taken <= capacity:
            sim.submit(job("before", "q", taken))
        free = capacity - (taken if taken <= capacity else 0)
        sim.submit(flexible("a", gpus, pods, least))
        expected = next((count for count in range(pods, least - 1, -1) if count * gpus <= free), None)
        workload = sim.workloads["a"]
        assert workload.has_quota() == (expected is not None)
        if expected is not None:
            assert sum(each.count for each in workload.pod_sets) == expected
            assert used(sim, "q") == expected * gpus + capacity - free
        outcomes.add("none" if expected is None else "all" if expected == pods else "fewer")
    assert outcomes == {"none", "all", "fewer"}


def test_all_pods_on_a_later_flavor_come_before_fewer_on_the_first() -> None:
    sim = simulator(queue("q", {"first": quota(4), "second": quota(8)}))
    assert submitted(sim, flexible("a", 1, 6, 2)) == {"a": "second"}
    assert submitted(sim, flexible("b", 1, 6, 3))["b"] == "first"
    assert sim.workloads["b"].counts == (4,)


def test_an_evicted_job_asks_for_all_its_pods_again() -> None:
    sim = simulator(queue("q", 6, within=LOWER_PRIORITY))
    sim.submit(flexible("a", 1, 8, 2))
    assert sim.workloads["a"].counts == (6,)
    sim.submit(job("urgent", "q", 5, priority=9))
    assert standing(sim) == {"a": "-", "urgent": "f"}
    assert sim.workloads["a"].counts == ()
    sim.finish("urgent")
    assert sim.workloads["a"].counts == (6,)


def test_a_job_that_preempts_starts_with_what_its_victims_leave() -> None:
    sim = simulator(queue("q", 6, within=LOWER_PRIORITY))
    sim.submit(job("low", "q", 4))
    sim.submit(flexible("a", 1, 8, 5, priority=9))
    assert standing(sim) == {"low": "-", "a": "f"}
    assert sim.workloads["a"].counts == (6,)


def test_without_the_feature_gate_a_job_needs_all_its_pods() -> None:
    sim = Simulator(SchedulerSetup(queues=(queue("q", 4),), partial_admission=False))
    assert submitted(sim, flexible("a", 1, 6, 2)) == {"a": "-"}
