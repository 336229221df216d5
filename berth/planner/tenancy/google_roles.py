"""Check the project-wide roles of a team's pods in Google Cloud."""

from __future__ import annotations

from berth.catalog.google_roles import UNKNOWN_EFFECT, google_roles
from berth.diagnostics import FieldPath
from berth.planner.context import PlanningContext
from berth.spec.tenancy import IdentitySpec


def check_roles(context: PlanningContext, team: str, spec: IdentitySpec) -> None:
    """Report roles that grant permissions or keys, unless accepted; warn of roles that reach other teams' data."""
    path: FieldPath = ("teams", team, "identity")
    for index, role in enumerate(spec.roles):
        if role not in spec.accept_roles:
            _check_role(context, (*path, "roles", index), role)
    for role in spec.accept_roles:
        if role not in spec.roles:
            message = f"'{role}' is not in identity.roles; remove it from acceptRoles"
            context.problems.fault("contradiction", (*path, "acceptRoles", role), message)


def _check_role(context: PlanningContext, path: FieldPath, role: str) -> None:
    roles = google_roles()
    if (effect := roles.privilege(role)) is not None:
        message = f"'{role}' {effect}; remove the role, or accept it with identity.acceptRoles: {{{role}: <why>}}"
        context.problems.fault("privileged-role", path, message)
    elif (broad := roles.broad.get(role)) is not None:
        context.problems.warning("broad-role", path, f"'{role}' {broad.effect}; write {broad.instead}")
    elif role not in roles.workload:
        message = (
            f"'{role}' {UNKNOWN_EFFECT}; write buckets and secrets instead, "
            f"or accept it with identity.acceptRoles: {{{role}: <why>}}"
        )
        context.problems.warning("broad-role", path, message)
