"""A cluster that stands: made here with its machines, or found where somebody else made it.

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

Enabled = dict[str, list[pulumi.Resource]]
"""Project → the APIs that were switched on in it so far."""
Networks = Mapping[str, AcceleratorNetworks]


class Standing(Struct, frozen=True):
    """A cluster that stands: what talks to it, what its controllers run on, where it is reached.

    `prefix` begins the names of everything that is a worker's; the manager, and a fleet of one cluster, has none.
    `kubeconfig` is one, or the path of one; None leaves it to the client. `resource` is None where somebody else made
    the cluster; `google` serves its `project`, and neither is there where the cluster is none of Google Cloud's.
    """

    plan: FleetPlan
    prefix: str
    name: pulumi.Input[str]
    inside: kubernetes.Provider
    kubeconfig: pulumi.Input[str] | None
    server: pulumi.Output[str]
    project: str | None = None
    google: gcp.Provider | None = None
    resource: pulumi.Resource | None = None
    runs_on: Sequence[pulumi.Resource] = ()


def standing(plan: FleetPlan, enabled: Enabled, prefix: str = "") -> Standing:
    """The cluster of a plan: made, or only reached."""
    cluster = plan.cluster
    return _found(plan, cluster) if isinstance(cluster, ExistingClusterPlan) else _made(plan, cluster, prefix, enabled)


def _found(plan: FleetPlan, wanted: ExistingClusterPlan) -> Standing:
    """A cluster that is there. State learns what the client needs to find it and no more, or else a secret."""
    secret = pulumi.Config("berth").require_secret(wanted.secret) if wanted.secret is not None else None
    kubeconfig = wanted.kubeconfig if secret is None else secret
    inside = cluster_provider(
        "kubernetes", kubeconfig=kubeconfig, context=wanted.context, cluster_identifier=cluster_identifier(wanted)
    )
    nowhere = pulumi.Output.from_input("")  # only the server of a worker is ever told, to its manager
    return Standing(plan, "", wanted.name, inside, kubeconfig, nowhere)


def _made(plan: FleetPlan, wanted: ClusterPlan, prefix: str, enabled: Enabled) -> Standing:
    """A cluster with its machines, and what accelerator nodes need inside."""
    google = gcp.Provider(f"{prefix}google", project=plan.project, region=plan.region)
    cluster, system_pool, networks = _machines(plan, wanted, prefix, google, enabled)
    kubeconfig = pulumi.Output.secret(cluster.kubeconfig)  # no credentials are in it, yet where the cluster answers
    inside = cluster_provider(
        f"{prefix}kubernetes",
        kubeconfig=kubeconfig,
        # Else a renewed certificate in the kubeconfig would count as another cluster, and replace every object in it.
        cluster_identifier=cluster_identifier(wanted),
    )
    _node_upkeep(plan, prefix, cluster, inside, networks)
    runs_on: list[pulumi.Resource] = [system_pool] if system_pool else [cluster.resource]
    server = pulumi.Output.concat("https://", cluster.endpoint)
    return Standing(
        plan,
        prefix,
        cluster.cluster_name,
        inside,
        kubeconfig,
        server,
        project=wanted.project,
        google=google,
        resource=cluster.resource,
        runs_on=runs_on,
    )


def existing(worker: WorkerPlan, prefix: str) -> Standing:
    """A worker that somebody else made: by another stack's output, or a secret of this one's config."""
    plan = worker.plan
    if worker.stack is not None:
        known = kubeconfigs.exported(pulumi.StackReference(f"{prefix}stack", worker.stack), worker.stack)
    else:
        known = pulumi.Config("berth").require_secret(worker.kubeconfig or "")
    inside = cluster_provider(
        f"{prefix}kubernetes", kubeconfig=known, cluster_identifier=worker.stack or f"berth:{worker.kubeconfig}"
    )
    google = gcp.Provider(f"{prefix}google", project=plan.project, region=plan.region)
    return Standing(
        plan,
        prefix,
        worker.name,
        inside,
        known,
        known.apply(lambda text: kubeconfigs.server_of(worker.name, text)),
        project=plan.project,
        google=google,
    )


def _network(
    plan: NetworkPlan | ExistingNetworkPlan, prefix: str, google: gcp.Provider, enabled: Sequence[pulumi.Resource]
) -> tuple[pulumi.Input[str], pulumi.Input[str]]:
    """Network and subnet: the cluster's own, or those that are there."""
    if isinstance(plan, ExistingNetworkPlan):
        return plan.network, plan.subnetwork
    own = Network(f"{prefix}network", plan, gcp_provider=google, depends_on=enabled)
    return own.network, own.subnetwork


def _machines(
    plan: FleetPlan, wanted: ClusterPlan, prefix: str, google: gcp.Provider, switched_on: Enabled
) -> tuple[Cluster, NodePool | None, Networks]:
    """What stands in Google Cloud; returns the cluster, the pool of its controllers if it has one, and networks."""
    services = Services(f"{prefix}services", plan.services, project=wanted.project, gcp_provider=google)
    enabled = switched_on.setdefault(wanted.project, [])
    enabled += services.enabled.values()
    account = NodeServiceAccount(
        f"{prefix}nodes",
        wanted.node_service_account,
        project=wanted.project,
        gcp_provider=google,
        depends_on=enabled,
    )
    network, subnetwork = _network(wanted.network, prefix, google, enabled)
    cluster = Cluster(
        f"{prefix}cluster",
        wanted,
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
        interfaces = networks.get(each.network.accelerator_networks or "")
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
