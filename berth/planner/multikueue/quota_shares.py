"""Divide the quotas of a manager among its workers: whole slices or nodes, by capacity, never above it.

A worker has a part of each guarantee, and a part of each lending limit. Borrowing limits are the same on all workers:
the manager enforces them over all workers, and a job that borrows runs on one of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from math import gcd

from msgspec import Struct
from msgspec.structs import replace

from berth.plan.grouping import grouped
from berth.plan.kueue import PODS, ClusterQueuePlan, CohortPlan, FlavorQuotasPlan, QuotaPlan, ResourceGroupPlan
from berth.planner.queueing import cohorts
from berth.planner.queueing.quota_tree import accelerator_quotas


class WorkerCapacity(Struct, frozen=True):
    """Capacity of workers for one flavor: accelerators of each worker, oversubscription, and sizes of pieces.

    `unit` is the smallest indivisible amount (a slice) and `node` the accelerators of one node, the preferred piece;
    1 if nodes differ.
    """

    resource: str
    capacity: tuple[int, ...]
    oversubscription: float
    unit: int
    per_node: int

    def indivisible_amount(self, amount: int) -> int:
        """Return the size of the pieces into which an amount is divided, in accelerators."""
        return self.per_node if self.unit == 1 and amount % self.per_node == 0 else self.unit


QueueOrCohort = ClusterQueuePlan | CohortPlan
AcceleratorQuota = tuple[QueueOrCohort, QuotaPlan]
"""A queue or cohort with its quota of the accelerators of one flavor."""
WorkerShare = tuple[int, int | None]
"""Nominal quota and lending limit on one worker, in accelerators; None for no limit."""
WorkerShares = Mapping[tuple[str, str, str], tuple[WorkerShare, ...]]
"""(Kind `queue` or `cohort`, name, flavor) → the share of each worker, in order of workers."""


def split_by_weight(
    amount: int, weights: Sequence[int], step: int, room: list[int], unit: int | None = None
) -> list[int]:
    """Divide `amount` by `weights` into parts that are multiples of `step`; reduce `room` by each part.

    Largest remainder method: each worker gets its exact share rounded down. The rest is given piece by piece to the
    worker with room and the largest remainder, then with the most room, then the first; in steps of `unit` if no worker
    has room for a whole piece. No worker gets more than its room as long as the total fits.
    """
    parts = [
        min(part, max(0, available) // step * step)
        for part, available in zip(rounded_shares(amount, weights, step), room, strict=True)
    ]
    for index, part in enumerate(parts):
        room[index] -= part
    distribute_rest(amount, weights, step, room, parts, unit)
    return parts


def rounded_shares(amount: int, weights: Sequence[int], step: int) -> list[int]:
    """Return the exact shares rounded down to whole pieces."""
    total_weight = sum(weights)
    return [amount * weight // total_weight // step * step if total_weight else 0 for weight in weights]


def distribute_rest(
    amount: int, weights: Sequence[int], step: int, room: list[int], parts: list[int], unit: int | None = None
) -> None:
    """Distribute what `parts` lack of `amount`, in steps of `step`, or of `unit` if no worker has room for a step."""
    total_weight, missing = sum(weights), amount - sum(parts)
    candidates = [index for index, weight in enumerate(weights) if weight]
    while candidates and missing > 0:
        if all(room[index] < step for index in candidates):
            step = unit or step

        def rank(index: int, size: int = step) -> tuple[bool, int, int, int]:
            return room[index] >= size, amount * weights[index] - parts[index] * total_weight, room[index], -index

        best_index = max(candidates, key=rank)
        parts[best_index] += step
        room[best_index] -= step
        missing -= step


def compute_shares(owners: Sequence[QueueOrCohort], capacities: Mapping[str, WorkerCapacity]) -> WorkerShares:
    """Return the share of every worker in every quota of accelerators."""
    resources = {flavor: capacity.resource for flavor, capacity in capacities.items()}
    parents = {owner_plan.name: owner_plan.parent for owner_plan in owners if isinstance(owner_plan, CohortPlan)}
    leaves_first = {name: parents[name] for name in cohorts.leaves_first(parents)}
    quotas_by_flavor = grouped(
        (flavor, (owner, quota)) for owner in owners for flavor, quota in accelerator_quotas(owner, resources)
    )
    result: dict[tuple[str, str, str], tuple[WorkerShare, ...]] = {}
    for flavor, quotas in quotas_by_flavor.items():
        parts = _guaranteed_parts(quotas, capacities[flavor])
        for (kind, name), share in _with_limits(quotas, parts, leaves_first, capacities[flavor]):
            result[kind, name, flavor] = share
    return result


def _with_limits(
    quotas: Sequence[AcceleratorQuota],
    parts: Sequence[list[int]],
    leaves_first: Mapping[str, str | None],
    capacity: WorkerCapacity,
) -> Iterator[tuple[tuple[str, str], tuple[WorkerShare, ...]]]:
    """Yield kind and name of each quota with its shares; `leaves_first` maps every cohort to its parent, leaves first.

    On each worker, a cohort can lend its own quota there and what its members lend it there.
    """
    lendable_by_cohort: dict[str, list[int]] = {}
    cohort_parts: dict[str, tuple[QuotaPlan, list[int]]] = {}
    for (owner, quota), part in zip(quotas, parts, strict=True):
        if isinstance(owner, CohortPlan):
            cohort_parts[owner.name] = (quota, part)
            _add_lendable(lendable_by_cohort, owner.name, part)
        else:
            lending_limits = _lending_parts(quota, capacity, part)
            yield ("queue", owner.name), _pair_with_limits(part, lending_limits)
            _add_lendable(lendable_by_cohort, owner.cohort, lending_limits or part)
    for name, parent in leaves_first.items():
        available = lendable_by_cohort.get(name)
        if available is not None:
            quota, part = cohort_parts.get(name, (None, available))
            lending_limits = (
                _lending_parts(quota, capacity, available) if quota else None
            )  # without an entry, there is no limit
            if quota:
                yield ("cohort", name), _pair_with_limits(part, lending_limits)
            _add_lendable(lendable_by_cohort, parent, lending_limits or available)


def _pair_with_limits(part: list[int], lending_limits: list[int] | None) -> tuple[WorkerShare, ...]:
    return tuple(zip(part, lending_limits or [None] * len(part), strict=True))


def _add_lendable(lendable_by_cohort: dict[str, list[int]], cohort: str | None, amounts: list[int]) -> None:
    if cohort is not None:
        lendable_by_cohort[cohort] = [
            amount + added
            for amount, added in zip(lendable_by_cohort.get(cohort, [0] * len(amounts)), amounts, strict=True)
        ]


def _guaranteed_parts(quotas: Sequence[AcceleratorQuota], worker_capacity: WorkerCapacity) -> list[list[int]]:
    """Return the part of every worker for each quota.

    All quotas first get their exact shares rounded down, so that these parts do not depend on other quotas.
    """
    factor = Fraction(str(worker_capacity.oversubscription))  # exact: in floats, 50 × 4.6 is less than 230
    room = [int(capacity * factor) for capacity in worker_capacity.capacity]
    parts = [
        rounded_shares(quota.nominal, worker_capacity.capacity, worker_capacity.indivisible_amount(quota.nominal))
        for _, quota in quotas
    ]
    for part in parts:
        room = [remaining - taken for remaining, taken in zip(room, part, strict=True)]
    largest_first = sorted(
        zip(quotas, parts, strict=True), key=lambda entry: -worker_capacity.indivisible_amount(entry[0][1].nominal)
    )
    for (_, quota), part in largest_first:
        distribute_rest(
            quota.nominal,
            worker_capacity.capacity,
            worker_capacity.indivisible_amount(quota.nominal),
            room,
            part,
            worker_capacity.unit,
        )
    return parts


def _lending_parts(quota: QuotaPlan, capacity: WorkerCapacity, available: list[int]) -> list[int] | None:
    """Return the lending limit on each worker, at most what is `available` there; None without a limit.

    The limit is divided into pieces like the quota.
    """
    if quota.lending_limit is None:
        return None
    step = capacity.indivisible_amount(gcd(quota.lending_limit, sum(available)))
    return split_by_weight(quota.lending_limit, available, step, list(available), capacity.unit)


# --- on one worker ----------------------------------------------------------------------------------------------------


def worker_queues(
    queues: Sequence[ClusterQueuePlan],
    worker: int,
    worker_shares: WorkerShares,
    capacities: Mapping[str, WorkerCapacity],
) -> tuple[ClusterQueuePlan, ...]:
    """Return the queues of a worker with their shares; queues without a flavor of the worker are omitted."""
    worker_flavors = {flavor for flavor, capacity in capacities.items() if capacity.capacity[worker]}
    candidates = (queue for queue in queues if not worker_flavors.isdisjoint([e.flavor for e in queue.flavors]))
    return tuple(
        worker_queue
        for queue in candidates
        if (worker_queue := plan_worker_queue(queue, worker, worker_shares, capacities))
    )


def plan_worker_queue(
    queue: ClusterQueuePlan, worker: int, worker_shares: WorkerShares, capacities: Mapping[str, WorkerCapacity]
) -> ClusterQueuePlan | None:
    """Return the queue with the worker's shares; None if it could never admit a job there.

    It covers the same resources as on the manager: a job for machines of other workers must find no quota here,
    although Kueue ignores resources that a queue does not cover.
    """
    entries = tuple(_worker_entries("queue", queue.name, queue.flavors, worker, worker_shares, capacities))
    if not any(quota.nominal or quota.borrowing_limit != 0 for entry in entries for quota in entry.quotas):
        return None
    has_guarantee = any(quota.nominal for entry in entries for quota in entry.quotas)
    return replace(
        queue,
        flavors=entries,
        admission_checks=(),
        protect=has_guarantee and queue.stop_policy != "HoldAndDrain",
    )


def plan_worker_cohort(
    cohort: CohortPlan, worker: int, worker_shares: WorkerShares, capacities: Mapping[str, WorkerCapacity]
) -> CohortPlan:
    """Return the cohort with the worker's shares."""
    groups: list[ResourceGroupPlan] = []
    for group in cohort.resource_groups:
        if entries := tuple(_worker_entries("cohort", cohort.name, group.flavors, worker, worker_shares, capacities)):
            groups.append(replace(group, flavors=entries))
    return replace(cohort, resource_groups=tuple(groups))


