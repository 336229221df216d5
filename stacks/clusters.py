"""A cluster that stands: made here with its machines, or found where somebody else made it.

With `stacks.fleet` the only place that knows plans and the components that make resources.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pulumi
import pulumi_gcp as gcp
import pulumi_kubernetes as kubernetes
import yaml

from components.gke.accelerator_networks import AcceleratorNetworks
from components.gke.cluster import Cluster
from components.gke.cluster_networks import ClusterNetworks
from components.gke.future_reservation import FutureReservation
from components.gke.network import Network
from components.gke.node_pool import NodePool
from components.gke.node_service_account import NodeServiceAccount
from components.gke.reservation import Reservation
from components.gke.services import Services
from components.gke.workload_policy import WorkloadPolicy
from components.gpu.installers import Installers
from components.plan.deployments import cluster_identifier
from components.plan.fleet import FleetPlan, WorkerPlan
from components.plan.gke import ExistingNetworkPlan, NetworkPlan, NodePoolPlan

Enabled = dict[str, list[pulumi.Resource]]
"""Project → the APIs that were switched on in it so far."""
Networks = Mapping[str, AcceleratorNetworks]


@dataclass(frozen=True, slots=True)
class Standing:
    """A cluster that stands: what talks to it, what its controllers run on, where it is reached.

    `prefix` begins the names of everything that is a worker's; the manager, and a fleet of one cluster, has none.
    `resource` is None where somebody else made the cluster.
    """

    plan: FleetPlan
    prefix: str
    google: gcp.Provider
    inside: kubernetes.Provider
    resource: pulumi.Resource | None
    runs_on: list[pulumi.Resource]
    server: pulumi.Output[str]


def made(plan: FleetPlan, prefix: str, enabled: Enabled) -> tuple[Standing, Cluster]:
    """A cluster with its machines, and what accelerator nodes need inside."""
    google = gcp.Provider(f"{prefix}google", project=plan.project, region=plan.region)
    cluster, system_pool, networks = _machines(plan, prefix, google, enabled)
    inside = kubernetes.Provider(
        f"{prefix}kubernetes",
        kubeconfig=cluster.kubeconfig,
        # Else a renewed certificate in the kubeconfig would count as another cluster, and replace every object in it.
        cluster_identifier=cluster_identifier(plan.cluster),
    )
    _node_upkeep(plan, prefix, cluster, inside, networks)
    runs_on: list[pulumi.Resource] = [system_pool] if system_pool else [cluster.resource]
    server = pulumi.Output.concat("https://", cluster.endpoint)
    return Standing(plan, prefix, google, inside, cluster.resource, runs_on, server), cluster


def existing(worker: WorkerPlan, prefix: str) -> Standing:
    """A worker that somebody else made: by another stack's output, or a secret of this one's config."""
    plan = worker.plan
    if worker.stack is not None:
        known: pulumi.Output[str] = pulumi.StackReference(worker.stack).require_output("kubeconfig")
    else:
        known = pulumi.Config("berth").require_secret(worker.kubeconfig or "")
    inside = kubernetes.Provider(
        f"{prefix}kubernetes", kubeconfig=known, cluster_identifier=worker.stack or f"berth:{worker.kubeconfig}"
    )
    google = gcp.Provider(f"{prefix}google", project=plan.project, region=plan.region)
    return Standing(plan, prefix, google, inside, None, [], known.apply(_server))


def _server(kubeconfig: str) -> str:
    """The control plane's URL that a kubeconfig's current context names. Raises RunError where it is none."""
    try:
        found = yaml.safe_load(kubeconfig)
        context = next(each["context"] for each in found["contexts"] if each["name"] == found["current-context"])
        return str(next(each["cluster"]["server"] for each in found["clusters"] if each["name"] == context["cluster"]))
    except (yaml.YAMLError, KeyError, TypeError, StopIteration):
        if pulumi.runtime.is_dry_run():  # `berth preview` has no secrets
            return "https://unknown"
        raise pulumi.RunError("a worker's kubeconfig has no current context with a cluster's server") from None


def _network(
    plan: NetworkPlan | ExistingNetworkPlan, prefix: str, google: gcp.Provider, enabled: Sequence[pulumi.Resource]
) -> tuple[pulumi.Input[str], pulumi.Input[str]]:
    """Network and subnet: the cluster's own, or those that are there."""
    if isinstance(plan, ExistingNetworkPlan):
        return plan.network, plan.subnetwork
    own = Network(f"{prefix}network", plan, gcp_provider=google, depends_on=enabled)
    return own.network, own.subnetwork


