"""The modules of the Cluster Toolkit: what their settings become in Terraform, and what they hand to other modules."""

from __future__ import annotations

import math
import pathlib
from collections.abc import Collection, Mapping
from functools import cache
from typing import Any, Final, cast

from berth import catalog
from berth.adopt.api_objects import NotAdopted
from berth.adopt.sources.source_fleet import Names, Resource, Unresolved, list_or_empty, mapping_or_empty
from berth.yaml_loader import load_table

CLUSTER, EXISTING_CLUSTER, NODE_POOL = "gke-cluster", "pre-existing-gke-cluster", "gke-node-pool"
APPLY: Final = "kubectl-apply"
_DEFAULT_SYSCTLS: Final = {"net.ipv4.tcp_rmem": "4096 87380 16777216", "net.ipv4.tcp_wmem": "4096 16384 16777216"}
_SCOPES = ("https://www.googleapis.com/auth/cloud-platform",)


@cache
def _table() -> Mapping[str, Any]:
    return load_table(pathlib.Path(__file__).with_name("toolkit_modules.yaml"))


def is_read_module(name: str) -> bool:
    """Return whether the settings of a module are read."""
    return name in _table()["read"]


def makes_other(name: str) -> bool:
    """Return whether a module makes something else than GKE clusters, such as Slurm or VMs."""
    return any(part in name for part in _table()["other"])


def instead_of_module(name: str, source: str) -> str:
    """Return what to do instead of a module that is not read."""
    known = _table()["says"].get(name)
    return f"{name}: {known}" if known else f"'{source}' is no module that Berth knows: what it makes is unknown"


def module_inputs(name: str) -> Collection[str]:
    """Return the names of the inputs of a module that is read."""
    row = _table()["read"][name]
    return [*row["unset"], *row["defaults"]]


def number_inputs(name: str) -> Collection[str]:
    """Return the names of the inputs whose value is a whole number."""
    return _table()["read"][name].get("numbers", ())


def module_defaults(name: str) -> dict[str, Any]:
    """Return the inputs with a default."""
    return dict(_table()["read"][name]["defaults"])


# --- outputs ----------------------------------------------------------------------------------------------------------


def module_outputs(name: str, settings: Mapping[str, Any]) -> Names:
    """Return the outputs of a module that other modules read, by name."""
    made: dict[str, Any] = {}
    if name == "resource-policy":
        made = _placement(settings)
    elif name == "multivpc":
        made = {"additional_networks": _interfaces(settings["network_count"])}
    elif name == "gpu-rdma-vpc":
        count = mapping_or_empty(settings["subnetworks_template"]).get("count", 8)
        made = {"subnetwork_interfaces_gke": _interfaces(count)}
    elif name == "vpc":
        made = {"instance_additional_networks": _interfaces(1)}
    elif name == "pre-existing-vpc":
        network, subnetwork = settings["network_name"], settings.get("subnetwork_name") or settings["network_name"]
        made = {"network_id": network, "subnetwork_self_link": subnetwork}
    elif name == NODE_POOL:
        made = _accelerators(settings)
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


def given_outputs(module: Any) -> Mapping[str, Any]:
    """Return the outputs that a module gives to those that `use` it."""
    return module.all if isinstance(module, _KnownNames) else {}


def _accelerators(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return how many nodes a node pool of a fixed size has, and how many accelerators."""
    machine, nodes = catalog.machines().get(str(settings["machine_type"])), settings.get("static_node_count")
    made: dict[str, Any] = {"node_count_static": nodes} if isinstance(nodes, int) else {}
    if machine is not None and machine.kind == "tpu":
        made["tpu_chips_per_node"] = machine.accelerators
    elif machine is not None and machine.kind == "gpu" and isinstance(nodes, int):
        made["static_gpu_count"] = nodes * machine.accelerators
    return made


def _interfaces(count: Any) -> list[Any]:
    return [{"network": "", "subnetwork": ""}] * count if isinstance(count, int) else [Unresolved("network_count")]


def _placement(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return the placement that a policy gives to node pools; the end of its name is random."""
    policy, distance = settings["workload_policy"], settings["group_placement_max_distance"]
    kind = mapping_or_empty(policy).get("type")
    if not kind and not distance:
        return {"placement_policy": {"type": None, "tpu_topology": None}}
    topology = mapping_or_empty(policy).get("accelerator_topology") if kind else None
    return {"placement_policy": {"type": "COMPACT", "tpu_topology": topology}}


# --- node pools -------------------------------------------------------------------------------------------------------


def set_slice_nodes(name: str, settings: dict[str, Any], given: Mapping[str, Any]) -> None:
    """Set the number of nodes of a TPU slice, which gcluster computes from its topology (hardware.go)."""
    machine = catalog.machines().get(str(settings.get("machine_type")))
    topology: Any = mapping_or_empty(settings.get("placement_policy")).get("tpu_topology")
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


def toolkit_node_pools(
    module: str, settings: Mapping[str, Any], project: str, notes: list[NotAdopted]
) -> list[Resource]:
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
        notes.append(NotAdopted(f"module {module}", "accelerator_topology_mode: write dynamicSlicing in the pool"))
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
    policy = mapping_or_empty(settings["placement_policy"])
    if policy.get("type") is None:
        return None
    machine = catalog.machines().get(str(settings["machine_type"]))
    topology = policy.get("tpu_topology") if machine is not None and machine.kind == "tpu" else None
    return {"type": policy["type"], "policy_name": policy.get("name"), "tpu_topology": topology}


def _network(settings: Mapping[str, Any]) -> Resource:
    return {
        "accelerator_network_profile": "auto" if settings["enable_dranet"] is True else None,
        # How many there are says which kind of GPUDirect the nodes have; the networks themselves are Berth's.
        "additional_node_network_configs": [{}] * len(list_or_empty(settings["additional_networks"])) or None,
        "enable_private_nodes": settings["enable_private_nodes"],
    }


def _node_config(settings: Mapping[str, Any], project: str) -> Resource:
    system = mapping_or_empty(settings["linux_node_config"])
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
        "guest_accelerator": [_gpu(each) for each in list_or_empty(settings["guest_accelerator"])] or None,
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
    named = list_or_empty(affinity.get("specific_reservations"))
    if not named:
        return {"consume_reservation_type": affinity.get("consume_reservation_type")}
    name, owner = named[0].get("name"), named[0].get("project") or project
    path = name if isinstance(name, Unresolved) or name is None else f"projects/{owner}/reservations/{name}"
    if isinstance(name, str) and name.startswith("projects/"):
        path = name
    return {"consume_reservation_type": affinity.get("consume_reservation_type"), "values": [path]}
