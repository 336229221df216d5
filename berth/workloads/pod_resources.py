"""The default cpu and memory requests of a pod."""

from __future__ import annotations

from berth.plan.kueue import FlavorQuotasPlan
from berth.workloads.bucket_mounts import sidecar_of
from berth.workloads.options import WorkloadOptions
from berth.workloads.target import WorkloadTarget


def pod_cpu_and_memory(target: WorkloadTarget, options: WorkloadOptions, accelerators: int) -> dict[str, int]:
    """Compute the cpu (milli) and memory (bytes) of a pod with a number of accelerators.

    The default is the queue's quota for each accelerator, if that fits on a node. It does not fit if the quota covers
    whole machines, because GKE reserves part of every node; then only the options are written.
    """
    requested = {"cpu": options.cpu, "memory": options.memory}
    amounts = {resource: amount for resource, amount in requested.items() if amount is not None}
    sidecar = sidecar_of(target.team, options.template)
    for resource in requested.keys() - amounts.keys():
        amount = _quota_share(target, resource, accelerators, sidecar.get(resource, 0))
        if amount:
            amounts[resource] = amount
    return {resource: amounts[resource] for resource in requested if resource in amounts}


def cores_memory(target: WorkloadTarget, options: WorkloadOptions, milli: int) -> dict[str, int]:
    """Return the memory (bytes) of a pod with this much cpu: the option, or the queue's quota for its cores.

    It is at most the cores' share of what is certain of the smallest node: the quota does not count the kernel's part.
    """
    if options.memory is not None:
        return {"memory": options.memory}
    amounts = [_quota_for(entry, "memory", "cpu", milli) for entry in target.flavor_quotas()]
    known = [amount for amount in amounts if amount]
    sidecar = sidecar_of(target.team, options.template).get("memory", 0)
    for shape in target.shapes if known else ():
        if shape.allocatable is not None and shape.per_node:
            whole = shape.per_node * shape.flavor.scale
            known.append(shape.allocatable.memory * milli // whole - sidecar)
    return {"memory": min(known) // 2**20 * 2**20} if known else {}


def _quota_share(target: WorkloadTarget, resource: str, accelerators: int, beside: int) -> int:
    """The accelerators' share of a resource in the smallest of the queue's quotas; 0 if no quota has it.

    `beside` is what a sidecar requests of it in each pod.
    """
    shape = target.shape
    amounts = [_quota_for(entry, resource, shape.flavor.resource, accelerators) for entry in target.flavor_quotas()]
    if not amounts or shape.allocatable is None:
        return 0
    allocatable = {"cpu": shape.allocatable.cpu, "memory": shape.allocatable.memory}[resource]
    amount = min(amounts)
    return amount if (amount + beside) * shape.per_node <= allocatable * accelerators else 0


def _quota_for(entry: FlavorQuotasPlan, resource: str, accelerator: str, number: int) -> int:
    """The part of an entry's quota of a resource that belongs to a number of its accelerators."""
    quotas = {quota.resource: quota.nominal + (quota.borrowing_limit or 0) for quota in entry.quotas}
    total = quotas.get(accelerator, 0)
    return quotas.get(resource, 0) * number // total if total else 0
