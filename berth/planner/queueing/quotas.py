"""Plan quotas: convert entries of a queue or cohort to amounts of a flavor, with cpu and memory."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from msgspec import Struct

from berth.diagnostics import FieldPath
from berth.manifests.quantities import MAXIMUM
from berth.plan.kueue import PODS, FlavorQuotasPlan, QuotaLimits
from berth.planner.context import PlanningContext
from berth.planner.machines.pools import PlannedPool
from berth.planner.queueing.amounts import CPU, MEMORY, resource_quotas, to_accelerators
from berth.planner.queueing.flavors import FlavorGroup
from berth.planner.queueing.windows import amount_in_force
from berth.spec.amounts import ZERO_AMOUNT, Amount
from berth.spec.teams import PerAcceleratorSpec, QuotaSpec


class QuotaOwner(Struct, frozen=True):
    """A queue or cohort with its entries; `above` is its cohort or parent, if any."""

    path: FieldPath
    entries: Sequence[QuotaSpec]
    per_accelerator: PerAcceleratorSpec | None
    parent_cohort: str | None

    @property
    def noun(self) -> str:
        """`cohort` or `queue`."""
        return "cohort" if self.path[0] == "cohorts" else "queue"

    @property
    def remedy(self) -> str:
        """Return the remedy that lets it share quota."""
        if self.noun == "cohort":
            return "write parent for the cohort"
        return f"write cohort for the {'team' if self.path[0] == 'teams' else 'queue'}"


class _SharingLimits(NamedTuple):
    """How much may be borrowed and lent, in accelerators; None is unlimited."""

    borrowing: int | None
    lending: int | None


class FlavorQuotaRequest(Struct, frozen=True):
    """One flavor of a holder, with its limits in accelerators."""

    path: FieldPath
    flavor: FlavorGroup
    spec: QuotaSpec
    limits: QuotaLimits


class FlavorIndex:
    """Pools and flavors by name, and the flavor of each pool, to resolve entries."""

    def __init__(self, pools: Mapping[str, PlannedPool], flavors: Mapping[str, FlavorGroup]) -> None:
        self.pools = pools
        self.flavors = flavors
        self.flavor_of = {pool.name: flavor for flavor in flavors.values() for pool in flavor.pools}


def flavor_requests(context: PlanningContext, owner: QuotaOwner, index: FlavorIndex) -> tuple[FlavorQuotaRequest, ...]:
    """Return the valid entries of an owner in order, each flavor once; report the others."""
    by_flavor: dict[str, FlavorQuotaRequest] = {}
    for position, spec in enumerate(owner.entries):
        path = (*owner.path, "flavors", position)
        request = _flavor_request(context, owner, spec, path, index)
        context.incomplete |= request is None
        if request and request.flavor.name in by_flavor:
            message = f"flavor '{request.flavor.name}' is listed twice in this {owner.noun}; write one entry for it"
            context.problems.fault("duplicate-flavor", path, message)
        elif request:
            by_flavor[request.flavor.name] = request
    return tuple(by_flavor.values())


def covered_resources(requests: Iterable[FlavorQuotaRequest]) -> tuple[str, ...]:
    """Return the resources with quotas, in the order that Kueue requires to be the same everywhere."""
    flavors = [request.flavor for request in requests]
    counted = {each.resource for each in flavors} | {one.resource for each in flavors for one in each.claimed}
    pods = (PODS,) if all(each.pods_per_accelerator is not None for each in flavors) else ()
    return (CPU, MEMORY, *sorted(counted - {CPU}), *pods)


def _flavor_request(
    context: PlanningContext, owner: QuotaOwner, spec: QuotaSpec, path: FieldPath, index: FlavorIndex
) -> FlavorQuotaRequest | None:
    target = _resolve_flavor(context, spec, path, index)
    if target is None:
        return None
    flavor, maximum = target
    nominal = to_accelerators(context, spec.guaranteed, flavor, maximum, (*path, "guaranteed"))
    if spec.windows:
        nominal = amount_in_force(context, spec, flavor, maximum, path, nominal)
    if owner.parent_cohort is None:
        _reject_limits(context, owner, spec, path)
        sharing: _SharingLimits | None = _SharingLimits(0, 0)
    else:
        sharing = _cohort_limits(context, spec, flavor, maximum, path)
    if nominal is None or sharing is None:
        return None
    if spec.windows and sharing.lending is not None:
        sharing = sharing._replace(lending=min(sharing.lending, nominal))  # Kueue refuses to lend what is not there
    limits = QuotaLimits(nominal=nominal, borrowing_limit=sharing.borrowing, lending_limit=sharing.lending)
    return FlavorQuotaRequest(path, flavor, spec, limits)


def _resolve_flavor(
    context: PlanningContext, spec: QuotaSpec, path: FieldPath, index: FlavorIndex
) -> tuple[FlavorGroup, int] | None:
    """Return the flavor of an entry, and what a share is of: its pool's or flavor's accelerators that are not spare."""
    if (spec.pool is None) == (spec.flavor is None):
        both = "has both pool and flavor; remove one of them"
        context.problems.fault(
            "bad-flavor", path, both if spec.pool else "has neither pool nor flavor; write pool: <name>"
        )
        return None
    if spec.flavor is not None:
        flavor = context.resolve("flavors", spec.flavor, index.flavors, (*path, "flavor"))
        return (flavor, flavor.capacity.max - flavor.spare) if flavor else None
    pool = context.resolve("pools", spec.pool or "", index.pools, (*path, "pool"))
    flavor = index.flavor_of.get(pool.name) if pool else None
    return (flavor, pool.shared) if pool and flavor else None


def _cohort_limits(
    context: PlanningContext, spec: QuotaSpec, flavor: FlavorGroup, maximum: int, path: FieldPath
) -> _SharingLimits | None:
    """Borrowing and lending limits in a cohort; None after a fault."""
    unlimited = spec.borrow is not None and spec.borrow.unit == "unlimited"
    borrowing_limit = (
        None if unlimited else to_accelerators(context, spec.borrow or ZERO_AMOUNT, flavor, maximum, (*path, "borrow"))
    )
    lending_limit = to_accelerators(context, spec.lend, flavor, maximum, (*path, "lend")) if spec.lend else None
    is_invalid = (borrowing_limit is None and not unlimited) or (lending_limit is None and spec.lend is not None)
    return None if is_invalid else _SharingLimits(borrowing_limit, lending_limit)


def _reject_limits(context: PlanningContext, owner: QuotaOwner, spec: QuotaSpec, path: FieldPath) -> None:
    limits: dict[str, tuple[str, Amount | None]] = {"borrow": ("from", spec.borrow), "lend": ("to", spec.lend)}
    for key, (preposition, amount) in limits.items():
        if amount is not None:
            message = f"'{amount.written}' has no effect without a cohort to {key} {preposition}; {owner.remedy}"
            message += f", or remove {key}"
            context.problems.fault("limit-without-cohort", (*path, key), message)
            context.incomplete = True  # the intended cohort is unknown, so sharing cannot be checked


def check_lending_limit(context: PlanningContext, request: FlavorQuotaRequest, guaranteed: int) -> None:
    """A fault where more is lent than is `guaranteed`."""
    lending_limit = request.limits.lending_limit
    if lending_limit is not None and lending_limit > guaranteed:
        written = request.spec.lend.written if request.spec.lend else str(lending_limit)
        in_accelerators = "" if written == str(lending_limit) else f" ({lending_limit})"
        message = f"'{written}'{in_accelerators} is more than the {guaranteed} guaranteed; write {guaranteed} or less"
        context.problems.fault("lend-above-guaranteed", (*request.path, "lend"), message)


def flavor_quotas(
    context: PlanningContext,
    owner: QuotaOwner,
    request: FlavorQuotaRequest,
    resources: tuple[str, ...],
    limits: QuotaLimits,
) -> FlavorQuotasPlan:
    """Return `limits` in every resource, at the rates of the entry, else the owner, else the machines."""
    entry_rates = request.spec.per_accelerator
    if request.flavor.resource == CPU and entry_rates and entry_rates.cpu is not None:
        context.problems.fault(
            "core-rate",
            (*request.path, "perAccelerator", "cpu"),
            f"flavor '{request.flavor.name}' counts cores, which are its cpu; remove cpu, or write memory per core",
        )
    written_rates = [rates for rates in (request.spec.per_accelerator, owner.per_accelerator) if rates]
    cpu = next((rates.cpu for rates in written_rates if rates.cpu is not None), None)
    memory = next((rates.memory for rates in written_rates if rates.memory is not None), None)
    flavor_quota_plans = resource_quotas(request.flavor, resources, cpu, memory, limits)
    if too_large := next(
        (q.resource for q in flavor_quota_plans if max(q.nominal, q.borrowing_limit or 0) > MAXIMUM), None
    ):
        context.problems.fault(
            "too-large",
            request.path,
            f"needs more {too_large} than a Kubernetes quantity can hold ({MAXIMUM}); write a smaller perAccelerator "
            "or amount",
        )
    return FlavorQuotasPlan(flavor=request.flavor.name, quotas=flavor_quota_plans)
