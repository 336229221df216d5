"""Effects of Google Cloud IAM roles that a team has for a whole project (`google_roles.yaml`)."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path

from msgspec import Struct, convert

from berth.yaml_loader import load_table

_TABLE = Path(__file__).with_name("google_roles.yaml")


UNKNOWN_EFFECT = "gives in the whole project what Berth's table of IAM roles does not have"
"""The text for a role that the table does not have."""

AGENT_EFFECT = "is for Google's own agents, and gives access to many resources of the project"
"""The text for the role of a service agent."""


class BroadRole(Struct, frozen=True):
    """A role whose `effect` reaches other teams' data, and the key of the stack file to write `instead`."""

    effect: str
    instead: str


class PrivilegedRoles(Struct, frozen=True):
    """Roles with one `permission` that leads to more permissions, and its `effect` in words."""

    permission: str
    effect: str
    roles: tuple[str, ...]


class GoogleRoles(Struct, frozen=True):
    """The allow list of roles, `workload` (and `nodes`, for nodes), and the effects of others that are known.

    `agents` is the end of the names of roles that Google grants to its own agents.
    """

    workload: tuple[str, ...]
    nodes: tuple[str, ...]
    privileged: tuple[PrivilegedRoles, ...]
    agents: str
    broad: Mapping[str, BroadRole]

    def effect(self, role: str) -> str | None:
        """Return what a role gives in the whole project; None for one of the allow list."""
        if role in self.workload or role in self.nodes:
            return None
        if (privilege := self.privilege(role)) is not None:
            return privilege
        return self.broad[role].effect if role in self.broad else UNKNOWN_EFFECT

    def privilege(self, role: str) -> str | None:
        """Return what a role that grants permissions or keys does; None for every other role."""
        for group in self.privileged:
            if role in group.roles:
                return group.effect
        return AGENT_EFFECT if role.endswith(self.agents) else None


@cache
def google_roles() -> GoogleRoles:
    """Return the table of roles."""
    return convert(load_table(_TABLE), GoogleRoles)
