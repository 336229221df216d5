"""Invariants of every run with every setup."""

from __future__ import annotations

import itertools
from random import Random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from berth.plan.kueue import QuotaLimits
from berth.simulator.scheduler.events import JobEventKind
from berth.simulator.scheduler.model import (
    ANY,
    LOWER_OR_NEWER_EQUAL,
    NEVER,
    ClusterQueue,
    Cohort,
    FlavorResource,
    Job,
    ResourceGroup,
    SchedulerSetup,
)
from berth.simulator.scheduler.simulate import Simulator
from berth.simulator.scheduler.state import JobState, SimulatedWorkload
from berth.simulator.scheduler.tree import CohortTree
from tests.berth.simulator.random_runs import COHORTS, FLAVORS, RESOURCES, Run, play, runs

CELLS = [(flavor, resource) for flavor in FLAVORS for resource in RESOURCES]
ALL = ("submit", "finish", "hold", "drain", "resume")

few = settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.too_slow])


# --- limits, worked out here a second time ----------------------------------------------------------------------------


class Reckoning:
    """Usage and limits at every level, from only the setup and the jobs."""

    def __init__(self, simulator: Simulator, cell: FlavorResource) -> None:
        self.setup = simulator.setup
        self.cell = cell
        self.used = {queue.name: 0 for queue in self.setup.queues}
        for work in simulator.workloads.values():
            for chosen, pods in zip(work.flavors, work.job.pod_sets, strict=bool(work.flavors)):
                if chosen.get(cell[1]) == cell[0]:
                    self.used[work.job.queue] += pods.count * pods.requests[cell[1]]

    def check(self) -> None:
        """Nobody uses more than its quota and what it may borrow, nor borrows what is not lent."""
        for queue in self.setup.queues:
            if queue.cohort is None:
                assert self.used[queue.name] <= self._quota(queue).nominal
        for cohort in self.setup.cohorts:
            if cohort.parent is None:
                assert self._use(cohort) <= self._subtree(cohort)
        for node in (*self.setup.queues, *self.setup.cohorts):
            limit, has_parent = self._quota(node).borrowing_limit, self._parent(node) is not None
            if limit is not None and has_parent:
                assert self._use(node) <= self._subtree(node) + limit

    def ceiling(self, queue: ClusterQueue) -> int:
        """Return the maximum use of a queue while everything else is idle."""
        return self._most(queue)

    def _most(self, node: ClusterQueue | Cohort) -> int:
        parent = self._parent(node)
        if parent is None:
            return self._subtree(node)
        most, limit = self._kept(node) + self._most(parent), self._quota(node).borrowing_limit
        return most if limit is None else min(most, self._subtree(node) + limit)

    def _use(self, node: ClusterQueue | Cohort) -> int:
        if isinstance(node, ClusterQueue):
            return self.used[node.name]
        return sum(max(0, self._use(child) - self._kept(child)) for child in self._children(node))

    def _subtree(self, node: ClusterQueue | Cohort) -> int:
        lent = [self._subtree(child) - self._kept(child) for child in self._children(node)]
        return self._quota(node).nominal + sum(lent)

    def _kept(self, node: ClusterQueue | Cohort) -> int:
        limit = self._quota(node).lending_limit
        return 0 if limit is None else max(0, self._subtree(node) - limit)

    def _children(self, node: ClusterQueue | Cohort) -> list[ClusterQueue | Cohort]:
        if isinstance(node, ClusterQueue):
            return []
        queues = [queue for queue in self.setup.queues if queue.cohort == node.name]
        return [*queues, *(cohort for cohort in self.setup.cohorts if cohort.parent == node.name)]

    def _parent(self, node: ClusterQueue | Cohort) -> Cohort | None:
        name = node.cohort if isinstance(node, ClusterQueue) else node.parent
        return next((cohort for cohort in self.setup.cohorts if cohort.name == name), None)

    def _quota(self, node: ClusterQueue | Cohort) -> QuotaLimits:
        return node.quotas.get(self.cell, QuotaLimits(nominal=0))


