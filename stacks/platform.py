"""Composition of a platform stack: components and their dependencies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pulumi
from msgspec import Struct

from berth import outputs
from berth.plan.admission_checks import WorkerAccessPlan
from berth.plan.fleet import FleetPlan
from berth.plan.gke import ClusterPlan
from berth.plan.monitoring import MonitoringPlan
from components.gke.checkpointing import Checkpointing
from components.gke.compute_classes import ComputeClasses
from components.kubernetes import KubernetesObject
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
from stacks.scope import Scope


class ComposedFleet(Struct, frozen=True):
    """The connections to the clusters of a fleet, its own first, and the components of the teams in its own."""

    connections: tuple[ClusterConnection, ...]
    teams: Mapping[str, Team]

    @property
    def kubeconfig(self) -> pulumi.Output[str] | None:
        """What reaches the fleet's own cluster: a secret; None where the client has its own."""
        kubeconfig = self.connections[0].kubeconfig
        # A secret that is null would reach a provider as an empty kubeconfig, in which no context is.
        return None if kubeconfig is None else pulumi.Output.secret(kubeconfig)


def build_platform(plan: FleetPlan) -> dict[str, Any]:
    """Register everything in the plan at the root of the program, and return what the stack exports."""
    fleet = compose_fleet(plan, Scope())
    stack_outputs: dict[str, Any] = {outputs.FLEET_OUTPUT: outputs.platform_output(plan, fleet.connections[0].name)}
    if (kubeconfig := fleet.kubeconfig) is not None:
        stack_outputs[outputs.KUBECONFIG_OUTPUT] = kubeconfig
    return stack_outputs


def compose_fleet(plan: FleetPlan, scope: Scope) -> ComposedFleet:
    """Register everything in the plan, below the parent of the scope if it has one."""
    enabled: EnabledServices = {}
    connection = connect_cluster(plan, enabled, scope)
    kueue = _controllers(connection)
    workers, configs = _workers(connection, kueue, enabled) if plan.workers else ([], [])
    teams = _queueing(connection, kueue, configs)
    if plan.monitoring is not None:
        _monitoring(connection, plan.monitoring, kueue)
    return ComposedFleet((connection, *workers), teams)


# --- workers ----------------------------------------------------------------------------------------------------------


def _workers(
    manager: ClusterConnection, kueue: Sequence[pulumi.Resource], enabled: EnabledServices
) -> tuple[list[ClusterConnection], list[pulumi.Resource]]:
    """Create every worker with all that is in it, and what names them on the manager.

    Returns the connections to the workers, and the MultiKueueConfigs that checks name.
    """
    connections: list[ClusterConnection] = []
    kubeconfigs: dict[str, tuple[WorkerAccessPlan, pulumi.Output[str]]] = {}
    for worker in manager.plan.workers:
        scope = manager.scope.of_worker(worker.key)
        worker_connection = (
            connect_cluster(worker.plan, enabled, scope, manager_address=manager.nat_address)
            if worker.made_here
            else connect_worker(worker, scope)
        )
        connections.append(worker_connection)
        worker_kueue = _controllers(worker_connection)
        if (access := worker.plan.manager_access) is not None:
            worker_access = WorkerAccess(
                f"{scope.prefix}manager-access",
                worker.key,
                access,
                server=worker_connection.server,
                opts=worker_connection.opts,
                served_by=worker_kueue,
                cluster=worker_connection.resource,
            )
            kubeconfigs[worker.key] = (access, worker_access.kubeconfig)
        _queueing(worker_connection, worker_kueue)
        if worker.plan.monitoring is not None:
            _monitoring(worker_connection, worker.plan.monitoring, worker_kueue)
    configs = Workers(
        f"{manager.prefix}workers",
        manager.plan.multikueue_clusters,
        manager.plan.multikueue_configs,
        kubeconfigs,
        opts=manager.opts,
        served_by=kueue,
        cluster=manager.resource,
    ).configs
    return connections, configs


# --- inside a cluster -------------------------------------------------------------------------------------------------


def _controllers(connection: ClusterConnection) -> list[pulumi.Resource]:
    """Create the controllers; return the releases that serve Kueue's kinds."""
    controllers = Controllers(
        f"{connection.prefix}controllers",
        connection.plan.charts,
        opts=connection.opts,
        cluster=connection.resource,
        runs_on=connection.runs_on,
        serving=connection.plan.kueue.serving_namespaces if connection.plan.kueue else None,
    )
    return [release for name, release in controllers.releases.items() if name == "kueue"]


