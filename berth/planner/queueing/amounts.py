"""Amounts become numbers, once it is known what a flavor holds."""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache

from berth.diagnostics import Path
from berth.plan.kueue import QuotaPlan
from berth.planner.context import Draft
from berth.planner.queueing.flavors import Flavor
from berth.spec.amounts import Amount

CPU, MEMORY = "cpu", "memory"

Limits = tuple[int, int | None, int | None]
"""Nominal quota, borrowing limit and lending limit in accelerators; None as in QuotaPlan."""


def accelerators(draft: Draft, amount: Amount, flavor: Flavor, maximum: int, path: Path) -> int | None:
    """`amount` in accelerators, `maximum` being what a share is of. None, and a fault, where it is no whole number."""
    count = _count(draft, amount, flavor, maximum, path)
    if count is None:
        return None
    if count.denominator != 1 or count.numerator % flavor.unit:
        code = "fraction" if count.denominator != 1 else "not-a-slice-multiple"
        draft.problems.fault(code, path, _remedy(amount, flavor, maximum, count))
        return None
    return count.numerator


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


def _remedy(amount: Amount, flavor: Flavor, maximum: int, count: Fraction) -> str:
    """What is wrong with `count` accelerators, and the whole numbers beside it."""
    below = int(count // flavor.unit)
    ways = [str(n) for n in (below, below + 1) if n]
    said = f"'{amount.written}' of {maximum}" if amount.unit == "share" else f"'{amount.written}'"
    found = f" is {float(count):g}," if amount.unit == "share" else " is"
    if flavor.unit == 1:
        return f"{said} {flavor.noun}{found} no whole number; write {' or '.join(ways)}"
    slices = "slice" if ways == ["1"] else "slices"
    return f"{said} {flavor.noun}{found} no whole number of slices of {flavor.unit}; write {' or '.join(ways)} {slices}"


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
    each = tuple([(name, *rates.get(name, 0).as_integer_ratio()) for name in resources])
    return _quotas(each, limits)


@lru_cache(maxsize=1 << 14)  # many teams are promised the same
def _quotas(rates: tuple[tuple[str, int, int], ...], limits: Limits) -> tuple[QuotaPlan, ...]:
    """One quota for each resource; its rate is a fraction of two integers."""
    nominal, borrowing, lending = limits
    return tuple(
        QuotaPlan(
            resource=resource,
            nominal=-(-nominal * many // few),
            borrowing_limit=None if borrowing is None else -(-borrowing * many // few),
            lending_limit=None if lending is None else -(-lending * many // few),
        )
        for resource, many, few in rates
    )
