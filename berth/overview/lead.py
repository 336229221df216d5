"""What a team lead asks of a fleet: what is mine, who can take it, what can I take, what happens to a running job."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from msgspec import Struct

from berth.calendar.timeline import format_moment
from berth.diagnostics import join_words
from berth.document import Block, Heading, Lines, Table
from berth.overview.calendar import next_boundaries
from berth.overview.fleet import guarantee_text
from berth.plan.existing import ExistingClusterPlan, ExistingGkeClusterPlan
from berth.plan.fleet import FleetPlan
from berth.plan.gke import MaintenancePlan
from berth.plan.kueue import ClusterQueuePlan
from berth.plan.teams import TeamPlan
from berth.planner.queueing.preemption import PreemptionPair, preemption_pairs
from berth.planner.queueing.quota_tree import QuotaTree, accelerator_quotas, lendable
from berth.text import abbreviate_names, capacity_source, format_duration

_DAY = len("2026-12-01")


class LeadAnswer(Struct, frozen=True):
    """The answer for one team. `mine` has rows of queue, flavor, guaranteed, ceiling, noun and where machines are from.

    `events` are pairs of an event and what it does to a running job. `later` are the next changes of its guarantees:
    when, whose, flavor, before, after, noun.
    """

    team: str
    stack: str
    namespaces: tuple[str, ...]
    mine: tuple[tuple[str, str, str, str, str, str], ...]
    taken: tuple[str, ...]
    takes: tuple[str, ...]
    events: tuple[tuple[str, str], ...]
    later: tuple[tuple[str, str, str, int, int, str], ...] = ()


class _Shares(Struct, frozen=True):
    """A team's queues, the preemption between all queues, and the quota tree."""

    plan: FleetPlan
    team: TeamPlan
    queues: tuple[ClusterQueuePlan, ...]
    pairs: tuple[PreemptionPair, ...]
    tree: QuotaTree

    def nominal(self, queue: ClusterQueuePlan) -> dict[str, int]:
        """Return a queue's guarantee by flavor."""
        resources = {flavor.name: flavor.resource for flavor in self.plan.flavors}
        return {name: quota.nominal for name, quota in accelerator_quotas(queue, resources)}

    def ceiling(self, queue: ClusterQueuePlan, flavor: str) -> int:
        """Return the most that a queue can use of a flavor."""
        capacity = next(each.capacity.max for each in self.plan.flavors if each.name == flavor)
        return min(self.tree.queue_nodes(queue.name)[flavor].ceiling, capacity)


def lead_answer(plan: FleetPlan, team: TeamPlan) -> LeadAnswer:
    """Return what a team has, who can take it, what it can take, and what happens to its running jobs."""
    tree = QuotaTree.from_plan(plan)
    queues = tuple(queue for queue in plan.cluster_queues if team.name in queue.teams)
    pairs = tuple(preemption_pairs(plan, tree, [queue.name for queue in plan.cluster_queues]))
    shares = _Shares(plan, team, queues, pairs, tree)
    return LeadAnswer(
        team=team.name,
        stack=plan.stack,
        namespaces=tuple(each.name for each in team.namespaces),
        mine=tuple(_mine(shares)),
        taken=tuple(line for queue in queues for line in _taken(shares, queue)),
        takes=tuple(line for queue in queues for line in _takes(shares, queue)),
        events=tuple(_events(shares)),
        later=tuple(
            (format_moment(each.at), timed.holder, timed.flavor, change.before, change.after, timed.noun)
            for each in next_boundaries(plan)
            for change in each.changes
            if team.name in (timed := change.guarantee).teams
        ),
    )


def lead_document(answer: LeadAnswer) -> Iterator[Block]:
    """Yield the answer, in one screen for a team with few queues."""
    places = join_words(list(answer.namespaces))
    yield Heading(
        f"{answer.team} on {answer.stack} · {'namespace' if len(answer.namespaces) == 1 else 'namespaces'} {places}"
    )
    head = ("queue", "flavor", "guaranteed", "ceiling", "", "machines")
    yield Table("What is mine", head, answer.mine, numbers=(2, 3), once=(0,))
    rows = [[*each[:3], str(each[3]), str(each[4]), each[5]] for each in answer.later]
    yield Table("What changes later", ("at", "queue", "flavor", "guaranteed", "then", ""), rows, numbers=(3, 4))
    yield Lines("Who can take it, and when", answer.taken)
    yield Lines("What I can take", answer.takes)
    yield Table("What happens to a running job", ("event", "then"), answer.events)


