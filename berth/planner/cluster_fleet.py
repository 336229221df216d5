"""One cluster of a fleet: its machines, and all that is planned for it once its queues are known."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from msgspec import Struct

from berth.catalog import Machine
from berth.plan.accelerator_networks import AcceleratorNetworksPlan
from berth.plan.admission_checks import AdmissionCheckPlan, ProvisioningConfigPlan
from berth.plan.allowances import AllowancesPlan
from berth.plan.fleet import FleetPlan, PoolPlan
from berth.plan.kueue import ClusterQueuePlan, CohortPlan
from berth.planner import monitoring
from berth.planner.cluster import controllers, existing, gke, versions
from berth.planner.context import Draft
from berth.planner.machines import accelerator_networks, compute_classes, installers, node_pools, pools, reservations
from berth.planner.machines.compute_classes import Ladder
from berth.planner.machines.pools import Pool
from berth.planner.queueing import flavors, priorities
from berth.planner.queueing.flavors import Flavor
from berth.planner.queueing.quota_tree import accelerator_quotas, quota_tree
from berth.planner.tenancy import access, teams


class Machines(Struct, frozen=True):
    """What a cluster has: reservations, compute classes, the pools that take from both, flavors and networks."""

    reserved: dict[str, Machine]
    ladders: dict[str, Ladder]
    demands: reservations.Demands
    pools: dict[str, Pool]
    flavors: dict[str, Flavor]
    networks: tuple[AcceleratorNetworksPlan, ...]


def machines(draft: Draft) -> Machines:
    """The machines that a draft asks for; faults are the draft's."""
    reserved = reservations.reserved_machines(draft)
    ladders = compute_classes.ladders(draft)
    known = pools.pools(draft, ladders)
    demands = pools.demands(known)
    reservations.check(draft, reserved, demands)
    kinds = flavors.flavors(draft, known)
    return Machines(reserved, ladders, demands, known, kinds, accelerator_networks.accelerator_networks(draft, known))


def pool_plans(draft: Draft, here: Machines) -> tuple[PoolPlan, ...]:
    """The pools of a cluster, as they will be."""
    flavor_of = {pool.name: flavor.name for flavor in here.flavors.values() for pool in flavor.pools}
    return node_pools.pool_plans(draft, here.pools, flavor_of, here.networks)


def cluster_fleet(
    draft: Draft,
    here: Machines,
    kinds: Mapping[str, Flavor],
    asked: tuple[ClusterQueuePlan, ...],
    shared: tuple[CohortPlan, ...],
    checks: tuple[tuple[AdmissionCheckPlan, ...], tuple[ProvisioningConfigPlan, ...]],
    allowed: AllowancesPlan,
) -> FleetPlan:
    """All of one cluster. `kinds` are the flavors of its queues, `checks` those that its queues name."""
    resource_of = {f.name: f.resource for f in kinds.values()}
    promised = Counter[str]()
    for holder in (*asked, *shared):
        for flavor, quota in accelerator_quotas(holder, resource_of):
            promised[flavor] += quota.nominal
    kueue = controllers.configuration(draft)
    nodes = [pool.hardware.nodes.max for pool in here.pools.values()]
    versions.versions(draft, here.pools)
    made = pool_plans(draft, here)
    flavor_plans = tuple(flavors.flavor_plan(draft, f, promised[n]) for n, f in kinds.items())
    entitled = teams.teams(draft, asked, quota_tree(asked, shared, resource_of), kinds)
    there = existing.cluster_plan(draft)
    home = there or gke.cluster_plan(
        draft,
        {name: pool.asked for name, pool in here.pools.items()},
        multi_networking=bool(here.networks),
    )
    return FleetPlan(
        stack=draft.stack,
        project=draft.spec.project,
        region=draft.spec.region,
        services=() if there else gke.services(draft),
        cluster=home,
        system_pool=None if there else gke.system_pool(draft),
        reservations=reservations.reservations(draft, here.reserved),
        pools=made,
        charts=controllers.charts(draft, kueue, len(asked), nodes),
        flavors=flavor_plans,
        priorities=priorities.priorities(draft),
        cohorts=shared,
        cluster_queues=asked,
        teams=entitled,
        labels=gke.labels(draft),
        admission_checks=checks[0],
        provisioning_configs=checks[1],
        compute_classes=tuple(
            compute_classes.class_plan(draft, each, gke.node_email(draft)) for each in here.ladders.values()
        ),
        kueue=kueue,
        held=reservations.held(draft, here.reserved, here.demands),
        future_reservations=reservations.future_reservations(draft, here.reserved, here.demands),
        topologies=flavors.topologies(kinds),
        workload_policies=node_pools.workload_policies(draft, here.pools),
        accelerator_networks=here.networks,
        installers=installers.installers(draft, here.pools),
        access=access.access(draft, kueue),
        monitoring=monitoring.monitoring(draft, made, flavor_plans, asked, entitled),
        allowances=allowed,
    )
