"""What a cluster offers its pods beside nodes: storage drivers, runtime classes and device classes (`cluster.yaml`)."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

from berth import catalog
from berth.nodes.sources import NodeSource
from berth.plan.fleet import ExistingClusterPlan, FleetPlan
from berth.plan.gke import CheckpointingPlan, ClusterPlan
from berth.yaml_loader import load_table


def storage_drivers(plan: FleetPlan) -> tuple[str, ...]:
    """Return the names of the CSIDrivers of a GKE cluster, of an existing one those that the stack file states."""
    cluster = plan.cluster
    if isinstance(cluster, ExistingClusterPlan):
        return ()
    table = _table()["storage_drivers"]
    secrets = isinstance(cluster, ClusterPlan) and cluster.secret_manager
    addons = {"secret-manager": secrets, "checkpointing": cluster.checkpointing is not None}
    added = [*cluster.storage_drivers, *(name for name, is_on in addons.items() if is_on)]
    always = [name for name, row in table.items() if cluster.mode in row.get("always", ())]
    return tuple(sorted({table[name]["name"] for name in (*always, *added)}))


def checkpointing_of(plan: FleetPlan, machine_type: str) -> CheckpointingPlan | None:
    """Return the multi-tier checkpointing of nodes of a machine type; None if they have no volume for it."""
    settings = None if isinstance(plan.cluster, ExistingClusterPlan) else plan.cluster.checkpointing
    same = settings is not None and settings.machine_type == machine_type
    return settings if same else None


def runtime_classes(plan: FleetPlan) -> tuple[str, ...]:
    """Return the names of the RuntimeClasses of a cluster that Berth creates; empty for an existing one."""
    if not isinstance(plan.cluster, ClusterPlan):
        return ()
    sandboxes = {each.settings.sandbox for pool in plan.own_pools for each in pool.node_pools}
    rows = _table()["runtime_classes"].items()
    names = (row["name"] for key, row in rows if plan.cluster.mode in row["always"] or key in sandboxes)
    return tuple(sorted(names))


def device_classes_of(plan: FleetPlan, source: NodeSource) -> dict[str, int | None]:
    """Return DeviceClass → devices of one node, by GKE's network driver (DRANET) and NVIDIA's DRA driver."""
    channels = next((each.channels for each in plan.flavors if each.name == source.pool.flavor), None)
    of_domain: dict[str, int] = {} if channels is None else {channels.device_class: channels.per_node}
    network = source.node_pool.network if source.node_pool else None
    if network is None or network.accelerator_profile is None:
        return {**of_domain}
    row = catalog.machines().get(source.machine_type.removesuffix("-nolssd"))
    devices = row.network_devices if row is not None else None
    if devices is None:
        return {**dict.fromkeys(catalog.NETWORK_DEVICE_CLASSES), **of_domain}
    return {**devices.by_class, **of_domain}


@cache
def _table() -> dict[str, Any]:
    return load_table(Path(__file__).with_name("cluster.yaml"))