def lead_as_json(answer: LeadAnswer) -> dict[str, Any]:
    """Return the answer as JSON values (docs/plan.md)."""
    keys = ("queue", "flavor", "guaranteed", "ceiling", "noun", "machines")
    return {
        "team": answer.team,
        "stack": answer.stack,
        "namespaces": list(answer.namespaces),
        "mine": [dict(zip(keys, row, strict=True)) for row in answer.mine],
        "taken": list(answer.taken),
        "takes": list(answer.takes),
        "later": [
            dict(zip(("at", "holder", "flavor", "before", "after", "noun"), each, strict=True)) for each in answer.later
        ],
        "events": [{"event": event, "then": then} for event, then in answer.events],
    }


def _mine(shares: _Shares) -> Iterator[tuple[str, str, str, str, str, str]]:
    plan = shares.plan
    nouns = {flavor.name: flavor.noun for flavor in plan.flavors}
    for queue in shares.queues:
        others = [name for name in queue.teams if name != shares.team.name]
        name = f"{queue.name} (with {abbreviate_names(others)})" if others else queue.name
        for flavor, nominal in shares.nominal(queue).items():
            sources = dict.fromkeys(capacity_source(pool) for pool in plan.pools if pool.flavor == flavor)
            guaranteed = guarantee_text(plan, flavor, nominal)
            yield name, flavor, guaranteed, str(shares.ceiling(queue, flavor)), nouns[flavor], join_words([*sources])


def _taken(shares: _Shares, queue: ClusterQueuePlan) -> Iterator[str]:
    """Yield who can preempt jobs of a queue, by rule."""
    against = [pair for pair in shares.pairs if pair.target_queue == queue.name]
    for pair in against:
        if pair.rule == "withinClusterQueue":
            newer = queue.preemption.within_cluster_queue == "LowerOrNewerEqualPriority"
            equal = ", and an older one of equal priority a newer one" if newer else ""
            yield f"{queue.name}: at any time, a job of higher priority in this queue preempts one of lower{equal}"
    for flavor, nominal in shares.nominal(queue).items():
        beyond = shares.ceiling(queue, flavor) - nominal
        if beyond <= 0:
            continue
        owners = [p.queue for p in against if p.rule == "reclaimWithinCohort" and flavor in p.flavors]
        above = (
            f"{queue.name}: what it uses of {flavor} above {nominal}" if nominal else f"{queue.name}: all of {flavor}"
        )
        if owners:
            yield f"{above} (at most {beyond}), when jobs of {abbreviate_names(owners)} need their guarantee"
        else:
            yield f"{above} (at most {beyond}) nobody takes back while its jobs run"
        stronger = [p.queue for p in against if p.rule == "borrowWithinCohort" and flavor in p.flavors]
        if stronger:
            yield f"{above}, when jobs of higher priority of {abbreviate_names(stronger)} want to borrow it"
    spot = [
        name for name, amount in shares.nominal(queue).items() if "spot" in guarantee_text(shares.plan, name, amount)
    ]
    if spot:
        yield f"{queue.name}: {join_words(spot)}, at any time, Google Cloud (spot machines)"


