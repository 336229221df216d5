"""Mutate quota, priority, preemption, order of each example: `python -m tests.bench.assertion_mutations [EXAMPLE]...`.

Prints the share of mutations that make one of the example's shipped assertions fail. Apart are those that `berth check`
refuses, and those with which Kueue decides alike: all that the simulator reads is equal after what has no effect is
taken out (`decisive_setup`).
"""

from __future__ import annotations

import sys
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, cast

from msgspec import Struct, structs

from berth.cli.test.checks import ASSERTIONS, check_evaluation
from berth.diagnostics import FieldPath
from berth.evaluate import Evaluation, evaluate_changed
from berth.plan.fleet import FleetPlan
from berth.plan.kueue import FlavorQuotasPlan, PreemptionPlan, QuotaLimits
from berth.simulator.fleet import build_simulated_fleet
from berth.simulator.local_usage import SimulatedClock
from berth.simulator.scheduler.build_queues import build_queues
from berth.simulator.scheduler.model import (
    RUNNING,
    ClusterQueue,
    Cohort,
    FlavorFungibility,
    FlavorResource,
    SchedulerSetup,
)
from berth.simulator.scheduler.quota import QuotaState, QuotaTreeNode
from tests.stack_files import ALL_STACKS, ROOT, evaluation

_POLICIES = {
    "withinClusterQueue": ("Never", "LowerPriority", "LowerOrNewerEqualPriority"),
    "reclaimWithinCohort": ("Never", "LowerPriority", "Any"),
}
_STRATEGIES = ("BestEffortFIFO", "StrictFIFO")
_RULES = {"whenCanBorrow": ("MayStopSearch", "TryNextFlavor"), "whenCanPreempt": ("TryNextFlavor", "MayStopSearch")}
"""Values of each rule of flavor fungibility, Kueue's default first."""


class Mutation(Struct, frozen=True):
    """A change of one value: what it is about, its sentence, and the new values by path."""

    subject: str
    title: str
    values: Mapping[FieldPath, object]


def assertion_file(stack: str) -> Path:
    """The shipped assertions of a stack; the file may not exist."""
    return ALL_STACKS[stack].parent / ASSERTIONS / f"{stack}.yaml"


def mutations(base: Evaluation) -> Iterator[Mutation]:
    """Yield every mutation of a stack, in the order of its file."""
    plan, fleet = base.fleet_plan, cast("Mapping[str, Any]", base.file.fleet if base.file else {})
    assert plan is not None
    for path, name, written in _queues(fleet):
        planned = next(queue for queue in plan.cluster_queues if queue.name == name)
        yield from _amounts(plan, path, written, planned.flavors, name)
        yield from _orders(path, written, name, planned.queueing_strategy)
        policies = planned.preemption
        current = {
            "withinClusterQueue": policies.within_cluster_queue,
            "reclaimWithinCohort": policies.reclaim_within_cohort,
        }
        own = written.get("preemption") or {}
        for key, values in _POLICIES.items():
            for value in values:
                if value != current[key]:
                    title = f"{name}: {key} {current[key]} → {value}"
                    yield Mutation(f"{name} {key}", title, {(*path, "preemption"): {**own, key: value}})
        other = "Never" if policies.borrow_within_cohort == "LowerPriority" else "LowerPriority"
        borrows = {**own, "borrowWithinCohort": {"policy": other}}
        yield Mutation(
            f"{name} borrowWithinCohort", f"{name}: borrowWithinCohort → {other}", {(*path, "preemption"): borrows}
        )
        for key in fleet.get("priorities", {}):
            if key != written.get("priority"):
                yield Mutation(f"{name} priority", f"{name}: priority → {key}", {(*path, "priority"): key})
    for cohort in plan.cohorts:
        written = fleet.get("cohorts", {}).get(cohort.name) or {}
        yield from _amounts(plan, ("cohorts", cohort.name), written, cohort.flavors, f"cohort {cohort.name}")
    yield from _priorities(fleet.get("priorities", {}))


