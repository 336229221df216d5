"""Outputs of a platform stack for its teams' stacks, with a version, and the check whether they are sufficient."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final, cast

from berth.plan.fleet import FleetPlan
from berth.plan.team_stack import TeamStackPlan
from berth.plan.workloads import ProvisioningRequestPlan

OUTPUT_VERSION: Final = 2
"""Version of the `fleet` output; raise it for a change that breaks readers of the output."""

_SHOWN: Final = 60
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
"""A kubeconfig with an invalid host (RFC 2606), for previews without an engine, where the real one is unknown."""


def platform_output(plan: FleetPlan, cluster: object) -> dict[str, Any]:
    """Return the `fleet` output; `cluster` is the cluster's name, or an Output of it."""
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
    """Return all outputs of a platform that was never deployed, for a preview without an engine."""
    return {FLEET_OUTPUT: platform_output(plan, plan.cluster.name), KUBECONFIG_OUTPUT: PLACEHOLDER_KUBECONFIG}


def output_mismatch(exported: object, plan: TeamStackPlan) -> str | None:
    """Return why a team's stack cannot be deployed on a platform that exports `exported`; None if it can."""
    platform = f"the platform stack '{plan.platform}'"
    output = _mapping(exported)
    version: object = output.get("version")
    if version != OUTPUT_VERSION:
        is_number = isinstance(version, int | float) and not isinstance(version, bool)
        shown = f"version {version:g} of its outputs for teams" if is_number else "no outputs for teams"
        return (
            f"{platform} exports {shown}, but this Berth needs version {OUTPUT_VERSION}; "
            "update the platform with the same Berth first"
        )
    teams = output.get("teams")
    if not isinstance(teams, Mapping):
        return f"{platform} exports no teams that can be read; update the platform with the same Berth first"
    team = cast("Mapping[str, object]", teams).get(plan.team)
    if team is None:
        return f"{platform} was deployed without team '{plan.team}'; update it first"
    namespaces, queues = (_mapping(team).get(key) for key in ("namespaces", "queues"))
    if not isinstance(namespaces, list | tuple) or not isinstance(queues, list | tuple):
        return f"{platform} exports team '{plan.team}' in another form; update the platform with the same Berth first"
    if plan.namespace not in namespaces:
        return f"{platform} was deployed without namespace '{plan.namespace}' of team '{plan.team}'; update it first"
    queued_workloads = [
        workload_plan
        for workload_plan in plan.workloads.values()
        if not isinstance(workload_plan, ProvisioningRequestPlan)
    ]
    used = {workload.submission.queue for workload in queued_workloads}
    if missing := sorted(used - {str(queue) for queue in cast("Sequence[object]", queues)}):
        return f"{platform} was deployed without queue '{missing[0]}' of team '{plan.team}'; update it first"
    cluster, region = plan.cluster_identifier.rpartition("/")[2], output.get("region")
    of_project = [("region", region, _region(plan.cluster_identifier, region))] if plan.is_on_google else []
    for what, live, planned in (
        ("cluster", output.get("cluster"), cluster),
        ("project", output.get("project"), plan.project),
        *of_project,
    ):
        if (live or "") != planned:
            shown, expected = (f"'{str(each)[:_SHOWN]}'" if each else "none" for each in (live, planned))
            return (
                f"{platform} was deployed with {what} {shown}, but its stack file has {expected}; "
                "name the team's own platform, or update that one first"
            )
    return None


def _region(identifier: str, live: object) -> str:
    """Return the region of a cluster's identifier; a zonal cluster's location is a zone of the one that is exported."""
    location = identifier.split("/")[-2]
    region_of_zone = location.rpartition("-")[0]
    return region_of_zone if region_of_zone == live else location


def _mapping(value: object) -> Mapping[str, Any]:
    return cast("Mapping[str, Any]", value) if isinstance(value, Mapping) else {}
