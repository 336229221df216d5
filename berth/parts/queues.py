"""Plan Kueue, the flavors of described pools, and the queues of one team on them, in a cluster of others."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, cast

from msgspec import Struct
from msgspec.structs import replace

from berth.diagnostics import FieldPath, Problem, Problems
from berth.parts.context import finds_every_fault, part_context, part_problems
from berth.plan.admission_checks import AdmissionCheckPlan, ProvisioningConfigPlan
from berth.plan.capacity import TimedGuarantee
from berth.plan.kueue import ChartPlan, ClusterQueuePlan, CohortPlan, FlavorPlan, PriorityPlan, TopologyPlan
from berth.plan.teams import TeamPlan
from berth.planner.cluster.controllers import KUEUE_RELEASE, controller_charts, kueue_configuration
from berth.planner.context import PlanningContext
from berth.planner.machines.pools import PlannedPool, berth_capacity_taints, derive_pools
from berth.planner.queueing.admission_checks import plan_checks
from berth.planner.queueing.cohorts import plan_cohorts
from berth.planner.queueing.flavors import FlavorGroup, flavor_plan, plan_flavors, topology_plans
from berth.planner.queueing.priorities import plan_priorities
from berth.planner.queueing.queues import plan_cluster_queues
from berth.planner.queueing.quota_tree import guaranteed_by_flavor
from berth.planner.queueing.windows import planned_calendar
from berth.rules.kueue import OBJECT_RULES, configuration_violations
from berth.rules.kueue.rule import find_violations
from berth.validation import capacity, reachability, resource_rates
from berth.validation.every_instant import at_every_instant
from berth.validation.quota_claims import collect_claims

_SECTIONS: Final = ("pools", "flavors", "priorities", "protect")
"""Arguments that are keys of a fleet."""
_CLUSTER_QUEUES: Final = 256
"""The cluster queues that Kueue's manager is sized for where they are not known."""


class QueuesPart(Struct, frozen=True, kw_only=True):
    """Flavors with what they need, and the queues on them; incomplete with a fault in `problems`."""

    flavors: tuple[FlavorPlan, ...]
    topologies: tuple[TopologyPlan, ...]
    admission_checks: tuple[AdmissionCheckPlan, ...]
    provisioning_configs: tuple[ProvisioningConfigPlan, ...]
    cohorts: tuple[CohortPlan, ...]
    cluster_queues: tuple[ClusterQueuePlan, ...]
    problems: tuple[Problem, ...]
    teams: tuple[TeamPlan, ...] = ()
    calendar: tuple[TimedGuarantee, ...] = ()


class PrioritiesPart(Struct, frozen=True):
    """Priorities, lowest first; incomplete with a fault in `problems`."""

    plan: tuple[PriorityPlan, ...]
    problems: tuple[Problem, ...]


class ControllersPart(Struct, frozen=True):
    """The charts of Kueue and JobSet; incomplete with a fault in `problems`."""

    plan: tuple[ChartPlan, ...]
    problems: tuple[Problem, ...]


@finds_every_fault
def plan_queues(name: str, arguments: Mapping[str, Any], known_problems: Sequence[Problem] = ()) -> QueuesPart:
    """Plan the flavors of `pools` and, with the argument `team`, its `queues`, which may be in a `cohort` of others.

    A pool is described by the arguments of a NodePool; a reservation in its `capacity` is one of any owner, by name.
    """
    part = _plan_queues(name, arguments, known_problems)

    def again() -> tuple[Problem, ...]:
        return _plan_queues(name, arguments, known_problems).problems

    return replace(part, problems=at_every_instant(part.problems, again, part.calendar))


def _plan_queues(name: str, arguments: Mapping[str, Any], known_problems: Sequence[Problem]) -> QueuesPart:
    team = arguments.get("team")
    path: FieldPath = ("teams", str(team)) if team is not None else ()
    sections = {key: arguments[key] for key in _SECTIONS if key in arguments}
    if team is not None:
        cohort = {"cohort": arguments["cohort"]} if "cohort" in arguments else {}
        sections["cohorts"] = {arguments["cohort"]: {}} if cohort else {}
        sections["teams"] = {str(team): {**cohort, "queues": arguments.get("queues")}}
    context = described_context(name, sections, path, known_problems)
    pools = derive_pools(context, {})
    part = queues_part(context, pools, plan_flavors(context, pools))
    _check(context, part)
    named: dict[FieldPath, str] = {path: "team"} if path else {}
    if "cohort" in arguments:
        named["cohorts", str(arguments["cohort"])] = "cohort"
    return replace(part, problems=part_problems(context.problems.entries, path, named))


@finds_every_fault
def plan_priority_classes(
    name: str, arguments: Mapping[str, Any], known_problems: Sequence[Problem] = ()
) -> PrioritiesPart:
    """Plan `priorities` alone."""
    sections = {key: arguments[key] for key in ("priorities",) if key in arguments}
    context = part_context(name, sections, (), known_problems, cluster_of_others=True)
    planned = plan_priorities(context)
    return PrioritiesPart(planned, part_problems(context.problems.entries, ()))


