"""What a platform stack is made of: components wired to each other, in the one order in which they can exist."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pulumi
import pulumi_gcp as gcp
import pulumi_kubernetes as kubernetes

from components.gke.accelerator_networks import AcceleratorNetworks
from components.gke.cluster import Cluster
from components.gke.cluster_networks import ClusterNetworks
from components.gke.compute_classes import ComputeClasses
from components.gke.future_reservation import FutureReservation
from components.gke.network import Network
from components.gke.node_pool import NodePool
from components.gke.node_service_account import NodeServiceAccount
from components.gke.reservation import Reservation
from components.gke.services import Services
from components.gke.workload_policy import WorkloadPolicy
from components.gpu.installers import Installers
from components.kueue.admission_checks import AdmissionChecks
from components.kueue.cohorts import Cohorts
from components.kueue.controllers import Controllers
from components.kueue.flavors import Flavors
from components.kueue.priorities import Priorities
from components.kueue.team_queues import TeamQueues
from components.kueue.topologies import Topologies
from components.monitoring.collection import Collection
from components.monitoring.views import Views
from components.plan.deployments import cluster_identifier
from components.plan.fleet import FleetPlan
from components.plan.gke import ExistingNetworkPlan, NetworkPlan, NodePoolPlan
from components.plan.monitoring import MonitoringPlan
from components.tenancy.access import Access
from components.tenancy.team import Team
from stacks import exports


def build(plan: FleetPlan) -> dict[str, Any]:
    """Register everything in the plan, and return what the stack exports."""
    google = gcp.Provider("google", project=plan.project, region=plan.region)
    cluster, system_pool, networks = _machines(plan, google)
    inside = _provider(plan, cluster)
    _node_upkeep(plan, cluster, inside, networks)
    runs_on: list[pulumi.Resource] = [system_pool] if system_pool else [cluster.resource]
    kueue = _queueing(plan, cluster, google, inside, runs_on)
    if plan.monitoring is not None:
        _watching(plan, plan.monitoring, cluster, google, inside, runs_on, kueue)
    return {
        "fleet": exports.of_platform(plan, cluster.cluster_name),
        "kubeconfig": pulumi.Output.secret(cluster.kubeconfig),
    }


Networks = Mapping[str, AcceleratorNetworks]


def _machines(plan: FleetPlan, google: gcp.Provider) -> tuple[Cluster, NodePool | None, Networks]:
    """What stands in Google Cloud; returns the cluster, the pool of its controllers if it has one, and networks."""
    services = Services("services", plan.services, project=plan.project, gcp_provider=google)
    enabled = list(services.enabled.values())
    account = NodeServiceAccount(
        "nodes", plan.cluster.node_service_account, project=plan.project, gcp_provider=google, depends_on=enabled
    )
    network, subnetwork = _network(plan.cluster.network, google, enabled)
    cluster = Cluster(
        "cluster",
        plan.cluster,
        network=network,
        subnetwork=subnetwork,
        node_service_account=account.email,
        gcp_provider=google,
        depends_on=enabled,
    )
    reserved = _reservations(plan, google, enabled)
    policies = {
        p.name: WorkloadPolicy(p.key, p, gcp_provider=google, depends_on=enabled) for p in plan.workload_policies
    }

    networks = {
        n.key: AcceleratorNetworks(n.key, n, gcp_provider=google, depends_on=enabled) for n in plan.accelerator_networks
    }

    def node_pool(each: NodePoolPlan) -> NodePool:
        interfaces = networks.get(each.network.accelerator_networks or "") if each.network else None
        policy = policies.get(each.placement.policy or "") if each.placement else None
        return NodePool(
            each.key,
            each,
            cluster=cluster.cluster_name,
            location=cluster.location,
            service_account=account.email,
            gcp_provider=google,
            placement_policy=policy.policy_name if policy else None,
            interfaces=interfaces.interfaces if interfaces else (),
            reservation=reserved.get((each.reservation, each.zones)),
        )

    for each in (p for pool in plan.pools for p in pool.node_pools):
        node_pool(each)
    return cluster, node_pool(plan.system_pool) if plan.system_pool else None, networks


def _network(
    plan: NetworkPlan | ExistingNetworkPlan, google: gcp.Provider, enabled: Sequence[pulumi.Resource]
) -> tuple[pulumi.Input[str], pulumi.Input[str]]:
    """Network and subnet: the fleet's own, or those that are there."""
    if isinstance(plan, ExistingNetworkPlan):
        return plan.network, plan.subnetwork
    own = Network("network", plan, gcp_provider=google, depends_on=enabled)
    return own.network, own.subnetwork