def _machines(
    plan: FleetPlan, prefix: str, google: gcp.Provider, switched_on: Enabled
) -> tuple[Cluster, NodePool | None, Networks]:
    """What stands in Google Cloud; returns the cluster, the pool of its controllers if it has one, and networks."""
    services = Services(f"{prefix}services", plan.services, project=plan.project, gcp_provider=google)
    enabled = switched_on.setdefault(plan.project, [])
    enabled += services.enabled.values()
    account = NodeServiceAccount(
        f"{prefix}nodes",
        plan.cluster.node_service_account,
        project=plan.project,
        gcp_provider=google,
        depends_on=enabled,
    )
    network, subnetwork = _network(plan.cluster.network, prefix, google, enabled)
    cluster = Cluster(
        f"{prefix}cluster",
        plan.cluster,
        network=network,
        subnetwork=subnetwork,
        node_service_account=account.email,
        gcp_provider=google,
        depends_on=enabled,
    )
    reserved = _reservations(plan, prefix, google, enabled)
    policies = {
        p.name: WorkloadPolicy(f"{prefix}{p.key}", p, gcp_provider=google, depends_on=enabled)
        for p in plan.workload_policies
    }

    networks = {
        n.key: AcceleratorNetworks(f"{prefix}{n.key}", n, gcp_provider=google, depends_on=enabled)
        for n in plan.accelerator_networks
    }

    def node_pool(each: NodePoolPlan) -> NodePool:
        interfaces = networks.get(each.network.accelerator_networks or "") if each.network else None
        policy = policies.get(each.placement.policy or "") if each.placement else None
        return NodePool(
            f"{prefix}{each.key}",
            each,
            cluster=cluster.cluster_name,
            location=cluster.location,
            service_account=account.email,
            gcp_provider=google,
            placement_policy=policy.policy_name if policy else None,
            interfaces=interfaces.interfaces if interfaces else (),
            reservation=reserved.get((each.reservation, each.zones)),
        )

    for each in (p for pool in plan.own_pools for p in pool.node_pools):
        node_pool(each)
    return cluster, node_pool(plan.system_pool) if plan.system_pool else None, networks


def _reservations(
    plan: FleetPlan, prefix: str, google: gcp.Provider, enabled: Sequence[pulumi.Resource]
) -> dict[tuple[str | None, tuple[str, ...]], pulumi.Output[str]]:
    """Reservations of the fleet's own, now and later: by name and zone, the name that pools take."""
    now = {
        (r.name, (r.zone,)): Reservation(f"{prefix}{r.key}", r, gcp_provider=google, depends_on=enabled)
        for r in plan.reservations
    }
    later = {
        (r.reservation_name, (r.zone,)): FutureReservation(
            f"{prefix}{r.key}", r, gcp_provider=google, depends_on=enabled
        )
        for r in plan.future_reservations
    }
    return {place: made.reservation_name for place, made in (now | later).items()}


def _node_upkeep(
    plan: FleetPlan, prefix: str, cluster: Cluster, inside: kubernetes.Provider, networks: Networks
) -> None:
    """What accelerator nodes need inside the cluster; it is there before the first of them asks."""
    for each in plan.accelerator_networks:
        ClusterNetworks(
            f"{prefix}{each.key}-objects",
            each,
            provider=inside,
            devices=networks[each.key].devices,
            cluster=cluster.resource,
        )
    if plan.installers is not None:
        Installers(f"{prefix}installers", plan.installers, provider=inside, cluster=cluster.resource)
