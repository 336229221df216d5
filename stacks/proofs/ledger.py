"""Who claims how much of what: the quotas of a plan, found by queue, by flavor, and by cohort."""

from __future__ import annotations

from dataclasses import dataclass

from components.plan.fleet import FleetPlan
from components.plan.kueue import ClusterQueuePlan, QuotaPlan
from stacks.planner import Planned
from stacks.planner.ceilings import accelerator_quotas, lendable
from stacks.problems import Path


@dataclass(frozen=True, slots=True)
class Claim:
    """What one cluster queue says of one flavor, in accelerators; `index` is its place in the queue's list."""

    queue: ClusterQueuePlan
    index: int
    flavor: str
    quota: QuotaPlan
    path: Path

    @property
    def label(self) -> str:
        """How people call the queue: `team/queue`, or its own name where it is shared."""
        return f"{self.path[1]}/{self.path[3]}" if self.path[0] == "teams" else self.queue.name


@dataclass(frozen=True, slots=True)
class Ledger:
    """All claims of a plan, found by queue, by flavor, and by cohort and flavor."""

    plan: FleetPlan
    of_queue: dict[str, list[Claim]]
    of_flavor: dict[str, list[Claim]]
    of_cohort: dict[tuple[str | None, str], list[Claim]]

    def others(self, claim: Claim) -> list[Claim]:
        """The claims on the same flavor by the rest of the cohort; none outside a cohort."""
        if claim.queue.cohort is None:
            return []
        return [c for c in self.of_cohort[claim.queue.cohort, claim.flavor] if c is not claim]

    def lent_to(self, claim: Claim) -> int:
        """The accelerators that the rest of the cohort lends."""
        return sum(lendable(c.quota) for c in self.others(claim))


def ledger_of(planned: Planned) -> Ledger:
    """The ledger of a plan, in one pass over its queues."""
    ledger = Ledger(planned.plan, {}, {}, {})
    resources = {f.name: f.resource for f in planned.plan.flavors}
    for queue in planned.plan.cluster_queues:
        path = planned.origins["cluster queue", queue.name]
        for index, (flavor, quota) in enumerate(accelerator_quotas(queue, resources)):
            claim = Claim(queue, index, flavor, quota, path)
            ledger.of_queue.setdefault(queue.name, []).append(claim)
            ledger.of_flavor.setdefault(flavor, []).append(claim)
            ledger.of_cohort.setdefault((queue.cohort, flavor), []).append(claim)
    return ledger
