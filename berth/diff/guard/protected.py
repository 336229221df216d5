"""What the guard holds: things that are hard to get again, one row each; in Google Cloud, and on Alibaba Cloud."""

from __future__ import annotations

from typing import Final

from msgspec import Struct

from berth.diff.kinds import ResourceKind


class ProtectedKind(Struct, frozen=True):
    """A kind of thing. Its `resource` is called `beginning`, the thing's key and `ending` in the program; an allowance
    names it as `allowance` says, of its `key` or its `pool`.
    """

    kind: ResourceKind
    type_token: str
    name_suffix: str
    allowance_format: str
    name_prefix: str = ""

    def resource_key(self, name: str) -> str:
        """The thing's key, of a resource called `name`."""
        return name.removeprefix(self.name_prefix).removesuffix(self.name_suffix)

    def allowance_key(self, key: str, pool: str | None = None) -> str:
        """The key of its allowance: `cluster`, `v5e`, `reservations.l4`."""
        return self.allowance_format.format(key=key, pool=pool)


class GuardedResource(Struct, frozen=True):
    """A resource of the program that the guard protects; `key` is the key of its allowance.

    `node_pools` are the parts of a pool that the resource is, and `whole` whether the pool has no others. `flavors` are
    those that a queue guarantees something of.
    """

    kind: ResourceKind
    name: str
    key: str
    node_pools: tuple[str, ...] = ()
    whole: bool = True
    flavors: tuple[str, ...] = ()
    worker: str | None = None


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
_ACK_KINDS: Final = (
    ProtectedKind(
        ResourceKind.CLUSTER, "alicloud:cs/managedKubernetes:ManagedKubernetes", "-cluster", "clusters.{key}", "member-"
    ),
    ProtectedKind(ResourceKind.NODE_POOL, "alicloud:cs/nodePool:NodePool", "", "{key}"),
    ProtectedKind(ResourceKind.FLEET, "alicloud:ackone/cluster:Cluster", "", "fleet"),
)
PROTECTED_ON_GKE: Final = {each.kind: each for each in _GKE_KINDS}
PROTECTED_ON_ACK: Final = {each.kind: each for each in _ACK_KINDS}
PROTECTED_BY_TYPE: Final = {each.type_token: each for each in (*_GKE_KINDS, *_ACK_KINDS)}
