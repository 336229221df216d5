"""Read capacity buffers: room that a cluster keeps for services of a team."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from berth import catalog
from berth.adopt.api_objects import ApiObject, Kept, NotAdopted, list_at, mapping_at, name_of, namespace_of, value_at
from berth.adopt.inventory import ClusterInventory
from berth.adopt.pools import AdoptedPool
from berth.jobs.quantities import parse_quantity
from berth.manifests.quantities import quantity
from berth.manifests.serving.capacity_buffers import MACHINE_FAMILY, STANDBY, STRATEGIES
from berth.plan.kueue import CPU


def add_buffers(
    inventory: ClusterInventory,
    teams: Mapping[str, dict[str, Any]],
    namespaces: Mapping[str, str],
    known: Mapping[str, list[AdoptedPool]],
    not_adopted: list[NotAdopted],
) -> None:
    """Write the buffers in namespaces of teams to the teams' entries; report the others."""
    templates = {(namespace_of(each), name_of(each)): each for each in inventory.objects_of_kind("PodTemplate")}
    for buffer in inventory.objects_of_kind("CapacityBuffer"):
        namespace = namespace_of(buffer)
        subject = f"capacity buffer {namespace}/{name_of(buffer)}"
        if inventory.context is not None:
            not_adopted.append(
                NotAdopted(subject, "is on nodes that others make, and stays as it is", kept=Kept.CLUSTER)
            )
            continue
        team = teams.get(namespaces.get(namespace, ""))
        entry = None if team is None else _entry(inventory, buffer, templates, known)
        if team is None or entry is None:
            why = "is in no namespace of a team" if team is None else "has no PodTemplate on nodes of an adopted pool"
            not_adopted.append(
                NotAdopted(subject, f"{why}. Write it as capacityBuffers of a team, or leave it to its owner")
            )
            continue
        if "namespaces" in team:
            entry["namespace"] = namespace
        team.setdefault("capacityBuffers", {})[name_of(buffer)] = entry


def _entry(
    inventory: ClusterInventory,
    buffer: ApiObject,
    templates: Mapping[tuple[str, str], ApiObject],
    known: Mapping[str, list[AdoptedPool]],
) -> dict[str, Any] | None:
    """Return the keys of a buffer; None if its pool or its unit is not known."""
    spec, entry = mapping_at(buffer, "spec"), dict[str, Any]()
    strategies = {value: key for key, value in STRATEGIES.items()}
    strategy = strategies.get(str(spec.get("provisioningStrategy") or STRATEGIES["active"]))
    if strategy is None or "scalableRef" in spec:
        return None
    template = templates.get((namespace_of(buffer), str(value_at(spec, "podTemplateRef.name"))))
    pods = mapping_at(template or {}, "template.spec")
    selector = mapping_at(pods, "nodeSelector")
    requests: dict[str, int | None] = {}
    for container in list_at(pods, "containers"):
        for resource, amount in mapping_at(container, "resources.requests").items():
            requests[resource] = (requests.get(resource) or 0) + (parse_quantity(resource, amount) or 0)
    pool = _pool(inventory, selector, known)
    resource = None if pool is None or pool.machine.resource == CPU else pool.machine.resource
    if strategy == "active":
        if pool is None:
            return None
        entry["pool"] = pool.key
    else:
        entry["provisioningStrategy"] = strategy
        entry |= {"machineFamily": selector[MACHINE_FAMILY]} if MACHINE_FAMILY in selector else {}
    entry |= {"replicas": spec["replicas"]} if spec.get("replicas") is not None else {}
    limits = {each: parse_quantity(each, amount) for each, amount in mapping_at(spec, "limits").items()}
    entry |= {"limits": _amounts(limits, resource)} if limits else {}
    unit = _amounts(requests, resource)
    is_whole = pool is not None and unit == {"accelerators": pool.accelerators_per_node}
    entry |= {} if is_whole or not unit else {"unit": unit}
    annotations = mapping_at(buffer, "metadata.annotations")
    for key, name in (("initTime", "init-time"), ("refreshFrequency", "refresh-frequency")):
        entry |= {key: annotations[f"{STANDBY}-{name}"]} if f"{STANDBY}-{name}" in annotations else {}
    return entry if unit else None


def _amounts(amounts: Mapping[str, int | None], accelerators: str | None) -> dict[str, Any]:
    """Return amounts by the keys of the stack file."""
    names = {CPU: "cpu", "memory": "memory", **({accelerators: "accelerators"} if accelerators else {})}
    written = {names[each]: amount for each, amount in amounts.items() if each in names and amount}
    return {key: amount if key == "accelerators" else quantity(key, amount) for key, amount in written.items()}


def _pool(
    inventory: ClusterInventory, selector: Mapping[str, str], known: Mapping[str, list[AdoptedPool]]
) -> AdoptedPool | None:
    """Return the pool that a unit selects: of its node pool, or the first of the flavor with the most labels."""
    matching: list[tuple[int, list[AdoptedPool]]] = []
    for flavor in inventory.objects_of_kind("ResourceFlavor"):
        labels = mapping_at(flavor, "spec.nodeLabels")
        if labels and name_of(flavor) in known and labels.items() <= selector.items():
            matching.append((len(labels), known[name_of(flavor)]))
    pools = max(matching, key=lambda each: each[0])[1] if matching else []
    nodepool = catalog.labels().nodepool
    named = [pool for pool in pools if pool.labels.get(nodepool, pool.key) == selector.get(nodepool)]
    return next(iter([*named, *pools]), None)
