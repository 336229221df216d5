"""The GKE cluster, with access to its control plane, maintenance, and node auto-provisioning."""

from __future__ import annotations

from typing import Any, Final

from berth.google.node_config import SCOPE
from berth.plan.gke import ClusterPlan, ControlPlanePlan, ExistingNetworkPlan, MaintenancePlan
from berth.plan.node_settings import DRAIN_FIRST
from berth.registration import Registration, without_none

_REPORTED_ORDER = (
    *("SYSTEM_COMPONENTS", "APISERVER", "SCHEDULER", "CONTROLLER_MANAGER", "STORAGE", "HPA", "POD", "DAEMONSET"),
    *("DEPLOYMENT", "STATEFULSET", "CADVISOR", "KUBELET", "DCGM", "JOBSET"),
)
"""Monitoring components in the order in which GKE returns them. The provider compares lists: another order would be a
change in every preview after a refresh (hashicorp/terraform-provider-google#28688)."""

_LOGS: Final = ("WORKLOADS", "APISERVER", "SCHEDULER", "CONTROLLER_MANAGER")
"""Components with logs in the order in which GKE returns them, for the same reason; it requires SYSTEM_COMPONENTS."""

_INITIAL_POOL: Final = ("initialNodeCount", "nodeConfig")
"""Describe only the initial pool, which is removed: GKE reports other values afterwards, and the provider would replace
the cluster to undo that."""
_CREATION_ONLY: Final = ("description", "enableKubernetesAlpha", "enableTpu", "ipAllocationPolicy.stackType")
"""What Berth never sets and other tools may have set at the creation of a cluster that is adopted. The provider would
replace the cluster to remove it."""
_NOT_SENT_WITHOUT_IP: Final = ("privateClusterConfig.enablePrivateEndpoint",)
"""The provider does not send it while IP endpoints are off, so a different answer of GKE would be a change forever
(`expandControlPlaneEndpointsConfig` in hashicorp/terraform-provider-google-beta 7.45)."""

_DRIVERS: Final = {
    "gcs-fuse": "gcs_fuse_csi_driver_config",
    "filestore": "gcp_filestore_csi_driver_config",
    "parallelstore": "parallelstore_csi_driver_config",
    "lustre": "lustre_csi_driver_config",
}
"""Storage drivers that Berth turns on or off → their argument."""
_OMITTED_WHILE_OFF: Final = ("lustre",)
"""Drivers that are omitted while they are off; all others are turned off explicitly."""
_IN_AUTOPILOT: Final = ("gcs-fuse", "filestore")
"""Drivers that every Autopilot cluster has."""


