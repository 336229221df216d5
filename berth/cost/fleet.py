"""Hourly cost of a fleet, its machines and the guarantees of teams; and of a change.

Machines only, without disks, network, licences and the cluster fee. Machines without a price are listed, never counted
as 0.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from fractions import Fraction

from msgspec import Struct, field

from berth import catalog
from berth.cost.prices import Prices
from berth.plan.capacity import HeldPlan, kept_nodes
from berth.plan.fleet import FleetPlan, PoolPlan
from berth.plan.node_settings import Bounds
from berth.plan.teams import TeamPlan

POOL, RESERVATION, SYSTEM, BUFFER = "pool", "reservation", "system pool", "capacity buffer"


class MachineCost(Struct, frozen=True):
    """Machines of one kind: an accelerator `pool`, the unused rest of a `reservation`, or the `system pool`.

    A standby `capacity buffer` is one of machines that GKE chooses, so it has no price.
    `nodes` is the minimum, with those that capacity buffers keep running, and the maximum. `price` is that of one
    machine for an hour; for a compute class, of its most expensive priority. It is None if the table has none, and
    `missing` are then the machine types without a price.
    """

    kind: str
    name: str
    machine_type: str
    capacity: str
    nodes: Bounds
    price: Fraction | None
    missing: tuple[tuple[str, str], ...] = ()

    @property
    def label(self) -> str:
        """The display name; a pool and a reservation can have the same name."""
        return f"rest of reservation {self.name}" if self.kind == RESERVATION else self.name

    @property
    def committed(self) -> Fraction | None:
        """Cost per hour of the machines that always run."""
        return None if self.price is None else self.price * self.nodes.min

    @property
    def ceiling(self) -> Fraction | None:
        """Cost per hour with the maximum number of machines."""
        return None if self.price is None else self.price * self.nodes.max


class CostTotal(Struct, frozen=True):
    """Two sums, and the labels of machines or names of flavors that are in neither because they have no price.

    For a fleet: the machines that always run, and all machines. For a team: its guarantee and its ceiling.
    """

    committed: Fraction
    ceiling: Fraction
    unpriced: tuple[str, ...] = ()


class FleetCost(Struct, frozen=True):
    """The hourly cost of a fleet with a table of `prices`; `teams` are by name, `accelerators` by flavor.

    An accelerator costs its share of the most expensive machine of its flavor. Teams borrow from each other, so the sum
    of their ceilings is more than the fleet's.
    """

    prices: Prices
    machines: tuple[MachineCost, ...]
    teams: Mapping[str, CostTotal]
    accelerators: Mapping[str, Fraction | None] = field(default_factory=dict[str, "Fraction | None"])

    @property
    def fleet(self) -> CostTotal:
        """The sum over all machines."""
        priced = [m for m in self.machines if m.price is not None]
        return CostTotal(
            sum((m.committed or Fraction() for m in priced), Fraction()),
            sum((m.ceiling or Fraction() for m in priced), Fraction()),
            tuple(m.label for m in self.machines if m.price is None),
        )

    @property
    def unpriced(self) -> tuple[MachineCost, ...]:
        """Machines without a price."""
        return tuple(m for m in self.machines if m.price is None)


def fleet_cost(plan: FleetPlan, prices: Prices) -> FleetCost:
    """Return the hourly cost of a fleet."""
    clusters, pools = {worker.name: worker.plan for worker in plan.workers}, dict[str, MachineCost]()
    for pool in plan.pools:
        models = _provisioning_models(pool, clusters.get(pool.worker or "", plan))
        # Capacity buffers keep some nodes running that nobody uses.
        kept = kept_nodes((each for team in plan.teams for each in team.buffers), pool.name)
        nodes = Bounds(min=max(pool.nodes.min, min(kept, pool.nodes.max)), max=pool.nodes.max)
        pools[pool.name] = _machine_cost(POOL, pool.name, pool.machine_type, pool.capacity, nodes, models, prices)
    by_flavor = _accelerator_prices(plan, pools)
    teams = {team.name: _team_cost(team, by_flavor) for team in plan.teams}
    return FleetCost(prices, tuple(_paid_machines(plan, pools, prices)), teams, by_flavor)


# --- machines ---------------------------------------------------------------------------------------------------------


def _paid_machines(plan: FleetPlan, pools: Mapping[str, MachineCost], prices: Prices) -> Iterator[MachineCost]:
    """Yield machines that this stack pays for; machines of workers from other stacks are not included."""
    foreign_workers = {worker.name for worker in plan.workers if not worker.made_here}
    yield from (pools[pool.name] for pool in plan.pools if pool.worker not in foreign_workers)
    for held in plan.held:
        idle = _unused_reserved_nodes(held, plan.pools)
        if idle.max or idle.min:
            yield _machine_cost(RESERVATION, held.key, held.machine_type, "reservation", idle, None, prices)
    for prefix, pool in (("", plan.system_pool), *((f"{w.name}/", w.plan.system_pool) for w in plan.workers)):
        if pool is not None:
            model = "spot" if pool.spot else "on-demand"
            fixed = (pool.nodes_per_zone or 0) * max(1, len(pool.zones))
            nodes = pool.total_nodes or Bounds(min=fixed, max=fixed)
            yield _machine_cost(SYSTEM, prefix + pool.name, pool.machine_type, model, nodes, None, prices)
    for team in plan.teams:
        for buffer in (each for each in team.buffers if each.is_standby):
            family = buffer.settings.machine_family or "any"
            yield MachineCost(BUFFER, f"{team.name}/{buffer.name}", family, "standby", Bounds(min=0, max=0), None)


_ProvisioningModel = tuple[str, str, Fraction]
"""A machine type, its capacity, and how many of it count as one machine of the pool."""


def _machine_cost(
    kind: str,
    name: str,
    machine_type: str,
    capacity: str,
    nodes: Bounds,
    models: list[_ProvisioningModel] | None,
    prices: Prices,
) -> MachineCost:
    options = [(machine_type, capacity, Fraction(1))] if models is None else models
    prices_found = {(machine, model): prices.price_of(machine, model) for machine, model, _ in options}
    missing = tuple(key for key, price in prices_found.items() if price is None)
    highest = (
        None
        if missing
        else max((prices_found[machine, model] or Fraction()) * share for machine, model, share in options)
    )
    return MachineCost(kind, name, machine_type, capacity, nodes, highest, missing)


def _provisioning_models(pool: PoolPlan, plan: FleetPlan) -> list[_ProvisioningModel] | None:
    """Return the priorities of a pool's compute class; None if it has none."""
    compute_class = next((each for each in plan.compute_classes if each.name == pool.compute_class), None)
    if compute_class is None:
        return None
    models: list[_ProvisioningModel] = []
    for priority in compute_class.priorities:
        reserved = priority.reservations or priority.affinity == "AnyBestEffort"
        model = "spot" if priority.spot else "flex-start" if priority.flex_start else "on-demand"
        share = _gpus_per_node(pool) / priority.gpu.count if priority.gpu else Fraction(1)
        models.append((priority.machine_type or pool.machine_type, "reservation" if reserved else model, share))
    return models


