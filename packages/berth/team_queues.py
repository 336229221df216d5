"""Queues of one team in any cluster that has Kueue."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pulumi

from berth.plan.fleet import FleetPlan
from components.kueue.admission_checks import AdmissionChecks
from components.kueue.flavors import Flavors
from components.kueue.team_queues import TeamQueues as KueueTeamQueues
from components.kueue.topologies import Topologies
from packages.berth.arguments import Arguments, read_arguments, warn
from packages.berth.partial import plan_part
from packages.berth.scopes import scope_below


class TeamQueues(pulumi.ComponentResource):
    """Cluster queues of a team, each with its local queue, and the flavors that they use."""

    def __init__(self, name: str, args: Mapping[str, Any], opts: pulumi.ResourceOptions | None = None) -> None:
        arguments = read_arguments("TeamQueues", args)
        team = str(arguments.plain.get("team", name))
        plan, problems = plan_part(arguments, name, _fleet(arguments, team), part=("teams", team))
        super().__init__("berth:index:TeamQueues", name, None, opts)
        warn(self, problems)
        scope = scope_below(self, name, arguments)
        in_cluster = scope.options(scope.existing_cluster_provider(plan.cluster.name))
        created: Mapping[str, Any] = {}
        if arguments.plain.get("createFlavors", True):
            created = _flavors(plan, name, in_cluster)
        namespace = arguments.live.get("namespace")
        KueueTeamQueues(
            f"{name}-queues",
            plan.cluster_queues,
            namespaces={} if namespace is None else {team: namespace},
            opts=in_cluster,
            **created,
        )
        self.outputs: Mapping[str, pulumi.Input[Any]] = {
            "clusterQueues": [each.name for each in plan.cluster_queues],
            "localQueues": sorted({local.name for each in plan.cluster_queues for local in each.local_queues}),
        }
        self.register_outputs(dict(self.outputs))


def _fleet(arguments: Arguments, team: str) -> Mapping[str, Any]:
    """Return a fleet on an existing cluster that has the team and its queues alone."""
    plain = arguments.plain
    described = {key: plain[key] for key in ("pools", "flavors", "priorities", "protect") if key in plain}
    cohort = {"cohort": plain["cohort"]} if "cohort" in plain else {}
    return {
        **described,
        "cluster": {"existing": {"context": "unused"}},
        "cohorts": {plain["cohort"]: {}} if cohort else {},
        "teams": {team: {**cohort, "queues": plain.get("queues")}},
    }


def _flavors(plan: FleetPlan, name: str, opts: pulumi.ResourceOptions) -> Mapping[str, Any]:
    """Create the flavors with their topologies and admission checks; return those that queues name."""
    topologies = Topologies(f"{name}-topologies", plan.topologies, opts=opts).objects if plan.topologies else None
    flavors = Flavors(f"{name}-flavors", plan.flavors, opts=opts, topologies=topologies).objects
    if not plan.admission_checks:
        return {"flavors": flavors}
    checks = AdmissionChecks(f"{name}-admission-checks", plan.admission_checks, plan.provisioning_configs, opts=opts)
    return {"flavors": flavors, "checks": checks.objects}
