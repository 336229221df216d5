"""Amounts become numbers, once it is known what a flavor holds."""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache

from berth.diagnostics import FieldPath
from berth.plan.kueue import QuotaPlan
from berth.planner.context import PlanningContext
from berth.planner.queueing.flavors import PlannedFlavor
from berth.spec.amounts import Amount

CPU, MEMORY = "cpu", "memory"

QuotaLimits = tuple[int, int | None, int | None]
"""Nominal quota, borrowing limit and lending limit in accelerators; None as in QuotaPlan."""


def to_accelerators(
    context: PlanningContext, amount: Amount, flavor: PlannedFlavor, maximum: int, path: FieldPath
) -> int | None:
    """`amount` in accelerators, `maximum` being what a share is of. None, and a fault, where it is no whole number."""
    count = _accelerator_count(context, amount, flavor, maximum, path)
    if count is None:
        return None
    if count.denominator != 1 or count.numerator % flavor.unit:
        code = "fraction" if count.denominator != 1 else "not-a-slice-multiple"
        context.problems.fault(code, path, _fraction_message(amount, flavor, maximum, count))
        return None
    return count.numerator


def _accelerator_count(
    context: PlanningContext, amount: Amount, flavor: PlannedFlavor, maximum: int, path: FieldPath
) -> Fraction | None:
    if amount.unit == "share":
        return amount.value * maximum
    if amount.unit != "slices":
        return amount.value
    if flavor.pools[0].hardware.shape is None:
        message = f"'{amount.written}': flavor '{flavor.name}' has no slices; write a number of {flavor.noun}"
        context.problems.fault("bad-amount", path, message)
        return None
    return amount.value * flavor.unit


def _fraction_message(amount: Amount, flavor: PlannedFlavor, maximum: int, count: Fraction) -> str:
    """What is wrong with `count` accelerators, and the whole numbers beside it."""
    below = int(count // flavor.unit)
    alternatives = [str(n) for n in (below, below + 1) if n]
    quoted_amount = f"'{amount.written}' of {maximum}" if amount.unit == "share" else f"'{amount.written}'"
    verb = f" is {float(count):g}," if amount.unit == "share" else " is"
    if flavor.unit == 1:
        return f"{quoted_amount} {flavor.noun}{verb} no whole number; write {' or '.join(alternatives)}"
    slices = "slice" if alternatives == ["1"] else "slices"
    return (
        f"{quoted_amount} {flavor.noun}{verb} no whole number of slices of "
        f"{flavor.unit}; write {' or '.join(alternatives)} {slices}"
    )


def resource_quotas(
    flavor: PlannedFlavor, resources: tuple[str, ...], cpu: int | None, memory: int | None, limits: QuotaLimits
) -> tuple[QuotaPlan, ...]:
    """One quota per covered resource, following from `limits` in accelerators.

    `cpu` (milli) and `memory` (bytes) per accelerator override what comes with the machines. A covered resource that is
    neither of them nor the flavor's own accelerator has no quota on it.
    """
    rates: dict[str, int | Fraction] = {
        flavor.resource: 1,
        CPU: flavor.cpu_per_accelerator if cpu is None else cpu,
        MEMORY: flavor.memory_per_accelerator if memory is None else memory,
    }
    resource_rates = tuple([(name, *rates.get(name, 0).as_integer_ratio()) for name in resources])
    return _cached_quotas(resource_rates, limits)


@lru_cache(maxsize=1 << 14)  # many teams are promised the same
def _cached_quotas(rates: tuple[tuple[str, int, int], ...], limits: QuotaLimits) -> tuple[QuotaPlan, ...]:
    """One quota for each resource; its rate is a fraction of two integers."""
    nominal, borrowing, lending = limits
    return tuple(
        QuotaPlan(
            resource=resource,
            nominal=-(-nominal * numerator // denominator),
            borrowing_limit=None if borrowing is None else -(-borrowing * numerator // denominator),
            lending_limit=None if lending is None else -(-lending * numerator // denominator),
        )
        for resource, numerator, denominator in rates
    )
