"""List what the first `pulumi up` after an import would change, and what Berth does not manage."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, cast

from berth.adopt import rest_fields
from berth.adopt.api_objects import ApiObject, Fate, NotAdopted, mapping_at, name_of, namespace_of, value_at
from berth.adopt.controllers import CONTROLLERS, is_system_object
from berth.adopt.inventory import ClusterInventory
from berth.adopt.kubernetes.server_defaults import without_defaults
from berth.diff.fields import compare_fields
from berth.diff.provider_inputs.effects import UpdateEffect
from berth.diff.values import format_change, format_value
from berth.manifests.fleet import all_manifests
from berth.manifests.serving.webhooks import PATCH
from berth.plan.existing import ExistingClusterPlan
from berth.plan.fleet import FleetPlan
from berth.plan.gke import ClusterPlan, NodePoolPlan

_EFFECT_NOTES = {UpdateEffect.REPLACE: " (REPLACES it)", UpdateEffect.RECREATE: " (its nodes are recreated)"}
_CHANGED_OF_ADOPTED = ("machine_type", "settings.disk_size_gb", "spot", "queued")
"""Fields of an adopted node pool that are not kept as they are."""
_MAX_NAMES = 5
"""Names of one kind that are listed."""
_SERVER_SET = {"status", "metadata"}


def first_update_changes(inventory: ClusterInventory, plan: FleetPlan) -> list[NotAdopted]:
    """Return all changes, cluster first; for an existing cluster only those inside it."""
    planned_cluster = plan.cluster
    if isinstance(planned_cluster, ExistingClusterPlan):
        return list(_object_changes(inventory, plan))
    cloud_changes: list[NotAdopted] = []
    if isinstance(planned_cluster, ClusterPlan):
        what = f"cluster {inventory.cluster['name']}"
        seen = rest_fields.plan_values(rest_fields.CLUSTER, inventory.cluster, autopilot=inventory.is_autopilot)
        cloud_changes += _field_changes(what, seen, planned_cluster, rest_fields.CLUSTER)
        cloud_changes += _unsupported(what, rest_fields.CLUSTER, inventory.cluster)
    planned = {each.name: each for pool in plan.own_pools for each in pool.node_pools}
    planned |= {plan.system_pool.name: plan.system_pool} if plan.system_pool else {}
    account = planned_cluster.node_service_account
    for node_pool in inventory.node_pools:
        if node_pool["name"] in planned:
            cloud_changes += _node_pool_changes(
                node_pool, planned[str(node_pool["name"])], account.email if account else None
            )
    return [*cloud_changes, *_object_changes(inventory, plan)]


# --- Google Cloud -----------------------------------------------------------------------------------------------------


def _node_pool_changes(resource: ApiObject, plan: NodePoolPlan, planned_account: str | None) -> Iterator[NotAdopted]:
    what = f"node pool {resource['name']}"
    seen = rest_fields.plan_values(rest_fields.NODE_POOL, resource)
    if plan.adopted:  # it keeps everything else
        yield from _field_changes(
            what, {field: seen[field] for field in _CHANGED_OF_ADOPTED}, plan, rest_fields.NODE_POOL
        )
        return
    yield from _field_changes(what, seen, plan, rest_fields.NODE_POOL)
    account = value_at(resource, "config.serviceAccount")
    planned_account = plan.settings.service_account or planned_account
    if account not in (None, planned_account):
        effect_note = _EFFECT_NOTES[UpdateEffect.REPLACE]
        yield NotAdopted(what, f"config.serviceAccount {account} → {planned_account}{effect_note}", Fate.CHANGED)
    yield from _unsupported(what, rest_fields.NODE_POOL, resource)


def _field_changes(what: str, seen: Mapping[str, object], plan: object, kind: str) -> Iterator[NotAdopted]:
    for field, before in seen.items():
        after = plan
        for step in field.split("."):
            after = getattr(after, step, None)
        after = tuple(sorted(cast("tuple[str, ...]", after))) if isinstance(after, tuple) else after
        before = tuple(sorted(cast("tuple[str, ...]", before))) if isinstance(before, tuple) else before
        if after is None or (not before and not after) or str(before).casefold() == str(after).casefold():
            continue  # fields that are not written stay as they are
        shown = field.removeprefix("settings.")
        effect_note = _EFFECT_NOTES.get(rest_fields.effect_of_field(kind, field, before, after), "")
        yield NotAdopted(what, f"{shown} {format_change(before, after)}{effect_note}", Fate.CHANGED)


def _unsupported(what: str, kind: str, resource: ApiObject) -> Iterator[NotAdopted]:
    for path, observed in rest_fields.unsupported_fields(kind, resource):
        if (fixed_field := rest_fields.fixed_field(kind, path)) is not None:
            effect_note = _EFFECT_NOTES.get(fixed_field.does, "")
            yield NotAdopted(what, f"{path} {format_change(observed, fixed_field.value)}{effect_note}", Fate.CHANGED)
        else:
            yield NotAdopted(what, f"{path} is {format_value(observed)}, which a stack file cannot express")


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