def _gpus_per_node(pool: PoolPlan) -> Fraction:
    """Return the accelerators of one node; from the pool, because the catalog has none for GPUs attached to N1."""
    if machine := catalog.machines().get(pool.machine_type):
        return Fraction(machine.accelerators)
    return Fraction(pool.accelerators.max, pool.nodes.max) if pool.nodes.max else Fraction(1)


def _unused_reserved_nodes(held: HeldPlan, pools: Iterable[PoolPlan]) -> Bounds:
    """Return the rest of a reservation that its pools do not use; both numbers fall as the pools grow.

    0 for another project's reservation, which that project pays for, and for one that is not delivered yet.
    """
    if held.project is not None or not held.delivered or held.start is not None:
        return Bounds(min=0, max=0)
    users = [pool for pool in pools if pool.name in held.pools]
    if held.chips is None:
        each, reserved, used = 1, held.count or 0, [pool.nodes for pool in users]
    else:  # the rest is counted in whole machines
        each, reserved = catalog.machines()[held.machine_type].accelerators, held.chips
        used = [pool.accelerators for pool in users]
    return Bounds(
        min=max(0, reserved - sum(amount.min for amount in used)) // each,
        max=max(0, reserved - sum(amount.max for amount in used)) // each,
    )


# --- teams ------------------------------------------------------------------------------------------------------------