def cluster(
    plan: ClusterPlan,
    *,
    network: object,
    subnetwork: object,
    node_service_account: object,
    manager_range: object | None = None,
    range_names: tuple[str, str] | None = None,
    boot_disk_key: object = None,
) -> Registration:
    """Return a regional cluster, Standard or Autopilot.

    `network` and `subnetwork` are paths or IDs, `node_service_account` is an email address. `manager_range` is the
    range with the reserved address of the MultiKueue manager's NAT, for a plan with `manager_access`. `range_names` are
    the secondary ranges for pods and services of a subnet, and `boot_disk_key` a key of Cloud KMS, that the plan does
    not know.
    """
    pod_range, service_range = range_names or (plan.network.pod_range_name, plan.network.service_range_name)
    more_ranges = plan.network.additional_pod_range_names if isinstance(plan.network, ExistingNetworkPlan) else ()
    settings = plan.settings
    encryption = settings.database_encryption
    arguments = {
        "name": plan.name,
        "project": plan.project,
        "location": plan.location,
        "node_locations": sorted(plan.zones) or None,
        "release_channel": {"channel": plan.release_channel},
        "min_master_version": plan.version,
        "network": network,
        "subnetwork": subnetwork,
        "networking_mode": "VPC_NATIVE",
        "ip_allocation_policy": {
            "cluster_secondary_range_name": pod_range,
            "services_secondary_range_name": service_range,
            "additional_pod_ranges_config": {"pod_range_names": sorted(more_ranges)} if more_ranges else None,
        },
        **control_plane(plan.control_plane, manager_range),
        "maintenance_policy": maintenance_policy(plan.maintenance),
        "monitoring_config": {
            "enable_components": sorted(plan.monitoring_components, key=_REPORTED_ORDER.index),
            "managed_prometheus": {"enabled": True},
        },
        "logging_config": {
            "enable_components": ["SYSTEM_COMPONENTS", *(each for each in _LOGS if each in settings.logging_components)]
        },
        "gateway_api_config": {"channel": "CHANNEL_STANDARD" if settings.gateway_api else "CHANNEL_DISABLED"},
        "security_posture_config": {"mode": "BASIC"},
        "fleet": None if settings.fleet_project is None else {"project": settings.fleet_project},
        "enable_multi_networking": plan.multi_networking or None,
        "confidential_nodes": None
        if plan.confidential_nodes is None
        else {"enabled": True, "confidential_instance_type": plan.confidential_nodes},
        "cost_management_config": None if plan.cost_management is None else {"enabled": plan.cost_management},
        # Without it, Kubernetes does not know the Google Groups of a person.
        "authenticator_groups_config": None if plan.security_group is None else {"security_group": plan.security_group},
        "secret_manager_config": {"enabled": True} if plan.secret_manager else None,
        "database_encryption": encryption and {"state": encryption.state, "key_name": encryption.key_name},
        "deletion_protection": settings.deletion_protection,
        "resource_labels": dict(sorted(plan.labels.items())),
    }
    key = settings.boot_disk_kms_key if boot_disk_key is None else boot_disk_key
    of_mode = _autopilot if plan.mode == "autopilot" else _standard
    return Registration(
        type="gcp:container/cluster:Cluster",
        arguments=without_none({**arguments, **of_mode(plan, node_service_account, key)}),
        protect=plan.protect,
        delete_before_replace=True,  # the name is fixed
        ignore_changes=(
            *_INITIAL_POOL,
            *_CREATION_ONLY,
            *(() if plan.control_plane.ip_endpoint else _NOT_SENT_WITHOUT_IP),
        ),
    )


def _standard(plan: ClusterPlan, service_account: object, boot_disk_key: object) -> dict[str, Any]:
    """Return what a Standard cluster needs and Autopilot implies.

    Storage drivers that the plan omits are turned off, because omitting a block would not do so. Exceptions are the
    drivers omitted while off, and the one for persistent disks, which GKE turns on itself.
    """
    drivers = [each for each in _DRIVERS if each in plan.storage_drivers or each not in _OMITTED_WHILE_OFF]
    return {
        "initial_node_count": 1,
        "remove_default_node_pool": True,
        # Otherwise the initial pool would use the project's default service account, which many projects disable.
        "node_config": {
            "machine_type": plan.first_machine_type,
            "service_account": service_account,
            "oauth_scopes": [SCOPE],
            "boot_disk_kms_key": boot_disk_key,
            "shielded_instance_config": {"enable_secure_boot": True, "enable_integrity_monitoring": True},
        },
        "datapath_provider": f"{plan.datapath.upper()}_DATAPATH",
        "workload_identity_config": {"workload_pool": plan.workload_pool},
        "enable_shielded_nodes": None if plan.settings.shielded_nodes else False,
        "addons_config": {
            **{_DRIVERS[each]: {"enabled": each in plan.storage_drivers} for each in drivers},
            **({"slice_controller_config": {"enabled": True}} if plan.slice_controller else {}),
            **({"high_scale_checkpointing_config": {"enabled": True}} if plan.checkpointing else {}),
        },
        "node_pool_defaults": {"node_config_defaults": {"gcfs_config": {"enabled": plan.image_streaming}}},
        "cluster_autoscaling": standard_autoscaling(plan, service_account, boot_disk_key),
    }


