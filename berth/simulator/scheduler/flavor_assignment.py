"""Flavor assignment: the flavor of each resource of a job, and whether it needs borrowing or preemption.

All resources of a group get one flavor. Flavors are tried in order; the queue's flavorFungibility decides whether a
flavor that needs borrowing or preemption ends the search, or the next flavor is tried first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from enum import IntEnum

from msgspec import Struct, field

from berth.placement.kueue import ResourceFlavor, flavor_refusal
from berth.simulator.scheduler.model import (
    PREEMPTION_FIRST,
    TRY_NEXT_FLAVOR,
    FlavorFungibility,
    FlavorResource,
    Job,
    ResourceGroup,
)
from berth.simulator.scheduler.quota import QuotaState, find_borrowing_level
from berth.simulator.scheduler.state import FlavorOption, GroupRequest, SearchProgress, SimulatedWorkload


class AssignmentMode(IntEnum):
    """How a flavor fits a request, worst first."""

    NO_FIT = 0
    NO_CANDIDATES = 1
    PREEMPT = 2
    RECLAIM = 3
    FIT = 4


class AssignmentOutcome(IntEnum):
    """How the whole job fits, worst first. DEFERRED: it fits when victims of other jobs have stopped."""

    NO_FIT = 0
    PREEMPT = 1
    DEFERRED = 2
    FIT = 3


PreemptionOracle = Callable[[SimulatedWorkload, QuotaState, int], tuple[AssignmentMode, int]]
"""Whether preemption could free an amount of one flavor and resource, and the borrowing level afterwards."""


class Assignment(Struct):
    """A flavor for each resource of each pod set, with the mode of each flavor and resource and the borrowing level.

    `counts` are the pods of each pod set if they are fewer than the job's, else empty.
    `unmatched_flavors`, for messages, are flavors whose nodes the pods do not accept; `no_room` says why the nodes of a
    topology have no room.
    """

    search_progress: SearchProgress
    outcome: AssignmentOutcome = AssignmentOutcome.FIT
    flavors: list[dict[str, str]] = field(default_factory=list[dict[str, str]])
    modes: dict[QuotaState, AssignmentMode] = field(default_factory=dict[QuotaState, AssignmentMode])
    usage: dict[QuotaState, int] = field(default_factory=dict[QuotaState, int])
    borrowing_level: int = 0
    unmatched_flavors: list[str] = field(default_factory=list[str])
    counts: tuple[int, ...] = ()
    no_room: str = ""

    def quotas_to_preempt(self) -> list[QuotaState]:
        """Return the quotas on which other jobs must be preempted."""
        return [stock for stock, way in self.modes.items() if way < AssignmentMode.FIT]


class AssignmentCache(Struct, frozen=True):
    """Cached results for each flavor; `preemptor` is what, besides requests, decides which jobs it can preempt."""

    flavor_cache: Callable[[str], dict[object, object]]
    preemptor_key: tuple[int, int]


class _FlavorFit(Struct):
    """The result of one flavor for a group of resources; the mode and level are those of the worst resource."""

    flavor_option: FlavorOption
    mode: AssignmentMode = AssignmentMode.FIT
    borrowing_level: int = 0
    modes: list[tuple[AssignmentMode, int]] = field(default_factory=list[tuple[AssignmentMode, int]])


def has_only_topologies(groups: Iterable[ResourceGroup], resource_flavors: Mapping[str, ResourceFlavor]) -> bool:
    """Return whether every flavor of a queue has a topology; Kueue then places all of its pods by it."""
    flavors = (resource_flavors.get(name) for group in groups for name in group.flavors)
    return all(flavor is not None and flavor.levels is not None for flavor in flavors)


def is_eligible(
    job: Job,
    index: int,
    flavor_resource: FlavorResource,
    groups: Iterable[ResourceGroup],
    resource_flavors: Mapping[str, ResourceFlavor],
) -> bool:
    """Return whether the pods of a job's pod set accept the nodes of a flavor."""
    flavor, resource = flavor_resource
    if job.barred and flavor in job.barred[index]:
        return False
    resource_flavor = resource_flavors.get(flavor)
    if resource_flavor is None:
        return True
    covered = next(each.resources for each in groups if resource in each.resources)
    only_topologies = has_only_topologies(groups, resource_flavors)
    pods = job.pod_sets[index]
    return flavor_refusal(pods, resource_flavor, only_topologies=only_topologies, covered=covered) is None


