"""Nomination of the heads of queues: the flavors that each would use, and the jobs that it would preempt."""

from __future__ import annotations

import bisect
from functools import partial

from msgspec import Struct

from berth.simulator.scheduler.flavor_assignment import (
    Assignment,
    AssignmentCache,
    AssignmentMode,
    AssignmentOutcome,
    FlavorAssigner,
)
from berth.simulator.scheduler.model import SchedulerSetup
from berth.simulator.scheduler.preemption import (
    PreemptionSearch,
    cached_possibility,
    cached_preemption,
    preemptor_key,
    simulate_preemption,
)
from berth.simulator.scheduler.quota import add_usage, remove_usage
from berth.simulator.scheduler.state import SearchProgress, SimulatedWorkload
from berth.simulator.scheduler.tree import CohortTree
from berth.simulator.scheduler.victims import CachedVictims, Victim


class Entry(Struct):
    """The head of a queue in one cycle.

    Also records whether it stays in line, and where its search started.
    """

    workload: SimulatedWorkload
    search_start: object
    assignment: Assignment
    victims: list[Victim]
    stays_pending: bool = False
    admitted: bool = False


class CachedNomination(Struct):
    """The nomination of a head, valid for a version of its queue's flavors and a search from `start`.

    `tried` is the progress of the search, None if it reached the end.
    """

    version: int
    search_start: object
    assignment: Assignment
    victims: list[Victim]
    last_tried: list[dict[str, int]] | None


