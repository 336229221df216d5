"""Read an `xpk cluster create` command line: the cluster and the node pools that xpk would create with gcloud."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final

from berth import catalog
from berth.adopt.api_objects import NotAdopted
from berth.adopt.sources.source_fleet import SYSTEM, Resource, SourceFleet, UnusableSource
from berth.adopt.sources.xpk_flags import (
    XpkFlags,
    XpkType,
    find_command,
    known_xpk_flags,
    read_xpk_flags,
    variables_in,
    xpk_types,
)
from berth.diagnostics import did_you_mean, join_words

COMMAND: Final = re.compile(r"\bxpk(?:\.py)?[\"']?\s+cluster\s+(create(?:-pathways|-ray)?)(?=\s)")
_CAPACITIES = ("on-demand", "spot", "flex", "reservation")
_DRIVERS = {
    "enable-gcsfuse-csi-driver": "gcs_fuse_csi_driver_config",
    "enable-gcpfilestore-csi-driver": "gcp_filestore_csi_driver_config",
    "enable-parallelstore-csi-driver": "parallelstore_csi_driver_config",
    "enable-lustre-csi-driver": "lustre_csi_driver_config",
}
_PRIVATE = ("private", "authorized-networks", "enable-private-endpoint", "private-endpoint-subnetwork",
            "enable-master-global-access")  # fmt: skip
"""Flags that make nodes private, or that xpk completes with --private."""
_UNLIMITED_CPU, _UNLIMITED_MEMORY, _UNLIMITED_NODES = 1_000_000, 1_000_000, 1000
"""Limits of xpk that no fleet reaches; the stack file has at most this memory, and xpk ten times as much."""
_GCLOUD_CLUSTER: Final[Mapping[str, tuple[str, ...]]] = {
    "network": ("network",),
    "subnetwork": ("subnetwork",),
    "cluster-secondary-range-name": ("ip_allocation_policy", "cluster_secondary_range_name"),
    "services-secondary-range-name": ("ip_allocation_policy", "services_secondary_range_name"),
    "release-channel": ("release_channel", "channel"),
    "enable-private-nodes": ("private_cluster_config", "enable_private_nodes"),
    "master-ipv4-cidr": ("private_cluster_config", "master_ipv4_cidr_block"),
}
_GCLOUD_NODE_POOL: Final[Mapping[str, tuple[str, ...]]] = {
    "disk-size": ("node_config", "disk_size_gb"),
    "disk-type": ("node_config", "disk_type"),
    "max-pods-per-node": ("max_pods_per_node",),
    "image-type": ("node_config", "image_type"),
    "service-account": ("node_config", "service_account"),
}
"""Flags of gcloud in the `--custom-…-arguments` that have a place in the provider."""


def read_xpk(files: Mapping[str, str], values: Mapping[str, str]) -> SourceFleet | None:
    """Return what the command of a file creates; None if there is none. Raises UnusableSource."""
    found = [(file, each) for file, text in files.items() if (each := find_command(text, COMMAND, file, values))]
    if not found:
        return None
    if len(files) > 1:
        raise UnusableSource(f"{found[0][0]}: has an xpk command, which is read alone; leave out the other files")
    ((file, command),) = found
    place = f"{file}:{command.line}"
    flags = XpkFlags(read_xpk_flags(command, place), place, values, command.sub_command)
    return _fleet(flags)


# --- the cluster ------------------------------------------------------------------------------------------------------


def _fleet(flags: XpkFlags) -> SourceFleet:
    if flags.has("adapt-from-ct"):
        raise UnusableSource(f"{flags.place}: --adapt-from-ct creates no cluster; give the blueprint that created it")
    name, project, zone = (flags.text(each) for each in ("cluster", "project", "zone"))
    type_name = flags.text("tpu-type") if flags.has("tpu-type") else flags.text("device-type")
    notes: list[NotAdopted] = []
    capacity = _capacity(flags, notes)
    slices = flags.number("num-slices", flags.number("num-cubes", 1))
    cluster = _cluster(flags, name, project, zone)
    kind = xpk_types().get(type_name)
    pools = [_system_pool(flags, zone, kind)]
    if kind is not None:
        pools += _node_pools(flags, kind, name, zone, capacity, slices)
        if flags.has("enable-autoprovisioning"):
            cluster["cluster_autoscaling"] = _autoprovisioning(flags, kind, zone, slices)
    elif type_name:
        hint = did_you_mean(type_name, xpk_types()) or ""
        notes.append(
            NotAdopted(
                f"type {type_name}", f"is in no table of Berth: its node pools are unknown, and not written{hint}"
            )
        )
    if flags.has("enable-pathways") or flags.sub_command == "create-pathways":
        pools.append(_pathways_pool(flags, zone))
        notes.append(NotAdopted("pathways", "Berth installs no Pathways; node pool cpu-np is for its pods"))
    notes += _notes(flags, cluster, pools)
    if flags.missing:
        raise UnusableSource(*(f"{flags.place}: error: {line}" for line in dict.fromkeys(flags.missing)))
    return SourceFleet(f"xpk cluster {flags.sub_command}", cluster, pools, notes)


def _capacity(flags: XpkFlags, notes: list[NotAdopted]) -> str:
    given = [each for each in _CAPACITIES if flags.has(each)]
    if len(given) > 1:
        flags.missing.append(f"{join_words([f'--{each}' for each in given])} exclude each other; write one of them")
    if not given:
        notes.append(
            NotAdopted("capacity", "no flag says it, and xpk then creates no node pools; on-demand is assumed")
        )
    return given[0] if given else "on-demand"


def _cluster(flags: XpkFlags, name: str, project: str, zone: str) -> Resource:
    is_private = any(flags.has(each) for each in _PRIVATE)
    closed = flags.has("enable-private-endpoint") or flags.has("private-endpoint-subnetwork")
    cluster: Resource = {
        "name": name,
        "project": project,
        "location": zone.rpartition("-")[0],
        "node_locations": [zone],
        "release_channel": {"channel": "REGULAR" if flags.has("gke-version") else "RAPID"},
        "datapath_provider": "ADVANCED_DATAPATH",
        "enable_multi_networking": True,
        "enable_shielded_nodes": True,
        "private_cluster_config": {"enable_private_nodes": is_private, "enable_private_endpoint": closed},
        "control_plane_endpoints_config": {"dns_endpoint_config": {"allow_external_traffic": not closed}},
        "addons_config": {block: {"enabled": True} for flag, block in _DRIVERS.items() if flags.has(flag)},
    }
    if flags.has("gke-version"):
        cluster["current_master_version"] = flags.text("gke-version")
    if is_private:
        blocks = [{"cidr_block": each} for each in flags.given.get("authorized-networks", ())]
        cluster["master_authorized_networks_config"] = {"cidr_blocks": blocks}
    return cluster


def _system_pool(flags: XpkFlags, zone: str, kind: XpkType | None) -> Resource:
    machine = flags.text("default-pool-cpu-machine-type", "e2-standard-16")
    if flags.has("cluster-cpu-machine-type"):
        machine = flags.text("cluster-cpu-machine-type")
    nodes = flags.number("default-pool-cpu-num-nodes", 6)
    least = nodes if kind is not None and kind.blueprint_pool else 1
    return {
        "name": SYSTEM,
        "node_locations": [zone],
        "autoscaling": {"total_min_node_count": least, "total_max_node_count": _UNLIMITED_NODES},
        "node_config": {"machine_type": machine},
    }


def _pathways_pool(flags: XpkFlags, zone: str) -> Resource:
    return {
        "name": "cpu-np",
        "node_locations": [zone],
        "autoscaling": {"min_node_count": 1, "max_node_count": 20},
        "node_config": {"machine_type": flags.text("pathways-gce-machine-type", "n2-standard-64")},
    }


def _autoprovisioning(flags: XpkFlags, kind: XpkType, zone: str, slices: int) -> Resource:
    """Return node auto-provisioning up to the accelerators of the node pools, unless a flag says how many."""
    machine = catalog.machines().get(kind.machine_type)
    of_a_node = machine.accelerators if machine is not None else kind.gpus
    nodes = flags.number("num-nodes", 2) if kind.kind == "gpu" else kind.hosts * slices
    most = flags.number("autoprovisioning-max-chips", nodes * of_a_node)
    limits = [
        {"resource_type": "cpu", "minimum": 1, "maximum": _UNLIMITED_CPU},
        {"resource_type": "memory", "minimum": 1, "maximum": _UNLIMITED_MEMORY},
        {
            "resource_type": machine.accelerator if machine is not None else kind.gpu,
            "minimum": flags.number("autoprovisioning-min-chips", 0),
            "maximum": most,
        },
    ]
    return {
        "enabled": True,
        "autoscaling_profile": "OPTIMIZE_UTILIZATION",
        "resource_limits": limits,
        "auto_provisioning_locations": [zone],
    }


# --- node pools -------------------------------------------------------------------------------------------------------


def _node_pools(
    flags: XpkFlags, kind: XpkType, cluster: str, zone: str, capacity: str, slices: int
) -> Iterator[Resource]:
    """Yield the node pools of accelerators: one of GPU nodes, or one for each slice (nodepool.py of xpk)."""
    reservations = flags.text("reservation").split(",") if capacity == "reservation" else []
    count = 1 if kind.kind == "gpu" else slices
    if len(reservations) > 1 and len(reservations) != count:
        flags.missing.append(
            f"--reservation has {len(reservations)} reservations for {count} node pools; write one, or one for each"
        )
    for number in range(count):
        pool = _with_capacity(_node_pool(flags, kind, zone), flags, kind, capacity)
        pool["name"] = (kind.blueprint_pool or f"{{cluster}}-np-{number}").replace("{cluster}", cluster)
        if reservations:
            path = reservations[number % len(reservations)].strip()
            pool["node_config"]["reservation_affinity"] = {
                "consume_reservation_type": "SPECIFIC_RESERVATION", "values": [path],
            }  # fmt: skip
        yield pool


def _node_pool(flags: XpkFlags, kind: XpkType, zone: str) -> Resource:
    config: Resource = {"machine_type": kind.machine_type, "gvnic": {"enabled": True}}
    pool: Resource = {"node_locations": [zone], "node_config": config}
    if kind.kind == "tpu" and kind.hosts > 1:
        pool |= {"max_pods_per_node": 15, "placement_policy": {"type": "COMPACT", "tpu_topology": kind.topology}}
    if kind.kind == "gpu":
        driver = {"gpu_driver_version": "LATEST"}
        config["guest_accelerator"] = [{"type": kind.gpu, "count": kind.gpus, "gpu_driver_installation_config": driver}]
    if kind.dranet:
        pool["network_config"] = {"accelerator_network_profile": "auto"}
    if kind.blueprint_pool:
        config["shielded_instance_config"] = {"enable_secure_boot": True}
        pool |= {"max_pods_per_node": 32, "network_config": {"additional_node_network_configs": [{}]}}
    return pool


def _with_capacity(pool: Resource, flags: XpkFlags, kind: XpkType, capacity: str) -> Resource:
    """Return the node pool with its count and capacity; flexible starts scale from zero."""
    nodes = flags.number("num-nodes", 2) if kind.kind == "gpu" else kind.hosts
    if capacity != "flex":
        pool["node_count"] = nodes
        if capacity == "spot":
            pool["node_config"]["spot"] = True
        if capacity in kind.compact:
            pool["placement_policy"] = {"type": "COMPACT"}
        return pool
    pool["node_config"]["flex_start"] = True
    pool["autoscaling"] = {"max_node_count": kind.hosts if kind.kind == "tpu" else _UNLIMITED_NODES}
    pool["management"] = {"auto_repair": False}
    if kind.kind == "gpu" and flags.number("num-slices", 1) <= 1:
        pool["queued_provisioning"] = {"enabled": True}
    return pool


# --- what has no key --------------------------------------------------------------------------------------------------


def _notes(flags: XpkFlags, cluster: Resource, pools: Sequence[Resource]) -> Iterator[NotAdopted]:
    for name in flags.given:
        if says := known_xpk_flags()[name].get("says"):
            yield NotAdopted(f"--{name}", says)
    if flags.sub_command == "create-ray":
        yield NotAdopted("create-ray", "Berth installs no Ray cluster; Ray jobs need the KubeRay operator")
    yield from _custom(flags, "custom-cluster-arguments", _GCLOUD_CLUSTER, lambda: [cluster])
    yield from _custom(flags, "custom-nodepool-arguments", _GCLOUD_NODE_POOL, lambda: pools[1:])
    yield from _custom(flags, "custom-tpu-nodepool-arguments", _GCLOUD_NODE_POOL, lambda: pools[1:])
    yield NotAdopted(
        f"node pool {SYSTEM}", "is xpk's default-pool, under the name of Berth's own pool for what has no accelerators"
    )
    if "network" not in cluster:
        yield NotAdopted("network", "xpk uses the VPC 'default'; Berth makes a VPC of its own")


def _custom(
    flags: XpkFlags, name: str, places: Mapping[str, tuple[str, ...]], resources: Callable[[], Sequence[Resource]]
) -> Iterator[NotAdopted]:
    """Write gcloud's own flags where the provider has them; yield a note for each of the others."""
    text = str(flags.given.get(name, ""))
    if variables := variables_in(text):
        yield NotAdopted(
            f"--{name}", f"${variables[0]} has no value, so its flags are unknown; add --value {variables[0]}=…"
        )
        return
    try:
        words = shlex.split(text)
    except ValueError:
        yield NotAdopted(f"--{name}", f"'{text}' is not a list of flags, so they are unknown")
        return
    while words:
        flag, has_value, value = words.pop(0).removeprefix("--").partition("=")
        if not has_value:
            value = words.pop(0) if words and not words[0].startswith("--") else "true"
        if flag not in places:
            yield NotAdopted(f"--{flag} of --{name}", f"'{value}' is not read" if value != "true" else "is not read")
            continue
        *parents, last = places[flag]
        for resource in resources():
            target = resource
            for step in parents:
                target = target.setdefault(step, {})
            target[last] = (
                int(value)
                if value.isdecimal()
                else True
                if value == "true"
                else value.upper()
                if last == "channel"
                else value
            )
