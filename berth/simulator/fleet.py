"""The simulated fleet: its queues, and the names that manifests and outputs use for them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from msgspec import Struct, field
from msgspec.structs import replace

from berth.diagnostics import Problem, Problems
from berth.jobs.claims import NO_CLAIMS, Claims
from berth.jobs.namespaces import NO_NAMESPACE_DEFAULTS, NamespaceDefaults, namespace_defaults
from berth.placement.kueue import ResourceFlavor
from berth.placement.node_classes import NodeClass
from berth.plan.configuration import ConfigurationPlan
from berth.plan.fleet import FleetPlan
from berth.plan.kueue import CPU, USAGE_BASED, ClusterQueuePlan, FlavorQuotasPlan, QuotaLimits
from berth.simulator.integrations import Integrations, integrations
from berth.simulator.scheduler.model import (
    BORROWING_FIRST,
    MAY_STOP_SEARCH,
    RUNNING,
    STRICT_FIFO,
    TRY_NEXT_FLAVOR,
    AdmissionFairSharing,
    ClusterQueue,
    Cohort,
    FlavorFungibility,
    FlavorResource,
    Job,
    ResourceGroup,
    SchedulerSetup,
)
from berth.simulator.scheduler.state import QueueState
from berth.versions.gates import kueue_gates

LocalQueueKey = tuple[str, str]
"""A local queue: its namespace and name."""

EXCLUDED_PREFIXES = ("ephemeral-storage",)
"""Prefixes of resources that Berth configures Kueue to ignore."""


_FROM_RESERVATION: Final = "AdmissionFairSharingAnchorAtQuotaReservation"
"""The gate with which usage counts from the reservation of quota."""


class SimulatedFleet(Struct, frozen=True):
    """The queues of a fleet, and the names by which jobs refer to them.

    `local_queues`: local queue → cluster queue, and `local_queue_teams` → its team. `queue_display_names` and
    `queue_owners`: cluster queue → its name in output, its owner. `accelerator_nouns`: flavor and resource → noun for
    its accelerators. `priorities` are by name. `claims` are the devices that pods claim.
    """

    name: str
    setup: SchedulerSetup
    local_queues: Mapping[LocalQueueKey, str] = field(default_factory=dict[LocalQueueKey, str])
    local_queue_teams: Mapping[LocalQueueKey, str] = field(default_factory=dict[LocalQueueKey, str])
    queue_display_names: Mapping[str, str] = field(default_factory=dict[str, str])
    queue_owners: Mapping[str, str] = field(default_factory=dict[str, str])
    accelerator_nouns: Mapping[tuple[str, str], str] = field(default_factory=dict[tuple[str, str], str])
    priorities: Mapping[str, int] = field(default_factory=dict[str, int])
    default_priority: int = 0
    integrations: Integrations = Integrations()
    claims: Claims = NO_CLAIMS
    namespaces: NamespaceDefaults = NO_NAMESPACE_DEFAULTS

    def find_queue(self, name: str) -> str | None:
        """Return the cluster queue by its name, its display name or a local queue `namespace/name`; None if unknown."""
        if any(queue.name == name for queue in self.setup.queues):
            return name
        namespace, _, local = name.partition("/")
        matches = (queue for queue, label in self.queue_display_names.items() if label == name)
        return self.local_queues.get((namespace, local)) or next(matches, None)

    def find_local_queue(self, name: str, queue: str, team: str = "") -> str:
        """Return the local queue that a name of a cluster queue means, or that its team has; "" if it has several."""
        if self.setup.admission_fair_sharing is None:
            return ""  # nobody asks
        namespace, _, local = name.partition("/")
        if self.local_queues.get((namespace, local)) == queue:
            return name
        known = [
            "/".join(key)
            for key, of in self.local_queues.items()
            if of == queue and team in ("", self.local_queue_teams.get(key))
        ]
        return known[0] if len(known) == 1 else ""

    def queue_names(self) -> list[str]:
        """Return every name that `find_queue` accepts, display names first."""
        local_names = [f"{namespace}/{name}" for namespace, name in self.local_queues]
        return list(
            dict.fromkeys(
                [*self.queue_display_names.values(), *local_names, *(queue.name for queue in self.setup.queues)]
            )
        )


def build_simulated_fleet(plan: FleetPlan) -> SimulatedFleet:
    """Return the simulated fleet of a plan."""
    return SimulatedFleet(
        name=plan.stack,
        setup=_build_setup(plan),
        local_queues={
            (d.namespace, d.name): d.cluster_queue for queue in plan.cluster_queues for d in queue.local_queues
        },
        local_queue_teams={(d.namespace, d.name): d.team for queue in plan.cluster_queues for d in queue.local_queues},
        queue_display_names={queue.name: _display_name(queue) for queue in plan.cluster_queues},
        queue_owners={queue.name: " and ".join(queue.teams) or queue.name for queue in plan.cluster_queues},
        accelerator_nouns={(flavor.name, flavor.resource): flavor.noun for flavor in plan.flavors},
        priorities={priority.name: priority.value for priority in plan.priorities},
        default_priority=next((priority.value for priority in plan.priorities if priority.default), 0),
        integrations=integrations(plan),
        claims=Claims(plan),
        namespaces=namespace_defaults(plan),
    )


def with_topology_nodes(plan: FleetPlan, classes: Iterable[NodeClass]) -> SimulatedFleet:
    """Return the simulated fleet of a plan with the nodes of flavors with a topology, on which Kueue places pods."""
    fleet, known = build_simulated_fleet(plan), tuple(classes)
    flavors = fleet.setup.resource_flavors
    nodes = {name: known for name, flavor in flavors.items() if flavor.levels is not None}
    return replace(fleet, setup=replace(fleet.setup, topology_nodes=nodes)) if nodes else fleet


def _build_setup(plan: FleetPlan) -> SchedulerSetup:
    resources = {flavor.name: flavor.resource for flavor in plan.flavors}
    levels = {topology.name: topology.levels for topology in plan.topologies}
    return SchedulerSetup(
        queues=tuple(_build_queue(queue, resources) for queue in plan.cluster_queues),
        cohorts=tuple(
            Cohort(
                name=cohort.name,
                parent=cohort.parent,
                quotas=_build_quotas(cohort.flavors),
                weight=_build_weight(cohort.fair_share_weight),
            )
            for cohort in plan.cohorts
        ),
        fair_strategies=None if plan.kueue is None else plan.kueue.fair_sharing,
        admission_fair_sharing=_build_usage_rules(plan.kueue, plan.kueue_release),
        resource_flavors={
            flavor.name: ResourceFlavor(
                node_labels=flavor.node_labels,
                tolerations=flavor.tolerations,
                levels=levels.get(flavor.topology or ""),
            )
            for flavor in plan.flavors
        },
        partial_admission=plan.kueue is None or plan.kueue.feature_gates.get("PartialAdmission", True),
        workers={worker.name: _build_setup(worker.plan) for worker in plan.workers},
    )


def _build_usage_rules(plan: ConfigurationPlan | None, release: str | None) -> AdmissionFairSharing | None:
    """Return how local queues take turns; weights are per unit of the simulation, which counts cpu in milli."""
    if plan is None or plan.admission_fair_sharing is None:
        return None
    sharing, gates = plan.admission_fair_sharing, kueue_gates(release) if release else None
    return AdmissionFairSharing(
        half_life_seconds=sharing.half_life_seconds,
        sampling_seconds=sharing.sampling_seconds,
        resource_weights={**sharing.resource_weights, CPU: sharing.resource_weights.get(CPU, 1.0) / 1000},
        from_reservation=gates is not None and gates.is_on(plan.feature_gates, _FROM_RESERVATION),
    )


def _display_name(queue: ClusterQueuePlan) -> str:
    """Return `team/queue` for a queue with one local queue, otherwise the cluster queue's name."""
    if len(queue.local_queues) != 1:
        return queue.name
    local_queue = queue.local_queues[0]
    return f"{local_queue.team}/{local_queue.name}"


