"""What is said of nodes on both sides: counts, taints, tolerations."""

from __future__ import annotations

from msgspec import Struct


class Toleration(Struct, frozen=True, kw_only=True):
    """A pod toleration as Kueue injects it from a flavor. `value` is None exactly when `operator` is Exists."""

    key: str
    operator: str
    effect: str
    value: str | None = None


class Taint(Struct, frozen=True, kw_only=True):
    """A node taint, in Kubernetes' spelling (`effect` is NoSchedule, PreferNoSchedule or NoExecute)."""

    key: str
    value: str
    effect: str

    @property
    def tolerated(self) -> Toleration:
        """What tolerates this taint and no other."""
        return Toleration(key=self.key, operator="Equal", value=self.value, effect=self.effect)


class Bounds(Struct, frozen=True, kw_only=True):
    """An inclusive range of counts; equal ends mean a fixed count."""

    min: int
    max: int
