"""A fleet on Alibaba Cloud: its machines, and what the same teams and queues as anywhere become there."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping

from msgspec import Struct
from msgspec.structs import replace

from berth.diagnostics import FieldPath, Problem, format_path
from berth.names import MAX_LABEL, shorten
from berth.plan.ack import AckFleetPlan, AckOnePlan, PropagationPlan
from berth.plan.kueue import ClusterQueuePlan, CohortPlan
from berth.plan.teams import TeamPlan
from berth.planner import backend_losses
from berth.planner.ack import members
from berth.planner.ack.elastic_quotas import ROOT_NAME, elastic_quota_tree, node_names
from berth.planner.ack.flavors import plan_flavors, plan_pools
from berth.planner.allowances import FLEET, ack_allowances, is_protected
from berth.planner.context import PlanningContext
from berth.planner.queueing import cohorts, flavors, priorities, queues
from berth.planner.queueing.quota_tree import QuotaTree, accelerator_quotas
from berth.planner.tenancy import teams
from berth.spec.ack import AckFleetSpec
from berth.spec.fleet import FleetSpec
from berth.spec.parse import Parsed
from berth.spec.tenancy import NetworkPolicySpec

_NOT_ON_ACK = "networkPolicy, podSecurity and the limits of namespaces"
"""What Berth gives every team on Google Cloud without being asked."""


class PlannedAckFleet(Struct, frozen=True):
    """A plan of everything that could be planned, as `Planned` of a fleet on Google Cloud."""

    plan: AckFleetPlan
    problems: tuple[Problem, ...]
    origins: Mapping[tuple[str, str], FieldPath]
    complete: bool
    machines_complete: bool
    node_pool_paths: Mapping[str, FieldPath]

    def with_node_pool_path(self, problem: Problem) -> Problem:
        """A problem of a pool, at the node pool that it is about."""
        return _with_node_pool_path(problem, self.node_pool_paths)


def plan_ack(stack: str, parsed: Parsed) -> PlannedAckFleet | None:
    """Plan a fleet on Alibaba Cloud; None where the stack is not one."""
    if parsed.ack is None:
        return None
    context = PlanningContext(stack, _backend_neutral_spec(parsed.ack), set(parsed.set_aside))
    backend_losses.report_losses(context, "ack", backend_losses.ack_losses(parsed.ack), parsed.ack.accept_loss)
    planned_members = members.plan_members(context, parsed.ack)
    plan = _plan(context, parsed.ack, planned_members)
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
    return PlannedAckFleet(
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
    """What is said of queues and teams, without what is Google's: that is lost, and said so."""
    google_defaults = {"identity": None, "groups": (), "pod_security": None, "network_policy": NetworkPolicySpec()}
    sections = {
        "protect": spec.protect,
        "allow_replacement": spec.allow_replacement,
        "allow_deletion": spec.allow_deletion,
        "allow_change": spec.allow_change,
        "flavors": spec.flavors,
        "priorities": spec.priorities,
        "cohorts": spec.cohorts,
        "teams": {name: team.model_copy(update=google_defaults) for name, team in spec.teams.items()},
        "cluster_queues": spec.cluster_queues,
    }
    return FleetSpec.model_validate({"project": "alibaba-cloud", "region": "none-here1"}).model_copy(update=sections)


def _plan(context: PlanningContext, spec: AckFleetSpec, planned_members: members.PlannedMembers) -> AckFleetPlan:
    pools = {name: list(member.node_pools) for name, member in spec.ack.clusters.items()}
    planned_pools = plan_pools(spec, planned_members.plans)
    planned_flavors = plan_flavors(context, planned_pools)
    queue_plans = queues.plan_cluster_queues(context, planned_pools, planned_flavors)
    cohort_plans = cohorts.plan_cohorts(context, queue_plans, planned_pools, planned_flavors)
    resource_of = {flavor.name: flavor.resource for flavor in planned_flavors.values()}
    guaranteed = Counter[str]()
    for owner in (*queue_plans, *cohort_plans):
        for flavor, quota in accelerator_quotas(owner, resource_of):
            guaranteed[flavor] += quota.nominal
    team_plans = teams.plan_teams(
        context, queue_plans, QuotaTree(queue_plans, cohort_plans, resource_of), planned_flavors
    )
    _check_leaf_namespaces(context, queue_plans)
    _check_tree_names(context, queue_plans, cohort_plans)
    _note_missing_isolation(context, spec, team_plans)
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
        cluster_queues=queue_plans,
        teams=team_plans,
        quotas=elastic_quota_tree(queue_plans, cohort_plans),
        propagations=tuple(_propagation_plans(spec, queue_plans)),
        allowances=ack_allowances(context, pools, [queue.name for queue in queue_plans]),
        tags={"managed-by": "berth", "fleet": shorten(context.stack.lower(), MAX_LABEL)},
    )


