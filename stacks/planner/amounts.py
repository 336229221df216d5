"""Amounts become numbers, once it is known what a flavor holds."""

from __future__ import annotations

from fractions import Fraction

from components.plan.kueue import QuotaPlan
from stacks.planner.draft import Draft
from stacks.planner.flavors import Flavor
from stacks.problems import Path
from stacks.spec.amounts import Amount

CPU, MEMORY = "cpu", "memory"

Limits = tuple[int, int | None, int | None]
"""Nominal quota, borrowing limit and lending limit in accelerators; None as in QuotaPlan."""


def accelerators(draft: Draft, amount: Amount, flavor: Flavor, maximum: int, path: Path) -> int | None:
    """`amount` in accelerators, `maximum` being what a share is of. None, and a fault, where it is no whole number."""
    count = _count(draft, amount, flavor, maximum, path)
    if count is None:
        return None
    if count.denominator != 1:
        message = f"'{amount.written}' of {maximum} {flavor.noun} is {float(count):g}, no whole number"
        draft.problems.fault("fraction", path, message)
        return None
    if int(count) % flavor.unit:
        draft.problems.fault("not-a-slice-multiple", path, _remedy(amount, flavor, int(count)))
        return None
    return int(count)


def _count(draft: Draft, amount: Amount, flavor: Flavor, maximum: int, path: Path) -> Fraction | None:
    if amount.unit == "share":
        return amount.value * maximum
    if amount.unit != "slices":
        return amount.value
    if flavor.pools[0].hardware.shape is None:
        message = f"'{amount.written}': flavor '{flavor.name}' has no slices; write a number of {flavor.noun}"
        draft.problems.fault("bad-amount", path, message)
        return None
    return amount.value * flavor.unit


def _remedy(amount: Amount, flavor: Flavor, count: int) -> str:
    below, above = count // flavor.unit, count // flavor.unit + 1
    said = f"'{amount.written}'" if amount.unit == "accelerators" else f"'{amount.written}' ({count})"
    ways = f"{below} or {above} slices" if below else f"{above} slice"
    return f"{said} {flavor.noun} is no whole number of slices of {flavor.unit}; write {ways}"


def quotas(
    flavor: Flavor, resources: tuple[str, ...], cpu: int | None, memory: int | None, limits: Limits
) -> tuple[QuotaPlan, ...]:
    """One quota per covered resource, following from `limits` in accelerators.

    `cpu` (milli) and `memory` (bytes) per accelerator override what comes with the machines. A covered resource that is
    neither of them nor the flavor's own accelerator has no quota on it.
    """
    rates: dict[str, int | Fraction] = {
        flavor.resource: 1,
        CPU: flavor.cpu_each if cpu is None else cpu,
        MEMORY: flavor.memory_each if memory is None else memory,
    }
    return tuple(_quota(resource, rates.get(resource, 0), limits) for resource in resources)


def _quota(resource: str, rate: int | Fraction, limits: Limits) -> QuotaPlan:
    nominal, borrowing, lending = limits
    return QuotaPlan(
        resource=resource,
        nominal=_whole(nominal, rate),
        borrowing_limit=None if borrowing is None else _whole(borrowing, rate),
        lending_limit=None if lending is None else _whole(lending, rate),
    )


def _whole(count: int, rate: int | Fraction) -> int:
    """`count` times `rate`, rounded up, in integers: this runs for every quota of every team."""
    return -(-count * rate.numerator // rate.denominator)
