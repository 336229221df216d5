"""Adopt node pools and everything in a cluster, and keep the cluster as it is: its owner manages it."""

from __future__ import annotations

from berth.adopt.clusters import provisioning_section
from berth.adopt.inventory import ClusterInventory, StackEntry, list_at, mapping_at, value_at

_SECTIONS = (
    *("reservations", "computeClasses", "pools", "flavors", "kueue", "jobset", "priorities", "cohorts", "platform"),
    *("teams", "clusterQueues"),
)
_LIMITS = ("cpu", "memory", "accelerators")
"""Keys of node auto-provisioning that state what the cluster has."""


def kept_cluster_fleet(inventory: ClusterInventory, fleet: StackEntry) -> StackEntry:
    """Return the fleet in an existing GKE cluster, whose settings are stated as they are."""
    answer = inventory.cluster
    ranges = mapping_at(answer, "ipAllocationPolicy")
    existing: StackEntry = {
        "name": answer["name"],
        "location": inventory.location,
        "project": inventory.project,
    }
    existing |= {"serviceCidrBlock": block} if (block := ranges.get("servicesIpv4CidrBlock")) else {}
    names = {
        "podRangeName": ranges.get("clusterSecondaryRangeName"),
        "serviceRangeName": ranges.get("servicesSecondaryRangeName"),
    }
    cluster: StackEntry = {"existing": existing, **_mode_and_zones(inventory), **_releases(inventory)}
    if network := {key: name for key, name in names.items() if name}:
        cluster["network"] = network
    for key, section in provisioning_section(inventory).items():
        cluster[key] = {name: section[name] for name in _LIMITS if name in section}
    unmonitored = not value_at(answer, "monitoringConfig.managedPrometheusConfig.enabled")
    monitoring: StackEntry = {"monitoring": {"backend": "none"}} if unmonitored and not inventory.is_autopilot else {}
    return {"cluster": cluster, **monitoring, **{section: fleet[section] for section in _SECTIONS if section in fleet}}


def _mode_and_zones(inventory: ClusterInventory) -> StackEntry:
    if inventory.is_autopilot:
        return {"mode": "autopilot"}
    answer = inventory.cluster
    legacy = value_at(answer, "networkConfig.datapathProvider") != "ADVANCED_DATAPATH"
    networks = value_at(answer, "networkConfig.enableMultiNetworking")
    confidential = value_at(answer, "confidentialNodes.confidentialInstanceType")
    return {
        **({"datapathProvider": "legacy"} if legacy else {}),
        "zones": sorted(list_at(answer, "locations")),
        **({"multiNetworking": True} if networks else {}),
        **({"confidentialNodes": confidential} if confidential else {}),
    }


def _releases(inventory: ClusterInventory) -> StackEntry:
    channel = str(value_at(inventory.cluster, "releaseChannel.channel") or "").lower()
    version = ".".join(str(inventory.cluster.get("currentMasterVersion", "")).split(".")[:2])
    return {
        **({"releaseChannel": channel} if channel in ("rapid", "regular", "stable", "extended") else {}),
        **({"version": version} if version else {}),
    }