def _build_queue(plan: ClusterQueuePlan, resources: Mapping[str, str]) -> ClusterQueue:
    """Return a queue; `resources` are the accelerators of each flavor, to which a provisioning check applies."""
    flavors = tuple(entry.flavor for entry in plan.flavors)
    checks: dict[FlavorResource, tuple[str, ...]] = {}
    for check in plan.admission_checks:
        for flavor in check.on_flavors or flavors:
            flavor_resource = (flavor, resources[flavor])
            checks[flavor_resource] = (*checks.get(flavor_resource, ()), check.name)
    return ClusterQueue(
        name=plan.name,
        cohort=plan.cohort,
        is_strict_fifo=plan.queueing_strategy == STRICT_FIFO,
        resource_groups=(ResourceGroup(resources=plan.covered_resources, flavors=flavors),),
        quotas=_build_quotas(plan.flavors),
        preemption=plan.preemption,
        fungibility=FlavorFungibility(
            when_can_borrow=plan.when_can_borrow or MAY_STOP_SEARCH,
            when_can_preempt=plan.when_can_preempt or TRY_NEXT_FLAVOR,
            preference=plan.preference or BORROWING_FIRST,
        ),
        stop_policy=plan.stop_policy or RUNNING,
        admission_checks=checks,
        weight=_build_weight(plan.fair_share_weight),
        local_weights=None  # they take turns by other means than usage
        if plan.admission_mode != USAGE_BASED
        else {f"{each.namespace}/{each.name}": _build_weight(each.fair_share_weight) for each in plan.local_queues},
    )


