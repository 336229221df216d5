"""Pods of one template, as plain frozen values: how many, what each requests, which nodes they accept."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct, field

from berth.plan.nodes import Toleration


class NodeSelectorRequirement(Struct, frozen=True):
    """One expression of a node affinity: a label's key, Kubernetes' operator and values."""

    key: str
    operator: str
    values: tuple[str, ...] = ()


class PodSet(Struct, frozen=True, kw_only=True):
    """Pods of one template: how many, what each requests, and which nodes they accept.

    `affinity` are terms of which one must hold. `tolerations` None tolerates everything.
    """

    name: str
    count: int
    requests: Mapping[str, int]
    node_selector: Mapping[str, str] = field(default_factory=dict[str, str])
    affinity_terms: tuple[tuple[NodeSelectorRequirement, ...], ...] = ()
    tolerations: tuple[Toleration, ...] | None = None
