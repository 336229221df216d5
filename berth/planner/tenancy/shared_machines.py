"""What a team shares with others: machines that they can want back, and queues."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import date

from msgspec.structs import replace

from berth.clock import as_of
from berth.plan.kueue import PODS, ClusterQueuePlan
from berth.plan.policies import DEFAULT_MAX_GRACE
from berth.plan.teams import NamespacePlan, SharedQueuePlan
from berth.planner.context import PlanningContext
from berth.planner.queueing.flavors import FlavorGroup
from berth.planner.queueing.quota_tree import QuotaTree


def check_sharing(context: PlanningContext, teams: Mapping[str, set[str]]) -> None:
    """Warn of settings that let one team hold up others: long grace periods, and a head that all jobs wait for."""
    for name, spec in sorted(context.spec.cluster_queues.items()):
        if spec.queueing_strategy == "StrictFIFO" and len(spec.teams) > 1:
            message = (
                "'StrictFIFO' lets the first job of one team hold up the jobs of all teams until it fits; "
                "write BestEffortFIFO"
            )
            context.problems.warning("shared-strict-fifo", ("clusterQueues", name, "queueingStrategy"), message)
    shared = {team for names in teams.values() if len(names) > 1 for team in names}
    for name, spec in sorted(context.spec.teams.items()):
        seconds = spec.max_grace_period
        if seconds is not None and seconds > DEFAULT_MAX_GRACE and name in shared:
            message = (
                f"a job that lost its quota may keep machines that other teams want back for {seconds} s; "
                f"write at most {DEFAULT_MAX_GRACE // 60}m"
            )
            context.problems.warning("long-grace-period", ("teams", name, "maxGracePeriod"), message)
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
    flavors = {entry.flavor for queue in queues for entry in queue.flavors}
    if not any(len(teams[flavor]) > 1 for flavor in flavors):
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
