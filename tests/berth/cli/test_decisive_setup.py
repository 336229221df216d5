"""`decisive_setup` of the bench calls two setups equal by argument: here random jobs look for a difference.

Setups of two to four queues in one or two levels of cohorts, with one value changed. Where what decides is called
equal, random workloads must be decided alike; if an argument is broken, the same workloads find a difference.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator

import pytest
from msgspec import structs

from berth.plan.kueue import PreemptionPlan, QuotaLimits
from berth.simulator.scheduler.model import ClusterQueue, Cohort, FlavorFungibility, Job, SchedulerSetup
from berth.simulator.scheduler.simulate import Simulator
from tests.bench import assertion_mutations as bench
from tests.bench.assertion_mutations import decisive
from tests.berth.simulator.setups import (
    ANY,
    LOWER_OR_NEWER_EQUAL,
    LOWER_PRIORITY,
    MAY_STOP_SEARCH,
    NEVER,
    TRY_NEXT_FLAVOR,
    cohort,
    job,
    queue,
    quota,
    standing,
)

_POLICIES = {
    "within_cluster_queue": (NEVER, LOWER_PRIORITY, LOWER_OR_NEWER_EQUAL),
    "reclaim_within_cohort": (NEVER, LOWER_PRIORITY, ANY),
    "borrow_within_cohort": (None, LOWER_PRIORITY),
}
_RULES = dict.fromkeys(("when_can_borrow", "when_can_preempt"), (MAY_STOP_SEARCH, TRY_NEXT_FLAVOR))
_LIMITS = (None, 0, 1, 2, 3, 4, 5, 6)
Step = Job | str
"""A job that is submitted, or the name of one that finishes."""


def _limits(rng: random.Random) -> QuotaLimits:
    nominal = rng.choice((0, 1, 2, 2, 3, 4))
    return quota(nominal, rng.choice((None, 0, 1, 2, 3, 5)), rng.choice((None, None, *range(nominal + 1))))


def _setup(rng: random.Random) -> SchedulerSetup:
    flavors, is_deep = ("f", "g")[: rng.choice((1, 1, 2))], rng.random() < 0.5
    root = {flavor: quota(rng.choice((0, 1, 3))) for flavor in flavors if rng.random() < 0.5}
    cohorts = [cohort("top", None, **root)]
    for name in ("left", "right") if is_deep else ():
        cohorts.append(cohort(name, "top", **{flavor: _limits(rng) for flavor in flavors if rng.random() < 0.6}))
    queues = [
        queue(
            f"q{number}",
            {flavor: _limits(rng) for flavor in rng.sample(flavors, len(flavors))},
            rng.choice(cohorts).name,
            strict=rng.random() < 0.3,
            within=rng.choice(_POLICIES["within_cluster_queue"]) or NEVER,
            reclaim=rng.choice(_POLICIES["reclaim_within_cohort"]) or NEVER,
            borrow=rng.choice((NEVER, NEVER, LOWER_PRIORITY)),
            when_borrow=rng.choice(_RULES["when_can_borrow"]),
            when_preempt=rng.choice(_RULES["when_can_preempt"]),
        )
        for number in range(rng.randint(2, 4))
    ]
    return SchedulerSetup(queues=tuple(queues), cohorts=tuple(cohorts), resource_flavors={})


def _changed(rng: random.Random, setup: SchedulerSetup) -> SchedulerSetup:
    """Return the setup with another limit of a queue or cohort, or another policy or rule of a queue."""
    key = rng.choice(("queues", "queues", "cohorts"))
    members: list[ClusterQueue | Cohort] = list(setup.queues if key == "queues" else setup.cohorts)
    index = rng.randrange(len(members))
    member = members[index]
    if member.quotas and (isinstance(member, Cohort) or rng.random() < 0.7):
        cell, field = rng.choice(list(member.quotas)), rng.choice(("borrowing_limit", "lending_limit"))
        limits = structs.replace(member.quotas[cell], **{field: rng.choice(_LIMITS)})
        members[index] = structs.replace(member, quotas={**member.quotas, cell: limits})
    elif isinstance(member, ClusterQueue):
        field = rng.choice([*_POLICIES, *_RULES])
        if field in _RULES:
            rules = structs.replace(member.fungibility, **{field: rng.choice(_RULES[field])})
            members[index] = structs.replace(member, fungibility=rules)
        else:
            policies = structs.replace(member.preemption, **{field: rng.choice(_POLICIES[field])})
            members[index] = structs.replace(member, preemption=policies)
    return structs.replace(setup, **{key: tuple(members)})


def _workload(rng: random.Random, setup: SchedulerSetup) -> list[Step]:
    steps, running = list[Step](), list[str]()
    for number in range(14):
        if running and rng.random() < 0.3:
            steps.append(running.pop(rng.randrange(len(running))))
        else:
            running.append(f"j{number}")
            home, gpus = rng.choice(setup.queues).name, rng.choice((1, 1, 1, 2, 2, 3, 4, 5))
            steps.append(job(running[-1], home, gpus, rng.choice((0, 0, 5))))
    return steps


def _follow(setup: SchedulerSetup, steps: list[Step]) -> Iterator[object]:
    """Yield what each step does, and where all jobs stand then."""
    simulator = Simulator(setup)
    for step in steps:
        events = simulator.finish(step) if isinstance(step, str) else simulator.submit(step)
        yield [(each.kind, each.workload.job.name, each.preemptor and each.preemptor.job.name) for each in events]
        yield standing(simulator)


def _find_difference(
    what_decides: Callable[[SchedulerSetup], SchedulerSetup], seed: int, pairs: int
) -> tuple[SchedulerSetup, SchedulerSetup, list[Step]] | None:
    """Return two setups that are called equal and a workload that they decide differently, if there is one."""
    rng, found = random.Random(seed), 0
    while found < pairs:
        setup = _setup(rng)
        for other in (_changed(rng, setup) for _ in range(6)):
            if other == setup or what_decides(other) != what_decides(setup):
                continue
            found += 1
            for steps in (_workload(rng, setup) for _ in range(6)):
                if any(one != two for one, two in zip(_follow(setup, steps), _follow(other, steps), strict=True)):
                    return setup, other, steps
    return None


def test_setups_that_are_called_equal_decide_alike() -> None:
    assert _find_difference(decisive, seed=39, pairs=100) is None


def _limits_without(field: str) -> Callable[[SchedulerSetup], SchedulerSetup]:
    """Return an argument that takes a limit to be without effect."""

    def without(member: ClusterQueue | Cohort) -> dict[tuple[str, str], QuotaLimits]:
        return {cell: structs.replace(limits, **{field: None}) for cell, limits in member.quotas.items()}

    return lambda setup: structs.replace(
        decisive(setup),
        queues=tuple(structs.replace(each, quotas=without(each)) for each in decisive(setup).queues),
        cohorts=tuple(structs.replace(each, quotas=without(each)) for each in decisive(setup).cohorts),
    )


def _queues_without(**fields: object) -> Callable[[SchedulerSetup], SchedulerSetup]:
    return lambda setup: structs.replace(
        decisive(setup), queues=tuple(structs.replace(each, **fields) for each in decisive(setup).queues)
    )


@pytest.mark.parametrize(
    "broken",
    [
        pytest.param(_limits_without("borrowing_limit"), id="borrowing limits"),
        pytest.param(_limits_without("lending_limit"), id="lending limits"),
        pytest.param(_queues_without(preemption=PreemptionPlan()), id="preemption"),
        pytest.param(_queues_without(fungibility=FlavorFungibility()), id="the order of flavors"),
    ],
)
def test_a_wrong_argument_is_found(broken: Callable[[SchedulerSetup], SchedulerSetup]) -> None:
    assert _find_difference(broken, seed=39, pairs=400) is not None


@pytest.mark.parametrize("name", ["_most", "_most_below"])
def test_a_limit_that_is_called_out_of_reach_too_soon_is_found(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of trees of several levels: as if one GPU less could be used."""
    found = getattr(bench, name)
    monkeypatch.setattr(bench, name, lambda state: max(0, found(state) - 1))
    assert _find_difference(decisive, seed=39, pairs=400) is not None
