"""Convert node auto-provisioning to arguments of a cluster: limits, and defaults of the pools that GKE creates."""

from __future__ import annotations

import pulumi
import pulumi_gcp as gcp

from berth.google.node_config import SCOPE
from berth.plan.gke import AutoProvisioningPlan, ClusterPlan
from berth.plan.node_settings import DRAIN_FIRST


def standard_autoscaling(
    cluster: ClusterPlan, service_account: pulumi.Input[str]
) -> gcp.container.ClusterClusterAutoscalingArgs | None:
    """Return auto-provisioning of a Standard cluster; None if it is off."""
    plan = cluster.auto_provisioning
    if plan is None:
        return None
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


def autopilot_autoscaling(
    cluster: ClusterPlan, service_account: pulumi.Input[str]
) -> gcp.container.ClusterClusterAutoscalingArgs:
    """Return the service account of Autopilot's nodes, which is set here; limits and profiles must not be set."""
    return gcp.container.ClusterClusterAutoscalingArgs(
        auto_provisioning_defaults=gcp.container.ClusterClusterAutoscalingAutoProvisioningDefaultsArgs(
            service_account=service_account, oauth_scopes=[SCOPE]
        ),
    )


def _defaults(
    plan: AutoProvisioningPlan, service_account: pulumi.Input[str]
) -> gcp.container.ClusterClusterAutoscalingAutoProvisioningDefaultsArgs:
    return gcp.container.ClusterClusterAutoscalingAutoProvisioningDefaultsArgs(
        service_account=service_account,
        oauth_scopes=[SCOPE],
        image_type="COS_CONTAINERD",
        disk_type=plan.disk_type,
        disk_size=plan.disk_size_gb,
        management=gcp.container.ClusterClusterAutoscalingAutoProvisioningDefaultsManagementArgs(
            auto_repair=plan.auto_repair, auto_upgrade=True
        ),
        shielded_instance_config=gcp.container.ClusterClusterAutoscalingAutoProvisioningDefaultsShieldedInstanceConfigArgs(
            enable_secure_boot=plan.secure_boot, enable_integrity_monitoring=True
        ),
        upgrade_settings=_upgrades(),
    )


def _upgrades() -> gcp.container.ClusterClusterAutoscalingAutoProvisioningDefaultsUpgradeSettingsArgs:
    """Return upgrades without surge nodes, which would count against the limits and may find no accelerator."""
    return gcp.container.ClusterClusterAutoscalingAutoProvisioningDefaultsUpgradeSettingsArgs(
        strategy="SURGE", max_surge=DRAIN_FIRST.max_surge, max_unavailable=DRAIN_FIRST.max_unavailable
    )
