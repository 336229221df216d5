"""Predicted objects of Kueue, and storage drivers and classes, against those of a cluster."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final, TypeGuard

from berth.calendar.timeline import format_moment, last_change
from berth.clock import as_of, instant
from berth.diagnostics import join_words
from berth.jobs.quantities import parse_quantity
from berth.manifests import kueue
from berth.manifests.serving.capacity_buffers import capacity_buffer
from berth.manifests.workloads.values import as_mapping, is_mapping
from berth.nodes import FleetNodes, fleet_nodes
from berth.plan.fleet import FleetPlan
from berth.verify.answers import KINDS, LiveObject, LiveObjects
from berth.verify.findings import Learned, LiveDifference, Verification
from berth.verify.nodes import NodeComparison, default_table

_QUANTITIES: Final = ("nominalQuota", "borrowingLimit", "lendingLimit", "weight")
_MISSING: Final = "no such field"
_ABSENT: Final = "no such object"
_Path = tuple[str | int, ...]
PredictedObjects = Mapping[str, Mapping[str, Mapping[str, object]]]
"""Kind → name, or namespace/name, → manifest of what the stack has of each kind that is compared."""


def live_differences(plan: FleetPlan, live: LiveObjects) -> Iterator[LiveDifference]:
    """Yield how the flavors, queues, cohorts, topologies and priorities of a cluster differ from the plan's."""
    for kind, predicted in predicted_objects(plan).items():
        there = live.of_kind(kind)
        if there is None:
            continue
        for name, manifest in predicted.items():
            subject = f"{kind} {name}"
            if name not in there:
                meaning = _meaning(plan, kind, name, (), "", "")
                yield LiveDifference(subject=subject, what="object", predicted="exists", live=_ABSENT, meaning=meaning)
                continue
            for path, before, after in _field_differences((), _fields(manifest), _fields(there[name])):
                steps = (f"[{step}]" if isinstance(step, int) else f".{step}" for step in path)
                yield LiveDifference(
                    subject=subject,
                    what="".join(steps).removeprefix("."),
                    predicted=before,
                    live=after,
                    meaning=_meaning(plan, kind, name, path, before, after),
                )


def other_objects(predicted: PredictedObjects, live: LiveObjects) -> Iterator[str]:
    """Yield the objects of Kueue, and the capacity buffers, that the plan does not have."""
    for kind, objects in predicted.items():
        for name in live.of_kind(kind) or ():
            if name not in objects:
                yield f"{kind} {name}"


def predicted_objects(plan: FleetPlan) -> PredictedObjects:
    """Return what the stack has of each kind that is compared."""
    manifests = (
        *map(kueue.resource_flavor, plan.flavors),
        *map(kueue.topology, plan.topologies),
        *map(kueue.cohort, plan.cohorts),
        *map(kueue.cluster_queue, plan.cluster_queues),
        *(kueue.local_queue(each) for queue in plan.cluster_queues for each in queue.local_queues),
        *map(kueue.workload_priority_class, plan.priorities),
        *(capacity_buffer(each, {}) for team in plan.teams for each in team.buffers),
    )
    by_kind: dict[str, dict[str, Mapping[str, object]]] = {
        kind: {} for kind in ("ResourceFlavor", "Topology", "Cohort", "ClusterQueue", "LocalQueue")
    }
    by_kind |= {"WorkloadPriorityClass": {}, "CapacityBuffer": {}}
    for manifest in manifests:
        metadata = as_mapping(manifest["metadata"])
        namespace = metadata.get("namespace")
        key = f"{namespace}/{metadata['name']}" if namespace else str(metadata["name"])
        by_kind[str(manifest["kind"])][key] = manifest
    return by_kind


