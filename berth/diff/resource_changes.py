"""What becomes of each resource between two plans: created, updated in place, recreated, replaced or deleted."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any

from msgspec.structs import replace

from berth.diff.fields import FieldChange
from berth.diff.kinds import ChangeKind, FieldEffect, ResourceChange
from berth.diff.provider_inputs.changes import compare_registrations
from berth.diff.provider_inputs.effects import UpdateEffect, effect_of_input, input_rules, is_within, strongest_effect
from berth.google.fleet import google_resources
from berth.plan.fleet import FleetPlan
from berth.registration import Reference, Registration
from berth.resource import IN_WORKER, FleetResource, ResourceKind, merge_clusters, resource_title


def compare_resources(old: FleetPlan, new: FleetPlan) -> tuple[ResourceChange, ...]:
    """Return every changed resource of a fleet: created and changed ones in their order, then deleted ones.

    A resource is also replaced if it depends on a replaced one, because Pulumi does not know the new name in advance.
    """
    return tuple(_with_common_settings_of_alerts(compare_registered(google_resources(old), google_resources(new))))


def compare_registered(old: Iterable[FleetResource], new: Iterable[FleetResource]) -> tuple[ResourceChange, ...]:
    """Compare the resources of two programs; those with the same kind and key are one line."""
    return tuple(_Comparison(old, new).changes())


def replaced_clusters(changes: Iterable[ResourceChange]) -> set[str]:
    """Return the workers whose clusters are replaced; "" for the fleet's own."""
    kinds = (ResourceKind.CLUSTER, ResourceKind.CONNECTION)
    replaced = (change for change in changes if change.kind in kinds and change.what == ChangeKind.REPLACED)
    return {change.key.rpartition(IN_WORKER)[0] for change in replaced}


_KIND_OF_EFFECT = {UpdateEffect.REPLACE: ChangeKind.REPLACED, UpdateEffect.RECREATE: ChangeKind.RECREATED}


_ResourceKey = tuple[ResourceKind, str]
"""What people call a resource."""


class _Comparison:
    """The resources of two programs; what changes of one is worked out once, also if others depend on it."""

    def __init__(self, old: Iterable[FleetResource], new: Iterable[FleetResource]) -> None:
        self._before = merge_clusters(*({(each.kind, each.key): each} for each in old))
        self._after = merge_clusters(*({(each.kind, each.key): each} for each in new))
        self._effects: dict[_ResourceKey, Mapping[str, tuple[FieldEffect, ...]]] = {}

    def changes(self) -> Iterator[ResourceChange]:
        """Yield every changed resource: created and changed ones, then deleted ones."""
        for key, resource in self._after.items():
            if key not in self._before:
                if resource.registrations():
                    yield ResourceChange(resource.kind, resource.key, resource.pool, ChangeKind.CREATED)
                continue
            own = resource_title(*key)  # its parts depend on each other
            effects = (effect for part in self._effects_of(key).values() for effect in part)
            if fields := _unique(effect for effect in effects if effect.input or effect.path != own):
                what = _KIND_OF_EFFECT.get(strongest_effect(field.does for field in fields), ChangeKind.UPDATED)
                if resource.kind == ResourceKind.DASHBOARD and what == ChangeKind.UPDATED:
                    fields = ()  # its panels follow from the rest of the change
                yield ResourceChange(resource.kind, resource.key, resource.pool, what, fields)
        for key, resource in self._before.items():
            if key not in self._after and resource.registrations():
                yield ResourceChange(resource.kind, resource.key, resource.pool, self._end_of(resource))

    def _end_of(self, deleted: FleetResource) -> ChangeKind:
        """Return what becomes of a resource that the program no longer has: a retained one goes with its cluster."""
        is_retained = any(registration.retain_on_delete for registration in deleted.registrations().values())
        home = deleted.home
        is_home_gone = (
            home is not None
            and home.kind == ResourceKind.CLUSTER
            and (_key_of(home) not in self._after or self._is_replaced(home))
        )
        return ChangeKind.UNMANAGED if is_retained and not is_home_gone else ChangeKind.DELETED

    def _effects_of(self, key: _ResourceKey) -> Mapping[str, tuple[FieldEffect, ...]]:
        """Return what changes of a resource that both programs have, by role."""
        if key not in self._effects:
            before, after = self._before[key], self._after[key]
            replaced = [each for each in after.references() if _key_of(each) != key and self._is_replaced(each)]
            is_same = before.is_made_like(after) and not replaced
            effects = {} if is_same else dict(self._compare_parts(before, after, replaced))
            home = after.home
            if home is not None and (self._is_replaced(home) or (before.home and before.home.value != home.value)):
                effects[after.role] = (*effects.get(after.role, ()), _replaced_with(home))
            self._effects[key] = effects
        return self._effects[key]

    def _compare_parts(
        self, before: FleetResource, after: FleetResource, replaced: Collection[Reference]
    ) -> Iterator[tuple[str, tuple[FieldEffect, ...]]]:
        """Yield role and effects of each part that changes, those first on which other parts depend."""
        old, new = before.registrations(), after.registrations()
        replaced_roles: set[str] = set()
        for role, registration in new.items():
            inputs, references = after.inputs(registration)
            if role not in old:
                yield role, (_part(role, registration, inputs, ChangeKind.CREATED),)
                continue
            rules = input_rules(registration.type)
            replacing = {
                path: each
                for path, each in references.items()
                if (each in replaced or (_key_of(each) == (after.kind, after.key) and each.role in replaced_roles))
                and (
                    is_within(path, registration.replace_on_changes)
                    or effect_of_input(rules, FieldChange(path, None, each)) == UpdateEffect.REPLACE
                )
            }
            sides = (old[role], before.inputs(old[role])[0]), (registration, inputs)
            effects = (*compare_registrations(*sides, tuple(replacing)), *map(_replaced_with, replacing.values()))
            if any(effect.does == UpdateEffect.REPLACE for effect in effects):
                replaced_roles.add(role)
            yield role, effects
        for role, registration in old.items():
            if role not in new:
                yield role, (_part(role, registration, before.inputs(registration)[0], ChangeKind.DELETED),)

    def _is_replaced(self, reference: Reference) -> bool:
        key = _key_of(reference)
        if key not in self._before or key not in self._after:
            return False
        effects = self._effects_of(key).get(reference.role, ())
        return any(effect.does == UpdateEffect.REPLACE for effect in effects)


