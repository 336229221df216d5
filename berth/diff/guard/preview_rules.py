"""What the guard has to know of a stack: which resources of a preview are protected, and how many there are."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial

from msgspec import Struct

from berth.diff.guard.accounts import accounts_lost_in_preview
from berth.diff.guard.allowances import GuardedAction
from berth.diff.guard.changes import GuardedChange
from berth.diff.guard.classify import lost_resource, plan_of_worker
from berth.diff.guard.preview_file import PreviewStep
from berth.diff.guard.updates import guarded_updates, updated_resources
from berth.plan.allowances import AllowancesPlan
from berth.plan.fleet import FleetPlan


class PreviewRules(Struct, frozen=True):
    """The rules for a stack whose program registers `least_resources` or more; by default nothing is protected.

    `lost_resource` returns the loss of the resource of a step, without what allows it. `other_losses` yields those that
    are not a step of a protected resource, in all steps of a stack that is protected or is not. `allowances_of` are
    those of the stack (None), or of one of its workers.
    """

    least_resources: int
    lost_resource: Callable[[PreviewStep, GuardedAction], GuardedChange | None] = lambda step, action: None
    other_losses: Callable[[Sequence[PreviewStep], bool], Iterable[GuardedChange]] = lambda steps, was_protected: ()
    allowances_of: Callable[[str | None], AllowancesPlan] = lambda worker: AllowancesPlan()


def fleet_rules(plan: FleetPlan) -> PreviewRules:
    """Return the rules for a fleet; its program registers the stack itself, node pools, teams, queues, priorities."""
    node_pools = sum(len(pool.node_pools) for pool in plan.own_pools)
    return PreviewRules(
        1 + node_pools + len(plan.teams) + 2 * len(plan.cluster_queues) + len(plan.priorities),
        partial(lost_resource, plan=plan),
        partial(_other_losses, plan),
        lambda worker: plan_of_worker(plan, worker).allowances if worker else plan.allowances,
    )


def _other_losses(plan: FleetPlan, steps: Sequence[PreviewStep], was_protected: bool) -> Iterator[GuardedChange]:
    of_workers = {worker.name: worker.plan.allowances for worker in plan.workers}
    yield from guarded_updates(was_protected, plan.allowances, updated_resources(steps), of_workers)
    yield from accounts_lost_in_preview(steps, plan)
