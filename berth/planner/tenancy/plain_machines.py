"""Queues that offer machines without accelerators beside others: where pods without accelerators are to run."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from msgspec.structs import replace

from berth.plan.kueue import CPU, ClusterQueuePlan
from berth.plan.teams import NamespacePlan
from berth.planner.queueing.flavors import FlavorGroup


def with_plain_machines(
    namespaces: Iterable[NamespacePlan],
    team: str,
    queues: Iterable[ClusterQueuePlan],
    flavors: Mapping[str, FlavorGroup],
) -> tuple[NamespacePlan, ...]:
    """Return a team's namespaces with their queues without accelerators, and of those with both the labels of machines.

    The labels are of machines without accelerators.
    """
    labels = {queue.name: _labels(queue, flavors) for queue in queues}
    plain = {queue.name for queue in queues if all(flavors[each.flavor].resource == CPU for each in queue.flavors)}
    doors = sorted((door for q in queues for door in q.local_queues if door.team == team), key=lambda door: door.name)
    return tuple(
        replace(
            each,
            plain_queues=tuple(d.name for d in doors if d.namespace == each.name and d.cluster_queue in plain),
            plain_machines={
                door.name: labels[door.cluster_queue]
                for door in doors
                if door.namespace == each.name and labels[door.cluster_queue]
            },
        )
        for each in namespaces
    )


def _labels(queue: ClusterQueuePlan, flavors: Mapping[str, FlavorGroup]) -> tuple[tuple[str, str], ...]:
    """Return the node labels that only machines without accelerators have; none if all are of one kind.

    The scheduler then puts the pods there. Kueue compares a pod with a flavor by the labels of that flavor alone, so
    its choice also needs what the pods keep off (`PodPlan.absent_labels`).
    """
    entries = [flavors[entry.flavor] for entry in queue.flavors]
    plain = [each for each in entries if each.resource == CPU]
    others = {label for each in entries if each.resource != CPU for label in each.node_labels.items()}
    if not others:
        return ()
    return tuple(sorted({label for each in plain for label in each.node_labels.items()} - others))
