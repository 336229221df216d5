"""Which queue can preempt which, as tables for the stacks and as rules for any fleet."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from berth.plan.fleet import FleetPlan
from berth.plan.kueue import ClusterQueuePlan, QuotaPlan
from berth.planner.queueing.preemption import preemption_rules
from tests.small_fleets import TRAIN, fleet_with, plan, run_planner
from tests.stack_files import every_stack
from tests.stack_files import plan as plan_of

OWN = "lower-priority jobs in the same queue"
ANY = "borrowers"
LOWER = "lower-priority borrowers"

Row = tuple[str, str, str, tuple[str, ...]]


def rows(fleet: FleetPlan) -> set[Row]:
    """Return queue, rule, preempted queues, and flavors."""
    return {(p.queue, p.rule, p.whom, p.flavors) for p in preemption_rules(fleet)}


def test_the_table_of_dev() -> None:
    """By default a queue reclaims its guarantee from every borrower."""
    queues = ("language-batch", "language-train", "speech-serve", "speech-train", "vision-train", "vision-urgent")
    reclaim = "reclaimWithinCohort"
    assert rows(plan_of("dev")) == {
        *((queue, "withinClusterQueue", OWN, ()) for queue in queues),
        ("language-train", reclaim, ANY, ("v5e",)),
        ("speech-train", reclaim, ANY, ("v5e",)),
        ("vision-train", reclaim, ANY, ("v5e",)),
        ("speech-serve", reclaim, ANY, ("l4-on-demand",)),
        ("vision-urgent", reclaim, ANY, ("l4-on-demand",)),
    }


def test_the_table_of_the_batch_platform() -> None:
    """systems.md, E.4: hp takes back from lp on reserved and from hp on on-demand; lp pushes out nobody; E.3: compact
    preemption never acts across queues, as nobody borrows that flavor."""
    expected: set[Row] = set()
    for name in "abcd":
        expected |= {
            (f"cq-team-{name}-hp", "withinClusterQueue", OWN, ()),
            (f"cq-team-{name}-compact", "withinClusterQueue", OWN, ()),
            (f"cq-team-{name}-hp", "reclaimWithinCohort", LOWER, ("gpu-l4-reserved", "gpu-l4-ondemand")),
        }
    assert rows(plan_of("batch-platform")) == expected


@pytest.mark.parametrize("stack", ["multislice", "multislice-autopilot"])
def test_a_queue_without_a_cohort_preempts_only_its_own_jobs(stack: str) -> None:
    """systems.md, A.2: reclaimWithinCohort has no effect without a cohort."""
    assert rows(plan_of(stack)) == {("cluster-queue", "withinClusterQueue", OWN, ())}


# --- rules ------------------------------------------------------------------------------------------------------------

BORROWS = {"teams.speech.queues.train.flavors.0.borrow": "1 slice"}


def of_vision_train(change: dict[str, Any]) -> dict[str, tuple[str, tuple[str, ...]]]:
    """Rule → preempted queues and flavors, of the queue vision-train."""
    return {
        p.rule: (p.whom, p.flavors) for p in preemption_rules(plan(fleet_with(change))) if p.queue == "vision-train"
    }


def test_no_job_is_preempted_without_borrowing() -> None:
    """Each queue of the small fleet uses its own and no more."""
    assert of_vision_train({}) == {"withinClusterQueue": (OWN, ())}


def test_a_lending_queue_reclaims_from_any_priority() -> None:
    assert of_vision_train(BORROWS)["reclaimWithinCohort"] == (ANY, ("v5e",))


def test_without_reclaim_borrowed_quota_is_kept() -> None:
    never = {f"{TRAIN}.preemption": {"reclaimWithinCohort": "Never", "withinClusterQueue": "Never"}}
    assert of_vision_train({**BORROWS, **never}) == {}


def test_newer_jobs_of_equal_priority_can_be_preempted() -> None:
    written = {f"{TRAIN}.preemption": {"withinClusterQueue": "LowerOrNewerEqualPriority"}}
    whom = of_vision_train(written)["withinClusterQueue"][0]
    assert whom == "jobs in the same queue with a lower priority, or newer ones with the same priority"


@pytest.mark.parametrize(("threshold", "words"), [(None, ""), (10, " with priority 10 or less")])
def test_a_borrowing_job_can_preempt(threshold: int | None, words: str) -> None:
    rule = {"policy": "LowerPriority", **({} if threshold is None else {"maxPriorityThreshold": threshold})}
    written = {f"{TRAIN}.flavors.0.borrow": "1 slice", f"{TRAIN}.preemption": {"borrowWithinCohort": rule}}
    result = of_vision_train(written)["borrowWithinCohort"]
    assert result == (f"lower-priority jobs{words} in the same cohort to borrow quota", ("v5e",))


# --- any fleet --------------------------------------------------------------------------------------------------------


def chips(queue: ClusterQueuePlan) -> Iterator[tuple[str, QuotaPlan]]:
    """Flavor and accelerator quota: the last covered resource of its own kind."""
    for entry in queue.flavors:
        yield from ((entry.flavor, q) for q in entry.quotas if "/" in q.resource)


def reclaimers(fleet: FleetPlan) -> set[tuple[str, str]]:
    """Queue and flavor for each guarantee that another queue can hold, tried pair by pair."""
    return {
        (owner.name, flavor)
        for owner in fleet.cluster_queues
        for other in fleet.cluster_queues
        if owner.name != other.name and owner.cohort is not None and owner.cohort == other.cohort
        if owner.preemption.reclaim_within_cohort != "Never"
        for flavor, own in chips(owner)
        for name, theirs in chips(other)
        if name == flavor and theirs.borrowing_limit != 0
        if own.nominal and own.lending_limit != 0
    }


@st.composite
def fleets(draw: st.DrawFn) -> dict[str, Any]:
    """Two to four queues on the L4 of the small fleet."""
    flavors = st.fixed_dictionaries(
        {"pool": st.just("l4"), "guaranteed": st.integers(0, 2)},
        optional={"borrow": st.sampled_from([0, 1, "unlimited"]), "lend": st.just(0)},
    )
    rules = st.fixed_dictionaries(
        {}, optional={"reclaimWithinCohort": st.sampled_from(["Never", "LowerPriority", "Any"])}
    )
    teams = {
        f"t{n}": {"cohort": draw(st.sampled_from(["research", "labs"])),
                  "queues": {"q": {"flavors": [draw(flavors)], "preemption": draw(rules)}}}
        for n in range(draw(st.integers(2, 4)))
    }  # fmt: skip
    return fleet_with({"teams": teams, "cohorts.labs": {}})


@settings(deadline=None, max_examples=50)
@given(fleets())
def test_a_queue_reclaims_exactly_if_others_can_borrow_its_guarantee(fleet: dict[str, Any]) -> None:
    fleet_plan = run_planner(fleet).plan
    values = {
        (p.queue, flavor)
        for p in preemption_rules(fleet_plan)
        if p.rule == "reclaimWithinCohort"
        for flavor in p.flavors
    }
    assert values == reclaimers(fleet_plan)


@every_stack
def test_there_are_at_most_three_relations_a_queue(stack: str) -> None:
    """They grow with the queues and not with their pairs: a thousand queues can still be read."""
    result = plan_of(stack)
    assert len(preemption_rules(result)) <= 3 * len(result.cluster_queues)
