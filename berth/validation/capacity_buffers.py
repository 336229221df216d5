"""Capacity buffers that others empty: a buffer keeps nothing from jobs that Kueue admits."""

from __future__ import annotations

from berth.diagnostics import Problems, join_words
from berth.plan.capacity import kept_accelerators
from berth.planner.tenancy.shared_machines import teams_by_flavor
from berth.validation.quota_claims import FleetQuotaClaims


def warn_emptied_buffers(claims: FleetQuotaClaims, problems: Problems) -> None:
    """Warn of buffers on machines that queues of other teams can use up: pods that start there use the buffer's room.

    Queues of a flavor together never use more than its guarantees, so a buffer beside them stays.
    """
    plan = claims.plan
    sharing = teams_by_flavor(plan.cluster_queues)
    flavors = {flavor.name: flavor for flavor in plan.flavors}
    buffers = [(team, each) for team in plan.teams for each in team.buffers if each.flavor is not None]
    kept = {name: kept_accelerators((each for _, each in buffers), name) for name in flavors}
    for team, buffer in buffers:
        flavor = flavors[buffer.flavor or ""]
        room = flavor.shared - kept[flavor.name]
        others = sharing.get(flavor.name, set()) - {team.name}
        if not others or not kept[flavor.name] or flavor.promised <= room:
            continue
        message = (
            f"jobs and services of {join_words(sorted(others))} start on these nodes too, and queues are guaranteed "
            f"{flavor.promised} of the {flavor.shared} {flavor.noun} of flavor '{flavor.name}': when all are used, the "
            f"buffer is empty; guarantee at most {room}"
        )
        problems.warning("capacity-buffer-shared", ("teams", team.name, "capacityBuffers", buffer.name), message)