def offer_findings(nodes: FleetNodes, live: LiveObjects, source: str) -> Iterator[LiveDifference | Learned]:
    """Yield predicted storage drivers and classes that are missing, and those of an existing cluster as learned."""
    offers = (
        ("CSIDriver", nodes.storage_drivers, "pods that mount such volumes stay pending"),
        ("DeviceClass", nodes.device_classes, "Kueue does not admit jobs that claim such devices"),
        ("RuntimeClass", nodes.runtime_classes, "the API server refuses pods of this class"),
    )
    for kind, predicted, meaning in offers:
        there = live.of_kind(kind)
        if there is None:
            continue
        for name in predicted:
            if name not in there:
                subject = f"{kind} {name}"
                yield LiveDifference(subject=subject, what="object", predicted="exists", live=_ABSENT, meaning=meaning)
        if nodes.open_reason is not None:
            for name in there:
                row = f'- {{kind: {kind}, name: {name}, source: "{source}"}}'
                yield Learned(subject=f"{kind} {name}", what="object", values=("exists",), row=row)


# --- fields -----------------------------------------------------------------------------------------------------------


def _fields(value: Mapping[str, object] | LiveObject) -> Mapping[str, object]:
    """Return what of an object is compared: its spec; a priority class has its fields beside the metadata."""
    if "spec" in value:
        return as_mapping(value["spec"])
    return {key: each for key, each in value.items() if key in ("value", "description")}


def _field_differences(path: _Path, predicted: object, live: object) -> Iterator[tuple[_Path, str, str]]:
    """Yield the path and both values of each field that differs; what the API server fills in is no difference."""
    if is_mapping(predicted) and is_mapping(live):
        yield from _mapping_differences(path, predicted, live)
    elif _is_list(predicted) and _is_list(live):
        if len(predicted) != len(live):
            yield path, _text(predicted), _text(live)
            return
        for index, (old, new) in enumerate(zip(predicted, live, strict=True)):
            name = as_mapping(old).get("name")
            step = name if isinstance(name, str) and name == as_mapping(new).get("name") else index
            yield from _field_differences((*path, step), old, new)
    elif not _equal(path[-1] if path else "", predicted, live):
        yield path, _text(predicted), _text(live)


def _mapping_differences(
    path: _Path, predicted: Mapping[str, object], live: Mapping[str, object]
) -> Iterator[tuple[_Path, str, str]]:
    defaults = default_table()["fields"]
    for key in dict.fromkeys((*predicted, *live)):
        if key in predicted and key in live:
            yield from _field_differences((*path, key), predicted[key], live[key])
            continue
        value = predicted[key] if key in predicted else live[key]
        if not (key in defaults and _equal(key, defaults[key], value)):
            sides = [_text(side[key]) if key in side else _MISSING for side in (predicted, live)]
            yield (*path, key), sides[0], sides[1]


def _equal(key: str | int, predicted: object, live: object) -> bool:
    if predicted == live:
        return True
    if key in _QUANTITIES:
        amounts = [parse_quantity("cpu", value) for value in (predicted, live)]  # cpu counts thousandths
        return amounts[0] is not None and amounts[0] == amounts[1]
    return False


def _text(value: object) -> str:
    """Return a value in one line: {a: 1, b: [x, y]}."""
    if is_mapping(value):
        return "{" + ", ".join(f"{key}: {_text(each)}" for key, each in value.items()) + "}"
    return "[" + ", ".join(map(_text, value)) + "]" if _is_list(value) else str(value)


def _is_list(value: object) -> TypeGuard[list[object]]:
    return isinstance(value, list)


# --- meaning ----------------------------------------------------------------------------------------------------------


def _meaning(plan: FleetPlan, kind: str, name: str, path: _Path, before: str, after: str) -> str:
    """Return what a difference means for jobs."""
    if kind in ("ClusterQueue", "LocalQueue"):
        return _queue_meaning(plan, kind, name, path, before, after)
    if kind == "CapacityBuffer":
        return "services find other room ready than Berth says" if path else "no room is kept ready for services"
    users = _users(plan, kind, name)
    if kind == "ResourceFlavor":
        if not path:
            return f"{users} are inactive: Kueue admits none of their jobs"
        field = {
            "nodeLabels": "Kueue places their pods on other nodes than Berth says",
            "tolerations": "their pods stay pending on nodes with a taint that they do not tolerate",
            "topologyName": "Kueue accepts other topology requests than Berth says",
        }
        return f"{users}: {field.get(str(path[0]), 'Kueue places their pods otherwise than Berth says')}"
    if kind == "WorkloadPriorityClass":
        return "jobs of this priority are refused" if not path else "jobs preempt and wait otherwise than Berth says"
    return f"{users}: quota and placement are otherwise than berth plan and admit say"


