"""A cluster to compose on: created here with its machines, or an existing one.

With `stacks.machines` and `stacks.platform` the only place that knows plans and the components that make resources.
"""

from __future__ import annotations

from collections.abc import Sequence

import pulumi
import pulumi_gcp as gcp
import pulumi_kubernetes as kubernetes
from msgspec import Struct

from berth.plan.existing import ExistingClusterPlan
from berth.plan.fleet import FleetPlan, WorkerPlan
from berth.plan.gke import ClusterPlan
from berth.plan.team_stack import cluster_identifier
from components.gke.cluster import Cluster
from components.gke.cluster_networks import ClusterNetworks
from components.gpu.installers import Installers
from components.kubernetes import cluster_provider
from stacks import kubeconfigs
from stacks.machines import EnabledServices, NetworksByKey, create_machines


class ClusterConnection(Struct, frozen=True):
    """A cluster to compose on: its providers, what its controllers run on, where it is reached.

    `prefix` begins the names of everything that is a worker's; the manager, and a fleet of one cluster, has none.
    `kubeconfig` is one, or the path of one; None leaves it to the client. `resource` is None where somebody else made
    the cluster; `google` serves its `project`, and both are None for a cluster outside Google Cloud. `nat_address` is
    the reserved address from which its nodes reach the world, if it has one.
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
    nat_address: pulumi.Output[str] | None = None

    @property
    def opts(self) -> pulumi.ResourceOptions:
        """Options of a component of this cluster: its children use the cluster's own providers."""
        return pulumi.ResourceOptions(
            providers=[provider for provider in (self.provider, self.google_provider) if provider is not None]
        )


def connect_cluster(
    plan: FleetPlan,
    enabled: EnabledServices,
    prefix: str = "",
    *,
    manager_address: pulumi.Output[str] | None = None,
) -> ClusterConnection:
    """The cluster of a plan: made, or only reached. A worker authorizes the `manager_address` of its manager."""
    cluster = plan.cluster
    return (
        _connect_existing(plan, cluster)
        if isinstance(cluster, ExistingClusterPlan)
        else _create_cluster(plan, cluster, prefix, enabled, manager_address)
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
    plan: FleetPlan,
    cluster_plan: ClusterPlan,
    prefix: str,
    enabled: EnabledServices,
    manager_address: pulumi.Output[str] | None,
) -> ClusterConnection:
    """A cluster with its machines, and what accelerator nodes need inside."""
    google = gcp.Provider(f"{prefix}google", project=plan.project, region=plan.region)
    in_google_cloud = pulumi.ResourceOptions(providers=[google])
    machines = create_machines(plan, cluster_plan, prefix, in_google_cloud, enabled, manager_address)
    cluster = machines.cluster
    kubeconfig = pulumi.Output.secret(cluster.kubeconfig)  # no credentials are in it, yet where the cluster answers
    provider = cluster_provider(
        f"{prefix}kubernetes",
        kubeconfig=kubeconfig,
        # Else a renewed certificate in the kubeconfig would count as another cluster, and replace every object in it.
        cluster_identifier=cluster_identifier(cluster_plan),
    )
    _create_node_objects(plan, prefix, cluster, provider, machines.networks)
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
        runs_on=machines.runs_on,
        nat_address=machines.nat_address,
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
