"""What a manifest leaves to the cluster: its namespace, and the requests that a LimitRange gives its containers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from msgspec import Struct, field

from berth.plan.fleet import FleetPlan


class NamespaceDefaults(Struct, frozen=True):
    """The `namespace` that a manifest is applied to, and the requests of containers without any, by namespace."""

    namespace: str = "default"
    requests: Mapping[str, Mapping[str, int]] = field(default_factory=dict[str, "Mapping[str, int]"])


NO_NAMESPACE_DEFAULTS: Final = NamespaceDefaults()
"""A cluster without LimitRanges; objects without a namespace are in `default`."""


def namespace_defaults(plan: FleetPlan, namespace: str = "default") -> NamespaceDefaults:
    """Return the defaults of a fleet: the LimitRange of each namespace that a team owns."""
    return NamespaceDefaults(
        namespace,
        {
            each.name: {"cpu": team.isolation.requests_cpu, "memory": team.isolation.requests_memory}
            for team in plan.teams
            for each in team.namespaces
            if each.owned
        },
    )
