"""What a platform stack exports for its teams' stacks: plain data with a version; and whether it is what they need."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final, cast

from berth.plan.fleet import FleetPlan
from berth.plan.team_stack import TeamStackPlan
from berth.plan.workloads import ProvisioningRequestPlan

VERSION: Final = 2
"""Raised when the shape of the `fleet` output changes in a way that its readers would notice."""

FLEET: Final = "fleet"
KUBECONFIG: Final = "kubeconfig"
STAND_IN: Final = json.dumps(
    {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "unknown", "cluster": {"server": "https://unknown.invalid"}}],
        "contexts": [{"name": "unknown", "context": {"cluster": "unknown", "user": "unknown"}}],
        "current-context": "unknown",
        "users": [{"name": "unknown", "user": {}}],
    }
)
"""A kubeconfig that leads nowhere (RFC 2606), for a preview without an engine: there is nobody to tell the real one."""


def of_platform(plan: FleetPlan, cluster: object) -> dict[str, Any]:
    """The `fleet` output; `cluster` is the cluster's name, or what becomes it."""
    return {
        "version": VERSION,
        "cluster": cluster,
        "project": plan.project,
        "region": plan.region,
        "teams": {
            team.name: {
                "namespaces": [place.name for place in team.namespaces],
                "serviceAccount": team.identity.service_account if team.identity else None,
                "queues": sorted({door.name for door in team.local_queues}),
            }
            for team in plan.teams
        },
    }


def stand_in(plan: FleetPlan) -> dict[str, Any]:
    """All outputs of a platform that was never deployed, for a preview without an engine."""
    return {FLEET: of_platform(plan, plan.cluster.name), KUBECONFIG: STAND_IN}


def disagreement(live: object, plan: TeamStackPlan) -> str | None:
    """Why a team's stack cannot be deployed onto a platform that exports `live`; None where it can."""
    platform = f"the platform stack '{plan.platform}'"
    found: Mapping[str, Any] = cast("Mapping[str, Any]", live) if isinstance(live, Mapping) else {}
    if (version := found.get("version")) != VERSION:
        shown = "nothing for teams" if version is None else f"version {float(version):g} for teams"
        return f"{platform} exports {shown}, and version {VERSION} is read here: update it with the same Berth first"
    team: Mapping[str, Any] | None = found["teams"].get(plan.team)
    if team is None:
        return f"{platform} was deployed without team '{plan.team}': update it first"
    if plan.namespace not in team["namespaces"]:
        return f"{platform} was deployed without namespace '{plan.namespace}' of team '{plan.team}': update it first"
    queued = [each for each in plan.workloads.values() if not isinstance(each, ProvisioningRequestPlan)]
    used = {workload.submission.queue for workload in queued}
    if missing := sorted(used - set(team["queues"])):
        return f"{platform} was deployed without queue '{missing[0]}' of team '{plan.team}': update it first"
    return None
