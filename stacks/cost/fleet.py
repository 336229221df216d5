"""What a fleet costs by the hour: its machines, and what teams are promised of them.

Machines only: no disks, no network, no licences, no fee for the cluster. What has no price is named, never counted as
nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction

from components.plan.capacity import HeldPlan
from components.plan.fleet import FleetPlan, PoolPlan
from components.plan.gke import NodePoolPlan
from components.plan.nodes import Bounds
from components.plan.teams import TeamPlan
from stacks.cost.prices import Prices

POOL, RESERVATION, SYSTEM = "pool", "reservation", "system pool"


@dataclass(frozen=True, slots=True)
class MachinesCost:
    """Machines of one kind: an accelerator `pool`, what no pool takes of a `reservation`, or the `system pool`.

    `nodes` are always there, and at the most. `price` is of one machine in an hour; None where the table has none, and
    `hint` then says which it may have been.
    """

    kind: str
    name: str
    machine_type: str
    capacity: str
    nodes: Bounds
    price: Fraction | None
    hint: str = ""

    @property
    def committed(self) -> Fraction | None:
        """An hour of the machines that are always there."""
        return None if self.price is None else self.price * self.nodes.min

    @property
    def ceiling(self) -> Fraction | None:
        """An hour with as many machines as there can be."""
        return None if self.price is None else self.price * self.nodes.max


@dataclass(frozen=True, slots=True)
class Sum:
    """Two sums, and the names of the parts that have no price and are in neither.

    Of a fleet: what is `committed` to, and its ceiling. Of a team: what is committed to it, its guarantees; and the
    most that it can reach.
    """

    committed: Fraction
    ceiling: Fraction
    unpriced: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Cost:
    """An hour of a fleet by a table of `prices`; `teams` are by name.

    An accelerator costs its share of its machine, at the dearest machine of its flavor. Teams borrow from each other,
    so their ceilings together are more than the fleet's.
    """

    prices: Prices
    machines: tuple[MachinesCost, ...]
    teams: Mapping[str, Sum]

    @property
    def fleet(self) -> Sum:
        """All machines together."""
        priced = [m for m in self.machines if m.price is not None]
        return Sum(
            sum((m.committed or Fraction() for m in priced), Fraction()),
            sum((m.ceiling or Fraction() for m in priced), Fraction()),
            tuple(m.name for m in self.machines if m.price is None),
        )

    @property
    def unpriced(self) -> tuple[MachinesCost, ...]:
        """Machines without a price."""
        return tuple(m for m in self.machines if m.price is None)


def cost(plan: FleetPlan, prices: Prices) -> Cost:
    """An hour of a fleet."""
    each = _of_accelerators(plan, prices)
    return Cost(prices, tuple(_machines(plan, prices)), {team.name: _team(team, each) for team in plan.teams})


# --- machines ---------------------------------------------------------------------------------------------------------


def _machines(plan: FleetPlan, prices: Prices) -> Iterator[MachinesCost]:
    def priced(kind: str, name: str, machine: str, capacity: str, nodes: Bounds) -> MachinesCost:
        price = prices.of(machine, capacity)
        return MachinesCost(
            kind, name, machine, capacity, nodes, price, "" if price is not None else prices.hint(machine)
        )

    for pool in plan.pools:
        yield priced(POOL, pool.name, pool.machine_type, pool.capacity, pool.nodes)
    for held in plan.held:
        idle = _idle(held, plan.pools)
        if idle.max or idle.min:
            yield priced(RESERVATION, held.key, held.machine_type, "reservation", idle)
    if plan.system_pool is not None:
        pool = plan.system_pool
        yield priced(SYSTEM, pool.name, pool.machine_type, "spot" if pool.spot else "on-demand", _nodes(pool))


def _idle(held: HeldPlan, pools: Iterable[PoolPlan]) -> Bounds:
    """What a reservation is paid for besides the nodes of its pools; both numbers fall as these rise.

    Nothing of another project's, whose bill it is, and nothing of one that is not there yet.
    """
    if held.project is not None or not held.delivered or held.start is not None:
        return Bounds(min=0, max=0)
    taken = [pool.nodes for pool in pools if pool.name in held.pools]
    return Bounds(
        min=max(0, held.count - sum(nodes.min for nodes in taken)),
        max=max(0, held.count - sum(nodes.max for nodes in taken)),
    )


def _nodes(pool: NodePoolPlan) -> Bounds:
    fixed = (pool.nodes_per_zone or 0) * max(1, len(pool.zones))
    return pool.total_nodes or Bounds(min=fixed, max=fixed)


# --- teams ------------------------------------------------------------------------------------------------------------


def _of_accelerators(plan: FleetPlan, prices: Prices) -> dict[str, Fraction | None]:
    """Flavor → one accelerator for an hour; None where one of its machines has no price. Empty pools cost nothing."""
    found: dict[str, Fraction | None] = {}
    for flavor in plan.flavors:
        shares = [_share(p, prices) for p in plan.pools if p.name in flavor.pools and p.accelerators.max]
        known = [share for share in shares if share is not None]
        found[flavor.name] = max(known, default=Fraction()) if len(known) == len(shares) else None
    return found


def _share(pool: PoolPlan, prices: Prices) -> Fraction | None:
    price = prices.of(pool.machine_type, pool.capacity)
    return None if price is None else price * pool.nodes.max / pool.accelerators.max


def _team(team: TeamPlan, each: Mapping[str, Fraction | None]) -> Sum:
    def total(amounts: Mapping[str, int]) -> Fraction:
        return sum(((each.get(flavor) or Fraction()) * amount for flavor, amount in amounts.items()), Fraction())

    missing = (f for f, most in team.ceiling.items() if each.get(f) is None and (most or team.guaranteed.get(f)))
    return Sum(total(team.guaranteed), total(team.ceiling), tuple(sorted(missing)))