def _queueing(
    connection: ClusterConnection, kueue: list[pulumi.Resource], configs: Sequence[pulumi.Resource] = ()
) -> Mapping[str, Team]:
    """Queues and teams. Queues wait for Kueue, and for nothing that a stock-out could hold up.

    `configs` are the MultiKueueConfigs that a manager's checks refer to. Returns the teams by name.
    """
    plan, prefix, opts, cluster = connection.plan, connection.prefix, connection.opts, connection.resource
    Priorities(f"{prefix}priorities", plan.priorities, opts=opts, served_by=kueue, cluster=cluster)
    flavors = _flavors(connection, kueue)
    Cohorts(f"{prefix}cohorts", plan.cohorts, opts=opts, served_by=kueue, cluster=cluster)
    if plan.compute_classes:
        ComputeClasses(f"{prefix}compute-classes", plan.compute_classes, opts=opts, cluster=cluster)
    if isinstance(plan.cluster, ClusterPlan) and plan.cluster.checkpointing is not None:
        Checkpointing(f"{prefix}checkpointing", plan.cluster.checkpointing, opts=opts, cluster=cluster)
    checks = _admission_checks(connection, kueue, configs)
    teams = _tenancy(connection)
    namespaces = {name: namespace for team in teams.values() for name, namespace in team.namespaces.items()}
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
    return teams


def _flavors(connection: ClusterConnection, kueue: list[pulumi.Resource]) -> dict[str, KubernetesObject]:
    """ResourceFlavors, and the Topologies that they name."""
    plan, prefix, opts, cluster = connection.plan, connection.prefix, connection.opts, connection.resource
    topologies = None
    if plan.topologies:
        topologies = Topologies(
            f"{prefix}topologies",
            plan.topologies,
            opts=opts,
            served_by=kueue,
            cluster=cluster,
            kueue=plan.kueue_release,
        ).objects
    return Flavors(
        f"{prefix}flavors",
        plan.flavors,
        opts=opts,
        topologies=topologies,
        served_by=kueue,
        cluster=cluster,
        kueue=plan.kueue_release,
    ).objects


def _admission_checks(
    connection: ClusterConnection, kueue: list[pulumi.Resource], configs: Sequence[pulumi.Resource]
) -> dict[str, KubernetesObject] | None:
    plan = connection.plan
    if not plan.admission_checks:
        return None
    return AdmissionChecks(
        f"{connection.prefix}admission-checks",
        plan.admission_checks,
        plan.provisioning_configs,
        opts=connection.opts,
        served_by=kueue,
        workers=configs,
        cluster=connection.resource,
    ).objects


def _tenancy(connection: ClusterConnection) -> dict[str, Team]:
    """Create rights, policies and teams; return the teams by name."""
    plan, prefix, opts, cluster = connection.plan, connection.prefix, connection.opts, connection.resource
    if plan.access is not None:
        Access(f"{prefix}access", plan.access, project=connection.project, cluster=cluster, opts=opts)
    if plan.policies is not None:
        Policies(f"{prefix}policies", plan.policies, cluster=cluster, opts=opts)
    return {
        team.name: Team(f"{prefix}{team.key}", team, project=connection.project, cluster=cluster, opts=opts)
        for team in plan.teams
    }


def _monitoring(connection: ClusterConnection, monitoring: MonitoringPlan, kueue: list[pulumi.Resource]) -> None:
    """Create the collection of metrics, dashboards and alerts, in Cloud Monitoring, in the cluster, or in both."""
    plan, prefix, opts, cluster = connection.plan, connection.prefix, connection.opts, connection.resource
    served_by = kueue
    if monitoring.charts:
        prometheus = Controllers(
            f"{prefix}monitoring", monitoring.charts, opts=opts, cluster=cluster, runs_on=connection.runs_on
        )
        served_by = [*kueue, *prometheus.releases.values()]
    if monitoring.managed is not None and connection.google_provider is not None and connection.project is not None:
        Views(
            f"{prefix}views",
            monitoring.managed,
            stack=plan.stack,
            project=connection.project,
            labels=plan.labels,
            channels=monitoring.channels,
            opts=opts,
            depends_on=[cluster] if cluster else [],
        )
    Collection(f"{prefix}collection", monitoring, stack=plan.stack, opts=opts, cluster=cluster, served_by=served_by)