def _ack_one_plan(context: PlanningContext, spec: AckFleetSpec) -> AckOnePlan:
    fleet_spec, path = spec.ack.fleet, ("ack", "fleet")
    if fleet_spec.existing is not None and fleet_spec.name is not None:
        message = f"fleet '{fleet_spec.existing}' exists, and has its name; leave name out"
        context.problems.fault("contradiction", (*path, "name"), message)
    if not fleet_spec.propagation.suspension:
        message = "jobs go to a member at once: the quotas of the tree hold none of them back; write suspension: true"
        context.problems.warning("no-suspension", (*path, "propagation", "suspension"), message)
    if not fleet_spec.propagation.propagate_deps:
        # Karmada, whose fields these are, takes no failover without it (pkg/util/validation, ValidatePropagationSpec).
        message = "'false': a job that fails over would leave behind what it refers to, and is refused so; write true"
        context.problems.fault("left-behind", (*path, "propagation", "propagateDeps"), message)
    if fleet_spec.kubeconfig is None:
        message = "is not written: quotas and policies are not part of `pulumi up`; apply what `berth render` prints"
        context.problems.note("no-kubeconfig", (*path, "kubeconfig"), message)
    return AckOnePlan(
        name=fleet_spec.name or shorten(context.stack.lower(), 40),
        existing=fleet_spec.existing,
        vpc=spec.ack.network.vpc,
        vswitches=spec.ack.network.vswitches,
        kubeconfig=fleet_spec.kubeconfig,
        protect=is_protected(context, FLEET),
    )


def _propagation_plans(spec: AckFleetSpec, queue_plans: tuple[ClusterQueuePlan, ...]) -> Iterator[PropagationPlan]:
    """A policy in each namespace that has a queue."""
    propagation_spec = spec.ack.fleet.propagation
    for namespace in sorted({local_queue.namespace for queue in queue_plans for local_queue in queue.local_queues}):
        yield PropagationPlan(
            name=propagation_spec.name,
            namespace=namespace,
            gang=propagation_spec.gang,
            suspension=propagation_spec.suspension,
            propagate_deps=propagation_spec.propagate_deps,
            preserve_resources_on_deletion=propagation_spec.preserve_resources_on_deletion,
            toleration_seconds=propagation_spec.failover.toleration_seconds,
            purge_mode=propagation_spec.failover.purge_mode,
        )


# --- what ACK refuses -------------------------------------------------------------------------------------------------


def _check_leaf_namespaces(context: PlanningContext, queue_plans: tuple[ClusterQueuePlan, ...]) -> None:
    """A namespace belongs to one leaf, and every leaf has its own."""
    queue_by_namespace: dict[str, str] = {}
    for queue in queue_plans:
        path = context.origins["cluster queue", queue.name]
        if queue.namespaces is None:
            message = "'all': a leaf of ACK's quota tree has namespaces, each of them named; leave namespaces out"
            context.problems.fault("not-expressible", (*path, "namespaces"), message)
        for namespace in sorted({local_queue.namespace for local_queue in queue.local_queues}):
            first_queue = queue_by_namespace.setdefault(namespace, queue.name)
            if first_queue != queue.name:
                message = (
                    f"namespace '{namespace}' is already that of "
                    f"{format_path(context.origins['cluster queue', first_queue])}: on "
                    "ACK it belongs to one queue; make one queue of the two, or another team"
                )
                context.problems.fault("not-expressible", path, message)


def _check_tree_names(
    context: PlanningContext, queue_plans: tuple[ClusterQueuePlan, ...], cohort_plans: tuple[CohortPlan, ...]
) -> None:
    """A name stands once in the whole tree, and `root` is taken."""
    owner_by_name: dict[str, tuple[str, str]] = {}
    for node, kind, name in node_names(queue_plans, cohort_plans):
        path = context.origins[kind, name]
        if node == ROOT_NAME:
            message = f"'{ROOT_NAME}' is the name of the quota tree's own root; write another name"
            context.problems.fault("duplicate-name", path, message)
        elif (first_owner := owner_by_name.setdefault(node, (kind, name))) != (kind, name):
            message = (
                f"'{node}' is already the name of {format_path(context.origins[first_owner])} "
                "in the quota tree, where a name "
                "stands once; name it otherwise"
            )
            context.problems.fault("duplicate-name", path, message)


def _note_missing_isolation(context: PlanningContext, spec: AckFleetSpec, team_plans: tuple[TeamPlan, ...]) -> None:
    """What comes by itself on Google Cloud and not here is told, though nobody wrote it."""
    if any(namespace.owned for team in team_plans for namespace in team.namespaces):
        message = (
            f"{_NOT_ON_ACK} are not made on ACK: whoever reaches a member's namespaces is held back by quotas alone"
        )
        context.problems.note("not-on-ack", ("ack",), message)
