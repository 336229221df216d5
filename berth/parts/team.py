"""Plan one team without its queues: namespaces, rights, and the identity of its pods."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, cast

from msgspec import Struct

from berth.diagnostics import FieldPath, Problem
from berth.parts.context import finds_every_fault, part_context, part_problems
from berth.plan.teams import AccessPlan, TeamPlan
from berth.planner.cluster.controllers import kueue_configuration
from berth.planner.queueing.quota_tree import QuotaTree
from berth.planner.tenancy.access import access
from berth.planner.tenancy.identities import GRANTS
from berth.planner.tenancy.teams import plan_teams

_OF_FLEETS: Final = ("project", "projectNumber")


class TeamPart(Struct, frozen=True):
    """A team, and the cluster roles that its people's rights refer to; no team with a fault in `problems`."""

    teams: tuple[TeamPlan, ...]
    access: AccessPlan | None
    problems: tuple[Problem, ...]


@finds_every_fault
def plan_team(name: str, arguments: Mapping[str, Any], known_problems: Sequence[Problem] = ()) -> TeamPart:
    """Plan a team called `name`, or as its argument says. Only a `project` gives its pods an identity there."""
    key = str(arguments.get("name", name))
    path: FieldPath = ("teams", key)
    team = {each: value for each, value in arguments.items() if each not in ("name", "createRoles", *_OF_FLEETS)}
    sections = {each: arguments[each] for each in _OF_FLEETS if each in arguments}
    context = part_context(
        name,
        {**sections, "teams": {key: team}},
        path,
        known_problems,
        cluster_of_others="project" not in arguments,
    )
    identity = team.get("identity")
    if "project" not in arguments and isinstance(identity, dict):
        for grant in (each for each in (*GRANTS, "impersonate") if cast("dict[str, Any]", identity).get(each)):
            message = f"is missing; identity.{grant} grants permissions in a project"
            context.problems.fault("missing-key", ("project",), message)
    teams = plan_teams(context, (), QuotaTree((), (), {}), {})
    return TeamPart(teams, access(context, kueue_configuration(context)), part_problems(context.problems.entries, path))
