"""A cluster to compose on: created here with its machines, or an existing one.

With `stacks.platform` the only place that knows plans and the components that make resources.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pulumi
import pulumi_gcp as gcp
import pulumi_kubernetes as kubernetes
from msgspec import Struct

from berth.plan.existing import ExistingClusterPlan
from berth.plan.fleet import FleetPlan, WorkerPlan
from berth.plan.gke import ClusterPlan, ExistingNetworkPlan, NetworkPlan, NodePoolPlan
from berth.plan.team_stack import cluster_identifier
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
from components.kubernetes import cluster_provider
from stacks import kubeconfigs

EnabledServices = dict[str, list[pulumi.Resource]]
"""Project → the APIs that were switched on in it so far."""
NetworksByKey = Mapping[str, AcceleratorNetworks]


class ClusterConnection(Struct, frozen=True):
    """A cluster to compose on: its providers, what its controllers run on, where it is reached.

    `prefix` begins the names of everything that is a worker's; the manager, and a fleet of one cluster, has none.
    `kubeconfig` is one, or the path of one; None leaves it to the client. `resource` is None where somebody else made
    the cluster; `google` serves its `project`, and both are None for a cluster outside Google Cloud.
    """

    plan: FleetPlan
    prefix: str
    name: pulumi.Input[str]
    provider: kubernetes.Provider
    kubeconfig: pulumi.Input[str] | None
    server: pulumi.Output[str]
    project: str | None = None
    google_provider: gcp.Provider | None = None
    resource: pulumi.Resource | None = None
    runs_on: Sequence[pulumi.Resource] = ()

    @property
    def opts(self) -> pulumi.ResourceOptions:
        """Options of a component of this cluster: its children use the cluster's own providers."""
        return pulumi.ResourceOptions(
            providers=[provider for provider in (self.provider, self.google_provider) if provider is not None]
        )


def connect_cluster(plan: FleetPlan, enabled: EnabledServices, prefix: str = "") -> ClusterConnection:
    """The cluster of a plan: made, or only reached."""
    cluster = plan.cluster
    return (
        _connect_existing(plan, cluster)
        if isinstance(cluster, ExistingClusterPlan)
        else _create_cluster(plan, cluster, prefix, enabled)
    )


def _connect_existing(plan: FleetPlan, cluster_plan: ExistingClusterPlan) -> ClusterConnection:
    """A cluster that is there. State learns what the client needs to find it and no more, or else a secret."""
    secret = pulumi.Config("berth").require_secret(cluster_plan.secret) if cluster_plan.secret is not None else None
    kubeconfig = cluster_plan.kubeconfig if secret is None else secret
    provider = cluster_provider(
        "kubernetes",
        kubeconfig=kubeconfig,
        context=cluster_plan.context,
        cluster_identifier=cluster_identifier(cluster_plan),
    )
    no_server = pulumi.Output.from_input("")  # only a worker's server is used, by its manager
    return ClusterConnection(plan, "", cluster_plan.name, provider, kubeconfig, no_server)


def _create_cluster(
    plan: FleetPlan, cluster_plan: ClusterPlan, prefix: str, enabled: EnabledServices
) -> ClusterConnection:
    """A cluster with its machines, and what accelerator nodes need inside."""
    google = gcp.Provider(f"{prefix}google", project=plan.project, region=plan.region)
    in_google_cloud = pulumi.ResourceOptions(providers=[google])
    cluster, system_pool, networks = _create_machines(plan, cluster_plan, prefix, in_google_cloud, enabled)
    kubeconfig = pulumi.Output.secret(cluster.kubeconfig)  # no credentials are in it, yet where the cluster answers
    provider = cluster_provider(
        f"{prefix}kubernetes",
        kubeconfig=kubeconfig,
        # Else a renewed certificate in the kubeconfig would count as another cluster, and replace every object in it.
        cluster_identifier=cluster_identifier(cluster_plan),
    )
    _create_node_objects(plan, prefix, cluster, provider, networks)
    runs_on: list[pulumi.Resource] = [system_pool] if system_pool else [cluster.resource]
    server = pulumi.Output.concat("https://", cluster.endpoint)
    return ClusterConnection(
        plan,
        prefix,
        cluster.cluster_name,
        provider,
        kubeconfig,
        server,
        project=cluster_plan.project,
        google_provider=google,
        resource=cluster.resource,
        runs_on=runs_on,
    )


