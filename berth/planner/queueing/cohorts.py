"""Plan cohorts: the tree above queues, with guarantees, borrowing and lending limits."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping

from msgspec.structs import replace

from berth.diagnostics import FieldPath, join_words
from berth.plan.kueue import ClusterQueuePlan, CohortPlan, ResourceGroupPlan
from berth.planner.context import PlanningContext
from berth.planner.machines.pools import PlannedPool
from berth.planner.queueing.flavors import FlavorGroup
from berth.planner.queueing.queues import queue_display_name
from berth.planner.queueing.quota_tree import accelerator_quotas
from berth.planner.queueing.quotas import (
    FlavorIndex,
    FlavorQuotaRequest,
    QuotaOwner,
    check_lending_limit,
    covered_resources,
    flavor_quotas,
    flavor_requests,
)

GuaranteesBelow = dict[str, dict[str, int]]
"""Flavor → queue or cohort → accelerators."""


def plan_cohorts(
    context: PlanningContext,
    queues: tuple[ClusterQueuePlan, ...],
    pools: Mapping[str, PlannedPool],
    flavors: Mapping[str, FlavorGroup],
) -> tuple[CohortPlan, ...]:
    """Return every cohort, by name. A cohort's own quota is its guarantee minus the guarantees of its members."""
    parents = _checked_parents(context)
    resources = {flavor.name: flavor.resource for flavor in flavors.values()}
    guarantees_below: dict[str, GuaranteesBelow] = {name: {} for name in parents}
    for queue in queues:
        if queue.cohort in guarantees_below:
            queue_name = queue_display_name(context.origins["cluster queue", queue.name], queue.name)
            for flavor, quota in accelerator_quotas(queue, resources):
                guarantees_below[queue.cohort].setdefault(flavor, {})[queue_name] = quota.nominal
    plans: dict[str, CohortPlan] = {}
    index = FlavorIndex(pools, flavors)
    has_all_members = not (
        context.lacks_entries("cohorts")
        or any(parents[name] != spec.parent for name, spec in context.spec.cohorts.items())
        or any(queue.cohort not in (None, *parents) for queue in queues)
    )
    for name in leaves_first(parents):
        plan, total = _cohort(context, name, parents[name], guarantees_below[name], index)
        # Queues of members that are missing are counted beside a quota that has theirs in it.
        plans[name] = plan if has_all_members else replace(plan, resource_groups=())
        if (parent := parents[name]) is not None:
            for flavor, amount in total.items():
                guarantees_below[parent].setdefault(flavor, {})[name] = amount
    return tuple(plans[name] for name in sorted(plans))


def _cohort(
    context: PlanningContext, name: str, parent: str | None, below: GuaranteesBelow, index: FlavorIndex
) -> tuple[CohortPlan, dict[str, int]]:
    """Return the plan of one cohort, and its total guarantee of each flavor, including its members."""
    spec = context.spec.cohorts[name]
    # A parent that is written and not known has a fault of its own: limits are not reported as well.
    owner = QuotaOwner(("cohorts", name), spec.flavors, spec.per_accelerator, spec.parent)
    requests = flavor_requests(context, owner, index)
    resources = covered_resources(requests)
    guaranteed = {flavor: sum(amounts.values()) for flavor, amounts in below.items()}
    own_limits = [
        replace(request.limits, nominal=_own_quota(context, request, below, guaranteed)) for request in requests
    ]
    entries = [
        flavor_quotas(context, owner, request, resources, limits)
        for request, limits in zip(requests, own_limits, strict=True)
    ]
    group = ResourceGroupPlan(covered_resources=resources, flavors=tuple(entries))
    plan = CohortPlan(
        name=name,
        parent=parent,
        fair_share_weight=spec.fair_share_weight,
        resource_groups=(group,) if entries else (),
    )
    context.origins["cohort", name] = owner.path
    return plan, guaranteed


def _own_quota(
    context: PlanningContext, request: FlavorQuotaRequest, below: GuaranteesBelow, total: dict[str, int]
) -> int:
    """Return the cohort's own quota, and add it to `total`."""
    flavor, guaranteed_below = request.flavor, total.get(request.flavor.name, 0)
    guaranteed = request.limits.nominal if "guaranteed" in request.spec.model_fields_set else guaranteed_below
    if guaranteed < guaranteed_below:
        parts = join_words([f"{who} {amount}" for who, amount in below[flavor.name].items() if amount])
        context.problems.fault(
            "overpromised-cohort",
            (*request.path, "guaranteed"),
            f"'{request.spec.guaranteed.written}' is less than the {guaranteed_below} {flavor.noun} that its members "
            f"are guaranteed ({parts}); write {guaranteed_below} or more, or guarantee them less",
        )
        guaranteed = guaranteed_below
    check_lending_limit(context, request, guaranteed)
    total[flavor.name] = guaranteed
    return guaranteed - guaranteed_below


# --- the tree ---------------------------------------------------------------------------------------------------------


def _checked_parents(context: PlanningContext) -> dict[str, str | None]:
    """Return cohort → parent; a parent that does not exist, or is part of a cycle, is a fault and becomes None."""
    known = context.spec.cohorts
    parents: dict[str, str | None] = {}
    for name, spec in sorted(known.items()):
        path: FieldPath = ("cohorts", name, "parent")
        exists = spec.parent is not None and context.resolve("cohorts", spec.parent, known, path) is not None
        context.incomplete |= spec.parent is not None and not exists
        parents[name] = spec.parent if exists else None
    for cycle in list(_cycles(parents)):
        first_cohort = min(cycle)
        start = cycle.index(first_cohort)
        cycle_text = " → ".join([*cycle[start:], *cycle[:start], first_cohort])
        message = f"'{parents[first_cohort]}' makes a cycle ({cycle_text}); remove one of these parents"
        context.problems.fault("cohort-circle", ("cohorts", first_cohort, "parent"), message)
        context.incomplete = True
        parents.update(dict.fromkeys(cycle))
    return parents


def _cycles(parents: Mapping[str, str | None]) -> Iterator[list[str]]:
    """Yield each cycle once, in the order child to parent."""
    seen: set[str] = set()
    for start in parents:
        visited: dict[str, None] = {}
        current: str | None = start
        while current is not None and current not in seen:
            seen.add(current)
            visited[current] = None
            current = parents[current]
        if current in visited:
            names = list(visited)
            yield names[names.index(current) :]


def leaves_first(parents: Mapping[str, str | None]) -> list[str]:
    """Return every cohort after its members."""
    waiting = Counter(parent for parent in parents.values() if parent is not None)
    ready = [name for name in parents if not waiting[name]]
    for name in ready:  # grows during the iteration
        parent = parents[name]
        if parent is not None:
            waiting[parent] -= 1
            if not waiting[parent]:
                ready.append(parent)
    return ready
