"""Queues that rest: whatever a release of quota does not concern is left out, and no decision changes.

Every run is repeated with the two short cuts taken out: every queue is tried again after every release, and every head
goes through the search for flavors and victims.
"""

from __future__ import annotations

import random

import pytest
from msgspec.structs import replace

from berth.jobs.pod_set import PodSet
from berth.plan.kueue import QuotaLimits
from berth.simulator.pending_reasons import PendingReason, find_pending_reason
from berth.simulator.scheduler import cycle, resting, settling
from berth.simulator.scheduler.model import Job, ResourceGroup, SchedulerSetup
from berth.simulator.scheduler.simulate import Simulator
from berth.simulator.scheduler.state import QueueState, SimulatedWorkload
from berth.simulator.scheduler.tree import CohortTree
from tests.berth.simulator.setups import (
    ANY,
    GPU,
    LOWER_OR_NEWER_EQUAL,
    LOWER_PRIORITY,
    NEVER,
    cohort,
    queue,
    quota,
)

COHORTS = (cohort("all", f=quota(2)), cohort("left", "all"), cohort("right", "all"), cohort("deep", "left"))
SIZES = ((1, 0), (1, 0), (2, 5), (5, 10))
Outcome = tuple[list[tuple[str, str, str]], dict[str, PendingReason]]


def random_setup(rng: random.Random) -> SchedulerSetup:
    """Up to ten queues that mostly may rest: one flavor, reclaim from anybody."""
    tree = rng.choice((("all",), ("all",), ("left", "right"), ("deep", "left", "all"), (None,)))
    is_mixed = rng.random() < 0.2
    queues = []
    for index in range(rng.randint(2, 10)):
        limit = rng.choice((None, None, 3, 0))
        quotas = {"f": quota(rng.randint(0, 6), borrow=limit, lend=rng.choice((None, None, None, 0)))}
        if is_mixed and rng.random() < 0.5:
            quotas["g"] = quota(rng.randint(0, 4))
        made = queue(
            f"q{index}",
            quotas,
            rng.choice(tree),
            strict=is_mixed and rng.random() < 0.3,
            within=rng.choice((NEVER, LOWER_PRIORITY, LOWER_PRIORITY, LOWER_OR_NEWER_EQUAL)),
            reclaim=rng.choice((ANY, LOWER_PRIORITY)) if is_mixed else ANY,
            borrow=rng.choice((NEVER, LOWER_PRIORITY)) if is_mixed else NEVER,
        )
        if rng.random() < 0.3:
            group = replace(made.resource_groups[0], resources=(GPU, "cpu"))
            cpus = {(flavor, "cpu"): QuotaLimits(nominal=rng.randint(0, 6)) for flavor in group.flavors}
            made = replace(made, resource_groups=(group,), quotas={**made.quotas, **cpus})
        queues.append(made)
    return SchedulerSetup(queues=tuple(queues), cohorts=COHORTS)


def random_job(rng: random.Random, name: str, setup: SchedulerSetup) -> Job:
    at = rng.choice(setup.queues)
    gpus, priority = rng.choice(SIZES)
    requests = {GPU: gpus}
    if "cpu" in _resources(at.resource_groups) and rng.random() < 0.7:
        requests["cpu"] = rng.randint(0, 2)
    pods = [PodSet(name="main", count=1, requests=requests)]
    if rng.random() < 0.1:
        pods.append(PodSet(name="more", count=2, requests={GPU: 1}, least=1 if rng.random() < 0.5 else None))
    barred = (frozenset({"f"}),) * len(pods) if rng.random() < 0.05 else ()
    return Job(name=name, queue=at.name, priority=priority, pod_sets=tuple(pods), barred=barred)


def _resources(groups: tuple[ResourceGroup, ...]) -> set[str]:
    return {resource for group in groups for resource in group.resources}


def play(seed: int) -> tuple[Outcome, int]:
    """Return what happens in a random run, with why each job waits at its end; and how many cycles ran."""
    rng = random.Random(seed)
    setup = random_setup(rng)
    simulator = Simulator(setup)
    story: list[tuple[str, str, str]] = []
    for number in range(120):
        names = list(simulator.workloads)
        choice = rng.random()
        if choice < 0.55 or not names:
            events = simulator.submit(random_job(rng, f"j{number}", setup))
        elif choice < 0.95:
            events = simulator.finish(rng.choice(names))
        elif choice < 0.97:
            events = simulator.hold(rng.choice(setup.queues).name)
        else:
            events = simulator.resume(rng.choice(setup.queues).name)
        story += [(str(number), event.kind, event.workload.job.name) for event in events]
    reasons = {
        name: find_pending_reason(simulator.trees[work.queue_state.queue.name], work, setup.resource_flavors)
        for name, work in simulator.workloads.items()
        if not work.has_quota()
    }
    return (story, reasons), sum(tree.cycle for tree in simulator.trees.values())


@pytest.mark.parametrize("seeds", [range(start, start + 40) for start in range(0, 200, 40)])
def test_no_decision_changes(seeds: range, monkeypatch: pytest.MonkeyPatch) -> None:
    with_rest = [play(seed) for seed in seeds]

    def wake_all(tree: CohortTree, _: object) -> list[QueueState]:
        return list(tree.queue_states)

    def never(_: SimulatedWorkload) -> bool:
        return False

    monkeypatch.setattr(settling, "find_waking", wake_all)
    monkeypatch.setattr(cycle, "has_lasting_shortage", never)
    without = [play(seed) for seed in seeds]
    for seed, one, other in zip(seeds, with_rest, without, strict=True):
        assert one[0] == other[0], seed
    assert sum(cycles for _, cycles in with_rest) < 0.95 * sum(cycles for _, cycles in without)


def test_of_many_queues_only_those_that_can_get_the_free_quota_wake() -> None:
    """Twenty queues wait for one GPU each; one becomes free, and then two."""
    queues = tuple(queue(f"q{index}", 0, "all", reclaim=ANY) for index in range(20))
    simulator = Simulator(SchedulerSetup(queues=queues, cohorts=(cohort("all", f=quota(3)),)))
    pods = (PodSet(name="main", count=1, requests={GPU: 1}),)
    for number in range(60):
        simulator.submit(Job(name=f"j{number}", queue=f"q{number % 20}", priority=0, pod_sets=pods))
    (tree,) = set(simulator.trees.values())
    assert list(resting.find_waking(tree, {})) == []
    simulator.queue_states["q0"].release_quota(simulator.workloads["j0"])
    assert [each.queue.name for each in resting.find_waking(tree, {})] == ["q3"]
    simulator.queue_states["q1"].release_quota(simulator.workloads["j1"])
    assert [each.queue.name for each in resting.find_waking(tree, {})] == ["q3", "q4"]
