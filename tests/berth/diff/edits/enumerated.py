"""What a plan's registrations and manifests say that the program registers, as the engine would record it.

`tests/stacks/test_registrations.py` shows for every example that the program registers this; a plan takes
milliseconds where the program takes most of a second. What the plan does not know of another resource is a constant
text here: what becomes of it is in `property_dependencies`.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping
from typing import Any, Final, cast

from berth.alibaba.fleet import alibaba_resources
from berth.engine import RecordedResource
from berth.google.fleet import google_resources
from berth.manifests.ack import ack_manifests
from berth.manifests.fleet import all_manifests
from berth.manifests.immutable import immutable_paths
from berth.manifests.serving.webhooks import is_patch, without_patch
from berth.manifests.worker_access import kubeconfig_secret
from berth.names import TEAM_LABEL
from berth.plan.ack import AckFleetPlan
from berth.plan.fleet import FleetPlan, cluster_identifier
from berth.registration import Reference, Registration, provider_inputs
from berth.resource import IN_WORKER, FleetResource, ResourceKind
from components.kubernetes import type_token

Plan = FleetPlan | AckFleetPlan
Manifest = Mapping[str, Any]
Urns = dict[tuple[str, str, str], str]
"""Kind, key and role of a resource → its URN."""
_QUEUES: Final = ("ClusterQueue", "LocalQueue")
"""Kinds that the program names by the queue; it names others by the key of their team."""


_recent: deque[tuple[Plan, dict[str, RecordedResource]]] = deque(maxlen=64)
"""The last plans asked for, with what they register: edits of one base follow one another, and plans have no hash."""


def enumerated(plan: Plan) -> dict[str, RecordedResource]:
    """Everything that a fleet registers by URN, those first that others are made of; without components."""
    index = next((index for index, (known, _) in enumerate(_recent) if known is plan), None)
    if index is None:
        _recent.append((plan, _enumerated(plan)))
    else:
        _recent.rotate(-1 - index)
    return _recent[-1][1]


def _enumerated(plan: Plan) -> dict[str, RecordedResource]:
    made = list(google_resources(plan) if isinstance(plan, FleetPlan) else alibaba_resources(plan))
    parts = [(each, role, part) for each in made for role, part in each.registrations().items()]
    parts = [(each, role, part) for each, role, part in parts if not part.type.startswith("pulumi:")]
    urns: Urns = {(each.kind, each.key, role): _urn(part.type, f"{each.name}-{role}") for each, role, part in parts}
    resources = [
        *_providers(plan),
        *(_in_cloud(each, role, part, urns) for each, role, part in parts),
        *_objects(plan, urns),
    ]
    assert len({each.urn for each in resources}) == len(resources)
    return _in_order({each.urn: each for each in resources})


def _urn(kind: str, name: str) -> str:
    return f"urn:pulumi:stack::berth::{kind}::{name}"


def _in_order(resources: dict[str, RecordedResource]) -> dict[str, RecordedResource]:
    ordered: dict[str, RecordedResource] = {}

    def add(urn: str) -> None:
        if urn not in ordered:
            for each in resources[urn].dependencies:
                add(each)
            ordered[urn] = resources[urn]

    for urn in resources:
        add(urn)
    return ordered


def _recorded(kind: str, name: str, inputs: Mapping[str, object], **options: Any) -> RecordedResource:
    return RecordedResource(
        urn=_urn(kind, name), type=kind, name=name, parent=None, custom=True, inputs=inputs, **options
    )


# --- providers --------------------------------------------------------------------------------------------------------

_OF_OBJECTS: Final = "pulumi:providers:kubernetes"


def _clusters(plan: Plan) -> Iterator[tuple[str, Plan, str]]:
    """Yield how names of each cluster begin, its plan, and what identifies it."""
    if isinstance(plan, AckFleetPlan):
        yield "", plan, plan.fleet.name
        return
    yield "", plan, cluster_identifier(plan.cluster)
    for worker in plan.workers:
        yield f"{worker.key}{IN_WORKER}", worker.plan, worker.cluster_identifier


def _providers(plan: Plan) -> Iterator[RecordedResource]:
    for prefix, each, identifier in _clusters(plan):
        yield _recorded(_OF_OBJECTS, prefix, {"clusterIdentifier": identifier})
        project = each.project if isinstance(each, FleetPlan) else None
        yield _recorded("pulumi:providers:gcp", prefix, {"project": project})


# --- resources in the cloud -------------------------------------------------------------------------------------------


def _in_cloud(resource: FleetResource, role: str, made: Registration, urns: Urns) -> RecordedResource:
    prefix = resource.name.rpartition(IN_WORKER)[0]
    prefix = f"{prefix}{IN_WORKER}" if prefix else ""
    inputs = provider_inputs(made.arguments)
    made_of = {key: tuple(dict.fromkeys(_made_of(value, urns))) for key, value in inputs.items()}
    is_release = made.type.startswith("kubernetes:")
    home = resource.home
    return _recorded(
        made.type,
        f"{resource.name}-{role}",
        {key: _resolved(value) for key, value in inputs.items()},
        protect=made.protect,
        ignore_changes=made.ignore_changes,
        replace_on_changes=made.replace_on_changes,
        retain_on_delete=made.retain_on_delete,
        provider=_urn(_OF_OBJECTS if is_release else "pulumi:providers:gcp", prefix),
        property_dependencies={key: found for key, found in made_of.items() if found},
        dependencies=tuple(dict.fromkeys(urn for found in made_of.values() for urn in found)),
        deleted_with=urns.get((home.kind, home.key, home.role)) if home else None,
    )


def _made_of(value: object, urns: Urns) -> Iterator[str]:
    if isinstance(value, Reference):
        urn = urns.get((value.kind, value.key, value.role))
        yield from (urn,) if urn else ()  # none of an existing cluster
    elif isinstance(value, Mapping):
        for each in cast("Mapping[str, object]", value).values():
            yield from _made_of(each, urns)
    elif isinstance(value, (list, tuple)):
        for each in cast("list[object]", value):
            yield from _made_of(each, urns)


def _resolved(value: Any) -> Any:
    if isinstance(value, Reference):
        return f"{value.output} of {value.kind} {value.key}" if value.value is None else value.value
    if isinstance(value, Mapping):
        return {key: _resolved(each) for key, each in cast("Mapping[str, Any]", value).items()}
    if isinstance(value, (list, tuple)):
        return [_resolved(each) for each in cast("list[Any]", value)]
    return value


# --- objects ----------------------------------------------------------------------------------------------------------


def _objects(plan: Plan, urns: Urns) -> Iterator[RecordedResource]:
    for prefix, each, _ in _clusters(plan):
        cluster = urns.get((ResourceKind.CLUSTER, f"{prefix}cluster", "cluster"))
        keys = {team.name: team.key for team in each.teams}
        # A fleet on ACK knows a namespace by its name.
        of_teams = each.teams if isinstance(each, FleetPlan) else ()
        homes = {place.name: team.home(place.name) for team in of_teams for place in team.namespaces}
        queues = each.cluster_queues if isinstance(each, FleetPlan) else ()
        protected = {queue.name for queue in queues if queue.protect}
        release = each.kueue_release if isinstance(each, FleetPlan) else None
        for manifest in _manifests(each):
            kind, metadata = str(manifest["kind"]), manifest["metadata"]
            team = "" if kind in _QUEUES else (metadata.get("labels") or {}).get(TEAM_LABEL, "")
            place = metadata["name"] if kind == "Namespace" else metadata.get("namespace", "")
            home = homes.get(place, keys.get(team, team)) if team else ""
            name = "/".join((metadata.get("namespace", ""), metadata["name"], home or ""))
            if is_patch(manifest):  # patches of other namespaces are other resources of the program
                name += manifest["webhooks"][0]["matchConditions"][0]["name"]
            yield _recorded(
                type_token(manifest),
                f"{prefix}{name}",
                without_patch(manifest),
                provider=_urn(_OF_OBJECTS, prefix),
                deleted_with=cluster,
                replace_on_changes=tuple(immutable_paths(manifest, release)),
                ignore_changes=("webhooks",) if is_patch(manifest) else (),
                protect=kind == "ClusterQueue" and metadata["name"] in protected,
            )


def _manifests(plan: Plan) -> Iterator[Manifest]:
    if isinstance(plan, AckFleetPlan):
        yield from ack_manifests(plan) if plan.fleet.kubeconfig is not None else ()
        return
    yield from (kubeconfig_secret(each.plan.manager_access) for each in plan.workers if each.plan.manager_access)
    yield from all_manifests(plan)
