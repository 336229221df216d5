"""What a change means on Alibaba Cloud: members, their node pools and the fleet above them, and the tree of quotas."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from msgspec import Struct
from msgspec.structs import replace

from berth.diff.entitlements import NodeQuota, Step
from berth.diff.fields import differences
from berth.diff.guard.changes import DELETE, Loss, allowed, guarantees_gone, losses_of_things
from berth.diff.guard.protected import ON_ACK
from berth.diff.pools import ADDED, CHANGED, RESIZED, PoolChange
from berth.diff.resources import (
    CLUSTER,
    CREATED,
    DELETED,
    FLEET,
    MEMBERSHIP,
    NODE_POOL,
    REPLACED,
    FieldEffect,
    Identity,
    Thing,
    ThingChange,
    compare_listed,
)
from berth.diff.update_effects import LATER, UPDATE
from berth.plan.ack import AckFleetPlan, AckNodePoolPlan, MemberPlan, QuotaNodePlan
from berth.plan.nodes import Bounds

_NONE = Bounds(min=0, max=0)


class AckCluster(Struct, frozen=True):
    """What a member's cluster is made from; its node pools are things of their own."""

    region: str
    vpc: str
    name: str
    cluster_spec: str
    version: str | None
    vswitches: tuple[str, ...]
    pod_vswitches: tuple[str, ...]
    pod_range: str | None
    service_range: str
    protect: bool


class Membership(Struct, frozen=True):
    """A member's place in the fleet; ids are None of what the stack itself makes."""

    fleet: str | None
    member: str | None


def compare_ack_things(old: AckFleetPlan, new: AckFleetPlan) -> tuple[ThingChange, ...]:
    """What becomes of everything that the stack makes on Alibaba Cloud, as `compare_things`."""
    return compare_listed(list(ack_things(old)), list(ack_things(new)), _made_of)


def ack_things(plan: AckFleetPlan) -> Iterator[Thing]:
    """Everything that the stack makes on Alibaba Cloud, the fleet first; what exists already is not made."""
    fleet = plan.fleet
    if fleet.existing is None:
        yield Thing(FLEET, FLEET, fleet)
    for member in plan.members:
        if member.existing is None:
            yield Thing(CLUSTER, member.name, _cluster(plan, member))
            for pool in member.node_pools:
                name = f"{member.name}/{pool.name}"
                yield Thing(NODE_POOL, name, pool, name)
        yield Thing(MEMBERSHIP, member.name, Membership(fleet.existing, member.existing))


def _cluster(plan: AckFleetPlan, member: MemberPlan) -> AckCluster:
    return AckCluster(
        region=plan.region,
        vpc=plan.fleet.vpc,
        name=member.name,
        cluster_spec=member.cluster_spec,
        version=member.version,
        vswitches=member.vswitches,
        pod_vswitches=member.pod_vswitches,
        pod_range=member.pod_range,
        service_range=member.service_range,
        protect=member.protect,
    )


def _made_of(thing: Thing) -> Iterator[Identity]:
    """The things whose ids its own inputs are made of."""
    if thing.kind == NODE_POOL:
        yield CLUSTER, thing.key.partition("/")[0]
    elif thing.kind == MEMBERSHIP:
        yield FLEET, FLEET
        yield CLUSTER, thing.key


# --- node pools -------------------------------------------------------------------------------------------------------


def compare_ack_pools(old: AckFleetPlan, new: AckFleetPlan, changed: Iterable[ThingChange]) -> tuple[PoolChange, ...]:
    """What becomes of each node pool that is not left as it is, by member and name; also of those of existing members,
    which are only described, so that nothing of them is hit."""
    before, after = _node_pools(old), _node_pools(new)
    parts = {change.key: change for change in changed if change.kind == NODE_POOL}
    return tuple(
        _pool_change(name, before.get(name), after.get(name), parts.get(name), (old, new))
        for name in sorted(before.keys() | after.keys())
        if name in parts or _described(before.get(name)) != _described(after.get(name))
    )


def _node_pools(plan: AckFleetPlan) -> dict[str, AckNodePoolPlan]:
    return {f"{member.name}/{pool.name}": pool for member in plan.members for pool in member.node_pools}


def _described(pool: AckNodePoolPlan | None) -> object:
    """What is known of a node pool, whoever makes it."""
    return pool and (pool.instance_type, pool.gpu, pool.gpus, pool.nodes, pool.spot, pool.flavor)


