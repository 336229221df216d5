"""What a platform stack is made of: components wired to each other, in the one order in which they can exist."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pulumi

from berth import outputs
from berth.plan.admission_checks import WorkerAccessPlan
from berth.plan.fleet import FleetPlan
from berth.plan.monitoring import MonitoringPlan
from components.gke.compute_classes import ComputeClasses
from components.kueue.admission_checks import AdmissionChecks
from components.kueue.cohorts import Cohorts
from components.kueue.controllers import Controllers
from components.kueue.flavors import Flavors
from components.kueue.priorities import Priorities
from components.kueue.team_queues import TeamQueues
from components.kueue.topologies import Topologies
from components.kueue.worker_access import WorkerAccess
from components.kueue.workers import Workers
from components.monitoring.collection import Collection
from components.monitoring.views import Views
from components.tenancy.access import Access
from components.tenancy.team import Team
from stacks.connections import Enabled, Standing, existing, standing


def build(plan: FleetPlan) -> dict[str, Any]:
    """Register everything in the plan, and return what the stack exports."""
    enabled: Enabled = {}
    here = standing(plan, enabled)
    kueue = _controllers(here)
    configs = _workers(here, kueue, enabled) if plan.workers else []
    _queueing(here, kueue, configs)
    if plan.monitoring is not None:
        _watching(here, plan.monitoring, kueue)
    exported: dict[str, Any] = {outputs.FLEET: outputs.of_platform(plan, here.name)}
    # A secret that is null would reach a provider as an empty kubeconfig, in which no context is.
    if here.kubeconfig is not None:
        exported[outputs.KUBECONFIG] = pulumi.Output.secret(here.kubeconfig)
    return exported


# --- workers ----------------------------------------------------------------------------------------------------------


def _workers(manager: Standing, kueue: Sequence[pulumi.Resource], enabled: Enabled) -> list[pulumi.Resource]:
    """Every worker with all that stands in it, and what names them on the manager; returns what checks name."""
    kubeconfigs: dict[str, tuple[WorkerAccessPlan, pulumi.Output[str]]] = {}
    for worker in manager.plan.workers:
        prefix = f"{worker.name}/"
        there = standing(worker.plan, enabled, prefix) if worker.made_here else existing(worker, prefix)
        serving = _controllers(there)
        if (access := worker.plan.manager_access) is not None:
            made_there = WorkerAccess(
                f"{prefix}manager-access",
                worker.name,
                access,
                server=there.server,
                provider=there.inside,
                served_by=serving,
                cluster=there.resource,
            )
            kubeconfigs[worker.name] = (access, made_there.kubeconfig)
        _queueing(there, serving)
        if worker.plan.monitoring is not None:
            _watching(there, worker.plan.monitoring, serving)
    return Workers(
        "workers",
        manager.plan.multikueue_clusters,
        manager.plan.multikueue_configs,
        kubeconfigs,
        provider=manager.inside,
        served_by=kueue,
        cluster=manager.resource,
    ).configs


# --- inside a cluster -------------------------------------------------------------------------------------------------


def _controllers(of: Standing) -> list[pulumi.Resource]:
    """Controllers; returns what serves Kueue's kinds."""
    controllers = Controllers(
        f"{of.prefix}controllers", of.plan.charts, provider=of.inside, cluster=of.resource, runs_on=of.runs_on
    )
    return [release for name, release in controllers.releases.items() if name == "kueue"]


def _queueing(of: Standing, kueue: list[pulumi.Resource], configs: Sequence[pulumi.Resource] = ()) -> None:
    """Queues and teams. Queues wait for Kueue, and for nothing that a stock-out could hold up.

    `configs` are the MultiKueueConfigs that a manager's checks name.
    """
    plan, prefix, inside, cluster = of.plan, of.prefix, of.inside, of.resource
    Priorities(f"{prefix}priorities", plan.priorities, provider=inside, served_by=kueue, cluster=cluster)
    topologies = checks = None
    if plan.topologies:
        topologies = Topologies(
            f"{prefix}topologies", plan.topologies, provider=inside, served_by=kueue, cluster=cluster
        ).objects
    flavors = Flavors(
        f"{prefix}flavors", plan.flavors, provider=inside, topologies=topologies, served_by=kueue, cluster=cluster
    ).objects
    Cohorts(f"{prefix}cohorts", plan.cohorts, provider=inside, served_by=kueue, cluster=cluster)
    if plan.compute_classes:
        ComputeClasses(f"{prefix}compute-classes", plan.compute_classes, provider=inside, cluster=cluster)
    if plan.admission_checks:
        checks = AdmissionChecks(
            f"{prefix}admission-checks",
            plan.admission_checks,
            plan.provisioning_configs,
            provider=inside,
            served_by=kueue,
            workers=configs,
            cluster=cluster,
        ).objects
    if plan.access is not None:
        Access(
            f"{prefix}access",
            plan.access,
            project=of.project,
            cluster=cluster,
            gcp_provider=of.google,
            kubernetes_provider=inside,
        )
    teams = {
        team.name: Team(
            f"{prefix}{team.key}",
            team,
            project=of.project,
            cluster=cluster,
            gcp_provider=of.google,
            kubernetes_provider=inside,
        )
        for team in plan.teams
    }
    namespaces = {name: live for team in teams.values() for name, live in team.namespaces.items()}
    TeamQueues(
        f"{prefix}queues",
        plan.cluster_queues,
        prefix=prefix,
        provider=inside,
        namespaces=namespaces,
        flavors=flavors,
        checks=checks,
        served_by=kueue,
        cluster=cluster,
    )


def _watching(of: Standing, watched: MonitoringPlan, kueue: list[pulumi.Resource]) -> None:
    """What collects and shows metrics: Cloud Monitoring, or what stands in the cluster instead."""
    plan, prefix, inside, cluster = of.plan, of.prefix, of.inside, of.resource
    served_by = kueue
    if watched.charts:
        own = Controllers(f"{prefix}monitoring", watched.charts, provider=inside, cluster=cluster, runs_on=of.runs_on)
        served_by = [*kueue, *own.releases.values()]
    elif of.google is not None and of.project is not None:
        Views(
            f"{prefix}views",
            watched,
            stack=plan.stack,
            project=of.project,
            labels=plan.labels,
            gcp_provider=of.google,
            depends_on=[cluster] if cluster else [],
        )
    Collection(f"{prefix}collection", watched, stack=plan.stack, provider=inside, cluster=cluster, served_by=served_by)
