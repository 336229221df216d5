"""The backends, one for each kind of stack: the only place that lists them.

A backend is the object `BACKEND` of a module in this package, with the functions of `berth.backends.interface`. It is
imported when a stack of its kind is met, because a fleet on one cloud needs nothing of another.
"""

from __future__ import annotations

import importlib
from collections.abc import Container, Mapping
from typing import TYPE_CHECKING, Any, Final, TypeAlias, cast

if TYPE_CHECKING:
    from berth.plan.ack import AckFleetPlan
    from berth.plan.fleet import FleetPlan
    from berth.plan.team_stack import TeamStackPlan

StackPlan: TypeAlias = "FleetPlan | AckFleetPlan | TeamStackPlan"
"""The plan of a fleet on Google Cloud, of a fleet on Alibaba Cloud, or of a team's own stack."""

TEAM_KEY: Final = "berth:team"
"""The config key of a team's own stack; a fleet has `berth:fleet`."""
DEFAULT: Final = "gke"
"""The backend of a stack file that no row recognizes."""
_MODULES: Final[Mapping[str, str]] = {
    "gke": "berth.backends.gke",
    "ack": "berth.backends.ack",
    "team": "berth.backends.team_stack",
}
_RECOGNIZED_BY: Final[Mapping[str, tuple[str, str | None]]] = {
    "ack": ("berth:fleet", "ack"),
    "team": (TEAM_KEY, None),
}
"""The config key of a backend's stack files, and a section that only they have."""


def backend_name(config_key: str, values: object) -> str:
    """Return the name of the backend for the `values` under a config key of a stack file."""
    sections = cast("Container[object]", values) if isinstance(values, Mapping) else ()
    for name, (key, section) in _RECOGNIZED_BY.items():
        if config_key == key and (section is None or section in sections):
            return name
    return DEFAULT


def load_backend(name: str) -> Any:
    """Import a backend and return it."""
    return importlib.import_module(_MODULES[name]).BACKEND
