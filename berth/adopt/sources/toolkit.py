"""The modules of the Cluster Toolkit: what their settings become in Terraform, and what they hand to other modules."""

from __future__ import annotations

import math
import pathlib
from collections.abc import Collection, Mapping
from functools import cache
from typing import Any, Final, cast

from berth import catalog
from berth.adopt.api_objects import NotAdopted
from berth.adopt.sources.expressions import Names, Unresolved
from berth.adopt.sources.source_fleet import SYSTEM, Resource, as_list, as_mapping
from berth.yaml_loader import load_table

CLUSTER, EXISTING_CLUSTER, NODE_POOL = "gke-cluster", "pre-existing-gke-cluster", "gke-node-pool"
_DEFAULT_SYSCTLS: Final = {"net.ipv4.tcp_rmem": "4096 87380 16777216", "net.ipv4.tcp_wmem": "4096 16384 16777216"}
_SCOPES = ("https://www.googleapis.com/auth/cloud-platform",)
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


@cache
def _table() -> Mapping[str, Any]:
    return load_table(pathlib.Path(__file__).with_name("toolkit_modules.yaml"))


def is_read(name: str) -> bool:
    """Return whether the settings of a module are read."""
    return name in _table()["read"]


def is_other(name: str) -> bool:
    """Return whether a module makes something else than GKE clusters, such as Slurm or VMs."""
    return any(part in name for part in _table()["other"])


def says(name: str, source: str) -> str:
    """Return what to do instead of a module that is not read."""
    known = _table()["says"].get(name)
    return f"{name}: {known}" if known else f"'{source}' is no module that Berth knows: what it makes is unknown"


def inputs(name: str) -> Collection[str]:
    """Return the names of the inputs of a module that is read."""
    row = _table()["read"][name]
    return [*row["unset"], *row["defaults"]]


def numbers(name: str) -> Collection[str]:
    """Return the names of the inputs whose value is a whole number."""
    return _table()["read"][name].get("numbers", ())


def defaults(name: str) -> dict[str, Any]:
    """Return the inputs with a default."""
    return dict(_table()["read"][name]["defaults"])


# --- outputs ----------------------------------------------------------------------------------------------------------


def outputs(name: str, settings: Mapping[str, Any]) -> Names:
    """Return the outputs of a module that other modules read, by name."""
    made: dict[str, Any] = {}
    if name == "resource-policy":
        made = _placement(settings)
    elif name == "multivpc":
        made = {"additional_networks": _interfaces(settings["network_count"])}
    elif name == "gpu-rdma-vpc":
        template = settings["subnetworks_template"]
        count = as_mapping(template).get("count", 8)
        made = {"subnetwork_interfaces_gke": _interfaces(count)}
    elif name == "vpc":
        made = {"instance_additional_networks": _interfaces(1)}
    elif name == "pre-existing-vpc":
        network, subnetwork = settings["network_name"], settings.get("subnetwork_name") or settings["network_name"]
        made = {"network_id": network, "subnetwork_self_link": subnetwork}
    elif name in (CLUSTER, EXISTING_CLUSTER):
        made = {"cluster_id": Unresolved("cluster_id"), "gke_version": Unresolved("gke_version")}
    return _KnownNames(name, made)


class _KnownNames(Names):
    """Outputs of a module, which can be listed."""

    def __init__(self, what: str, values: Mapping[str, Any]) -> None:
        super().__init__(what, {})
        self._known = dict(values)

    @property
    def all(self) -> Mapping[str, Any]:
        """The outputs by name."""
        return self._known


def given_by(module: Any) -> Mapping[str, Any]:
    """Return the outputs that a module gives to those that `use` it."""
    return module.all if isinstance(module, _KnownNames) else {}


def _interfaces(count: Any) -> list[Any]:
    return [{"network": "", "subnetwork": ""}] * count if isinstance(count, int) else [Unresolved("network_count")]


