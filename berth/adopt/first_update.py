"""List what the first `pulumi up` after an import would change, and what Berth does not manage."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any, cast

from berth.adopt import rest_fields
from berth.adopt.api_objects import ApiObject, Fate, NotAdopted, mapping_at, name_of, namespace_of
from berth.adopt.controllers import CONTROLLERS, is_system_object
from berth.adopt.inventory import ClusterInventory
from berth.adopt.kubernetes.server_defaults import without_defaults
from berth.diff.fields import compare_fields
from berth.diff.provider_inputs.changes import InputComparison
from berth.diff.provider_inputs.effects import UpdateEffect, input_rules
from berth.diff.values import format_change, format_on_one_line
from berth.google.fleet import google_resources
from berth.manifests.fleet import all_manifests
from berth.manifests.serving.webhooks import PATCH
from berth.plan.fleet import FleetPlan
from berth.resource import FleetResource, ResourceKind

_EFFECT_NOTES = {UpdateEffect.REPLACE: " (REPLACES it)", UpdateEffect.RECREATE: " (its nodes are recreated)"}
_ANSWERED_KINDS = (ResourceKind.CLUSTER, ResourceKind.SYSTEM_POOL, ResourceKind.NODE_POOL)
_MAX_NAMES = 5
"""Names of one kind that are listed."""
_SERVER_SET = {"status", "metadata"}


def first_update_changes(inventory: ClusterInventory, plan: FleetPlan) -> list[NotAdopted]:
    """Return all changes, cluster first; for an existing cluster only those inside it."""
    made = {(each.kind, each.key): each for each in google_resources(plan) if each.kind in _ANSWERED_KINDS}
    changes: list[NotAdopted] = []
    if cluster := made.get((ResourceKind.CLUSTER, "cluster")):
        what = f"cluster {inventory.cluster['name']}"
        changes += _cloud_changes(what, rest_fields.CLUSTER, inventory.cluster, cluster)
    planned = {each.name: each for pool in plan.own_pools for each in pool.node_pools}
    planned |= {plan.system_pool.name: plan.system_pool} if plan.system_pool else {}
    for answer in inventory.node_pools:
        if (pool := planned.get(str(answer["name"]))) is not None:
            kind = ResourceKind.SYSTEM_POOL if pool is plan.system_pool else ResourceKind.NODE_POOL
            resource = made[kind, pool.key]
            changes += _cloud_changes(
                f"node pool {pool.name}", rest_fields.NODE_POOL, answer, resource, is_adopted=bool(pool.adopted)
            )
    return [*changes, *_object_changes(inventory, plan)]


def lost_node_pools(inventory: ClusterInventory, plan: FleetPlan, told: Collection[str]) -> Iterator[str]:
    """Yield a line for each node pool of the answers that has its name neither in the plan nor among those `told`.

    Pulumi would create another one beside it. Inside an existing cluster Berth only describes node pools.
    """
    if inventory.context is not None:
        return
    kept = {each.name for pool in plan.pools for each in pool.node_pools}
    kept |= {plan.system_pool.name} if plan.system_pool else set()
    for name in (str(each["name"]) for each in inventory.node_pools):
        if name not in kept and f"node pool {name}" not in told:
            yield (
                f"node pool {name}: no pool of the stack file would have this name, so `pulumi up` would create "
                "another beside it; remove it from the answers, and it stays as it is without Berth"
            )


# --- Google Cloud -----------------------------------------------------------------------------------------------------


def _cloud_changes(
    what: str, kind: str, answer: ApiObject, resource: FleetResource, *, is_adopted: bool = False
) -> Iterator[NotAdopted]:
    """Yield what differs between Google's answer and what the program registers, and what a stack file cannot express.

    Left out is what the program asks Pulumi to ignore, and for an adopted node pool every field without a row.
    """
    (registration,) = resource.registrations().values()
    rules = InputComparison(registration, input_rules(registration.type))
    inputs = resource.inputs(registration)[0]
    others = () if is_adopted else rest_fields.other_fields(kind, answer, inputs)
    for word, change in (*rest_fields.changed_fields(kind, answer, inputs), *others):
        if change.after is None:
            yield NotAdopted(what, f"{word} is {format_on_one_line(change.before)}, which a stack file cannot express")
        elif effects := rules.effects(change):
            strongest = max((each.does for each in effects), key=lambda does: does.severity)
            text = f"{word} {format_change(change.before, change.after)}{_EFFECT_NOTES.get(strongest, '')}"
            yield NotAdopted(what, text, Fate.CHANGED)


# --- Kubernetes -------------------------------------------------------------------------------------------------------


def _object_changes(inventory: ClusterInventory, plan: FleetPlan) -> Iterator[NotAdopted]:
    existing = {(str(o["kind"]), namespace_of(o), name_of(o)): o for o in inventory.objects}
    wanted: dict[tuple[str, str, str], dict[str, Any]] = {}
    for manifest in all_manifests(plan):
        if str(manifest["kind"]).endswith(PATCH):  # it changes an object of Kueue's chart, also where it did before
            continue
        planned = cast("dict[str, Any]", manifest)
        wanted[str(planned["kind"]), namespace_of(planned), name_of(planned)] = planned
    labels: dict[str, list[tuple[str, str, str]]] = {}
    for key, manifest in wanted.items():
        if key in existing:
            what = " ".join((key[0], "/".join(filter(None, key[1:]))))
            yield from (NotAdopted(what, line, Fate.CHANGED) for line in _manifest_changes(existing[key], manifest))
            # The first update adds labels to everything, so kinds share a line.
            before, after = (mapping_at(each["metadata"], "labels") for each in (existing[key], manifest))
            if missing := ", ".join(name for name, value in sorted(after.items()) if before.get(name) != value):
                labels.setdefault(missing, []).append(key)
    for missing, keys in labels.items():
        yield from _grouped_by_kind(keys, f"labels added: {missing}", Fate.CHANGED)
    yield from _grouped_by_kind((key for key in wanted if key not in existing), "in no answer", Fate.CREATED)
    others = {key: _why_left(key, plan) for key in existing if key not in wanted}
    for reason in dict.fromkeys(filter(None, others.values())):
        yield from _grouped_by_kind((key for key, why in others.items() if why == reason), reason)


def _why_left(key: tuple[str, str, str], plan: FleetPlan) -> str:
    """Return why an object stays as it is; "" for controllers and what comes with every cluster."""
    kind, namespace, name = key
    if kind == "Deployment" and any(namespace == place and name in names for place, names in CONTROLLERS.values()):
        return ""
    if kind == "Namespace" and any(name == each.name for team in plan.teams for each in team.namespaces):
        return (
            "holds a team's queues as `existing`, so Berth adds no limits or policies to it; remove `existing` to let "
            "Berth manage it"
        )
    return "" if is_system_object(key) else "is not managed by Berth and stays as it is"


def _manifest_changes(live: ApiObject, manifest: Mapping[str, Any]) -> Iterator[str]:
    """Yield fields that change, without labels."""
    kind = str(live["kind"])
    before, after = (without_defaults(kind, _written(each)) for each in (live, manifest))
    keys = {**before, **after}
    for change in compare_fields({key: before.get(key) for key in keys}, {key: after.get(key) for key in keys}):
        yield f"{change.path} {format_change(change.before, change.after)}"


def _written(resource: Mapping[str, Any]) -> dict[str, object]:
    return {key: value for key, value in resource.items() if key not in (*_SERVER_SET, "apiVersion", "kind")}


def _grouped_by_kind(keys: Iterable[tuple[str, str, str]], why: str, fate: Fate = Fate.LEFT) -> Iterator[NotAdopted]:
    kinds: dict[str, list[str]] = {}
    for kind, namespace, name in keys:
        kinds.setdefault(kind, []).append("/".join(filter(None, (namespace, name))))
    for kind, names in sorted(kinds.items()):
        some = ", ".join(sorted(names)[:_MAX_NAMES]) + (f", … ({len(names)} in all)" if len(names) > _MAX_NAMES else "")
        yield NotAdopted(f"{kind} {some}", why, fate)
