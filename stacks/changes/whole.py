"""All that a change of a stack file means, as plain data: what the command prints and what a report draws."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from components.plan.fleet import FleetPlan
from stacks.changes.entitlements import Entitlements, TeamChange, compare_entitlements
from stacks.changes.guard import IdleAllowance, Loss, idle, losses
from stacks.changes.objects import ObjectChange, compare_objects
from stacks.changes.pools import RENAMED, PoolChange, compare_pools
from stacks.changes.renames import called, renames
from stacks.changes.things import NODE_POOL, ThingChange, compare_things
from stacks.changes.workers import WorkerChange, compare_workers


@dataclass(frozen=True, slots=True)
class Changes:
    """What changes between two plans of one fleet, in order of importance; equal plans have none.

    `things` is everything in Google Cloud but the accelerator pools, which `pools` has as their owner wrote them, and
    the controllers. `workers` are those of a manager. `losses` are those of machines, clusters, reservations and
    guarantees; `idle` are allowances without a use.
    """

    stack: str
    entitlements: Entitlements
    pools: tuple[PoolChange, ...]
    things: tuple[ThingChange, ...]
    workers: tuple[WorkerChange, ...]
    objects: tuple[ObjectChange, ...]
    losses: tuple[Loss, ...]
    idle: tuple[IdleAllowance, ...]

    @property
    def guarded(self) -> tuple[Loss, ...]:
        """What would be lost and may not be."""
        return tuple(loss for loss in self.losses if loss.allowed is None)

    @property
    def empty(self) -> bool:
        """Whether nothing changes at all."""
        changes = self.entitlements
        some = (changes.teams, changes.entitlements, changes.cohorts, changes.flavors)
        relations = (changes.new_relations, changes.lifted_relations)
        return not any((*some, *relations, self.pools, self.things, self.workers, self.objects))


def compare(old: FleetPlan, new: FleetPlan) -> Changes:
    """What changes from one plan of a fleet to another. Both must be of fleets without a fault."""
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
