"""Read a cluster's answer into the section `cluster` of a stack file, and the fleet's frame."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from berth import catalog
from berth.adopt import rest_fields
from berth.adopt.api_objects import (
    ApiObject,
    NotAdopted,
    StackEntry,
    last_segment,
    list_at,
    mapping_at,
    other_than,
    stated,
    value_at,
)
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
    own = {k: v for k, v in sorted(labels.items()) if k not in ("managed-by", "fleet") and not k.startswith("goog-")}
    return {"project": inventory.project, "region": inventory.region} | stated({"labels": own})


def cluster_section(inventory: ClusterInventory, stack: str, not_adopted: list[NotAdopted]) -> StackEntry:
    """Return the cluster, as far as a stack file can express it; assumptions are reported in `left`."""
    cluster_answer, is_standard = inventory.cluster, not inventory.is_autopilot
    by_table = rest_fields.stack_entry(rest_fields.CLUSTER, cluster_answer, autopilot=inventory.is_autopilot)
    networks = _authorized_networks(cluster_answer)
    control_plane = {**by_table.get("controlPlane", {}), **networks}
    uses_gpudirect = any(value_at(each, "networkConfig.additionalNodeNetworkConfigs") for each in inventory.node_pools)
    has_networks = value_at(cluster_answer, "networkConfig.enableMultiNetworking") and not uses_gpudirect
    return {
        **stated(
            {
                "name": other_than(stack, str(cluster_answer["name"])),
                "mode": None if is_standard else "autopilot",
                "version": ".".join(str(cluster_answer.get("currentMasterVersion") or "").split(".")[:2]),
            }
        ),
        **by_table,
        **({"zones": sorted(list_at(cluster_answer, "locations"))} if is_standard else {}),
        **({"controlPlane": control_plane} if networks else {}),
        **_network_section(inventory, not_adopted),
        **_system_pool_section(inventory),  # with the key of its boot disks, which is the cluster's
        **provisioning_section(inventory),
        **_maintenance_section(cluster_answer),
        **stated({"databaseEncryption": stated({"keyName": value_at(cluster_answer, "databaseEncryption.keyName")})}),
        **add_ons(inventory, not_adopted),
        **({"multiNetworking": True} if has_networks else {}),
    }


def add_ons(inventory: ClusterInventory, not_adopted: list[NotAdopted]) -> StackEntry:
    """Return what the cluster's add-ons let pods mount: storage drivers, and multi-tier checkpointing."""
    included = _AUTOPILOT_DRIVERS if inventory.is_autopilot else ()
    drivers = [
        driver
        for key, driver in _DRIVERS.items()
        if driver not in included and value_at(inventory.cluster, f"addonsConfig.{key}.enabled")
    ]
    return stated({"storageDrivers": drivers}) | _checkpointing(inventory, not_adopted)


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
    pods, services = (ranges.get(f"{each}SecondaryRangeName") for each in ("cluster", "services"))
    if (last_segment(path), pods, services) == (cluster_answer["name"], "pods", "services"):
        return _own_network(inventory, ranges, last_segment(subnet), not_adopted)
    further = stated(
        {
            "project": other_than(inventory.project, owner),
            "additionalPodRangeNames": sorted(list_at(ranges, "additionalPodRangesConfig.podRangeNames")),
            "podRangeName": pods,
            "serviceRangeName": services,
        }
    )
    return {"network": {"existing": last_segment(path), "subnetwork": last_segment(subnet), **further}}


def _own_network(
    inventory: ClusterInventory, ranges: Mapping[str, Any], subnet: str, not_adopted: list[NotAdopted]
) -> StackEntry:
    nodes = next((each["ipCidrRange"] for each in inventory.subnetworks if each["name"] == subnet), None)
    if nodes is None:
        why = f"node range assumed to be {NODE_RANGE}; add the answer of gcloud compute networks subnets list"
        not_adopted.append(NotAdopted(f"subnetwork {subnet}", why))
    seen = {
        "nodeCidrBlock": nodes,
        "podCidrBlock": ranges.get("clusterIpv4CidrBlock"),
        "serviceCidrBlock": ranges.get("servicesIpv4CidrBlock"),
    }
    entry = {key: block for key, block in seen.items() if block not in (None, NODE_RANGE, POD_RANGE, SERVICE_RANGE)}
    return stated({"network": entry})


