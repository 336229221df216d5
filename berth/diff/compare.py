"""All changes between two plans of a stack, as plain data for `berth diff` and the report; those of a fleet."""

from __future__ import annotations

from msgspec import Struct, field

from berth.diff.entitlements import QuotaChanges, compare_fleet_quotas
from berth.diff.guard.accounts import lost_node_accounts
from berth.diff.guard.allowances import IdleAllowance
from berth.diff.guard.changes import GuardedChange, guarded_changes, idle_allowances
from berth.diff.guard.guarantees import guarantees_lost
from berth.diff.guard.updates import guarded_updates, worker_allowances
from berth.diff.kinds import ResourceChange
from berth.diff.objects import ObjectChange, compare_objects
from berth.diff.pools import PoolChange, compare_pools
from berth.diff.renames import find_renames, with_new_names
from berth.diff.resource_changes import compare_resources, replaced_clusters
from berth.diff.rights.compare import RightChange, compare_rights
from berth.diff.rights.kept import with_kept_rights
from berth.diff.workers import WorkerChange, compare_workers
from berth.diff.workloads import FilesChange, WorkloadChange
from berth.plan.fleet import FleetPlan
from berth.resource import ResourceKind


class Changes(Struct, frozen=True):
    """The changes between two plans of one stack, in order of importance; empty for equal plans.

    `rights` are permissions and isolation. `pools` are accelerator pools as the stack file names them, `things` all
    other cloud resources and controllers. `workers` are those of a manager. `losses` are guarded changes: lost
    machines, clusters, reservations, guarantees and protection; `idle` are unused allowances. `workloads` and `files`
    belong to a team's own stack. `warnings` are those that only the new stack file has.
    """

    stack: str
    rights: tuple[RightChange, ...] = ()
    entitlements: QuotaChanges = field(default_factory=QuotaChanges)
    pools: tuple[PoolChange, ...] = ()
    things: tuple[ResourceChange, ...] = ()
    workers: tuple[WorkerChange, ...] = ()
    workloads: tuple[WorkloadChange, ...] = ()
    files: tuple[FilesChange, ...] = ()
    objects: tuple[ObjectChange, ...] = ()
    losses: tuple[GuardedChange, ...] = ()
    idle: tuple[IdleAllowance, ...] = ()
    warnings: tuple[str, ...] = ()

    @property
    def blocked(self) -> tuple[GuardedChange, ...]:
        """The losses that the stack file does not allow."""
        return tuple(loss for loss in self.losses if loss.allowed is None)

    @property
    def is_empty(self) -> bool:
        """Whether nothing changes."""
        rest = (self.rights, self.pools, self.things, self.workers, self.workloads, self.files, self.objects)
        return self.entitlements == QuotaChanges() and not any(rest)


def compare_fleets(old: FleetPlan, new: FleetPlan) -> Changes:
    """Compare two plans of a fleet on Google Cloud, both without faults."""
    names = find_renames(old, new)
    old_renamed = with_new_names(old, names)
    changed = compare_resources(old_renamed, new)
    guarded = (
        *guarded_updates(old.allowances.protect, new.allowances, changed, worker_allowances(new)),
        *guarded_changes(old_renamed, new, changed),
        *lost_node_accounts(old_renamed, new, changed),
        *guarantees_lost(old_renamed, new, new.allowances),
    )
    return Changes(
        stack=new.stack,
        rights=with_kept_rights(compare_rights(old_renamed, new), old_renamed, new, changed),
        entitlements=compare_fleet_quotas(old_renamed, new, names.teams),
        pools=compare_pools(old_renamed, new, changed, names.pools),
        things=tuple(change for change in changed if change.kind != ResourceKind.NODE_POOL),
        workers=tuple(compare_workers(old_renamed, new)),
        objects=compare_objects(old, new, replaced_clusters(changed)),
        losses=guarded,
        idle=tuple(idle_allowances(old_renamed, new, guarded)),
    )
