"""Plan the allowances of a fleet on Alibaba Cloud."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from berth.plan.fleet import AllowancesPlan
from berth.planner.allowances import checked_allowances
from berth.planner.context import PlanningContext

FLEET = "fleet"
"""The key of the ACK One fleet instance."""


def ack_allowances(context: PlanningContext, members: Mapping[str, Iterable[str]], queues: list[str]) -> AllowancesPlan:
    """Return the allowances; `members` maps each member to its node pools.

    The change that deletes a queue also allows it, so an allowance may name a queue that no longer exists.
    """
    known = [
        *(f"{member}/{pool}" for member in sorted(members) for pool in sorted(members[member])),
        *(f"clusters.{member}" for member in sorted(members)),
        *(f"clusterQueues.{name}" for name in sorted(queues)),
        FLEET,
    ]
    remedy = "write <member>/<node pool>, clusters.<member>, clusterQueues.<name> or fleet"

    def is_set_aside(section: str, key: str) -> bool:
        return bool(context.set_aside) or (section == "allowDeletion" and key.startswith("clusterQueues."))

    return checked_allowances(context, known, remedy, is_set_aside)
