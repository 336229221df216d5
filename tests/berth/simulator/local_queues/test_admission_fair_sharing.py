"""Admission fair sharing: set-ups worked out by hand, and what depends on a time that is not known."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest
from msgspec import Struct
from msgspec.structs import replace

from berth.simulator.fleet import build_simulated_fleet, nameless_warnings, turn_warnings
from berth.simulator.local_usage import DoubtfulTurn, SimulatedClock, UsageLedger
from berth.simulator.scheduler.events import JobEvent, JobEventKind
from berth.simulator.scheduler.model import AdmissionFairSharing, Job, SchedulerSetup
from berth.simulator.scheduler.pending_line import TakingTurns
from berth.simulator.scheduler.simulate import Simulator
from tests.berth.simulator import setups
from tests.berth.simulator.setups import GPU, LOWER_PRIORITY, queue
from tests.small_fleets import fleet_with, plan


class Waiting(Struct):
    """A job in line."""

    shape: int
    priority: int
    arrival_order: int
    local_queue: str


RULES = AdmissionFairSharing(half_life_seconds=3600, sampling_seconds=300)
RATE = 1 - 0.5 ** (300 / 3600)
"""The part of a job's request that it is charged at once."""


def setup(
    quota: int = 2, rules: AdmissionFairSharing = RULES, weights: dict[str, float] | None = None, **rest: Any
) -> SchedulerSetup:
    local = {"a": 1.0, "b": 1.0} if weights is None else weights
    return SchedulerSetup(queues=(queue("q", quota, local_weights=local, **rest),), admission_fair_sharing=rules)


def job(name: str, gpus: int = 2, priority: int = 0) -> Job:
    """A job of the local queue that its name begins with."""
    made = setups.job(name, "q", gpus, priority)
    return replace(made, local_queue=name[0])


def holders(simulator: Simulator) -> list[str]:
    return sorted(name for name, work in simulator.workloads.items() if work.has_quota())


def after(simulator: Simulator, *jobs: Job) -> list[str]:
    """Submit jobs, finish the first, and return the one that comes next."""
    for each in jobs:
        simulator.submit(each)
    simulator.finish(jobs[0].name)
    return holders(simulator)


def test_the_local_queue_that_used_less_comes_first_whatever_came_earlier_or_has_priority() -> None:
    jobs = (job("a1"), job("a2", priority=100), job("b1"))
    assert after(Simulator(setup()), *jobs) == ["b1"]
    assert after(Simulator(setup(weights={"a": 4.0, "b": 1.0})), *jobs) == ["b1"]  # 0 is below any use
    plain = SchedulerSetup(queues=(queue("q", 2),))
    assert after(Simulator(plain), *jobs) == ["a2"]


def test_equal_use_leaves_the_order_to_priority_and_arrival() -> None:
    simulator = Simulator(setup())
    assert after(simulator, job("a1"), job("b1"), job("a2"), job("b2", priority=1)) == ["b2"]
    simulator.finish("b2")  # both have used 2 GPUs by now
    assert holders(simulator) == ["b1"]


def test_use_counts_divided_by_the_weight_and_weight_0_is_last() -> None:
    light = {"a": 1.0, "b": 4.0}
    simulator = Simulator(setup(quota=4, weights=light))
    for each in (job("a1", 1), job("b1", 3), job("a2", 1), job("b2", 1)):
        simulator.submit(each)
    ledger = simulator.queue_states["q"].ledger
    assert ledger is not None
    assert (ledger.usage("a"), ledger.usage("b")) == (pytest.approx(RATE), pytest.approx(3 * RATE / 4))
    simulator.finish("a1")
    assert holders(simulator) == ["b1", "b2"]
    assert after(Simulator(setup(weights={"a": 0.0, "b": 1.0})), job("b1"), job("a1"), job("b2")) == ["b2"]


def test_a_half_life_of_nothing_keeps_no_use() -> None:
    """Kueue 0.19.2 clears the use at each sample, and charges nothing for an admission."""
    rules = AdmissionFairSharing(half_life_seconds=0, sampling_seconds=300)
    assert after(Simulator(setup(rules=rules)), job("a1"), job("a2"), job("b1")) == ["a2"]


def test_use_follows_what_jobs_hold_and_decays_by_half() -> None:
    """Sampled every 300 s: between samples it is what it was, and a sample takes what is held then for all the time."""
    simulator = Simulator(setup(quota=8))
    simulator.moment.has_clock = True
    moment = simulator.moment
    ledger = simulator.queue_states["q"].ledger
    assert ledger is not None
    simulator.submit(job("a1", 8))
    assert ledger.usage("a") == pytest.approx(8 * RATE)
    moment.now = 299.0
    assert ledger.usage("a") == pytest.approx(8 * RATE)
    moment.now = 3600.0
    assert ledger.usage("a") == pytest.approx(8 * RATE * 0.5 + 8 * 0.5)
    simulator.finish("a1")
    moment.now = 3 * 3600.0
    assert ledger.usage("a") == pytest.approx((8 * RATE * 0.5 + 4) / 4)


