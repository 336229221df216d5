"""Cluster queues and local queues: who is promised how much of which flavor."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from components.kueue.quantities import MAXIMUM
from components.plan.kueue import (
    ClusterQueuePlan,
    FlavorQuotasPlan,
    LocalQueuePlan,
    PreemptionPlan,
    QueueCheckPlan,
)
from stacks.planner.amounts import CPU, MEMORY, Limits, accelerators, quotas
from stacks.planner.checks import check_of
from stacks.planner.draft import Draft
from stacks.planner.flavors import Flavor
from stacks.planner.pools import Pool
from stacks.problems import Path, dotted
from stacks.spec.amounts import NOTHING, Amount
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
    doors: dict[tuple[str, str], Path] = {}
    for wish in sorted(_wishes(draft), key=_named):
        queue = _cluster_queue(draft, wish, pools, flavors)
        _own_doors(draft, wish, doors)
        if queue and queue.name in found:
            first = draft.origins["cluster queue", queue.name]
            draft.incomplete = True
            _twice(draft, (*wish.path, "name"), f"cluster queue '{queue.name}'", first)
        elif queue:
            found[queue.name] = queue
            draft.origins["cluster queue", queue.name] = wish.path
    return tuple(found[name] for name in sorted(found))


def _named(wish: Wish) -> tuple[bool, bool, Path]:
    """Teams' queues that are given no name come first: where two have one, it is a name that somebody gave."""
    given = wish.spec.name is not None or wish.spec.local_queue is not None
    return given, wish.path[0] != "teams", wish.path


def namespace_of(draft: Draft, team: str) -> str:
    """The namespace of a team: the one it names, or its own name."""
    return draft.spec.teams[team].namespace.name or team


def _wishes(draft: Draft) -> Iterator[Wish]:
    for team, spec in sorted(draft.spec.teams.items()):
        _in_cohort(draft, spec.cohort, ("teams", team, "cohort"))
        for queue, wanted in sorted(spec.queues.items()):
            path: Path = ("teams", team, "queues", queue)
            local = wanted.local_queue or queue
            yield Wish(path, wanted, wanted.name or f"{team}-{queue}", local, (team,), spec.cohort)
    for queue, shared in sorted(draft.spec.cluster_queues.items()):
        path = ("clusterQueues", queue)
        known = {t: t for t in draft.spec.teams}
        teams = [draft.find("teams", t, known, (*path, "teams", i)) for i, t in enumerate(shared.teams)]
        served = tuple(sorted({t for t in teams if t}))
        draft.incomplete |= len(served) < len(teams)
        _in_cohort(draft, shared.cohort, (*path, "cohort"))
        yield Wish(path, shared, shared.name or queue, shared.local_queue or queue, served, shared.cohort)


def _in_cohort(draft: Draft, cohort: str | None, path: Path) -> None:
    if cohort is not None:
        draft.incomplete |= draft.find("cohorts", cohort, draft.spec.cohorts, path) is None


def _cluster_queue(
    draft: Draft, wish: Wish, pools: dict[str, Pool], flavors: dict[str, Flavor]
) -> ClusterQueuePlan | None:
    spec = wish.spec
    chosen = _chosen(draft, wish, pools, flavors)
    if spec.priority is not None:
        draft.find("priorities", spec.priority, draft.spec.priorities, (*wish.path, "priority"))
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
        flavors=tuple(_flavor_quotas(draft, wish, c, resources) for c in chosen),
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
        admission_checks=_checks(chosen),
        stop_policy=spec.stop_policy,
        fair_share_weight=spec.fair_share_weight,
    )


def _checks(chosen: list[Choice]) -> tuple[QueueCheckPlan, ...]:
    """Each check of a queued flavor, on the flavors that it is the check of."""
    flavors: dict[str, list[str]] = {}
    for choice in chosen:
        if name := check_of(choice.flavor):
            flavors.setdefault(name, []).append(choice.flavor.name)
    return tuple(QueueCheckPlan(name=name, on_flavors=tuple(flavors[name])) for name in sorted(flavors))


