"""What GKE would answer about the existing cluster of a plan, for a preview without a cloud."""

from __future__ import annotations

from collections.abc import Mapping

from berth.plan.existing import ExistingGkeClusterPlan
from berth.plan.fleet import FleetPlan

_GET_CLUSTER = "gcp:container/getCluster:getCluster"
_ENDPOINT, _AUTHORITY = "192.0.2.1", "Q0VSVElGSUNBVEU="
"""An address for documentation (RFC 5737), and the word CERTIFICATE."""


def answer_function(plan: FleetPlan | None, token: str, arguments: Mapping[str, object]) -> Mapping[str, object]:
    """Return the provider's answer about a cluster that is what the plan states; raise RuntimeError for any other."""
    cluster = plan.cluster if plan is not None else None
    if token != _GET_CLUSTER or not isinstance(cluster, ExistingGkeClusterPlan):
        raise RuntimeError(
            f"'{token}' needs the provider, which is not available offline; put the value in the plan ({arguments})"
        )
    return {**arguments, **_identity(cluster), **_settings(cluster)}


def _identity(plan: ExistingGkeClusterPlan) -> Mapping[str, object]:
    return {
        "id": f"projects/{plan.project}/locations/{plan.location}/clusters/{plan.name}",
        "endpoint": _ENDPOINT,
        "masterAuths": [{"clusterCaCertificate": _AUTHORITY}],
        "masterVersion": f"{plan.version or '99.0'}.99-gke.99",
    }


def _settings(plan: ExistingGkeClusterPlan) -> Mapping[str, object]:
    limits = plan.auto_provisioning.limits if plan.auto_provisioning else ()
    dns = {"allowExternalTraffic": True, "endpoint": f"{plan.name}.gke.example"}
    confidential = {"enabled": True, "confidentialInstanceType": plan.confidential_nodes}
    return {
        "enableAutopilot": plan.mode == "autopilot",
        "datapathProvider": f"{(plan.datapath or 'advanced').upper()}_DATAPATH",
        "nodeLocations": list(plan.zones),
        "releaseChannels": [{"channel": plan.release_channel or "REGULAR"}],
        "workloadIdentityConfigs": [{"workloadPool": plan.workload_pool}],
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
                "clusterSecondaryRangeName": plan.pod_range_name or "pods",
                "servicesSecondaryRangeName": plan.service_range_name or "services",
                "servicesIpv4CidrBlock": plan.service_range or "10.96.0.0/12",
            }
        ],
        "confidentialNodes": [confidential] if plan.confidential_nodes else [],
        "authenticatorGroupsConfigs": [{"securityGroup": plan.security_group}] if plan.security_group else [],
        "secretManagerConfigs": [{"enabled": True}],
        "monitoringConfigs": [{"managedPrometheuses": [{"enabled": True}]}],
        "enableMultiNetworking": True,
        "controlPlaneEndpointsConfigs": [{"dnsEndpointConfigs": [dns]}],
        "servicesIpv4Cidr": plan.service_range or "10.96.0.0/12",
    }
