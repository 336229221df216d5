"""What the guard holds: things that are hard to get again, one row each; in Google Cloud, and on Alibaba Cloud."""

from __future__ import annotations

from typing import Final

from msgspec import Struct

from berth.diff.resources import CLUSTER, FLEET, FUTURE_RESERVATION, NODE_POOL, RESERVATION


class Dear(Struct, frozen=True):
    """A kind of thing. Its `resource` is called `beginning`, the thing's key and `ending` in the program; an allowance
    names it as `allowance` says, of its `key` or its `pool`.
    """

    kind: str
    resource: str
    ending: str
    allowance: str
    beginning: str = ""

    def key(self, name: str) -> str:
        """The thing's key, of a resource called `name`."""
        return name.removeprefix(self.beginning).removesuffix(self.ending)

    def allowed_as(self, key: str, pool: str | None = None) -> str:
        """The key of its allowance: `cluster`, `v5e`, `reservations.l4`."""
        return self.allowance.format(key=key, pool=pool)


_ON_GKE: Final = (
    Dear(CLUSTER, "gcp:container/cluster:Cluster", "-cluster", "{key}"),
    Dear(NODE_POOL, "gcp:container/nodePool:NodePool", "-pool", "{pool}"),
    Dear(RESERVATION, "gcp:compute/reservation:Reservation", "-reservation", "reservations.{key}"),
    Dear(FUTURE_RESERVATION, "gcp:compute/futureReservation:FutureReservation", "-request", "reservations.{key}"),
)
_ON_ACK: Final = (
    Dear(CLUSTER, "alicloud:cs/managedKubernetes:ManagedKubernetes", "-cluster", "clusters.{key}", "member-"),
    Dear(NODE_POOL, "alicloud:cs/nodePool:NodePool", "", "{key}"),
    Dear(FLEET, "alicloud:ackone/cluster:Cluster", "", "fleet"),
)
ON_GKE: Final = {each.kind: each for each in _ON_GKE}
ON_ACK: Final = {each.kind: each for each in _ON_ACK}
BY_RESOURCE: Final = {each.resource: each for each in (*_ON_GKE, *_ON_ACK)}
