"""What a fleet loses with machines: nodes, slices, pools or zones, and which guarantees then have no machines.

Worst cases: lost nodes are in as many slices as there are, and lost machines are those that nothing else names.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Literal

from msgspec import Struct

from berth.diagnostics import did_you_mean, join_quoted
from berth.plan.fleet import FleetPlan, PoolPlan
from berth.plan.kueue import ClusterQueuePlan, CohortPlan, FlavorPlan

Verdict = Literal["holds", "may break", "breaks"]
_NODE, _SLICE = "node|host|machine", "slice|sub-?block"
_COUNTED = re.compile(rf"([0-9]{{1,9}}|an?|one) +({_NODE}|{_SLICE})s? +of +(\S+)", re.IGNORECASE)
_NAMED = re.compile(rf"(zone|pool|domain|reservation|worker|{_NODE}|{_SLICE}) *= *(\S+)", re.IGNORECASE)
FORMS = "'2 nodes of POOL', '2 slices of POOL', or node, slice or pool=POOL, reservation=NAME, worker=NAME, zone=ZONE"


class LossError(Exception):
    """A loss that cannot be computed; its message is one line."""


class PoolLoss(Struct, frozen=True):
    """What is lost of a pool: nodes that are gone, slices that no job can use, and the accelerators of both."""

    pool: PoolPlan
    nodes: int
    slices: int
    accelerators: int


class FlavorLoss(Struct, frozen=True):
    """What the machines of a flavor had and have, in what people count (`guaranteed` over all queues and cohorts)."""

    flavor: FlavorPlan
    lost: int
    after: int

    @property
    def missing(self) -> int:
        """Guaranteed accelerators without a machine."""
        return max(0, self.flavor.promised - self.after)

    @property
    def spare(self) -> int:
        """Accelerators that nobody is guaranteed."""
        return max(0, self.after - self.flavor.promised)


class BrokenGuarantee(Struct, frozen=True):
    """A guarantee on a flavor that lost machines. It breaks if what remains is less, whoever else uses it."""

    owner: ClusterQueuePlan | CohortPlan
    flavor: str
    guaranteed: int
    verdict: Verdict


class Losses(Struct, frozen=True):
    """The answer: `pools` and `flavors` lost machines; `unknown` are pools of which nobody knows whether they do."""

    pools: tuple[PoolLoss, ...]
    flavors: tuple[FlavorLoss, ...]
    guarantees: tuple[BrokenGuarantee, ...]
    unknown: tuple[str, ...]


def losses_of(plan: FleetPlan, written: Iterable[str]) -> Losses:
    """Compute what is lost. Raise LossError for a text that is none of the forms, or names what the fleet lacks."""
    nodes, slices, unknown = Counter[str](), Counter[str](), set[str]()
    zones = set[str]()
    for text in (part.strip() for each in written for part in each.split(",")):
        if named := _NAMED.fullmatch(text):
            _add_named(plan, nodes, slices, zones, named[1].lower(), named[2])
        elif counted := _COUNTED.fullmatch(text):
            number = int(counted[1]) if counted[1].isdigit() else 1
            _add_counted(nodes, slices, _known_pool(plan, counted[3]), counted[2].lower(), number)
        else:
            raise LossError(f"'{text}' is no loss; write {FORMS}")
    for pool in plan.pools if zones else ():
        if pool.zones:
            _add_part(nodes, slices, pool, len(zones & {*pool.zones}), len(pool.zones))
        elif pool.nodes.max:
            unknown.add(pool.name)
    pools = tuple(loss for pool in plan.pools if (loss := _pool_loss(pool, nodes[pool.name], slices[pool.name])).nodes)
    flavors = tuple(_flavor_losses(plan, pools))
    return Losses(pools, flavors, tuple(_guarantees(plan, flavors)), tuple(sorted(unknown)))


def _add_named(
    plan: FleetPlan, nodes: Counter[str], slices: Counter[str], zones: set[str], what: str, name: str
) -> None:
    """Add one thing of a kind, by name: a zone, a node or slice of a pool, or all of several pools."""
    if what == "zone":
        zones.add(_known_zone(plan, name))
    elif what in ("pool", "domain"):
        _add_part(nodes, slices, _known_pool(plan, name), 1, 1)
    elif what in ("reservation", "worker"):
        for pool in _pools_of(plan, what, name):
            _add_part(nodes, slices, pool, 1, 1)
    else:
        _add_counted(nodes, slices, _known_pool(plan, name), what, 1)


def _pools_of(plan: FleetPlan, what: str, name: str) -> list[PoolPlan]:
    """Return the pools of a reservation, or of a worker."""
    keys = {held.name: held.key for held in plan.held}
    of_pool = {
        pool.name: keys.get(pool.reservation or "", pool.reservation) if what == "reservation" else pool.worker
        for pool in plan.pools
    }
    name = keys.get(name, name)
    known = sorted({each for each in of_pool.values() if each is not None})
    if name not in known:
        others = did_you_mean(name, known) or (f"; write one of {join_quoted(known)}" if known else "")
        raise LossError(f"no pool has machines of {what} '{name}'{others}")
    return [pool for pool in plan.pools if of_pool[pool.name] == name and pool.nodes.max]


def _known_pool(plan: FleetPlan, name: str) -> PoolPlan:
    pools = {pool.name: pool for pool in plan.pools}
    members = next((flavor.pools for flavor in plan.flavors if flavor.name == name and name not in pools), ())
    if len(members) == 1:
        name = members[0]
    elif members:
        raise LossError(f"'{name}' is a flavor; write one of its pools {join_quoted(sorted(members))}")
    if name not in pools:
        raise LossError(
            f"no pool '{name}'{did_you_mean(name, pools) or f'; write one of {join_quoted(sorted(pools))}'}"
        )
    if not pools[name].nodes.max:
        raise LossError(f"pool '{name}' can have no node, so it cannot lose one; name another pool")
    return pools[name]


def _known_zone(plan: FleetPlan, name: str) -> str:
    zones = {zone for pool in plan.pools for zone in pool.zones}
    if name not in zones:
        known = f"; write one of {join_quoted(sorted(zones))}" if zones else "; no pool says its zones"
        raise LossError(f"no pool has nodes in zone '{name}'{known}")
    return name


def _add_counted(nodes: Counter[str], slices: Counter[str], pool: PoolPlan, unit: str, number: int) -> None:
    if not number:
        raise LossError(f"'0 {unit}s of {pool.name}' loses nothing; write 1 or more")
    if re.fullmatch(_SLICE, unit):
        _add_slices(slices, pool, number)
        return
    nodes[pool.name] += number
    if nodes[pool.name] > pool.nodes.max:
        raise LossError(
            f"'{nodes[pool.name]} nodes of {pool.name}' are more than it can have; write at most {pool.nodes.max}"
        )


def _add_slices(slices: Counter[str], pool: PoolPlan, number: int) -> None:
    if pool.slices is None:
        raise LossError(f"pool '{pool.name}' has no slices; write '{number} node{'s' * (number > 1)} of {pool.name}'")
    slices[pool.name] += number
    if slices[pool.name] > pool.slices.max:
        raise LossError(
            f"'{slices[pool.name]} slices of {pool.name}' are more than it can have; write at most {pool.slices.max}"
        )


def _add_part(nodes: Counter[str], slices: Counter[str], pool: PoolPlan, part: int, whole: int) -> None:
    """Add a part of a pool: the largest that it can be, where GKE divides its nodes among zones."""
    if pool.slices is None:
        nodes[pool.name] += -(-pool.nodes.max * part // whole)
    else:
        slices[pool.name] += -(-pool.slices.max * part // whole)


def _pool_loss(pool: PoolPlan, nodes: int, slices: int) -> PoolLoss:
    """Return the loss of a pool; a slice of several hosts is lost with the first of them."""
    if pool.slices is None:
        gone = min(nodes, pool.nodes.max)
        return PoolLoss(pool, gone, 0, gone * (pool.accelerators.max // max(1, pool.nodes.max)))
    broken = min(pool.slices.max, slices + nodes)
    gone = min(pool.nodes.max, slices * (pool.hosts_per_slice or 1) + nodes)
    return PoolLoss(pool, gone, broken, broken * (pool.accelerators.max // max(1, pool.slices.max)))


def _flavor_losses(plan: FleetPlan, pools: Iterable[PoolLoss]) -> Iterator[FlavorLoss]:
    lost = Counter[str]()
    for each in pools:
        lost[each.pool.flavor] += each.accelerators
    for flavor in plan.flavors:
        if lost[flavor.name]:
            yield FlavorLoss(flavor, lost[flavor.name], max(0, flavor.capacity.max - lost[flavor.name]))


def _guarantees(plan: FleetPlan, flavors: Iterable[FlavorLoss]) -> Iterator[BrokenGuarantee]:
    by_name: Mapping[str, FlavorLoss] = {each.flavor.name: each for each in flavors}
    for owner in (*plan.cluster_queues, *plan.cohorts):
        for entry in owner.flavors:
            loss = by_name.get(entry.flavor)
            counted = [each.counted for each in entry.quotas if loss and each.resource == loss.flavor.resource]
            if loss is None or not counted or not counted[0].nominal:
                continue
            nominal = counted[0].nominal
            verdict: Verdict = "breaks" if nominal > loss.after else "may break" if loss.missing else "holds"
            yield BrokenGuarantee(owner, entry.flavor, nominal, verdict)
