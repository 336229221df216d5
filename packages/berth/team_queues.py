"""Queues of one team in any cluster that has Kueue."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pulumi

from berth.parts.queues import QueuesPart, plan_queues
from components.kueue.admission_checks import AdmissionChecks
from components.kueue.flavors import Flavors
from components.kueue.team_queues import TeamQueues as KueueTeamQueues
from components.kueue.topologies import Topologies
from packages.berth.arguments import read_arguments, refuse, warn
from packages.berth.scopes import own_cluster_provider, scope_below


class TeamQueues(pulumi.ComponentResource):
    """Cluster queues of a team, each with its local queue, and the flavors that they use."""

    def __init__(self, name: str, args: Mapping[str, Any], opts: pulumi.ResourceOptions | None = None) -> None:
        arguments = read_arguments("TeamQueues", args)
        part = plan_queues(name, arguments.plain, arguments.problems)
        refuse(arguments, name, part.problems)
        super().__init__("berth:index:TeamQueues", name, None, opts)
        warn(self, part.problems)
        scope = scope_below(self, name, arguments)
        in_cluster = scope.options(own_cluster_provider(scope, name))
        created: Mapping[str, Any] = {}
        if arguments.plain.get("createFlavors", True):
            created = _flavors(part, name, in_cluster)
        queues = KueueTeamQueues(
            f"{name}-queues",
            part.cluster_queues,
            namespace=arguments.live.get("namespace"),
            opts=in_cluster,
            **created,
        )
        self.outputs: Mapping[str, pulumi.Input[Any]] = {
            "clusterQueues": queues.cluster_queues,
            "localQueues": queues.local_queues,
        }
        self.register_outputs(dict(self.outputs))


def _flavors(part: QueuesPart, name: str, opts: pulumi.ResourceOptions) -> Mapping[str, Any]:
    """Create the flavors with their topologies and admission checks; return those that queues name."""
    topologies = Topologies(f"{name}-topologies", part.topologies, opts=opts).objects if part.topologies else None
    flavors = Flavors(f"{name}-flavors", part.flavors, opts=opts, topologies=topologies).objects
    if not part.admission_checks:
        return {"flavors": flavors}
    checks = AdmissionChecks(f"{name}-admission-checks", part.admission_checks, part.provisioning_configs, opts=opts)
    return {"flavors": flavors, "checks": checks.objects}
