"""Recognize and read sources, and turn what one describes into a stack file and the list of what has no key in it."""

from __future__ import annotations

import ipaddress
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from berth import catalog
from berth.adopt import rest_fields
from berth.adopt.api_objects import ApiObject, Fate, NotAdopted, StackEntry, list_at, mapping_at, value_at
from berth.adopt.inventory import ClusterInventory
from berth.adopt.pools import scaling_bounds
from berth.adopt.sources.blueprint import read_blueprint
from berth.adopt.sources.provider_fields import cluster_answer, node_pool_answer
from berth.adopt.sources.source_fleet import SYSTEM, Resource, SourceFleet, UnusableSource
from berth.adopt.sources.terraform import read_terraform
from berth.adopt.sources.xpk import read_xpk
from berth.adopt.stack_file import AdoptedFleet, adopt
from berth.diff.fields import format_change, format_on_one_line
from berth.google.fleet import google_resources
from berth.names import CAPACITY_MARK
from berth.plan.fleet import FleetPlan
from berth.resource import ResourceKind

_CHANNELS = ("RAPID", "REGULAR", "STABLE", "EXTENDED")
_SMALL_NODE_RANGE, _NODE_RANGE = 1020, "10.40.0.0/18"
_SMALL_POD_RANGE, _POD_RANGE = 2048, "10.64.0.0/10"
"""Nodes for which the ranges of a fleet that names none have room, and larger ranges beside the range of services."""
_SOURCE_SECTIONS = ("cluster", "reservations", "pools")
_KUEUE_SECTIONS = ("flavors", "priorities", "cohorts", "teams", "clusterQueues")
_KUEUE_SUBJECTS = ("ClusterQueue ", "Cohort ", "PriorityClass ", "pool ")


def described_inventory(source: SourceFleet) -> tuple[ClusterInventory, list[NotAdopted]]:
    """Return the answers that Google would give once the source is deployed, and what of the source is not in them.

    Raises UnusableSource if the source has no node pools.
    """
    notes = list(source.notes)
    answer, unknown = cluster_answer(_without(source.cluster, "project"))
    name, project = str(answer.get("name", "")), str(source.cluster["project"])
    notes += [NotAdopted(f"cluster {name}", line) for line in unknown]
    node_pools = [each for resource in source.node_pools for each in _node_pool(resource, answer, notes)]
    if not node_pools and not source.keeps_cluster and not source.node_pools:
        notes.append(NotAdopted(f"cluster {name}", f"{source.what} has no node pools; write pools"))
    inventory = ClusterInventory(
        cluster=_cluster(answer, project, notes), node_pools=node_pools, keeps_cluster=source.keeps_cluster,
        is_described=True, objects=source.objects,
    )  # fmt: skip
    return inventory, notes


def described_fleet(source: SourceFleet, stack: str) -> tuple[AdoptedFleet, ClusterInventory]:
    """Return the fleet that a source describes, as the stack of that name. Raises UnusableSource."""
    inventory, notes = described_inventory(source)
    try:
        adopted = adopt(inventory, stack)
    except (KeyError, IndexError, TypeError, ValueError, AttributeError) as error:
        if not source.objects:
            raise
        cause = " ".join(f"{type(error).__name__}: {error}".split())
        raise UnusableSource(
            f"{source.what}: error: its Kueue configuration is not what Kueue takes ({cause}); leave the file out, or "
            "give one that `kubectl apply` takes"
        ) from error
    fleet: StackEntry = {key: value for key, value in adopted.fleet.items() if key in ("project", "region", "labels")}
    sections = (*_SOURCE_SECTIONS, *(_KUEUE_SECTIONS if source.objects else ()))
    fleet |= {key: adopted.fleet[key] for key in sections if key in adopted.fleet}
    if "teams" in fleet:
        fleet["teams"] = {team: _with_own_namespace(team, entry) for team, entry in fleet["teams"].items()}
    cluster = fleet.get("cluster", {})
    if not source.keeps_cluster:
        cluster = {**cluster, **_ranges(inventory)}
    fleet["cluster"] = {key: value for key, value in cluster.items() if value != [] or key != "zones"}
    is_kept = any("placementPolicy" in each for each in fleet.get("pools", {}).values())
    notes += [
        NotAdopted(f"node pool {each['name']}", f"placement policy {policy} has no key; Berth places the nodes itself")
        for each in inventory.node_pools
        if (policy := value_at(each, "placementPolicy.policyName")) and not is_kept
    ]
    subjects = ("node pool ", "reservation ", *(_KUEUE_SUBJECTS if source.objects else ()))
    kept = [each for each in adopted.not_adopted if each.subject.startswith(subjects)]
    return AdoptedFleet(fleet, (*notes, *kept)), inventory


