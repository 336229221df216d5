"""Ceilings of queues whose flavors take different forms of jobs: with a topology request, and without."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from berth.document import Lines
from berth.plan.fleet import FleetPlan
from berth.planner.queueing.quota_tree import QuotaTree


class FormCeiling(Struct, frozen=True):
    """The most that jobs of one form can use in a queue: flavor → accelerators.

    `form` is topology or plain, `phrase` the same for people.
    """

    queue: str
    form: str
    phrase: str
    ceiling: dict[str, int]


def form_ceilings(plan: FleetPlan) -> Iterator[FormCeiling]:
    """Yield the ceilings of each form of jobs, for each queue in which they differ."""
    if not plan.topologies:
        return
    from berth.placement.forms import JobForm, is_split, kueue_flavors, queue_forms

    flavors, matched = {flavor.name: flavor for flavor in plan.flavors}, kueue_flavors(plan.flavors, plan.topologies)
    tree = QuotaTree.from_plan(plan)
    for queue in plan.cluster_queues:
        forms = queue_forms(queue, flavors, matched)
        if not is_split(forms):
            continue
        nodes = tree.queue_nodes(queue.name)
        for form in JobForm:
            names = [name for name, accepted in forms.items() if form in accepted and name in nodes]
            ceiling = {name: min(nodes[name].ceiling, flavors[name].capacity.max) for name in names}
            yield FormCeiling(queue.name, form.name.lower(), form.value, ceiling)


def form_lines(plan: FleetPlan) -> Lines:
    """Return the ceilings by form of job as a list; empty if no queue has two."""
    nouns = {flavor.name: flavor.noun for flavor in plan.flavors}
    lines = [
        f"{each.queue}: jobs {each.phrase} use at most "
        + ", ".join(f"{amount} {nouns[name]} of {name}" for name, amount in each.ceiling.items())
        for each in form_ceilings(plan)
    ]
    return Lines("Ceilings by form of job", lines)
