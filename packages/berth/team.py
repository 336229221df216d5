"""A team's namespaces, rights and identity in any cluster."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import pulumi

from components.tenancy.access import Access
from components.tenancy.team import Team as TenancyTeam
from packages.berth.arguments import Arguments, read_arguments, warn
from packages.berth.partial import UNUSED_REGION, plan_part
from packages.berth.scopes import scope_below

_OWN: Final = ("name", "project", "projectNumber", "createRoles")


class Team(pulumi.ComponentResource):
    """The namespaces of a team with all that limits them, the rights of its people, and the identity of its pods."""

    def __init__(self, name: str, args: Mapping[str, Any], opts: pulumi.ResourceOptions | None = None) -> None:
        arguments = read_arguments("Team", args)
        team = str(arguments.plain.get("name", name))
        plan, problems = plan_part(arguments, name, _fleet(arguments, team), part=("teams", team))
        super().__init__("berth:index:Team", name, None, opts)
        warn(self, problems)
        project = arguments.plain.get("project")
        scope = scope_below(self, name, arguments)
        google = scope.google_provider(plan.project, plan.region) if project is not None else None
        opts_of_parts = scope.options(scope.existing_cluster_provider(plan.cluster.name), google, project=project)
        if plan.access is not None and arguments.plain.get("createRoles", True):
            Access(f"{name}-access", plan.access, project=project, cluster=None, opts=opts_of_parts)
        made = TenancyTeam(f"{name}-team", plan.teams[0], project=project, cluster=None, opts=opts_of_parts)
        self.outputs: Mapping[str, pulumi.Input[Any]] = {
            "namespaces": [made.namespaces.get(each.name, each.name) for each in plan.teams[0].namespaces]
        }
        self.register_outputs(dict(self.outputs))


def _fleet(arguments: Arguments, team: str) -> Mapping[str, Any]:
    """Return a fleet that has the team alone: on a cluster of the project, else on any existing one."""
    plain = arguments.plain
    in_project = {key: plain[key] for key in ("project", "projectNumber") if key in plain}
    frame = {**in_project, "region": UNUSED_REGION} if in_project else {"cluster": {"existing": {"context": "unused"}}}
    return {**frame, "teams": {team: arguments.of_model(*_OWN)}}
