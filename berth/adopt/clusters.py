"""Read a cluster's answer into the section `cluster` of a stack file, and the fleet's frame."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from berth import catalog
from berth.adopt import rest_fields
from berth.adopt.api_objects import ApiObject, NotAdopted, StackEntry, list_at, mapping_at, value_at
from berth.adopt.inventory import ClusterInventory
from berth.adopt.labels import machine_type
from berth.adopt.pool_settings import boot_disk
from berth.adopt.pools import SYSTEM_POOL, scaling_bounds
from berth.jobs.quantities import parse_quantity
from berth.manifests.quantities import quantity

_DRIVERS = {
    "gcsFuseCsiDriverConfig": "gcs-fuse",
    "gcpFilestoreCsiDriverConfig": "filestore",
    "parallelstoreCsiDriverConfig": "parallelstore",
    "lustreCsiDriverConfig": "lustre",
}
_AUTOPILOT_DRIVERS = ("gcs-fuse", "filestore")
"""Drivers that Autopilot includes."""
NODE_RANGE, POD_RANGE, SERVICE_RANGE = "10.40.0.0/22", "10.64.0.0/13", "10.44.0.0/20"
"""The ranges of a fleet that names none."""
_ALWAYS_OPEN_START = "2026-01-01T00:00:00Z"
"""Start of a window that never closes, for exclusions without a window."""


def project_settings(inventory: ClusterInventory) -> StackEntry:
    """Return project, region and labels."""
    labels = mapping_at(inventory.cluster, "resourceLabels")
    user_labels = {
        k: v for k, v in sorted(labels.items()) if k not in ("managed-by", "fleet") and not k.startswith("goog-")
    }
    return {"project": inventory.project, "region": inventory.region} | ({"labels": user_labels} if user_labels else {})


def cluster_section(inventory: ClusterInventory, stack: str, not_adopted: list[NotAdopted]) -> StackEntry:
    """Return the cluster, as far as a stack file can express it; assumptions are reported in `left`."""
    cluster_answer, name = inventory.cluster, str(inventory.cluster["name"])
    entry: StackEntry = {} if name == stack else {"name": name}
    entry |= {"mode": "autopilot"} if inventory.is_autopilot else {}
    if version := cluster_answer.get("currentMasterVersion"):
        entry["version"] = ".".join(str(version).split(".")[:2])
    entry |= rest_fields.stack_entry(rest_fields.CLUSTER, cluster_answer, autopilot=inventory.is_autopilot)
    entry |= {} if inventory.is_autopilot else {"zones": sorted(list_at(cluster_answer, "locations"))}
    if networks := _authorized_networks(cluster_answer):
        entry.setdefault("controlPlane", {}).update(networks)
    entry |= _network_section(inventory, not_adopted)
    entry |= _system_pool_section(inventory)  # with the key of its boot disks, which is the cluster's
    entry |= provisioning_section(inventory)
    entry |= _maintenance_section(cluster_answer)
    key = value_at(cluster_answer, "databaseEncryption.keyName")
    entry |= {"databaseEncryption": {"keyName": key}} if key else {}
    entry |= add_ons(inventory, not_adopted)
    uses_gpudirect = any(value_at(each, "networkConfig.additionalNodeNetworkConfigs") for each in inventory.node_pools)
    multi_networking = value_at(cluster_answer, "networkConfig.enableMultiNetworking") and not uses_gpudirect
    return entry | ({"multiNetworking": True} if multi_networking else {})


def add_ons(inventory: ClusterInventory, not_adopted: list[NotAdopted]) -> StackEntry:
    """Return what the cluster's add-ons let pods mount: storage drivers, and multi-tier checkpointing."""
    drivers = [driver for key, driver in _DRIVERS.items() if value_at(inventory.cluster, f"addonsConfig.{key}.enabled")]
    drivers = [driver for driver in drivers if not (inventory.is_autopilot and driver in _AUTOPILOT_DRIVERS)]
    return {**({"storageDrivers": drivers} if drivers else {}), **_checkpointing(inventory, not_adopted)}


