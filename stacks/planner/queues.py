"""Cluster queues and local queues: who is promised how much of which flavor."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from components.plan.kueue import (
    ClusterQueuePlan,
    FlavorQuotasPlan,
    LocalQueuePlan,
    PreemptionPlan,
)
from stacks.planner.amounts import CPU, MEMORY, Limits, accelerators, quotas
from stacks.planner.draft import Draft
from stacks.planner.flavors import Flavor
from stacks.planner.pools import Pool
from stacks.problems import Path, dotted
from stacks.spec.amounts import Amount
from stacks.spec.teams import QueueSpec, QuotaSpec


@dataclass(frozen=True, slots=True)
class Wish:
    """A queue as somebody wrote it: where, for whom, in which cohort."""

    path: Path
    spec: QueueSpec
    name: str
    local_name: str
    teams: tuple[str, ...]
    cohort: str | None


def cluster_queues(draft: Draft, pools: dict[str, Pool], flavors: dict[str, Flavor]) -> tuple[ClusterQueuePlan, ...]:
    """Every cluster queue of the fleet, by name."""
    found: dict[str, ClusterQueuePlan] = {}
    for wish in _wishes(draft):
        queue = _cluster_queue(draft, wish, pools, flavors)
        if queue and queue.name in found:
            first = draft.origins["cluster queue", queue.name]
            _twice(draft, (*wish.path, "name"), f"cluster queue '{queue.name}'", first)
        elif queue:
            found[queue.name] = queue
            draft.origins["cluster queue", queue.name] = wish.path
    _local_queues_are_unique(draft, found)
    return tuple(found[name] for name in sorted(found))


def namespace_of(draft: Draft, team: str) -> str:
    """The namespace of a team: the one it names, or its own name."""
    return draft.spec.teams[team].namespace.name or team


def _wishes(draft: Draft) -> Iterator[Wish]:
    for team, spec in sorted(draft.spec.teams.items()):
        for queue, wanted in sorted(spec.queues.items()):
            path: Path = ("teams", team, "queues", queue)
            local = wanted.local_queue or queue
            yield Wish(path, wanted, wanted.name or f"{team}-{queue}", local, (team,), spec.cohort)
    for queue, shared in sorted(draft.spec.cluster_queues.items()):
        path = ("clusterQueues", queue)
        known = {t: t for t in draft.spec.teams}
        teams = [draft.find("teams", t, known, (*path, "teams", i)) for i, t in enumerate(shared.teams)]
        served = tuple(sorted({t for t in teams if t}))
        yield Wish(path, shared, shared.name or queue, shared.local_queue or queue, served, shared.cohort)


def _cluster_queue(
    draft: Draft, wish: Wish, pools: dict[str, Pool], flavors: dict[str, Flavor]
) -> ClusterQueuePlan | None:
    spec = wish.spec
    chosen = _chosen(draft, wish, pools, flavors)
    _references(draft, wish)
    if not chosen:
        return None
    resources = (CPU, MEMORY, *sorted({c.flavor.resource for c in chosen}))
    fungibility = spec.flavor_fungibility
    return ClusterQueuePlan(
        name=wish.name,
        teams=wish.teams,
        cohort=wish.cohort,
        queueing_strategy=spec.queueing_strategy,
        namespaces=None if spec.namespaces == "all" else tuple(sorted({namespace_of(draft, t) for t in wish.teams})),
        covered_resources=resources,
        flavors=tuple(_flavor_quotas(wish, c, resources) for c in chosen),
        preemption=_preemption(draft, wish),
        when_can_borrow=fungibility.when_can_borrow if fungibility else None,
        when_can_preempt=fungibility.when_can_preempt if fungibility else None,
        priority=spec.priority,
        local_queues=tuple(
            LocalQueuePlan(
                name=wish.local_name, namespace=namespace_of(draft, team), cluster_queue=wish.name, team=team
            )
            for team in wish.teams
        ),
    )


def _references(draft: Draft, wish: Wish) -> None:
    if wish.cohort is not None:
        owner = wish.path[:2] if wish.path[0] == "teams" else wish.path
        draft.find("cohorts", wish.cohort, draft.spec.cohorts, (*owner, "cohort"))
    if wish.spec.priority is not None:
        draft.find("priorities", wish.spec.priority, draft.spec.priorities, (*wish.path, "priority"))


# --- quotas -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Choice:
    """One flavor of a queue with its limits in accelerators: nominal, borrowing and lending (None as in QuotaPlan)."""

    flavor: Flavor
    spec: QuotaSpec
    limits: Limits


def _chosen(draft: Draft, wish: Wish, pools: dict[str, Pool], flavors: dict[str, Flavor]) -> list[Choice]:
    found: dict[str, Choice] = {}
    for index, spec in enumerate(wish.spec.flavors):
        path = (*wish.path, "flavors", index)
        choice = _choice(draft, wish, spec, path, pools, flavors)
        if choice and choice.flavor.name in found:
            message = f"flavor '{choice.flavor.name}' is in this queue twice; write one entry for it"
            draft.problems.fault("duplicate-flavor", path, message)
        elif choice:
            found[choice.flavor.name] = choice
    return list(found.values())


def _choice(
    draft: Draft, wish: Wish, spec: QuotaSpec, path: Path, pools: dict[str, Pool], flavors: dict[str, Flavor]
) -> Choice | None:
    target = _target(draft, spec, path, pools, flavors)
    if target is None:
        return None
    flavor, maximum = target
    nominal = accelerators(draft, spec.guaranteed, flavor, maximum, (*path, "guaranteed"))
    if wish.cohort is None:
        _no_limits(draft, spec, path)
        limits: tuple[int | None, int | None] | None = (0, 0)
    else:
        limits = _limits(draft, spec, flavor, maximum, path)
    if nominal is None or limits is None:
        return None
    _lends_what_it_has(draft, nominal, limits[1], flavor, path)
    return Choice(flavor, spec, (nominal, limits[0], limits[1]))


def _target(
    draft: Draft, spec: QuotaSpec, path: Path, pools: dict[str, Pool], flavors: dict[str, Flavor]
) -> tuple[Flavor, int] | None:
    """The flavor meant, and the accelerators that a share is of: those of the pool or flavor that is named."""
    if (spec.pool is None) == (spec.flavor is None):
        draft.problems.fault("bad-flavor", path, "name either a pool or a flavor; write pool: <name>")
        return None
    if spec.flavor is not None:
        flavor = draft.find("flavors", spec.flavor, flavors, (*path, "flavor"))
        return (flavor, flavor.capacity.max) if flavor else None
    pool = draft.find("pools", spec.pool or "", pools, (*path, "pool"))
    flavor = next((f for f in flavors.values() if pool in f.pools), None) if pool else None
    return (flavor, pool.hardware.accelerators.max) if pool and flavor else None


def _limits(
    draft: Draft, spec: QuotaSpec, flavor: Flavor, maximum: int, path: Path
) -> tuple[int | None, int | None] | None:
    """Borrowing and lending limits in a cohort; None after a fault."""
    borrow: int | None = 0
    if spec.borrow is not None and spec.borrow.unit == "unlimited":
        borrow = None
    elif spec.borrow is not None:
        borrow = accelerators(draft, spec.borrow, flavor, maximum, (*path, "borrow"))
        if borrow is None:
            return None
    if spec.lend is None:
        return borrow, None
    lend = accelerators(draft, spec.lend, flavor, maximum, (*path, "lend"))
    return None if lend is None else (borrow, lend)


def _no_limits(draft: Draft, spec: QuotaSpec, path: Path) -> None:
    limits: dict[str, Amount | None] = {"borrow": spec.borrow, "lend": spec.lend}
    for key, amount in limits.items():
        if amount is not None:
            message = f"'{amount.written}': there is nobody to {key} with; give the team a cohort, or leave {key} out"
            draft.problems.fault("limit-without-cohort", (*path, key), message)


def _lends_what_it_has(draft: Draft, nominal: int, lend: int | None, flavor: Flavor, path: Path) -> None:
    if lend is not None and lend > nominal:
        message = f"'{lend}' {flavor.noun} are more than the {nominal} guaranteed; lend at most what is guaranteed"
        draft.problems.fault("lend-above-guaranteed", (*path, "lend"), message)


def _flavor_quotas(wish: Wish, choice: Choice, resources: tuple[str, ...]) -> FlavorQuotasPlan:
    """The entry's own rates come before the queue's, and the machines' come last."""
    said = [rates for rates in (choice.spec.per_accelerator, wish.spec.per_accelerator) if rates]
    cpu = next((rates.cpu for rates in said if rates.cpu is not None), None)
    memory = next((rates.memory for rates in said if rates.memory is not None), None)
    return FlavorQuotasPlan(
        flavor=choice.flavor.name, quotas=quotas(choice.flavor, resources, cpu, memory, choice.limits)
    )


