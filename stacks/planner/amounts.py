"""Amounts become numbers, once it is known what a flavor holds."""

from __future__ import annotations

import math
from fractions import Fraction

from components.plan.kueue import QuotaPlan
from stacks.planner.draft import Draft
from stacks.planner.flavors import Flavor
from stacks.problems import Path
from stacks.spec.amounts import Amount
from stacks.spec.teams import PerAcceleratorSpec

CPU, MEMORY = "cpu", "memory"


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
    flavor: Flavor, resources: tuple[str, ...], each: PerAcceleratorSpec, limits: tuple[int, int | None, int | None]
) -> tuple[QuotaPlan, ...]:
    """One quota per covered resource; `limits` are nominal, borrowing and lending, in accelerators, as in QuotaPlan.

    A covered resource that is neither cpu, memory nor the flavor's own accelerator has no quota at all on it.
    """
    rates = {
        flavor.resource: Fraction(1),
        CPU: Fraction(each.cpu) if each.cpu is not None else flavor.cpu_each(),
        MEMORY: Fraction(each.memory) if each.memory is not None else flavor.memory_each(),
    }
    return tuple(_quota(resource, rates.get(resource, Fraction(0)), limits) for resource in resources)


def _quota(resource: str, rate: Fraction, limits: tuple[int, int | None, int | None]) -> QuotaPlan:
    nominal, borrowing, lending = (None if n is None else math.ceil(n * rate) for n in limits)
    assert nominal is not None
    return QuotaPlan(resource=resource, nominal=nominal, borrowing_limit=borrowing, lending_limit=lending)
