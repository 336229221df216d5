"""Effects of Google Cloud IAM roles that a team has for a whole project (`google_roles.yaml`)."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path

from msgspec import Struct, convert

from berth.yaml_loader import load_table

_TABLE = Path(__file__).with_name("google_roles.yaml")


class GoogleRoles(Struct, frozen=True):
    """`workload` roles give no access to other teams' data; `privileged` and `broad` map a role to its effect."""

    workload: tuple[str, ...]
    privileged: Mapping[str, str]
    broad: Mapping[str, str]

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