@few
@given(runs(kinds=ALL), st.booleans())
def test_usage_never_exceeds_what_the_limits_allow_at_any_level(run: Run, lagging: bool) -> None:
    def look(simulator: Simulator) -> None:
        for cell in CELLS:
            Reckoning(simulator, cell).check()

    play(run, Simulator(run.setup, lagging), look)


@few
@given(runs())
def test_no_job_is_ever_admitted_beyond_the_ceiling_of_its_queue(run: Run) -> None:
    def look(simulator: Simulator) -> None:
        for work in simulator.workloads.values():
            for stock, amount in work.usage.items():
                assert (
                    amount
                    <= Reckoning(simulator, stock.flavor_resource).ceiling(work.queue_state.queue)
                    == stock.ceiling
                )

    play(run, Simulator(run.setup), look)


def recorded_usage_is_that_of_the_jobs(simulator: Simulator) -> None:
    """The simulator updates the tree in each step; here its usage is computed from the jobs."""
    for cell in CELLS:
        used = Reckoning(simulator, cell).used
        assert used == {name: line.node.quota_state(cell).usage for name, line in simulator.queue_states.items()}


def nothing_is_used_when_all_jobs_are_gone(simulator: Simulator) -> None:
    for name in list(simulator.workloads):
        simulator.finish(name)
    for line in simulator.queue_states.values():
        for node in (line.node, *line.node.ancestors()):
            assert all(stock.usage == 0 for stock in node.quota_states.values())


@few
@given(runs(preempts=False, kinds=("submit", "finish", "hold", "resume")))
def test_without_preemption_rules_and_drains_no_job_is_preempted(run: Run) -> None:
    def look(simulator: Simulator) -> None:
        assert all(work.eviction_count == 0 for work in simulator.workloads.values())

    play(run, Simulator(run.setup), look)


def allowed(by: SimulatedWorkload, victim: SimulatedWorkload) -> bool:
    """Return whether the pusher's rules let it push the victim out, in Kueue's words for them."""
    rules = by.queue_state.queue.preemption
    rule = rules.within_cluster_queue if by.queue_state is victim.queue_state else rules.reclaim_within_cohort
    if rule == LOWER_OR_NEWER_EQUAL and by.priority == victim.priority:
        return by.arrival_order < victim.arrival_order
    return rule == ANY or (rule != NEVER and by.priority > victim.priority)


def jobs_that_the_preemption_rules_protect_are_not_preempted(simulator: Simulator) -> None:
    assert all(allowed(move.preemptor, move.workload) for move in simulator.events if move.preemptor is not None)


def a_stopped_queue_admits_no_job(simulator: Simulator) -> None:
    for move in simulator.events:
        if move.kind in ("admitted", "reserved"):
            assert move.workload.queue_state.is_active()


def in_a_strict_fifo_queue_no_job_overtakes_a_pending_one(simulator: Simulator) -> None:
    """An admitted job precedes all pending ones by priority, then by arrival, except those preempted in this step."""
    pushed = any(move.kind in (JobEventKind.PREEMPTED, JobEventKind.PREEMPTION_LOOP) for move in simulator.events)
    for work in [move.workload for move in simulator.events if move.kind == "admitted" and not pushed]:
        waiting = [
            w for w in simulator.workloads.values() if w.queue_state is work.queue_state and w.state == JobState.PENDING
        ]
        if work.queue_state.queue.is_strict_fifo and work.has_quota():
            assert all(
                (-work.priority, work.arrival_order) < (-other.priority, other.arrival_order) for other in waiting
            )


@few
@given(runs(kinds=ALL))
def test_every_step_keeps_every_rule(run: Run) -> None:
    """Each run is simulated once for all of them."""

    def look(simulator: Simulator) -> None:
        recorded_usage_is_that_of_the_jobs(simulator)
        jobs_that_the_preemption_rules_protect_are_not_preempted(simulator)
        a_stopped_queue_admits_no_job(simulator)
        in_a_strict_fifo_queue_no_job_overtakes_a_pending_one(simulator)

    simulator = Simulator(run.setup)
    play(run, simulator, look)
    nothing_is_used_when_all_jobs_are_gone(simulator)


