"""What does it exactly mean? A spec becomes a plan: pure, total, and in one direction."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from components.plan.fleet import FleetPlan
from stacks.planner import (
    access,
    checks,
    cluster,
    cohorts,
    compute_classes,
    controllers,
    flavors,
    installers,
    losses,
    monitoring,
    networks,
    node_pools,
    pools,
    priorities,
    queues,
    reservations,
    teams,
    versions,
)
from stacks.planner.allowances import allowances
from stacks.planner.ceilings import QuotaTree, accelerator_quotas
from stacks.planner.draft import Draft
from stacks.problems import Path, Problem
from stacks.spec.parse import Parsed


@dataclass(frozen=True, slots=True)
class Planned:
    """A plan of everything that could be planned, what was found on the way, and where each queue came from.

    `complete` is False where entries had to be left out: what a proof then finds missing may only be set aside. So is
    `machines_complete`, for what concerns machines and the cluster alone.
    """

    plan: FleetPlan
    problems: tuple[Problem, ...]
    origins: Mapping[tuple[str, str], Path]
    complete: bool
    machines_complete: bool


_MACHINES = {"pools", "reservations", "computeClasses", "flavors"}
_OF_MACHINES = {"", "mode", "zones", "privateNodes", "controlPlane", "network", "systemPool", "nodeAutoProvisioning"}
"""Sections, and keys of the cluster, that say what machines there are and what room for them."""
_QUEUES = {"cluster", "cohorts", "teams", "clusterQueues"}
"""The other sections that proofs argue from."""


def plan_fleet(stack: str, parsed: Parsed) -> Planned | None:
    """Plan the fleet of one stack; None where not even its frame could be understood."""
    if parsed.spec is None:
        return None
    draft = Draft(stack, parsed.spec, set(parsed.set_aside))
    plan = _plan(draft)
    lost = {section for section, _ in draft.set_aside}
    machines = _MACHINES.isdisjoint(lost) and _OF_MACHINES.isdisjoint(n for s, n in draft.set_aside if s == "cluster")
    complete = machines and _QUEUES.isdisjoint(lost) and not draft.incomplete
    return Planned(plan, tuple(draft.problems.found), draft.origins, complete, machines)


def _plan(draft: Draft) -> FleetPlan:
    allowed = allowances(draft, queues.names(draft))
    machines = reservations.reserved_machines(draft)
    ladders = compute_classes.ladders(draft)
    known = pools.pools(draft, ladders)
    demands = pools.demands(known)
    reservations.check(draft, machines, demands)
    kinds = flavors.flavors(draft, known)
    accelerator_networks = networks.accelerator_networks(draft, known)
    asked = queues.cluster_queues(draft, known, kinds)
    losses.settle(draft, "kueue", losses.on_kueue(draft.spec), draft.spec.accept_loss)
    resource_of = {f.name: f.resource for f in kinds.values()}
    promised = Counter[str]()
    shared = cohorts.cohorts(draft, asked, known, kinds)
    for holder in (*asked, *shared):
        for flavor, quota in accelerator_quotas(holder, resource_of):
            promised[flavor] += quota.nominal
    admission_checks, provisioning_configs = checks.checks(draft, kinds)
    kueue = controllers.configuration(draft)
    nodes = [pool.hardware.nodes.max for pool in known.values()]
    versions.versions(draft, known)
    flavor_of = {p.name: f.name for f in kinds.values() for p in f.pools}
    made = node_pools.pool_plans(draft, known, flavor_of, accelerator_networks)
    flavor_plans = tuple(flavors.flavor_plan(draft, f, promised[n]) for n, f in kinds.items())
    entitled = teams.teams(draft, asked, QuotaTree(asked, shared, resource_of), kinds)
    home = cluster.cluster_plan(
        draft,
        {name: pool.asked for name, pool in known.items()},
        multi_networking=bool(accelerator_networks),
    )
    return FleetPlan(
        stack=draft.stack,
        project=draft.spec.project,
        region=draft.spec.region,
        services=cluster.services(draft),
        cluster=home,
        system_pool=cluster.system_pool(draft),
        reservations=reservations.reservations(draft, machines),
        pools=made,
        charts=controllers.charts(draft, kueue, len(asked), nodes),
        flavors=flavor_plans,
        priorities=priorities.priorities(draft),
        cohorts=shared,
        cluster_queues=asked,
        teams=entitled,
        labels=cluster.labels(draft),
        admission_checks=admission_checks,
        provisioning_configs=provisioning_configs,
        compute_classes=tuple(
            compute_classes.class_plan(draft, each, home.node_service_account.email) for each in ladders.values()
        ),
        kueue=kueue,
        held=reservations.held(draft, machines, demands),
        future_reservations=reservations.future_reservations(draft, machines, demands),
        topologies=flavors.topologies(kinds),
        workload_policies=node_pools.workload_policies(draft, known),
        accelerator_networks=accelerator_networks,
        installers=installers.installers(draft, known),
        access=access.access(draft, kueue),
        monitoring=monitoring.monitoring(draft, made, flavor_plans, asked, entitled),
        allowances=allowed,
    )