def _key_of(reference: Reference) -> _ResourceKey:
    return ResourceKind(reference.kind), reference.key


def _part(role: str, registration: Registration, inputs: Mapping[str, Any], what: ChangeKind) -> FieldEffect:
    """Return one of several resources of a component that comes or goes: a granted role, or a part by its name."""
    granted = str(inputs.get("role", ""))
    path = "role" if granted and granted.removeprefix("roles/") in role else role
    value = granted or inputs.get("name") or inputs.get("accountId")
    sides = (None, value) if what == ChangeKind.CREATED else (value, None)
    return FieldEffect(path, registration.type, *sides, UpdateEffect.UPDATE)


def _replaced_with(reference: Reference) -> FieldEffect:
    title = resource_title(ResourceKind(reference.kind), reference.key)
    return FieldEffect(title, "", None, None, UpdateEffect.REPLACE)


def _unique(effects: Iterable[FieldEffect]) -> tuple[FieldEffect, ...]:
    """Return the effects without those that other parts of the resource have too, such as a common name."""
    unique: dict[tuple[str, str, str], FieldEffect] = {}
    for effect in effects:
        identity = effect.path, repr(effect.before), repr(effect.after)
        known = unique.setdefault(identity, effect)
        if effect.does.severity > known.does.severity:
            unique[identity] = replace(known, does=effect.does)
    return tuple(unique.values())


_SETTINGS_OF_ALERTS = ("notificationChannels", "userLabels")
"""Inputs that all alerts of a cluster have in common."""


def _with_common_settings_of_alerts(changes: Iterable[ResourceChange]) -> Iterator[ResourceChange]:
    """Yield the changes, with those of settings that all alerts have in common as one of the alert configuration."""
    told: set[str] = set()
    for change in changes:
        common = tuple(field for field in change.fields if is_within(field.input, _SETTINGS_OF_ALERTS))
        if change.kind != ResourceKind.ALERT or not common:
            yield change
            continue
        kind = ResourceKind.ALERT_CONFIGURATION
        key = change.key.rpartition(IN_WORKER)
        own = tuple(field for field in change.fields if field not in common)
        if (configuration := f"{key[0]}{key[1]}{kind}") not in told:
            told.add(configuration)
            yield ResourceChange(kind, configuration, None, ChangeKind.UPDATED, common)
        if own:
            yield replace(change, fields=own)
