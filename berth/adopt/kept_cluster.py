"""Adopt less than a cluster: node pools and all that is inside, or only what is inside; its owner keeps the rest."""

from __future__ import annotations

from collections.abc import Mapping

from berth.adopt.api_objects import NotAdopted, StackEntry, list_at, mapping_at, name_of, stated, value_at
from berth.adopt.clusters import add_ons, provisioning_section
from berth.adopt.google.monitoring import kept_monitoring
from berth.adopt.inventory import ClusterInventory
from berth.adopt.labels import is_user_label, taint_entry
from berth.adopt.queues import quotas_by_flavor
from berth.plan.kueue import PODS

_INSIDE = (
    "flavors",
    "kueue",
    "jobset",
    "nvidiaDraDriver",
    "operators",
    "priorities",
    "cohorts",
    "platform",
    "teams",
    "clusterQueues",
)
"""Sections of what is inside a cluster."""
_SECTIONS = ("projectNumber", "reservations", "computeClasses", "pools", *_INSIDE)
_LIMITS = ("cpu", "memory", "accelerators")
"""Keys of node auto-provisioning that state what the cluster has."""


def kept_cluster_fleet(inventory: ClusterInventory, fleet: StackEntry, not_adopted: list[NotAdopted]) -> StackEntry:
    """Return the fleet in an existing GKE cluster, whose settings are stated as they are."""
    answer = inventory.cluster
    ranges = mapping_at(answer, "ipAllocationPolicy")
    existing = stated({"serviceCidrBlock": ranges.get("servicesIpv4CidrBlock")})
    names = {
        "podRangeName": ranges.get("clusterSecondaryRangeName"),
        "serviceRangeName": ranges.get("servicesSecondaryRangeName"),
    }
    provisioning = {
        key: {name: section[name] for name in _LIMITS if name in section}
        for key, section in provisioning_section(inventory).items()
    }
    cluster = {
        "existing": {
            "name": answer["name"],
            "location": inventory.location,
            "project": inventory.project,
            **_pods_of_nodes(inventory),
            **existing,
        },
        **_mode_and_zones(inventory),
        **_releases(inventory),
        **add_ons(inventory, not_adopted),
        **stated({"network": stated(names)}),
        **provisioning,
    }
    monitoring = kept_monitoring(inventory, fleet.get("monitoring", {}))
    rest = {section: fleet[section] for section in _SECTIONS if section in fleet}
    return {"cluster": cluster, **stated({"monitoring": monitoring}), **rest}


def _mode_and_zones(inventory: ClusterInventory) -> StackEntry:
    if inventory.is_autopilot:
        return {"mode": "autopilot"}
    answer = inventory.cluster
    is_legacy = value_at(answer, "networkConfig.datapathProvider") != "ADVANCED_DATAPATH"
    networks = value_at(answer, "networkConfig.enableMultiNetworking")
    confidential = value_at(answer, "confidentialNodes.confidentialInstanceType")
    return {
        **({"datapathProvider": "legacy"} if is_legacy else {}),
        "zones": sorted(list_at(answer, "locations")),
        **stated({"multiNetworking": True if networks else None, "confidentialNodes": confidential}),
    }


def _releases(inventory: ClusterInventory) -> StackEntry:
    channel = str(value_at(inventory.cluster, "releaseChannel.channel") or "").lower()
    version = ".".join(str(inventory.cluster.get("currentMasterVersion", "")).split(".")[:2])
    is_known = channel in ("rapid", "regular", "stable", "extended")
    return stated({"releaseChannel": channel if is_known else None, "version": version})


def _pods_of_nodes(inventory: ClusterInventory) -> StackEntry:
    """Return the pods of each node, if queues count pods and all nodes have equally many; else nothing."""
    queues = inventory.objects_of_kind("ClusterQueue")
    counted = any(PODS in quotas for queue in queues for quotas in quotas_by_flavor(queue).values())
    numbers = {value_at(each, "maxPodsConstraint.maxPodsPerNode") for each in inventory.node_pools}
    return {"maxPodsPerNode": int(numbers.pop())} if counted and len(numbers - {None}) == len(numbers) == 1 else {}


_DESCRIBED_KEYS = (
    *("machineType", "accelerator", "topology", "slices", "nodes", "flavor", "topologyAware", "dynamicSlicing"),
    *("gpuSharing", "gpuPartition"),
)
"""Keys of a pool that is described and not created."""
_CAPACITIES = ("spot", "queued")
"""Capacity that is visible as a label of nodes, or that Kueue requests."""
_IDENTITY_INSIDE = ("serviceAccount", "automountServiceAccountToken")
"""Keys of an identity that are settings of the Kubernetes service account."""


def existing_cluster_fleet(
    inventory: ClusterInventory, fleet: StackEntry, context: str, not_adopted: list[NotAdopted]
) -> StackEntry:
    """Return the fleet of an existing cluster, reached by a kubeconfig's `context`; flavors keep their labels."""
    services = mapping_at(inventory.cluster, "ipAllocationPolicy").get("servicesIpv4CidrBlock")
    existing = stated({"context": context, **_pods_of_nodes(inventory), "serviceCidrBlock": services})
    flavors = {
        name_of(resource): mapping_at(resource, "spec") for resource in inventory.objects_of_kind("ResourceFlavor")
    }
    pools = {
        key: _described_pool(entry, flavors.get(str(entry.get("flavor", key)), {}))
        for key, entry in fleet.get("pools", {}).items()
    }
    rest = {section: fleet[section] for section in _INSIDE if section in fleet}
    if "teams" in rest:
        rest["teams"] = {name: _team_without_rights(name, team, not_adopted) for name, team in rest["teams"].items()}
    return {"cluster": {"name": inventory.cluster["name"], "existing": existing}, "pools": pools, **rest}


def _described_pool(entry: StackEntry, flavor: Mapping[str, object]) -> StackEntry:
    capacity = entry.get("capacity")
    is_described = capacity in _CAPACITIES or (isinstance(capacity, dict) and "queued" in capacity)
    taints = [
        taint_entry(t, t.get("effect", "NoSchedule"))
        for t in list_at(flavor, "tolerations")
        if is_user_label(str(t.get("key"))) and t.get("operator", "Equal") == "Equal"
    ]
    return {
        **{key: entry[key] for key in _DESCRIBED_KEYS if key in entry},
        **({"capacity": capacity} if is_described else {}),
        **stated({"nodeLabels": dict(mapping_at(flavor, "nodeLabels")), "taints": taints}),
    }


def _team_without_rights(name: str, team: StackEntry, not_adopted: list[NotAdopted]) -> StackEntry:
    identity: StackEntry = team.get("identity", {})
    kept = {key: value for key, value in identity.items() if key in _IDENTITY_INSIDE}
    if dropped_keys := [key for key in identity if key not in kept]:
        not_adopted.append(
            NotAdopted(f"team {name}", f"its {' and '.join(dropped_keys)} are permissions in Google Cloud; not adopted")
        )
    return {key: value for key, value in team.items() if key != "identity"} | stated({"identity": kept})