def _accelerator_prices(plan: FleetPlan, costs: Mapping[str, MachineCost]) -> dict[str, Fraction | None]:
    """Return flavor → hourly cost of one accelerator; None if a machine has no price. Empty pools cost nothing."""
    by_flavor: dict[str, Fraction | None] = {}
    for flavor in plan.flavors:
        pools = [pool for pool in plan.pools if pool.name in flavor.pools and pool.accelerators.max]
        known = [
            p * pool.nodes.max / pool.accelerators.max for pool in pools if (p := costs[pool.name].price) is not None
        ]
        by_flavor[flavor.name] = max(known, default=Fraction()) if len(known) == len(pools) else None
    return by_flavor


def _team_cost(team: TeamPlan, accelerator_prices: Mapping[str, Fraction | None]) -> CostTotal:
    def total(amounts: Mapping[str, int]) -> Fraction:
        return sum(
            ((accelerator_prices.get(flavor) or Fraction()) * amount for flavor, amount in amounts.items()), Fraction()
        )

    missing = (
        f for f, most in team.ceiling.items() if accelerator_prices.get(f) is None and (most or team.guaranteed.get(f))
    )
    return CostTotal(total(team.guaranteed), total(team.ceiling), tuple(sorted(missing)))


MACHINES, TEAM, FLEET = "machines", "team", "fleet"
_Pair = tuple[Fraction | None, Fraction | None]
_NOTHING = Fraction()


class CostChange(Struct, frozen=True):
    """Committed cost and ceiling, each before and after; None if a price is missing.

    `kind` is machines, team (its guarantee and its ceiling) or fleet. Something that does not exist costs 0.
    """

    kind: str
    name: str
    committed: _Pair
    ceiling: _Pair


def compare_costs(old: FleetCost, new: FleetCost) -> tuple[CostChange, ...]:
    """Return machines and teams whose cost changes, by name, and the fleet last; nothing if no cost changes."""
    changes = [*_compare(MACHINES, _machines(old), _machines(new)), *_compare(TEAM, _teams(old), _teams(new))]
    if not changes:
        return ()
    before, after = old.fleet, new.fleet
    return (*changes, CostChange(FLEET, "all", (before.committed, after.committed), (before.ceiling, after.ceiling)))


def _compare(kind: str, before: Mapping[str, _Pair], after: Mapping[str, _Pair]) -> Iterator[CostChange]:
    nothing: _Pair = (_NOTHING, _NOTHING)
    for name in sorted(before.keys() | after.keys()):
        old_cost, new_cost = before.get(name, nothing), after.get(name, nothing)
        if old_cost != new_cost:
            yield CostChange(kind, name, (old_cost[0], new_cost[0]), (old_cost[1], new_cost[1]))


def _machines(cost: FleetCost) -> dict[str, _Pair]:
    return {machine.label: (machine.committed, machine.ceiling) for machine in cost.machines}


def _teams(cost: FleetCost) -> dict[str, _Pair]:
    """Return a team's sums; None if a price is missing."""
    return {
        name: (None, None) if total.unpriced else (total.committed, total.ceiling) for name, total in cost.teams.items()
    }
