"""Effects of Google Cloud IAM roles that a team has for a whole project (`google_roles.yaml`)."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path

from msgspec import Struct, convert

from berth.yaml_loader import load_table

_TABLE = Path(__file__).with_name("google_roles.yaml")


UNKNOWN_EFFECT = "applies to the whole project, including other teams' resources"
"""The text for a role that the table does not have."""


class BroadRole(Struct, frozen=True):
    """A role whose `effect` reaches other teams' data, and the key of the stack file to write `instead`."""

    effect: str
    instead: str


class GoogleRoles(Struct, frozen=True):
    """The allow list of roles, `workload` (and `nodes`, for nodes), and the effects of others that are known.

    `privileged` maps a role, or a beginning of names with `*`, to its effect.
    """

    workload: tuple[str, ...]
    nodes: tuple[str, ...]
    privileged: Mapping[str, str]
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
        for name, effect in self.privileged.items():
            if role == name or (name.endswith("*") and role.startswith(name[:-1])):
                return effect
        return None


@cache
def google_roles() -> GoogleRoles:
    """Return the table of roles."""
    return convert(load_table(_TABLE), GoogleRoles)