class Nominator:
    """Finds flavors and victims for the heads of a tree's queues."""

    def __init__(self, tree: CohortTree, setup: SchedulerSetup) -> None:
        self.tree = tree
        self.setup = setup

    def nominate(self, workload: SimulatedWorkload) -> Entry:
        """Return the entry of a head, from the cache if nothing has changed since."""
        progress, generation = workload.search_progress, workload.queue_state.generation
        if progress is not None and self.tree.cycle - progress.cycle > 1 and generation > progress.generation:
            workload.search_progress = None
        start, version = search_start(workload), self.tree.version(workload.queue_state)
        cached = workload.cached_nomination
        is_open = self._may_cache(workload)
        if (
            is_open
            and isinstance(cached, CachedNomination)
            and cached.version == version
            and cached.search_start == start
        ):
            last_tried = cached.last_tried
            workload.search_progress = (
                None if last_tried is None else SearchProgress(last_tried, self.tree.cycle, generation)
            )
            return Entry(workload, start, cached.assignment, cached.victims)
        assignment, victims = self.assign(workload)
        workload.cached_nomination = CachedNomination(
            version,
            start,
            assignment,
            victims,
            workload.search_progress.last_tried if workload.search_progress else None,
        )
        return Entry(workload, start, assignment, victims)

    def assign(
        self,
        workload: SimulatedWorkload,
        allowed_flavors: list[dict[str, str]] | None = None,
        counts: tuple[int, ...] = (),
    ) -> tuple[Assignment, list[Victim]]:
        """Find flavors and victims for a head; for fewer pods if the head may start with them and all do not fit.

        With `allowed_flavors` (and the `counts` that they are for), in the middle of a cycle, without the cache.
        """
        start = workload.search_progress
        assignment, victims = self._assign(workload, allowed_flavors, counts)
        if allowed_flavors is None and not _is_usable(assignment, victims) and self.setup.partial_admission:
            fewer = self._with_fewer_pods(workload, start)
            assignment, victims = fewer or (assignment, victims)
        workload.search_progress = assignment.search_progress if assignment.search_progress.has_untried() else None
        return assignment, victims

    def _assign(
        self, workload: SimulatedWorkload, allowed_flavors: list[dict[str, str]] | None, counts: tuple[int, ...]
    ) -> tuple[Assignment, list[Victim]]:
        asked = workload.with_counts(counts)
        use_cache = allowed_flavors is None and not counts and self._may_cache(asked)
        oracle = partial(cached_preemption if use_cache else simulate_preemption, self.tree)
        cache = AssignmentCache(self.tree.flavor_cache, preemptor_key(asked)) if use_cache else None
        assignment = FlavorAssigner(
            asked, self.tree.cycle, oracle, self.setup.resource_flavors, allowed_flavors, cache
        ).assign()
        assignment.counts = counts
        placed = assignment.outcome != AssignmentOutcome.NO_FIT and self.tree.rooms.concern(assignment.flavors)
        if placed:
            self._place(asked, assignment)
        victims: list[Victim] = []
        if assignment.outcome == AssignmentOutcome.PREEMPT:
            victims = self._find_victims(asked, assignment, use_cache)
            if placed:
                self._place_after(asked, assignment, victims)
        return assignment, victims

    def _may_cache(self, workload: SimulatedWorkload) -> bool:
        """Return whether only the usage of the tree's quotas decides: no shared nodes, and no time."""
        return not self.tree.takes_turns and self.tree.rooms.leaves.keys().isdisjoint(workload.queue_state.flavors)

    def _place(self, workload: SimulatedWorkload, assignment: Assignment) -> None:
        """Place the pods on nodes of topologies; if there is no room, others must leave, if that can help at all."""
        find = partial(self.tree.rooms.find, workload.queue_state.node, workload.pod_sets, assignment.flavors)
        if assignment.outcome == AssignmentOutcome.FIT:
            room, assignment.no_room = find(empty=False)
            assignment.usage |= dict.fromkeys(room, 1)
            if assignment.no_room:
                assignment.outcome = AssignmentOutcome.PREEMPT
        if assignment.outcome == AssignmentOutcome.PREEMPT:
            _, failure = find(empty=True)
            if failure:
                assignment.outcome, assignment.no_room = AssignmentOutcome.NO_FIT, failure
            # Jobs may be in the way of quota that is free: what counts is that they use the same flavors.
            assignment.modes = dict.fromkeys(assignment.modes, AssignmentMode.PREEMPT)

    def _place_after(self, workload: SimulatedWorkload, assignment: Assignment, victims: list[Victim]) -> None:
        """Keep the nodes that a job will get once its victims have left, or would get on empty nodes without any."""
        for victim in victims:
            remove_usage(victim.workload.usage)
        room, _ = self.tree.rooms.find(
            workload.queue_state.node, workload.pod_sets, assignment.flavors, empty=not victims
        )
        for victim in victims:
            add_usage(victim.workload.usage)
        assignment.usage |= dict.fromkeys(room, 1)

    def _with_fewer_pods(
        self, workload: SimulatedWorkload, start: SearchProgress | None
    ) -> tuple[Assignment, list[Victim]] | None:
        """Return the assignment of the most pods that fit (Kueue 0.19.2 `flavorassigner/podset_reducer.go`)."""
        pod_sets = workload.job.pod_sets
        spare = [0 if each.least is None else each.count - each.least for each in pod_sets]
        total = sum(spare)
        if not total:
            return None
        workload.search_progress = start

        def assigned(steps: int) -> tuple[Assignment, list[Victim]]:
            counts = tuple(each.count - more * steps // total for each, more in zip(pod_sets, spare, strict=True))
            return self._assign(workload, None, counts)

        steps = bisect.bisect_left(range(total + 1), True, key=lambda each: _is_usable(*assigned(each)))
        return assigned(steps) if steps <= total else None

    def _find_victims(self, workload: SimulatedWorkload, assignment: Assignment, use_cache: bool) -> list[Victim]:
        """Return the victims; cached for jobs with a single flavor, which are most."""
        requests = [ask for of_pods in workload.group_requests for ask in of_pods]
        if not use_cache or len(requests) > 1:
            rooms, node, flavors = self.tree.rooms, workload.queue_state.node, assignment.flavors
            return PreemptionSearch(
                self.tree,
                workload,
                assignment.usage,
                assignment.quotas_to_preempt(),
                has_room=lambda: not rooms.find(node, workload.pod_sets, flavors, empty=False)[1],
            ).find_victims()
        if len(assignment.usage) == 1:  # the search for flavors has found the same victims
            ((quota_state, amount),) = assignment.usage.items()
            return list(cached_possibility(self.tree, workload, quota_state, amount).victims)
        flavor, _ = next(iter(assignment.usage)).flavor_resource
        cache, key = self.tree.flavor_cache(flavor), ("victims", *requests, preemptor_key(workload))
        cached = cache.get(key)
        if not isinstance(cached, CachedVictims):
            victims = PreemptionSearch(
                self.tree, workload, assignment.usage, assignment.quotas_to_preempt()
            ).find_victims()
            cached = cache[key] = CachedVictims(tuple(victims))
        return list(cached.victims)


def _is_usable(assignment: Assignment, victims: list[Victim]) -> bool:
    return assignment.outcome == AssignmentOutcome.FIT or bool(victims)


def search_start(workload: SimulatedWorkload) -> object:
    """Return the start of a job's flavor search: after the flavors already tried, if any."""
    return workload.search_progress.as_key() if workload.search_progress is not None else ()