def connect_worker(worker: WorkerPlan, prefix: str) -> ClusterConnection:
    """A worker that somebody else made: by another stack's output, or a secret of this one's config."""
    plan = worker.plan
    if worker.stack is not None:
        kubeconfig = kubeconfigs.exported_kubeconfig(
            pulumi.StackReference(f"{prefix}stack", worker.stack), worker.stack
        )
    else:
        kubeconfig = pulumi.Config("berth").require_secret(worker.kubeconfig or "")
    provider = cluster_provider(
        f"{prefix}kubernetes", kubeconfig=kubeconfig, cluster_identifier=worker.stack or f"berth:{worker.kubeconfig}"
    )
    google = gcp.Provider(f"{prefix}google", project=plan.project, region=plan.region)
    return ClusterConnection(
        plan,
        prefix,
        worker.name,
        provider,
        kubeconfig,
        kubeconfig.apply(lambda text: kubeconfigs.kubeconfig_server(worker.name, text)),
        project=plan.project,
        google_provider=google,
    )


def _network(
    plan: NetworkPlan | ExistingNetworkPlan,
    prefix: str,
    opts: pulumi.ResourceOptions,
    enabled: Sequence[pulumi.Resource],
) -> tuple[pulumi.Input[str], pulumi.Input[str]]:
    """Network and subnet: the cluster's own, or those that are there."""
    if isinstance(plan, ExistingNetworkPlan):
        return plan.network, plan.subnetwork
    own_network = Network(f"{prefix}network", plan, opts=opts, depends_on=enabled)
    return own_network.network, own_network.subnetwork


def _create_machines(
    plan: FleetPlan,
    cluster_plan: ClusterPlan,
    prefix: str,
    opts: pulumi.ResourceOptions,
    enabled_by_project: EnabledServices,
) -> tuple[Cluster, NodePool | None, NetworksByKey]:
    """Create what is in Google Cloud; return the cluster, the pool of its controllers if it has one, and networks."""
    services = Services(f"{prefix}services", plan.services, project=cluster_plan.project, opts=opts)
    enabled = enabled_by_project.setdefault(cluster_plan.project, [])
    enabled += services.enabled.values()
    account = NodeServiceAccount(
        f"{prefix}nodes",
        cluster_plan.node_service_account,
        project=cluster_plan.project,
        opts=opts,
        depends_on=enabled,
    )
    network, subnetwork = _network(cluster_plan.network, prefix, opts, enabled)
    cluster = Cluster(
        f"{prefix}cluster",
        cluster_plan,
        network=network,
        subnetwork=subnetwork,
        node_service_account=account.email,
        opts=opts,
        depends_on=enabled,
    )
    reservation_names = _reservations(plan, prefix, opts, enabled)
    policies = {
        p.name: WorkloadPolicy(f"{prefix}{p.key}", p, opts=opts, depends_on=enabled) for p in plan.workload_policies
    }

    networks = {
        n.key: AcceleratorNetworks(f"{prefix}{n.key}", n, opts=opts, depends_on=enabled)
        for n in plan.accelerator_networks
    }

    def create_node_pool(each: NodePoolPlan) -> NodePool:
        interfaces = networks.get(each.network.accelerator_networks or "")
        policy = policies.get(each.placement.policy or "") if each.placement else None
        return NodePool(
            f"{prefix}{each.key}",
            each,
            cluster=cluster.cluster_name,
            location=cluster.location,
            service_account=account.email,
            opts=opts,
            placement_policy=policy.policy_name if policy else None,
            interfaces=interfaces.interfaces if interfaces else (),
            reservation=reservation_names.get((each.reservation, each.zones)),
        )

    for each in (p for pool in plan.own_pools for p in pool.node_pools):
        create_node_pool(each)
    return cluster, create_node_pool(plan.system_pool) if plan.system_pool else None, networks


def _reservations(
    plan: FleetPlan, prefix: str, opts: pulumi.ResourceOptions, enabled: Sequence[pulumi.Resource]
) -> dict[tuple[str | None, tuple[str, ...]], pulumi.Output[str]]:
    """Reservations of the fleet's own, now and later: by name and zone, the name that pools take."""
    current = {
        (r.name, (r.zone,)): Reservation(f"{prefix}{r.key}", r, opts=opts, depends_on=enabled)
        for r in plan.reservations
    }
    future = {
        (r.reservation_name, (r.zone,)): FutureReservation(f"{prefix}{r.key}", r, opts=opts, depends_on=enabled)
        for r in plan.future_reservations
    }
    return {place: made.reservation_name for place, made in (current | future).items()}


def _create_node_objects(
    plan: FleetPlan, prefix: str, cluster: Cluster, provider: kubernetes.Provider, networks: NetworksByKey
) -> None:
    """What accelerator nodes need inside the cluster; it is there before the first of them asks."""
    in_cluster = pulumi.ResourceOptions(providers=[provider])
    for each in plan.accelerator_networks:
        ClusterNetworks(
            f"{prefix}{each.key}-objects",
            each,
            devices=networks[each.key].devices,
            cluster=cluster.resource,
            opts=in_cluster,
        )
    if plan.installers is not None:
        Installers(f"{prefix}installers", plan.installers, cluster=cluster.resource, opts=in_cluster)
