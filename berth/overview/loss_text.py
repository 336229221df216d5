"""The answer to `berth plan --lose`: what is lost, whose guarantee breaks, and what then happens to jobs.

Sources: Kueue 0.19.2 (`pkg/controller/tas`, `pkg/features`, waitForPodsReady), JobSet 0.12 (failure policy), Kubernetes
docs (taint-based eviction: pods leave a node that does not answer after 300 s), GKE docs (auto-repair: a node that is
not ready for about 10 minutes is created again). None of these times was measured here.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from msgspec.structs import replace

from berth.document import Block, Heading, Lines, Table
from berth.overview.dynamic_slices import lost_shapes
from berth.overview.losses import BrokenGuarantee, FlavorLoss, Losses
from berth.plan.fleet import FleetPlan
from berth.plan.kueue import ClusterQueuePlan
from berth.planner.queueing.preemption import PreemptionRule, describe_rules, preemption_rules

_EFFECTIVE_QUOTAS = 20
"""The minor of Kueue 0 from which the scheduler can use effective quotas (KEP-10270)."""


def loss_document(plan: FleetPlan, losses: Losses) -> list[Block]:
    """Return the answer for people."""
    lost = [
        (each.pool.name, f"{each.nodes} of {each.pool.nodes.max}", str(each.slices or "–"), str(each.accelerators))
        for each in losses.pools
    ]
    flavors = [(each.flavor.name, *(str(n) for n in _numbers(each)), each.flavor.noun) for each in losses.flavors]
    guarantees = [(_owner(each), each.flavor, str(each.guaranteed), each.verdict) for each in losses.guarantees]
    unknown = [
        f"{name}: no one can say whether it has nodes there, because GKE chooses its zones" for name in losses.unknown
    ]
    return [
        Heading(_headline(losses)),
        Table("Lost, at worst", ("pool", "nodes", "slices", "accelerators or cores"), lost, numbers=(1, 2, 3)),
        Table(
            "Machines left",
            ("flavor", "had", "has", "guaranteed", "missing", "spare", ""),
            flavors,
            numbers=(1, 2, 3, 4, 5),
        ),
        Table("Guarantees", ("queue or cohort", "flavor", "guaranteed", "verdict"), guarantees, numbers=(2,)),
        Lines("Unknown", unknown, whole=True),
        Lines("Then", list(what_follows(plan, losses)), whole=True),
    ]


def losses_as_json(plan: FleetPlan, losses: Losses) -> dict[str, Any]:
    """Return the answer as JSON values."""
    return {
        "stack": plan.stack,
        "lost": [
            {"pool": each.pool.name, "nodes": each.nodes, "slices": each.slices, "accelerators": each.accelerators}
            for each in losses.pools
        ],
        "flavors": [
            {"flavor": each.flavor.name, "noun": each.flavor.noun}
            | dict(zip(("before", "after", "guaranteed", "missing", "spare"), _numbers(each), strict=True))
            for each in losses.flavors
        ],
        "guarantees": [
            {
                "owner": each.owner.name,
                "teams": list(each.owner.teams) if isinstance(each.owner, ClusterQueuePlan) else [],
                "flavor": each.flavor,
                "guaranteed": each.guaranteed,
                "verdict": each.verdict,
            }
            for each in losses.guarantees
        ],
        "unknown": list(losses.unknown),
        "then": list(what_follows(plan, losses)),
    }


def _numbers(loss: FlavorLoss) -> tuple[int, int, int, int, int]:
    return loss.flavor.capacity.max, loss.after, loss.flavor.promised, loss.missing, loss.spare


def _owner(each: BrokenGuarantee) -> str:
    return each.owner.name if isinstance(each.owner, ClusterQueuePlan) else f"cohort {each.owner.name}"


def _headline(losses: Losses) -> str:
    broken = [_owner(each) for each in losses.guarantees if each.verdict == "breaks"]
    shaken = [_owner(each) for each in losses.guarantees if each.verdict == "may break"]
    unknown = f"; {len(losses.unknown)} pools unknown" if losses.unknown else ""
    if broken:
        return f"breaks the guarantee of {', '.join(dict.fromkeys(broken))}{unknown}"
    if shaken:
        return f"may break a guarantee: {', '.join(dict.fromkeys(shaken))} are guaranteed more than is left{unknown}"
    return f"every guarantee of the machines that are left holds{unknown}"


# --- what then happens ------------------------------------------------------------------------------------------------


def what_follows(plan: FleetPlan, losses: Losses) -> Iterator[str]:
    """Yield what happens to running and waiting jobs, one sentence each."""
    yield "Kubernetes evicts the pods of a node that does not answer after 5 minutes; until then its jobs wait for it."
    if any(each.slices for each in losses.pools):
        yield (
            "A slice is lost with its first host: the job on it fails, and a JobSet starts all of its slices again "
            "from its last checkpoint (a JobSet of berth workload does not count it as a restart)."
        )
    reclaiming = [each for each in preemption_rules(plan) if each.rule == "reclaimWithinCohort"]
    for each in losses.flavors:
        yield _of_nodes(each)
        yield from lost_shapes(each)
        yield from _of_machines_left(plan, each, reclaiming)
    yield from _of_kueue(plan, losses)
    repairs = {each.pool.name: [made.auto_repair for made in each.pool.node_pools] for each in losses.pools}
    repaired = [name for name, each in repairs.items() if each and all(each)]
    others = [name for name in repairs if name not in repaired]
    if repaired:
        yield f"GKE creates nodes of {', '.join(repaired)} again after about 10 minutes, if the zone has such machines."
    if others:
        yield f"Whether {', '.join(others)} get nodes back is unknown: GKE's auto-repair is off, or others made them."


def _of_nodes(loss: FlavorLoss) -> str:
    flavor = loss.flavor
    if flavor.topology is not None:
        return (
            f"{flavor.name}: Kueue moves the pods of one lost node to a free one (TASFailedNodeReplacement), or evicts "
            "the job if none is free or it lost several. It admits no job that the nodes left have no room for."
        )
    return (
        f"{flavor.name}: Kueue counts quota, not nodes: jobs that lost pods keep their quota until they are evicted, "
        "and others are admitted up to the quotas; their pods wait for nodes."
    )


def _of_machines_left(plan: FleetPlan, loss: FlavorLoss, reclaiming: Iterable[PreemptionRule]) -> Iterator[str]:
    flavor = loss.flavor
    queues = [queue for queue in plan.cluster_queues if any(each.flavor == flavor.name for each in queue.flavors)]
    if used := min(loss.lost, flavor.spare):
        yield (
            f"{flavor.name}: {used} of {flavor.spare} {flavor.noun} that are kept spare take the place of lost ones: "
            "pods start there at once."
        )
    if loss.spare:
        yield f"{flavor.name}: {loss.spare} {flavor.noun} are spare: nobody is guaranteed them, and jobs start there."
    elif loss.missing:
        running = "Jobs on those left keep running; those that lost pods wait." if loss.after else "Its jobs wait."
        yield f"{flavor.name}: no machine is spare, and {loss.missing} guaranteed {flavor.noun} have none. {running}"
    ready = [f"{team.name}/{each.name}" for team in plan.teams for each in team.buffers if each.flavor == flavor.name]
    if ready and loss.after:
        yield (
            f"{flavor.name}: pods that lost their node start at once where {', '.join(ready)} keep room, if it "
            "is not in use."
        )
    if loss.missing and loss.after:
        rules = [replace(each, flavors=()) for each in reclaiming if flavor.name in each.flavors]
        yield from (f"{flavor.name}: {text}, who pay first." for text in describe_rules(rules))
    others = {entry.flavor for queue in queues for entry in queue.flavors} - {flavor.name}
    if others:
        yield f"{flavor.name}: jobs of queues that also have {', '.join(sorted(others))} may be admitted there."


def _of_kueue(plan: FleetPlan, losses: Losses) -> Iterator[str]:
    if plan.kueue is None:
        yield "When Kueue evicts a job whose pods are not ready is unknown: Berth does not configure this Kueue."
        return
    ready = plan.kueue.pods_ready
    seconds = ready.timeout_seconds if ready.recovery_seconds is None else ready.recovery_seconds
    again = f"{seconds // 60} minutes after it lost one" if seconds else "never for a pod that it lost later"
    yield (
        f"A job whose pods are not all ready {ready.timeout_seconds // 60} minutes after its admission is evicted and "
        f"queued again, and {again} (waitForPodsReady)."
    )
    minor = (plan.kueue_release or "").split(".")[1:2]
    if minor and minor[0].isdigit() and int(minor[0]) >= _EFFECTIVE_QUOTAS:
        amounts = ", ".join(f"{each.flavor.name} {each.after}" for each in losses.flavors)
        yield (
            "Where Kueue's DynamicQuotaOrchestrator is on, status.effectiveQuotas follow the machines, and the quotas "
            f"above do not count: {amounts} in all queues together (by KEP-10270; not run)."
        )
