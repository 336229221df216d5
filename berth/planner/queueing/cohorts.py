"""Cohorts: the tree that queues hang on, and what each part of it is guaranteed, may borrow and lends."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping

from berth.diagnostics import Path, in_words
from berth.plan.kueue import ClusterQueuePlan, CohortPlan, ResourceGroupPlan
from berth.planner.context import Draft
from berth.planner.machines.pools import Pool
from berth.planner.queueing.flavors import Flavor
from berth.planner.queueing.queues import called
from berth.planner.queueing.quota_tree import accelerator_quotas
from berth.planner.queueing.quotas import Choice, Holder, Offer, chosen, flavor_quotas, lends_what_it_has, resources_of

Shares = dict[str, dict[str, int]]
"""Flavor → queue or cohort → accelerators."""


def cohorts(
    draft: Draft, queues: tuple[ClusterQueuePlan, ...], pools: Mapping[str, Pool], flavors: Mapping[str, Flavor]
) -> tuple[CohortPlan, ...]:
    """Every cohort, by name. One's own quota is what it is guaranteed beyond what those below it are."""
    parents = _parents(draft)
    resources = {flavor.name: flavor.resource for flavor in flavors.values()}
    below: dict[str, Shares] = {name: {} for name in parents}
    for queue in queues:
        if queue.cohort in below:
            who = called(draft.origins["cluster queue", queue.name], queue.name)
            for flavor, quota in accelerator_quotas(queue, resources):
                below[queue.cohort].setdefault(flavor, {})[who] = quota.nominal
    found: dict[str, CohortPlan] = {}
    offer = Offer(pools, flavors)
    for name in leaves_first(parents):
        found[name], total = _cohort(draft, name, parents[name], below[name], offer)
        if (parent := parents[name]) is not None:
            for flavor, amount in total.items():
                below[parent].setdefault(flavor, {})[name] = amount
    return tuple(found[name] for name in sorted(found))


def _cohort(
    draft: Draft, name: str, parent: str | None, below: Shares, offer: Offer
) -> tuple[CohortPlan, dict[str, int]]:
    """The plan of one, and what it is guaranteed of each flavor, those below it included."""
    spec = draft.spec.cohorts[name]
    holder = Holder(("cohorts", name), spec.flavors, spec.per_accelerator, parent)
    choices = chosen(draft, holder, offer)
    resources = resources_of(choices)
    total = {flavor: sum(shares.values()) for flavor, shares in below.items()}
    entries = [
        flavor_quotas(draft, holder, choice, resources, (_own(draft, choice, below, total), *choice.limits[1:]))
        for choice in choices
    ]
    group = ResourceGroupPlan(covered_resources=resources, flavors=tuple(entries))
    plan = CohortPlan(
        name=name,
        parent=parent,
        fair_share_weight=spec.fair_share_weight,
        resource_groups=(group,) if entries else (),
    )
    draft.origins["cohort", name] = holder.path
    return plan, total


def _own(draft: Draft, choice: Choice, below: Shares, total: dict[str, int]) -> int:
    """The quota that is the cohort's own; `total` is raised by it."""
    flavor, sum_below = choice.flavor, total.get(choice.flavor.name, 0)
    guaranteed = choice.limits[0] if "guaranteed" in choice.spec.model_fields_set else sum_below
    if guaranteed < sum_below:
        parts = in_words([f"{who} {amount}" for who, amount in below[flavor.name].items() if amount])
        message = (
            f"'{choice.spec.guaranteed.written}' is less than the {sum_below} {flavor.noun} that those below are "
            f"guaranteed ({parts}); write {sum_below} or more, or guarantee them less"
        )
        draft.problems.fault("overpromised-cohort", (*choice.path, "guaranteed"), message)
        guaranteed = sum_below
    lends_what_it_has(draft, choice, guaranteed)
    total[flavor.name] = guaranteed
    return guaranteed - sum_below


# --- the tree ---------------------------------------------------------------------------------------------------------


def _parents(draft: Draft) -> dict[str, str | None]:
    """Cohort → parent. One that does not exist, or leads round in a circle, is a fault and counts as none."""
    known = draft.spec.cohorts
    parents: dict[str, str | None] = {}
    for name, spec in sorted(known.items()):
        path: Path = ("cohorts", name, "parent")
        exists = spec.parent is not None and draft.find("cohorts", spec.parent, known, path) is not None
        draft.incomplete |= spec.parent is not None and not exists
        parents[name] = spec.parent if exists else None
    for circle in list(_circles(parents)):
        first = min(circle)
        at = circle.index(first)
        way = " → ".join([*circle[at:], *circle[:at], first])
        message = f"'{parents[first]}' leads back here ({way}); a tree has a root: leave out one of these parents"
        draft.problems.fault("cohort-circle", ("cohorts", first, "parent"), message)
        draft.incomplete = True
        parents.update(dict.fromkeys(circle))
    return parents


def _circles(parents: Mapping[str, str | None]) -> Iterator[list[str]]:
    """Each circle once, in the order child to parent."""
    seen: set[str] = set()
    for start in parents:
        way: dict[str, None] = {}
        step: str | None = start
        while step is not None and step not in seen:
            seen.add(step)
            way[step] = None
            step = parents[step]
        if step in way:
            names = list(way)
            yield names[names.index(step) :]


def leaves_first(parents: Mapping[str, str | None]) -> list[str]:
    """Every cohort after all those below it."""
    waiting = Counter(parent for parent in parents.values() if parent is not None)
    ready = [name for name in parents if not waiting[name]]
    for name in ready:  # grows while it is walked
        parent = parents[name]
        if parent is not None:
            waiting[parent] -= 1
            if not waiting[parent]:
                ready.append(parent)
    return ready