def _with_own_namespace(team: str, entry: StackEntry) -> StackEntry:
    """Return a team whose namespaces Berth makes, for none exists yet but those that every cluster has."""
    places = entry.get("namespaces") or [entry.get("namespace", team)]
    made = [each if isinstance(each, str) or "acceptSharedNamespace" in each else each["name"] for each in places]
    rest = {key: value for key, value in entry.items() if key not in ("namespace", "namespaces")}
    if len(made) > 1:
        return {"namespaces": made, **rest}
    return rest if made == [team] else {"namespace": made[0], **rest}


def _without(resource: Resource, *keys: str) -> Resource:
    return {key: value for key, value in resource.items() if key not in keys}


def _node_pool(resource: Resource, cluster: ApiObject, notes: list[NotAdopted]) -> Iterator[ApiObject]:
    """Yield the answer of a node pool with a known machine; any other gets a note."""
    answer, unknown = node_pool_answer(resource)
    what = f"node pool {answer.get('name') or 'without a known name'}"
    kind = value_at(answer, "config.machineType")
    unknown_size = [line for line in unknown if line.startswith(_NEEDED)]
    if kind is None or unknown_size:
        reason = "; ".join(unknown_size) or "its machine type is not given"
        notes.append(NotAdopted(what, f"{reason}: unknown, and not written; give the value, and adopt again"))
        return
    notes += [NotAdopted(what, line) for line in unknown]
    if not list_at(answer, "locations"):
        answer: ApiObject = {**answer, "locations": list_at(cluster, "locations")}
    is_gpu_host = kind in catalog.attachable_gpus().hosts and bool(list_at(answer, "config.accelerators"))
    if catalog.machines().get(kind) is None and not is_gpu_host:
        if catalog.cpu_machine(kind) is None:
            notes.append(
                NotAdopted(
                    what, f"machine type '{kind}' is in no table of Berth: unknown, and not written (docs/unknown.md)"
                )
            )
            return
        if answer["name"] != SYSTEM:  # Berth reads machines without accelerators where they are marked as capacity
            labels = {**mapping_at(answer, "config.labels"), CAPACITY_MARK: "true"}
            answer = {**answer, "config": {**mapping_at(answer, "config"), "labels": labels}}
    affinity = {"consumeReservationType": "NO_RESERVATION"}
    yield {**answer, "config": {"reservationAffinity": affinity, **mapping_at(answer, "config")}}


_NEEDED = ("name", "node_config.machine_type", "node_count", "initial_node_count", "autoscaling", "node_locations",
           "placement_policy", "node_config.guest_accelerator", "node_config.reservation_affinity", "node_config.spot",
           "node_config.flex_start", "queued_provisioning")  # fmt: skip
"""Arguments that say what a pool is; without them Berth would write another one."""


def _cluster(answer: ApiObject, project: str, notes: list[NotAdopted]) -> ApiObject:
    """Return the cluster with the fields that only an answer has, and without a channel that no key has."""
    name, location = str(answer["name"]), str(answer["location"])
    what = f"cluster {name}"
    channel = value_at(answer, "releaseChannel.channel")
    if channel is not None and channel not in _CHANNELS:
        notes.append(NotAdopted(what, f"release channel {channel} has no key; the cluster is in the channel regular"))
        answer = {key: value for key, value in answer.items() if key != "releaseChannel"}
    if location.count("-") > 1:
        region = location.rpartition("-")[0]
        notes.append(
            NotAdopted(what, f"is zonal ({location}); Berth's cluster is regional ({region}), with nodes in the zone")
        )
        answer = {"locations": [location], **answer}
    answer = {**answer, **_authorized_networks(answer, what, notes)}
    network = str(answer.get("network", ""))
    own = f"projects/{project}/global/networks/{name}"
    ranges = {"clusterSecondaryRangeName": "pods", "servicesSecondaryRangeName": "services"}
    return {
        **answer,
        "selfLink": f"https://container.googleapis.com/v1/projects/{project}/locations/{location}/clusters/{name}",
        "locations": answer.get("locations", []),
        "network": network or own,
        "networkConfig": {**mapping_at(answer, "networkConfig"), "network": network or own},
        "ipAllocationPolicy": mapping_at(answer, "ipAllocationPolicy") if network else ranges,
    }


