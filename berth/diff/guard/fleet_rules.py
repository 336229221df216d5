"""What the guard has to know of a fleet on Google Cloud."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial

from berth.diff.guard.accounts import accounts_lost_in_preview
from berth.diff.guard.capacity import lost_capacity
from berth.diff.guard.changes import GuardedChange
from berth.diff.guard.classify import lost_resource, plan_of_worker
from berth.diff.guard.guarantees import guarantees_lost_in_preview
from berth.diff.guard.preview_rules import PreviewRules
from berth.diff.guard.preview_steps import PreviewStep
from berth.diff.guard.updates import guarded_updates, updated_resources, worker_allowances
from berth.diff.renames import BEFORE
from berth.google.fleet import google_resources
from berth.manifests.fleet import all_manifests
from berth.plan.fleet import FleetPlan
from berth.resource import IN_WORKER


def fleet_rules(plan: FleetPlan) -> PreviewRules:
    """Return the rules for a fleet; its program registers the stack itself, cloud resources, objects and components."""
    names = {
        key: name
        for worker in plan.workers
        if worker.formerly
        for key, name in ((worker.key, worker.name), (worker.name, f"{worker.name}{BEFORE}"))
    }
    registrations = {
        (each.type, f"{_with_todays_worker(resource.name, names)}-{role}"): each
        for resource in google_resources(plan)
        for role, each in resource.registrations().items()
    }
    return PreviewRules(
        1 + len(registrations) + sum(1 for _ in all_manifests(plan)),
        partial(lost_resource, plan=plan),
        partial(_losses, plan),
        lambda worker: (plan if worker is None else plan_of_worker(plan, worker)).allowances,
        frozenset(worker.name for worker in plan.workers),
        names,
        partial(all_manifests, plan),
        lambda: registrations,
        guards_objects=True,
    )


def _with_todays_worker(name: str, names: Mapping[str, str]) -> str:
    first, slash, rest = name.partition(IN_WORKER)
    return f"{names.get(first, first)}{slash}{rest}" if slash else name


def _losses(plan: FleetPlan, steps: Sequence[PreviewStep]) -> Iterator[GuardedChange]:
    yield from guarded_updates(False, plan.allowances, updated_resources(steps), worker_allowances(plan))
    yield from accounts_lost_in_preview(steps, plan)
    yield from lost_capacity(steps, plan)
    resources = {flavor.name: flavor.resource for flavor in plan.flavors}
    drained = {queue.name for queue in plan.cluster_queues if queue.stop_policy == "HoldAndDrain"}
    yield from guarantees_lost_in_preview(steps, resources, plan.allowances, drained)
