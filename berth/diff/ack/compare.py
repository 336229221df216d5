"""All changes between two plans of a fleet on Alibaba Cloud."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from msgspec.structs import replace

from berth.alibaba.fleet import alibaba_resources
from berth.diff.ack.resources import (
    ack_guarded_changes,
    compare_ack_pools,
    compare_quota_trees,
)
from berth.diff.calm.loud import loud_differences
from berth.diff.changes import ChangeKind, Changes, FieldEffect, ResourceChange
from berth.diff.entitlements import QuotaChanges, compare_quotas
from berth.diff.guard.allowances import unused_allowances
from berth.diff.guard.classify import guarded_updates
from berth.diff.guard.guarantees import guarantees_lost
from berth.diff.lost_objects import lost_objects_of
from berth.diff.objects import Manifest, ObjectChange, ObjectKey, compare_manifests, keyed_manifests, moved_objects
from berth.diff.provider_inputs.effects import UpdateEffect
from berth.diff.resource_changes import compare_registered
from berth.diff.rights.compare import compare_team_rights
from berth.manifests.ack import ack_manifests
from berth.plan.ack import AckFleetPlan
from berth.planner.ack.reclaim import reclaim_rules
from berth.resource import ResourceKind


def compare_ack_fleets(old: AckFleetPlan, new: AckFleetPlan) -> Changes:
    """Compare two plans of a fleet on Alibaba Cloud, both without faults."""
    changed = (*compare_registered(alibaba_resources(old), alibaba_resources(new)), *_other_connection(old, new))
    allowances = old.allowances, new.allowances
    guarded = (
        *guarded_updates(old.allowances.protect, new.allowances, changed),
        *ack_guarded_changes(old, new, changed),
        *guarantees_lost(old, new, new.allowances),
    )
    objects = _compare_objects(old, new)
    guarded = (*guarded, *lost_objects_of(old, objects, {None: new.allowances}, guarded))
    changes = Changes(
        stack=new.stack,
        rights=compare_team_rights(old, new),
        entitlements=_compare_quotas(old, new),
        pools=compare_ack_pools(old, new, changed),
        things=tuple(change for change in changed if change.kind != ResourceKind.NODE_POOL),
        objects=objects,
        losses=guarded,
        idle=tuple(unused_allowances("", *allowances, {(loss.action, loss.key) for loss in guarded})),
    )
    return replace(changes, loud=loud_differences(changes, old, new))


def _other_connection(old: AckFleetPlan, new: AckFleetPlan) -> Iterator[ResourceChange]:
    """Yield another kubeconfig of an existing fleet, of which nothing is registered, and another existing member."""
    before, after = old.fleet, new.fleet
    if before.existing is not None and after.existing is not None:
        fields = tuple(
            FieldEffect(name, name, old_value, new_value, UpdateEffect.UPDATE)
            for name, old_value, new_value in (
                ("kubeconfig", before.kubeconfig, after.kubeconfig),
                ("existing", before.existing, after.existing),
            )
            if old_value != new_value
        )
        if fields:
            yield ResourceChange(ResourceKind.FLEET, ResourceKind.FLEET, None, ChangeKind.UPDATED, fields)
    known = {each.name: each.existing for each in old.members}
    for member in new.members:
        ids = known.get(member.name), member.existing
        if None not in ids and ids[0] != ids[1]:
            field = FieldEffect("existing", "existing", *ids, UpdateEffect.UPDATE)
            yield ResourceChange(ResourceKind.CLUSTER, member.name, None, ChangeKind.UPDATED, (field,))


def _compare_quotas(old: AckFleetPlan, new: AckFleetPlan) -> QuotaChanges:
    before, after = (() if plan.quotas is None else reclaim_rules(plan.quotas) for plan in (old, new))
    waits = tuple(any(policy.suspension for policy in plan.propagations) for plan in (old, new) if plan.propagations)
    return replace(
        compare_quotas(old, new, (before, after)),
        quota_tree=compare_quota_trees(old, new),
        queueing=waits if len(set(waits)) > 1 else (),
    )


def _compare_objects(old: AckFleetPlan, new: AckFleetPlan) -> tuple[ObjectChange, ...]:
    before, after = _objects(old), _objects(new)
    is_same_fleet = old.fleet.name == new.fleet.name
    return (
        compare_manifests(before, after) if is_same_fleet else tuple(moved_objects(before, after, ResourceKind.FLEET))
    )


def _objects(plan: AckFleetPlan) -> Mapping[ObjectKey, Manifest]:
    """Return the objects in the ACK One fleet, which are made once there is a kubeconfig to reach it."""
    return keyed_manifests(ack_manifests(plan), plan.teams) if plan.fleet.kubeconfig is not None else {}
