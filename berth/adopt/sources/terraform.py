"""Read GKE clusters and node pools of Terraform: its language, or the JSON of `terraform show -json`."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, cast

from msgspec import Struct

from berth.adopt.api_objects import NotAdopted, last_segment
from berth.adopt.sources.hcl import Configuration, read_configuration
from berth.adopt.sources.source_fleet import (
    SYSTEM,
    Resource,
    SourceFleet,
    Unresolved,
    UnusableSource,
    list_or_empty,
    mapping_or_empty,
)
from berth.diagnostics import join_words

CLUSTER, NODE_POOL = "google_container_cluster", "google_container_node_pool"
_HCL: Final = re.compile(r'^\s*(?:(?:resource|module|variable|data|provider)\s+"|(?:terraform|locals)\s*\{)', re.M)
_REPEATED = (
    *("guest_accelerator", "taint", "cidr_blocks", "resource_limits", "maintenance_exclusion", "node_pool"),
    *("additional_node_network_configs", "additional_pod_network_configs"),
)
"""Blocks that may occur several times; of any other, a list of one is the block."""
_DEFAULT_MACHINE, _DEFAULT_POOL = "e2-medium", "default-pool"
_REMEDY = "give the output of terraform show -json"


class Instance(Struct):
    """An instance of a resource: its address, and its arguments; a value may be Unresolved."""

    address: str
    kind: str
    arguments: Resource


def read_terraform(files: Mapping[str, str], values: Mapping[str, str]) -> SourceFleet | None:
    """Return the cluster and node pools of Terraform; None if no file is Terraform's. Raises UnusableSource."""
    notes: list[NotAdopted] = []
    shown = {file: value for file, text in files.items() if (value := _shown(file, text)) is not None}
    if shown:
        if len(files) > 1:
            raise UnusableSource(
                f"{next(iter(shown))}: error: the output of terraform show is read alone; leave out the others"
            )
        ((file, value),) = shown.items()
        return _fleet(file, list(_shown_instances(value)), {}, values, notes)
    if not any(_HCL.search(text) for text in files.values()):
        return None
    configuration = read_configuration(files, values)
    instances = [
        Instance(address, kind, arguments)
        for address, kind, arguments in configuration.instances((CLUSTER, NODE_POOL), notes)
    ]
    notes += _not_read(configuration)
    return _fleet(next(iter(files)), instances, configuration.provider("google"), values, notes)


def _not_read(configuration: Configuration) -> Iterator[NotAdopted]:
    for name, source in configuration.modules():
        yield NotAdopted(f"module {name}", f"the resources of {source} are in none of the files: unknown; {_REMEDY}")
    others = sorted(configuration.kinds - {CLUSTER, NODE_POOL})
    if others:
        yield NotAdopted("other resources", f"{join_words(others)} are not read")


def _shown(file: str, text: str) -> Mapping[str, Any] | None:
    if not text.lstrip().startswith("{"):
        return None
    try:
        value = mapping_or_empty(json.loads(text))
    except (ValueError, RecursionError) as error:
        raise UnusableSource(f"{file}: error: is not JSON: {error}; {_REMEDY}") from None
    found = value.get("values") or value.get("planned_values")
    if not mapping_or_empty(mapping_or_empty(found).get("root_module")):
        raise UnusableSource(f"{file}: error: has no values of resources; {_REMEDY}")
    return mapping_or_empty(mapping_or_empty(found)["root_module"])


def _shown_instances(module: Mapping[str, Any]) -> Iterator[Instance]:
    for each in map(mapping_or_empty, list_or_empty(module.get("resources"))):
        if each.get("mode", "managed") == "managed" and each.get("type") in (CLUSTER, NODE_POOL):
            yield Instance(str(each.get("address")), str(each["type"]), dict(mapping_or_empty(each.get("values"))))
    for child in list_or_empty(module.get("child_modules")):
        yield from _shown_instances(mapping_or_empty(child))


# --- the fleet --------------------------------------------------------------------------------------------------------


def _fleet(
    file: str,
    instances: Sequence[Instance],
    provider: Mapping[str, Any],
    values: Mapping[str, str],
    notes: list[NotAdopted],
) -> SourceFleet:
    clusters = [each for each in instances if each.kind == CLUSTER]
    pools = [each for each in instances if each.kind == NODE_POOL]
    if len(clusters) > 1:
        addresses = join_words([each.address for each in clusters])
        raise UnusableSource(
            f"{file}: error: has {len(clusters)} clusters ({addresses}), and a stack has one; give each alone"
        )
    if not clusters and not pools:
        others = "".join(f"\n{file}: {each.line()}" for each in notes)
        raise UnusableSource(f"{file}: error: has no {CLUSTER} and no {NODE_POOL}; name files that have one{others}")
    given: Resource = _plain(clusters[0].arguments) if clusters else {"name": _cluster_of(pools, values)}
    cluster = {**given, **_place(given, [each.arguments for each in pools], provider, values)}
    missing = [name for name in ("name", "project", "location") if not isinstance(cluster.get(name), str)]
    if missing:
        what = {name: cluster.get(name) or "not given" for name in missing}
        raise UnusableSource(
            *(f"{file}: error: the cluster's {name} is {what[name]}; add --value {_FLAGS[name]}=…" for name in missing)
        )
    node_pools = [_node_pool(each.arguments, cluster) for each in pools]
    if clusters:
        node_pools += _own_pools(clusters[0].arguments, cluster, notes)
        cluster.setdefault("enable_shielded_nodes", True)
    else:
        cluster["datapath_provider"] = "ADVANCED_DATAPATH"
    for key in ("node_pool", "node_config", "initial_node_count", "remove_default_node_pool", "deletion_protection"):
        cluster.pop(key, None)
    return SourceFleet(f"Terraform of {last_segment(file)}", cluster, node_pools, notes, keeps_cluster=not clusters)


