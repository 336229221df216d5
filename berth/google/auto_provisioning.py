"""Node auto-provisioning of a cluster: limits, and defaults of the pools that GKE creates."""

from __future__ import annotations

from typing import Any

from berth.google.node_config import SCOPE
from berth.plan.gke import ClusterPlan
from berth.plan.node_settings import DRAIN_FIRST


def standard_autoscaling(cluster: ClusterPlan, service_account: object, boot_disk_key: object) -> dict[str, Any] | None:
    """Return auto-provisioning of a Standard cluster; None if it is off."""
    plan = cluster.auto_provisioning
    if plan is None:
        return None
    return {
        "enabled": True,
        "autoscaling_profile": plan.profile,
        "auto_provisioning_locations": sorted(plan.zones) or None,
        "resource_limits": [
            {"resource_type": limit.resource, "minimum": limit.minimum, "maximum": limit.maximum}
            for limit in plan.limits
        ],
        "auto_provisioning_defaults": {
            "service_account": service_account,
            "oauth_scopes": [SCOPE],
            "image_type": "COS_CONTAINERD",
            "disk_type": plan.disk_type,
            "disk_size": plan.disk_size_gb,
            "boot_disk_kms_key": boot_disk_key,
            "management": {"auto_repair": plan.auto_repair, "auto_upgrade": True},
            "shielded_instance_config": {
                "enable_secure_boot": plan.secure_boot,
                "enable_integrity_monitoring": True,
            },
            # Surge nodes would count against the limits and may find no accelerator.
            "upgrade_settings": {
                "strategy": "SURGE",
                "max_surge": DRAIN_FIRST.max_surge,
                "max_unavailable": DRAIN_FIRST.max_unavailable,
            },
        },
    }


def autopilot_autoscaling(service_account: object, boot_disk_key: object) -> dict[str, Any]:
    """Return what Autopilot's nodes get, which is set here; limits and profiles must not be set."""
    defaults = {
        "service_account": service_account,
        "oauth_scopes": [SCOPE],
        "boot_disk_kms_key": boot_disk_key,
    }
    return {"auto_provisioning_defaults": defaults}
