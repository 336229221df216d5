"""What a cluster is made of in Google Cloud: APIs, identity of nodes, network, control plane and machines."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pulumi
from msgspec import Struct

from berth.plan.fleet import ExistingGkeClusterPlan, FleetPlan
from berth.plan.gke import ClusterPlan, NetworkPlan, NodePoolPlan
from components.gke.accelerator_networks import AcceleratorNetworks
from components.gke.cluster import Cluster
from components.gke.future_reservation import FutureReservation
from components.gke.network import Network
from components.gke.node_pool import NodePool
from components.gke.node_service_account import NodeServiceAccount
from components.gke.reservation import Reservation
from components.gke.services import Services
from components.gke.webhook_firewall import WebhookFirewall
from components.gke.workload_policy import WorkloadPolicy

EnabledServices = dict[str, list[pulumi.Resource]]
"""Project → the APIs that were switched on in it so far."""
NetworksByKey = Mapping[str, AcceleratorNetworks]


class CreatedMachines(Struct, frozen=True):
    """What a cluster is made of in Google Cloud; `runs_on` is what its controllers wait for."""

    cluster: Cluster
    node_service_account: pulumi.Output[str]
    networks: NetworksByKey
    runs_on: Sequence[pulumi.Resource]
    nat_address: pulumi.Output[str] | None


def create_machines(
    plan: FleetPlan,
    cluster_plan: ClusterPlan,
    prefix: str,
    opts: pulumi.ResourceOptions,
    enabled_by_project: EnabledServices,
    manager_address: pulumi.Output[str] | None = None,
) -> CreatedMachines:
    """Create what is in Google Cloud: APIs, identity of nodes, network, cluster and node pools."""
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
    network = cluster_plan.network
    if isinstance(network, NetworkPlan):
        network = Network(f"{prefix}network", network, opts=opts, depends_on=enabled)
    cluster = Cluster(
        f"{prefix}cluster",
        cluster_plan,
        network=network.network,
        subnetwork=network.subnetwork,
        node_service_account=account.email,
        manager_address=manager_address,
        opts=opts,
        depends_on=enabled,
    )
    runs_on: list[pulumi.Resource] = []
    if cluster_plan.webhook_firewall is not None:
        firewall = WebhookFirewall(
            f"{prefix}webhooks",
            cluster_plan.webhook_firewall,
            network=network.network,
            node_service_account=account.email,
            opts=opts,
            depends_on=enabled,
        )
        runs_on.append(firewall)
    networks = {
        n.key: AcceleratorNetworks(f"{prefix}{n.key}", n, opts=opts, depends_on=enabled)
        for n in plan.accelerator_networks
    }
    email = cluster_plan.node_service_account.email
    place = _ClusterPlace(cluster.cluster_name, cluster.location, account.email, email)
    system_pool = _create_node_pools(plan, prefix, place, networks, opts, enabled)
    runs_on.insert(0, system_pool or cluster.resource)
    nat_address = network.nat_address if isinstance(network, Network) else None
    return CreatedMachines(cluster, account.email, networks, runs_on, nat_address)


class AddedMachines(Struct, frozen=True):
    """What is added to an existing cluster; `node_service_account` is None where pools have accounts of their own."""

    node_service_account: pulumi.Output[str] | None
    networks: NetworksByKey


def add_machines(
    plan: FleetPlan, cluster_plan: ExistingGkeClusterPlan, prefix: str, opts: pulumi.ResourceOptions
) -> AddedMachines:
    """Create what an existing cluster gets in Google Cloud: identity of nodes, networks and node pools.

    Its APIs are enabled already. No resource depends on the cluster, which is not one of the stack.
    """
    account = email = None
    if (account_plan := cluster_plan.node_service_account) is not None:
        account = NodeServiceAccount(f"{prefix}nodes", account_plan, project=cluster_plan.project, opts=opts).email
        email = account_plan.email
    networks = {n.key: AcceleratorNetworks(f"{prefix}{n.key}", n, opts=opts) for n in plan.accelerator_networks}
    place = _ClusterPlace(cluster_plan.name, cluster_plan.location, account, email)
    _create_node_pools(plan, prefix, place, networks, opts, ())
    return AddedMachines(account, networks)


class _ClusterPlace(Struct, frozen=True):
    """Where node pools are created: name and location of their cluster, and the account of their nodes.

    `account_email` is the account's address in the plan. A pool whose plan has it is created after the account.
    """

    name: pulumi.Input[str]
    location: pulumi.Input[str]
    service_account: pulumi.Input[str] | None
    account_email: str | None


def _create_node_pools(
    plan: FleetPlan,
    prefix: str,
    cluster: _ClusterPlace,
    networks: NetworksByKey,
    opts: pulumi.ResourceOptions,
    enabled: Sequence[pulumi.Resource],
) -> NodePool | None:
    """Create reservations, policies and every node pool; return the pool of the controllers if there is one.

    GPU pools wait for that one: GKE taints a GPU pool only in a cluster that has a pool without GPUs, and its own pods
    would move onto the GPU nodes otherwise (GKE docs: GPUs in Standard node pools, quoted in
    docs/samples/accelerators of KFServing).
    """
    # Reservations of the fleet's own, now and later: by name and zone, the name that pools take.
    current = {
        (r.name, (r.zone,)): Reservation(f"{prefix}{r.key}", r, opts=opts, depends_on=enabled)
        for r in plan.reservations
    }
    future = {
        (r.reservation_name, (r.zone,)): FutureReservation(f"{prefix}{r.key}", r, opts=opts, depends_on=enabled)
        for r in plan.future_reservations
    }
    reservation_names: dict[tuple[str | None, tuple[str, ...]], pulumi.Output[str]] = {
        place: made.reservation_name for place, made in (current | future).items()
    }
    policies = {
        p.name: WorkloadPolicy(f"{prefix}{p.key}", p, opts=opts, depends_on=enabled) for p in plan.workload_policies
    }

    def create_node_pool(each: NodePoolPlan, after: Sequence[pulumi.Resource] = ()) -> NodePool:
        interfaces = networks.get(each.network.accelerator_networks or "")
        policy = policies.get(each.placement.policy or "") if each.placement else None
        return NodePool(
            f"{prefix}{each.key}",
            each.without_account(cluster.account_email),
            cluster=cluster.name,
            location=cluster.location,
            service_account=cluster.service_account,
            opts=opts,
            placement_policy=policy.policy_name if policy else None,
            interfaces=interfaces.interfaces if interfaces else (),
            reservation=reservation_names.get((each.reservation, each.zones)),
            depends_on=after,
        )

    system_pool = create_node_pool(plan.system_pool) if plan.system_pool else None
    for each in (p for pool in plan.own_pools for p in pool.node_pools):
        create_node_pool(each, [system_pool] if system_pool and each.gpu else [])
    return system_pool
