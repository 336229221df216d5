"""A team's namespaces, rights and identity in any cluster."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pulumi

from berth.parts.team import plan_team
from components.tenancy.access import Access
from components.tenancy.team import Team as TenancyTeam
from packages.berth.arguments import read_arguments, refuse, warn
from packages.berth.scopes import own_cluster_provider, scope_below


class Team(pulumi.ComponentResource):
    """The namespaces of a team with all that limits them, the rights of its people, and the identity of its pods."""

    def __init__(self, name: str, args: Mapping[str, Any], opts: pulumi.ResourceOptions | None = None) -> None:
        arguments = read_arguments("Team", args)
        part = plan_team(name, arguments.plain, arguments.problems)
        refuse(arguments, name, part.problems)
        super().__init__("berth:index:Team", name, None, opts)
        warn(self, part.problems)
        (plan,) = part.teams
        project = arguments.plain.get("project")
        scope = scope_below(self, name, arguments)
        google = scope.google_provider(project, None) if project is not None else None
        opts_of_parts = scope.options(own_cluster_provider(scope, name), google, project=project)
        if part.access is not None and arguments.plain.get("createRoles", True):
            Access(f"{name}-access", part.access, project=project, cluster=None, opts=opts_of_parts)
        made = TenancyTeam(f"{name}-team", plan, project=project, cluster=None, opts=opts_of_parts)
        self.outputs: Mapping[str, pulumi.Input[Any]] = {
            "namespaces": [made.namespaces.get(each.name, each.name) for each in plan.namespaces]
        }
        self.register_outputs(dict(self.outputs))
