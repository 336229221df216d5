"""What GKE would answer about the existing cluster of a plan, for a preview without a cloud."""

from __future__ import annotations

from collections.abc import Mapping

from berth.plan.fleet import ExistingGkeClusterPlan, FleetPlan

_ENDPOINT, _AUTHORITY = "192.0.2.1", "Q0VSVElGSUNBVEU="
"""An address for documentation (RFC 5737), and the word CERTIFICATE."""


def answer_function(plan: FleetPlan | None, token: str, arguments: Mapping[str, object]) -> Mapping[str, object]:
    """Return the provider's answer about a cluster that is what the plan states; raise RuntimeError for any other."""
    cluster = plan.cluster if plan is not None else None
    if token != "gcp:container/getCluster:getCluster" or not isinstance(cluster, ExistingGkeClusterPlan):
        raise RuntimeError(
            f"'{token}' needs the provider, which is not available offline; put the value in the plan ({arguments})"
        )
    limits = cluster.auto_provisioning.limits if cluster.auto_provisioning else ()
    dns = {"allowExternalTraffic": True, "endpoint": f"{cluster.name}.gke.example"}
    confidential = {"enabled": True, "confidentialInstanceType": cluster.confidential_nodes}
    return {
        **arguments,
        "id": f"projects/{cluster.project}/locations/{cluster.location}/clusters/{cluster.name}",
        "endpoint": _ENDPOINT,
        "masterAuths": [{"clusterCaCertificate": _AUTHORITY}],
        "masterVersion": f"{cluster.version or '99.0'}.99-gke.99",
        "enableAutopilot": cluster.mode == "autopilot",
        "datapathProvider": f"{(cluster.datapath or 'advanced').upper()}_DATAPATH",
        "nodeLocations": list(cluster.zones),
        "releaseChannels": [{"channel": cluster.release_channel or "REGULAR"}],
        "workloadIdentityConfigs": [{"workloadPool": cluster.workload_pool}],
        "clusterAutoscalings": [
            {
                "enabled": bool(limits),
                "resourceLimits": [
                    {"resourceType": each.resource, "minimum": each.minimum, "maximum": each.maximum} for each in limits
                ],
            }
        ],
        "ipAllocationPolicies": [
            {
                "clusterSecondaryRangeName": cluster.pod_range_name or "pods",
                "servicesSecondaryRangeName": cluster.service_range_name or "services",
                "servicesIpv4CidrBlock": cluster.service_range or "10.96.0.0/12",
            }
        ],
        "confidentialNodes": [confidential] if cluster.confidential_nodes else [],
        "authenticatorGroupsConfigs": [{"securityGroup": cluster.security_group}] if cluster.security_group else [],
        "secretManagerConfigs": [{"enabled": True}],
        "monitoringConfigs": [{"managedPrometheuses": [{"enabled": True}]}],
        "enableMultiNetworking": True,
        "controlPlaneEndpointsConfigs": [{"dnsEndpointConfigs": [dns]}],
        "servicesIpv4Cidr": cluster.service_range or "10.96.0.0/12",
    }