def _checkpointing(inventory: ClusterInventory, not_adopted: list[NotAdopted]) -> StackEntry:
    """Return multi-tier checkpointing, whose settings are an object in the cluster."""
    if not value_at(inventory.cluster, "addonsConfig.highScaleCheckpointingConfig.enabled"):
        return {}
    for settings in inventory.objects_of_kind("CheckpointConfiguration"):
        machine = mapping_at(settings, "spec.nodeSelector").get("node.kubernetes.io/instance-type")
        bucket, size = (value_at(settings, f"spec.{each}") for each in ("cloudStorageBucketName", "inMemoryVolumeSize"))
        memory = parse_quantity("memory", size)
        if machine and bucket and memory:
            entry = {"bucket": bucket, "machineType": machine, "inMemoryVolumeSize": quantity("memory", memory)}
            return {"checkpointing": entry}
    why = (
        "is on, and no CheckpointConfiguration selects nodes by their machine type; write cluster.checkpointing by hand"
    )
    not_adopted.append(NotAdopted("multi-tier checkpointing", why))
    return {}


def _authorized_networks(cluster_answer: ApiObject) -> StackEntry:
    config = mapping_at(cluster_answer, "masterAuthorizedNetworksConfig") or mapping_at(
        cluster_answer, "controlPlaneEndpointsConfig.ipEndpointsConfig.authorizedNetworksConfig"
    )
    if not config.get("enabled"):
        return {}
    blocks = [
        {"name": each.get("displayName") or each["cidrBlock"], "cidrBlock": each["cidrBlock"]}
        for each in list_at(config, "cidrBlocks")
    ]
    google_access = {"gcpPublicCidrsAccess": True} if config.get("gcpPublicCidrsAccessEnabled") else {}
    return {"authorizedNetworks": blocks} | google_access


def _network_section(inventory: ClusterInventory, not_adopted: list[NotAdopted]) -> StackEntry:
    """Return the network: a VPC named like Berth's own is adopted, any other is used and not changed."""
    cluster_answer = inventory.cluster
    path = str(value_at(cluster_answer, "networkConfig.network") or cluster_answer.get("network", ""))
    subnet = str(value_at(cluster_answer, "networkConfig.subnetwork") or cluster_answer.get("subnetwork", ""))
    owner = path.partition("projects/")[2].partition("/")[0]
    ranges = mapping_at(cluster_answer, "ipAllocationPolicy")
    range_names = (
        path.rpartition("/")[2],
        *(ranges.get(f"{each}SecondaryRangeName") for each in ("cluster", "services")),
    )
    if range_names == (cluster_answer["name"], "pods", "services"):
        return _own_network(inventory, ranges, subnet.rpartition("/")[2], not_adopted)
    entry: StackEntry = {"existing": path.rpartition("/")[2], "subnetwork": subnet.rpartition("/")[2]}
    entry |= {"project": owner} if owner and owner != inventory.project else {}
    range_fields = {"podRangeName": "clusterSecondaryRangeName", "serviceRangeName": "servicesSecondaryRangeName"}
    if more := list_at(ranges, "additionalPodRangesConfig.podRangeNames"):
        entry["additionalPodRangeNames"] = sorted(more)
    return {"network": entry | {key: ranges[field] for key, field in range_fields.items() if ranges.get(field)}}


def _own_network(
    inventory: ClusterInventory, ranges: Mapping[str, Any], subnet: str, not_adopted: list[NotAdopted]
) -> StackEntry:
    nodes = next((each["ipCidrRange"] for each in inventory.subnetworks if each["name"] == subnet), None)
    if nodes is None:
        why = f"node range assumed to be {NODE_RANGE}; add the answer of gcloud compute networks subnets list"
        not_adopted.append(NotAdopted(f"subnetwork {subnet}", why))
    seen = {"nodeCidrBlock": nodes, "podCidrBlock": ranges.get("clusterIpv4CidrBlock")}
    seen |= {"serviceCidrBlock": ranges.get("servicesIpv4CidrBlock")}
    entry = {key: block for key, block in seen.items() if block not in (None, NODE_RANGE, POD_RANGE, SERVICE_RANGE)}
    return {"network": entry} if entry else {}


