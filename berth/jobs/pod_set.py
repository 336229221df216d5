"""Pods of one template: their number, requests and node constraints."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct, field

from berth.plan.nodes import Toleration


class NodeSelectorRequirement(Struct, frozen=True):
    """One expression of a node affinity: label key, operator and values."""

    key: str
    operator: str
    values: tuple[str, ...] = ()


class PodSet(Struct, frozen=True, kw_only=True):
    """Pods of one template: their number, requests and node constraints.

    One of `affinity_terms` must match. `tolerations` None tolerates every taint.
    """

    name: str
    count: int
    requests: Mapping[str, int]
    node_selector: Mapping[str, str] = field(default_factory=dict[str, str])
    affinity_terms: tuple[tuple[NodeSelectorRequirement, ...], ...] = ()
    tolerations: tuple[Toleration, ...] | None = None
