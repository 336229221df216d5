"""Which roles of Google Cloud a team's pods may have for the whole project."""

from __future__ import annotations

from berth.catalog.google_roles import google_roles
from berth.diagnostics import FieldPath
from berth.planner.context import PlanningContext
from berth.spec.tenancy import IdentitySpec


def check_roles(context: PlanningContext, team: str, spec: IdentitySpec) -> None:
    """Report roles that give rights or keys, unless they are accepted, and warn of all that reach other teams."""
    path: FieldPath = ("teams", team, "identity")
    for index, role in enumerate(spec.roles):
        if role not in spec.accept_roles:
            _check_role(context, (*path, "roles", index), role)
    for role in spec.accept_roles:
        if role not in spec.roles:
            message = f"'{role}' is not in identity.roles; leave it out"
            context.problems.fault("contradiction", (*path, "acceptRoles", role), message)


def _check_role(context: PlanningContext, path: FieldPath, role: str) -> None:
    roles = google_roles()
    if (effect := roles.privilege(role)) is not None:
        message = f"'{role}' {effect}; leave it out, or accept it: identity.acceptRoles: {{{role}: <why>}}"
        context.problems.fault("privileged-role", path, message)
    elif role in roles.broad:
        context.problems.warning("broad-role", path, f"'{role}' {roles.broad[role]}")
    elif role not in roles.workload:
        message = (
            f"'{role}' holds in the whole project, for things of other teams too; name buckets and secrets instead, "
            f"or accept it: identity.acceptRoles: {{{role}: <why>}}"
        )
        context.problems.warning("broad-role", path, message)
