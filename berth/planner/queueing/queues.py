"""Plan cluster queues and their local queues: guarantees, limits and policies per flavor."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator

from msgspec import Struct

from berth.diagnostics import FieldPath
from berth.plan.grouping import grouped
from berth.plan.kueue import ClusterQueuePlan, PreemptionPlan, QueueCheckPlan
from berth.planner.allowances import CLUSTER, is_protected
from berth.planner.context import PlanningContext
from berth.planner.machines.pools import PlannedPool
from berth.planner.queueing.admission_checks import admission_check_name, slice_check_name
from berth.planner.queueing.flavors import FlavorGroup
from berth.planner.queueing.local_queues import (
    LocalQueueNames,
    check_weights,
    plan_local_queues,
    report_duplicate,
    stop_policy,
    team_namespaces,
)
from berth.planner.queueing.quotas import (
    FlavorIndex,
    QuotaOwner,
    check_lending_limit,
    covered_resources,
    flavor_quotas,
    flavor_requests,
)
from berth.planner.written_references import check_former_names
from berth.spec.teams import QueueSpec


class QueueRequest(Struct, frozen=True):
    """A queue of the stack file: its path, spec, teams and cohort."""

    path: FieldPath
    spec: QueueSpec
    name: str
    local_name: str
    teams: tuple[str, ...]
    cohort: str | None


def plan_cluster_queues(
    context: PlanningContext, pools: dict[str, PlannedPool], flavors: dict[str, FlavorGroup]
) -> tuple[ClusterQueuePlan, ...]:
    """Return every cluster queue of the fleet, by name."""
    check_former_names(context, ("teams",), context.spec.teams)
    for team, spec in sorted(context.spec.teams.items()):
        check_former_names(context, ("teams", team, "queues"), spec.queues)
    check_former_names(context, ("clusterQueues",), context.spec.cluster_queues)
    by_name: dict[str, ClusterQueuePlan] = {}
    local_names = LocalQueueNames()
    index = FlavorIndex(pools, flavors)
    # Team queues with derived names come first, so that a duplicate is reported at a written name.
    requests = sorted(_queue_requests(context), key=lambda each: (each.path[0] != "teams", each.path))
    for request in sorted(requests, key=lambda each: each.spec.name is not None or each.spec.local_queue is not None):
        queue = _cluster_queue(context, request, index)
        local_names.add(context, request.path, request.local_name, request.teams)
        if queue and queue.name in by_name:
            first_path = context.origins["cluster queue", queue.name]
            context.incomplete = True
            report_duplicate(context, (*request.path, "name"), f"cluster queue '{queue.name}'", first_path)
        elif queue:
            by_name[queue.name] = queue
            context.origins["cluster queue", queue.name] = request.path
            context.origins |= {
                ("local queue", f"{local_queue.namespace}/{local_queue.name}"): request.path
                for local_queue in queue.local_queues
            }
    return tuple(by_name[name] for name in sorted(by_name))


def queue_names(context: PlanningContext) -> list[str]:
    """Return the names of all cluster queues in Kueue."""
    own_names = (
        _own_name(spec.formerly or team, key, queue_spec)
        for team, spec in context.spec.teams.items()
        for key, queue_spec in spec.queues.items()
    )
    return [*own_names, *(_shared_name(key, shared) for key, shared in context.spec.cluster_queues.items())]


def _own_name(team: str, key: str, spec: QueueSpec) -> str:
    return spec.name or f"{team}-{spec.formerly or key}"


def _shared_name(key: str, spec: QueueSpec) -> str:
    return spec.name or spec.formerly or key


def _local_name(key: str, spec: QueueSpec) -> str:
    return spec.local_queue or spec.formerly or key


def queue_display_name(path: FieldPath, name: str) -> str:
    """Return a queue's name in messages: `team/queue` for a team's queue, else `name`."""
    return f"{path[1]}/{path[3]}" if path[0] == "teams" else name


def _queue_requests(context: PlanningContext) -> Iterator[QueueRequest]:
    for team, spec in sorted(context.spec.teams.items()):
        _check_cohort(context, spec.cohort, ("teams", team, "cohort"))
        for queue, queue_spec in sorted(spec.queues.items()):
            path: FieldPath = ("teams", team, "queues", queue)
            name = _own_name(spec.formerly or team, queue, queue_spec)
            yield QueueRequest(path, queue_spec, name, _local_name(queue, queue_spec), (team,), spec.cohort)
    for queue, shared in sorted(context.spec.cluster_queues.items()):
        path = ("clusterQueues", queue)
        known = {team_name: team_name for team_name in context.spec.teams}
        teams = [context.resolve("teams", t, known, (*path, "teams", i)) for i, t in enumerate(shared.teams)]
        served_teams = tuple(sorted({t for t in teams if t}))
        context.incomplete |= len(served_teams) < len(teams)
        _check_cohort(context, shared.cohort, (*path, "cohort"))
        yield QueueRequest(
            path, shared, _shared_name(queue, shared), _local_name(queue, shared), served_teams, shared.cohort
        )


def _check_cohort(context: PlanningContext, cohort: str | None, path: FieldPath) -> None:
    if cohort is not None:
        context.incomplete |= context.resolve("cohorts", cohort, context.spec.cohorts, path) is None


def _cluster_queue(context: PlanningContext, request: QueueRequest, index: FlavorIndex) -> ClusterQueuePlan | None:
    spec = request.spec
    owner = QuotaOwner(request.path, spec.flavors, spec.per_accelerator, request.cohort)
    quota_requests = flavor_requests(context, owner, index)
    for quota_request in quota_requests:
        check_lending_limit(context, quota_request, quota_request.limits.nominal)
    if spec.priority is not None:
        context.resolve("priorities", spec.priority, context.spec.priorities, (*request.path, "priority"))
    if not quota_requests:
        return None
    check_weights(context, request.path, spec.local_queue_weights, request.teams)
    resources = covered_resources(quota_requests)
    fungibility = spec.flavor_fungibility
    effective_stop_policy = stop_policy(context, request.path, spec, request.teams)
    # No job runs on the guarantee of a drained queue.
    has_guarantee = effective_stop_policy != "HoldAndDrain" and any(c.limits.nominal for c in quota_requests)
    namespaces = {namespace.name for team in request.teams for namespace in team_namespaces(context, team)}
    belongs_to_team = request.path[0] == "teams"
    return ClusterQueuePlan(
        name=request.name,
        teams=request.teams,
        cohort=request.cohort,
        queueing_strategy=spec.queueing_strategy,
        namespaces=None if spec.namespaces == "all" else tuple(sorted(namespaces)),
        covered_resources=resources,
        flavors=tuple(flavor_quotas(context, owner, entry, resources, entry.limits) for entry in quota_requests),
        preemption=_preemption_plan(context, request, [choice.flavor for choice in quota_requests]),
        when_can_borrow=fungibility.when_can_borrow if fungibility else None,
        when_can_preempt=fungibility.when_can_preempt if fungibility else None,
        priority=spec.priority,
        local_queues=tuple(
            plan_local_queues(
                context, request.path, request.name, request.local_name, request.teams, spec.local_queue_weights
            )
        ),
        admission_checks=queue_checks(choice.flavor for choice in quota_requests),
        stop_policy=effective_stop_policy,
        fair_share_weight=spec.fair_share_weight,
        protect=has_guarantee and is_queue_protected(context, request.name),
        labels=dict(sorted(context.spec.teams[request.teams[0]].labels.items())) if belongs_to_team else {},
        preference=fungibility.preference if fungibility else None,
        max_jobs=spec.max_jobs,
        admission_mode=spec.admission_scope.admission_mode if spec.admission_scope else None,
    )


def is_queue_protected(context: PlanningContext, name: str) -> bool:
    """Return whether a queue is protected; an allowance for the cluster includes its queues."""
    return is_protected(context, f"clusterQueues.{name}") and is_protected(context, CLUSTER)


def queue_checks(planned_flavors: Iterable[FlavorGroup]) -> tuple[QueueCheckPlan, ...]:
    """Return each admission check of queued and of dynamically sliced flavors, with the flavors it applies to."""
    flavors_by_check = grouped(
        (name, flavor.name)
        for flavor in planned_flavors
        for name in (admission_check_name(flavor), slice_check_name(flavor))
        if name is not None
    )
    return tuple(
        QueueCheckPlan(name=name, on_flavors=tuple(flavors_by_check[name])) for name in sorted(flavors_by_check)
    )


# --- rules between fields ---------------------------------------------------------------------------------------------


def _preemption_plan(
    context: PlanningContext, request: QueueRequest, flavors: Collection[FlavorGroup]
) -> PreemptionPlan:
    spec = request.spec.preemption
    reclaim_policy = spec.reclaim_within_cohort or ("Any" if request.cohort else "Never")
    borrow_policy = spec.borrow_within_cohort
    if borrow_policy and borrow_policy.policy != "Never" and reclaim_policy == "Never":
        path = (*request.path, "preemption", "borrowWithinCohort")
        message = f"'{borrow_policy.policy}' needs reclaiming; write reclaimWithinCohort: LowerPriority or Any"
        context.problems.fault("bad-preemption", path, message)
    return PreemptionPlan(
        within_cluster_queue=spec.within_cluster_queue or _default_within(context, request, flavors),
        reclaim_within_cohort=reclaim_policy,
        borrow_within_cohort=borrow_policy.policy if borrow_policy else None,
        max_priority_threshold=borrow_policy.max_priority_threshold if borrow_policy else None,
    )


def _default_within(context: PlanningContext, request: QueueRequest, flavors: Collection[FlavorGroup]) -> str:
    """Return whether jobs preempt others of their queue where nobody wrote it: not if machines come after a wait."""
    if not all(map(admission_check_name, flavors)):
        return "LowerPriority"
    if not context.spec.priorities:
        return "Never"
    context.problems.warning(
        "preempts-after-wait",
        (*request.path, "preemption"),
        "all machines of this queue are queued: a job of higher priority preempts one that has waited for its "
        "machines, which then waits for new ones; write withinClusterQueue: Never to let it finish, or LowerPriority "
        "to accept it",
    )
    return "LowerPriority"