class FlavorAssigner:
    """The flavor search of one job. `only`: the single flavor to try, for each pod set and resource.

    `cache` keeps results of flavors while they are valid; it must not be used in the middle of a cycle.
    """

    def __init__(
        self,
        workload: SimulatedWorkload,
        cycle: int,
        oracle: PreemptionOracle,
        resource_flavors: Mapping[str, ResourceFlavor],
        allowed_flavors: list[dict[str, str]] | None = None,
        cache: AssignmentCache | None = None,
    ) -> None:
        self.workload = workload
        self.cache = cache
        self.oracle = oracle
        self.resource_flavors = resource_flavors
        self.allowed_flavors = allowed_flavors
        self.fungibility = workload.queue_state.queue.fungibility
        self.assignment = Assignment(SearchProgress([], cycle, workload.queue_state.generation))
        self._groups = workload.queue_state.queue.resource_groups

    def assign(self) -> Assignment:
        """Return the best assignment; its `mode` is NO_FIT if there is none."""
        assignment = self.assignment
        for index, requests in enumerate(self.workload.group_requests):
            if self.workload.uncovered_resource or not self._assign_pod_set(index, requests):
                assignment.outcome = AssignmentOutcome.NO_FIT
                return assignment
        return assignment

    def _assign_pod_set(self, index: int, requests: tuple[GroupRequest, ...]) -> bool:
        """Assign flavors to one pod set; return False if a group of resources gets none."""
        flavors: dict[str, str] = {}
        last_tried: dict[str, int] = {}
        self.assignment.flavors.append(flavors)
        self.assignment.search_progress.last_tried.append(last_tried)
        chosen: list[tuple[GroupRequest, _FlavorFit, int]] = []
        for request in requests:
            fit, last_index = self._assign_group(index, request)
            if fit is None:
                return False
            chosen.append((request, fit, last_index))
        for request, fit, last_index in chosen:
            for (resource, amount), (mode, borrowing_level) in zip(request.amounts, fit.modes, strict=True):
                flavors[resource], last_tried[resource] = fit.flavor_option.flavor, last_index
                self._record(fit.flavor_option.quota_states[resource], amount, mode, borrowing_level)
        return True

    def _record(self, quota_state: QuotaState, amount: int, mode: AssignmentMode, borrowing_level: int) -> None:
        assignment = self.assignment
        previous = assignment.modes.get(quota_state)
        assignment.modes[quota_state] = mode if previous is None or mode < previous else previous
        if mode < AssignmentMode.FIT:
            assignment.outcome = AssignmentOutcome.PREEMPT
        if borrowing_level > assignment.borrowing_level:
            assignment.borrowing_level = borrowing_level
        assignment.usage[quota_state] = assignment.usage.get(quota_state, 0) + amount

    def _assign_group(self, index: int, request: GroupRequest) -> tuple[_FlavorFit | None, int]:
        """Return the flavor of a group, and the index of the last flavor tried (-1 for the end of the list)."""
        best: _FlavorFit | None = None
        last_index = -1
        progress, resource = self.workload.search_progress, request.amounts[0][0]
        is_continued = progress is not None and index < len(progress.last_tried)
        first_index = progress.last_tried[index].get(resource, -1) + 1 if progress and is_continued else 0
        for last_index in range(first_index, len(request.flavor_options)):
            flavor_option = request.flavor_options[last_index]
            if not self._is_eligible(index, flavor_option.flavor, resource):
                continue
            fit = self._cached_fit(flavor_option, request)
            is_final = _is_final(fit, self.fungibility)
            if is_final or _is_better(fit, best, self.fungibility):
                best = fit
            if is_final:
                break
        return best, last_index if last_index < len(request.flavor_options) - 1 else -1

    def _is_eligible(self, index: int, flavor: str, resource: str) -> bool:
        """Return whether a flavor may be tried: it is among `only`, and the pods accept its nodes."""
        if self.allowed_flavors is not None and self.allowed_flavors[index].get(resource) != flavor:
            return False
        if is_eligible(self.workload.job, index, (flavor, resource), self._groups, self.resource_flavors):
            return True
        self.assignment.unmatched_flavors.append(flavor)
        return False

    def _cached_fit(self, flavor_option: FlavorOption, request: GroupRequest) -> _FlavorFit:
        """Evaluate a flavor, from the cache if earlier pod sets of the job do not affect the result."""
        if self.cache is None or self.assignment.usage:
            return self._evaluate_flavor(flavor_option, request)
        cache = self.cache.flavor_cache(flavor_option.flavor)
        key = (request, self.cache.preemptor_key)
        cached = cache.get(key)
        if not isinstance(cached, _FlavorFit):
            cached = cache[key] = self._evaluate_flavor(flavor_option, request)
        return cached

    def _evaluate_flavor(self, flavor_option: FlavorOption, request: GroupRequest) -> _FlavorFit:
        """Evaluate a flavor for a group; the result is that of the worst resource."""
        fit = _FlavorFit(flavor_option)
        for resource, amount in request.amounts:
            mode, borrowing_level = self._evaluate_quota(flavor_option.quota_states[resource], amount)
            if (mode < AssignmentMode.FIT or borrowing_level) and (
                _preference_rank(mode, borrowing_level, self.fungibility)
                < _preference_rank(fit.mode, fit.borrowing_level, self.fungibility)
            ):
                fit.mode, fit.borrowing_level = mode, borrowing_level
                if mode == AssignmentMode.NO_FIT:
                    break
            fit.modes.append((mode, borrowing_level))
        return fit

    def _evaluate_quota(self, quota_state: QuotaState, amount: int) -> tuple[AssignmentMode, int]:
        """Return mode and borrowing level of one quota, after the usage of earlier pod sets of the job."""
        amount += self.assignment.usage.get(quota_state, 0)
        if amount > quota_state.ceiling:
            return AssignmentMode.NO_FIT, 0
        borrowing_level, may_reclaim = find_borrowing_level(quota_state, amount)
        if amount <= quota_state.available():
            return AssignmentMode.FIT, borrowing_level
        if may_reclaim or quota_state.nominal >= amount or self.workload.queue_state.preempts_while_borrowing:
            return self.oracle(self.workload, quota_state, amount)
        return AssignmentMode.NO_FIT, borrowing_level


