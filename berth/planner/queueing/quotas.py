"""Quotas: entries of a queue or a cohort become amounts of a flavor, with all that its accelerators bring."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from msgspec import Struct

from berth.diagnostics import Path
from berth.manifests.quantities import MAXIMUM
from berth.plan.kueue import FlavorQuotasPlan
from berth.planner.context import Draft
from berth.planner.machines.pools import Pool
from berth.planner.queueing.amounts import CPU, MEMORY, Limits, accelerators, quotas
from berth.planner.queueing.flavors import Flavor
from berth.spec.amounts import NOTHING, Amount
from berth.spec.teams import PerAcceleratorSpec, QuotaSpec


class Holder(Struct, frozen=True):
    """A queue or a cohort with its entries; `above` is the cohort it shares in, if any."""

    path: Path
    entries: Sequence[QuotaSpec]
    per_accelerator: PerAcceleratorSpec | None
    above: str | None

    @property
    def noun(self) -> str:
        """What it is: a cohort, or a queue."""
        return "cohort" if self.path[0] == "cohorts" else "queue"

    @property
    def remedy(self) -> str:
        """How it comes to share with somebody."""
        if self.noun == "cohort":
            return "give the cohort a parent"
        return f"give the {'team' if self.path[0] == 'teams' else 'queue'} a cohort"


class Choice(Struct, frozen=True):
    """One flavor of a holder, its limits in accelerators: guaranteed, borrowing, lending (None as in QuotaPlan)."""

    path: Path
    flavor: Flavor
    spec: QuotaSpec
    limits: Limits


class Offer:
    """The pools and flavors that entries may name, and the flavor that each pool is of; all by name."""

    def __init__(self, pools: Mapping[str, Pool], flavors: Mapping[str, Flavor]) -> None:
        self.pools = pools
        self.flavors = flavors
        self.flavor_of = {pool.name: flavor for flavor in flavors.values() for pool in flavor.pools}


def chosen(draft: Draft, holder: Holder, offer: Offer) -> tuple[Choice, ...]:
    """The entries of a holder in their order, each flavor once; faults for those that mean nothing."""
    found: dict[str, Choice] = {}
    for index, spec in enumerate(holder.entries):
        path = (*holder.path, "flavors", index)
        choice = _choice(draft, holder, spec, path, offer)
        draft.incomplete |= choice is None
        if choice and choice.flavor.name in found:
            message = f"flavor '{choice.flavor.name}' is in this {holder.noun} twice; write one entry for it"
            draft.problems.fault("duplicate-flavor", path, message)
        elif choice:
            found[choice.flavor.name] = choice
    return tuple(found.values())


def resources_of(choices: Iterable[Choice]) -> tuple[str, ...]:
    """What a holder of these has quotas of, in the one order that Kueue wants everywhere."""
    return (CPU, MEMORY, *sorted({c.flavor.resource for c in choices}))


def _choice(draft: Draft, holder: Holder, spec: QuotaSpec, path: Path, offer: Offer) -> Choice | None:
    target = _target(draft, spec, path, offer)
    if target is None:
        return None
    flavor, maximum = target
    nominal = accelerators(draft, spec.guaranteed, flavor, maximum, (*path, "guaranteed"))
    if holder.above is None:
        _no_limits(draft, holder, spec, path)
        limits: tuple[int | None, int | None] | None = (0, 0)
    else:
        limits = _limits(draft, spec, flavor, maximum, path)
    if nominal is None or limits is None:
        return None
    return Choice(path, flavor, spec, (nominal, limits[0], limits[1]))


def _target(draft: Draft, spec: QuotaSpec, path: Path, offer: Offer) -> tuple[Flavor, int] | None:
    """The flavor meant, and the accelerators that a share is of: those of the pool or flavor that is named."""
    if (spec.pool is None) == (spec.flavor is None):
        draft.problems.fault("bad-flavor", path, "name either a pool or a flavor; write pool: <name>")
        return None
    if spec.flavor is not None:
        flavor = draft.find("flavors", spec.flavor, offer.flavors, (*path, "flavor"))
        return (flavor, flavor.capacity.max) if flavor else None
    pool = draft.find("pools", spec.pool or "", offer.pools, (*path, "pool"))
    flavor = offer.flavor_of.get(pool.name) if pool else None
    return (flavor, pool.hardware.accelerators.max) if pool and flavor else None


def _limits(
    draft: Draft, spec: QuotaSpec, flavor: Flavor, maximum: int, path: Path
) -> tuple[int | None, int | None] | None:
    """Borrowing and lending limits in a cohort; None after a fault."""
    unlimited = spec.borrow is not None and spec.borrow.unit == "unlimited"
    borrow = None if unlimited else accelerators(draft, spec.borrow or NOTHING, flavor, maximum, (*path, "borrow"))
    lend = accelerators(draft, spec.lend, flavor, maximum, (*path, "lend")) if spec.lend else None
    refused = (borrow is None and not unlimited) or (lend is None and spec.lend is not None)
    return None if refused else (borrow, lend)


def _no_limits(draft: Draft, holder: Holder, spec: QuotaSpec, path: Path) -> None:
    limits: dict[str, tuple[str, Amount | None]] = {"borrow": ("from", spec.borrow), "lend": ("to", spec.lend)}
    for key, (way, amount) in limits.items():
        if amount is not None:
            message = f"'{amount.written}': there is nobody to {key} {way}; {holder.remedy}, or leave {key} out"
            draft.problems.fault("limit-without-cohort", (*path, key), message)
            draft.incomplete = True  # a cohort was meant, and what it would share is not known


def lends_what_it_has(draft: Draft, choice: Choice, guaranteed: int) -> None:
    """A fault where more is lent than is `guaranteed`."""
    lend = choice.limits[2]
    if lend is not None and lend > guaranteed:
        said = choice.spec.lend.written if choice.spec.lend else str(lend)
        counted = "" if said == str(lend) else f" ({lend})"
        message = f"'{said}'{counted} is more than the {guaranteed} guaranteed; lend at most what is guaranteed"
        draft.problems.fault("lend-above-guaranteed", (*choice.path, "lend"), message)


def flavor_quotas(
    draft: Draft, holder: Holder, choice: Choice, resources: tuple[str, ...], limits: Limits
) -> FlavorQuotasPlan:
    """`limits` in every resource. The entry's own rates come before the holder's, and the machines' come last."""
    said = [rates for rates in (choice.spec.per_accelerator, holder.per_accelerator) if rates]
    cpu = next((rates.cpu for rates in said if rates.cpu is not None), None)
    memory = next((rates.memory for rates in said if rates.memory is not None), None)
    found = quotas(choice.flavor, resources, cpu, memory, limits)
    if beyond := next((q.resource for q in found if max(q.nominal, q.borrowing_limit or 0) > MAXIMUM), None):
        message = f"comes to more {beyond} than Kubernetes can count ({MAXIMUM}); write smaller amounts"
        draft.problems.fault("too-large", choice.path, message)
    return FlavorQuotasPlan(flavor=choice.flavor.name, quotas=found)
