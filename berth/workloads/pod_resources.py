"""How much cpu and memory a pod asks for beside its accelerators, where nobody says it."""

from __future__ import annotations

from berth.plan.kueue import FlavorQuotasPlan
from berth.workloads.options import Asked
from berth.workloads.target import Ground


def room_of_a_pod(ground: Ground, asked: Asked, accelerators: int) -> dict[str, int]:
    """The cpu (milli) and memory (bytes) of a pod with so many accelerators.

    What its queue counts for each accelerator, where a node's worth of that fits on a node. A queue that counts the
    whole machine does not fit: GKE keeps a part of every node. Then only what is asked for is written.
    """
    said = {"cpu": asked.cpu, "memory": asked.memory}
    found = {resource: amount for resource, amount in said.items() if amount is not None}
    for resource in said.keys() - found.keys():
        amount = _share(ground, resource, accelerators)
        if amount:
            found[resource] = amount
    return {resource: found[resource] for resource in said if resource in found}


def _share(ground: Ground, resource: str, accelerators: int) -> int:
    """What goes with the accelerators under the tightest of the queue's quotas; 0 where that is no use."""
    shape = ground.shape
    amounts = [_with(entry, resource, shape.flavor.resource, accelerators) for entry in ground.entries()]
    if not amounts or shape.room is None:
        return 0
    node = {"cpu": shape.room.cpu, "memory": shape.room.memory}[resource]
    amount = min(amounts)
    return amount if amount * shape.per_node <= node * accelerators else 0


def _with(entry: FlavorQuotasPlan, resource: str, accelerator: str, number: int) -> int:
    """What an entry's quota of a resource comes to for so many accelerators."""
    quotas = {quota.resource: quota.nominal + (quota.borrowing_limit or 0) for quota in entry.quotas}
    total = quotas.get(accelerator, 0)
    return quotas.get(resource, 0) * number // total if total else 0
