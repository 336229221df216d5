"""A cluster's answer becomes the section `cluster` of a stack file, with the fleet's frame."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from berth.adopt import rest_fields
from berth.adopt.inventory import Answer, Entry, Found, Left, at, part, parts
from berth.adopt.labels import machine_type
from berth.adopt.pools import SYSTEM, bounds

_DRIVERS = {
    "gcsFuseCsiDriverConfig": "gcs-fuse",
    "gcpFilestoreCsiDriverConfig": "filestore",
    "parallelstoreCsiDriverConfig": "parallelstore",
    "lustreCsiDriverConfig": "lustre",
}
_OF_AUTOPILOT = ("gcs-fuse", "filestore")
"""Drivers that Autopilot brings by itself."""
NODES, PODS, SERVICES = "10.40.0.0/22", "10.64.0.0/13", "10.44.0.0/20"
"""The ranges of a fleet that names none."""
_ANY_TIME = "2026-01-01T00:00:00Z"
"""Where a window starts that never closes, beside exclusions alone."""


def frame(found: Found) -> Entry:
    """Project, region and labels."""
    labels = part(found.cluster, "resourceLabels")
    own = {k: v for k, v in sorted(labels.items()) if k not in ("managed-by", "fleet") and not k.startswith("goog-")}
    return {"project": found.project, "region": found.region} | ({"labels": own} if own else {})


def cluster(found: Found, stack: str, left: list[Left]) -> Entry:
    """The cluster, as far as it can be said; what is taken for granted is told in `left`."""
    one, name = found.cluster, str(found.cluster["name"])
    entry: Entry = {} if name == stack else {"name": name}
    entry |= {"mode": "autopilot"} if found.autopilot else {}
    entry |= {"version": ".".join(str(one["currentMasterVersion"]).split(".")[:2])} if _versioned(one) else {}
    entry |= rest_fields.keys(rest_fields.CLUSTER, one, autopilot=found.autopilot)
    entry |= {} if found.autopilot else {"zones": sorted(parts(one, "locations"))}
    if networks := _authorized(one):
        entry.setdefault("controlPlane", {}).update(networks)
    entry |= _network(found, left)
    entry |= _system_pool(found)
    entry |= _provisioning(found)
    entry |= _maintenance(one)
    drivers = [word for key, word in _DRIVERS.items() if at(one, f"addonsConfig.{key}.enabled")]
    drivers = [word for word in drivers if not (found.autopilot and word in _OF_AUTOPILOT)]
    entry |= {"storageDrivers": drivers} if drivers else {}
    direct = any(at(each, "networkConfig.additionalNodeNetworkConfigs") for each in found.node_pools)
    multi = at(one, "networkConfig.enableMultiNetworking") and not direct
    return entry | ({"multiNetworking": True} if multi else {})


def _versioned(one: Answer) -> bool:
    return bool(one.get("currentMasterVersion"))


def _authorized(one: Answer) -> Entry:
    config = part(one, "masterAuthorizedNetworksConfig")
    if not config.get("enabled"):
        return {}
    blocks = [
        {"name": each.get("displayName") or each["cidrBlock"], "cidrBlock": each["cidrBlock"]}
        for each in parts(config, "cidrBlocks")
    ]
    google = {"gcpPublicCidrsAccess": True} if config.get("gcpPublicCidrsAccessEnabled") else {}
    return {"authorizedNetworks": blocks} | google


def _network(found: Found, left: list[Left]) -> Entry:
    """A VPC as Berth makes it is the fleet's own; any other is taken as it is, and not changed."""
    one = found.cluster
    path = str(at(one, "networkConfig.network") or one.get("network", ""))
    subnet = str(at(one, "networkConfig.subnetwork") or one.get("subnetwork", ""))
    owner = path.partition("projects/")[2].partition("/")[0]
    ranges = part(one, "ipAllocationPolicy")
    said = (path.rpartition("/")[2], *(ranges.get(f"{each}SecondaryRangeName") for each in ("cluster", "services")))
    if said == (one["name"], "pods", "services"):
        return _own_network(found, ranges, subnet.rpartition("/")[2], left)
    entry: Entry = {"existing": path.rpartition("/")[2], "subnetwork": subnet.rpartition("/")[2]}
    entry |= {"project": owner} if owner and owner != found.project else {}
    named = {"podRangeName": "clusterSecondaryRangeName", "serviceRangeName": "servicesSecondaryRangeName"}
    return {"network": entry | {key: ranges[field] for key, field in named.items() if ranges.get(field)}}