def _preference_rank(
    mode: AssignmentMode, borrowing_level: int, fungibility: FlavorFungibility
) -> tuple[int, int, int]:
    """Return the rank of a result, higher for a preferred one; results that need a later cycle rank lowest."""
    usable = 0 if mode == AssignmentMode.NO_FIT else 1 if mode == AssignmentMode.NO_CANDIDATES else 2
    return (
        (usable, -borrowing_level, mode)
        if fungibility.preference == PREEMPTION_FIRST
        else (usable, mode, -borrowing_level)
    )


def _is_better(fit: _FlavorFit, best: _FlavorFit | None, fungibility: FlavorFungibility) -> bool:
    if fit.mode == AssignmentMode.NO_FIT:
        return False
    return best is None or _preference_rank(fit.mode, fit.borrowing_level, fungibility) > _preference_rank(
        best.mode, best.borrowing_level, fungibility
    )


def _is_final(fit: _FlavorFit, fungibility: FlavorFungibility) -> bool:
    """Return whether the search ends with this flavor."""
    if fit.mode <= AssignmentMode.NO_CANDIDATES or (
        fit.mode < AssignmentMode.FIT and fungibility.when_can_preempt == TRY_NEXT_FLAVOR
    ):
        return False
    return fit.borrowing_level == 0 or fungibility.when_can_borrow != TRY_NEXT_FLAVOR