def _system_pool_section(inventory: ClusterInventory) -> StackEntry:
    node_pool = next((each for each in inventory.node_pools if each["name"] == SYSTEM_POOL), None)
    if node_pool is None:
        return {}
    entry: StackEntry = {} if machine_type(node_pool) == "e2-standard-4" else {"machineType": machine_type(node_pool)}
    least, most, scaled = scaling_bounds(node_pool)
    if (least, most, scaled) != (1, 6, True):
        entry["nodes"] = {"min": least, "max": most} if scaled else most
    zones = sorted(list_at(node_pool, "locations"))
    entry |= {} if zones == sorted(list_at(inventory.cluster, "locations")) else {"zones": zones}
    entry |= boot_disk(node_pool, catalog.cpu_machine(machine_type(node_pool)))
    size = value_at(node_pool, "config.diskSizeGb")
    entry |= {"diskSizeGb": size} if size not in (None, 100) else {}
    tags, key = sorted(list_at(node_pool, "config.tags")), value_at(node_pool, "config.bootDiskKmsKey")
    entry |= {"tags": tags} if tags else {}
    return ({"systemPool": entry} if entry else {}) | ({"bootDiskKmsKey": key} if key else {})


def provisioning_section(inventory: ClusterInventory) -> StackEntry:
    """Return the limits of node auto-provisioning; nothing if it is off, and on Autopilot."""
    config = mapping_at(inventory.cluster, "autoscaling")
    if not config.get("enableNodeAutoprovisioning") or inventory.is_autopilot:
        return {}
    limits = {each["resourceType"]: each for each in list_at(config, "resourceLimits")}
    entry: StackEntry = {}
    if config.get("autoscalingProfile", "BALANCED") != "BALANCED":
        entry["profile"] = config["autoscalingProfile"]
    entry |= {key: _limit_range(limits.pop(key, {})) for key in ("cpu", "memory")}
    if limits:
        entry["accelerators"] = {
            kind: _limit_range(limit) if int(limit.get("minimum") or 0) else int(limit.get("maximum") or 0)
            for kind, limit in sorted(limits.items())
        }
    zones = sorted(list_at(config, "autoprovisioningLocations"))
    if zones and zones != sorted(list_at(inventory.cluster, "locations")):
        entry["zones"] = zones
    defaults = mapping_at(config, "autoprovisioningNodePoolDefaults")
    disk = defaults.get("diskType", "pd-balanced")
    entry |= {"diskType": disk} if disk != "pd-balanced" else {}
    size = int(defaults.get("diskSizeGb") or 0)
    entry |= {"diskSizeGb": size} if size not in (0, 100) else {}
    shielded = value_at(defaults, "shieldedInstanceConfig.enableSecureBoot")
    return {"nodeAutoProvisioning": entry | ({} if shielded else {"secureBoot": False})}


def _limit_range(limit: Mapping[str, Any]) -> StackEntry:
    least = int(limit.get("minimum") or 0)
    return ({"min": least} if least else {}) | {"max": int(limit.get("maximum") or 0)}


def _maintenance_section(cluster_answer: ApiObject) -> StackEntry:
    window = mapping_at(cluster_answer, "maintenancePolicy.window")
    entry: StackEntry = {}
    recurring = mapping_at(window, "recurringWindow")
    if recurring and value_at(recurring, "window.startTime") != _ALWAYS_OPEN_START:
        times = recurring["window"]
        start, end = times["startTime"], times["endTime"]
        entry["window"] = {"start": start, "end": end, "recurrence": recurring["recurrence"]}
    if daily := window.get("dailyMaintenanceWindow"):
        entry["dailyStart"] = daily["startTime"]
    exclusions = [_exclusion(name, each) for name, each in sorted(mapping_at(window, "maintenanceExclusions").items())]
    entry |= {"exclusions": exclusions} if exclusions else {}
    return {"maintenance": entry} if entry else {}


def _exclusion(name: str, exclusion: Mapping[str, Any]) -> StackEntry:
    options = mapping_at(exclusion, "maintenanceExclusionOptions")
    scope = options.get("scope", "NO_UPGRADES")
    open_end = options.get("endTimeBehavior") == "UNTIL_END_OF_SUPPORT"
    entry = {
        "name": name,
        "start": exclusion["startTime"],
        "end": "end-of-support" if open_end else exclusion["endTime"],
    }
    return entry | ({"scope": scope} if scope != "NO_MINOR_OR_NODE_UPGRADES" else {})
