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
from components.tenancy.policies import Policies
from components.tenancy.team import Team
from stacks.connections import ClusterConnection, connect_cluster, connect_worker
from stacks.machines import EnabledServices


def build(plan: FleetPlan) -> dict[str, Any]:
    """Register everything in the plan, and return what the stack exports."""
    enabled: EnabledServices = {}
    connection = connect_cluster(plan, enabled)
    kueue = _controllers(connection)
    configs = _workers(connection, kueue, enabled) if plan.workers else []
    _queueing(connection, kueue, configs)
    if plan.monitoring is not None:
        _monitoring(connection, plan.monitoring, kueue)
    stack_outputs: dict[str, Any] = {outputs.FLEET_OUTPUT: outputs.platform_output(plan, connection.name)}
    # A secret that is null would reach a provider as an empty kubeconfig, in which no context is.
    if connection.kubeconfig is not None:
        stack_outputs[outputs.KUBECONFIG_OUTPUT] = pulumi.Output.secret(connection.kubeconfig)
    return stack_outputs


# --- workers ----------------------------------------------------------------------------------------------------------


def _workers(
    manager: ClusterConnection, kueue: Sequence[pulumi.Resource], enabled: EnabledServices
) -> list[pulumi.Resource]:
    """Create every worker with all that is in it, and what names them on the manager; returns what checks name."""
    kubeconfigs: dict[str, tuple[WorkerAccessPlan, pulumi.Output[str]]] = {}
    for worker in manager.plan.workers:
        prefix = f"{worker.name}/"
        worker_connection = (
            connect_cluster(worker.plan, enabled, prefix, manager_address=manager.nat_address)
            if worker.made_here
            else connect_worker(worker, prefix)
        )
        worker_kueue = _controllers(worker_connection)
        if (access := worker.plan.manager_access) is not None:
            worker_access = WorkerAccess(
                f"{prefix}manager-access",
                worker.name,
                access,
                server=worker_connection.server,
                opts=worker_connection.opts,
                served_by=worker_kueue,
                cluster=worker_connection.resource,
            )
            kubeconfigs[worker.name] = (access, worker_access.kubeconfig)
        _queueing(worker_connection, worker_kueue)
        if worker.plan.monitoring is not None:
            _monitoring(worker_connection, worker.plan.monitoring, worker_kueue)
    return Workers(
        "workers",
        manager.plan.multikueue_clusters,
        manager.plan.multikueue_configs,
        kubeconfigs,
        opts=manager.opts,
        served_by=kueue,
        cluster=manager.resource,
    ).configs


# --- inside a cluster -------------------------------------------------------------------------------------------------


def _controllers(connection: ClusterConnection) -> list[pulumi.Resource]:
    """Controllers; returns what serves Kueue's kinds."""
    controllers = Controllers(
        f"{connection.prefix}controllers",
        connection.plan.charts,
        opts=connection.opts,
        cluster=connection.resource,
        runs_on=connection.runs_on,
    )
    return [release for name, release in controllers.releases.items() if name == "kueue"]


def _queueing(
    connection: ClusterConnection, kueue: list[pulumi.Resource], configs: Sequence[pulumi.Resource] = ()
) -> None:
    """Queues and teams. Queues wait for Kueue, and for nothing that a stock-out could hold up.

    `configs` are the MultiKueueConfigs that a manager's checks name.
    """
    plan, prefix, opts, cluster = connection.plan, connection.prefix, connection.opts, connection.resource
    Priorities(f"{prefix}priorities", plan.priorities, opts=opts, served_by=kueue, cluster=cluster)
    topologies = checks = None
    if plan.topologies:
        topologies = Topologies(
            f"{prefix}topologies", plan.topologies, opts=opts, served_by=kueue, cluster=cluster
        ).objects
    flavors = Flavors(
        f"{prefix}flavors", plan.flavors, opts=opts, topologies=topologies, served_by=kueue, cluster=cluster
    ).objects
    Cohorts(f"{prefix}cohorts", plan.cohorts, opts=opts, served_by=kueue, cluster=cluster)
    if plan.compute_classes:
        ComputeClasses(f"{prefix}compute-classes", plan.compute_classes, opts=opts, cluster=cluster)
    if plan.admission_checks:
        checks = AdmissionChecks(
            f"{prefix}admission-checks",
            plan.admission_checks,
            plan.provisioning_configs,
            opts=opts,
            served_by=kueue,
            workers=configs,
            cluster=cluster,
        ).objects
    if plan.access is not None:
        Access(
            f"{prefix}access",
            plan.access,
            project=connection.project,
            cluster=cluster,
            opts=opts,
        )
    if plan.policies is not None:
        Policies(f"{prefix}policies", plan.policies, cluster=cluster, opts=opts)
    teams = {
        team.name: Team(
            f"{prefix}{team.key}",
            team,
            project=connection.project,
            cluster=cluster,
            opts=opts,
        )
        for team in plan.teams
    }
    namespaces = {name: live for team in teams.values() for name, live in team.namespaces.items()}
    TeamQueues(
        f"{prefix}queues",
        plan.cluster_queues,
        prefix=prefix,
        opts=opts,
        namespaces=namespaces,
        flavors=flavors,
        checks=checks,
        served_by=kueue,
        cluster=cluster,
    )


def _monitoring(connection: ClusterConnection, monitoring: MonitoringPlan, kueue: list[pulumi.Resource]) -> None:
    """What collects and shows metrics: Cloud Monitoring, or a Prometheus in the cluster instead."""
    plan, prefix, opts, cluster = connection.plan, connection.prefix, connection.opts, connection.resource
    served_by = kueue
    if monitoring.charts:
        prometheus = Controllers(
            f"{prefix}monitoring", monitoring.charts, opts=opts, cluster=cluster, runs_on=connection.runs_on
        )
        served_by = [*kueue, *prometheus.releases.values()]
    elif connection.google_provider is not None and connection.project is not None:
        Views(
            f"{prefix}views",
            monitoring,
            stack=plan.stack,
            project=connection.project,
            labels=plan.labels,
            opts=opts,
            depends_on=[cluster] if cluster else [],
        )
    Collection(f"{prefix}collection", monitoring, stack=plan.stack, opts=opts, cluster=cluster, served_by=served_by)
