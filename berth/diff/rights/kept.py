"""Rights that a stack file takes back and the provider does not: of a block that is left out it keeps what it knows."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from typing import Final

from msgspec.structs import replace

from berth.diff.guard.changes import worker_plan
from berth.diff.kinds import ChangeKind, ResourceChange
from berth.diff.provider_inputs.effects import UpdateEffect, is_within
from berth.diff.rights.changes import (
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
    loudest_first,
)
from berth.diff.rights.compare import reservation_owner
from berth.plan.fleet import FleetPlan
from berth.plan.gke import ClusterPlan
from berth.resource import IN_WORKER, ResourceKind

_SHARED: Final = "shareSettings.projects"
_GROUPS: Final = "authenticatorGroupsConfig"


def with_kept_rights(
    rights: Iterable[RightChange], old: FleetPlan, new: FleetPlan, changed: Iterable[ResourceChange]
) -> tuple[RightChange, ...]:
    """Return the rights, with those marked as kept that end in the stack file only.

    What would be given instead is left out. `changed` are the resources: what is replaced keeps nothing.
    """
    kept = {
        right for change in changed if change.what != ChangeKind.REPLACED for right in _kept_rights(change, old, new)
    }
    result: list[RightChange] = []
    for right in rights:
        if (right.owner, right.right) not in kept:
            result.append(right)
        elif right.before is not None and not right.is_loud:
            result.append(replace(right, what=ChangeKind.KEPT, after=None))
    return tuple(sorted(result, key=loudest_first))


def _kept_rights(change: ResourceChange, old: FleetPlan, new: FleetPlan) -> Iterator[RightKey]:
    """Yield the rights of inputs that the provider keeps; those of a worker's resource begin with its name."""
    worker, slash, key = change.key.rpartition(IN_WORKER)
    kept = [field.input for field in change.fields if field.does == UpdateEffect.KEPT]
    if change.kind == ResourceKind.RESERVATION and _SHARED in kept:
        yield worker + slash + reservation_owner(key), SHARED_WITH
    plans = (worker_plan(plan, worker) if worker else plan for plan in (old, new))
    clusters = [plan.cluster for plan in plans if plan is not None and isinstance(plan.cluster, ClusterPlan)]
    if change.kind == ResourceKind.CLUSTER and kept and len(clusters) == 2:
        yield from ((worker + slash + owner, right) for owner, right in _kept_of_cluster(kept, *clusters))


def _kept_of_cluster(kept: Collection[str], before: ClusterPlan, after: ClusterPlan) -> Iterator[RightKey]:
    is_open = after.control_plane.public_endpoint and after.control_plane.authorized_networks is None
    if "masterAuthorizedNetworksConfig.cidrBlocks" in kept and is_open:
        yield CONTROL_PLANE, AUTHORIZED_NETWORK
    if any(is_within(each, ["controlPlaneEndpointsConfig"]) for each in kept):
        if after.control_plane.dns_endpoint is None:
            yield CONTROL_PLANE, DNS_ENDPOINT
        if before.control_plane.ip_endpoint != after.control_plane.ip_endpoint:
            yield from ((CONTROL_PLANE, right) for right in (PUBLIC_ENDPOINT, IP_ENDPOINT))
    if any(is_within(each, [_GROUPS]) for each in kept):
        yield OF_CLUSTER, SECURITY_GROUP
