"""All that a change of a stack file means, as plain data: what the command prints and what a report draws."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct, field
from msgspec.structs import replace

from berth.diff.ack import ack_losses, compare_ack_pools, compare_ack_things, compare_quota_trees
from berth.diff.entitlements import Entitlements, TeamChange, compare_entitlements
from berth.diff.guard.changes import IdleAllowance, Loss, idle, losses, unused
from berth.diff.objects import ObjectChange, compare_objects
from berth.diff.pools import RENAMED, PoolChange, compare_pools
from berth.diff.renames import called, renames
from berth.diff.resources import NODE_POOL, ThingChange, compare_things
from berth.diff.team_stacks import FilesChange, WorkloadChange, compare_deployed, compare_files, compare_workloads
from berth.diff.workers import WorkerChange, compare_workers
from berth.plan.ack import AckFleetPlan
from berth.plan.fleet import FleetPlan
from berth.plan.team_stack import TeamStackPlan

Plan = FleetPlan | AckFleetPlan | TeamStackPlan


class Changes(Struct, frozen=True):
    """What changes between two plans of one stack, in order of importance; equal plans have none.

    `things` is everything in the cloud but the accelerator pools, which `pools` has as their owner wrote them, and
    the controllers. `workers` are those of a manager. `losses` are those of machines, clusters, reservations and
    guarantees; `idle` are allowances without a use. `workloads` and `files` are those of a team's own stack, which has
    nothing else but objects.
    """

    stack: str
    entitlements: Entitlements = field(default_factory=Entitlements)
    pools: tuple[PoolChange, ...] = ()
    things: tuple[ThingChange, ...] = ()
    workers: tuple[WorkerChange, ...] = ()
    workloads: tuple[WorkloadChange, ...] = ()
    files: tuple[FilesChange, ...] = ()
    objects: tuple[ObjectChange, ...] = ()
    losses: tuple[Loss, ...] = ()
    idle: tuple[IdleAllowance, ...] = ()

    @property
    def guarded(self) -> tuple[Loss, ...]:
        """What would be lost and may not be."""
        return tuple(loss for loss in self.losses if loss.allowed is None)

    @property
    def empty(self) -> bool:
        """Whether nothing changes at all."""
        rest = (self.pools, self.things, self.workers, self.workloads, self.files, self.objects)
        return self.entitlements == Entitlements() and not any(rest)


class Incomparable(Exception):
    """Two stacks of different kinds."""


def compare(old: Plan, new: Plan) -> Changes:
    """What changes from one plan of a stack to another; neither has a fault.

    Raises Incomparable where one is a fleet on Google Cloud and the other on Alibaba Cloud, or a team's own stack.
    """
    if isinstance(old, FleetPlan) and isinstance(new, FleetPlan):
        return _on_kueue(old, new)
    if isinstance(old, AckFleetPlan) and isinstance(new, AckFleetPlan):
        return _on_ack(old, new)
    if isinstance(old, TeamStackPlan) and isinstance(new, TeamStackPlan):
        return Changes(
            stack=new.stack,
            workloads=tuple(compare_workloads(old, new)),
            files=tuple(compare_files(old, new)),
            objects=compare_deployed(old, new),
        )
    raise Incomparable(f"one is {_kind(old)}, the other {_kind(new)}: nothing of the one becomes the other")


def _kind(plan: Plan) -> str:
    match plan:
        case FleetPlan():
            return "a fleet on Google Cloud"
        case AckFleetPlan():
            return "a fleet on Alibaba Cloud"
        case TeamStackPlan():
            return "a team's own stack"


def _on_kueue(old: FleetPlan, new: FleetPlan) -> Changes:
    names = renames(old, new)
    was = called(old, names)
    changed = compare_things(was, new)
    lost = losses(was, new, changed)
    return Changes(
        stack=new.stack,
        entitlements=_entitlements(was, new, names.teams),
        pools=compare_pools(was, new, changed, names.pools),
        things=tuple(change for change in changed if change.kind != NODE_POOL),
        workers=compare_workers(was, new),
        objects=compare_objects(old, new),
        losses=lost,
        idle=idle(was, new, lost),
    )


def _entitlements(was: FleetPlan, new: FleetPlan, renamed: Mapping[str, str]) -> Entitlements:
    """What changes for whom, teams that are only called otherwise (old name → new) among them."""
    found = compare_entitlements(was, new)
    now = {team.name for team in new.teams}
    others = [TeamChange(name, RENAMED, before) for before, name in renamed.items() if name in now]
    return replace(found, teams=tuple(sorted((*found.teams, *others), key=lambda change: change.team)))


def _on_ack(old: AckFleetPlan, new: AckFleetPlan) -> Changes:
    changed = compare_ack_things(old, new)
    lost = ack_losses(old, new, changed)
    return Changes(
        stack=new.stack,
        entitlements=compare_entitlements(old, new, compare_quota_trees(old, new)),
        pools=compare_ack_pools(old, new, changed),
        things=tuple(change for change in changed if change.kind != NODE_POOL),
        objects=compare_objects(old, new),
        losses=lost,
        idle=tuple(unused("", old.allowances, new.allowances, {(loss.action, loss.key) for loss in lost})),
    )
