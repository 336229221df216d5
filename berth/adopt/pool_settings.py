"""Read the settings of a node pool: labels, taints, GPUs, networks, disks and upgrades."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from berth.adopt.api_objects import ApiObject, StackEntry, list_at, mapping_at, name_of, other_than, stated, value_at
from berth.adopt.google.placement_policies import policy_of
from berth.adopt.inventory import ClusterInventory
from berth.adopt.labels import QUEUED, is_user_label, taint_entry
from berth.catalog import DEFAULT_BOOT_DISK, Machine, gpudirect, slicing_of
from berth.names import workload_policy_name
from berth.text import format_duration

_EFFECTS = {"NO_SCHEDULE": "NoSchedule", "PREFER_NO_SCHEDULE": "PreferNoSchedule", "NO_EXECUTE": "NoExecute"}
_CLUSTER_RANGE = "ipAllocationPolicy.clusterSecondaryRangeName"
_DRIVERS = {"LATEST": "latest", "INSTALLATION_DISABLED": "disabled"}


def labels_and_taints(node_pool: ApiObject) -> StackEntry:
    """Return the labels and taints of the owner, without those of GKE, Kubernetes and Berth."""
    labels = {k: v for k, v in sorted(mapping_at(node_pool, "config.labels").items()) if is_user_label(k)}
    taints = [
        taint_entry(taint, _EFFECTS.get(str(taint["effect"]), str(taint["effect"])))
        for taint in list_at(node_pool, "config.taints")
        if is_user_label(taint["key"])
    ]
    return stated({"labels": labels, "taints": taints})


def gpu_settings(gpu: Mapping[str, Any]) -> StackEntry:
    """Return driver, partition and sharing of GPUs; nothing for GKE's defaults."""
    sharing = mapping_at(gpu, "gpuSharingConfig")
    strategy = {"strategy": "mps"} if sharing.get("gpuSharingStrategy") == "MPS" else {}
    return stated(
        {
            "driverVersion": _DRIVERS.get(str(value_at(gpu, "gpuDriverInstallationConfig.gpuDriverVersion"))),
            "gpuPartition": gpu.get("gpuPartitionSize"),
            "gpuSharing": sharing and {**strategy, "maxSharedClients": int(sharing["maxSharedClientsPerGpu"])},
        }
    )


def network_and_placement(
    inventory: ClusterInventory, node_pool: ApiObject, machine: Machine, topology: str | None, stack: str
) -> StackEntry:
    """Return additional networks, and placement unless the machine or topology implies it; any policy but Berth's.

    Slices whose chips a controller connects are whole blocks, unless the topology of their flavor has parts.
    """
    slicing = slicing_of(machine) if str(node_pool["name"]) in inventory.provision_only else None
    networking = None
    if value_at(node_pool, "networkConfig.acceleratorNetworkProfile"):
        networking = "dranet"
    elif value_at(node_pool, "networkConfig.additionalNodeNetworkConfigs") and machine.gpudirect != "none":
        networking = gpudirect()[machine.gpudirect].networking
    compact = value_at(node_pool, "placementPolicy.type") == "COMPACT" and not topology and not machine.domain_topology
    key = f"{machine.accelerator}-{machine.domain_topology or topology}"
    own = workload_policy_name(stack, key if slicing is None else f"{key}-provision-only")
    return stated(
        {
            "dynamicSlicing": slicing.modes[0] if slicing is not None else None,
            "networking": networking,
            "compactPlacement": True if compact else None,
            "placementPolicy": other_than(own, policy_of(node_pool)),
        }
    )


def pod_range(node_pool: ApiObject, cluster: ApiObject) -> StackEntry:
    """Return the range of the pods' addresses, unless it is the cluster's."""
    return stated(
        {"podRangeName": other_than(value_at(cluster, _CLUSTER_RANGE), value_at(node_pool, "networkConfig.podRange"))}
    )


def local_ssds(node_pool: ApiObject, machine: Machine) -> StackEntry:
    """Return nothing for local SSDs that the machine always has."""
    uses = {"ephemeral": "ephemeralStorageLocalSsdConfig", "block": "localNvmeSsdBlockConfig"}
    counts = {key: int(value_at(node_pool, f"config.{path}.localSsdCount") or 0) for key, path in uses.items()}
    used = {key: count for key, count in counts.items() if count}
    return {"localSsd": used} if used and not machine.ssd_automatic else {}


