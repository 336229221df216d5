"""Look up an existing GKE cluster."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeVar

import pulumi
import pulumi_gcp as gcp
from msgspec import Struct

from berth.plan.fleet import ExistingGkeClusterPlan
from berth.rules.gke.live_cluster import CHECKPOINTING, LiveCluster
from components.gke.kubeconfig import kubeconfig

T = TypeVar("T")


class FoundCluster(Struct, frozen=True):
    """An existing cluster: what it is, how it is reached, and a kubeconfig without credentials."""

    live: LiveCluster
    endpoint: str
    kubeconfig: str


def look_up_cluster(plan: ExistingGkeClusterPlan, provider: pulumi.ProviderResource) -> FoundCluster:
    """Ask GKE for the cluster of a plan and wait for the answer. Raises pulumi.RunError if there is none."""
    try:
        result = gcp.container.get_cluster(
            name=plan.name,
            location=plan.location,
            project=plan.project,
            opts=pulumi.InvokeOptions(provider=provider),
        )
    except Exception as error:
        cause = " ".join(str(error).split())
        message = (
            f"cluster.existing: no answer about cluster '{plan.name}' in {plan.location} of project {plan.project} "
            f"({cause}); check name, location and project, and that you may read it: gcloud container clusters "
            f"describe {plan.name} --location {plan.location} --project {plan.project}"
        )
        raise pulumi.RunError(message) from None
    dns = _dns_endpoint(result)
    use_dns = plan.dns_endpoint is True and dns is not None
    authority = None if use_dns else result.master_auths[0].cluster_ca_certificate
    endpoint = dns.endpoint if dns is not None and use_dns else result.endpoint
    return FoundCluster(
        live=_live_cluster(result),
        endpoint=endpoint,
        kubeconfig=kubeconfig(name=plan.name, endpoint=endpoint, ca_certificate=authority),
    )


def _live_cluster(result: gcp.container.GetClusterResult) -> LiveCluster:
    ranges, autoscaling = _first(result.ip_allocation_policies), _first(result.cluster_autoscalings)
    identity, channel = _first(result.workload_identity_configs), _first(result.release_channels)
    confidential, groups = _first(result.confidential_nodes), _first(result.authenticator_groups_configs)
    secrets, monitoring = _first(result.secret_manager_configs), _first(result.monitoring_configs)
    prometheus = _first(monitoring.managed_prometheuses) if monitoring else None
    dns = _dns_endpoint(result)
    # The provider leaves out the zone of a zonal cluster.
    own = {result.location} if result.location and result.location.count("-") > 1 else set[str]()
    return LiveCluster(
        mode="autopilot" if result.enable_autopilot else "standard",
        datapath="advanced" if result.datapath_provider == "ADVANCED_DATAPATH" else "legacy",
        zones=tuple(sorted({*result.node_locations, *own})),
        release_channel=channel.channel if channel else "UNSPECIFIED",
        version=result.master_version,
        workload_pool=(identity.workload_pool or None) if identity else None,
        limits=_limits(autoscaling),
        pod_range_names=_pod_range_names(ranges),
        service_range_name=ranges.services_secondary_range_name if ranges else None,
        service_range=ranges.services_ipv4_cidr_block if ranges else result.services_ipv4_cidr,
        confidential_nodes=confidential.confidential_instance_type if confidential and confidential.enabled else None,
        security_group=groups.security_group if groups else None,
        multi_networking=bool(result.enable_multi_networking),
        dns_endpoint=dns is not None and bool(dns.allow_external_traffic),
        secret_manager=bool(secrets and secrets.enabled),
        managed_prometheus=bool(result.enable_autopilot or (prometheus and prometheus.enabled)),
        add_ons=_add_ons(result),
        node_accounts={
            each.name: each.node_configs[0].service_account for each in result.node_pools or () if each.node_configs
        },
    )


def _add_ons(result: gcp.container.GetClusterResult) -> tuple[str, ...] | None:
    """Return the add-ons for volumes that are on, by the words of the stack file; None if the answer has none."""
    add_ons = _first(result.addons_configs)
    if add_ons is None:
        return None
    blocks = {
        "gcs-fuse": add_ons.gcs_fuse_csi_driver_configs,
        "filestore": add_ons.gcp_filestore_csi_driver_configs,
        "parallelstore": add_ons.parallelstore_csi_driver_configs,
        "lustre": add_ons.lustre_csi_driver_configs,
        CHECKPOINTING: add_ons.high_scale_checkpointing_configs,
    }
    return tuple(name for name, block in blocks.items() if (first := _first(block)) is not None and first.enabled)


def _first(blocks: Sequence[T] | None) -> T | None:
    """Return the only block of a list, which the provider returns for an optional block."""
    return blocks[0] if blocks else None


def _limits(
    autoscaling: gcp.container.outputs.GetClusterClusterAutoscalingResult | None,
) -> Mapping[str, int] | None:
    if autoscaling is None or not autoscaling.enabled:
        return None
    return {limit.resource_type: limit.maximum for limit in autoscaling.resource_limits}


def _pod_range_names(ranges: gcp.container.outputs.GetClusterIpAllocationPolicyResult | None) -> tuple[str, ...]:
    if ranges is None:
        return ()
    additional = _first(ranges.additional_pod_ranges_configs)
    names = {ranges.cluster_secondary_range_name, *(additional.pod_range_names if additional else ())}
    return tuple(sorted(filter(None, names)))


def _dns_endpoint(
    result: gcp.container.GetClusterResult,
) -> gcp.container.outputs.GetClusterControlPlaneEndpointsConfigDnsEndpointConfigResult | None:
    endpoints = _first(result.control_plane_endpoints_configs)
    return _first(endpoints.dns_endpoint_configs) if endpoints else None
