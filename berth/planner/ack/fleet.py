"""Plan a fleet on Alibaba Cloud: its machines, and its teams and queues in terms of ACK."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from msgspec import Struct
from msgspec.structs import replace

from berth.diagnostics import FieldPath, Problem, format_path
from berth.names import MAX_LABEL, shorten
from berth.plan.ack import AckFleetPlan, AckOnePlan, PropagationPlan
from berth.plan.fleet import AllowancesPlan
from berth.plan.kueue import ClusterQueuePlan, CohortPlan
from berth.plan.teams import TeamPlan
from berth.planner.ack import members
from berth.planner.ack.elastic_quotas import ROOT_NAME, elastic_quota_tree, node_names
from berth.planner.ack.flavors import plan_ack_flavors, plan_ack_pools
from berth.planner.ack.losses import ack_losses, report_quotas, without_limits, without_quotas
from berth.planner.allowances import checked_allowances, is_protected
from berth.planner.backend_losses import report_losses
from berth.planner.context import PlanningContext
from berth.planner.queueing import cohorts, flavors, priorities, queues
from berth.planner.queueing.local_queues import serving_paths
from berth.planner.queueing.quota_tree import QuotaTree, guaranteed_by_flavor
from berth.planner.queueing.windows import planned_calendar
from berth.planner.tenancy import teams
from berth.spec.ack import AckFleetSpec
from berth.spec.fleet import FleetSpec
from berth.spec.parse import Parsed
from berth.spec.tenancy import NetworkPolicySpec

FLEET = "fleet"
"""The key of the ACK One fleet instance."""


def ack_allowances(context: PlanningContext, members: Mapping[str, Iterable[str]], queues: list[str]) -> AllowancesPlan:
    """Return the allowances; `members` maps each member to its node pools.

    The change that deletes a queue also allows it, so an allowance may name a queue that no longer exists.
    """
    known = [
        *(f"{member}/{pool}" for member in sorted(members) for pool in sorted(members[member])),
        *(f"clusters.{member}" for member in sorted(members)),
        *(f"clusterQueues.{name}" for name in sorted(queues)),
        FLEET,
    ]
    remedy = "write <member>/<node pool>, clusters.<member>, clusterQueues.<name> or fleet"

    def is_set_aside(section: str, key: str) -> bool:
        return bool(context.set_aside) or (section == "allowDeletion" and key.startswith("clusterQueues."))

    return checked_allowances(context, known, remedy, is_set_aside)


_NOT_ON_ACK = "networkPolicy, podSecurity and the limits of namespaces"
"""What Berth creates for every team on Google Cloud by default."""


class AckPlanningResult(Struct, frozen=True):
    """A plan of everything without faults, like PlanningResult for Google Cloud."""

    plan: AckFleetPlan
    problems: tuple[Problem, ...]
    origins: Mapping[tuple[str, str], FieldPath]
    complete: bool
    machines_complete: bool
    node_pool_paths: Mapping[str, FieldPath]

    def with_node_pool_path(self, problem: Problem) -> Problem:
        """Return the problem with the path of the node pool instead of the pool."""
        return _with_node_pool_path(problem, self.node_pool_paths)


def plan_ack(stack: str, parsed: Parsed[AckFleetSpec]) -> AckPlanningResult | None:
    """Plan a fleet on Alibaba Cloud; None if the file is too faulty to plan anything."""
    if parsed.spec is None:
        return None
    context = PlanningContext(stack, _backend_neutral_spec(parsed.spec), set(parsed.set_aside))
    report_losses(context, "ack", ack_losses(parsed.spec), parsed.spec.accept_loss)
    planned_members = members.plan_members(context, parsed.spec)
    plan = _plan(context, parsed.spec, planned_members)
    faulty_sections = {section for section, _ in context.set_aside}
    machines_complete = faulty_sections.isdisjoint({"ack", "pools", "flavors"})
    complete = (
        machines_complete
        and faulty_sections.isdisjoint({"cohorts", "teams", "clusterQueues"})
        and not context.incomplete
    )
    problems = tuple(
        _with_node_pool_path(problem, planned_members.node_pool_paths) for problem in context.problems.entries
    )
    return AckPlanningResult(
        plan, problems, context.origins, complete, machines_complete, planned_members.node_pool_paths
    )


def _with_node_pool_path(problem: Problem, node_pool_paths: Mapping[str, FieldPath]) -> Problem:
    if (
        len(problem.path) > 1
        and problem.path[0] == "pools"
        and (node_pool_path := node_pool_paths.get(str(problem.path[1])))
    ):
        return replace(problem, path=(*node_pool_path, *problem.path[2:]))
    return problem


def _backend_neutral_spec(spec: AckFleetSpec) -> FleetSpec:
    """Return queues and teams without settings of Google Cloud, which `report_losses` reports.

    Of a fleet without a quota tree, return teams without quotas, and no cohorts and queues.
    """
    google_defaults = {"identity": None, "groups": (), "pod_security": None, "network_policy": NetworkPolicySpec()}
    has_tree = spec.ack.fleet.quota_tree
    teams = spec.teams if has_tree else without_quotas(spec.teams)
    sections = {
        "protect": spec.protect,
        "allow_replacement": spec.allow_replacement,
        "allow_deletion": spec.allow_deletion,
        "allow_change": spec.allow_change,
        "flavors": spec.flavors,
        "priorities": spec.priorities,
        "cohorts": spec.cohorts if has_tree else {},
        "teams": {name: team.model_copy(update=google_defaults) for name, team in teams.items()},
        "cluster_queues": spec.cluster_queues if has_tree else {},
    }
    return FleetSpec.model_validate({"project": "alibaba-cloud", "region": "none-here1"}).model_copy(update=sections)


def _plan(context: PlanningContext, spec: AckFleetSpec, planned_members: members.PlannedMembers) -> AckFleetPlan:
    pools = {name: list(member.node_pools) for name, member in spec.ack.clusters.items()}
    has_tree = spec.ack.fleet.quota_tree
    if not has_tree:
        report_quotas(context, spec)
    planned_pools = plan_ack_pools(spec, planned_members.plans)
    planned_flavors = plan_ack_flavors(context, planned_pools)
    queue_plans = queues.plan_cluster_queues(context, planned_pools, planned_flavors)
    cohort_plans = cohorts.plan_cohorts(context, queue_plans, planned_pools, planned_flavors)
    resource_of = {flavor.name: flavor.resource for flavor in planned_flavors.values()}
    guaranteed = guaranteed_by_flavor((*queue_plans, *cohort_plans), resource_of)
    team_plans = teams.plan_teams(
        context, queue_plans, QuotaTree(queue_plans, cohort_plans, resource_of), planned_flavors
    )
    if not has_tree:
        team_plans = without_limits(team_plans, planned_flavors)
    _check_leaf_namespaces(context, queue_plans)
    _check_tree_names(context, queue_plans, cohort_plans)
    for path in serving_paths(context):
        context.problems.fault(
            "not-expressible", path, "'true' is not possible on ACK, which queues only jobs; remove serving"
        )
    for team, team_spec in sorted(spec.teams.items()):
        if team_spec.capacity_buffers:
            message = "is not possible on ACK, which has no capacity buffers; remove capacityBuffers"
            context.problems.fault("not-expressible", ("teams", team, "capacityBuffers"), message)
    if any(namespace.owned for team in team_plans for namespace in team.namespaces):
        limits = "only quotas limit" if spec.ack.fleet.quota_tree else "nothing limits"
        message = f"Berth does not create {_NOT_ON_ACK} on ACK: {limits} users with access to a member's namespaces"
        context.problems.note("not-on-ack", ("ack",), message)
    return AckFleetPlan(
        stack=context.stack,
        region=spec.ack.region,
        fleet=_ack_one_plan(context, spec),
        members=tuple(planned_members.plans),
        flavors=tuple(
            flavors.flavor_plan(context, flavor, guaranteed[name]) for name, flavor in planned_flavors.items()
        ),
        priorities=priorities.plan_priorities(context),
        cohorts=cohort_plans,
        calendar=planned_calendar(context),
        cluster_queues=queue_plans,
        teams=team_plans,
        quotas=elastic_quota_tree(queue_plans, cohort_plans) if has_tree else None,
        propagations=tuple(_propagation_plans(spec, queue_plans, team_plans)),
        allowances=ack_allowances(context, pools, [queue.name for queue in queue_plans]),
        tags={"managed-by": "berth", "fleet": shorten(context.stack.lower(), MAX_LABEL)},
    )


def _ack_one_plan(context: PlanningContext, spec: AckFleetSpec) -> AckOnePlan:
    fleet_spec, path = spec.ack.fleet, ("ack", "fleet")
    if fleet_spec.existing is not None and fleet_spec.name is not None:
        message = f"fleet '{fleet_spec.existing}' already exists with its own name; remove name"
        context.problems.fault("contradiction", (*path, "name"), message)
    if fleet_spec.quota_tree and fleet_spec.propagation.suspension is False:
        message = "without suspension, jobs go to a member at once and quotas have no effect; write suspension: true"
        context.problems.warning("no-suspension", (*path, "propagation", "suspension"), message)
    if not fleet_spec.propagation.propagate_deps:
        # Karmada, which defines these fields, rejects failover without it (pkg/util/validation).
        message = "'false' cannot be combined with failover, which moves a job's dependencies too; write true"
        context.problems.fault("left-behind", (*path, "propagation", "propagateDeps"), message)
    if fleet_spec.kubeconfig is None:
        message = "is not set, so `pulumi up` does not apply quotas and policies; apply the output of `berth render`"
        context.problems.note("no-kubeconfig", (*path, "kubeconfig"), message)
    return AckOnePlan(
        name=fleet_spec.name or shorten(context.stack.lower(), 40),
        existing=fleet_spec.existing,
        vpc=spec.ack.network.vpc,
        vswitches=spec.ack.network.vswitches,
        kubeconfig=fleet_spec.kubeconfig,
        protect=is_protected(context, FLEET),
    )


def _propagation_plans(
    spec: AckFleetSpec, queue_plans: tuple[ClusterQueuePlan, ...], team_plans: tuple[TeamPlan, ...]
) -> Iterator[PropagationPlan]:
    """Yield a policy for each namespace with a queue; for all of the teams if no quota tree limits them."""
    propagation_spec = spec.ack.fleet.propagation
    suspension = propagation_spec.suspension
    with_queue = {local_queue.namespace for queue in queue_plans for local_queue in queue.local_queues}
    of_teams = {namespace.name for team in team_plans for namespace in team.namespaces}
    for namespace in sorted(with_queue if spec.ack.fleet.quota_tree else of_teams):
        yield PropagationPlan(
            name=propagation_spec.name,
            namespace=namespace,
            gang=propagation_spec.gang,
            suspension=spec.ack.fleet.quota_tree if suspension is None else suspension,
            propagate_deps=propagation_spec.propagate_deps,
            preserve_resources_on_deletion=propagation_spec.preserve_resources_on_deletion,
            toleration_seconds=propagation_spec.failover.toleration_seconds,
            purge_mode=propagation_spec.failover.purge_mode,
        )


# --- what ACK rejects -------------------------------------------------------------------------------------------------


def _check_leaf_namespaces(context: PlanningContext, queue_plans: tuple[ClusterQueuePlan, ...]) -> None:
    """Report queues that share a namespace or take all of them: on ACK a namespace belongs to one leaf."""
    queue_by_namespace: dict[str, str] = {}
    for queue in queue_plans:
        path = context.origins["cluster queue", queue.name]
        if queue.namespaces is None:
            context.problems.fault(
                "not-expressible",
                (*path, "namespaces"),
                "'all' is not possible on ACK, where a leaf of the quota tree lists its namespaces; remove namespaces",
            )
        for namespace in sorted({local_queue.namespace for local_queue in queue.local_queues}):
            first_queue = queue_by_namespace.setdefault(namespace, queue.name)
            if first_queue != queue.name:
                context.problems.fault(
                    "not-expressible",
                    path,
                    f"namespace '{namespace}' already belongs to "
                    f"{format_path(context.origins['cluster queue', first_queue])}, and on ACK a namespace has one "
                    "queue; "
                    "merge the two queues, or write another team",
                )


def _check_tree_names(
    context: PlanningContext, queue_plans: tuple[ClusterQueuePlan, ...], cohort_plans: tuple[CohortPlan, ...]
) -> None:
    """Report names that the tree already has; `root` is reserved."""
    owner_by_name: dict[str, tuple[str, str]] = {}
    for node, kind, name in node_names(queue_plans, cohort_plans):
        path = context.origins[kind, name]
        if node == ROOT_NAME:
            context.problems.fault(
                "duplicate-name", path, f"'{ROOT_NAME}' is reserved for the root of the quota tree; write another name"
            )
        elif (first_owner := owner_by_name.setdefault(node, (kind, name))) != (kind, name):
            context.problems.fault(
                "duplicate-name",
                path,
                f"'{node}' is already the name of {format_path(context.origins[first_owner])} "
                "in ACK's quota tree, where every name must be unique; write another name",
            )