def _takes(shares: _Shares, queue: ClusterQueuePlan) -> Iterator[str]:
    """Yield what a queue can borrow and from whom, and how it gets back its guarantee."""
    plan, root = shares.plan, shares.tree.root_cohort(queue.cohort)
    resources = {flavor.name: flavor.resource for flavor in plan.flavors}
    reclaims = {pair for pair in shares.pairs if pair.queue == queue.name and pair.rule == "reclaimWithinCohort"}
    for flavor, nominal in shares.nominal(queue).items():
        beyond = shares.ceiling(queue, flavor) - nominal
        lenders = [
            owner.name
            for owner in (*plan.cluster_queues, *plan.cohorts)
            if owner.name != queue.name
            and queue.cohort is not None
            and shares.tree.root_cohort(owner.cohort if isinstance(owner, ClusterQueuePlan) else owner.name) == root
            and any(name == flavor and lendable(quota) for name, quota in accelerator_quotas(owner, resources))
        ]
        if beyond > 0:
            yield f"{queue.name}: up to {beyond} more of {flavor}, idle quota of {abbreviate_names(lenders)}"
        users = [pair.target_queue for pair in reclaims if flavor in pair.flavors]
        if users and nominal:
            borrowers = abbreviate_names(sorted(users))
            yield f"{queue.name}: its {nominal} of {flavor} back at once, from jobs of {borrowers} that borrow"
    stronger = sorted(
        {p.target_queue for p in shares.pairs if p.queue == queue.name and p.rule == "borrowWithinCohort"}
    )
    if stronger:
        yield f"{queue.name}: quota that jobs of lower priority of {abbreviate_names(stronger)} borrow"


def _events(shares: _Shares) -> Iterator[tuple[str, str]]:
    """Yield each event with what it does to a running job of the team."""
    plan = shares.plan
    flavors = {name for queue in shares.queues for name in shares.nominal(queue)}
    spot = sorted({pool.name for pool in plan.pools if pool.flavor in flavors and pool.capacity == "spot"})
    waits = _recovery(plan)
    if spot:
        yield "spot loss", f"on {abbreviate_names(spot)}: its pods there end; {waits}"
    else:
        yield "spot loss", "none of your machines is spot"
    spare = [f"{each.spare} {each.noun} of {each.name}" for each in plan.flavors if each.spare and each.name in flavors]
    kept = f" and start again on spare machines ({join_words(spare)}) while some are free" if spare else ""
    yield "node failure", f"its pods there end{kept}; {waits}; a job without restarts left fails"
    yield "upgrade of nodes", f"pods end with their grace period; {waits}; GKE upgrades {_upgrades(plan)}"
    yield "hold of a queue", "it runs on, and no further job starts; with state drained it is evicted and queued again"
    grace = shares.team.isolation.max_grace
    limit = "its grace period" if grace is None else f"its grace period, at most {grace} s,"
    borrows = any(
        shares.ceiling(queue, name) > amount
        for queue in shares.queues
        for name, amount in shares.nominal(queue).items()
    )
    if borrows:
        yield (
            "a neighbour's return",
            f"a job that borrows gets {limit} then waits in the queue and starts again from its checkpoint",
        )
    else:
        yield "a neighbour's return", "nothing: no queue of yours borrows"


def _recovery(plan: FleetPlan) -> str:
    """Return how long Kueue keeps the quota of a job that lost pods."""
    if plan.kueue is None:
        return "how long its quota stays is a setting of the existing Kueue"
    settings = plan.kueue.pods_ready
    seconds = settings.timeout_seconds if settings.recovery_seconds is None else settings.recovery_seconds
    return f"its quota stays {format_duration(seconds)}, then it is queued again" if seconds else "its quota stays"


def _upgrades(plan: FleetPlan) -> str:
    """Return when GKE upgrades nodes."""
    cluster = plan.cluster
    if isinstance(cluster, ExistingClusterPlan | ExistingGkeClusterPlan):
        return "as the existing cluster is set"
    maintenance = cluster.maintenance
    if maintenance is None:
        return "at any time"
    exclusions = [
        f", not from {each.start[:_DAY]} until {each.end[:_DAY] if each.end else 'the end of support'}"
        for each in maintenance.exclusions
        if each.scope != "NO_MINOR_UPGRADES"  # nodes get patches then
    ]
    return f"{_window(maintenance)}{''.join(exclusions)}"


def _window(maintenance: MaintenancePlan) -> str:
    if maintenance.daily_start:
        return f"daily from {maintenance.daily_start} GMT"
    return f"by {maintenance.recurrence} from {maintenance.start}" if maintenance.recurrence else "at any time"
