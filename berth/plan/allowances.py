"""Allowances: protected resources that may be replaced, deleted or changed, and why."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct, field


class AllowancesPlan(Struct, frozen=True, kw_only=True):
    """Allowed replacements, deletions and changes. `protect` False allows all; else only named ones, with a reason.

    Keys name protected resources as in `allowReplacement` of the stack file. The `protect` field of each plan is
    derived from them. `change` allows in-place changes that are blocked otherwise: `protect`, `cluster`, `network`, a
    pool's name.
    """

    protect: bool = True
    replacement: Mapping[str, str] = field(default_factory=dict[str, str])
    deletion: Mapping[str, str] = field(default_factory=dict[str, str])
    change: Mapping[str, str] = field(default_factory=dict[str, str])
