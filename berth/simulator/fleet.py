"""A fleet as the simulation needs it: its queues, and the names by which people and manifests know them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from msgspec import Struct, field

from berth.diagnostics import Problem, Problems
from berth.jobs.pod_set import Toleration
from berth.plan.fleet import FleetPlan
from berth.plan.kueue import ClusterQueuePlan, CohortPlan, FlavorPlan, FlavorQuotasPlan
from berth.simulator.scheduler.model import (
    BORROW_FIRST,
    NEVER,
    RUNNING,
    STOP_SEARCH,
    STRICT_FIFO,
    TRY_NEXT,
    Cell,
    Cohort,
    Fungibility,
    Group,
    Nodes,
    Preemption,
    Queue,
    Quota,
    Setup,
    Taint,
)

Door = tuple[str, str]
"""A local queue: its namespace and name."""

EXCLUDED = ("ephemeral-storage",)
"""Resources that Berth tells Kueue to ignore (prefixes)."""


class Book(Struct, frozen=True):
    """The queues of a fleet, and how jobs find them.

    `doors`: local queue → cluster queue. `labels`: cluster queue → what people call it, `owners` → whose it is.
    `nouns`: flavor and resource → what its accelerators are called. `priorities` by name; `default` without one.
    """

    name: str
    setup: Setup
    doors: Mapping[Door, str] = field(default_factory=dict[Door, str])
    labels: Mapping[str, str] = field(default_factory=dict[str, str])
    owners: Mapping[str, str] = field(default_factory=dict[str, str])
    nouns: Mapping[tuple[str, str], str] = field(default_factory=dict[tuple[str, str], str])
    priorities: Mapping[str, int] = field(default_factory=dict[str, int])
    default: int = 0

    def queue_named(self, name: str) -> str | None:
        """The cluster queue of that name, or that people call so, or behind the local queue `namespace/name`."""
        if any(queue.name == name for queue in self.setup.queues):
            return name
        namespace, _, local = name.partition("/")
        called = (queue for queue, label in self.labels.items() if label == name)
        return self.doors.get((namespace, local)) or next(called, None)

    def queue_names(self) -> list[str]:
        """Every name that `queue_named` understands, what people say first."""
        doors = [f"{namespace}/{name}" for namespace, name in self.doors]
        return list(dict.fromkeys([*self.labels.values(), *doors, *(queue.name for queue in self.setup.queues)]))


def of_plan(plan: FleetPlan) -> Book:
    """The book of a planned fleet."""
    return Book(
        name=plan.stack,
        setup=_setup(plan),
        doors={(d.namespace, d.name): d.cluster_queue for queue in plan.cluster_queues for d in queue.local_queues},
        labels={queue.name: _label(queue) for queue in plan.cluster_queues},
        owners={queue.name: " and ".join(queue.teams) or queue.name for queue in plan.cluster_queues},
        nouns={(flavor.name, flavor.resource): flavor.noun for flavor in plan.flavors},
        priorities={priority.name: priority.value for priority in plan.priorities},
        default=next((priority.value for priority in plan.priorities if priority.default), 0),
    )


def _setup(plan: FleetPlan) -> Setup:
    resources = {flavor.name: flavor.resource for flavor in plan.flavors}
    return Setup(
        queues=tuple(_queue(queue, resources) for queue in plan.cluster_queues),
        cohorts=tuple(_cohort(cohort) for cohort in plan.cohorts),
        nodes={flavor.name: _nodes(flavor) for flavor in plan.flavors},
        workers={worker.name: _setup(worker.plan) for worker in plan.workers},
    )


def _label(queue: ClusterQueuePlan) -> str:
    """`team/queue` where a queue has one door, else its own name."""
    if len(queue.local_queues) != 1:
        return queue.name
    door = queue.local_queues[0]
    return f"{door.team}/{door.name}"


def _nodes(plan: FlavorPlan) -> Nodes:
    return Nodes(
        labels=plan.node_labels,
        taints=tuple(Taint(taint.key, taint.value, taint.effect) for taint in plan.node_taints),
        tolerations=tuple(Toleration(t.key, t.operator, t.value or "", t.effect) for t in plan.tolerations),
    )


def _cohort(plan: CohortPlan) -> Cohort:
    return Cohort(name=plan.name, parent=plan.parent, quotas=_quotas(plan.flavors))


def _queue(plan: ClusterQueuePlan, resources: Mapping[str, str]) -> Queue:
    """A queue; `resources` are the accelerators of each flavor, for which alone a provisioning check asks."""
    rules = plan.preemption
    flavors = tuple(entry.flavor for entry in plan.flavors)
    checks: dict[Cell, tuple[str, ...]] = {}
    for check in plan.admission_checks:
        for flavor in check.on_flavors or flavors:
            cell = (flavor, resources[flavor])
            checks[cell] = (*checks.get(cell, ()), check.name)
    return Queue(
        name=plan.name,
        cohort=plan.cohort,
        strict=plan.queueing_strategy == STRICT_FIFO,
        groups=(Group(resources=plan.covered_resources, flavors=flavors),),
        quotas=_quotas(plan.flavors),
        preemption=Preemption(
            within_queue=rules.within_cluster_queue,
            reclaim=rules.reclaim_within_cohort,
            borrow=rules.borrow_within_cohort or NEVER,
            threshold=rules.max_priority_threshold,
        ),
        fungibility=Fungibility(
            borrow=plan.when_can_borrow or STOP_SEARCH,
            preempt=plan.when_can_preempt or TRY_NEXT,
            prefer=plan.preference or BORROW_FIRST,
        ),
        stop=plan.stop_policy or RUNNING,
        checks=checks,
    )


def _quotas(entries: Iterable[FlavorQuotasPlan]) -> dict[Cell, Quota]:
    return {
        (entry.flavor, quota.resource): Quota(
            nominal=quota.nominal, borrowing_limit=quota.borrowing_limit, lending_limit=quota.lending_limit
        )
        for entry in entries
        for quota in entry.quotas
    }


def not_modelled(plan: FleetPlan) -> list[Problem]:
    """Warnings about what the fleet asks of Kueue that the simulation does not follow."""
    problems = Problems()
    if any(q.fair_share_weight is not None or q.admission_mode for q in (*plan.cluster_queues,)):
        problems.warning("not-modelled", (), "fair sharing is not modelled: queues are simulated without their weights")
    for flavor in plan.flavors:
        if flavor.topology is not None:
            message = f"topology is not modelled: jobs on flavor '{flavor.name}' are admitted by quota alone"
            problems.warning("not-modelled", (), message)
    for queue in plan.cluster_queues:
        for door in queue.local_queues:
            if door.stop_policy not in (None, RUNNING):
                message = f"local queue '{door.name}' of '{door.namespace}' is stopped, which is not modelled"
                problems.warning("not-modelled", (), message)
    return problems.found


def excluded(resource: str, prefixes: Iterable[str] = EXCLUDED) -> bool:
    """Whether Kueue is told to ignore a resource."""
    return any(resource.startswith(prefix) for prefix in prefixes)