def _queue_meaning(plan: FleetPlan, kind: str, name: str, path: _Path, before: str, after: str) -> str:
    if not path:
        return "no job of it is admitted"
    field = path[-1]
    if field == "stopPolicy":
        return "no new job of it is admitted" if after in ("Hold", "HoldAndDrain") else "its jobs are admitted"
    if kind == "ClusterQueue" and field in _QUANTITIES and len(path) >= 5:
        flavor, resource = path[-4], path[-2] if isinstance(path[-2], str) else ""
        what = {"nominalQuota": "is guaranteed", "borrowingLimit": "may borrow", "lendingLimit": "lends at most"}
        shown = (after if after != _MISSING else "without limit", before if before != _MISSING else "without limit")
        passed = _passed_boundary(plan, name, str(flavor), after) if field == "nominalQuota" else ""
        return f"{name} {what.get(str(field), 'has')} {shown[0]} instead of {shown[1]} {resource} of {flavor}{passed}"
    if field == "clusterQueue":
        return f"its jobs wait in {after} instead of {before}"
    return "its jobs are admitted, preempted or shared otherwise than berth plan and admit say"


def _passed_boundary(plan: FleetPlan, queue: str, flavor: str, live: str) -> str:
    """Return that a boundary was not deployed, where the cluster has what was guaranteed before it."""
    timed = next((each for each in plan.calendar if (each.queue, each.flavor) == (queue, flavor)), None)
    if timed is None or (last := last_change(timed, instant())) is None or live != str(last[1]):
        return ""
    return f": that of before {format_moment(last[0])}, which was not deployed; run pulumi up --stack {plan.stack}"


def _users(plan: FleetPlan, kind: str, name: str) -> str:
    """Return the queues that use a flavor, topology or cohort."""
    flavors = {f.name for f in plan.flavors if f.name == name or (kind == "Topology" and f.topology == name)}
    names = [
        queue.name
        for queue in plan.cluster_queues
        if (kind == "Cohort" and queue.cohort == name) or any(each.flavor in flavors for each in queue.flavors)
    ]
    return f"queue{'s' if len(names) > 1 else ''} {join_words(names)}" if names else f"what uses {name}"


def verify_cluster(plan: FleetPlan, live: LiveObjects) -> Verification:
    """Return how the cluster of a plan differs from the prediction, and what it tells that no source told."""
    nodes, predicted = fleet_nodes(plan), predicted_objects(plan)
    source = f"cluster {plan.cluster.name}, {as_of()}"
    comparison = NodeComparison(plan, nodes.groups, source)
    for name, node in (live.of_kind("Node") or {}).items():
        comparison.add(name, node)
    offers = list(offer_findings(nodes, live, source))
    has_nodes = live.of_kind("Node") is not None
    offered = {
        **dict.fromkeys(KINDS, nodes.groups),
        "CSIDriver": nodes.storage_drivers,
        "DeviceClass": nodes.device_classes,
        "RuntimeClass": nodes.runtime_classes,
    }
    # Not in the files, though the stack has some, or Berth knows which ones the cluster has.
    absent = [kind for kind in KINDS if live.of_kind(kind) is None and predicted.get(kind, offered[kind])]
    return Verification(
        differences=(
            *(comparison.differences() if has_nodes else ()),
            *live_differences(plan, live),
            *(each for each in offers if isinstance(each, LiveDifference)),
        ),
        learned=(*comparison.learned(), *(each for each in offers if isinstance(each, Learned))),
        compared=(
            *comparison.compared(),
            *(f"{len(objects)} {kind}" for kind, objects in predicted.items() if objects and live.of_kind(kind)),
        ),
        not_compared=(
            *(comparison.not_compared() if has_nodes else ()),
            *(f"no file has an object of kind {kind}" for kind in absent),
        ),
        others=(*comparison.others, *other_objects(predicted, live)),
    )
