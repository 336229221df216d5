"""A cluster to compose on: created here with its machines, or an existing one.

With `stacks.platform` the only place that knows plans and the components that make resources.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pulumi
import pulumi_gcp as gcp
from msgspec import Struct
from msgspec.structs import replace

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
from stacks.scope import Scope

EnabledServices = dict[str, list[pulumi.Resource]]
"""Project → the APIs that were switched on in it so far."""
NetworksByKey = Mapping[str, AcceleratorNetworks]


class ClusterConnection(Struct, frozen=True):
    """A cluster to compose on: its providers, what its controllers run on, where it is reached.

    `scope` has the parent of its resources and the start of their names. `kubeconfig` is one, or the path of one; None
    leaves it to the client. `resource` is None where somebody else made the cluster; `google_provider` serves its
    `project`, and both are None for a cluster outside Google Cloud.
    """

    plan: FleetPlan
    scope: Scope
    name: pulumi.Input[str]
    provider: pulumi.ProviderResource
    kubeconfig: pulumi.Input[str] | None
    server: pulumi.Output[str]
    project: str | None = None
    google_provider: pulumi.ProviderResource | None = None
    resource: pulumi.Resource | None = None
    runs_on: Sequence[pulumi.Resource] = ()
    node_service_account: pulumi.Output[str] | None = None

    @property
    def prefix(self) -> str:
        """The start of the names of everything in this cluster."""
        return self.scope.prefix

    @property
    def opts(self) -> pulumi.ResourceOptions:
        """Options of a component of this cluster: its children use the cluster's own providers."""
        return self.scope.options(self.provider, self.google_provider, project=self.project)


class CreatedCluster(Struct, frozen=True):
    """A cluster with what was created for it in Google Cloud; `system_pool` runs its controllers, if it has one."""

    cluster: Cluster
    account: NodeServiceAccount
    system_pool: NodePool | None
    networks: NetworksByKey


def connect_cluster(plan: FleetPlan, enabled: EnabledServices, scope: Scope) -> ClusterConnection:
    """The cluster of a plan: made, or only reached."""
    cluster = plan.cluster
    return (
        _connect_existing(plan, cluster, scope)
        if isinstance(cluster, ExistingClusterPlan)
        else _create_cluster(plan, cluster, scope, enabled)
    )


def _connect_existing(plan: FleetPlan, cluster_plan: ExistingClusterPlan, scope: Scope) -> ClusterConnection:
    """A cluster that is there. State learns what the client needs to find it and no more, or else a secret."""
    kubeconfig: pulumi.Input[str] | None = cluster_plan.kubeconfig
    if scope.kubeconfig is not None or scope.kubernetes is not None:
        kubeconfig = scope.kubeconfig
    elif cluster_plan.secret is not None:
        kubeconfig = pulumi.Config("berth").require_secret(cluster_plan.secret)
    reached = replace(scope, kubeconfig=kubeconfig)
    provider = reached.existing_cluster_provider(cluster_identifier(cluster_plan), cluster_plan.context)
    no_server = pulumi.Output.from_input("")  # only a worker's server is used, by its manager
    return ClusterConnection(plan, scope, cluster_plan.name, provider, kubeconfig, no_server)


def google_provider(plan: FleetPlan, scope: Scope) -> pulumi.ProviderResource:
    """The Google provider of a plan's project and region: the caller's, or a new one."""
    return scope.google or gcp.Provider(
        f"{scope.prefix}google",
        project=plan.project,
        region=plan.region,
        opts=pulumi.ResourceOptions(parent=scope.parent),
    )


def _create_cluster(
    plan: FleetPlan, cluster_plan: ClusterPlan, scope: Scope, enabled: EnabledServices
) -> ClusterConnection:
    """A cluster with its machines, and what accelerator nodes need inside."""
    google = google_provider(plan, scope)
    in_google_cloud = scope.options(google, project=cluster_plan.project)
    created = create_machines(plan, cluster_plan, scope.prefix, in_google_cloud, enabled)
    cluster = created.cluster
    kubeconfig = pulumi.Output.secret(cluster.kubeconfig)  # no credentials are in it, yet where the cluster answers
    provider = cluster_provider(
        f"{scope.prefix}kubernetes",
        kubeconfig=kubeconfig,
        # Else a renewed certificate in the kubeconfig would count as another cluster, and replace every object in it.
        cluster_identifier=cluster_identifier(cluster_plan),
        parent=scope.parent,
    )
    _create_node_objects(plan, scope, created, provider)
    runs_on: list[pulumi.Resource] = [created.system_pool] if created.system_pool else [cluster.resource]
    server = pulumi.Output.concat("https://", cluster.endpoint)
    return ClusterConnection(
        plan,
        scope,
        cluster.cluster_name,
        provider,
        kubeconfig,
        server,
        project=cluster_plan.project,
        google_provider=google,
        resource=cluster.resource,
        runs_on=runs_on,
        node_service_account=created.account.email,
    )


def connect_worker(worker: WorkerPlan, scope: Scope) -> ClusterConnection:
    """A worker that somebody else made: by another stack's output, or a secret of this one's config."""
    plan = worker.plan
    if worker.stack is not None:
        reference = pulumi.StackReference(
            f"{scope.prefix}stack", worker.stack, opts=pulumi.ResourceOptions(parent=scope.parent)
        )
        kubeconfig = kubeconfigs.exported_kubeconfig(reference, worker.stack)
    else:
        kubeconfig = pulumi.Config("berth").require_secret(worker.kubeconfig or "")
    provider = cluster_provider(
        f"{scope.prefix}kubernetes",
        kubeconfig=kubeconfig,
        cluster_identifier=worker.stack or f"berth:{worker.kubeconfig}",
        parent=scope.parent,
    )
    return ClusterConnection(
        plan,
        scope,
        worker.name,
        provider,
        kubeconfig,
        kubeconfig.apply(lambda text: kubeconfigs.kubeconfig_server(worker.name, text)),
        project=plan.project,
        google_provider=google_provider(plan, scope),
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


def create_machines(
    plan: FleetPlan,
    cluster_plan: ClusterPlan,
    prefix: str,
    opts: pulumi.ResourceOptions,
    enabled_by_project: EnabledServices,
) -> CreatedCluster:
    """Create what is in Google Cloud: the cluster, its network and service account, reservations and node pools."""
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
    system_pool = create_node_pool(plan.system_pool) if plan.system_pool else None
    return CreatedCluster(cluster, account, system_pool, networks)


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
    plan: FleetPlan, scope: Scope, created: CreatedCluster, provider: pulumi.ProviderResource
) -> None:
    """What accelerator nodes need inside the cluster; it is there before the first of them asks."""
    in_cluster, cluster = scope.options(provider), created.cluster
    for each in plan.accelerator_networks:
        ClusterNetworks(
            f"{scope.prefix}{each.key}-objects",
            each,
            devices=created.networks[each.key].devices,
            cluster=cluster.resource,
            opts=in_cluster,
        )
    if plan.installers is not None:
        Installers(f"{scope.prefix}installers", plan.installers, cluster=cluster.resource, opts=in_cluster)