def _pool_change(
    name: str,
    one: AckNodePoolPlan | None,
    other: AckNodePoolPlan | None,
    part: ThingChange | None,
    plans: tuple[AckFleetPlan, AckFleetPlan],
) -> PoolChange:
    lost = one or other
    assert lost is not None
    what = _what(one, other, part)
    gone = one if one is not None and part is not None and part.what in (REPLACED, DELETED) else None
    return PoolChange(
        pool=name,
        what=what,
        machine_type=lost.instance_type,
        noun=lost.gpu,
        capacity="spot" if lost.spot else "on-demand",
        reservation=None,
        nodes=(one.nodes if one else _NONE, other.nodes if other else _NONE),
        accelerators=(one.accelerators if one else _NONE, other.accelerators if other else _NONE),
        hit_nodes=gone.nodes.max if gone else 0,
        hit_accelerators=gone.accelerators.max if gone else 0,
        queues=_queues(plans[0] if one else plans[1], lost.flavor),
        fields=tuple(_fields(one, other, part)),
        because=part.because if part else (),
        renamed=None,
    )


def _fields(
    one: AckNodePoolPlan | None, other: AckNodePoolPlan | None, part: ThingChange | None
) -> Iterator[FieldEffect]:
    """The fields that differ, but for its size; of one that is only described, as it is described now."""
    if one is None or other is None:
        return
    if part is None:
        found = [FieldEffect(c.path, c.path, c.before, c.after, UPDATE) for c in differences(one, other)]
    elif part.what == REPLACED:  # all its nodes are new ones
        found = [replace(field, does=UPDATE) if field.does == LATER else field for field in part.fields]
    else:
        found = [*part.fields]
    yield from (field for field in found if not field.path.startswith("nodes"))


def _what(one: AckNodePoolPlan | None, other: AckNodePoolPlan | None, part: ThingChange | None) -> str:
    if one is None:
        return ADDED
    if other is None or (part is not None and part.what == DELETED):
        return DELETED
    if part is not None and part.what in (CREATED, REPLACED):
        return ADDED if part.what == CREATED else REPLACED
    return RESIZED if one.nodes != other.nodes else CHANGED


def _queues(plan: AckFleetPlan, flavor: str) -> tuple[str, ...]:
    return tuple(q.name for q in plan.cluster_queues if any(entry.flavor == flavor for entry in q.flavors))


# --- what is guarded --------------------------------------------------------------------------------------------------


def ack_losses(old: AckFleetPlan, new: AckFleetPlan, changed: Sequence[ThingChange]) -> tuple[Loss, ...]:
    """Everything dear that is lost: clusters, node pools, the fleet, and leaves of the tree that guarantee something.

    A leaf is no resource of its own, so `pulumi up` cannot hold it; its allowance counts from the change that has it.
    """
    allowances = old.allowances, new.allowances
    return (*losses_of_things(changed, _allowance_key, _node_pools(new), allowances), *_leaves(old, new))


def _allowance_key(change: ThingChange) -> str | None:
    dear = ON_ACK.get(change.kind)
    return dear and dear.allowed_as(change.key)


def _leaves(old: AckFleetPlan, new: AckFleetPlan) -> Iterator[Loss]:
    for queue, held in guarantees_gone(old.flavors, old.cluster_queues, new.cluster_queues):
        key = f"clusterQueues.{queue.name}"
        yield Loss("queue", queue.name, key, DELETE, flavors=held, allowed=allowed(DELETE, key, new.allowances))


# --- the tree of quotas -----------------------------------------------------------------------------------------------


def compare_quota_trees(old: AckFleetPlan, new: AckFleetPlan) -> tuple[NodeQuota, ...]:
    """What each node's minimum and maximum of accelerators become, and what others may use of the minimum."""
    before, after = _quotas(old.quotas), _quotas(new.quotas)
    nothing = (0, 0, 0)
    return tuple(
        NodeQuota(*key, *(Step(one[at], other[at]) for at in range(3)))
        for key in [*after, *(key for key in before if key not in after)]
        if (one := before.get(key, nothing)) != (other := after.get(key, nothing))
    )


def _quotas(root: QuotaNodePlan) -> dict[tuple[str, str], tuple[int, int, int]]:
    """Node and resource to minimum, maximum, and what of the minimum is lent, in the order of the tree."""
    return {
        (node.name, resource): (least, node.maximum[resource], (node.lend or {}).get(resource, least))
        for _, node in root.walk()
        for resource, least in node.minimum.items()
        if resource not in _BASIC
    }


_BASIC = ("cpu", "memory")