def _own_network(found: Found, ranges: Mapping[str, Any], subnet: str, left: list[Left]) -> Entry:
    nodes = next((each["ipCidrRange"] for each in found.subnetworks if each["name"] == subnet), None)
    if nodes is None:
        why = f"the range of its nodes is taken for {NODES}; add the answer of gcloud compute networks subnets list"
        left.append(Left(f"subnetwork {subnet}", why))
    seen = {"nodeCidrBlock": nodes, "podCidrBlock": ranges.get("clusterIpv4CidrBlock")}
    seen |= {"serviceCidrBlock": ranges.get("servicesIpv4CidrBlock")}
    entry = {key: block for key, block in seen.items() if block not in (None, NODES, PODS, SERVICES)}
    return {"network": entry} if entry else {}


def _system_pool(found: Found) -> Entry:
    one = next((each for each in found.node_pools if each["name"] == SYSTEM), None)
    if one is None:
        return {}
    entry: Entry = {} if machine_type(one) == "e2-standard-4" else {"machineType": machine_type(one)}
    least, most, scaled = bounds(one)
    if (least, most, scaled) != (1, 6, True):
        entry["nodes"] = {"min": least, "max": most} if scaled else most
    zones = sorted(parts(one, "locations"))
    entry |= {} if zones == sorted(parts(found.cluster, "locations")) else {"zones": zones}
    size = at(one, "config.diskSizeGb")
    entry |= {"diskSizeGb": size} if size not in (None, 100) else {}
    return {"systemPool": entry} if entry else {}


def _provisioning(found: Found) -> Entry:
    config = part(found.cluster, "autoscaling")
    if not config.get("enableNodeAutoprovisioning") or found.autopilot:
        return {}
    limits = {each["resourceType"]: each for each in parts(config, "resourceLimits")}
    entry: Entry = {}
    if config.get("autoscalingProfile", "BALANCED") != "BALANCED":
        entry["profile"] = config["autoscalingProfile"]
    entry |= {key: _span(limits.pop(key, {})) for key in ("cpu", "memory")}
    entry |= {"accelerators": {k: _limit(v) for k, v in sorted(limits.items())}} if limits else {}
    zones = sorted(parts(config, "autoprovisioningLocations"))
    if zones and zones != sorted(parts(found.cluster, "locations")):
        entry["zones"] = zones
    defaults = part(config, "autoprovisioningNodePoolDefaults")
    disk = defaults.get("diskType", "pd-balanced")
    entry |= {"diskType": disk} if disk != "pd-balanced" else {}
    size = int(defaults.get("diskSizeGb") or 0)
    entry |= {"diskSizeGb": size} if size not in (0, 100) else {}
    shielded = at(defaults, "shieldedInstanceConfig.enableSecureBoot")
    return {"nodeAutoProvisioning": entry | ({} if shielded else {"secureBoot": False})}


def _span(limit: Mapping[str, Any]) -> Entry:
    least = int(limit.get("minimum") or 0)
    return ({"min": least} if least else {}) | {"max": int(limit.get("maximum") or 0)}


def _limit(limit: Mapping[str, Any]) -> object:
    return _span(limit) if int(limit.get("minimum") or 0) else int(limit.get("maximum") or 0)


def _maintenance(one: Answer) -> Entry:
    window = part(one, "maintenancePolicy.window")
    entry: Entry = {}
    recurring = part(window, "recurringWindow")
    if recurring and at(recurring, "window.startTime") != _ANY_TIME:
        times = recurring["window"]
        start, end = times["startTime"], times["endTime"]
        entry["window"] = {"start": start, "end": end, "recurrence": recurring["recurrence"]}
    if daily := window.get("dailyMaintenanceWindow"):
        entry["dailyStart"] = daily["startTime"]
    exclusions = [_exclusion(name, each) for name, each in sorted(part(window, "maintenanceExclusions").items())]
    entry |= {"exclusions": exclusions} if exclusions else {}
    return {"maintenance": entry} if entry else {}


def _exclusion(name: str, one: Mapping[str, Any]) -> Entry:
    options = part(one, "maintenanceExclusionOptions")
    scope = options.get("scope", "NO_UPGRADES")
    open_end = options.get("endTimeBehavior") == "UNTIL_END_OF_SUPPORT"
    entry = {"name": name, "start": one["startTime"], "end": "end-of-support" if open_end else one["endTime"]}
    return entry | ({"scope": scope} if scope != "NO_MINOR_OR_NODE_UPGRADES" else {})
