"""How a rolling update replaces pods, and whether a queue has room for it.

Kubernetes 1.36 `pkg/controller/deployment/util`: ResolveFenceposts. Kueue admits each pod of a Deployment by itself.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

from berth.plan.fleet import FleetPlan
from berth.plan.kueue import ClusterQueuePlan

DEFAULT_STEP = "25%"
"""How many pods of a Deployment an update starts or stops by default."""


def rollout_steps(replicas: int, max_surge: object, max_unavailable: object) -> tuple[int, int] | None:
    """Return how many pods an update starts beyond `replicas`, and how many it stops before; None if not readable.

    Each is a number or a percentage of the replicas: the surge is rounded up, the other down. If both are 0, one pod
    may be unavailable.
    """
    surge, unavailable = _number(max_surge, replicas), _number(max_unavailable, replicas)
    if surge is None or unavailable is None:
        return None
    numbers = -(-surge.numerator // surge.denominator), unavailable.numerator // unavailable.denominator
    return numbers if any(numbers) else (0, 1)


def _number(value: object, replicas: int) -> Fraction | None:
    if isinstance(value, int) and not isinstance(value, bool):
        return Fraction(value)
    text = str(value).removesuffix("%")
    return Fraction(int(text) * replicas, 100) if str(value).endswith("%") and text.isdecimal() else None


def room_for(plan: FleetPlan, queue: ClusterQueuePlan, requests: Mapping[str, int], selector: Mapping[str, str]) -> int:
    """Return how many pods (or groups) with these requests a queue holds at a time, with everything it may borrow.

    `selector` are the pods' node labels: a flavor with another value of one of them has no room for them.
    """
    flavors = {flavor.name: flavor for flavor in plan.flavors}
    total = 0
    for entry in queue.flavors:
        flavor = flavors[entry.flavor]
        if any(flavor.node_labels.get(key, value) != value for key, value in selector.items()):
            continue
        rooms = [flavor.capacity.max * flavor.scale // requests[flavor.resource]] if flavor.resource in requests else []
        for quota in entry.quotas:
            if quota.borrowing_limit is not None and requests.get(quota.resource):
                rooms.append((quota.nominal + quota.borrowing_limit) // requests[quota.resource])
        total += min(rooms, default=0)
    return total
