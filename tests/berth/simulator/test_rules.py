"""Kueue's rules, one by one, on the smallest setups that show them."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
from msgspec.structs import replace

from berth.jobs.pod_set import PodSet
from berth.nodes.model import HOSTNAME
from berth.plan.node_settings import Taint, Toleration
from berth.simulator.recorded_format import build_nodes
from berth.simulator.scheduler.cycle import CycleResult
from berth.simulator.scheduler.events import JobEvent
from berth.simulator.scheduler.model import (
    ClusterQueue,
    Job,
    ResourceFlavor,
    ResourceGroup,
    SchedulerSetup,
)
from berth.simulator.scheduler.simulate import Simulator
from berth.simulator.scheduler.tree import CohortTree
from tests.berth.simulator.setups import (
    ANY,
    GPU,
    HOLD,
    LOWER_OR_NEWER_EQUAL,
    LOWER_PRIORITY,
    MAY_STOP_SEARCH,
    TRY_NEXT_FLAVOR,
    cohort,
    job,
    queue,
    quota,
    simulator,
    standing,
    submitted,
    used,
)

# --- who is looked at -------------------------------------------------------------------------------------------------


def test_no_job_overtakes_the_head_of_a_strict_fifo_queue() -> None:
    sim = simulator(queue("q", 4, strict=True))
    assert submitted(sim, job("a", "q", 3), job("big", "q", 2), job("small", "q", 1)) == {
        "a": "f",
        "big": "-",
        "small": "-",
    }


def test_in_a_best_effort_fifo_queue_small_jobs_overtake_large_ones() -> None:
    sim = simulator(queue("q", 4))
    assert submitted(sim, job("a", "q", 3), job("big", "q", 2), job("small", "q", 1))["small"] == "f"


def test_jobs_are_admitted_by_priority_then_by_creation_time() -> None:
    sim = simulator(queue("q", 2))
    submitted(sim, job("now", "q", 2), job("b", "q", 2), job("c", "q", 2), job("urgent", "q", 2, priority=1))
    order: list[str] = []
    for _ in range(4):
        order.append(next(name for name, flavor in standing(sim).items() if flavor == "f"))
        sim.finish(order[-1])
    assert order == ["now", "urgent", "b", "c"]


def test_jobs_within_nominal_quota_precede_borrowers() -> None:
    """Both are pending for the same GPUs; the later job has them in its nominal quota."""
    sim = simulator(queue("p", 0, "all"), queue("q", 4, "all"), queue("r", 0, "all"))
    submitted(sim, job("first", "r", 4), job("borrower", "p", 4), job("owner", "q", 4))
    sim.finish("first")
    assert standing(sim) == {"borrower": "-", "owner": "f"}


@pytest.mark.parametrize("names", [("a", "b"), ("b", "a")])
def test_the_older_of_two_heads_is_admitted_first(names: tuple[str, str]) -> None:
    first, second = names
    sim = simulator(queue("p", 0, "all"), queue("q", 0, "all"), queue("r", 4, "all"))
    submitted(sim, job("now", "r", 4), job(first, "q", 4), job(second, "p", 4))
    sim.finish("now")
    assert standing(sim) == {first: "f", second: "-"}


# --- flavors ----------------------------------------------------------------------------------------------------------

TWO = {"reserved": quota(2), "spot": quota(4)}


def test_flavors_are_tried_in_their_order() -> None:
    sim = simulator(queue("q", TWO))
    assert submitted(sim, job("a", "q", 2), job("b", "q", 2), job("c", "q", 3)) == {
        "a": "reserved",
        "b": "spot",
        "c": "-",
    }


@pytest.mark.parametrize(("rule", "flavor"), [(MAY_STOP_SEARCH, "reserved"), (TRY_NEXT_FLAVOR, "spot")])
def test_when_can_borrow_decides_between_borrowing_and_the_next_flavor(rule: str, flavor: str) -> None:
    sim = simulator(queue("p", TWO, "all", when_borrow=rule), queue("q", {"reserved": quota(4)}, "all"))
    assert submitted(sim, job("a", "p", 3))["a"] == flavor


@pytest.mark.parametrize(("rule", "flavor"), [(MAY_STOP_SEARCH, "reserved"), (TRY_NEXT_FLAVOR, "spot")])
def test_when_can_preempt_decides_between_preemption_and_the_next_flavor(rule: str, flavor: str) -> None:
    sim = simulator(queue("q", TWO, within=LOWER_PRIORITY, when_preempt=rule))
    assert submitted(sim, job("low", "q", 2), job("high", "q", 2, priority=1))["high"] == flavor
    assert standing(sim)["low"] == ("spot" if rule == MAY_STOP_SEARCH else "reserved")


def test_all_resources_of_a_job_take_one_flavor_and_the_scarcest_decides() -> None:
    cells = {(f, r): quota(n) for f, r, n in (("a", GPU, 4), ("a", "cpu", 4), ("b", GPU, 4), ("b", "cpu", 64))}
    group = ResourceGroup(resources=("cpu", GPU), flavors=("a", "b"))
    sim = Simulator(
        SchedulerSetup(
            queues=(ClusterQueue(name="q", cohort=None, is_strict_fifo=False, resource_groups=(group,), quotas=cells),)
        )
    )
    sets = (PodSet(name="main", count=2, requests={GPU: 1, "cpu": 8}),)
    sim.submit(Job(name="j", queue="q", priority=0, pod_sets=sets))
    assert sim.workloads["j"].flavors == ({"cpu": "b", GPU: "b"},)


def test_pod_sets_get_flavors_one_by_one_and_are_admitted_together() -> None:
    sim = simulator(queue("q", TWO))
    sets = tuple(PodSet(name=name, count=1, requests={GPU: gpus}) for name, gpus in (("master", 2), ("worker", 4)))
    sim.submit(Job(name="j", queue="q", priority=0, pod_sets=sets))
    assert sim.workloads["j"].flavors == ({GPU: "reserved"}, {GPU: "spot"})
    sim.submit(Job(name="k", queue="q", priority=0, pod_sets=sets))
    assert standing(sim)["k"] == "-" and (used(sim, "q", "reserved"), used(sim, "q", "spot")) == (2, 4)


def test_a_flavor_with_untolerated_taints_is_skipped() -> None:
    """By a label that it names with another value, or by a taint that neither the pods nor the flavor tolerate."""
    nodes = {
        "reserved": ResourceFlavor(node_labels={"shape": "2x4"}),
        "spot": ResourceFlavor(node_taints=(Taint(key="spot", value="true", effect="NoSchedule"),)),
    }
    sim = simulator(queue("q", {"reserved": quota(8), "spot": quota(8)}), nodes=nodes)
    other_shape, tolerant = {"shape": "4x4", "unknown": "x"}, (Toleration(key="spot"),)
    for name, tolerations in (("tolerant", tolerant), ("other", ())):
        pods = PodSet(name="main", count=1, requests={GPU: 1}, node_selector=other_shape, tolerations=tolerations)
        sim.submit(Job(name=name, queue="q", priority=0, pod_sets=(pods,)))
    assert standing(sim) == {"tolerant": "spot", "other": "-"}


def test_a_request_without_a_quota_is_never_admitted() -> None:
    sim = simulator(queue("q", 8))
    pods = PodSet(name="main", count=1, requests={GPU: 1, "cpu": 1})
    sim.submit(Job(name="j", queue="q", priority=0, pod_sets=(pods,)))
    assert standing(sim) == {"j": "-"}


# --- pushing out ------------------------------------------------------------------------------------------------------


def test_a_job_preempts_the_lowest_priority_and_the_latest_admission_first() -> None:
    sim = simulator(queue("q", 3, within=LOWER_PRIORITY))
    submitted(sim, job("mid", "q", 1, priority=5), job("old", "q", 1), job("new", "q", 1))
    assert submitted(sim, job("high", "q", 1, priority=9)) == {"mid": "f", "old": "f", "new": "-", "high": "f"}


def test_the_smallest_sufficient_set_is_preempted() -> None:
    """Candidates are tried in order; then those that are not needed are kept."""
    sim = simulator(queue("q", 7, within=LOWER_PRIORITY))
    submitted(sim, job("four", "q", 4), job("two", "q", 2), job("one", "q", 1))
    assert submitted(sim, job("high", "q", 4, priority=9)) == {"four": "-", "two": "f", "one": "f", "high": "f"}


def test_equal_priority_preempts_only_with_lower_or_newer_equal_priority() -> None:
    for rule, expected in ((LOWER_PRIORITY, "-"), (LOWER_OR_NEWER_EQUAL, "f")):
        sim = simulator(queue("q", 4, within=rule))
        submitted(sim, job("older", "q", 5), job("newer", "q", 4))
        sim.replace_setup(SchedulerSetup(queues=(queue("q", 5, within=rule),)))
        assert standing(sim)["older"] == expected


def test_a_queue_reclaims_its_quota_from_jobs_of_any_priority() -> None:
    sim = simulator(queue("p", 4, "all", reclaim=ANY), queue("q", 4, "all"))
    submitted(sim, job("own", "q", 4, priority=9), job("borrower", "q", 2, priority=9))
    assert submitted(sim, job("owner", "p", 4)) == {"own": "f", "borrower": "-", "owner": "f"}
    assert sim.workloads["borrower"].eviction_reason == "InCohortReclamation"


def test_reclaiming_from_lower_priority_spares_higher_priority() -> None:
    sim = simulator(queue("p", 4, "all", reclaim=LOWER_PRIORITY), queue("q", 4, "all"))
    submitted(sim, job("own", "q", 4), job("borrower", "q", 2, priority=1))
    assert submitted(sim, job("owner", "p", 4))["owner"] == "-"
    assert submitted(sim, job("urgent", "p", 4, priority=2))["urgent"] == "f"


def test_a_job_within_its_nominal_quota_is_never_preempted_by_another_queue() -> None:
    sim = simulator(queue("p", 4, "all", reclaim=ANY, borrow=LOWER_PRIORITY), queue("q", 4, "all"))
    submitted(sim, job("own", "q", 4))
    assert submitted(sim, job("greedy", "p", 8, priority=99)) == {"own": "f", "greedy": "-"}


def test_borrowing_pushes_out_only_up_to_the_threshold() -> None:
    for priority, expected in ((3, "f"), (4, "-")):
        borrower = queue("p", 2, "all", reclaim=ANY, borrow=LOWER_PRIORITY, threshold=3)
        sim = simulator(borrower, queue("q", 2, "all"), queue("r", 2, "all"))
        submitted(sim, job("victim", "r", 4, priority=priority))
        assert submitted(sim, job("high", "p", 4, priority=9))["high"] == expected
    assert sim.workloads["victim"].eviction_count == 0


def test_reclaiming_while_borrowing_has_its_own_reason() -> None:
    sim = simulator(
        queue("p", 2, "all", reclaim=ANY, borrow=LOWER_PRIORITY), queue("q", 2, "all"), queue("r", 2, "all")
    )
    submitted(sim, job("victim", "r", 4), job("high", "p", 4, priority=9))
    assert sim.workloads["victim"].eviction_reason == "InCohortReclaimWhileBorrowing"


def test_a_preempted_job_keeps_its_creation_time_in_the_queue() -> None:
    sim = simulator(queue("q", 2, within=LOWER_PRIORITY))
    submitted(sim, job("low", "q", 2), job("high", "q", 2, priority=1), job("later", "q", 2))
    sim.finish("high")
    assert standing(sim) == {"low": "f", "later": "-"} and sim.workloads["low"].eviction_count == 1


def test_free_quota_is_reserved_for_an_entitled_job_that_cannot_preempt() -> None:
    """Its quota is lent; no other job gets free quota before the owner has enough."""
    sim = simulator(queue("p", 4, "all", strict=True), queue("q", 0, "all"))
    submitted(sim, job("a", "q", 3), job("owner", "p", 4, priority=1))
    assert submitted(sim, job("passing", "q", 1)) == {"a": "f", "owner": "-", "passing": "-"}


def test_two_preemptors_of_one_job_do_not_both_use_its_quota() -> None:
    """The second finds other victims, or waits for what is left over."""
    sim = simulator(
        queue("p", 2, "all", reclaim=ANY, strict=True),
        queue("q", 2, "all", reclaim=ANY, strict=True),
        queue("r", 0, "all"),
    )
    sim.hold("p")
    sim.hold("q")
    submitted(sim, job("victim", "r", 4), job("a", "p", 2), job("b", "q", 2))
    sim.resume("p")
    sim.resume("q")
    assert standing(sim) == {"victim": "-", "a": "f", "b": "f"} and sim.workloads["victim"].eviction_count == 1


def test_a_second_preemptor_of_the_same_cycle_finds_victims_of_its_own() -> None:
    """Both would take the job that was admitted last; the first does, and what that frees is reserved for it."""
    queues = (queue("p", 2, "all", reclaim=ANY), queue("q", 2, "all", reclaim=ANY), queue("r", 0, "all"))
    sim = Simulator(SchedulerSetup(queues=queues), delay_release=True)  # preempted jobs still hold their quota
    submitted(sim, job("first", "r", 2), job("last", "r", 2))
    sim.add_pending(job("a", "p", 2))
    sim.add_pending(job("b", "q", 2))
    victims = [(each.workload.job.name, each.preemptor and each.preemptor.job.name) for each in sim.settle()]
    assert victims == [("last", "a"), ("first", "b")]


# --- cohorts in cohorts -----------------------------------------------------------------------------------------------


def test_the_nearer_cohort_reclaims_quota_from_any_priority() -> None:
    """The cohort `left` has enough for its own queue, so it reclaims what the queue of `right` borrowed."""
    sim = simulator(
        queue("p", 0, "left", reclaim=LOWER_PRIORITY),
        queue("spare", 4, "left"),
        queue("q", 0, "right"),
        cohorts=(cohort("all"), cohort("left", "all"), cohort("right", "all")),
    )
    submitted(sim, job("far", "q", 4))
    assert submitted(sim, job("near", "p", 4, priority=1)) == {"far": "-", "near": "f"}


def test_a_cohorts_own_quota_is_available_to_all_its_queues() -> None:
    sim = simulator(queue("p", 1, "left"), cohorts=(cohort("all", f=quota(3)), cohort("left", "all")))
    assert submitted(sim, job("a", "p", 4), job("b", "p", 1)) == {"a": "f", "b": "-"}


# --- time -------------------------------------------------------------------------------------------------------------


def test_a_held_queue_admits_no_job_and_keeps_admitted_jobs() -> None:
    sim = simulator(queue("q", 4))
    submitted(sim, job("in", "q", 2))
    sim.hold("q")
    assert submitted(sim, job("out", "q", 2)) == {"in": "f", "out": "-"}
    sim.resume("q")
    assert standing(sim) == {"in": "f", "out": "f"}


def test_a_drained_queue_evicts_its_jobs_and_they_are_pending_again() -> None:
    sim = simulator(queue("q", 4))
    submitted(sim, job("a", "q", 2))
    moves = sim.hold("q", drain=True)
    assert [(move.kind, move.reason) for move in moves] == [("drained", "ClusterQueueStopped")]
    assert standing(sim) == {"a": "-"} and used(sim, "q") == 0
    sim.resume("q")
    assert standing(sim) == {"a": "f"}


def test_a_held_queue_lends_its_quota_and_its_jobs_are_not_preempted() -> None:
    sim = simulator(queue("p", 4, "all", stop_policy=HOLD), queue("q", 0, "all", reclaim=ANY))
    assert submitted(sim, job("borrower", "q", 4)) == {"borrower": "f"}


def test_a_pending_admission_check_holds_a_job_with_quota() -> None:
    sim = simulator(queue("q", 4, admission_checks={("f", GPU): ("dws",)}))
    submitted(sim, job("a", "q", 4), job("b", "q", 1))
    work = sim.workloads["a"]
    assert work.has_quota() and work.state.name == "RESERVED" and standing(sim)["b"] == "-"
    sim.complete_checks("a")
    assert work.state.name == "ADMITTED"


def test_holding_a_queue_releases_quota_reserved_for_pending_checks() -> None:
    sim = simulator(queue("q", 4, admission_checks={("f", GPU): ("dws",)}))
    submitted(sim, job("a", "q", 1), job("b", "q", 1))
    sim.complete_checks("a")
    sim.hold("q")
    assert standing(sim) == {"a": "f", "b": "-"}


def test_lowering_a_quota_preempts_no_job() -> None:
    sim = simulator(queue("q", 4))
    submitted(sim, job("a", "q", 4))
    sim.replace_setup(SchedulerSetup(queues=(queue("q", 2),)))
    assert submitted(sim, job("b", "q", 1)) == {"a": "f", "b": "-"}
    sim.finish("a")
    assert standing(sim) == {"b": "f"}


def test_raising_a_quota_admits_pending_jobs() -> None:
    sim = simulator(queue("q", 1))
    submitted(sim, job("a", "q", 4))
    sim.replace_setup(SchedulerSetup(queues=(queue("q", 4),)))
    assert standing(sim) == {"a": "f"}


def test_a_queue_that_is_removed_keeps_its_jobs_and_its_quota_until_they_end() -> None:
    sim = simulator(queue("p", 4, "all"), queue("q", 0, "all"))
    submitted(sim, job("in", "p", 2), job("big", "p", 4))
    sim.replace_setup(SchedulerSetup(queues=(queue("q", 0, "all"),)))
    assert submitted(sim, job("other", "q", 2)) == {"in": "f", "big": "-", "other": "f"}
    sim.replace_setup(SchedulerSetup(queues=(queue("q", 0, "all"),)))
    sim.finish("in")
    sim.replace_setup(SchedulerSetup(queues=(queue("q", 0, "all"),)))
    assert submitted(sim, job("late", "q", 1)) == {"big": "-", "other": "f", "late": "-"}


def preemption_loop(**nodes: Any) -> tuple[Simulator, list[JobEvent]]:
    """Return a simulator in which `low` and `high` preempt each other, and the events of the step of `high`."""
    sim = simulator(
        queue("own", 6, "left", reclaim=LOWER_PRIORITY, borrow=LOWER_PRIORITY),
        queue("near", 0, "left"),
        queue("far", 2, "all"),
        cohorts=(cohort("all"), cohort("left", "all")),
    )
    sim = Simulator(replace(sim.setup, **nodes)) if nodes else sim
    submitted(sim, job("low", "near", 1))
    return sim, sim.submit(job("high", "own", 8, priority=1))


def test_jobs_that_preempt_each_other_endlessly_are_a_preemption_loop() -> None:
    """`high` needs more than its cohort has, and preempts `low`; but `low` borrows from nearer, so it is first again.

    Kueue goes on like that for ever (it has a gate against it, PrioritizePreemptorWorkloads, which is off).
    """
    sim, moves = preemption_loop()
    assert [(move.kind, move.workload.job.name) for move in moves][-1] == ("preemption-loop", "low")
    assert submitted(sim, job("other", "far", 1))["high"] == "-"


def test_jobs_that_preempt_each_other_endlessly_on_nodes_of_a_topology_are_a_preemption_loop(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Each time they get the same nodes, whose room is placed anew."""
    numbers, run = itertools.count(), Simulator._run_cycle

    def counted(sim: Simulator, tree: CohortTree) -> CycleResult:
        assert next(numbers) < 100, "the loop has no end"
        return run(sim, tree)

    monkeypatch.setattr(Simulator, "_run_cycle", counted)
    entry = {"labels": {HOSTNAME: "a"}, "allocatable": {GPU: 8}}
    flavor = ResourceFlavor(levels=(HOSTNAME,))
    _, moves = preemption_loop(topology_nodes={"f": build_nodes([entry], "f")}, resource_flavors={"f": flavor})
    assert [(move.kind, move.workload.job.name) for move in moves][-1] == ("preemption-loop", "low")


@pytest.mark.parametrize("leaves", ["low", "high"])
def test_a_job_can_finish_during_a_preemption_loop(leaves: str) -> None:
    """It releases its quota once, and the jobs that remain use all of it."""
    sim, _ = preemption_loop()
    sim.finish(leaves)
    rest = "high" if leaves == "low" else "low"
    assert submitted(sim, job("other", "far", 2)) == {rest: "f", "other": "-" if rest == "high" else "f"}
    sim.finish(rest)
    assert submitted(sim, job("late", "far", 6)) == {"other": "f", "late": "f"}
