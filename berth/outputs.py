"""What a platform stack exports for its teams' stacks: plain data with a version; and whether it is what they need."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final, cast

from berth.plan.fleet import FleetPlan
from berth.plan.team_stack import TeamStackPlan
from berth.plan.workloads import ProvisioningRequestPlan

OUTPUT_VERSION: Final = 2
"""Raised when the shape of the `fleet` output changes in a way that its readers would notice."""

FLEET_OUTPUT: Final = "fleet"
KUBECONFIG_OUTPUT: Final = "kubeconfig"
PLACEHOLDER_KUBECONFIG: Final = json.dumps(
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


def platform_output(plan: FleetPlan, cluster: object) -> dict[str, Any]:
    """The `fleet` output; `cluster` is the cluster's name, or what becomes it."""
    return {
        "version": OUTPUT_VERSION,
        "cluster": cluster,
        "project": plan.project,
        "region": plan.region,
        "teams": {
            team.name: {
                "namespaces": [namespace.name for namespace in team.namespaces],
                "serviceAccount": team.identity.service_account if team.identity else None,
                "queues": sorted({local_queue.name for local_queue in team.local_queues}),
            }
            for team in plan.teams
        },
    }


def placeholder_outputs(plan: FleetPlan) -> dict[str, Any]:
    """All outputs of a platform that was never deployed, for a preview without an engine."""
    return {FLEET_OUTPUT: platform_output(plan, plan.cluster.name), KUBECONFIG_OUTPUT: PLACEHOLDER_KUBECONFIG}


def output_mismatch(exported: object, plan: TeamStackPlan) -> str | None:
    """Why a team's stack cannot be deployed onto a platform that exports `live`; None where it can."""
    platform = f"the platform stack '{plan.platform}'"
    output: Mapping[str, Any] = cast("Mapping[str, Any]", exported) if isinstance(exported, Mapping) else {}
    if (version := output.get("version")) != OUTPUT_VERSION:
        shown = "nothing for teams" if version is None else f"version {float(version):g} for teams"
        return (
            f"{platform} exports {shown}, and version {OUTPUT_VERSION} "
            "is read here: update it with the same Berth first"
        )
    team: Mapping[str, Any] | None = output["teams"].get(plan.team)
    if team is None:
        return f"{platform} was deployed without team '{plan.team}': update it first"
    if plan.namespace not in team["namespaces"]:
        return f"{platform} was deployed without namespace '{plan.namespace}' of team '{plan.team}': update it first"
    queued_workloads = [
        workload_plan
        for workload_plan in plan.workloads.values()
        if not isinstance(workload_plan, ProvisioningRequestPlan)
    ]
    used = {workload.submission.queue for workload in queued_workloads}
    if missing := sorted(used - set(team["queues"])):
        return f"{platform} was deployed without queue '{missing[0]}' of team '{plan.team}': update it first"
    return None
