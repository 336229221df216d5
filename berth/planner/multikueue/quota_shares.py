"""Quotas of a manager become shares of its workers: whole slices or nodes, by capacity, and none beyond what is held.

A worker has its part of each guarantee, and lends its part of what is lent. How much may be borrowed is the same
everywhere: the manager keeps to it over all workers, and a job that borrows runs on one of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from math import gcd

from msgspec import Struct
from msgspec.structs import replace

from berth.plan.kueue import ClusterQueuePlan, CohortPlan, FlavorQuotasPlan, QuotaPlan, ResourceGroupPlan
from berth.planner.queueing import cohorts
from berth.planner.queueing.quota_tree import accelerator_quotas


class Held(Struct, frozen=True):
    """What workers hold of one flavor: accelerators of each, how often they may be promised, and in what pieces.

    `unit` is what cannot be divided (a slice), `node` the accelerators of one node, by which it is divided if it can;
    1 where nodes differ.
    """

    resource: str
    capacity: tuple[int, ...]
    oversubscription: float
    unit: int
    node: int

    def piece(self, amount: int) -> int:
        """The accelerators in which an amount is divided."""
        return self.node if self.unit == 1 and amount % self.node == 0 else self.unit


Holder = ClusterQueuePlan | CohortPlan
Claim = tuple[Holder, QuotaPlan]
"""A queue or cohort with its quota of the accelerators of one flavor."""
Share = tuple[int, int | None]
"""Nominal quota and lending limit on one worker, in accelerators; no limit is None."""
Shares = Mapping[tuple[str, str, str], tuple[Share, ...]]
"""Kind (`queue` or `cohort`), name and flavor to the share of each worker, in the order of the workers."""


def split(amount: int, weights: Sequence[int], piece: int, room: list[int], unit: int | None = None) -> list[int]:
    """`amount` in parts by `weights`, each a multiple of `piece`, as is the amount; `room` shrinks by what is given.

    Largest remainder: each gets what is due rounded down, and what is left goes piece by piece to whom most is due
    still among those with room, then to whoever has most room, then to the first; by `unit` where nobody has room for
    a whole piece. So nobody gets more than there is room for, where there is room for all.
    """
    parts = [
        min(part, max(0, left) // piece * piece) for part, left in zip(due(amount, weights, piece), room, strict=True)
    ]
    for index, part in enumerate(parts):
        room[index] -= part
    hand_out(amount, weights, piece, room, parts, unit)
    return parts


def due(amount: int, weights: Sequence[int], piece: int) -> list[int]:
    """What is due to each, rounded down to whole pieces."""
    whole = sum(weights)
    return [amount * weight // whole // piece * piece if whole else 0 for weight in weights]


def hand_out(
    amount: int, weights: Sequence[int], piece: int, room: list[int], parts: list[int], unit: int | None = None
) -> None:
    """Hand out what `parts` lack of `amount`: piece by piece, and by `unit` where nobody has room for a whole piece."""
    whole, missing = sum(weights), amount - sum(parts)
    some = [index for index, weight in enumerate(weights) if weight]
    while some and missing > 0:
        if all(room[index] < piece for index in some):
            piece = unit or piece

        def claim(index: int, size: int = piece) -> tuple[bool, int, int, int]:
            return room[index] >= size, amount * weights[index] - parts[index] * whole, room[index], -index

        best = max(some, key=claim)
        parts[best] += piece
        room[best] -= piece
        missing -= piece


def shares(holders: Sequence[Holder], held: Mapping[str, Held]) -> Shares:
    """The share of every worker in every quota of accelerators."""
    resources = {flavor: of.resource for flavor, of in held.items()}
    parents = {each.name: each.parent for each in holders if isinstance(each, CohortPlan)}
    leaves_first = {name: parents[name] for name in cohorts.leaves_first(parents)}
    claims: dict[str, list[Claim]] = {}
    for holder in holders:
        for flavor, quota in accelerator_quotas(holder, resources):
            claims.setdefault(flavor, []).append((holder, quota))
    found: dict[tuple[str, str, str], tuple[Share, ...]] = {}
    for flavor, wanted in claims.items():
        parts = _parts(wanted, held[flavor])
        for (kind, name), share in _with_limits(wanted, parts, leaves_first, held[flavor]):
            found[kind, name, flavor] = share
    return found


def _with_limits(
    wanted: Sequence[Claim], parts: Sequence[list[int]], leaves_first: Mapping[str, str | None], of: Held
) -> Iterator[tuple[tuple[str, str], tuple[Share, ...]]]:
    """Kind and name of each claim, with its parts and what they lend; `leaves_first` is every cohort with its parent.

    A cohort lends on each worker of what it has there to lend: its own, and what those below lend it.
    """
    shared: dict[str, list[int]] = {}
    own: dict[str, tuple[QuotaPlan, list[int]]] = {}
    for (holder, quota), part in zip(wanted, parts, strict=True):
        if isinstance(holder, CohortPlan):
            own[holder.name] = (quota, part)
            _add(shared, holder.name, part)
        else:
            lent = _lent(quota, of, part)
            yield ("queue", holder.name), _share(part, lent)
            _add(shared, holder.cohort, lent or part)
    for name, parent in leaves_first.items():
        has = shared.get(name)
        if has is not None:
            quota, part = own.get(name, (None, has))
            lent = _lent(quota, of, has) if quota else None  # without an entry all of it passes
            if quota:
                yield ("cohort", name), _share(part, lent)
            _add(shared, parent, lent or has)


def _share(part: list[int], lent: list[int] | None) -> tuple[Share, ...]:
    return tuple(zip(part, lent or [None] * len(part), strict=True))


def _add(shared: dict[str, list[int]], cohort: str | None, lent: list[int]) -> None:
    if cohort is not None:
        shared[cohort] = [one + other for one, other in zip(shared.get(cohort, [0] * len(lent)), lent, strict=True)]


def _parts(wanted: Sequence[Claim], of: Held) -> list[list[int]]:
    """Of each claim the part of every worker.

    First everybody gets what is due rounded down, so that nobody's whole pieces depend on who else there is.
    """
    factor = Fraction(str(of.oversubscription))  # as written: in floats, 50 × 4.6 is less than 230
    room = [int(capacity * factor) for capacity in of.capacity]
    parts = [due(quota.nominal, of.capacity, of.piece(quota.nominal)) for _, quota in wanted]
    for part in parts:
        room = [left - taken for left, taken in zip(room, part, strict=True)]
    largest_first = sorted(zip(wanted, parts, strict=True), key=lambda each: -of.piece(each[0][1].nominal))
    for (_, quota), part in largest_first:
        hand_out(quota.nominal, of.capacity, of.piece(quota.nominal), room, part, of.unit)
    return parts


def _lent(quota: QuotaPlan, of: Held, has: list[int]) -> list[int] | None:
    """The limit on each worker to what a holder lends of what it `has` there, which none exceeds; None without any.

    It is divided in pieces of what is there.
    """
    if quota.lending_limit is None:
        return None
    piece = of.piece(gcd(quota.lending_limit, sum(has)))
    return split(quota.lending_limit, has, piece, list(has), of.unit)


# --- on one worker ----------------------------------------------------------------------------------------------------


def queues_on(
    queues: Sequence[ClusterQueuePlan], worker: int, found: Shares, held: Mapping[str, Held]
) -> tuple[ClusterQueuePlan, ...]:
    """The queues that a worker has, as it has them; most have no flavor that it holds."""
    there = {flavor for flavor, of in held.items() if of.capacity[worker]}
    some = (queue for queue in queues if not there.isdisjoint([e.flavor for e in queue.flavors]))
    return tuple(on for queue in some if (on := queue_on(queue, worker, found, held)))


def queue_on(queue: ClusterQueuePlan, worker: int, found: Shares, held: Mapping[str, Held]) -> ClusterQueuePlan | None:
    """The queue as the worker has it; None where it could never admit anything.

    It covers all that the manager's does: a job for machines that are elsewhere must find no quota here, also where
    Kueue lets pass what a queue does not cover.
    """
    entries = tuple(_entries("queue", queue.name, queue.flavors, worker, found, held))
    if not any(quota.nominal or quota.borrowing_limit != 0 for entry in entries for quota in entry.quotas):
        return None
    guaranteed = any(quota.nominal for entry in entries for quota in entry.quotas)
    return replace(
        queue,
        flavors=entries,
        admission_checks=(),
        protect=guaranteed and queue.stop_policy != "HoldAndDrain",
    )


def cohort_on(cohort: CohortPlan, worker: int, found: Shares, held: Mapping[str, Held]) -> CohortPlan:
    """The cohort as the worker has it."""
    groups: list[ResourceGroupPlan] = []
    for group in cohort.resource_groups:
        if entries := tuple(_entries("cohort", cohort.name, group.flavors, worker, found, held)):
            groups.append(replace(group, flavors=entries))
    return replace(cohort, resource_groups=tuple(groups))


def _entries(
    kind: str,
    name: str,
    flavors: Sequence[FlavorQuotasPlan],
    worker: int,
    found: Shares,
    held: Mapping[str, Held],
) -> Iterator[FlavorQuotasPlan]:
    """The entries of flavors that the worker holds, with its share."""
    for entry in flavors:
        if entry.flavor in held and held[entry.flavor].capacity[worker]:
            whole = next(q for q in entry.quotas if q.resource == held[entry.flavor].resource)
            share = found[kind, name, entry.flavor][worker]
            quotas = tuple([_quota(kind, quota, whole, share) for quota in entry.quotas])
            yield FlavorQuotasPlan(flavor=entry.flavor, quotas=quotas)


def _quota(kind: str, quota: QuotaPlan, whole: QuotaPlan, share: Share) -> QuotaPlan:
    """The share of a resource that comes with accelerators: `whole` is the accelerators' quota."""
    nominal = _part(quota.nominal, share[0], whole.nominal)
    lent = None if quota.lending_limit is None else _part(quota.lending_limit, share[1] or 0, whole.lending_limit or 0)
    if lent is not None and kind == "queue":
        lent = min(lent, nominal)  # both are rounded up, and Kueue takes no queue that lends more than it has
    return QuotaPlan(
        resource=quota.resource, nominal=nominal, borrowing_limit=quota.borrowing_limit, lending_limit=lent
    )


def _part(amount: int, share: int, whole: int) -> int:
    """As much of an amount as `share` is of `whole`, rounded up as every quota is."""
    return -(-amount * share // whole) if whole else 0
