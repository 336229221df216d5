"""Cluster queues and local queues: who is promised how much of which flavor."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from msgspec import Struct

from berth.diagnostics import Path, dotted
from berth.plan.kueue import ClusterQueuePlan, PreemptionPlan, QueueCheckPlan
from berth.planner.allowances import CLUSTER, protected
from berth.planner.context import Draft
from berth.planner.formerly import former_names
from berth.planner.machines.pools import Pool
from berth.planner.queueing.admission_checks import check_of
from berth.planner.queueing.flavors import Flavor
from berth.planner.queueing.local_queues import Doors, local_queues, namespaces_of, stop_policy
from berth.planner.queueing.quotas import Choice, Holder, Offer, chosen, flavor_quotas, lends_what_it_has, resources_of
from berth.spec.teams import QueueSpec


class Wish(Struct, frozen=True):
    """A queue as somebody wrote it: where, for whom, in which cohort."""

    path: Path
    spec: QueueSpec
    name: str
    local_name: str
    teams: tuple[str, ...]
    cohort: str | None


def cluster_queues(draft: Draft, pools: dict[str, Pool], flavors: dict[str, Flavor]) -> tuple[ClusterQueuePlan, ...]:
    """Every cluster queue of the fleet, by name."""
    _former_names(draft)
    found: dict[str, ClusterQueuePlan] = {}
    doors = Doors()
    offer = Offer(pools, flavors)
    for wish in sorted(_wishes(draft), key=_named):
        queue = _cluster_queue(draft, wish, offer)
        doors.add(draft, wish.path, wish.local_name, wish.teams)
        if queue and queue.name in found:
            first = draft.origins["cluster queue", queue.name]
            draft.incomplete = True
            _twice(draft, (*wish.path, "name"), f"cluster queue '{queue.name}'", first)
        elif queue:
            found[queue.name] = queue
            draft.origins["cluster queue", queue.name] = wish.path
            draft.origins |= {("local queue", f"{d.namespace}/{d.name}"): wish.path for d in queue.local_queues}
    return tuple(found[name] for name in sorted(found))


def _former_names(draft: Draft) -> None:
    former_names(draft, ("teams",), draft.spec.teams)
    for team, spec in sorted(draft.spec.teams.items()):
        former_names(draft, ("teams", team, "queues"), spec.queues)
    former_names(draft, ("clusterQueues",), draft.spec.cluster_queues)


def names(draft: Draft) -> list[str]:
    """Kueue's names of all cluster queues, as they were written."""
    own = (
        _own_name(spec.formerly or team, key, wanted)
        for team, spec in draft.spec.teams.items()
        for key, wanted in spec.queues.items()
    )
    return [*own, *(_shared_name(key, shared) for key, shared in draft.spec.cluster_queues.items())]


def _own_name(team: str, key: str, spec: QueueSpec) -> str:
    return spec.name or f"{team}-{spec.formerly or key}"


def _shared_name(key: str, spec: QueueSpec) -> str:
    return spec.name or spec.formerly or key


def _local_name(key: str, spec: QueueSpec) -> str:
    return spec.local_queue or spec.formerly or key


def called(path: Path, name: str) -> str:
    """How people call a queue by where it is written: `team/queue`, or its own `name` where it is shared."""
    return f"{path[1]}/{path[3]}" if path[0] == "teams" else name


def _named(wish: Wish) -> tuple[bool, bool, Path]:
    """Teams' queues that are given no name come first: where two have one, it is a name that somebody gave."""
    given = wish.spec.name is not None or wish.spec.local_queue is not None
    return given, wish.path[0] != "teams", wish.path


def _wishes(draft: Draft) -> Iterator[Wish]:
    for team, spec in sorted(draft.spec.teams.items()):
        _in_cohort(draft, spec.cohort, ("teams", team, "cohort"))
        for queue, wanted in sorted(spec.queues.items()):
            path: Path = ("teams", team, "queues", queue)
            name = _own_name(spec.formerly or team, queue, wanted)
            yield Wish(path, wanted, name, _local_name(queue, wanted), (team,), spec.cohort)
    for queue, shared in sorted(draft.spec.cluster_queues.items()):
        path = ("clusterQueues", queue)
        known = {t: t for t in draft.spec.teams}
        teams = [draft.find("teams", t, known, (*path, "teams", i)) for i, t in enumerate(shared.teams)]
        served = tuple(sorted({t for t in teams if t}))
        draft.incomplete |= len(served) < len(teams)
        _in_cohort(draft, shared.cohort, (*path, "cohort"))
        yield Wish(path, shared, _shared_name(queue, shared), _local_name(queue, shared), served, shared.cohort)


