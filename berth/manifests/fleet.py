"""All objects inside a fleet's cluster, as manifests in the order to apply them."""

from __future__ import annotations

from collections.abc import Iterator

from berth.manifests import gke, gpu, kueue, monitoring, policies, roles, tenancy, worker_access
from berth.manifests.serving.webhooks import webhook_patches
from berth.plan.fleet import FleetPlan
from berth.plan.gke import ClusterPlan


def all_manifests(fleet: FleetPlan) -> Iterator[dict[str, object]]:
    """Yield every manifest, referenced objects first, so that one `kubectl apply` of the whole stream succeeds."""
    for vpc in (vpc for networks in fleet.accelerator_networks for vpc in networks.vpcs):
        for subnet in vpc.subnets:
            yield gke.network_parameters(subnet, vpc.name)
            yield gke.pod_network(subnet)
    if fleet.installers is not None:
        yield from gpu.installers(fleet.installers)
        if fleet.installers.dra is not None:
            yield from (manifest for _, manifest in gpu.driver_namespace(fleet.installers.dra))
    yield from _tenancy(fleet)
    yield from map(gke.compute_class, fleet.compute_classes)
    if isinstance(fleet.cluster, ClusterPlan) and fleet.cluster.checkpointing is not None:
        yield gke.checkpoint_configuration(fleet.cluster.checkpointing)
    if (manager_access := fleet.manager_access) is not None:
        yield from (manifest for _, manifest in worker_access.access_manifests(manager_access))
        yield worker_access.token_secret(manager_access)
    yield from _queueing(fleet)
    if fleet.kueue is not None and fleet.kueue.serving_namespaces is not None:
        yield from (manifest for _, manifest in webhook_patches(fleet.kueue.serving_namespaces))
    if fleet.monitoring is not None:
        yield from monitoring.monitoring_manifests(fleet.monitoring, fleet.stack)


def _tenancy(fleet: FleetPlan) -> Iterator[dict[str, object]]:
    """Yield the admission policies, then the teams' namespaces and the objects in them."""
    if fleet.policies is not None:
        yield from (manifest for _, manifest in policies.admission_policies(fleet.policies))
    for team in fleet.teams:
        yield from (tenancy.namespace(team, place) for place in team.namespaces if place.owned)
    if fleet.access is not None:
        yield from (manifest for _, manifest in roles.cluster_access(fleet.access))
    for team in fleet.teams:
        for place in team.namespaces:
            yield from (manifest for _, manifest in tenancy.namespace_manifests(team, place))


def _queueing(fleet: FleetPlan) -> Iterator[dict[str, object]]:
    """Yield the objects of Kueue, and the PriorityClasses."""
    yield from map(kueue.priority_class, fleet.priorities)
    yield from map(kueue.workload_priority_class, fleet.priorities)
    yield from map(kueue.topology, fleet.topologies)
    yield from map(kueue.resource_flavor, fleet.flavors)
    yield from map(kueue.provisioning_request_config, fleet.provisioning_configs)
    yield from map(kueue.multikueue_cluster, fleet.multikueue_clusters)
    yield from map(kueue.multikueue_config, fleet.multikueue_configs)
    yield from map(kueue.admission_check, fleet.admission_checks)
    yield from map(kueue.cohort, fleet.cohorts)
    yield from map(kueue.cluster_queue, fleet.cluster_queues)
    for queue in fleet.cluster_queues:
        yield from map(kueue.local_queue, queue.local_queues)
