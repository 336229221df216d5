"""Rights that a stack file takes back and the provider does not: of a block that is left out it keeps what it knows."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator

from msgspec.structs import replace

from berth.diff.kinds import ChangeKind, ResourceKey, ResourceKind
from berth.diff.resources import IN_WORKER, ResourceChange
from berth.diff.rights.compare import (
    AUTHORIZED_NETWORK,
    CONTROL_PLANE,
    DNS_ENDPOINT,
    IP_ENDPOINT,
    OF_CLUSTER,
    PUBLIC_ENDPOINT,
    SECURITY_GROUP,
    SHARED_WITH,
    RightChange,
    RightKey,
    reservation_owner,
)
from berth.diff.update_effects import sent_plan
from berth.plan.fleet import FleetPlan
from berth.plan.gke import ClusterPlan


def with_kept_rights(
    rights: Iterable[RightChange], old: FleetPlan, new: FleetPlan, changed: Iterable[ResourceChange]
) -> tuple[RightChange, ...]:
    """The rights, with those marked as kept that end in the stack file only; what would be given instead is left out.

    `changed` are the resources: what is replaced keeps nothing.
    """
    replaced = {ResourceKey(change.kind, change.key) for change in changed if change.what == ChangeKind.REPLACED}
    kept = set(_kept_rights(old, new, replaced))
    marked = (_marked(right) if (right.owner, right.right) in kept else right for right in rights)
    result = [right for right in marked if right is not None]
    return tuple(sorted(result, key=lambda right: (not right.is_loud, right.owner, right.right)))


def _marked(right: RightChange) -> RightChange | None:
    return replace(right, what=ChangeKind.KEPT, after=None) if right.before is not None and not right.is_loud else None


def _kept_rights(
    old: FleetPlan, new: FleetPlan, replaced: Collection[ResourceKey], prefix: str = ""
) -> Iterator[RightKey]:
    before = {reservation.key: reservation for reservation in old.reservations}
    for reservation in new.reservations:
        was_shared = reservation.key in before and before[reservation.key].share_with
        is_replaced = (ResourceKind.RESERVATION, prefix + reservation.key) in replaced
        if was_shared and not reservation.share_with and not is_replaced:
            yield prefix + reservation_owner(reservation.key), SHARED_WITH
    if (ResourceKind.CLUSTER, f"{prefix}cluster") not in replaced:
        yield from ((prefix + owner, right) for owner, right in _kept_of_cluster(old.cluster, new.cluster))
    workers = {worker.name: worker.plan for worker in old.workers}
    for worker in new.workers:
        if worker.name in workers:
            yield from _kept_rights(workers[worker.name], worker.plan, replaced, f"{worker.name}{IN_WORKER}")


def _kept_of_cluster(old: object, new: object) -> Iterator[RightKey]:
    if not isinstance(old, ClusterPlan) or not isinstance(new, ClusterPlan):
        return
    before, after = old.control_plane, new.control_plane
    had_networks = before.authorized_networks is not None and before.ip_endpoint
    if had_networks and after.authorized_networks is None and after.public_endpoint:
        yield CONTROL_PLANE, AUTHORIZED_NETWORK
    if after.dns_endpoint is None and before.dns_endpoint is not None:
        yield CONTROL_PLANE, DNS_ENDPOINT
    sent = sent_plan(old, new)
    if isinstance(sent, ClusterPlan) and sent.control_plane.ip_endpoint == before.ip_endpoint != after.ip_endpoint:
        yield from ((CONTROL_PLANE, right) for right in (PUBLIC_ENDPOINT, IP_ENDPOINT))
    if new.security_group is None:
        yield OF_CLUSTER, SECURITY_GROUP
