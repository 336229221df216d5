"""Adopt node pools and everything in a cluster, and keep the cluster as it is: its owner manages it."""

from __future__ import annotations

from berth.adopt.api_objects import NotAdopted, StackEntry, list_at, mapping_at, value_at
from berth.adopt.clusters import add_ons, provisioning_section
from berth.adopt.google.monitoring import kept_monitoring
from berth.adopt.inventory import ClusterInventory
from berth.adopt.queues import pods_of_nodes

_SECTIONS = (
    *(
        "projectNumber",
        "reservations",
        "computeClasses",
        "pools",
        "flavors",
        "kueue",
        "jobset",
        "nvidiaDraDriver",
        "operators",
        "priorities",
        "cohorts",
        "platform",
    ),
    *("teams", "clusterQueues"),
)
_LIMITS = ("cpu", "memory", "accelerators")
"""Keys of node auto-provisioning that state what the cluster has."""


def kept_cluster_fleet(inventory: ClusterInventory, fleet: StackEntry, not_adopted: list[NotAdopted]) -> StackEntry:
    """Return the fleet in an existing GKE cluster, whose settings are stated as they are."""
    answer = inventory.cluster
    ranges = mapping_at(answer, "ipAllocationPolicy")
    existing: StackEntry = {
        "name": answer["name"],
        "location": inventory.location,
        "project": inventory.project,
    }
    existing |= pods_of_nodes(inventory)
    existing |= {"serviceCidrBlock": block} if (block := ranges.get("servicesIpv4CidrBlock")) else {}
    names = {
        "podRangeName": ranges.get("clusterSecondaryRangeName"),
        "serviceRangeName": ranges.get("servicesSecondaryRangeName"),
    }
    cluster: StackEntry = {"existing": existing, **_mode_and_zones(inventory), **_releases(inventory)}
    cluster |= add_ons(inventory, not_adopted)
    if network := {key: name for key, name in names.items() if name}:
        cluster["network"] = network
    for key, section in provisioning_section(inventory).items():
        cluster[key] = {name: section[name] for name in _LIMITS if name in section}
    monitoring = kept_monitoring(inventory, fleet.get("monitoring", {}))
    rest = {section: fleet[section] for section in _SECTIONS if section in fleet}
    return {"cluster": cluster, **({"monitoring": monitoring} if monitoring else {}), **rest}


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
