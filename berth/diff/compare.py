"""All changes between two plans of a fleet on Google Cloud."""

from __future__ import annotations

from msgspec.structs import replace

from berth.diff.calm.loud import loud_differences
from berth.diff.changes import Changes
from berth.diff.entitlements import compare_fleet_quotas
from berth.diff.guard.accounts import lost_node_accounts
from berth.diff.guard.changes import guarded_changes, idle_allowances
from berth.diff.guard.classify import guarded_updates, worker_allowances
from berth.diff.guard.guarantees import guarantees_lost
from berth.diff.lost_objects import lost_objects_of
from berth.diff.objects import compare_objects, render_clusters
from berth.diff.pools import compare_pools
from berth.diff.renames import find_renames, former_worker_names, with_new_names, with_worker_names
from berth.diff.resource_changes import compare_resources, replaced_clusters
from berth.diff.rights.compare import compare_rights
from berth.diff.rights.kept import with_kept_rights
from berth.diff.rights.rendered import rendered_rights
from berth.diff.workers import compare_workers
from berth.plan.fleet import FleetPlan
from berth.resource import ResourceKind
from berth.upgrade.findings import upgrade_of
from berth.upgrade.restarts import restarts_of


def compare_fleets(old: FleetPlan, new: FleetPlan) -> Changes:
    """Compare two plans of a fleet on Google Cloud, both without faults."""
    former_workers = former_worker_names(old, new)
    old = with_worker_names(old, former_workers)
    names = find_renames(old, new)
    old_renamed = with_new_names(old, names)
    changed = compare_resources(old_renamed, new)
    guarded = (
        *guarded_updates(old.allowances.protect, new.allowances, changed, worker_allowances(new)),
        *guarded_changes(old_renamed, new, changed),
        *lost_node_accounts(old_renamed, new, changed),
        *guarantees_lost(old_renamed, new, new.allowances),
    )
    clusters = render_clusters(old, new, replaced_clusters(changed))
    objects = compare_objects(old, new, clusters)
    allowances = {None: new.allowances, **worker_allowances(new)}
    guarded = (*guarded, *lost_objects_of(old, objects, allowances, guarded))
    rights = compare_rights(old_renamed, new)
    more = rendered_rights(old_renamed, new, clusters, rights, names.teams)
    changes = Changes(
        stack=new.stack,
        rights=with_kept_rights((*rights, *more), old_renamed, new, changed),
        entitlements=compare_fleet_quotas(old_renamed, new, names.teams),
        pools=compare_pools(old_renamed, new, changed, names.pools),
        things=tuple(change for change in changed if change.kind != ResourceKind.NODE_POOL),
        workers=tuple(compare_workers(old_renamed, new, former_workers)),
        objects=objects,
        losses=guarded,
        idle=tuple(idle_allowances(old_renamed, new, guarded)),
        upgrade=upgrade_of(old, new),
        restarts=restarts_of(old, new),
    )
    return replace(changes, loud=loud_differences(changes, old_renamed, new))