def _system_pool_section(inventory: ClusterInventory) -> StackEntry:
    node_pool = next((each for each in inventory.node_pools if each["name"] == SYSTEM_POOL), None)
    if node_pool is None:
        return {}
    least, most, scaled = scaling_bounds(node_pool)
    size = {"min": least, "max": most} if scaled else most
    entry = {
        **stated({"machineType": other_than("e2-standard-4", machine_type(node_pool))}),
        **({} if (least, most, scaled) == (1, 6, True) else {"nodes": size}),
        **stated({"zones": other_than(_cluster_zones(inventory), sorted(list_at(node_pool, "locations")))}),
        **boot_disk(node_pool, catalog.cpu_machine(machine_type(node_pool))),
        **stated(
            {
                "diskSizeGb": other_than(100, value_at(node_pool, "config.diskSizeGb")),
                "tags": sorted(list_at(node_pool, "config.tags")),
            }
        ),
    }
    return stated({"systemPool": entry, "bootDiskKmsKey": value_at(node_pool, "config.bootDiskKmsKey")})


def provisioning_section(inventory: ClusterInventory) -> StackEntry:
    """Return the limits of node auto-provisioning; nothing if it is off, and on Autopilot."""
    config = mapping_at(inventory.cluster, "autoscaling")
    if not config.get("enableNodeAutoprovisioning") or inventory.is_autopilot:
        return {}
    limits = {each["resourceType"]: each for each in list_at(config, "resourceLimits")}
    defaults = mapping_at(config, "autoprovisioningNodePoolDefaults")
    entry = {
        "profile": other_than("BALANCED", config.get("autoscalingProfile")),
        **{key: _limit_range(limits.pop(key, {})) for key in ("cpu", "memory")},
        "accelerators": {
            kind: _limit_range(limit) if int(limit.get("minimum") or 0) else int(limit.get("maximum") or 0)
            for kind, limit in sorted(limits.items())
        },
        "zones": other_than(_cluster_zones(inventory), sorted(list_at(config, "autoprovisioningLocations"))),
        "diskType": other_than("pd-balanced", defaults.get("diskType")),
        "diskSizeGb": other_than(100, int(defaults.get("diskSizeGb") or 100)),
        "secureBoot": None if value_at(defaults, "shieldedInstanceConfig.enableSecureBoot") else False,
    }
    return {"nodeAutoProvisioning": stated(entry)}


def _limit_range(limit: Mapping[str, Any]) -> StackEntry:
    least = int(limit.get("minimum") or 0)
    return ({"min": least} if least else {}) | {"max": int(limit.get("maximum") or 0)}


def _maintenance_section(cluster_answer: ApiObject) -> StackEntry:
    window = mapping_at(cluster_answer, "maintenancePolicy.window")
    recurring = mapping_at(window, "recurringWindow")
    is_recurring = recurring and value_at(recurring, "window.startTime") != _ALWAYS_OPEN_START
    times: ApiObject = mapping_at(recurring, "window") if is_recurring else {}
    exclusions = sorted(mapping_at(window, "maintenanceExclusions").items())
    entry = {
        "window": times
        and {"start": times["startTime"], "end": times["endTime"], "recurrence": recurring["recurrence"]},
        "dailyStart": value_at(window, "dailyMaintenanceWindow.startTime"),
        "exclusions": [_exclusion(name, each) for name, each in exclusions],
    }
    return stated({"maintenance": stated(entry)})


def _exclusion(name: str, exclusion: Mapping[str, Any]) -> StackEntry:
    options = mapping_at(exclusion, "maintenanceExclusionOptions")
    open_end = options.get("endTimeBehavior") == "UNTIL_END_OF_SUPPORT"
    return {
        "name": name,
        "start": exclusion["startTime"],
        "end": "end-of-support" if open_end else exclusion["endTime"],
        **stated({"scope": other_than("NO_MINOR_OR_NODE_UPGRADES", options.get("scope", "NO_UPGRADES"))}),
    }


def _cluster_zones(inventory: ClusterInventory) -> list[str]:
    return sorted(list_at(inventory.cluster, "locations"))
