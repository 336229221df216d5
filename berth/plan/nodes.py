"""What is said of nodes on both sides: counts, taints, tolerations."""

from __future__ import annotations

from msgspec import Struct


class Toleration(Struct, frozen=True, kw_only=True):
    """A toleration of pods; no key and no effect mean any, and `Exists` any value.

    A flavor's have a key and an effect, and a value exactly when `operator` is Equal.
    """

    key: str | None = None
    operator: str = "Exists"
    effect: str | None = None
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
