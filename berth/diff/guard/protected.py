"""Kinds of protected resources on Google Cloud, one row each."""

from __future__ import annotations

from typing import Final

from msgspec import Struct

from berth.resource import ResourceKind


class ProtectedKind(Struct, frozen=True):
    """A kind of protected resource.

    Its Pulumi name is `name_prefix`, the key and `name_suffix`; `allowance_format` is its name in an allowance, made of
    its `key` or its `pool`.
    """

    kind: ResourceKind
    type_token: str
    name_suffix: str
    allowance_format: str
    name_prefix: str = ""

    def resource_key(self, name: str) -> str:
        """Return the key of a resource named `name`."""
        return name.removeprefix(self.name_prefix).removesuffix(self.name_suffix)

    def allowance_key(self, key: str, pool: str | None = None) -> str:
        """Return the name in an allowance: `cluster`, `v5e`, `reservations.l4`."""
        return self.allowance_format.format(key=key, pool=pool)


_GKE_KINDS: Final = (
    ProtectedKind(ResourceKind.CLUSTER, "gcp:container/cluster:Cluster", "-cluster", "{key}"),
    ProtectedKind(ResourceKind.NODE_POOL, "gcp:container/nodePool:NodePool", "-pool", "{pool}"),
    ProtectedKind(
        ResourceKind.RESERVATION, "gcp:compute/reservation:Reservation", "-reservation", "reservations.{key}"
    ),
    ProtectedKind(
        ResourceKind.FUTURE_RESERVATION,
        "gcp:compute/futureReservation:FutureReservation",
        "-request",
        "reservations.{key}",
    ),
)
PROTECTED_ON_GKE: Final = {each.kind: each for each in _GKE_KINDS}
PROTECTED_BY_TYPE: Final = {each.type_token: each for each in _GKE_KINDS}