# --- quotas -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Choice:
    """One flavor of a queue with its limits in accelerators: nominal, borrowing and lending (None as in QuotaPlan)."""

    path: Path
    flavor: Flavor
    spec: QuotaSpec
    limits: Limits


def _chosen(draft: Draft, wish: Wish, pools: dict[str, Pool], flavors: dict[str, Flavor]) -> list[Choice]:
    found: dict[str, Choice] = {}
    for index, spec in enumerate(wish.spec.flavors):
        path = (*wish.path, "flavors", index)
        choice = _choice(draft, wish, spec, path, pools, flavors)
        draft.incomplete |= choice is None
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
    _lends_what_it_has(draft, nominal, limits[1], spec, path)
    return Choice(path, flavor, spec, (nominal, limits[0], limits[1]))


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
    unlimited = spec.borrow is not None and spec.borrow.unit == "unlimited"
    borrow = None if unlimited else accelerators(draft, spec.borrow or NOTHING, flavor, maximum, (*path, "borrow"))
    lend = accelerators(draft, spec.lend, flavor, maximum, (*path, "lend")) if spec.lend else None
    refused = (borrow is None and not unlimited) or (lend is None and spec.lend is not None)
    return None if refused else (borrow, lend)


def _no_limits(draft: Draft, spec: QuotaSpec, path: Path) -> None:
    limits: dict[str, tuple[str, Amount | None]] = {"borrow": ("from", spec.borrow), "lend": ("to", spec.lend)}
    who = "team" if path[0] == "teams" else "queue"
    for key, (way, amount) in limits.items():
        if amount is not None:
            message = f"'{amount.written}': there is nobody to {key} {way}; give the {who} a cohort, or leave {key} out"
            draft.problems.fault("limit-without-cohort", (*path, key), message)
            draft.incomplete = True  # a cohort was meant, and what it would share is not known


def _lends_what_it_has(draft: Draft, nominal: int, lend: int | None, spec: QuotaSpec, path: Path) -> None:
    if lend is not None and lend > nominal:
        said = spec.lend.written if spec.lend else str(lend)
        counted = "" if said == str(lend) else f" ({lend})"
        message = f"'{said}'{counted} is more than the {nominal} guaranteed; lend at most what is guaranteed"
        draft.problems.fault("lend-above-guaranteed", (*path, "lend"), message)


def _flavor_quotas(draft: Draft, wish: Wish, choice: Choice, resources: tuple[str, ...]) -> FlavorQuotasPlan:
    """The entry's own rates come before the queue's, and the machines' come last."""
    said = [rates for rates in (choice.spec.per_accelerator, wish.spec.per_accelerator) if rates]
    cpu = next((rates.cpu for rates in said if rates.cpu is not None), None)
    memory = next((rates.memory for rates in said if rates.memory is not None), None)
    found = quotas(choice.flavor, resources, cpu, memory, choice.limits)
    if beyond := next((q.resource for q in found if max(q.nominal, q.borrowing_limit or 0) > MAXIMUM), None):
        message = f"comes to more {beyond} than Kubernetes can count ({MAXIMUM}); write smaller amounts"
        draft.problems.fault("too-large", choice.path, message)
    return FlavorQuotasPlan(flavor=choice.flavor.name, quotas=found)


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


def _own_doors(draft: Draft, wish: Wish, doors: dict[tuple[str, str], Path]) -> None:
    """No two local queues of a team have one name; `doors` are those seen so far. (No two teams share a namespace.)"""
    for team in wish.teams:
        first = doors.setdefault((team, wish.local_name), wish.path)
        if first != wish.path:
            what = f"local queue '{wish.local_name}' in namespace '{namespace_of(draft, team)}'"
            _twice(draft, (*wish.path, "localQueue"), what, first)


def _twice(draft: Draft, path: Path, what: str, first: Path) -> None:
    draft.problems.fault("duplicate-name", path, f"{what} is already that of {dotted(first)}; name it otherwise")
