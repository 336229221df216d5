"""Adopt only the objects inside a cluster; the cluster and its machines are described, not managed."""

from __future__ import annotations

from collections.abc import Mapping

from berth.adopt.api_objects import NotAdopted, StackEntry, list_at, mapping_at, name_of
from berth.adopt.inventory import ClusterInventory
from berth.adopt.labels import is_user_label
from berth.adopt.queues import pods_of_nodes

_DESCRIBED_KEYS = (
    *("machineType", "accelerator", "topology", "slices", "nodes", "flavor", "topologyAware", "dynamicSlicing"),
    *("gpuSharing", "gpuPartition"),
)
"""Keys of a pool that is described and not created."""
_CAPACITIES = ("spot", "queued")
"""Capacity that is visible as a label of nodes, or that Kueue requests."""
_IDENTITY_INSIDE = ("serviceAccount", "automountServiceAccountToken")
"""Keys of an identity that are settings of the Kubernetes service account."""
_SECTIONS = (
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


def existing_cluster_fleet(
    inventory: ClusterInventory, fleet: StackEntry, context: str, not_adopted: list[NotAdopted]
) -> StackEntry:
    """Return the fleet of an existing cluster, reached by a kubeconfig's `context`; flavors keep their labels."""
    existing: StackEntry = {"context": context, **pods_of_nodes(inventory)}
    services = mapping_at(inventory.cluster, "ipAllocationPolicy").get("servicesIpv4CidrBlock")
    existing |= {"serviceCidrBlock": services} if services else {}
    flavors = {
        name_of(resource): mapping_at(resource, "spec") for resource in inventory.objects_of_kind("ResourceFlavor")
    }
    pools = {
        key: _described_pool(entry, flavors.get(str(entry.get("flavor", key)), {}))
        for key, entry in fleet.get("pools", {}).items()
    }
    rest = {section: fleet[section] for section in _SECTIONS if section in fleet}
    if "teams" in rest:
        rest["teams"] = {name: _team_without_rights(name, team, not_adopted) for name, team in rest["teams"].items()}
    return {"cluster": {"name": inventory.cluster["name"], "existing": existing}, "pools": pools, **rest}


def _described_pool(entry: StackEntry, flavor: Mapping[str, object]) -> StackEntry:
    described = {key: entry[key] for key in _DESCRIBED_KEYS if key in entry}
    capacity = entry.get("capacity")
    if capacity in _CAPACITIES or (isinstance(capacity, dict) and "queued" in capacity):
        described["capacity"] = capacity
    labels = mapping_at(flavor, "nodeLabels")
    taints = [
        {
            "key": t["key"],
            "value": t.get("value", ""),
            **({"effect": t["effect"]} if t.get("effect", "NoSchedule") != "NoSchedule" else {}),
        }
        for t in list_at(flavor, "tolerations")
        if is_user_label(str(t.get("key"))) and t.get("operator", "Equal") == "Equal"
    ]
    described |= {"nodeLabels": dict(labels)} if labels else {}
    return described | ({"taints": taints} if taints else {})


def _team_without_rights(name: str, team: StackEntry, not_adopted: list[NotAdopted]) -> StackEntry:
    identity: StackEntry = team.get("identity", {})
    kept = {key: value for key, value in identity.items() if key in _IDENTITY_INSIDE}
    if dropped_keys := [key for key in identity if key not in kept]:
        not_adopted.append(
            NotAdopted(f"team {name}", f"its {' and '.join(dropped_keys)} are permissions in Google Cloud; not adopted")
        )
    return {key: value for key, value in team.items() if key != "identity"} | ({"identity": kept} if kept else {})