def _authorized_networks(answer: ApiObject, what: str, notes: list[NotAdopted]) -> ApiObject:
    """Return the authorized networks that are ranges; text that stands for one is noted."""
    config = mapping_at(answer, "masterAuthorizedNetworksConfig")
    blocks: list[ApiObject] = []
    for each in list_at(config, "cidrBlocks"):
        try:
            ipaddress.ip_network(each.get("cidrBlock"), strict=False)
        except ValueError:
            notes.append(NotAdopted(what, f"authorized network '{each.get('cidrBlock')}' is no range, and not written"))
        else:
            blocks.append(each)
    return {"masterAuthorizedNetworksConfig": {**config, "cidrBlocks": blocks}} if config else {}


def _ranges(inventory: ClusterInventory) -> StackEntry:
    """Return ranges with room for the node pools, if those of a fleet that names none have not."""
    has_own_network = str(inventory.cluster["network"]).endswith(f"/{inventory.cluster['name']}")
    if value_at(inventory.cluster, "ipAllocationPolicy.servicesSecondaryRangeName") is None or not has_own_network:
        return {}
    nodes = sum(scaling_bounds(each)[1] for each in inventory.node_pools)
    ranges = {"nodeCidrBlock": _NODE_RANGE} if nodes > _SMALL_NODE_RANGE else {}
    ranges |= {"podCidrBlock": _POD_RANGE} if nodes > _SMALL_POD_RANGE else {}
    return {"network": ranges} if ranges else {}


def lost_settings(inventory: ClusterInventory, plan: FleetPlan) -> Iterator[NotAdopted]:
    """Yield each setting that the source states and the stack file does not have: it has no key, or another value."""
    made = {(each.kind, each.key): each for each in google_resources(plan)}
    planned: dict[str, tuple[ResourceKind, str]] = {
        each.name: (ResourceKind.NODE_POOL, each.key) for pool in plan.own_pools for each in pool.node_pools
    }
    answers = [
        (f"node pool {each['name']}", rest_fields.NODE_POOL, each, planned.get(str(each["name"])))
        for each in inventory.node_pools
    ]
    answers.append(
        (
            f"cluster {inventory.cluster['name']}",
            rest_fields.CLUSTER,
            inventory.cluster,
            (ResourceKind.CLUSTER, "cluster"),
        )
    )
    for what, kind, answer, key in answers:
        if key is None or key not in made:
            continue
        resource = made[key]
        (registration,) = resource.registrations().values()
        inputs = resource.inputs(registration)[0]
        yield from _differences(what, kind, answer, inputs)
        stated, placed = mapping_at(answer, "placementPolicy"), mapping_at(inputs, "placementPolicy")
        if stated and not placed:
            before = f"placement {stated.get('type')} of {stated.get('tpuTopology', 'no topology')}"
            yield NotAdopted(what, f"{before} → none: one host needs none", Fate.CHANGED)


def _differences(what: str, kind: str, answer: ApiObject, inputs: Any) -> Iterator[NotAdopted]:
    stated = {path for path, _ in rest_fields.leaf_values(answer)}
    for word, change in (
        *rest_fields.changed_fields(kind, answer, inputs),
        *rest_fields.other_fields(kind, answer, inputs),
    ):
        if change.before in (None, False) and word not in stated:
            continue
        if change.after is None:
            yield NotAdopted(what, f"{word} is {format_on_one_line(change.before)}, which a stack file cannot express")
        else:
            yield NotAdopted(what, f"{word} {format_change(change.before, change.after)}", Fate.CHANGED)


_READERS: Final[tuple[Callable[[Mapping[str, str], Mapping[str, str]], SourceFleet | None], ...]] = (
    read_blueprint,
    read_terraform,
    read_xpk,
)
"""Read all files if they are of one kind, else return None."""


def read_source(files: Mapping[str, str], values: Mapping[str, str]) -> SourceFleet:
    """Return the fleet that the files describe, by name and text. Raises UnusableSource.

    `values` are those of variables of a blueprint, of Terraform or of a shell script.
    """
    for reader in _READERS:
        fleet = reader(files, values)
        if fleet is not None:
            return fleet
    raise UnusableSource(
        f"{next(iter(files))}: error: is no blueprint of the Cluster Toolkit, no Terraform of a GKE cluster, and has "
        "no `xpk cluster create` command; name one of these files"
    )
