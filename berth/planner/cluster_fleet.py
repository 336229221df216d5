"""Plan one cluster of a fleet: first its machines, then everything else once its queues are known."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct

from berth.catalog import Machine
from berth.plan.fleet import AllowancesPlan, FleetPlan, PoolPlan
from berth.plan.gke import CHECKPOINT_DRIVER
from berth.plan.kueue import ClusterQueuePlan, CohortPlan
from berth.plan.node_settings import AcceleratorNetworksPlan
from berth.planner import monitoring
from berth.planner.cluster import controllers, existing, gke, serving, versions
from berth.planner.cluster.checkpointing import checkpointing_plan
from berth.planner.cluster.system_pool import system_pool_plan
from berth.planner.context import PlanningContext
from berth.planner.machines import accelerator_networks, compute_classes, installers, node_pools, pools, reservations
from berth.planner.machines.compute_classes import PlannedClass
from berth.planner.machines.dynamic_slicing import check_dynamic_slicing
from berth.planner.machines.pools import PlannedPool
from berth.planner.machines.reservation_checks import check_reservations
from berth.planner.queueing import flavors, priorities
from berth.planner.queueing.admission_checks import PlannedChecks
from berth.planner.queueing.flavors import FlavorGroup
from berth.planner.queueing.quota_tree import QuotaTree, guaranteed_by_flavor
from berth.planner.queueing.windows import planned_calendar
from berth.planner.tenancy import access, policies, teams
from berth.planner.tenancy.capacity_buffers import with_buffers
from berth.planner.tenancy.policies import exclusive_domains, run_limits


class ClusterMachines(Struct, frozen=True):
    """Machines of a cluster: reservations, compute classes, pools, flavors and networks."""

    reserved_machines: dict[str, Machine]
    compute_classes: dict[str, PlannedClass]
    demands: reservations.DemandsByReservation
    pools: dict[str, PlannedPool]
    flavors: dict[str, FlavorGroup]
    networks: tuple[AcceleratorNetworksPlan, ...]


def plan_machines(context: PlanningContext) -> ClusterMachines:
    """Plan the machines of the spec in `context`; faults are reported there."""
    context.check_region()
    reserved_machines = reservations.reserved_machines(context)
    classes = compute_classes.plan_classes(context)
    planned_pools = pools.derive_pools(context, classes)
    demands = pools.reservation_demands(context, planned_pools)
    check_reservations(context, reserved_machines, demands)
    check_dynamic_slicing(context, planned_pools)
    planned_flavors = flavors.plan_flavors(context, planned_pools)
    return ClusterMachines(
        reserved_machines,
        classes,
        demands,
        planned_pools,
        planned_flavors,
        accelerator_networks.plan_networks(context, planned_pools),
    )


def cluster_pool_plans(context: PlanningContext, machines: ClusterMachines) -> tuple[PoolPlan, ...]:
    """Return the plans of a cluster's pools."""
    flavor_of = {pool.name: flavor.name for flavor in machines.flavors.values() for pool in flavor.pools}
    return node_pools.plan_pools(context, machines.pools, flavor_of, machines.networks)


def plan_cluster_fleet(
    context: PlanningContext,
    machines: ClusterMachines,
    queue_flavors: Mapping[str, FlavorGroup],
    queue_plans: tuple[ClusterQueuePlan, ...],
    cohort_plans: tuple[CohortPlan, ...],
    checks: PlannedChecks,
    allowances: AllowancesPlan,
) -> FleetPlan:
    """Plan one cluster. `queue_flavors` are the flavors of its queues, `checks` the admission checks and configs."""
    resource_of = {f.name: f.resource for f in queue_flavors.values()}
    guaranteed = guaranteed_by_flavor((*queue_plans, *cohort_plans), resource_of)
    kueue = controllers.kueue_configuration(context, [one for each in queue_flavors.values() for one in each.claimed])
    serving.check_serving(context)
    max_nodes = [pool.hardware.nodes.max for pool in machines.pools.values()]
    versions.check_versions(context, machines.pools)
    planned_pools = cluster_pool_plans(context, machines)
    flavor_plans = tuple(flavors.flavor_plan(context, f, guaranteed[n]) for n, f in queue_flavors.items())
    team_plans = teams.plan_teams(
        context,
        queue_plans,
        QuotaTree.shared(queue_plans, cohort_plans, resource_of),
        queue_flavors,
        run_limits(queue_plans, checks),
    )
    team_plans = with_buffers(context, team_plans, planned_pools, flavor_plans, queue_plans)
    requests, multi_networking = {name: pool.request for name, pool in machines.pools.items()}, bool(machines.networks)
    account = gke.planned_node_account(context)
    class_plans = tuple(
        compute_classes.class_plan(context, each, account) for each in machines.compute_classes.values()
    )
    checkpointing = None if context.only_connects else checkpointing_plan(context, planned_pools, class_plans)
    existing_cluster = existing.existing_cluster_plan(context, machines.pools, checkpointing)
    return FleetPlan(
        stack=context.stack,
        project=context.spec.project,
        region=context.spec.region,
        services=() if existing_cluster else gke.required_services(context),
        cluster=existing_cluster
        or gke.cluster_plan(
            context,
            requests,
            multi_networking=multi_networking,
            checkpointing=checkpointing,
        ),
        system_pool=None if existing_cluster else system_pool_plan(context),
        reservations=reservations.reservation_plans(context, machines.reserved_machines),
        pools=planned_pools,
        charts=controllers.controller_charts(context, kueue, len(queue_plans), max_nodes),
        flavors=flavor_plans,
        priorities=priorities.plan_priorities(context),
        cohorts=cohort_plans,
        calendar=planned_calendar(context),
        cluster_queues=queue_plans,
        teams=team_plans,
        labels=gke.resource_labels(context),
        admission_checks=checks.checks,
        provisioning_configs=checks.provisioning_configs,
        compute_classes=class_plans,
        kueue=kueue,
        held=reservations.held_plans(context, machines.reserved_machines, machines.demands),
        future_reservations=reservations.future_reservations(context, machines.reserved_machines, machines.demands),
        topologies=flavors.topology_plans(queue_flavors),
        workload_policies=node_pools.workload_policies(context, machines.pools),
        accelerator_networks=machines.networks,
        installers=installers.plan_installers(context, machines.pools),
        access=access.access(context, kueue),
        policies=policies.plan_policies(
            team_plans,
            kueue,
            context.spec.platform,
            exclusive_domains(planned_pools, {each.name: each for each in flavor_plans}),
            csi_drivers=() if checkpointing is None else (CHECKPOINT_DRIVER,),
        ),
        monitoring=monitoring.monitoring(context, planned_pools, flavor_plans, cohort_plans, queue_plans, team_plans),
        allowances=allowances,
        operators=context.spec.operators,
    )
