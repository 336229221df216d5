"""Node auto-provisioning as arguments of a cluster: the limits, and what the pools that GKE makes are like."""

from __future__ import annotations

import pulumi
import pulumi_gcp as gcp

from components.plan.gke import AutoProvisioningPlan

SCOPE = "https://www.googleapis.com/auth/cloud-platform"
"""The one scope that nodes get: what they may do is decided by the roles of their account."""


def standard(
    plan: AutoProvisioningPlan, service_account: pulumi.Input[str]
) -> gcp.container.ClusterClusterAutoscalingArgs:
    """Auto-provisioning of a Standard cluster."""
    return gcp.container.ClusterClusterAutoscalingArgs(
        enabled=True,
        autoscaling_profile=plan.profile,
        auto_provisioning_locations=sorted(plan.zones) or None,
        resource_limits=[
            gcp.container.ClusterClusterAutoscalingResourceLimitArgs(
                resource_type=limit.resource, minimum=limit.minimum, maximum=limit.maximum
            )
            for limit in plan.limits
        ],
        auto_provisioning_defaults=_defaults(plan, service_account),
    )


def autopilot(service_account: pulumi.Input[str]) -> gcp.container.ClusterClusterAutoscalingArgs:
    """The identity of Autopilot's nodes; there is no other place to say it, and nothing else may be said."""
    return gcp.container.ClusterClusterAutoscalingArgs(
        auto_provisioning_defaults=gcp.container.ClusterClusterAutoscalingAutoProvisioningDefaultsArgs(
            service_account=service_account, oauth_scopes=[SCOPE]
        )
    )


def _defaults(
    plan: AutoProvisioningPlan, service_account: pulumi.Input[str]
) -> gcp.container.ClusterClusterAutoscalingAutoProvisioningDefaultsArgs:
    return gcp.container.ClusterClusterAutoscalingAutoProvisioningDefaultsArgs(
        service_account=service_account,
        oauth_scopes=[SCOPE],
        image_type="COS_CONTAINERD",
        disk_type=plan.disk_type,
        management=gcp.container.ClusterClusterAutoscalingAutoProvisioningDefaultsManagementArgs(
            auto_repair=True, auto_upgrade=True
        ),
        shielded_instance_config=gcp.container.ClusterClusterAutoscalingAutoProvisioningDefaultsShieldedInstanceConfigArgs(
            enable_secure_boot=True, enable_integrity_monitoring=True
        ),
        upgrade_settings=gcp.container.ClusterClusterAutoscalingAutoProvisioningDefaultsUpgradeSettingsArgs(
            strategy="SURGE",
            max_surge=0,  # a surge node counts against the limits and may find no accelerator
            max_unavailable=1,
        ),
    )
