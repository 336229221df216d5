"""Admission fair sharing: what the local queues of a cluster queue have used, by which they take turns.

The usage of a local queue follows what its admitted jobs hold, and is half as old after each half-life. A job costs its
queue an entry penalty at once, as much as it would hold after one sampling interval. Kueue samples the usage at
intervals; between two samples it is as it was at the last one.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Protocol

from msgspec import Struct, field
from msgspec.structs import replace

from berth.simulator.scheduler.model import AdmissionFairSharing, Job
from berth.simulator.scheduler.quota import QuotaState

_ROUNDING = 1e-6
"""Below this, two usages or two times are the same."""


class SimulatedClock(Struct):
    """The present second of a simulation. Without a clock it stays 0, as if no time passes between steps."""

    now: float = 0.0
    has_clock: bool = False


class DoubtfulTurn(Struct, frozen=True):
    """A turn that depends on the time that passed: `first` came before `other`, and their usage may be the reverse."""

    first: str
    other: str


class QuotaHolder(Protocol):
    """A job that has quota: its usage of it, and its place in the order of arrival."""

    job: Job
    arrival_order: int
    usage: dict[QuotaState, int]


class _LocalQueue(Struct):
    """A local queue. All amounts are sums over resources by their weights.

    `held` is what its admitted jobs hold, `past` its usage when it was last `sampled`, `penalties` those of jobs that
    have quota and are not admitted. `holders` are the number of its admission and what it holds of each admitted job,
    and `gone` the sum of what others held.
    """

    weight: float
    sampled: float = 0.0
    held: float = 0.0
    past: float = 0.0
    penalties: dict[int, float] = field(default_factory=dict[int, float])
    holders: dict[int, tuple[int, float]] = field(default_factory=dict[int, "tuple[int, float]"])
    gone: float = 0.0


class UsageLedger:
    """The usage of the local queues of one cluster queue. Local queues without a weight in it have 1."""

    def __init__(self, rules: AdmissionFairSharing, weights: Mapping[str, float], moment: SimulatedClock) -> None:
        self.rules, self.weights, self.moment = rules, weights, moment
        self.penalty_rate = self._part(rules.sampling_seconds)
        self.doubt: DoubtfulTurn | None = None
        self._local_queues: dict[str, _LocalQueue] = {}
        self._admissions = 0

    def usage(self, local_queue: str) -> float:
        """Return the usage by which a local queue takes its turn; the lowest comes first."""
        local = self._sampled(local_queue)
        if local.weight <= 0:
            return math.inf
        return (local.past + sum(local.penalties.values())) / local.weight

    def reserve(self, workload: QuotaHolder, *, is_admitted: bool) -> None:
        """Charge a job that gets quota, and count it from now on if it is admitted with that."""
        pod_sets = workload.job.pod_sets
        requested = sum(self._weighed((name, n * each.count) for name, n in each.requests.items()) for each in pod_sets)
        local = self._sampled(workload.job.local_queue)
        local.penalties[workload.arrival_order] = requested * self.penalty_rate
        if is_admitted or self.rules.from_reservation:
            self.admit(workload)

    def admit(self, workload: QuotaHolder) -> None:
        """Count an admitted job; its penalty is past usage from now on."""
        local, order = self._sampled(workload.job.local_queue), workload.arrival_order
        if order in local.holders:
            return
        amounts = ((each.flavor_resource[1], n) for each, n in workload.usage.items() if each.counts_quota)
        self._admissions += 1
        local.holders[order] = self._admissions, (amount := self._weighed(amounts))
        local.held += amount
        self._pass(local, self.moment.now - local.sampled)
        local.past += local.penalties.pop(order, 0.0)

    def release(self, workload: QuotaHolder, *, is_over: bool) -> None:
        """Stop to count a job; one that is evicted before it was admitted keeps its penalty."""
        local, order = self._sampled(workload.job.local_queue), workload.arrival_order
        if is_over:
            local.penalties.pop(order, None)
        if (held := local.holders.pop(order, None)) is not None:
            local.held = local.held - held[1] if local.holders else 0.0
            local.gone += held[1]

    def continue_from(self, other: UsageLedger) -> None:
        """Take over the usage of local queues, with their weights of today."""
        self._admissions = other._admissions
        for name, local in other._local_queues.items():
            self._local_queues[name] = replace(local, weight=self.weights.get(name, 1.0))

    def note_turn(self, first: str, other: str) -> None:
        """Note that a local queue came before another one, if that depends on a time which is not known."""
        is_open = self.doubt is None and not self.moment.has_clock
        if is_open and self._most_excess(self._sampled(first), self._sampled(other)) > _ROUNDING:
            self.doubt = DoubtfulTurn(first, other)

    def _most_excess(self, first: _LocalQueue, other: _LocalQueue) -> float:
        """Return by how much the usage of one local queue may be above that of another one, whatever time has passed.

        What a running job counts grows with its age from the penalty to all that it holds, and that of an earlier job
        is never the smaller part. Of what jobs held that are gone, anything may be left but nothing. So the most is not
        reached, and 0 still leaves the order as it is.
        """
        if first.weight <= 0 or other.weight <= 0:
            return 0.0 if first.weight <= 0 and other.weight <= 0 else -math.inf
        if not self.rules.half_life_seconds:
            return 0.0
        fixed = sum(first.penalties.values()) / first.weight - sum(other.penalties.values()) / other.weight
        signed = [(number, amount / first.weight) for number, amount in first.holders.values()]
        signed += [(number, -amount / other.weight) for number, amount in other.holders.values()]
        old, new = 0.0, sum(amount for _, amount in signed)
        most = self.penalty_rate * new
        for _, amount in sorted(signed):
            old, new = old + amount, new - amount
            most = max(most, old + self.penalty_rate * new)
        return fixed + most + first.gone / first.weight

    def next_sample(self, local_queues: Iterable[str]) -> float:
        """Return when the usage of one of these local queues is sampled next."""
        return min(self._sampled(each).sampled for each in local_queues) + self.rules.sampling_seconds

    def _weighed(self, amounts: Iterable[tuple[str, float]]) -> float:
        return sum(self.rules.resource_weights.get(name, 1.0) * amount for name, amount in amounts)

    def _sampled(self, name: str) -> _LocalQueue:
        """Return a local queue after the samples that were due."""
        local = self._local_queues.get(name)
        if local is None:
            local = self._local_queues[name] = _LocalQueue(self.weights.get(name, 1.0))
        interval = self.rules.sampling_seconds
        due = (self.moment.now - local.sampled + _ROUNDING) // interval
        if due > 0:
            self._pass(local, due * interval)
        return local

    def _pass(self, local: _LocalQueue, seconds: float) -> None:
        """Let usage follow what is held for some seconds."""
        part = self._part(seconds)
        local.past = local.past * (1 - part) + local.held * part if self.rules.half_life_seconds else 0.0
        local.sampled += seconds

    def _part(self, seconds: float) -> float:
        """Return which part of usage is replaced in some seconds."""
        half_life = self.rules.half_life_seconds
        return 1 - 0.5 ** (seconds / half_life) if half_life else 0.0