def _reservations(
    plan: FleetPlan, google: gcp.Provider, enabled: Sequence[pulumi.Resource]
) -> dict[tuple[str | None, tuple[str, ...]], pulumi.Output[str]]:
    """Reservations of the fleet's own, now and later: by name and zone, the name that pools take."""
    now = {
        (r.name, (r.zone,)): Reservation(r.key, r, gcp_provider=google, depends_on=enabled) for r in plan.reservations
    }
    later = {
        (r.reservation_name, (r.zone,)): FutureReservation(r.key, r, gcp_provider=google, depends_on=enabled)
        for r in plan.future_reservations
    }
    return {place: made.reservation_name for place, made in (now | later).items()}


def _provider(plan: FleetPlan, cluster: Cluster) -> kubernetes.Provider:
    return kubernetes.Provider(
        "kubernetes",
        kubeconfig=cluster.kubeconfig,
        # Else a renewed certificate in the kubeconfig would count as another cluster, and replace every object in it.
        cluster_identifier=cluster_identifier(plan.cluster),
    )


def _node_upkeep(plan: FleetPlan, cluster: Cluster, inside: kubernetes.Provider, networks: Networks) -> None:
    """What accelerator nodes need inside the cluster; it is there before the first of them asks."""
    for each in plan.accelerator_networks:
        ClusterNetworks(
            f"{each.key}-objects",
            each,
            provider=inside,
            devices=networks[each.key].devices,
            cluster=cluster.resource,
        )
    if plan.installers is not None:
        Installers("installers", plan.installers, provider=inside, cluster=cluster.resource)


def _queueing(
    plan: FleetPlan,
    cluster: Cluster,
    google: gcp.Provider,
    inside: kubernetes.Provider,
    runs_on: list[pulumi.Resource],
) -> list[pulumi.Resource]:
    """What stands inside the cluster; returns what serves Kueue's kinds.

    Queues wait for Kueue, and for nothing that a stock-out could hold up.
    """
    controllers = Controllers("controllers", plan.charts, provider=inside, cluster=cluster.resource, runs_on=runs_on)
    kueue: list[pulumi.Resource] = [release for name, release in controllers.releases.items() if name == "kueue"]
    Priorities("priorities", plan.priorities, provider=inside, served_by=kueue, cluster=cluster.resource)
    if plan.topologies:
        Topologies("topologies", plan.topologies, provider=inside, served_by=kueue, cluster=cluster.resource)
    Flavors("flavors", plan.flavors, provider=inside, served_by=kueue, cluster=cluster.resource)
    Cohorts("cohorts", plan.cohorts, provider=inside, served_by=kueue, cluster=cluster.resource)
    if plan.compute_classes:
        ComputeClasses("compute-classes", plan.compute_classes, provider=inside, cluster=cluster.resource)
    if plan.admission_checks:
        AdmissionChecks(
            "admission-checks",
            plan.admission_checks,
            plan.provisioning_configs,
            provider=inside,
            served_by=kueue,
            cluster=cluster.resource,
        )
    if plan.access is not None:
        Access(
            "access",
            plan.access,
            project=plan.project,
            cluster=cluster.resource,
            gcp_provider=google,
            kubernetes_provider=inside,
        )
    teams = {
        team.name: Team(
            team.name,
            team,
            project=plan.project,
            cluster=cluster.resource,
            gcp_provider=google,
            kubernetes_provider=inside,
        )
        for team in plan.teams
    }
    namespaces = {name: live for team in teams.values() for name, live in team.namespaces.items()}
    queues = plan.cluster_queues
    TeamQueues("queues", queues, provider=inside, namespaces=namespaces, served_by=kueue, cluster=cluster.resource)
    return kueue


def _watching(
    plan: FleetPlan,
    watched: MonitoringPlan,
    cluster: Cluster,
    google: gcp.Provider,
    inside: kubernetes.Provider,
    runs_on: list[pulumi.Resource],
    kueue: list[pulumi.Resource],
) -> None:
    """What collects and shows metrics: Cloud Monitoring, or what stands in the cluster instead."""
    served_by = kueue
    if watched.charts:
        own = Controllers("monitoring", watched.charts, provider=inside, cluster=cluster.resource, runs_on=runs_on)
        served_by = [*kueue, *own.releases.values()]
    else:
        Views(
            "views",
            watched,
            stack=plan.stack,
            project=plan.project,
            labels=plan.labels,
            gcp_provider=google,
            depends_on=[cluster.resource],
        )
    Collection("collection", watched, stack=plan.stack, provider=inside, cluster=cluster.resource, served_by=served_by)
