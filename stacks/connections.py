"""Connection to a cluster: created by this stack with its machines, or existing.

With `stacks.machines` and `stacks.platform` the only place that knows plans and the components that make resources.
"""

from __future__ import annotations

from collections.abc import Sequence

import pulumi
from msgspec import Struct
from msgspec.structs import replace

from berth.plan.fleet import ExistingClusterPlan, ExistingGkeClusterPlan, FleetPlan, WorkerPlan, cluster_identifier
from berth.plan.gke import ClusterPlan
from berth.rules.gke.live_cluster import contradictions
from berth.rules.gke.node_accounts import account_contradictions
from components.gke.cluster_networks import ClusterNetworks
from components.gpu.installers import Installers
from components.kubernetes import cluster_provider
from stacks import kubeconfigs
from stacks.live_cluster import look_up_cluster
from stacks.machines import EnabledServices, NetworksByKey, add_machines, create_machines
from stacks.scope import Scope


class ClusterConnection(Struct, frozen=True):
    """A cluster with its providers, the node pool of its controllers, and its address.

    `scope` has the parent of its resources and the start of their names. `kubeconfig` is one, or the path of one; None
    leaves it to the client. `resource` is None where somebody else made the cluster; `google_provider` serves its
    `project`, and both are None for a cluster outside Google Cloud. `nat_address` is the reserved address from which
    its nodes reach the world, if it has one.
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
    nat_address: pulumi.Output[str] | None = None

    @property
    def prefix(self) -> str:
        """The start of the names of everything in this cluster."""
        return self.scope.prefix

    @property
    def opts(self) -> pulumi.ResourceOptions:
        """Return options of a component of this cluster: its children use the cluster's providers."""
        return self.scope.options(self.provider, self.google_provider, project=self.project)


def connect_cluster(
    plan: FleetPlan,
    enabled: EnabledServices,
    scope: Scope,
    *,
    manager_address: pulumi.Output[str] | None = None,
) -> ClusterConnection:
    """The cluster of a plan: made, or only reached. A worker authorizes the `manager_address` of its manager."""
    cluster = plan.cluster
    if isinstance(cluster, ExistingClusterPlan):
        return _connect_existing(plan, cluster, scope)
    if isinstance(cluster, ExistingGkeClusterPlan):
        return _join_gke_cluster(plan, cluster, scope)
    return _create_cluster(plan, cluster, scope, enabled, manager_address)


def _connect_existing(plan: FleetPlan, cluster_plan: ExistingClusterPlan, scope: Scope) -> ClusterConnection:
    """Connect to an existing cluster. The state contains only the path and context of its kubeconfig, or a secret."""
    kubeconfig: pulumi.Input[str] | None = cluster_plan.kubeconfig
    if scope.kubeconfig is not None or scope.kubernetes is not None:
        kubeconfig = scope.kubeconfig
    elif cluster_plan.secret is not None:
        secret = pulumi.Config("berth").require_secret(cluster_plan.secret)
        kubeconfig = kubeconfigs.of_a_cluster(f"berth:{cluster_plan.secret}", secret, cluster_plan.context)
    reached = replace(scope, kubeconfig=kubeconfig)
    provider = reached.existing_cluster_provider(cluster_identifier(cluster_plan), cluster_plan.context)
    no_server = pulumi.Output.from_input("")  # only the server of a worker is used, by its manager
    return ClusterConnection(plan, scope, cluster_plan.name, provider, kubeconfig, no_server)


def _join_gke_cluster(plan: FleetPlan, cluster_plan: ExistingGkeClusterPlan, scope: Scope) -> ClusterConnection:
    """Look up an existing GKE cluster, and create the machines of the plan in it.

    Raises pulumi.RunError with every contradiction between plan and cluster, before any resource but the provider.
    """
    google = scope.google_provider(plan.project, plan.region)
    live_cluster = look_up_cluster(cluster_plan, google)
    live = live_cluster.live
    if lines := (*contradictions(cluster_plan, live), *account_contradictions(plan, live.node_accounts)):
        heading = f"cluster '{cluster_plan.name}' is not what the stack file states or needs; nothing was changed:"
        raise pulumi.RunError("\n".join([heading, *(f"  {line}" for line in lines)]))
    machines = add_machines(plan, cluster_plan, scope.prefix, scope.options(google, project=cluster_plan.project))
    kubeconfig = pulumi.Output.secret(live_cluster.kubeconfig)
    provider = replace(scope, kubeconfig=kubeconfig).existing_cluster_provider(cluster_identifier(cluster_plan))
    _create_node_objects(plan, scope, machines.networks, provider)
    return ClusterConnection(
        plan,
        scope,
        cluster_plan.name,
        provider,
        kubeconfig,
        pulumi.Output.from_input(f"https://{live_cluster.endpoint}"),
        project=cluster_plan.project,
        google_provider=google,
        node_service_account=machines.node_service_account,
    )


def _create_cluster(
    plan: FleetPlan,
    cluster_plan: ClusterPlan,
    scope: Scope,
    enabled: EnabledServices,
    manager_address: pulumi.Output[str] | None,
) -> ClusterConnection:
    """A cluster with its machines, and what accelerator nodes need inside."""
    google = scope.google_provider(plan.project, plan.region)
    in_google_cloud = scope.options(google, project=cluster_plan.project)
    machines = create_machines(plan, cluster_plan, scope.prefix, in_google_cloud, enabled, manager_address)
    cluster = machines.cluster
    kubeconfig = pulumi.Output.secret(cluster.kubeconfig)  # no credentials are in it, yet where the cluster answers
    provider = cluster_provider(
        f"{scope.prefix}kubernetes",
        kubeconfig=kubeconfig,
        # Otherwise a renewed certificate in the kubeconfig would mean another cluster, and replace every object in it.
        cluster_identifier=cluster_identifier(cluster_plan),
        parent=scope.parent,
    )
    _create_node_objects(plan, scope, machines.networks, provider, cluster.resource)
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
        runs_on=machines.runs_on,
        node_service_account=machines.node_service_account,
        nat_address=machines.nat_address,
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
        secret = pulumi.Config("berth").require_secret(worker.kubeconfig or "")
        kubeconfig = kubeconfigs.of_a_cluster(f"worker '{worker.name}'", secret)
    provider = cluster_provider(
        f"{scope.prefix}kubernetes",
        kubeconfig=kubeconfig,
        cluster_identifier=worker.cluster_identifier,
        parent=scope.parent,
    )
    return ClusterConnection(
        plan,
        scope,
        worker.name,
        provider,
        kubeconfig,
        kubeconfig.apply(lambda text: kubeconfigs.kubeconfig_server(f"worker '{worker.name}'", text)),
        project=plan.project,
        google_provider=scope.google_provider(plan.project, plan.region),
    )


def _create_node_objects(
    plan: FleetPlan,
    scope: Scope,
    networks: NetworksByKey,
    provider: pulumi.ProviderResource,
    cluster: pulumi.Resource | None = None,
) -> None:
    """What accelerator nodes need inside the cluster; it is there before the first of them asks."""
    in_cluster = scope.options(provider)
    for each in plan.accelerator_networks:
        ClusterNetworks(
            f"{scope.prefix}{each.key}-objects",
            each,
            devices=networks[each.key].devices,
            cluster=cluster,
            opts=in_cluster,
        )
    if plan.installers is not None:
        Installers(f"{scope.prefix}installers", plan.installers, cluster=cluster, opts=in_cluster)