def _autopilot(plan: ClusterPlan, service_account: object, boot_disk_key: object) -> dict[str, Any]:
    """Return what an Autopilot cluster needs; its data plane, workload identity and node security must not be set."""
    drivers = [each for each in _DRIVERS if each in plan.storage_drivers and each not in _IN_AUTOPILOT]
    return {
        "enable_autopilot": True,
        "addons_config": {_DRIVERS[each]: {"enabled": True} for each in drivers} or None,
        "cluster_autoscaling": autopilot_autoscaling(service_account, boot_disk_key),
    }


_MANAGER: Final = "manager"
"""The name under which a worker shows the address of its manager."""


def control_plane(plan: ControlPlanePlan, manager_range: object | None = None) -> dict[str, Any]:
    """Return the arguments of a cluster for access to its control plane.

    `manager_range` is authorized beside the networks of the plan, if the plan has `manager_access`.
    """
    endpoints = None
    if plan.dns_endpoint is not None or not plan.ip_endpoint:
        # The IP endpoints are also set where they are on: the provider keeps a block that is left out, so they stayed
        # off. The DNS endpoint is open or closed to callers outside Google.
        dns = None if plan.dns_endpoint is None else {"allow_external_traffic": plan.dns_endpoint}
        endpoints = {"dns_endpoint_config": dns, "ip_endpoints_config": {"enabled": plan.ip_endpoint}}
    return {
        # Explicitly for a public cluster too: if the block were omitted, the provider would keep its old values and
        # nodes would stay private. A range that is not set does not change.
        "private_cluster_config": {
            "enable_private_nodes": plan.private_nodes,
            "enable_private_endpoint": not plan.public_endpoint,
            "master_ipv4_cidr_block": plan.ip_range,
            "master_global_access_config": {"enabled": True} if plan.global_access else None,
        },
        "control_plane_endpoints_config": endpoints,
        "master_authorized_networks_config": _authorized_networks(plan, manager_range),
    }


def _authorized_networks(plan: ControlPlanePlan, manager_range: object | None) -> dict[str, Any] | None:
    """Return the authorized networks; None leaves the endpoint open, an empty block closes it to all but nodes.

    None, too, if there is no IP endpoint: the provider then does not send the block and would show a change forever.
    """
    if plan.authorized_networks is None or not plan.ip_endpoint:
        return None
    networks = sorted(plan.authorized_networks, key=lambda network: (network.cidr, network.name))
    blocks: list[dict[str, object]] = [{"cidr_block": each.cidr, "display_name": each.name} for each in networks]
    if plan.manager_access and manager_range is not None:
        blocks.append({"cidr_block": manager_range, "display_name": _MANAGER})
    return {"cidr_blocks": blocks, "gcp_public_cidrs_access_enabled": plan.google_ranges}


_ANY_TIME: Final = {
    "start_time": "2026-01-01T00:00:00Z",
    "end_time": "2026-01-02T00:00:00Z",
    "recurrence": "FREQ=DAILY",
}
"""A window that is always open. Google accepts exclusions without a window, but the provider does not: "one of
daily_maintenance_window, recurring_maintenance_window, recurring_window must be specified"."""


def maintenance_policy(plan: MaintenancePlan | None) -> dict[str, Any] | None:
    """Return the window and its exclusions; None if neither is set."""
    if plan is None or not (plan.exclusions or plan.start or plan.daily_start):
        return None
    policy: dict[str, Any] = {
        "maintenance_exclusions": [
            {
                "exclusion_name": each.name,
                "start_time": each.start,
                "end_time": each.end,
                "exclusion_options": {
                    "scope": each.scope,
                    "end_time_behavior": "UNTIL_END_OF_SUPPORT" if each.end is None else None,
                },
            }
            for each in sorted(plan.exclusions, key=lambda exclusion: exclusion.name)
        ]
    }
    if plan.daily_start is not None:
        return {**policy, "daily_maintenance_window": {"start_time": plan.daily_start}}
    if plan.start is None:
        return {**policy, "recurring_window": _ANY_TIME}
    window = {"start_time": plan.start, "end_time": plan.end, "recurrence": plan.recurrence}
    return {**policy, "recurring_window": window}


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
