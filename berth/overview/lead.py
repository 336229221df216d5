"""What a team lead asks of a fleet: what is mine, who can take it, what can I take, what happens to a running job."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from typing import Any

from msgspec import Struct

from berth.calendar.timeline import format_moment
from berth.diagnostics import join_words
from berth.document import Block, Heading, Lines, Note, Table
from berth.overview.calendar import next_boundaries
from berth.overview.fleet import guarantee_text
from berth.overview.lead_events import lead_events, stays_of_machines
from berth.plan.fleet import FleetPlan, PoolPlan
from berth.plan.grouping import grouped
from berth.plan.kueue import USAGE_BASED, ClusterQueuePlan
from berth.plan.teams import TeamPlan
from berth.planner.queueing.preemption import PreemptionPair, preemption_pairs
from berth.planner.queueing.quota_tree import QuotaTree, accelerator_quotas, lendable
from berth.text import abbreviate_names, capacity_source

_DAY = len("2026-12-01")


class LeadAnswer(Struct, frozen=True):
    """The answer for one team. `mine` has rows of queue, flavor, guaranteed, ceiling, noun and where machines are from.

    `stopped` says which queues are held or drained, and `events` are pairs of an event and what it does to a running
    job. `later` are the next changes of its guarantees: when, whose, flavor, before, after, noun.
    """

    team: str
    stack: str
    namespaces: tuple[str, ...]
    mine: tuple[tuple[str, str, str, str, str, str], ...]
    stopped: tuple[str, ...]
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
    takes = tuple(_by_queue(shares, _takes))
    return LeadAnswer(
        team=team.name,
        stack=plan.stack,
        namespaces=tuple(each.name for each in team.namespaces),
        mine=tuple(_mine(shares)),
        stopped=tuple(_stopped(shares)),
        taken=tuple(_by_queue(shares, _taken)) or ("nobody: no job of another queue or of higher priority can",),
        takes=takes or ("nothing beyond the guarantees: no queue may borrow, and nobody borrows from one",),
        events=tuple(lead_events(plan, team, queues, borrows=_borrows(shares))),
        later=tuple(
            (format_moment(each.at), timed.holder, timed.flavor, change.before, change.after, timed.noun)
            for each in next_boundaries(plan)
            for change in each.changes
            if team.name in (timed := change.guarantee).teams
        ),
    )


def _by_queue(shares: _Shares, sentences: Callable[[_Shares, ClusterQueuePlan], Iterator[str]]) -> Iterator[str]:
    """Yield each sentence once, with the queues that it is true of."""
    queues = grouped((sentence, queue.name) for queue in shares.queues for sentence in sentences(shares, queue))
    for sentence, names in queues.items():
        every = len(names) == len(shares.queues) > 1
        yield f"{'every queue' if every else abbreviate_names(names)}: {sentence}"


def lead_document(answer: LeadAnswer) -> Iterator[Block]:
    """Yield the answer, in one screen for a team with few queues."""
    places = join_words(list(answer.namespaces))
    yield Heading(
        f"{answer.team} on {answer.stack} · {'namespace' if len(answer.namespaces) == 1 else 'namespaces'} {places}"
    )
    head = ("queue", "flavor", "guaranteed", "ceiling", "", "machines")
    yield Table("What is mine", head, answer.mine, numbers=(2, 3), once=(0,))
    yield Note(answer.stopped if answer.mine else (f"What is mine: nothing, {answer.team} has no queue",))
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
        "stopped": list(answer.stopped),
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
            sources = dict.fromkeys(_source(plan, pool) for pool in plan.pools if pool.flavor == flavor)
            guaranteed = guarantee_text(plan, flavor, nominal)
            yield name, flavor, guaranteed, str(shares.ceiling(queue, flavor)), nouns[flavor], join_words([*sources])


def _source(plan: FleetPlan, pool: PoolPlan) -> str:
    """Return where machines come from, and from when until when, where that is known."""
    later = next((each for each in plan.held if pool.name in each.pools and each.start and each.end), None)
    when = f", from {later.start[:_DAY]} until {later.end[:_DAY]}" if later and later.start and later.end else ""
    return capacity_source(pool) + when


def _stopped(shares: _Shares) -> Iterator[str]:
    """Yield which of the team's queues are held or drained now."""
    for queue in shares.queues:
        policies = [each.stop_policy for each in queue.local_queues if each.team == shares.team.name]
        for policy in sorted({queue.stop_policy or "None", *(each or "None" for each in policies)} - {"None"}):
            drained = "drained: its jobs are evicted" if policy == "HoldAndDrain" else "held: what runs in it runs on"
            yield f"{queue.name} is {drained}, and no further job starts"