# --- names ------------------------------------------------------------------------------------------------------------


def renamed(run: Run, names: dict[str, str]) -> Run:
    """The same run with other names for queues, cohorts, flavors, resources and jobs."""

    def cells(quotas: dict[FlavorResource, QuotaLimits]) -> dict[FlavorResource, QuotaLimits]:
        return {(names[flavor], names[resource]): of for (flavor, resource), of in quotas.items()}

    queues = tuple(
        replace(
            queue,
            name=names[queue.name],
            cohort=None if queue.cohort is None else names[queue.cohort],
            resource_groups=tuple(
                ResourceGroup(
                    resources=tuple(map(names.__getitem__, g.resources)), flavors=tuple(names[f] for f in g.flavors)
                )
                for g in queue.resource_groups
            ),
            quotas=cells(dict(queue.quotas)),
        )
        for queue in run.setup.queues
    )
    cohorts = tuple(
        Cohort(name=names[c.name], parent=None if c.parent is None else names[c.parent], quotas=cells(dict(c.quotas)))
        for c in run.setup.cohorts
    )
    steps = [(kind, _renamed(what, names) if isinstance(what, Job) else what) for kind, what in run.steps]
    return Run(SchedulerSetup(queues=queues, cohorts=cohorts), steps)


def _renamed(job: Job, names: dict[str, str]) -> Job:
    sets = tuple(replace(p, requests={names[r]: amount for r, amount in p.requests.items()}) for p in job.pod_sets)
    return replace(job, name=names[job.name], queue=names[job.queue], pod_sets=sets)


def outcomes(run: Run, names: dict[str, str]) -> list[object]:
    """Where everybody stands after each step, in the first names."""
    back = {name: first for first, name in names.items()}
    values: list[object] = []

    def look(simulator: Simulator) -> None:
        values.append(
            {
                back[name]: (
                    work.state,
                    work.eviction_count,
                    work.eviction_reason,
                    tuple({back[r]: back[f] for r, f in chosen.items()} for chosen in work.flavors),
                )
                for name, work in simulator.workloads.items()
            }
        )

    play(run, Simulator(run.setup), look)
    return values


@few
@given(runs(kinds=("finish", "finish", *ALL)), st.randoms(use_true_random=False))
def test_the_result_does_not_depend_on_names(run: Run, random: Random) -> None:
    first = [*FLAVORS, *RESOURCES, *COHORTS, *(q.name for q in run.setup.queues)]
    first += [what.name for _, what in run.steps if isinstance(what, Job)]
    other = list(first)
    random.shuffle(other)
    names = dict(zip(first, [f"x{name}" for name in other], strict=True))
    assert outcomes(run, {name: name for name in first}) == outcomes(renamed(run, names), names)


@pytest.mark.parametrize("lagging", [False, True])
def test_a_run_is_deterministic(lagging: bool) -> None:
    @few
    @given(runs(kinds=ALL))
    def twice(run: Run) -> None:
        def lines() -> list[str]:
            values: list[str] = []
            simulator = Simulator(run.setup, lagging)
            play(
                run, simulator, lambda s: values.extend(f"{m.kind} {m.workload.job.name} {m.reason}" for m in s.events)
            )
            return values

        assert lines() == lines()

    twice()


@few
@given(runs(kinds=ALL))
def test_caches_between_cycles_do_not_change_results(run: Run) -> None:
    """Memory saves work, and must be forgotten in time."""
    names = {name: name for name in [*FLAVORS, *RESOURCES, *COHORTS, *(q.name for q in run.setup.queues)]}
    names |= {what.name: what.name for _, what in run.steps if isinstance(what, Job)}
    first = outcomes(run, names)
    with pytest.MonkeyPatch.context() as patch:
        count = itertools.count()
        patch.setattr(CohortTree, "flavor_cache", lambda *_: {})
        patch.setattr(CohortTree, "version", lambda *_: next(count))
        assert outcomes(run, names) == first
