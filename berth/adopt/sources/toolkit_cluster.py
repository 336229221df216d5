"""The cluster of the Cluster Toolkit's module `gke-cluster`, as its Terraform makes it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from berth.adopt.api_objects import NotAdopted
from berth.adopt.sources.source_fleet import SYSTEM, Resource, Unresolved, list_or_empty, mapping_or_empty
from berth.adopt.sources.toolkit import EXISTING_CLUSTER

_ADDONS = {
    "enable_filestore_csi": "gcp_filestore_csi_driver_config",
    "enable_gcsfuse_csi": "gcs_fuse_csi_driver_config",
    "enable_parallelstore_csi": "parallelstore_csi_driver_config",
    "enable_managed_lustre_csi": "lustre_csi_driver_config",
}
_HIDDEN: Final = {
    "enable_ray_operator": "Berth installs no Ray operator in the cluster (the add-on RayOperator)",
    "enable_ml_diagnostics": "Berth does not install ML Diagnostics",
    "enable_pathways_for_tpus": "Berth installs no Pathways",
    "enable_slice_controller": "Berth has no key for the slice controller",
    "enable_k8s_beta_apis": "Berth has no key for beta APIs of Kubernetes",
    "enable_fqdn_network_policy": "Berth has no key for network policies by domain",
}
"""Inputs of the cluster that have no key, and what to say if they are set."""


def toolkit_cluster(name: str, settings: Mapping[str, Any]) -> Resource:
    """Return the cluster of a module `gke-cluster`, or the name and place of one that exists."""
    project, region = (settings.get(key, Unresolved(f"vars.{key}")) for key in ("project_id", "region"))
    if name == EXISTING_CLUSTER:
        name = settings.get("cluster_name", Unresolved("vars.cluster_name"))
        return {"name": name, "project": project, "location": region, "datapath_provider": "ADVANCED_DATAPATH"}
    is_zonal = settings["cluster_availability_type"] == "ZONAL"
    version = settings.get("min_master_version") or settings["version_prefix"]
    multi = settings.get("enable_multi_networking")
    multi = bool(settings["additional_networks"]) if multi is None else multi
    advanced = settings.get("enable_dataplane_v2")
    return {
        "name": _cluster_name(settings),
        "project": project,
        "location": settings.get("zone", Unresolved("vars.zone")) if is_zonal else region,
        "node_locations": settings.get("system_node_pool_zones"),
        "current_master_version": str(version).rstrip(".") if not isinstance(version, Unresolved) else version,
        "release_channel": {"channel": settings["release_channel"]},
        "datapath_provider": "ADVANCED_DATAPATH" if (multi if advanced is None else advanced) else "LEGACY_DATAPATH",
        "enable_multi_networking": multi,
        "enable_shielded_nodes": settings["enable_shielded_nodes"],
        "network": settings.get("network_id") if isinstance(settings.get("network_id"), str) else None,
        "subnetwork": settings.get("subnetwork_self_link") if isinstance(settings.get("network_id"), str) else None,
        "ip_allocation_policy": {
            "cluster_secondary_range_name": settings["pods_ip_range_name"],
            "services_secondary_range_name": settings["services_ip_range_name"],
        },
        "private_cluster_config": {
            "enable_private_nodes": settings["enable_private_nodes"],
            "enable_private_endpoint": settings["enable_private_endpoint"],
            "master_ipv4_cidr_block": settings["master_ipv4_cidr_block"],
        },
        "control_plane_endpoints_config": {
            "dns_endpoint_config": {"allow_external_traffic": settings["enable_external_dns_endpoint"]}
        },
        "master_authorized_networks_config": {
            "cidr_blocks": settings["master_authorized_networks"],
            "gcp_public_cidrs_access_enabled": settings["gcp_public_cidrs_access_enabled"],
        },
        "gateway_api_config": {"channel": "CHANNEL_STANDARD"} if settings["enable_inference_gateway"] is True else None,
        "node_pool_defaults": {"node_config_defaults": {"gcfs_config": {"enabled": settings["enable_gcfs"]}}},
        "addons_config": {block: {"enabled": settings[key]} for key, block in _ADDONS.items()},
        "maintenance_policy": _maintenance(settings),
        "cluster_autoscaling": None,
    }


def _cluster_name(settings: Mapping[str, Any]) -> Any:
    deployment = settings.get("deployment_name", Unresolved("vars.deployment_name"))
    suffix = settings["name_suffix"]
    if settings["prefix_with_deployment_name"] is not True:
        return suffix
    return deployment if isinstance(deployment, Unresolved) or not suffix else f"{deployment}-{suffix}"


def _maintenance(settings: Mapping[str, Any]) -> Resource:
    """Return the window and the exclusions, in the spelling of the API, which keeps exclusions by name."""
    exclusions: Resource = {
        str(each.get("name")): {
            "startTime": each.get("start_time"),
            "endTime": each.get("end_time"),
            "maintenanceExclusionOptions": {
                "scope": each.get("exclusion_scope"),
                "endTimeBehavior": each.get("exclusion_end_time_behavior"),
            },
        }
        for each in map(mapping_or_empty, list_or_empty(settings["maintenance_exclusions"]))
    }
    window = {"start_time": settings["maintenance_start_time"]}
    return {"window": {"daily_maintenance_window": window, "maintenanceExclusions": exclusions}}


def toolkit_system_pools(name: str, settings: Mapping[str, Any], notes: list[NotAdopted]) -> list[Resource]:
    """Return the node pool for what has no accelerators, and note what of the cluster has no key."""
    if name == EXISTING_CLUSTER:
        return []
    what = "the cluster"
    notes += [NotAdopted(what, text) for key, text in _HIDDEN.items() if settings.get(key)]
    if settings.get("cluster_autoscaling"):
        notes.append(
            NotAdopted(
                what, "cluster_autoscaling (node auto-provisioning) is not read; write cluster.nodeAutoProvisioning"
            )
        )
    if settings["system_node_pool_enabled"] is not True:
        notes.append(
            NotAdopted("node pool system", "the blueprint has none; Berth makes one for what has no accelerators")
        )
        return []
    own_name = settings["system_node_pool_name"]
    if own_name != SYSTEM:
        notes.append(NotAdopted(f"node pool {own_name}", f"is called {SYSTEM} in Berth"))
    if settings["system_node_pool_taints"]:
        notes.append(NotAdopted("node pool system", "its taints have no key: pods of every owner may run there"))
    size = settings["system_node_pool_node_count"]
    return [
        {
            "name": SYSTEM,
            "node_locations": settings.get("system_node_pool_zones"),
            "autoscaling": {
                "total_min_node_count": size["total_min_nodes"],
                "total_max_node_count": size["total_max_nodes"],
            }
            if isinstance(size, Mapping)
            else size,
            "node_config": {
                "machine_type": settings["system_node_pool_machine_type"],
                "disk_size_gb": settings["system_node_pool_disk_size_gb"],
                "disk_type": settings.get("system_node_pool_disk_type"),
            },
        }
    ]
