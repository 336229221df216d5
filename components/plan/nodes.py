"""What is said of nodes on both sides: counts, taints, tolerations."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Taint:
    """A node taint, in Kubernetes' spelling (`effect` is NoSchedule, PreferNoSchedule or NoExecute)."""

    key: str
    value: str
    effect: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Toleration:
    """A pod toleration as Kueue injects it from a flavor. `value` is None exactly when `operator` is Exists."""

    key: str
    operator: str
    effect: str
    value: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """An inclusive range of counts; equal ends mean a fixed count."""

    min: int
    max: int