def _in_cohort(draft: Draft, cohort: str | None, path: Path) -> None:
    if cohort is not None:
        draft.incomplete |= draft.find("cohorts", cohort, draft.spec.cohorts, path) is None


def _cluster_queue(draft: Draft, wish: Wish, offer: Offer) -> ClusterQueuePlan | None:
    spec = wish.spec
    holder = Holder(wish.path, spec.flavors, spec.per_accelerator, wish.cohort)
    choices = chosen(draft, holder, offer)
    for choice in choices:
        lends_what_it_has(draft, choice, choice.limits[0])
    if spec.priority is not None:
        draft.find("priorities", spec.priority, draft.spec.priorities, (*wish.path, "priority"))
    if not choices:
        return None
    resources = resources_of(choices)
    fungibility = spec.flavor_fungibility
    stopped = stop_policy(draft, wish.path, spec, wish.teams)
    return ClusterQueuePlan(
        name=wish.name,
        teams=wish.teams,
        cohort=wish.cohort,
        queueing_strategy=spec.queueing_strategy,
        namespaces=None if spec.namespaces == "all" else _namespaces(draft, wish),
        covered_resources=resources,
        flavors=tuple(flavor_quotas(draft, holder, c, resources, c.limits) for c in choices),
        preemption=_preemption(draft, wish),
        when_can_borrow=fungibility.when_can_borrow if fungibility else None,
        when_can_preempt=fungibility.when_can_preempt if fungibility else None,
        priority=spec.priority,
        local_queues=tuple(local_queues(draft, wish.path, wish.name, wish.local_name, wish.teams)),
        admission_checks=checks_of(choice.flavor for choice in choices),
        stop_policy=stopped,
        fair_share_weight=spec.fair_share_weight,
        protect=_holds_a_guarantee(stopped, choices) and queue_protected(draft, wish.name),
        labels=_labels(draft, wish),
        preference=fungibility.preference if fungibility else None,
        max_jobs=spec.max_jobs,
        admission_mode=spec.admission_scope.admission_mode if spec.admission_scope else None,
    )


def _namespaces(draft: Draft, wish: Wish) -> tuple[str, ...]:
    return tuple(sorted({place.name for team in wish.teams for place in namespaces_of(draft, team)}))


def _labels(draft: Draft, wish: Wish) -> dict[str, str]:
    """Those of the team, where the queue is its alone."""
    return dict(sorted(draft.spec.teams[wish.teams[0]].labels.items())) if wish.path[0] == "teams" else {}


def queue_protected(draft: Draft, name: str) -> bool:
    """Who allows the cluster to go allows what is kept inside it to go."""
    return protected(draft, f"clusterQueues.{name}") and protected(draft, CLUSTER)


def _holds_a_guarantee(stopped: str | None, choices: tuple[Choice, ...]) -> bool:
    """Whether somebody may be running on what the queue is guaranteed: a drained queue runs nothing."""
    return stopped != "HoldAndDrain" and any(c.limits[0] for c in choices)


def checks_of(kinds: Iterable[Flavor]) -> tuple[QueueCheckPlan, ...]:
    """Each check of a queued flavor, on the flavors that it is the check of."""
    flavors: dict[str, list[str]] = {}
    for kind in kinds:
        if name := check_of(kind):
            flavors.setdefault(name, []).append(kind.name)
    return tuple(QueueCheckPlan(name=name, on_flavors=tuple(flavors[name])) for name in sorted(flavors))


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


def _twice(draft: Draft, path: Path, what: str, first: Path) -> None:
    draft.problems.fault("duplicate-name", path, f"{what} is already that of {dotted(first)}; name it otherwise")