def _taken(shares: _Shares, queue: ClusterQueuePlan) -> Iterator[str]:
    """Yield who can preempt jobs of a queue, by rule, and when machines go."""
    against = [pair for pair in shares.pairs if pair.target_queue == queue.name]
    if any(pair.rule == "withinClusterQueue" for pair in against):
        newer = queue.preemption.within_cluster_queue == "LowerOrNewerEqualPriority"
        equal = ", and an older one of equal priority a newer one" if newer else ""
        yield f"at any time, a job of higher priority in the same queue preempts one of lower{equal}"
    for flavor, nominal in shares.nominal(queue).items():
        beyond = shares.ceiling(queue, flavor) - nominal
        if beyond <= 0:
            continue
        owners = [p.queue for p in against if p.rule == "reclaimWithinCohort" and flavor in p.flavors]
        above = f"what it uses of {flavor} above {nominal}" if nominal else f"all of {flavor}"
        for higher, names in _by_priority(shares, owners):
            yield f"{above} (at most {beyond}), when jobs{higher} of {abbreviate_names(names)} need their guarantee"
        if not owners:
            yield f"{above} (at most {beyond}) nobody takes back while its jobs run"
        stronger = [p.queue for p in against if p.rule == "borrowWithinCohort" and flavor in p.flavors]
        if stronger:
            yield f"{above}, when jobs of higher priority of {abbreviate_names(stronger)} want to borrow it"
    spot = [
        name for name, amount in shares.nominal(queue).items() if "spot" in guarantee_text(shares.plan, name, amount)
    ]
    if spot:
        yield f"{join_words(spot)}, at any time, Google Cloud (spot machines)"
    for limit, names in stays_of_machines(shares.plan, shares.team, queue):
        yield f"{join_words(names)}, at the latest {limit} after its machines came, Google Cloud (they run no longer)"


def _by_priority(shares: _Shares, owners: Collection[str]) -> Iterator[tuple[str, list[str]]]:
    """Yield queues that reclaim their guarantee from any borrower, and those that do so for higher priority only."""
    policies = {each.name: each.preemption.reclaim_within_cohort for each in shares.plan.cluster_queues}
    for words, chosen in (
        ("", [name for name in owners if policies[name] == "Any"]),
        (" of higher priority", [name for name in owners if policies[name] != "Any"]),
    ):
        if chosen:
            yield words, chosen


def _takes(shares: _Shares, queue: ClusterQueuePlan) -> Iterator[str]:
    """Yield what a queue can borrow and from whom, and how it gets back its guarantee."""
    plan, root = shares.plan, shares.tree.root_cohort(queue.cohort)
    resources = {flavor.name: flavor.resource for flavor in plan.flavors}
    reclaims = {pair for pair in shares.pairs if pair.queue == queue.name and pair.rule == "reclaimWithinCohort"}
    weaker = "" if queue.preemption.reclaim_within_cohort == "Any" else "of lower priority "
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
            yield f"up to {beyond} more of {flavor}, idle quota of {abbreviate_names(lenders)}"
        users = [pair.target_queue for pair in reclaims if flavor in pair.flavors]
        if users and nominal:
            borrowers = abbreviate_names(sorted(users))
            yield f"its {nominal} of {flavor} back: jobs {weaker}of {borrowers} that borrow are preempted at once"
    if queue.admission_mode == USAGE_BASED and len(queue.local_queues) > 1 and plan.kueue is not None:
        yield "its turn before the other local queues of the queue, when it has used less lately than they have"
    stronger = sorted(
        {p.target_queue for p in shares.pairs if p.queue == queue.name and p.rule == "borrowWithinCohort"}
    )
    if stronger:
        yield f"quota that jobs of lower priority of {abbreviate_names(stronger)} borrow"


def _borrows(shares: _Shares) -> bool:
    return any(
        shares.ceiling(queue, name) > amount
        for queue in shares.queues
        for name, amount in shares.nominal(queue).items()
    )
