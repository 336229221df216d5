"""List what the first `pulumi up` after an import would change, and what Berth does not manage."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any, cast

from msgspec import Struct
from msgspec.structs import replace

from berth.adopt import rest_fields
from berth.adopt.api_objects import ApiObject, Fate, Kept, NotAdopted, last_segment, mapping_at, name_of, namespace_of
from berth.adopt.controllers import CONTROLLERS, is_system_object
from berth.adopt.google.answered_inputs import inputs_before
from berth.adopt.inventory import ClusterInventory
from berth.adopt.kubernetes.object_shapes import without_defaults
from berth.diff.fields import compare_fields, format_change, format_on_one_line
from berth.diff.kinds import FieldEffect
from berth.diff.provider_inputs.changes import InputComparison, compare_registrations
from berth.diff.provider_inputs.effects import UpdateEffect, input_rules, is_within, without_indexes
from berth.google.fleet import google_resources
from berth.google.node_pool import CREATION_FIELDS
from berth.manifests.fleet import all_manifests
from berth.manifests.serving.webhooks import PATCH
from berth.plan.fleet import FleetPlan
from berth.plan.grouping import grouped
from berth.resource import FleetResource, ResourceKind

_EFFECT_NOTES = {UpdateEffect.REPLACE: " (REPLACES it)", UpdateEffect.RECREATE: " (its nodes are recreated)"}
_ALSO_KEPT = ("nodeConfig.guestAccelerators", "placementPolicy")
"""Inputs that an adopted node pool may keep besides those of its creation."""
_MAX_NAMES = 5
"""Names of one kind that are listed."""
_SERVER_SET = {"status", "metadata"}


class AnsweredChange(Struct, frozen=True):
    """A change of an existing resource in Google Cloud by the first update; `pool` is the one of a node pool."""

    subject: str
    effect: FieldEffect
    pool: str | None = None

    @property
    def text(self) -> str:
        """What changes, in one line."""
        note = _EFFECT_NOTES.get(self.effect.does, "")
        return f"{self.effect.path} {format_change(self.effect.before, self.effect.after)}{note}"


def first_update_changes(inventory: ClusterInventory, plan: FleetPlan) -> list[NotAdopted]:
    """Return all changes, cluster first, and what no key keeps; for an existing cluster only those inside it."""
    return [
        *(
            NotAdopted(each.subject, each.text, Fate.CHANGED) if isinstance(each, AnsweredChange) else each
            for each in google_changes(inventory, plan)
        ),
        *_object_changes(inventory, plan),
    ]


def google_changes(inventory: ClusterInventory, plan: FleetPlan) -> Iterator[AnsweredChange | NotAdopted]:
    """Yield what the first update changes in Google Cloud, and what an answer has that a stack file cannot express.

    By the comparison of `berth diff`: the registrations of the plan with what the answers hold.
    """
    found: dict[tuple[ResourceKind, str], ApiObject] = {(ResourceKind.CLUSTER, "cluster"): inventory.cluster}
    node_pools = {str(each["name"]): each for each in inventory.node_pools}
    planned = [each for pool in plan.own_pools for each in pool.node_pools]
    answered = [(ResourceKind.NODE_POOL, each.key, each.name, node_pools) for each in planned]
    if plan.system_pool is not None:
        answered.append((ResourceKind.SYSTEM_POOL, plan.system_pool.key, plan.system_pool.name, node_pools))
    reservations = {(str(each["name"]), last_segment(str(each.get("zone")))): each for each in inventory.reservations}
    for kind, key, name, answers in answered:
        if name in answers:
            found[kind, key] = answers[name]
    for each in plan.reservations:
        if (each.name, each.zone) in reservations:
            found[ResourceKind.RESERVATION, each.key] = reservations[each.name, each.zone]
    adopted = {each.key for each in planned if each.adopted}
    for resource in google_resources(plan):
        if (answer := found.get((resource.kind, resource.key))) is not None:
            is_adopted = resource.kind == ResourceKind.NODE_POOL and resource.key in adopted
            yield from _changes_of(resource, answer, is_adopted=is_adopted)


def would_replace(inventory: ClusterInventory, plan: FleetPlan, accepted: Collection[str]) -> Iterator[str]:
    """Yield a line for each resource of the answers that the first update would replace, unless `accepted` has it."""
    causes: dict[str, list[str]] = {}
    for change in google_changes(inventory, plan):
        is_replaced = isinstance(change, AnsweredChange) and change.effect.does == UpdateEffect.REPLACE
        if isinstance(change, AnsweredChange) and is_replaced and change.subject not in accepted:
            causes.setdefault(change.subject, []).append(change.text.removesuffix(_EFFECT_NOTES[UpdateEffect.REPLACE]))
    for subject, texts in causes.items():
        yield (
            f"{subject}: the first `pulumi up` would delete it and create it again, because {'; '.join(texts)}; remove "
            f"it from the answers to keep it as it is, or write --accept '{subject}'"
        )


def disturbed_pools(inventory: ClusterInventory, plan: FleetPlan) -> frozenset[str]:
    """Return the pools with nodes that the first update would replace or recreate, unless they were `adopted`."""
    adopted = {pool.name for pool in plan.own_pools if any(each.adopted for each in pool.node_pools)}
    return frozenset(
        change.pool
        for change in google_changes(inventory, plan)
        if isinstance(change, AnsweredChange)
        and change.pool is not None
        and change.pool not in adopted
        and change.effect.does.severity >= UpdateEffect.RECREATE.severity
        and is_within(without_indexes(change.effect.input), (*CREATION_FIELDS, *_ALSO_KEPT))
    )


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


def _changes_of(
    resource: FleetResource, answer: ApiObject, *, is_adopted: bool
) -> Iterator[AnsweredChange | NotAdopted]:
    """Yield what differs between Google's answer and what the program registers, and what a stack file cannot express.

    Left out is what the program asks Pulumi to ignore, and for an adopted node pool what no key has and
    the provider keeps.
    """
    (registration,) = resource.registrations().values()
    rules = InputComparison(registration, input_rules(registration.type))
    inputs = resource.inputs(registration)[0]
    subject = f"{_NOUNS.get(resource.kind, 'node pool')} {answer['name']}"
    table = _TABLES.get(resource.kind)
    others = () if table is None else rest_fields.other_fields(table, answer, inputs)
    rows = () if table is None else rest_fields.changed_fields(table, answer, inputs)
    for word, change in (*rows, *others):
        effects = rules.effects(change)
        is_replaced = any(each.does == UpdateEffect.REPLACE for each in effects)
        is_kept = table is not None and rest_fields.is_kept(table, change.path)
        if change.after is None and (is_kept or not is_replaced):
            if not is_adopted:
                yield NotAdopted(
                    subject, f"{word} is {format_on_one_line(change.before)}, which a stack file cannot express"
                )
        elif effects:
            strongest = max((each.does for each in effects), key=lambda does: does.severity)
            effect = FieldEffect(word, change.path, change.before, change.after, strongest)
            yield AnsweredChange(subject, effect, resource.pool)
    before = inputs_before(resource.kind, answer, inputs)
    for effect in compare_registrations((registration, before), (registration, inputs)):
        if effect.does.severity:
            yield AnsweredChange(subject, effect, resource.pool)


_TABLES = {
    ResourceKind.CLUSTER: rest_fields.CLUSTER,
    ResourceKind.SYSTEM_POOL: rest_fields.NODE_POOL,
    ResourceKind.NODE_POOL: rest_fields.NODE_POOL,
}
_NOUNS = {ResourceKind.CLUSTER: "cluster", ResourceKind.RESERVATION: "reservation"}


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
    for kept, reason in dict.fromkeys(others.values()):
        keys = [key for key, why in others.items() if why == (kept, reason)]
        yield from (
            replace(each, kept=kept)
            for each in _grouped_by_kind(keys, reason, limit=_MAX_NAMES if kept == Kept.SYSTEM else len(keys))
        )


def _why_left(key: tuple[str, str, str], plan: FleetPlan) -> tuple[Kept, str]:
    """Return why an object stays as it is."""
    kind, namespace, name = key
    if kind == "Deployment" and any(namespace == place and name in names for place, names in CONTROLLERS.values()):
        return Kept.SYSTEM, _MADE_AGAIN
    if kind == "Namespace" and any(name == each.name for team in plan.teams for each in team.namespaces):
        return Kept.EXISTING, (
            "holds a team's queues as `existing`, so Berth adds no limits or policies to it; remove `existing` to let "
            "Berth manage it"
        )
    if is_system_object(key):
        return Kept.SYSTEM, _MADE_AGAIN
    return Kept.OTHERS, "is not managed by Berth and stays as it is"


_MADE_AGAIN = "comes with Kubernetes, GKE or the release of a controller"


def _manifest_changes(live: ApiObject, manifest: Mapping[str, Any]) -> Iterator[str]:
    """Yield fields that change, without labels."""
    kind = str(live["kind"])
    before, after = (without_defaults(kind, _written(each)) for each in (live, manifest))
    keys = {**before, **after}
    for change in compare_fields({key: before.get(key) for key in keys}, {key: after.get(key) for key in keys}):
        yield f"{change.path} {format_change(change.before, change.after)}"


def _written(resource: Mapping[str, Any]) -> dict[str, object]:
    return {key: value for key, value in resource.items() if key not in (*_SERVER_SET, "apiVersion", "kind")}


def _grouped_by_kind(
    keys: Iterable[tuple[str, str, str]], why: str, fate: Fate = Fate.LEFT, limit: int = _MAX_NAMES
) -> Iterator[NotAdopted]:
    kinds = grouped((kind, "/".join(filter(None, (namespace, name)))) for kind, namespace, name in keys)
    for kind, names in sorted(kinds.items()):
        some = ", ".join(sorted(names)[:limit]) + (f", … ({len(names)} in all)" if len(names) > limit else "")
        yield NotAdopted(f"{kind} {some}", why, fate, names=tuple(sorted(names)))