@finds_every_fault
def plan_controllers(
    name: str, arguments: Mapping[str, Any], known_problems: Sequence[Problem] = ()
) -> ControllersPart:
    """Plan `kueue` and `jobset`.

    Kueue counts the network devices of the `pools` and is sized for their nodes. It holds jobs without a queue name in
    no namespace but those of a selector: the namespaces of teams are not known.
    """
    sections = {key: arguments[key] for key in ("kueue", "jobset", "pools", "flavors") if key in arguments}
    context = described_context(name, sections, (), known_problems)
    pools = derive_pools(context, {})
    devices = [one for each in plan_flavors(context, pools).values() for one in each.claimed]
    kueue = kueue_configuration(context, devices)
    if kueue is not None:
        if kueue.manage_jobs_without_queue_name and kueue.managed_namespaces is None:
            message = "is missing; without it Kueue would hold the jobs of every namespace, also those of GKE itself"
            context.problems.fault("missing-key", ("kueue", "managedJobsNamespaceSelector"), message)
        for found in configuration_violations(kueue, context.spec.kueue.version or KUEUE_RELEASE[0]):
            context.problems.entries.append(Problem(found.severity, found.code, ("kueue", *found.path), found.message))
    charts = controller_charts(context, kueue, _CLUSTER_QUEUES, [each.hardware.nodes.max for each in pools.values()])
    return ControllersPart(charts, part_problems(context.problems.entries, ()))


def described_context(
    name: str,
    sections: Mapping[str, Any],
    path: FieldPath,
    known_problems: Sequence[Problem],
    *,
    cluster_of_others: bool = True,
) -> PlanningContext:
    """Return the context of a part whose pools may name reservations of any owner."""
    named = {each: each for each in _reservations(sections.get("pools"))}
    return part_context(
        name, sections, path, known_problems, named_reservations=named, cluster_of_others=cluster_of_others
    )


def _reservations(pools: object) -> Iterator[str]:
    """Yield the reservations that described pools name."""
    for pool in _mapping(pools).values():
        name = _mapping(_mapping(pool).get("capacity")).get("reservation")
        if isinstance(name, str):
            yield name


def _mapping(value: object) -> Mapping[str, object]:
    return cast("Mapping[str, object]", value) if isinstance(value, Mapping) else {}


def queues_part(context: PlanningContext, pools: dict[str, PlannedPool], flavors: dict[str, FlavorGroup]) -> QueuesPart:
    """Return the flavors of described pools, and the queues on them that are in the `context`."""
    queues = plan_cluster_queues(context, pools, flavors)
    cohorts = plan_cohorts(context, queues, pools, flavors)
    plan_priorities(context)
    checks = plan_checks(context, flavors)
    resources = {flavor.name: flavor.resource for flavor in flavors.values()}
    guaranteed = guaranteed_by_flavor(queues, resources)
    return QueuesPart(
        flavors=tuple(_tolerant(flavor_plan(context, each, guaranteed[each.name]), each) for each in flavors.values()),
        topologies=topology_plans(flavors),
        admission_checks=checks.checks,
        provisioning_configs=checks.provisioning_configs,
        cohorts=cohorts,
        cluster_queues=queues,
        problems=(),
        calendar=planned_calendar(context),
    )


def _tolerant(plan: FlavorPlan, flavor: FlavorGroup) -> FlavorPlan:
    """Return the flavor with tolerations of the taints that a NodePool of the same description has."""
    taints = dict.fromkeys(taint for pool in flavor.pools for taint in berth_capacity_taints(pool.spec.capacity.kind))
    more = [taint.tolerated for taint in taints if taint.tolerated not in plan.tolerations]
    return replace(plan, tolerations=(*plan.tolerations, *more))


def _check(context: PlanningContext, part: QueuesPart) -> None:
    """Report guarantees without capacity, limits that cannot be reached, and what Kueue refuses."""
    if context.set_aside or context.incomplete:
        return
    problems, claims = Problems(), collect_claims(part, context.origins)
    capacity.check_guarantees(claims, problems)
    reachability.check_limits_reachable(claims, problems)
    reachability.check_queues_can_admit(claims, problems)
    resource_rates.check_resource_rates(claims, problems)
    context.problems.entries += problems.entries
    if context.problems.has_faults():
        return
    for kind, objects in (
        ("cluster queue", part.cluster_queues),
        ("admission check", part.admission_checks),
        ("provisioning config", part.provisioning_configs),
    ):
        for each in objects:
            for found in find_violations(OBJECT_RULES[kind], (kind, each.name), each):
                path = (*context.origins.get(found.ref, ()), *found.path)
                context.problems.entries.append(Problem(found.severity, found.code, path, found.message))
