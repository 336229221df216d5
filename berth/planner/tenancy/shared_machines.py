"""What a team shares with others: machines that they can want back, queues, and machines without accelerators."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import date

from msgspec.structs import replace

from berth.clock import as_of
from berth.plan.kueue import CPU, PODS, ClusterQueuePlan
from berth.plan.policies import DEFAULT_MAX_GRACE
from berth.plan.teams import NamespacePlan, SharedQueuePlan
from berth.planner.context import PlanningContext
from berth.planner.queueing.flavors import FlavorGroup
from berth.planner.queueing.quota_tree import QuotaTree


def check_sharing(context: PlanningContext, teams: Mapping[str, set[str]]) -> None:
    """Warn of settings that let one team hold up others: long grace periods, and a head that all jobs wait for."""
    for name, spec in sorted(context.spec.cluster_queues.items()):
        if spec.queueing_strategy == "StrictFIFO" and len(spec.teams) > 1:
            context.problems.warning(
                "shared-strict-fifo",
                ("clusterQueues", name, "queueingStrategy"),
                "'StrictFIFO' lets the first job of one team hold up the jobs of all teams until it fits; "
                "write BestEffortFIFO",
            )
    shared = {team for names in teams.values() if len(names) > 1 for team in names}
    for name, spec in sorted(context.spec.teams.items()):
        seconds = spec.max_grace_period
        if seconds is not None and seconds > DEFAULT_MAX_GRACE and name in shared:
            context.problems.warning(
                "long-grace-period",
                ("teams", name, "maxGracePeriod"),
                f"a job that lost its quota may keep machines that other teams want back for {seconds} s; "
                f"write at most {DEFAULT_MAX_GRACE // 60}m",
            )
    for name, policy in sorted(context.spec.platform.policies.items()):
        if policy.until is not None and date.fromisoformat(policy.until) < as_of():
            message = f"the policy berth-{name} still only warns after {policy.until}; remove platform.policies.{name}"
            context.problems.warning("policy-only-warns", ("platform", "policies", name, "until"), message)


def teams_by_flavor(queues: Iterable[ClusterQueuePlan]) -> dict[str, set[str]]:
    """Return flavor → the teams with a queue that has quota of it, or borrows it."""
    teams: dict[str, set[str]] = {}
    for queue in queues:
        for entry in queue.flavors:
            teams.setdefault(entry.flavor, set()).update(queue.teams)
    return teams


def max_grace(
    context: PlanningContext, team: str, queues: Iterable[ClusterQueuePlan], teams: Mapping[str, set[str]]
) -> int | None:
    """Return the longest grace period of a team's pods in seconds; None if all its machines are its own."""
    if not any(len(teams[flavor]) > 1 for flavor in {entry.flavor for queue in queues for entry in queue.flavors}):
        return None
    return context.spec.teams[team].max_grace_period or DEFAULT_MAX_GRACE


def with_shared_queues(
    context: PlanningContext,
    namespaces: Iterable[NamespacePlan],
    team: str,
    queues: Iterable[ClusterQueuePlan],
    flavors: Mapping[str, FlavorGroup],
    tree: QuotaTree,
) -> tuple[NamespacePlan, ...]:
    """Return a team's namespaces with the local queues there that lead to a queue of several teams."""
    shared = [
        (door, queue) for queue in queues if len(queue.teams) > 1 for door in queue.local_queues if door.team == team
    ]
    return tuple(
        replace(
            each,
            shared_queues=tuple(
                SharedQueuePlan(
                    name=door.name,
                    priorities=_priorities(context, team, queue),
                    ceilings=_ceilings(queue, flavors, tree),
                )
                for door, queue in sorted(shared, key=lambda pair: pair[0].name)
                if door.namespace == each.name
            ),
        )
        for each in namespaces
    )


def _priorities(context: PlanningContext, team: str, queue: ClusterQueuePlan) -> tuple[str, ...]:
    """Return the priorities of jobs in a shared queue: its own, the default and those granted to the team."""
    known = context.spec.priorities
    own = {queue.priority} if queue.priority is not None else set[str]()
    default = {name for name, priority in known.items() if priority.default}
    return tuple(sorted((own | default | set(context.spec.teams[team].pod_priorities)) & set(known)))


def _ceilings(queue: ClusterQueuePlan, flavors: Mapping[str, FlavorGroup], tree: QuotaTree) -> dict[str, int]:
    """Return resource name → the most of it that a job can ever have of one of the queue's flavors."""
    if queue.queueing_strategy != "StrictFIFO":
        return {}
    most: dict[str, int] = {}
    quotas = tree.ceilings([queue])
    for entry in queue.flavors:
        flavor = flavors[entry.flavor]
        amounts = {flavor.resource: min(flavor.capacity.max, quotas.get(entry.flavor, 0))}
        if queue.cohort is None:
            amounts |= {each.resource: each.nominal for each in entry.quotas if each.resource == PODS}
        for resource, amount in amounts.items():
            most[resource] = max(most.get(resource, 0), amount)
    return dict(sorted(most.items()))


def with_plain_machines(
    namespaces: Iterable[NamespacePlan],
    team: str,
    queues: Iterable[ClusterQueuePlan],
    flavors: Mapping[str, FlavorGroup],
) -> tuple[NamespacePlan, ...]:
    """Return a team's namespaces with their queues without accelerators, and of those with both the labels of machines.

    The labels are of machines without accelerators.
    """
    labels = {queue.name: _labels(queue, flavors) for queue in queues}
    plain = {queue.name for queue in queues if all(flavors[each.flavor].resource == CPU for each in queue.flavors)}
    doors = sorted((door for q in queues for door in q.local_queues if door.team == team), key=lambda door: door.name)
    return tuple(
        replace(
            each,
            plain_queues=tuple(d.name for d in doors if d.namespace == each.name and d.cluster_queue in plain),
            plain_machines={
                door.name: labels[door.cluster_queue]
                for door in doors
                if door.namespace == each.name and labels[door.cluster_queue]
            },
        )
        for each in namespaces
    )


def _labels(queue: ClusterQueuePlan, flavors: Mapping[str, FlavorGroup]) -> tuple[tuple[str, str], ...]:
    """Return the node labels that only machines without accelerators have; none if all are of one kind.

    The scheduler then puts the pods there. Kueue compares a pod with a flavor by the labels of that flavor alone, so
    its choice also needs what the pods keep off (`PodPlan.absent_labels`).
    """
    entries = [flavors[entry.flavor] for entry in queue.flavors]
    plain = [each for each in entries if each.resource == CPU]
    others = {label for each in entries if each.resource != CPU for label in each.node_labels.items()}
    if not others:
        return ()
    return tuple(sorted({label for each in plain for label in each.node_labels.items()} - others))