_FLAGS = {"name": "cluster", "project": "project", "location": "location"}


def _cluster_of(pools: Sequence[Instance], values: Mapping[str, str]) -> Any:
    """Return the name of the cluster that node pools without one in the files are in."""
    if "cluster" in values:
        return values["cluster"]
    names = {str(name): name for each in pools if (name := each.arguments.get("cluster")) is not None}
    name = next(iter(names.values())) if len(names) == 1 else None
    return last_segment(name) if isinstance(name, str) else name


def _place(
    given: Resource, pools: Sequence[Resource], provider: Mapping[str, Any], values: Mapping[str, str]
) -> Resource:
    """Return project and location: those of the cluster, of its node pools, of the provider, or given."""
    result: Resource = {}
    for name, others in (("project", ("project",)), ("location", ("region", "zone"))):
        candidates = [
            given.get(name),
            *(each.get(name) for each in pools),
            *(provider.get(each) for each in (name, *others)),
        ]
        known = next((each for each in candidates if isinstance(each, str) and each), None)
        unresolved = next((each for each in candidates if isinstance(each, Unresolved)), None)
        result[name] = values.get(name) or known or unresolved
    return result


def _plain(arguments: Resource) -> Resource:
    """Return arguments with each block that occurs once as a mapping."""
    result: Resource = {}
    for key, value in arguments.items():
        if isinstance(value, list):
            items = [
                _plain(cast("Resource", each)) if isinstance(each, dict) else each for each in cast("list[Any]", value)
            ]
            is_block = bool(items) and all(isinstance(each, dict) for each in items)
            if items or key not in _BLOCKS_OR_LISTS:
                result[key] = items[0] if is_block and len(items) == 1 and key not in _REPEATED else items
        else:
            result[key] = _plain(cast("Resource", value)) if isinstance(value, dict) and key not in _MAPS else value
    return {key: value for key, value in result.items() if value not in (None, "", [])}


_MAPS = ("labels", "resource_labels", "metadata", "sysctls", "effective_labels", "terraform_labels")
_BLOCKS_OR_LISTS = ("node_locations",)


def _node_pool(arguments: Resource, cluster: Resource) -> Resource:
    pool = {key: value for key, value in _plain(arguments).items() if key not in _OF_STATE}
    location = pool.pop("location", None)
    pool.pop("cluster", None)
    pool.pop("project", None)
    if "node_locations" not in pool:
        zone = location if isinstance(location, str) and location.count("-") > 1 else None
        is_zonal = str(cluster.get("location")).count("-") > 1
        if zone or is_zonal:
            pool["node_locations"] = [zone or cluster["location"]]
    if "node_count" in pool or "autoscaling" in pool:
        pool.pop("initial_node_count", None)
    if "autoscaling" in pool:
        pool.pop("node_count", None)
    config = dict(mapping_or_empty(pool.get("node_config")))
    config.setdefault("machine_type", _DEFAULT_MACHINE)
    return {**pool, "node_config": config}


_OF_STATE = ("id", "timeouts", "operation", "version", "instance_group_urls", "managed_instance_group_urls",
             "name_prefix", "node_drain_config")  # fmt: skip
"""Arguments of a node pool that only the state has, or that change no node pool."""


def _own_pools(arguments: Resource, cluster: Resource, notes: list[NotAdopted]) -> Iterator[Resource]:
    """Yield the node pools inside a cluster: its `node_pool` blocks, else the default one unless it is removed."""
    plain = _plain(arguments)
    inside = [dict(mapping_or_empty(each)) for each in list_or_empty(plain.get("node_pool"))]
    for each in inside:
        yield _node_pool(each, cluster)
    is_kept = plain.get("remove_default_node_pool") is not True and plain.get("enable_autopilot") is not True
    if is_kept and not inside and plain.get("initial_node_count"):
        notes.append(NotAdopted(f"node pool {_DEFAULT_POOL}", f"is called {SYSTEM} in Berth"))
        size = {"node_count": plain["initial_node_count"]}
        yield {**_node_pool({"node_config": plain.get("node_config", {}), **size}, cluster), "name": SYSTEM}