def _queues(fleet: Mapping[str, Any]) -> Iterator[tuple[FieldPath, str, Mapping[str, Any]]]:
    """Yield path, cluster queue and what is written of each queue; those of `teamDefaults` for the first team."""
    teams = fleet.get("teams", {})
    for team, entry in teams.items():
        for key, queue in (entry.get("queues") or {}).items():
            yield ("teams", team, "queues", key), queue.get("name") or f"{team}-{key}", queue
    for key, queue in (fleet.get("teamDefaults", {}).get("queues") or {}).items():
        yield ("teamDefaults", "queues", key), queue["name"].replace("{team}", next(iter(teams))), queue
    for key, queue in fleet.get("clusterQueues", {}).items():
        yield ("clusterQueues", key), key, queue


def _amounts(
    plan: FleetPlan,
    path: FieldPath,
    written: Mapping[str, Any],
    planned: Sequence[FlavorQuotasPlan],
    owner: str,
) -> Iterator[Mutation]:
    """Yield one unit more and less of each amount, none, and no limit."""
    flavors = {flavor.name: flavor for flavor in plan.flavors}
    entries = cast("list[dict[str, Any]]", written.get("flavors") or [])
    for index, flavor_quotas in enumerate(planned):
        flavor = flavors[flavor_quotas.flavor]
        scale = 1000 if flavor.resource == "cpu" else 1  # the plan has thousandths of a core
        limits = next(quota for quota in flavor_quotas.quotas if quota.resource == flavor.resource)
        unit = max(1, flavor.unit // scale)
        amounts = {"guaranteed": limits.nominal, "borrow": limits.borrowing_limit, "lend": limits.lending_limit}
        for key, planned_amount in amounts.items():
            amount = None if planned_amount is None else planned_amount // scale
            others: list[object] = [0, unit] if amount is None else [amount - unit, amount + unit, 0, 2 * amount]
            if key == "borrow" and amount is not None:
                others.append("unlimited")
            for other in dict.fromkeys(others):
                if other == amount or (isinstance(other, int) and other < 0):
                    continue
                changed = [{**each, key: other} if n == index else each for n, each in enumerate(entries)]
                title = f"{owner}: {key} of {flavor.name} {amount} → {other}"
                yield Mutation(f"{owner} {key} {flavor.name}", title, {(*path, "flavors"): changed})


def _orders(path: FieldPath, written: Mapping[str, Any], name: str, strategy: str) -> Iterator[Mutation]:
    other = next(each for each in _STRATEGIES if each != strategy)
    title = f"{name}: queueingStrategy {strategy} → {other}"
    yield Mutation(f"{name} queueingStrategy", title, {(*path, "queueingStrategy"): other})
    flavors = cast("list[dict[str, Any]]", written["flavors"])
    for first in range(len(flavors) - 1):
        swapped = [*flavors[:first], flavors[first + 1], flavors[first], *flavors[first + 2 :]]
        yield Mutation(f"{name} order", f"{name}: flavor {first + 1} after the next", {(*path, "flavors"): swapped})
    own = written.get("flavorFungibility") or {}
    for key, values in _RULES.items():
        other = next(each for each in values if each != own.get(key, values[0]))
        title = f"{name}: {key} → {other}"
        yield Mutation(f"{name} {key}", title, {(*path, "flavorFungibility"): {**own, key: other}})


def _priorities(written: Mapping[str, Mapping[str, Any]]) -> Iterator[Mutation]:
    """Yield every two values exchanged, another default, and `preempts` the other way."""
    names = list(written)
    for index, name in enumerate(names):
        for other in names[index + 1 :]:
            exchanged: dict[FieldPath, object] = {("priorities", name, "value"): written[other]["value"]}
            exchanged[("priorities", other, "value")] = written[name]["value"]
            yield Mutation("priority values", f"priorities {name} and {other} exchange their values", exchanged)
        if not written[name].get("default"):
            values: dict[FieldPath, object] = {("priorities", each, "default"): each == name for each in names}
            yield Mutation("default priority", f"priority {name} is the default", values)
        preempts = not written[name].get("preempts", True)
        yield Mutation(
            f"preempts of {name}",
            f"priority {name}: preempts → {preempts}",
            {("priorities", name, "preempts"): preempts},
        )


# --- what decides -----------------------------------------------------------------------------------------------------


def decisive_setup(plan: FleetPlan) -> object:
    """Return all that the simulator reads of a plan, without what cannot change a decision.

    Without effect are: limits that no amount in the tree of cohorts reaches, or that the limits of others keep out of
    reach; lending and reclaiming of flavors that no other queue of the tree may borrow, or of which all that others may
    borrow is the cohort's own; borrowing of those that nobody else has; everything about a held queue without a cohort;
    preemption while borrowing for a queue that borrows nothing; whether the search goes on after a flavor, if it
    borrows none before the last or preempts nobody; and the values of priorities beyond their order.
    """
    fleet = build_simulated_fleet(plan)
    ranks = sorted(set(fleet.priorities.values()) | {fleet.default_priority})
    ranked = {name: ranks.index(value) for name, value in fleet.priorities.items()}
    return decisive(fleet.setup), ranked, ranks.index(fleet.default_priority), fleet.local_queues


def decisive(setup: SchedulerSetup) -> SchedulerSetup:
    """Return a setup without what cannot change a decision, but for priorities; tests look for a difference."""
    return _Trees(setup).decisive()


class _Trees:
    """The trees of cohorts of a setup: all quota of each flavor, how many share it, and who may borrow it."""

    def __init__(self, setup: SchedulerSetup) -> None:
        self.setup = setup
        queues, _ = build_queues(setup, SimulatedClock())
        self.nodes = {node.name: node for each in queues.values() for node in _subtree(each.node.root())}
        self.parents = {cohort.name: cohort.parent for cohort in setup.cohorts}
        self.totals: defaultdict[tuple[str, FlavorResource], int] = defaultdict(int)
        self.sharers: Counter[tuple[str, str]] = Counter()
        self.borrowers: defaultdict[tuple[str, str], set[str]] = defaultdict(set)
        for member in (*setup.queues, *setup.cohorts):
            for cell, limits in member.quotas.items():
                self.totals[self._top(member), cell] += limits.nominal
            self.sharers.update({(self._top(member), flavor) for flavor, _ in member.quotas})
        for queue in setup.queues:
            for (flavor, _), limits in queue.quotas.items():
                if self.sharers[self._top(queue), flavor] > 1 and limits.borrowing_limit != 0:
                    self.borrowers[self._top(queue), flavor].add(queue.name)

    def decisive(self) -> SchedulerSetup:
        setup = self.setup
        return structs.replace(
            setup,
            queues=tuple(self._queue(queue) for queue in setup.queues),
            cohorts=tuple(structs.replace(cohort, quotas=self._quotas(cohort)) for cohort in setup.cohorts),
            workers={name: _Trees(worker).decisive() for name, worker in setup.workers.items()},
        )

    def _top(self, member: ClusterQueue | Cohort) -> str:
        cohort = member.name if isinstance(member, Cohort) else member.cohort
        while cohort is not None and self.parents.get(cohort) is not None:
            cohort = self.parents[cohort]
        return member.name if cohort is None else cohort

    def _quotas(self, member: ClusterQueue | Cohort) -> dict[FlavorResource, QuotaLimits]:
        top, own = self._top(member), dict[FlavorResource, QuotaLimits]()
        for cell, limits in member.quotas.items():
            total = self.totals[top, cell]
            others = total - limits.nominal if self.sharers[top, cell[0]] > 1 else 0
            most = limits.nominal if isinstance(member, ClusterQueue) else total
            is_borrowed = bool(self.borrowers[top, cell[0]] - {member.name}) and not self._is_never_lent(member, cell)
            own[cell] = QuotaLimits(
                nominal=limits.nominal,
                borrowing_limit=_unless(limits.borrowing_limit, others) if others else None,
                lending_limit=_unless(limits.lending_limit, most) if is_borrowed else None,
            )
            if self.sharers[top, cell[0]] < 2 or self.setup.fair_strategies is not None or top not in self.parents:
                continue
            if not self._is_flat(top):
                own[cell] = self._reached_in_tree(self.nodes[member.name].quota_state(cell), limits, is_borrowed)
            elif isinstance(member, ClusterQueue):
                reached = self._reached(member, cell)
                own[cell] = reached if is_borrowed else structs.replace(reached, lending_limit=None)
        return own

    def _is_flat(self, top: str) -> bool:
        """Whether a tree is one cohort with its queues."""
        return top not in self.parents.values()

    def _reached_in_tree(self, state: QuotaState, limits: QuotaLimits, is_borrowed: bool) -> QuotaLimits:
        """Return the limits of a queue or cohort in a tree of several levels that can be reached.

        A borrowing limit is not, above all that is there beyond it, or that its own queues can use. A lending limit of
        a child of the root is not, above what the other children can take beyond what they give.
        """
        parent = state.parent
        if parent is None:
            return QuotaLimits(nominal=limits.nominal)
        kept, own = state.local_quota, state.subtree_quota
        most = max(0, min(kept + parent.ceiling, _most_below(state)) - own)
        lending = limits.lending_limit
        if parent.parent is None:
            siblings = [child.quota_state(state.flavor_resource) for child in parent.node.children]
            others = [each for each in siblings if each is not state]
            taken = sum(_most(each) - each.subtree_quota for each in others)
            lending = min(_number(lending, own), max(0, taken - parent.nominal))
        return QuotaLimits(
            nominal=limits.nominal,
            borrowing_limit=min(most, _number(limits.borrowing_limit, most)),
            lending_limit=lending if is_borrowed else None,
        )

    def _reached(self, queue: ClusterQueue, cell: FlavorResource) -> QuotaLimits:
        """Return the limits of a queue that can be reached: what others lend, and what others may borrow together."""
        top, own = self._top(queue), queue.quotas[cell]
        mates = [each for each in self.setup.queues if each.cohort == top and each.name != queue.name]
        others = [each.quotas[cell] for each in mates if cell in each.quotas]
        cohorts = [each for each in self.setup.cohorts if each.name == top and cell in each.quotas]
        shared = [each.quotas[cell].nominal for each in cohorts]
        lent = sum(shared) + sum(min(each.nominal, _number(each.lending_limit, each.nominal)) for each in others)
        most = sum(_number(each.borrowing_limit, self.totals[top, cell]) for each in others)
        borrowing = min(lent, _number(own.borrowing_limit, lent))
        lending = min(own.nominal, most, _number(own.lending_limit, own.nominal))
        return QuotaLimits(nominal=own.nominal, borrowing_limit=borrowing, lending_limit=lending)

    def _is_never_lent(self, member: ClusterQueue | Cohort, cell: FlavorResource) -> bool:
        """Whether all that others may borrow together is nobody's own, in a cohort that is the whole tree."""
        top, cohorts = self._top(member), {cohort.name: cohort for cohort in self.setup.cohorts}
        others = [queue for queue in self.setup.queues if self._top(queue) == top and queue.name != member.name]
        is_flat = all(queue.cohort == top for queue in others) and self._is_flat(top)
        if not is_flat or self.setup.fair_strategies is not None or top not in cohorts or member.name == top:
            return False
        limits = [queue.quotas[cell].borrowing_limit for queue in others if cell in queue.quotas]
        own = cohorts[top].quotas.get(cell)
        return None not in limits and own is not None and sum(each or 0 for each in limits) <= own.nominal

    def _queue(self, queue: ClusterQueue) -> ClusterQueue:
        if queue.stop_policy != RUNNING and queue.cohort is None:  # it admits nothing, and lends nothing
            return structs.replace(
                queue, is_strict_fifo=False, quotas={}, preemption=PreemptionPlan(), fungibility=FlavorFungibility()
            )
        top, policies, fungibility = self._top(queue), queue.preemption, queue.fungibility
        flavors = {flavor for group in queue.resource_groups for flavor in group.flavors}
        if policies.borrow_within_cohort is None and all(self._is_never_lent(queue, cell) for cell in queue.quotas):
            policies = structs.replace(policies, reclaim_within_cohort="Never")
        if not any(self.borrowers[top, flavor] - {queue.name} for flavor in flavors):
            policies = structs.replace(policies, reclaim_within_cohort="Never")
        if not any(queue.name in self.borrowers[top, flavor] for flavor in flavors):
            policies = structs.replace(policies, borrow_within_cohort=None, max_priority_threshold=None)
        before_last = [flavor for group in queue.resource_groups for flavor in group.flavors[:-1]]
        if not any(queue.name in self.borrowers[top, flavor] for flavor in before_last):
            fungibility = structs.replace(fungibility, when_can_borrow=_RULES["whenCanBorrow"][0])
        if {policies.within_cluster_queue, policies.reclaim_within_cohort} == {"Never"}:
            fungibility = structs.replace(fungibility, when_can_preempt=_RULES["whenCanPreempt"][0])
        if len(flavors) == 1:
            fungibility = FlavorFungibility()
        return structs.replace(queue, preemption=policies, fungibility=fungibility, quotas=self._quotas(queue))


_ENDLESS = 10**15


def _subtree(node: QuotaTreeNode) -> Iterator[QuotaTreeNode]:
    yield node
    for child in node.children:
        yield from _subtree(child)


def _most(state: QuotaState) -> int:
    """Return what a queue or cohort can use at most by its own limit and those below it."""
    limit = state.borrowing_limit
    return min(_most_below(state), _ENDLESS if limit is None else state.subtree_quota + limit)


def _most_below(state: QuotaState) -> int:
    """Return what the queues of a cohort can use at most of it by their own limits."""
    if not state.node.children:
        return _ENDLESS if state.flavor_resource in state.node.quotas else 0
    children = [child.quota_state(state.flavor_resource) for child in state.node.children]
    return sum(max(0, _most(each) - each.local_quota) for each in children)


def _number(limit: int | None, without: int) -> int:
    return without if limit is None else limit


def _unless(limit: int | None, reached: int) -> int | None:
    return None if limit is None or limit >= reached else limit


# --- judging ----------------------------------------------------------------------------------------------------------


def judge(base: Evaluation, mutation: Mutation, file: Path) -> str:
    """Return `refused`, `alike`, `caught` or `survived`."""
    changed = evaluate_changed(base, mutation.values, ROOT)
    if changed.faults or changed.fleet_plan is None or base.fleet_plan is None:
        return "refused"
    if decisive_setup(changed.fleet_plan) == decisive_setup(base.fleet_plan):
        return "alike"
    result = check_evaluation(changed, [file], ROOT)
    return "survived" if result.outcomes and all(each.holds for each in result.outcomes) else "caught"


def main(names: Sequence[str]) -> int:
    """Judge the mutations of examples, print those that survive and the shares, and return 1 below 95 %."""
    totals: Counter[str] = Counter()
    for stack in names or [name for name in ALL_STACKS if assertion_file(name).exists()]:
        base = evaluation(stack)
        words: Counter[str] = Counter()
        for mutation in mutations(base):
            word = judge(base, mutation, assertion_file(stack))
            words[word] += 1
            if word == "survived":
                print(f"  {stack}: {mutation.title}")
        print(f"{stack:20} {_share(words)}", flush=True)
        totals += words
    print(f"{'all':20} {_share(totals)}")
    decided = totals["caught"] + totals["survived"]
    return int(totals["caught"] < 0.95 * decided)


def _share(words: Counter[str]) -> str:
    decided = words["caught"] + words["survived"]
    part = f"{100 * words['caught'] / decided:.0f} %" if decided else "–"
    return f"{words['caught']:4} of {decided:4} caught {part:>6}; {words['refused']} refused, {words['alike']} alike"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