def _build_weight(written: float | None) -> float:
    return 1.0 if written is None else written


def _build_quotas(entries: Iterable[FlavorQuotasPlan]) -> dict[FlavorResource, QuotaLimits]:
    return {(entry.flavor, quota.resource): quota for entry in entries for quota in entry.quotas}


_BOTH_STRATEGIES: Final = (
    "with both strategies of fair sharing, jobs can preempt each other without end (Kueue #14543); where they do, the "
    "result shows a preemption loop; write preemptionStrategies: [LessThanOrEqualToFinalShare]: loops are rarer then"
)


def unmodelled_warnings(plan: FleetPlan) -> list[Problem]:
    """Return warnings about features of Kueue that the simulation does not model, or that can run without end."""
    problems = Problems()
    if plan.kueue is not None and len(plan.kueue.fair_sharing or ()) > 1:
        problems.warning("preemption-loop", (), _BOTH_STRATEGIES)
    for queue in plan.cluster_queues:
        for local_queue in queue.local_queues:
            if local_queue.stop_policy not in (None, RUNNING):
                message = (
                    f"local queue '{local_queue.name}' of '{local_queue.namespace}' is stopped, which is not modelled"
                )
                problems.warning("not-modelled", (), message)
    return problems.entries


def turn_warnings(fleet: SimulatedFleet, queues: Mapping[str, QueueState]) -> list[Problem]:
    """Return a warning for each queue in which a turn of a local queue depended on time, after a run without it."""
    problems = Problems()
    for name, line in queues.items():
        if line.ledger is not None and (doubt := line.ledger.doubt) is not None:
            message = (
                f"queue {fleet.queue_display_names.get(name, name)}: that local queue {doubt.first} comes before "
                f"{doubt.other} depends on the time between steps; here none passes, and berth simulate has times"
            )
            problems.warning("turn-unknown", (), message)
    return problems.entries


def nameless_warnings(fleet: SimulatedFleet, jobs: Iterable[Job]) -> list[Problem]:
    """Return a warning for each queue whose local queues take turns and where that of a job is not known."""
    queues = {queue.name for queue in fleet.setup.queues if queue.local_weights is not None}
    problems = Problems()
    for name in sorted({job.queue for job in jobs if not job.local_queue and job.queue in queues}):
        message = (
            f"queue {fleet.queue_display_names.get(name, name)}: its local queues take turns, and of some jobs it is "
            "not known which is theirs; they count as those of one more; write the queue as NAMESPACE/LOCALQUEUE"
        )
        problems.warning("turn-unknown", (), message)
    return problems.entries


def is_excluded(resource: str) -> bool:
    """Return whether Kueue is configured to ignore a resource."""
    return resource.startswith(EXCLUDED_PREFIXES)
