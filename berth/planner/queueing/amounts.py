"""Convert amounts of the stack file (chips, slices, nodes, shares) to numbers of accelerators."""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache

from berth.diagnostics import FieldPath, join_words
from berth.plan.kueue import CPU, MILLI, PODS, QuotaLimits, QuotaPlan
from berth.planner.context import PlanningContext
from berth.planner.queueing.flavors import FlavorGroup
from berth.spec.amounts import Amount

MEMORY = "memory"


_UNITS_OF_KIND = {"tpu": ("slices", "chips"), "gpu": ("GPUs",), CPU: ("cores",)}
"""Kind of machine → the units that only its amounts have."""


def to_accelerators(
    context: PlanningContext, amount: Amount, flavor: FlavorGroup, maximum: int, path: FieldPath
) -> int | None:
    """Return `amount` in accelerators; a share is of `maximum`. None, with a fault, if it is not a whole number."""
    factor = _factor(context, amount, flavor, maximum, path)
    if factor is None:
        return None
    count, rest = divmod(amount.value.numerator * factor, amount.value.denominator)  # a Fraction would cost more
    if rest or count % flavor.unit:
        code = "fraction" if rest else "not-a-slice-multiple"
        context.problems.fault(code, path, _fraction_message(amount, flavor, maximum, Fraction(amount.value * factor)))
        return None
    return count


def _factor(context: PlanningContext, amount: Amount, flavor: FlavorGroup, maximum: int, path: FieldPath) -> int | None:
    if amount.unit == "share":
        return maximum
    factors = _accelerators_per_unit(flavor, amount.unit)
    if len(factors) == 1:
        return next(iter(factors))
    missing = (
        f"nodes with {join_words(list(map(str, sorted(factors))))} {flavor.noun}" if factors else f"no {amount.unit}"
    )
    context.problems.fault(
        "bad-amount", path, f"'{amount.written}': flavor '{flavor.name}' has {missing}; write a number of {flavor.noun}"
    )
    return None


def _accelerators_per_unit(flavor: FlavorGroup, unit: str) -> frozenset[int]:
    """Return the accelerators in one of a unit; several numbers if the flavor's pools differ, none without the unit."""
    if unit == "accelerators":
        return frozenset({1})
    if unit == "nodes":
        return frozenset(pool.hardware.per_node for pool in flavor.pools)
    is_known = flavor.slicing if unit == "sub-blocks" else unit in _UNITS_OF_KIND[flavor.pools[0].hardware.machine.kind]
    if not is_known:
        return frozenset()
    is_whole = unit in ("slices", "sub-blocks")
    return frozenset({max(pool.hardware.unit for pool in flavor.pools) if is_whole else 1})


def _fraction_message(amount: Amount, flavor: FlavorGroup, maximum: int, count: Fraction) -> str:
    """Return the message for a `count` that is not whole, with the nearest whole numbers."""
    below = int(count // flavor.unit)
    alternatives = [str(n) for n in (below, below + 1) if n]
    subjects = {
        "accelerators": f"'{amount.written}' {flavor.noun} is",
        "share": f"'{amount.written}' of {maximum} {flavor.noun} is {float(count):g},",
    }
    subject = subjects.get(amount.unit, f"'{amount.written}' is {float(count):g} {flavor.noun},")
    if flavor.unit == 1:
        return f"{subject} not a whole number; write {' or '.join(alternatives)}"
    if flavor.slicing is not None:
        smallest = f"slices of at least {flavor.unit} {flavor.noun}"
        written = [f"{int(each) * flavor.unit} chips" for each in alternatives]
        return f"{subject} not a whole number of {smallest}; write {' or '.join(written)}"
    slices = "slice" if alternatives == ["1"] else "slices"
    return f"{subject} not a whole number of slices of {flavor.unit}; write {' or '.join(alternatives)} {slices}"


def resource_quotas(
    flavor: FlavorGroup, resources: tuple[str, ...], cpu: int | None, memory: int | None, limits: QuotaLimits
) -> tuple[QuotaPlan, ...]:
    """Return one quota per covered resource, derived from `limits` in accelerators, or in cores.

    `cpu` (milli) and `memory` (bytes) per accelerator override the machines' rates; of a flavor that counts cores only
    `memory` does. Network devices and pods come with the accelerators of their node. Another covered resource has a
    quota of 0.
    """
    rates: dict[str, int | Fraction] = {
        flavor.resource: 1,
        CPU: MILLI if flavor.resource == CPU else flavor.cpu_per_accelerator if cpu is None else cpu,
        MEMORY: flavor.memory_per_accelerator if memory is None else memory,
    }
    if flavor.pods_per_accelerator is not None:
        rates[PODS] = flavor.pods_per_accelerator
    for claimed in flavor.claimed:
        rates[claimed.resource] = Fraction(claimed.per_node, claimed.accelerators)
    resource_rates = tuple([(name, *rates.get(name, 0).as_integer_ratio()) for name in resources])
    return _cached_quotas(resource_rates, limits)


@lru_cache(maxsize=1 << 14)  # many teams have equal quotas
def _cached_quotas(rates: tuple[tuple[str, int, int], ...], limits: QuotaLimits) -> tuple[QuotaPlan, ...]:
    """Return one quota for each resource; its rate is a fraction of two integers.

    Pods are rounded down, so that those of all queues fit on the machines, and everything else up.
    """
    borrowing, lending = limits.borrowing_limit, limits.lending_limit
    result: list[QuotaPlan] = []
    for resource, numerator, denominator in rates:
        sign = 1 if resource == PODS else -1
        nominal, borrowed, lent = (
            None if each is None else sign * (sign * each * numerator // denominator)
            for each in (limits.nominal, borrowing, lending)
        )
        result.append(QuotaPlan(resource=resource, nominal=nominal or 0, borrowing_limit=borrowed, lending_limit=lent))
    return tuple(result)