def boot_disk(node_pool: ApiObject, machine: Machine | None) -> StackEntry:
    """Return the type of the boot disk; nothing for Berth's default."""
    default = machine.default_boot_disk if machine else DEFAULT_BOOT_DISK
    return stated({"diskType": other_than(default, value_at(node_pool, "config.diskType"))})


def upgrade_settings(node_pool: ApiObject, machine: Machine) -> StackEntry:
    """Return how nodes are upgraded, and until when not; nothing for Berth's default: one node at a time."""
    is_excluded = value_at(node_pool, "maintenancePolicy.exclusionUntilEndOfSupport.enabled")
    excluded: StackEntry = {"exclusionUntilEndOfSupport": True} if is_excluded else {}
    return excluded | (_blue_green(node_pool) if _is_blue_green(node_pool) else _surge(node_pool, machine))


def keeps_upgrades(node_pool: ApiObject) -> bool:
    """Return whether a node pool is upgraded in batches that no key has: shares of it, or those of its autoscaler."""
    settings = mapping_at(node_pool, "upgradeSettings.blueGreenSettings")
    is_share = bool(value_at(settings, "standardRolloutPolicy.batchPercentage"))
    return _is_blue_green(node_pool) and (is_share or "autoscaledRolloutPolicy" in settings)


def _is_blue_green(node_pool: ApiObject) -> bool:
    return value_at(node_pool, "upgradeSettings.strategy") == "BLUE_GREEN"


def _blue_green(node_pool: ApiObject) -> StackEntry:
    settings = mapping_at(node_pool, "upgradeSettings.blueGreenSettings")
    batches = mapping_at(settings, "standardRolloutPolicy")
    pauses = {
        "batchSoakDuration": batches.get("batchSoakDuration"),
        "nodePoolSoakDuration": settings.get("nodePoolSoakDuration"),
    }
    entry = {
        "batchNodeCount": other_than(1, int(batches.get("batchNodeCount") or 1)),
        **{key: pause and format_duration(int(float(pause.removesuffix("s")))) for key, pause in pauses.items()},
    }
    return {"blueGreen": stated(entry)}


def _surge(node_pool: ApiObject, machine: Machine) -> StackEntry:
    settings = mapping_at(node_pool, "upgradeSettings")
    is_dynamic = value_at(node_pool, QUEUED) or value_at(node_pool, "config.flexStart")
    if settings.get("strategy", "SURGE") != "SURGE" or machine.domain_topology or is_dynamic:
        return {}
    surge, max_unavailable = int(settings.get("maxSurge") or 0), int(settings.get("maxUnavailable") or 0)
    specific = value_at(node_pool, "config.reservationAffinity.consumeReservationType") == "SPECIFIC_RESERVATION"
    in_place = specific or bool(value_at(node_pool, "placementPolicy.tpuTopology"))
    if (surge, max_unavailable) in ((0, 1) if in_place else (1, 0), (0, 0)):
        return {}
    return {"surge": {key: n for key, n in (("maxSurge", surge), ("maxUnavailable", max_unavailable)) if n}}


def topology_entry(topologies: Iterable[ApiObject], machine: Machine, entry: StackEntry, name: object) -> StackEntry:
    """Return how Kueue places jobs on the nodes of a pool's `entry`, by the levels of the flavor's topology.

    Where a controller connects chips, the pool is known to be dynamic, and the levels say only whether it has parts.
    """
    if not name:
        return {}
    named = (each for each in topologies if name_of(each) == name)
    levels = {str(level.get("nodeLabel")) for each in named for level in list_at(each, "spec.levels")}
    slicing = slicing_of(machine)
    parts = {slicing.label.format(part) for part in slicing.parts} if slicing is not None else set[str]()
    if slicing is None or not (levels & parts if slicing.mode_label is None else "dynamicSlicing" in entry):
        return {"topologyAware": True}
    return {"dynamicSlicing": "sub-slicing" if levels & parts else slicing.modes[0]}
