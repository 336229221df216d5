"""What Google's answers hold, in the provider's input names: fields whose form differs from that of the inputs.

Fields of the same form are rows of rest_fields.yaml. Sources: GKE's and Compute Engine's REST references (v1); what the
provider makes of them (google-beta 7.45: flatteners of resource_container_node_pool.go, node_config.go,
resource_compute_reservation.go).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from berth.adopt.api_objects import ApiObject, last_segment, list_at, mapping_at, stated, value_at
from berth.resource import ResourceKind

Inputs = Mapping[str, Any]

_LIMITS = ("minNodeCount", "maxNodeCount", "totalMinNodeCount", "totalMaxNodeCount")


def inputs_before(kind: ResourceKind, answer: ApiObject, registered: Inputs) -> dict[str, Any]:
    """Return the registered inputs of a resource with what its answer has instead."""
    return _merged(registered, _MADE[kind](answer, registered))


def _merged(registered: Inputs, made: Inputs) -> dict[str, Any]:
    """Return inputs with other values; those that are None are not set."""
    result = dict(registered)
    for key, value in made.items():
        if isinstance(value, _Block):
            result[key] = _merged(registered.get(key) or {}, value)
        elif value is None:
            result.pop(key, None)
        else:
            result[key] = value
    return result


class _Block(dict[str, Any]):
    """A part of a block of inputs; the rest of it is as registered."""


def _node_pool(answer: ApiObject, registered: Inputs) -> Inputs:
    config = mapping_at(answer, "config")
    before: Inputs = registered.get("nodeConfig") or {}
    made: dict[str, Any] = {
        "nodeLocations": sorted(list_at(answer, "locations")),
        **_size(answer, registered.get("autoscaling") or {}),
        "placementPolicy": stated(mapping_at(answer, "placementPolicy")) or None,
        "nodeConfig": _Block(
            labels=dict(mapping_at(config, "labels")),
            taints=_taints(config),
            guestAccelerators=_accelerators(config, before) or None,
            ephemeralStorageLocalSsdConfig=_ssds(config, "ephemeralStorageLocalSsdConfig"),
            localNvmeSsdBlockConfig=_ssds(config, "localNvmeSsdBlockConfig"),
        ),
    }
    if affinity := mapping_at(config, "reservationAffinity"):
        made["nodeConfig"]["reservationAffinity"] = stated(affinity)
    if mapping_at(answer, "upgradeSettings") and "upgradeSettings" in registered:
        made["upgradeSettings"] = _upgrades(mapping_at(answer, "upgradeSettings"), registered["upgradeSettings"])
    is_excluded = value_at(answer, "maintenancePolicy.exclusionUntilEndOfSupport.enabled")
    made["maintenancePolicies"] = [{"exclusionUntilEndOfSupports": [{"enabled": True}]}] if is_excluded else None
    networks = [
        {key: last_segment(str(each.get(key, ""))) for key in ("network", "subnetwork")}
        for each in list_at(answer, "networkConfig.additionalNodeNetworkConfigs")
    ]
    if networks or "networkConfig" in registered:
        made["networkConfig"] = _Block(additionalNodeNetworkConfigs=networks or None)
    return made


def _upgrades(settings: ApiObject, registered: Inputs) -> Inputs:
    """Return how nodes are upgraded; of blue-green upgrades what is registered, for the provider keeps the rest."""
    strategy = settings.get("strategy", "SURGE")
    if strategy != "BLUE_GREEN":
        counts = {key: int(settings.get(key) or 0) for key in ("maxSurge", "maxUnavailable")}
        return {"strategy": strategy, **counts}
    answered = mapping_at(settings, "blueGreenSettings")
    if (known := registered.get("blueGreenSettings")) is None:
        return {"strategy": strategy, "blueGreenSettings": answered}
    batches = mapping_at(answered, "standardRolloutPolicy")
    before: dict[str, Any] = {key: answered.get(key) for key in known if key != "standardRolloutPolicy"}
    before["standardRolloutPolicy"] = {key: batches.get(key) for key in known.get("standardRolloutPolicy", {})}
    return {"strategy": strategy, "blueGreenSettings": before}


def _size(answer: ApiObject, scaling_after: Inputs) -> Inputs:
    """Return the number of nodes in a zone, or the limits; GKE leaves out a limit of 0."""
    scaling = mapping_at(answer, "autoscaling")
    if not scaling.get("enabled"):
        return {"nodeCount": int(answer.get("initialNodeCount") or 0), "autoscaling": None}
    limits = {key: int(scaling[key]) for key in _LIMITS if scaling.get(key)}
    limits |= {key: 0 for key in _LIMITS if scaling_after.get(key) == 0 and key not in limits}
    policy = scaling.get("locationPolicy") or scaling_after.get("locationPolicy")
    return {"nodeCount": None, "autoscaling": limits | ({"locationPolicy": policy} if policy else {})}


def _taints(config: ApiObject) -> list[Inputs]:
    taints = [{key: each.get(key, "") for key in ("key", "value", "effect")} for each in list_at(config, "taints")]
    return sorted(taints, key=lambda each: (each["key"], each["value"], each["effect"]))


def _accelerators(config: ApiObject, before: Inputs) -> list[Inputs]:
    """Return the GPUs; without a driver's version in the answer, the registered one."""
    registered: Sequence[Inputs] = before.get("guestAccelerators") or ()
    known: Inputs = registered[0] if registered else {}
    return [
        stated(
            {
                "type": last_segment(str(each.get("acceleratorType", ""))),
                "count": int(each.get("acceleratorCount") or 0),
                "gpuDriverInstallationConfig": mapping_at(each, "gpuDriverInstallationConfig")
                or known.get("gpuDriverInstallationConfig"),
                "gpuPartitionSize": each.get("gpuPartitionSize"),
                "gpuSharingConfig": (sharing := mapping_at(each, "gpuSharingConfig"))
                and {
                    "gpuSharingStrategy": sharing.get("gpuSharingStrategy"),
                    "maxSharedClientsPerGpu": int(sharing.get("maxSharedClientsPerGpu") or 0),
                },
            }
        )
        for each in list_at(config, "accelerators")
    ]


