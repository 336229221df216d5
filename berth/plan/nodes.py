"""Common values of nodes and pods: counts, taints, tolerations."""

from __future__ import annotations

from msgspec import Struct


class Toleration(Struct, frozen=True, kw_only=True):
    """A toleration of pods; without a key or effect it matches any, and `Exists` matches any value.

    Tolerations of a flavor have a key and an effect, and a value if and only if `operator` is Equal.
    """

    key: str | None = None
    operator: str = "Exists"
    effect: str | None = None
    value: str | None = None


class Taint(Struct, frozen=True, kw_only=True):
    """A node taint; `effect` is NoSchedule, PreferNoSchedule or NoExecute."""

    key: str
    value: str
    effect: str

    @property
    def tolerated(self) -> Toleration:
        """Return the toleration of exactly this taint."""
        return Toleration(key=self.key, operator="Equal", value=self.value, effect=self.effect)


class Bounds(Struct, frozen=True, kw_only=True):
    """An inclusive range of counts; equal bounds mean a fixed count."""

    min: int
    max: int
