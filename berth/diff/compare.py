"""All changes between two plans of a stack, as plain data for `berth diff` and the report."""

from __future__ import annotations

from msgspec import Struct, field

from berth.alibaba.fleet import alibaba_resources
from berth.backends.table import StackPlan
from berth.diff.ack import ack_guarded_changes, compare_ack_pools, compare_quota_trees
from berth.diff.entitlements import QuotaChanges, compare_quotas
from berth.diff.guard.accounts import lost_node_accounts
from berth.diff.guard.allowances import IdleAllowance, unused_allowances
from berth.diff.guard.changes import GuardedChange, guarded_changes, idle_allowances
from berth.diff.guard.updates import guarded_updates
from berth.diff.kinds import ResourceChange
from berth.diff.objects import ObjectChange, compare_objects
from berth.diff.pools import PoolChange, compare_pools
from berth.diff.renames import find_renames, with_new_names
from berth.diff.resource_changes import compare_registered, compare_resources, replaced_clusters
from berth.diff.rights.compare import RightChange, compare_rights
from berth.diff.rights.kept import with_kept_rights
from berth.diff.team_stacks import FilesChange, WorkloadChange, compare_files, compare_team_objects, compare_workloads
from berth.diff.workers import WorkerChange, compare_workers
from berth.plan.ack import AckFleetPlan
from berth.plan.fleet import FleetPlan
from berth.plan.team_stack import TeamStackPlan
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


class IncomparablePlans(Exception):
    """The two stacks are of different kinds."""


def compare(old: StackPlan, new: StackPlan) -> Changes:
    """Compare two plans of a stack, both without faults.

    Raises IncomparablePlans if the plans are of different kinds: Google Cloud, Alibaba Cloud, a team's own stack.
    """
    if isinstance(old, FleetPlan) and isinstance(new, FleetPlan):
        return _compare_fleets(old, new)
    if isinstance(old, AckFleetPlan) and isinstance(new, AckFleetPlan):
        return _compare_ack_fleets(old, new)
    if isinstance(old, TeamStackPlan) and isinstance(new, TeamStackPlan):
        return Changes(
            stack=new.stack,
            workloads=tuple(compare_workloads(old, new)),
            files=tuple(compare_files(old, new)),
            objects=compare_team_objects(old, new),
        )
    raise IncomparablePlans(f"one is {_KIND_OF_PLAN[type(old)]}, the other {_KIND_OF_PLAN[type(new)]}")


_KIND_OF_PLAN = {
    FleetPlan: "a fleet on Google Cloud",
    AckFleetPlan: "a fleet on Alibaba Cloud",
    TeamStackPlan: "a team's own stack",
}


def _compare_fleets(old: FleetPlan, new: FleetPlan) -> Changes:
    names = find_renames(old, new)
    old_renamed = with_new_names(old, names)
    changed = compare_resources(old_renamed, new)
    guarded = (
        *guarded_updates(old.allowances.protect, new, changed),
        *guarded_changes(old_renamed, new, changed),
        *lost_node_accounts(old_renamed, new, changed),
    )
    return Changes(
        stack=new.stack,
        rights=with_kept_rights(compare_rights(old_renamed, new), old_renamed, new, changed),
        entitlements=compare_quotas(old_renamed, new, renamed=names.teams),
        pools=compare_pools(old_renamed, new, changed, names.pools),
        things=tuple(change for change in changed if change.kind != ResourceKind.NODE_POOL),
        workers=tuple(compare_workers(old_renamed, new)),
        objects=compare_objects(old, new, replaced_clusters(changed)),
        losses=guarded,
        idle=tuple(idle_allowances(old_renamed, new, guarded)),
    )


def _compare_ack_fleets(old: AckFleetPlan, new: AckFleetPlan) -> Changes:
    changed = compare_registered(alibaba_resources(old), alibaba_resources(new))
    guarded = (*guarded_updates(old.allowances.protect, new, changed), *ack_guarded_changes(old, new, changed))
    return Changes(
        stack=new.stack,
        rights=compare_rights(old, new),
        entitlements=compare_quotas(old, new, compare_quota_trees(old, new)),
        pools=compare_ack_pools(old, new, changed),
        things=tuple(change for change in changed if change.kind != ResourceKind.NODE_POOL),
        objects=compare_objects(old, new),
        losses=guarded,
        idle=tuple(
            unused_allowances("", old.allowances, new.allowances, {(loss.action, loss.key) for loss in guarded})
        ),
    )