def test_an_hour_later_the_job_that_is_long_over_counts_less_than_the_one_of_now() -> None:
    """The order of two local queues turns with time alone, where both used as much."""

    def next_after(seconds: float) -> list[str]:
        simulator = Simulator(setup(quota=4))
        simulator.moment.has_clock = True
        for at, each in ((0, job("a1", 4)), (10, job("a2", 2)), (20, job("b1", 2)), (30, job("b2", 1))):
            simulator.moment.now = float(at)
            simulator.submit(each)
        simulator.moment.now = 40.0
        simulator.finish("a1")  # b1 and b2, and then a2 does not fit
        assert holders(simulator) == ["b1", "b2"]
        simulator.submit(job("b3", 2))
        simulator.moment.now = seconds
        simulator.finish("b2")
        return holders(simulator)

    assert next_after(60.0) == ["b1", "b3"]
    assert next_after(8 * 3600.0) == ["a2", "b1"]


def test_a_job_that_waits_for_its_checks_is_charged_and_counts_when_it_is_admitted() -> None:
    checked = queue("q", 4, local_weights={"a": 1.0, "b": 1.0}, admission_checks={("f", GPU): ("dws",)})
    simulator = Simulator(SchedulerSetup(queues=(checked,), admission_fair_sharing=RULES))
    ledger = simulator.queue_states["q"].ledger
    assert ledger is not None
    simulator.submit(job("a1", 4))
    simulator.moment.now = 3600.0
    assert ledger.usage("a") == pytest.approx(4 * RATE)  # no use, and the penalty stays as it is
    simulator.complete_checks("a1")
    simulator.moment.now = 7200.0
    assert ledger.usage("a") == pytest.approx(2 + 2 * RATE)
    earlier = Simulator(SchedulerSetup(queues=(checked,), admission_fair_sharing=replace(RULES, from_reservation=True)))
    earlier.submit(job("a1", 4))
    earlier.moment.now = 3600.0
    ledger = earlier.queue_states["q"].ledger
    assert ledger is not None
    assert ledger.usage("a") == pytest.approx(2 + 2 * RATE)


def test_preemption_takes_jobs_of_the_local_queue_that_used_most() -> None:
    """Whatever their priorities are; between local queues of one name Kueue compares no usage."""

    def preempted(names: dict[str, str]) -> str:
        simulator = Simulator(setup(quota=4, within=LOWER_PRIORITY, weights=dict.fromkeys(names.values(), 1.0)))
        events: list[JobEvent] = []
        for each in (job("a1", 3, priority=5), job("b1", 1), job("c1", 1, priority=10)):
            events = simulator.submit(replace(each, local_queue=names[each.name[0]]))
        return next(each.workload.job.name for each in events if each.kind == JobEventKind.PREEMPTED)

    assert preempted({"a": "x/a", "b": "x/b", "c": "x/c"}) == "a1"
    assert preempted({"a": "x/q", "b": "y/q", "c": "z/q"}) == "b1"


@pytest.mark.parametrize(
    ("jobs", "is_certain"),
    [
        ([job("a1"), job("a2"), job("b1")], True),  # b has used nothing
        ([job("a1", 1), job("b1", 1), job("a2", 1), job("b2", 1)], False),  # a1 is older, by a time that nobody knows
    ],
)
def test_without_a_clock_a_turn_that_depends_on_time_is_told(jobs: list[Job], is_certain: bool) -> None:
    simulator = Simulator(setup())
    for each in jobs:
        simulator.submit(each)
    simulator.finish(jobs[0].name)
    fleet = build_simulated_fleet(plan(fleet_with({})))
    messages = [each.message for each in turn_warnings(fleet, simulator.queue_states)]
    assert bool(messages) is not is_certain
    for message in messages:
        assert "depends on the time between steps; here none passes, and berth simulate has times" in message