def _placement(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return the placement that a policy gives to node pools; the end of its name is random."""
    policy, distance = settings["workload_policy"], settings["group_placement_max_distance"]
    kind = as_mapping(policy).get("type")
    if not kind and not distance:
        return {"placement_policy": {"type": None, "tpu_topology": None}}
    topology = as_mapping(policy).get("accelerator_topology") if kind else None
    return {"placement_policy": {"type": "COMPACT", "tpu_topology": topology}}


# --- node pools -------------------------------------------------------------------------------------------------------


def set_node_count(name: str, settings: dict[str, Any], given: Mapping[str, Any]) -> None:
    """Set the number of nodes of a TPU slice, which gcluster computes from its topology (hardware.go)."""
    machine = catalog.machines().get(str(settings.get("machine_type")))
    topology: Any = as_mapping(settings.get("placement_policy")).get("tpu_topology")
    is_slice = machine is not None and machine.kind == "tpu" and isinstance(topology, str)
    if (
        name == NODE_POOL
        and is_slice
        and "static_node_count" not in given
        and settings.get("enable_flex_start") is not True
    ):
        assert machine is not None
        chips = math.prod(int(side) for side in str(topology).split("x") if side.isdecimal())
        settings["static_node_count"] = chips // machine.accelerators


def node_pools(module: str, settings: Mapping[str, Any], project: str, notes: list[NotAdopted]) -> list[Resource]:
    """Return the node pools of a module `gke-node-pool`, as its Terraform makes them."""
    counts = [settings["num_node_pools"], settings["num_slices"]]
    unresolved = next((each for each in counts if isinstance(each, Unresolved)), None)
    numbers = [each for each in counts if isinstance(each, int)]
    count = max(numbers, default=0) if unresolved is None and len(numbers) == 2 else 1
    name = (
        settings.get("name")
        or f"{settings['machine_type']}-{''.join(c for c in module.lower() if c.isalnum() or c == '-')}"
    )
    pool = _node_pool(settings, project)
    if unresolved is not None:
        pool["node_count"] = unresolved
    initial = settings.get("initial_node_count")
    if initial and "autoscaling" in pool:
        text = f"initial_node_count: {initial} has no key; the autoscaler adds nodes when jobs need them"
        notes.append(NotAdopted(f"module {module}", text))
    names = [name] if count == 1 else [f"{name}-{number}" for number in range(count)]
    if settings.get("host_maintenance_interval"):
        notes.append(NotAdopted(f"module {module}", "Berth has no key for the interval of host maintenance"))
    if settings.get("accelerator_topology_mode"):
        notes.append(NotAdopted(f"module {module}", "Berth has no key for accelerator_topology_mode"))
    return [{**pool, "name": each} for each in names]


def _node_pool(settings: Mapping[str, Any], project: str) -> Resource:
    return {
        "node_locations": settings.get("zones"),
        **_size(settings),
        "max_pods_per_node": settings.get("max_pods_per_node"),
        "management": {"auto_repair": settings["auto_repair"], "auto_upgrade": settings["auto_upgrade"]},
        "upgrade_settings": settings["upgrade_settings"],
        "placement_policy": _pool_placement(settings),
        "queued_provisioning": {"enabled": True} if settings["enable_queued_provisioning"] is True else None,
        "node_config": _node_config(settings, project),
        "network_config": _network(settings),
    }


def _size(settings: Mapping[str, Any]) -> Resource:
    if (static := settings.get("static_node_count")) is not None:
        return {"node_count": static}
    least, most = settings.get("autoscaling_min_node_count"), settings.get("autoscaling_max_node_count")
    if least is not None or most is not None:
        return {"autoscaling": {"min_node_count": least, "max_node_count": most}}
    totals = {"total_min_node_count": settings["autoscaling_total_min_nodes"]}
    return {"autoscaling": {**totals, "total_max_node_count": settings["autoscaling_total_max_nodes"]}}


def _pool_placement(settings: Mapping[str, Any]) -> Any:
    if isinstance(settings["placement_policy"], Unresolved):
        return settings["placement_policy"]
    policy = as_mapping(settings["placement_policy"])
    if policy.get("type") is None:
        return None
    machine = catalog.machines().get(str(settings["machine_type"]))
    topology = policy.get("tpu_topology") if machine is not None and machine.kind == "tpu" else None
    return {"type": policy["type"], "policy_name": policy.get("name"), "tpu_topology": topology}


def _network(settings: Mapping[str, Any]) -> Resource:
    return {
        "accelerator_network_profile": "auto" if settings["enable_dranet"] is True else None,
        # How many there are says which kind of GPUDirect the nodes have; the networks themselves are Berth's.
        "additional_node_network_configs": [{}] * len(as_list(settings["additional_networks"])) or None,
        "enable_private_nodes": settings["enable_private_nodes"],
    }


def _node_config(settings: Mapping[str, Any], project: str) -> Resource:
    system = as_mapping(settings["linux_node_config"])
    numa: Resource = (
        {
            "cpu_manager_policy": "static",
            "topology_manager": {"policy": "restricted"},
            "memory_manager": {"policy": "Static"},
        }
        if settings["enable_numa_aware_scheduling"] is True
        else {}
    )
    seconds = settings.get("max_run_duration")
    return {
        "machine_type": settings["machine_type"],
        "disk_size_gb": settings["disk_size_gb"],
        "disk_type": settings.get("disk_type"),
        "image_type": settings["image_type"],
        "labels": settings.get("kubernetes_labels"),
        "oauth_scopes": settings["service_account_scopes"],
        "spot": settings["spot"],
        "flex_start": settings["enable_flex_start"],
        "max_run_duration": f"{seconds}s" if isinstance(seconds, int) else seconds,
        "guest_accelerator": [_gpu(each) for each in as_list(settings["guest_accelerator"])] or None,
        "taint": settings["taints"] or None,
        "ephemeral_storage_local_ssd_config": {"local_ssd_count": settings.get("local_ssd_count_ephemeral_storage")},
        "local_nvme_ssd_block_config": {"local_ssd_count": settings.get("local_ssd_count_nvme_block")},
        "shielded_instance_config": {
            "enable_secure_boot": settings["enable_secure_boot"],
            "enable_integrity_monitoring": True,
        },
        "gcfs_config": {"enabled": True} if settings["enable_gcfs"] is True else None,
        "gvnic": {"enabled": settings["image_type"] == "COS_CONTAINERD"},
        "advanced_machine_features": _threads(settings),
        "linux_node_config": {"sysctls": _DEFAULT_SYSCTLS, **system},
        "reservation_affinity": _affinity(settings["reservation_affinity"], project),
        "kubelet_config": numa or None,
    }


def _threads(settings: Mapping[str, Any]) -> Resource | None:
    """Return threads of a core where the module sets them: it switches SMT off unless told otherwise."""
    wanted, machine = settings.get("threads_per_core"), str(settings["machine_type"]).split("-")
    vcpus = machine[2] if len(machine) > 2 and machine[2].isdecimal() else "1"
    is_capable = machine[0] not in ("t2d", "t2a") and int(vcpus) >= 2 and len(machine) > 2
    if wanted is None or (wanted == 0 and not is_capable):
        return None
    return {"threads_per_core": 2 if wanted == 2 else 1}


def _gpu(value: Any) -> Any:
    """Return a GPU of a node with the default of its driver."""
    if not isinstance(value, Mapping):
        return value
    return {"gpu_driver_installation_config": {"gpu_driver_version": "DEFAULT"}, **cast("Mapping[str, Any]", value)}


def _affinity(value: Any, project: str) -> Any:
    if not isinstance(value, Mapping):
        return value
    affinity = cast("Mapping[str, Any]", value)
    named = as_list(affinity.get("specific_reservations"))
    if not named:
        return {"consume_reservation_type": affinity.get("consume_reservation_type")}
    name, owner = named[0].get("name"), named[0].get("project") or project
    path = name if isinstance(name, Unresolved) or name is None else f"projects/{owner}/reservations/{name}"
    if isinstance(name, str) and name.startswith("projects/"):
        path = name
    return {"consume_reservation_type": affinity.get("consume_reservation_type"), "values": [path]}


# --- the cluster ------------------------------------------------------------------------------------------------------


def cluster(name: str, settings: Mapping[str, Any]) -> Resource:
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
        for each in map(as_mapping, as_list(settings["maintenance_exclusions"]))
    }
    window = {"start_time": settings["maintenance_start_time"]}
    return {"window": {"daily_maintenance_window": window, "maintenanceExclusions": exclusions}}


def system_pools(name: str, settings: Mapping[str, Any], notes: list[NotAdopted]) -> list[Resource]:
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