# --- rules between fields ---------------------------------------------------------------------------------------------


def _preemption(draft: Draft, wish: Wish) -> PreemptionPlan:
    spec = wish.spec.preemption
    reclaim = spec.reclaim_within_cohort or ("Any" if wish.cohort else "Never")
    borrow = spec.borrow_within_cohort
    if borrow and borrow.policy != "Never" and reclaim == "Never":
        path = (*wish.path, "preemption", "borrowWithinCohort")
        message = f"'{borrow.policy}' needs reclaimWithinCohort other than Never; Kueue refuses it"
        draft.problems.fault("bad-preemption", path, message)
    return PreemptionPlan(
        within_cluster_queue=spec.within_cluster_queue,
        reclaim_within_cohort=reclaim,
        borrow_within_cohort=borrow.policy if borrow else None,
        max_priority_threshold=borrow.max_priority_threshold if borrow else None,
    )


def _local_queues_are_unique(draft: Draft, queues: dict[str, ClusterQueuePlan]) -> None:
    seen: dict[tuple[str, str], str] = {}
    for queue in queues.values():
        for door in queue.local_queues:
            first = seen.setdefault((door.namespace, door.name), queue.name)
            if first != queue.name:
                path = (*draft.origins["cluster queue", queue.name], "localQueue")
                what = f"local queue '{door.name}' in namespace '{door.namespace}'"
                _twice(draft, path, what, draft.origins["cluster queue", first])


def _twice(draft: Draft, path: Path, what: str, first: Path) -> None:
    draft.problems.fault("duplicate-name", path, f"{what} is already that of {dotted(first)}; name it otherwise")
