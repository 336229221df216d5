"""Everything that the program registers in Google Cloud for a fleet, and its Helm releases."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Final

from msgspec.structs import asdict, replace

from berth.google.cluster import cluster
from berth.google.components import (
    accelerator_network_parts,
    network_parts,
    node_identity_parts,
    subnet_role,
    team_identity_parts,
)
from berth.google.monitoring import alert_policy, dashboard
from berth.google.network import webhook_firewall
from berth.google.node_pool import node_pool, workload_policy
from berth.google.reservation import future_reservation, reservation
from berth.google.service_accounts import checkpoint_writer, cluster_viewers
from berth.google.services import enabled_service
from berth.manifests.releases import kubernetes_provider, release
from berth.names import to_camel
from berth.plan.fleet import ExistingClusterPlan, ExistingGkeClusterPlan, FleetPlan, cluster_identifier
from berth.plan.gke import ClusterPlan, NetworkPlan, NodePoolPlan, ServiceAccountPlan
from berth.registration import Reference, Registration
from berth.resource import IN_WORKER, FleetResource, ResourceKind


def google_resources(plan: FleetPlan) -> Iterator[FleetResource]:
    """Yield every resource of a fleet that is not a Kubernetes object, the cluster first; then those of its workers.

    A worker that somebody else made has none. Keys of a worker's resources begin with `<worker>/`, and
    their names with the name under which it was created.
    """
    yield from _ClusterResources(plan, "", "").all()
    for worker in plan.workers:
        if worker.made_here:
            manager = Reference(ResourceKind.NETWORK, "network", "nat-address.range")
            yield from _ClusterResources(
                worker.plan, f"{worker.name}{IN_WORKER}", f"{worker.key}{IN_WORKER}", manager
            ).all()


_NOTHING: Final = partial(dict[str, Registration])
"""Makes nothing, as for the identity of a team without an account or a role."""


class _ClusterResources:
    """The resources of one cluster; keys begin with `prefix`, and names in the program with `start`."""

    def __init__(self, plan: FleetPlan, prefix: str, start: str, manager_range: Reference | None = None) -> None:
        self._plan, self._prefix, self._start, self._manager_range = plan, prefix, start, manager_range
        self._added: dict[str, object] = {} if plan.project is None else {"project": plan.project}
        kind = ResourceKind.CLUSTER if isinstance(plan.cluster, ClusterPlan) else ResourceKind.CONNECTION
        self._home = self._reference(kind, "cluster", "cluster.id", cluster_identifier(plan.cluster))

    def all(self) -> Iterator[FleetResource]:
        plan = self._plan
        yield self._cluster(plan.cluster) if isinstance(plan.cluster, ClusterPlan) else self._connection(plan.cluster)
        if isinstance(plan.cluster, ClusterPlan):
            yield from self._networking(plan.cluster)
        if not isinstance(plan.cluster, ExistingClusterPlan):
            yield from self._machines(plan.cluster)
        yield from self._charts()
        if plan.project is not None and not isinstance(plan.cluster, ExistingClusterPlan):
            yield from self._views(plan.project)
            yield from self._identities(plan.project)

    # --- cluster and networks -----------------------------------------------------------------------------------------

    def _cluster(self, plan: ClusterPlan) -> FleetResource:
        network = plan.network
        own = isinstance(network, NetworkPlan)
        make = partial(
            cluster,
            plan,
            network=self._reference(ResourceKind.NETWORK, "network", "vpc.id") if own else network.network,
            subnetwork=self._reference(ResourceKind.NETWORK, "network", "subnet.id") if own else network.subnetwork,
            node_service_account=self._node_account(plan.node_service_account),
            manager_range=self._manager_range if plan.control_plane.manager_access else None,
        )
        return self._resource(ResourceKind.CLUSTER, "cluster", make, role="cluster")

    def _connection(self, plan: ExistingClusterPlan | ExistingGkeClusterPlan) -> FleetResource:
        """Return the connection to an existing cluster, with what the stack file states of it."""
        stated = {
            to_camel(name): value
            for name, value in asdict(plan).items()
            if name not in ("name", "project", "location", "context", "kubeconfig", "secret", "node_service_account")
        }
        is_described = isinstance(plan, ExistingClusterPlan)
        make = partial(
            kubernetes_provider,
            kubeconfig=plan.connection if is_described else None,
            cluster_identifier=cluster_identifier(plan),
            context=plan.context if is_described else None,
        )
        return self._resource(ResourceKind.CONNECTION, "cluster", make, role="cluster", added=stated)

    def _networking(self, plan: ClusterPlan) -> Iterator[FleetResource]:
        network = plan.network
        if isinstance(network, NetworkPlan):
            vpc_id = self._reference(ResourceKind.NETWORK, "network", "vpc.id")
            router_name = self._reference(ResourceKind.NETWORK, "network", "router.name", network.name)
            address = self._reference(ResourceKind.NETWORK, "network", "nat-address.selfLink")
            make = partial(network_parts, network, vpc_id, router_name, address)
            yield self._resource(ResourceKind.NETWORK, "network", make)
        if plan.webhook_firewall is not None:
            kind = ResourceKind.WEBHOOK_FIREWALL
            own = isinstance(network, NetworkPlan)
            make = partial(
                webhook_firewall,
                plan.webhook_firewall,
                network=self._reference(ResourceKind.NETWORK, "network", "vpc.id") if own else network.network,
                node_service_account=self._node_account(plan.node_service_account),
            )
            yield self._resource(kind, kind.value, make, name="webhooks", role="rule")

    # --- machines -----------------------------------------------------------------------------------------------------

    def _machines(self, plan: ClusterPlan | ExistingGkeClusterPlan) -> Iterator[FleetResource]:
        fleet = self._plan
        if plan.node_service_account is not None:
            member = self._node_account(plan.node_service_account, "account.member")
            make = partial(node_identity_parts, plan.node_service_account, plan.project, member)
            yield self._resource(ResourceKind.NODE_IDENTITY, "nodes", make)
        for api in sorted(fleet.services) if isinstance(plan, ClusterPlan) else ():
            role = api.removesuffix(".googleapis.com")
            yield self._resource(
                ResourceKind.SERVICE, api, partial(enabled_service, api, plan.project), "services", role
            )
        for each in fleet.reservations:
            yield self._resource(ResourceKind.RESERVATION, each.key, partial(reservation, each), role="reservation")
        for each in fleet.future_reservations:
            kind = ResourceKind.FUTURE_RESERVATION
            yield self._resource(kind, each.key, partial(future_reservation, each), role="request")
        for each in fleet.workload_policies:
            yield self._resource(ResourceKind.WORKLOAD_POLICY, each.key, partial(workload_policy, each), role="policy")
        for each in fleet.accelerator_networks:
            kind = ResourceKind.ACCELERATOR_NETWORKS
            ids = tuple(self._reference(kind, each.key, f"{vpc.key}-vpc.id") for vpc in each.vpcs)
            make = partial(accelerator_network_parts, each, ids, f"{self._start}{each.key}-")
            yield self._resource(kind, each.key, make)
        yield from self._node_pools(plan)

    def _node_pools(self, plan: ClusterPlan | ExistingGkeClusterPlan) -> Iterator[FleetResource]:
        fleet, account = self._plan, plan.node_service_account
        name = replace(self._home, output="cluster.name", value=plan.name)
        location = replace(self._home, output="cluster.location", value=plan.location)
        service_account = self._node_account(account) if account is not None else None
        pools = [(pool.name, each) for pool in fleet.own_pools for each in pool.node_pools]
        for pool, each in [(None, fleet.system_pool), *pools] if fleet.system_pool else pools:
            make = partial(
                node_pool,
                each.without_account(account and account.email),
                cluster=name,
                location=location,
                service_account=service_account,
                reservation=self._reservation(each),
                placement_policy=self._placement_policy(each),
                interfaces=self._interfaces(each),
            )
            key, node_pool_name = f"{self._prefix}{each.key}", f"{self._start}{each.key}"
            if pool is None:
                yield FleetResource(ResourceKind.SYSTEM_POOL, key, node_pool_name, make, "pool")
            else:
                of_pool = f"{self._prefix}{pool}"
                yield FleetResource(ResourceKind.NODE_POOL, key, node_pool_name, make, "pool", of_pool)

    def _reservation(self, plan: NodePoolPlan) -> Reference | None:
        if plan.reservation is None:
            return None
        place = plan.reservation, plan.zones
        for each in self._plan.future_reservations:
            if (each.reservation_name, (each.zone,)) == place:
                output = "request.reservationName"
                return self._reference(ResourceKind.FUTURE_RESERVATION, each.key, output, each.reservation_name)
        for each in self._plan.reservations:
            if (each.name, (each.zone,)) == place:
                return self._reference(ResourceKind.RESERVATION, each.key, "reservation.name", each.name)
        return None

    def _placement_policy(self, plan: NodePoolPlan) -> Reference | None:
        if plan.placement is None:
            return None
        policy = next((each for each in self._plan.workload_policies if each.name == plan.placement.policy), None)
        return policy and self._reference(ResourceKind.WORKLOAD_POLICY, policy.key, "policy.name", policy.name)

    def _interfaces(self, plan: NodePoolPlan) -> tuple[tuple[Reference, Reference], ...]:
        """Return network and subnet of every interface that the program makes, in the order of the plan."""
        key, kind = plan.network.accelerator_networks, ResourceKind.ACCELERATOR_NETWORKS
        networks = next((each for each in self._plan.accelerator_networks if each.key == key), None) if key else None
        if networks is None:
            return ()
        start = f"{self._start}{networks.key}-"
        return tuple(
            (
                self._reference(kind, networks.key, f"{vpc.key}-vpc.name", vpc.name),
                self._reference(kind, networks.key, f"{subnet_role(subnet.device, start)}.name", subnet.name),
            )
            for vpc in networks.vpcs
            for subnet in vpc.subnets
        )

    # --- inside the cluster, monitoring and identities ----------------------------------------------------------------

    def _charts(self) -> Iterator[FleetResource]:
        monitoring, installers = self._plan.monitoring, self._plan.installers
        for name, charts in (
            ("installers", (installers.dra.chart,) if installers and installers.dra else ()),
            ("controllers", self._plan.charts),
            ("monitoring", monitoring.charts if monitoring else ()),
        ):
            for each in charts:
                key, component = f"{self._prefix}{each.name}", f"{self._start}{name}"
                make = partial(release, each)
                yield FleetResource(ResourceKind.CONTROLLER, key, component, make, each.name, home=self._home)

    def _views(self, project: str) -> Iterator[FleetResource]:
        plan, monitoring = self._plan, self._plan.monitoring
        if monitoring is None or monitoring.managed is None:
            return
        for each in monitoring.managed.dashboards:
            make = partial(dashboard, each, stack=plan.stack, project=project)
            yield self._resource(ResourceKind.DASHBOARD, each.key, make, "views", f"{each.key}-dashboard")
        for each in monitoring.managed.alerts:
            make = partial(
                alert_policy,
                each,
                stack=plan.stack,
                project=project,
                labels=plan.labels,
                channels=monitoring.channels,
            )
            yield self._resource(ResourceKind.ALERT, each.key, make, "views", f"{each.key}-alert")

    def _identities(self, project: str) -> Iterator[FleetResource]:
        access, cluster = self._plan.access, self._plan.cluster
        if isinstance(cluster, ClusterPlan) and cluster.checkpointing is not None:
            kind = ResourceKind.CHECKPOINTING
            yield self._resource(kind, kind.value, partial(checkpoint_writer, cluster.checkpointing), role="writer")
        if access is not None and access.in_project and (access.owners or access.teams):
            yield self._resource(ResourceKind.ACCESS, "access", partial(cluster_viewers, access, project))
        for team in self._plan.teams:
            if (identity := team.identity) is None or not identity.granted:
                continue
            make = _NOTHING
            if identity.impersonates is not None or identity.roles or identity.buckets or identity.secrets:
                account = self._reference(ResourceKind.TEAM_IDENTITY, team.key, "account.name")
                make = partial(team_identity_parts, team, project, account)
            yield self._resource(ResourceKind.TEAM_IDENTITY, team.key, make)

    # --- references ---------------------------------------------------------------------------------------------------

    def _resource(
        self,
        kind: ResourceKind,
        key: str,
        make: partial[Registration] | partial[dict[str, Registration]],
        name: str | None = None,
        role: str = "",
        added: dict[str, object] | None = None,
    ) -> FleetResource:
        """Return a resource of the provider's project, if it is not said what is `added` to its inputs."""
        key, name = self._prefix + key, self._start + (name or key)
        return FleetResource(kind, key, name, make, role, added=self._added if added is None else added)

    def _reference(self, kind: ResourceKind, key: str, output: str, value: str | None = None) -> Reference:
        return Reference(kind, f"{self._prefix}{key}", output, value)

    def _node_account(self, plan: ServiceAccountPlan, output: str = "account.email") -> Reference:
        value = plan.email if output == "account.email" else f"serviceAccount:{plan.email}"
        return self._reference(ResourceKind.NODE_IDENTITY, "nodes", output, value)
