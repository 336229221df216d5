"""What the guard holds in Google Cloud: things that are hard to get again, one row each."""

from __future__ import annotations

from typing import Final

from msgspec import Struct

from stacks.changes.things import CLUSTER, FUTURE_RESERVATION, NODE_POOL, RESERVATION


class Dear(Struct, frozen=True):
    """A kind of thing. Its `resource` is called by the thing's key and then `ending` in the program; an allowance names
    it as `allowance` says, of its `key` or its `pool`.
    """

    kind: str
    resource: str
    ending: str
    allowance: str

    def key(self, name: str) -> str:
        """The thing's key, of a resource called `name`."""
        return name.removesuffix(self.ending)

    def allowed_as(self, key: str, pool: str | None = None) -> str:
        """The key of its allowance: `cluster`, `v5e`, `reservations.l4`."""
        return self.allowance.format(key=key, pool=pool)


DEAR: Final = (
    Dear(CLUSTER, "gcp:container/cluster:Cluster", "-cluster", "{key}"),
    Dear(NODE_POOL, "gcp:container/nodePool:NodePool", "-pool", "{pool}"),
    Dear(RESERVATION, "gcp:compute/reservation:Reservation", "-reservation", "reservations.{key}"),
    Dear(FUTURE_RESERVATION, "gcp:compute/futureReservation:FutureReservation", "-request", "reservations.{key}"),
)
BY_KIND: Final = {each.kind: each for each in DEAR}
BY_RESOURCE: Final = {each.resource: each for each in DEAR}
