"""Guarantees that a change takes away from a queue that stays, in a diff and in a preview.

A guarantee that moves to another queue is the day's work: it is named and never blocked. One that goes to nobody while
its queue stays is as lost as with the queue.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any, Final

from berth.diff.guard.allowances import GuardedAction
from berth.diff.guard.changes import GuardedChange
from berth.diff.guard.preview_steps import PreviewStep
from berth.plan.fleet import AllowancesPlan
from berth.plan.teams import QueueingPlan
from berth.planner.queueing.quota_tree import accelerator_quotas
from berth.resource import ResourceKind

Guarantees = Mapping[str, Mapping[str, int]]
"""Queue → flavor → guaranteed accelerators."""
_NOT_COUNTED: Final = ("cpu", "memory", "pods", "ephemeral-storage")


def vanished_guarantees(before: Guarantees, after: Guarantees) -> Iterator[tuple[str, Mapping[str, int]]]:
    """Yield each queue that stays and keeps no guarantee, with what it had, unless other queues get all of it."""
    flavors = {flavor for quotas in (*before.values(), *after.values()) for flavor in quotas}
    gained = {
        flavor: sum(
            max(0, quotas.get(flavor, 0) - before.get(queue, {}).get(flavor, 0)) for queue, quotas in after.items()
        )
        for flavor in flavors
    }
    for queue in sorted(before.keys() & after.keys()):
        had = {flavor: amount for flavor, amount in before[queue].items() if amount}
        if had and not any(after[queue].values()) and any(gained[flavor] < amount for flavor, amount in had.items()):
            yield queue, had


def lost_guarantee(queue: str, had: Mapping[str, int], allowances: AllowancesPlan) -> GuardedChange:
    """Return the guarded change of a queue that keeps no guarantee; `allowChange` of the new stack file allows it."""
    key = f"clusterQueues.{queue}"
    told = tuple(f"{flavor} {amount} → 0" for flavor, amount in sorted(had.items()))
    allowed = allowances.change.get(key)
    return GuardedChange(ResourceKind.QUEUE, queue, key, GuardedAction.SHRINK, parts=told, allowed=allowed)


def guarantees_lost(old: QueueingPlan, new: QueueingPlan, allowances: AllowancesPlan) -> Iterator[GuardedChange]:
    """Yield the queues that stay without any guarantee between two plans, except those that are or were drained."""
    before, after = (_planned(plan) for plan in (old, new))
    drained = {each.name for plan in (old, new) for each in plan.cluster_queues if each.stop_policy == "HoldAndDrain"}
    for queue, had in vanished_guarantees(before, after):
        if queue not in drained:
            yield lost_guarantee(queue, had, allowances)


def _planned(plan: QueueingPlan) -> Guarantees:
    resources = {flavor.name: flavor.resource for flavor in plan.flavors}
    return {
        queue.name: {flavor: quota.nominal for flavor, quota in accelerator_quotas(queue, resources)}
        for queue in plan.cluster_queues
    }


def guarantees_in_preview(
    steps: Iterable[PreviewStep], resources: Mapping[str, str]
) -> tuple[dict[str, dict[str, int]], dict[str, dict[str, int]], set[str]]:
    """Return the guarantees before and after a preview of the queues that change in it, and the drained ones.

    Names of a worker's queues are those in the program, `<worker>/<queue>`; `resources` maps flavor to resource.
    """
    before: dict[str, dict[str, int]] = {}
    after: dict[str, dict[str, int]] = {}
    drained: set[str] = set()
    for step in steps:
        if not step.type.endswith(":ClusterQueue"):
            continue
        name = step.name.removesuffix("-cluster-queue")
        old, new = step.inputs
        if old:
            before.setdefault(name, {}).update(_nominal(old, resources))
        if new and step.op != "delete":
            after.setdefault(name, {}).update(_nominal(new, resources))
        if "HoldAndDrain" in (old.get("spec", {}).get("stopPolicy"), new.get("spec", {}).get("stopPolicy")):
            drained.add(name)
    return before, after, drained


def _nominal(inputs: Mapping[str, Any], resources: Mapping[str, str]) -> dict[str, int]:
    """Return the accelerators that a ClusterQueue guarantees, by flavor."""
    found: dict[str, int] = {}
    spec: Mapping[str, Any] = inputs.get("spec") or {}
    groups: Iterable[Mapping[str, Any]] = spec.get("resourceGroups") or ()
    for group in groups:
        flavors: Iterable[Mapping[str, Any]] = group.get("flavors") or ()
        for flavor in flavors:
            name = str(flavor.get("name"))
            quotas: Iterable[Mapping[str, Any]] = flavor.get("resources") or ()
            for quota in quotas:
                resource = str(quota.get("name"))
                if resource == resources.get(name) or (name not in resources and resource not in _NOT_COUNTED):
                    found[name] = found.get(name, 0) + quota_number(quota.get("nominalQuota"))
    return found


_DECIMAL: Final = {"m": 1, "": 1000, "k": 1000**2, "M": 1000**3, "G": 1000**4}


def quota_number(quantity: object) -> int:
    """Return a count of a quota; anything that is not the canonical form counts as one, so that it is not lost."""
    text = str(quantity or 0)
    digits = text.rstrip("mkMG")
    unit = text[len(digits) :]
    return int(digits) * _DECIMAL[unit] // 1000 if digits.isdecimal() and unit in _DECIMAL else 1


def guarantees_lost_in_preview(
    steps: Iterable[PreviewStep], resources: Mapping[str, str], allowances: AllowancesPlan, kept: Collection[str] = ()
) -> Iterator[GuardedChange]:
    """Yield the queues of a preview that stay without any guarantee; `kept` are drained by the new stack file, or have
    their guarantee at other times."""
    before, after, drained = guarantees_in_preview(steps, resources)
    for queue, had in vanished_guarantees(before, after):
        if queue not in drained and queue not in kept:
            yield lost_guarantee(queue, had, allowances)