@pytest.mark.parametrize("before", [None, RULES])
def test_what_ran_before_a_change_of_the_queue_counts_after_it(before: AdmissionFairSharing | None) -> None:
    """The use of a1 grows from the change on, or began before that of b1: a2 is not certain to come before b2."""
    weights = dict.fromkeys("abc", 1.0)
    after_it = setup(quota=4, weights=weights)
    simulator = Simulator(replace(after_it, admission_fair_sharing=before))
    for each in (job("c1"), job("a1", 1)):
        simulator.submit(each)
    simulator.replace_setup(after_it)
    for each in (job("b1", 1), job("a2"), job("b2")):
        simulator.submit(each)
    simulator.finish("c1")
    ledger = simulator.queue_states["q"].ledger
    assert ledger is not None
    assert holders(simulator) == ["a1", "a2", "b1"]
    assert ledger.doubt == DoubtfulTurn("a", "b")


def test_a_certain_turn_is_the_same_however_much_time_passes() -> None:
    """Many random runs without a clock; those without a doubt end alike with any times between their steps."""
    rng, certain = random.Random(39), 0
    for _ in range(150):
        steps: list[Job | str] = []
        alive: list[str] = []
        for number in range(10):
            if len(alive) > 2 and rng.random() < 0.4:
                steps.append(alive.pop(rng.randrange(len(alive))))
            else:
                made = job(f"{rng.choice('ab')}{number}", rng.choice([1, 2]))
                alive.append(made.name)
                steps.append(made)
        weights = {"a": rng.choice([1.0, 8.0]), "b": 1.0}
        plain = Simulator(setup(weights=weights))
        ends = [_run(plain, steps, lambda: 0.0)]
        if not turn_warnings(build_simulated_fleet(plan(fleet_with({}))), plain.queue_states):
            certain += 1
            for _ in range(5):
                timed = Simulator(setup(weights=weights))
                timed.moment.has_clock = True
                ends.append(_run(timed, steps, lambda: rng.choice([1, 301, 5000, 100_000])))
            assert all(each == ends[0] for each in ends), steps
    assert certain > 15


def _run(simulator: Simulator, steps: list[Job | str], pause: Callable[[], float]) -> list[list[str]]:
    result: list[list[str]] = []
    for step in steps:
        simulator.moment.now += pause()
        if isinstance(step, str):
            simulator.finish(step)
        else:
            simulator.submit(step)
        result.append(holders(simulator))
    return result


def test_a_job_without_a_local_queue_is_told() -> None:
    stack = fleet_with({"kueue": {"admissionFairSharing": {"usageHalfLifeTime": "12h"}}})
    for team in stack["teams"].values():
        for each in team["queues"].values():
            each["admissionScope"] = {"admissionMode": "UsageBasedAdmissionFairSharing"}
            each["localQueueWeights"] = {next(iter(stack["teams"])): 2}
            break
        break
    fleet = build_simulated_fleet(plan(stack))
    rules = fleet.setup.admission_fair_sharing
    assert rules is not None
    assert rules.resource_weights["cpu"] == 1 / 1000  # the simulation counts cpu in milli
    first = next(each for each in fleet.setup.queues if each.local_weights is not None)
    assert set((first.local_weights or {}).values()) == {2.0}
    local = next(iter(first.local_weights or {}))
    known = Job(
        name="x", queue=first.name, priority=0, pod_sets=(), local_queue=fleet.find_local_queue(local, first.name)
    )
    assert nameless_warnings(fleet, [known]) == []
    (warning,) = nameless_warnings(fleet, [replace(known, local_queue="")])
    assert "it is not known which is theirs" in warning.message


def test_lines_of_local_queues_set_aside_a_shape_together() -> None:
    usage = {"a": 1.0, "b": 0.0, "c": 0.0}
    line = TakingTurns[Waiting](usage.__getitem__)
    stubs = [Waiting(1, 0, 0, "a"), Waiting(2, 0, 1, "a"), Waiting(1, 0, 2, "b"), Waiting(3, 0, 3, "b")]
    for stub in stubs:
        line.add(stub)
    assert line.first() is stubs[2]
    assert line.first(stubs[1]) is stubs[2]  # a preferred job comes first only in its own turn
    usage["b"] = 1.0
    assert line.first(stubs[1]) is stubs[1]
    line.set_aside(stubs[2])
    assert (line.first(), line.ready_count) == (stubs[1], 2)
    late = Waiting(1, 9, 9, "c")
    line.add(late)
    assert not line.contains(late)
    line.restore()
    assert line.first() is late
    assert line.ready_count == 5


def test_the_ledger_charges_all_resources_by_their_weights() -> None:
    ledger = UsageLedger(replace(RULES, resource_weights={"cpu": 0.5}), {}, SimulatedClock())
    simulator = Simulator(setup())
    made = replace(job("a1"), pod_sets=(replace(job("a1").pod_sets[0], requests={"cpu": 4, GPU: 1}),))
    simulator.submit(made)
    ledger.reserve(simulator.workloads["a1"], is_admitted=False)
    assert ledger.usage("a") == pytest.approx(3 * RATE)