def _worker_entries(
    kind: str,
    name: str,
    flavors: Sequence[FlavorQuotasPlan],
    worker: int,
    worker_shares: WorkerShares,
    capacities: Mapping[str, WorkerCapacity],
) -> Iterator[FlavorQuotasPlan]:
    """Yield the entries of flavors that the worker has, with its shares."""
    for entry in flavors:
        if entry.flavor in capacities and capacities[entry.flavor].capacity[worker]:
            resource = capacities[entry.flavor].resource
            accelerator_quota = next(q for q in entry.quotas if q.resource == resource).counted
            share = worker_shares[kind, name, entry.flavor][worker]
            quotas = tuple([_scaled_quota(kind, quota, accelerator_quota, share) for quota in entry.quotas])
            yield FlavorQuotasPlan(flavor=entry.flavor, quotas=quotas)


def _scaled_quota(kind: str, quota: QuotaPlan, accelerator_quota: QuotaPlan, share: WorkerShare) -> QuotaPlan:
    """Return the worker's share of a resource, in proportion to its share of the accelerators' quota.

    Pods are rounded down, so that those of all queues fit on the worker's nodes, and everything else up.
    """

    def scaled(amount: int, share: int, total: int) -> int:
        if not total:
            return 0
        return amount * share // total if quota.resource == PODS else -(-amount * share // total)

    nominal = scaled(quota.nominal, share[0], accelerator_quota.nominal)
    lending_limit = (
        None
        if quota.lending_limit is None
        else scaled(quota.lending_limit, share[1] or 0, accelerator_quota.lending_limit or 0)
    )
    if lending_limit is not None and kind == "queue":
        lending_limit = min(
            lending_limit, nominal
        )  # both are rounded, and Kueue rejects a queue that lends more than it has
    return QuotaPlan(
        resource=quota.resource, nominal=nominal, borrowing_limit=quota.borrowing_limit, lending_limit=lending_limit
    )