def _ssds(config: ApiObject, field: str) -> Inputs | None:
    count = int(value_at(config, f"{field}.localSsdCount") or 0)
    return {"localSsdCount": count} if count else None


def _cluster(answer: ApiObject, registered: Inputs) -> Inputs:
    labels = mapping_at(answer, "resourceLabels")
    ranges = mapping_at(answer, "ipAllocationPolicy")
    made: dict[str, Any] = {
        "nodeLocations": sorted(list_at(answer, "locations")),
        "resourceLabels": {key: value for key, value in labels.items() if not key.startswith("goog-")},
    }
    for key in ("network", "subnetwork"):
        path, after = (
            str(value_at(answer, f"networkConfig.{key}") or answer.get(key, "")),
            str(registered.get(key, "")),
        )
        is_existing = "/" in after  # the name of a network that the program makes is known to its resource alone
        if path and is_existing and last_segment(path) != last_segment(after):
            made[key] = last_segment(path)
    names = {key: ranges[key] for key in ("clusterSecondaryRangeName", "servicesSecondaryRangeName") if ranges.get(key)}
    if names:
        made["ipAllocationPolicy"] = _Block(names)
    return made


def _reservation(answer: ApiObject, registered: Inputs) -> Inputs:
    specific = mapping_at(answer, "specificReservation")
    properties = mapping_at(specific, "instanceProperties")
    gpus = [
        {
            "acceleratorType": last_segment(str(each.get("acceleratorType", ""))),
            "acceleratorCount": int(each.get("acceleratorCount") or 0),
        }
        for each in list_at(properties, "guestAccelerators")
    ]
    known: Inputs = registered.get("specificReservation", {}).get("instanceProperties", {})
    disks = [
        {"diskSizeGb": int(each.get("diskSizeGb") or 0), "interface": each.get("interface")}
        for each in list_at(properties, "localSsds")
    ]
    shared = mapping_at(answer, "shareSettings")
    projects = sorted(shared.get("projectMap") or list_at(shared, "projects"))
    made: dict[str, Any] = {
        "specificReservationRequired": bool(answer.get("specificReservationRequired")),
        "specificReservation": {
            "count": int(specific.get("count") or 0),
            "instanceProperties": stated(
                {
                    "machineType": last_segment(str(properties.get("machineType", ""))),
                    "guestAccelerators": gpus or known.get("guestAccelerators"),
                    "localSsds": disks,
                }
            ),
        },
    }
    if projects or "shareSettings" in registered:
        made["shareSettings"] = {"shareType": shared.get("shareType"), "projects": projects} if projects else None
    return made


_MADE: Mapping[ResourceKind, Callable[[ApiObject, Inputs], Inputs]] = {
    ResourceKind.CLUSTER: _cluster,
    ResourceKind.NODE_POOL: _node_pool,
    ResourceKind.SYSTEM_POOL: _node_pool,
    ResourceKind.RESERVATION: _reservation,
}
