"""Comparison of quotas: guarantees, ceilings, totals of cohorts and flavors, preemption rules."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import zip_longest
from typing import TypeVar

from msgspec import Struct
from msgspec.structs import replace

from berth.diff.in_time.compare import CalendarChange, compare_calendars
from berth.diff.kinds import ChangeKind
from berth.diff.pools import BufferChange, compare_buffers
from berth.diff.priorities import (
    PriorityChange,
    QueueRename,
    ReclaimChange,
    StopChange,
    compare_priorities,
    compare_reclaim,
    compare_stops,
    find_likely_renames,
    priority_order,
)
from berth.plan.fleet import FleetPlan
from berth.plan.teams import QueueingPlan, TeamPlan
from berth.planner.queueing.preemption import PreemptionRule, preemption_rules
from berth.planner.queueing.quota_tree import QuotaTree


class CountChange(Struct, frozen=True):
    """A count before and after."""

    before: int
    after: int

    @property
    def delta(self) -> int:
        """The difference; negative for a loss."""
        return self.after - self.before


QuotaKey = tuple[str, str, str]
"""A team, cohort or queue, a flavor, and the noun of its accelerators."""
_Key = TypeVar("_Key")


def compare_counts(
    before: Mapping[_Key, tuple[int, ...]], after: Mapping[_Key, tuple[int, ...]]
) -> Iterator[tuple[_Key, tuple[CountChange, ...]]]:
    """Yield each key with a changed count, with all its counts; a side without the key counts 0."""
    for key in dict.fromkeys((*after, *before)):
        old, new = before.get(key, ()), after.get(key, ())
        counts = tuple(CountChange(*pair) for pair in zip_longest(old, new, fillvalue=0))
        if any(count.delta for count in counts):
            yield key, counts


class TeamQuotaChange(Struct, frozen=True):
    """A team's quota of a flavor, in accelerators called `noun`; 0 where the flavor does not exist."""

    team: str
    flavor: str
    noun: str
    guaranteed: CountChange
    ceiling: CountChange


class TeamChange(Struct, frozen=True):
    """A team that is `added`, `removed`, `held`, `drained`, `resumed` or `renamed`.

    `renamed` is the former name of a renamed team; for an added or removed team, the counterpart with the same queues.
    """

    team: str
    what: ChangeKind
    renamed: str | None = None


class CohortQuotaChange(Struct, frozen=True):
    """The guarantee of a cohort for a flavor: the sum over all cohorts and queues below it."""

    cohort: str
    flavor: str
    noun: str
    guaranteed: CountChange


class QuotaNodeChange(Struct, frozen=True):
    """The quota of a resource at a node of a quota tree: guaranteed minimum, maximum, and the part of the minimum
    that others can use (`lent`)."""

    node: str
    resource: str
    minimum: CountChange
    maximum: CountChange
    lent: CountChange


class FlavorQuotaChange(Struct, frozen=True):
    """A flavor's maximum `capacity`, the sum of its guarantees, the accepted oversubscription (1 means none), and what
    is spare of it."""

    flavor: str
    noun: str
    capacity: CountChange
    promised: CountChange
    oversubscription: tuple[float, float]
    spare: CountChange


class QuotaChanges(Struct, frozen=True):
    """Every change of quotas, sorted by name; `new_relations` and `lifted_relations` are preemption rules.

    `quota_tree` is set for fleets that have one, in the order of the tree, and includes their cohorts.
    `queueing` is whether their jobs wait for quota, before and after. `priority_order` is the order before and after,
    highest first. Both are empty if nothing changes.
    """

    teams: tuple[TeamChange, ...] = ()
    entitlements: tuple[TeamQuotaChange, ...] = ()
    cohorts: tuple[CohortQuotaChange, ...] = ()
    flavors: tuple[FlavorQuotaChange, ...] = ()
    new_relations: tuple[PreemptionRule, ...] = ()
    lifted_relations: tuple[PreemptionRule, ...] = ()
    priorities: tuple[PriorityChange, ...] = ()
    quota_tree: tuple[QuotaNodeChange, ...] = ()
    queueing: tuple[bool, ...] = ()
    priority_order: tuple[tuple[str, ...], ...] = ()
    reclaim: tuple[ReclaimChange, ...] = ()
    stops: tuple[StopChange, ...] = ()
    likely_renames: tuple[QueueRename, ...] = ()
    calendar: tuple[CalendarChange, ...] = ()
    buffers: tuple[BufferChange, ...] = ()


def compare_fleet_quotas(old: FleetPlan, new: FleetPlan, renamed: Mapping[str, str]) -> QuotaChanges:
    """Compare the quotas of two plans of one fleet whose queues are Kueue's."""
    trees = QuotaTree.from_plan(old), QuotaTree.from_plan(new)
    guarantees = _cohort_guarantees(old, trees[0]), _cohort_guarantees(new, trees[1])
    return replace(
        compare_quotas(old, new, (preemption_rules(old, trees[0]), preemption_rules(new, trees[1])), renamed),
        cohorts=tuple(CohortQuotaChange(*key, *counts) for key, counts in sorted(compare_counts(*guarantees))),
        reclaim=tuple(compare_reclaim(old, new)),
    )


def compare_quotas(
    old: QueueingPlan,
    new: QueueingPlan,
    rules: tuple[Sequence[PreemptionRule], Sequence[PreemptionRule]],
    renamed: Mapping[str, str] | None = None,
) -> QuotaChanges:
    """Compare what all fleets have: teams, guarantees, priorities, and the `rules` by which queues preempt.

    `renamed` maps old names of teams to new ones. A flavor whose accelerator changes counts as two: the old
    accelerators are lost, the new ones are gained.
    """
    team_changes = list(_compare_teams(old, new))
    stopped_teams = {change.team for change in team_changes}
    names = {team.name for team in new.teams}
    team_changes += [
        TeamChange(name, ChangeKind.RENAMED, before) for before, name in (renamed or {}).items() if name in names
    ]
    known, kept = map(set, rules)
    return QuotaChanges(
        teams=tuple(sorted(team_changes, key=lambda change: change.team)),
        entitlements=tuple(
            TeamQuotaChange(*key, *counts)
            for key, counts in sorted(compare_counts(_team_quotas(old), _team_quotas(new)))
        ),
        flavors=tuple(_compare_flavors(old, new)),
        new_relations=tuple(rule for rule in rules[1] if rule not in known),
        lifted_relations=tuple(rule for rule in rules[0] if rule not in kept),
        priorities=tuple(compare_priorities(old, new)),
        stops=tuple(compare_stops(old, new, stopped_teams)),
        likely_renames=tuple(find_likely_renames(old, new)),
        priority_order=priority_order(old, new),
        calendar=tuple(compare_calendars(old, new)),
        buffers=tuple(compare_buffers(old, new)),
    )


# --- teams ------------------------------------------------------------------------------------------------------------


_STATE_CHANGES = {"active": ChangeKind.RESUMED, "held": ChangeKind.HELD, "drained": ChangeKind.DRAINED}


def _compare_teams(old: QueueingPlan, new: QueueingPlan) -> Iterator[TeamChange]:
    before, after = _team_states(old), _team_states(new)
    renamed = _renamed_teams(old, new)
    for team in sorted(before.keys() | after.keys()):
        if team not in before:
            yield TeamChange(team, ChangeKind.ADDED, renamed.get(team))
        elif team not in after:
            yield TeamChange(team, ChangeKind.REMOVED, renamed.get(team))
        elif before[team] != after[team]:
            yield TeamChange(team, _STATE_CHANGES[after[team]])


def _team_states(plan: QueueingPlan) -> dict[str, str]:
    """Return team → active, held or drained: its own state, or the weakest stop that all its queues have."""
    stops: dict[str, set[str]] = {}
    for queue in plan.cluster_queues:
        if len(queue.teams) == 1:
            stops.setdefault(queue.teams[0], set()).add(queue.stop_policy or "None")
    states: dict[str, str] = {}
    for team in plan.teams:
        own = stops.get(team.name, set())
        is_stopped = team.settings.state == "active" and own and "None" not in own
        states[team.name] = ("held" if "Hold" in own else "drained") if is_stopped else team.settings.state
    return states


def _renamed_teams(old: QueueingPlan, new: QueueingPlan) -> dict[str, str]:
    """Return pairs of a removed and an added team with equal quotas and local queue names, mapped both ways."""
    names = {team.name for team in old.teams}, {team.name for team in new.teams}
    removed = [team for team in old.teams if team.name not in names[1]]
    renamed: dict[str, str] = {}
    for team in (team for team in new.teams if team.name not in names[0] and team.ceiling):
        equal = (each for each in removed if each.name not in renamed and _team_quota(each) == _team_quota(team))
        if (match := next(equal, None)) is not None:
            renamed |= {team.name: match.name, match.name: team.name}
    return renamed


def _team_quota(team: TeamPlan) -> object:
    return team.guaranteed, team.ceiling, [local_queue.name for local_queue in team.local_queues]


def _team_quotas(plan: QueueingPlan) -> dict[QuotaKey, tuple[int, int]]:
    """Return each team's guarantee and ceiling of each flavor that it can use."""
    nouns = {f.name: f.noun for f in plan.flavors}
    return {
        (team.name, flavor, nouns[flavor]): (team.guaranteed.get(flavor, 0), most)
        for team in plan.teams
        for flavor, most in team.ceiling.items()
    }


# --- totals -----------------------------------------------------------------------------------------------------------


def _cohort_guarantees(plan: FleetPlan, tree: QuotaTree) -> dict[QuotaKey, tuple[int]]:
    """Return the guarantee of each cohort and everything below it, as Kueue computes it."""
    nouns = {f.name: f.noun for f in plan.flavors}
    names = {cohort.name for cohort in plan.cohorts} | {queue.cohort for queue in plan.cluster_queues if queue.cohort}
    return {
        (name, flavor, nouns[flavor]): (node.guaranteed,)
        for name in names
        for flavor, node in tree.cohort_nodes(name).items()
    }


def _compare_flavors(old: QueueingPlan, new: QueueingPlan) -> Iterator[FlavorQuotaChange]:
    before, after = ({(flavor.name, flavor.noun): flavor for flavor in plan.flavors} for plan in (old, new))
    for key in sorted(before.keys() | after.keys()):
        old_flavor, new_flavor = before.get(key), after.get(key)
        change = FlavorQuotaChange(
            *key,
            CountChange(old_flavor.capacity.max if old_flavor else 0, new_flavor.capacity.max if new_flavor else 0),
            CountChange(old_flavor.promised if old_flavor else 0, new_flavor.promised if new_flavor else 0),
            (old_flavor.oversubscription if old_flavor else 1, new_flavor.oversubscription if new_flavor else 1),
            CountChange(old_flavor.spare if old_flavor else 0, new_flavor.spare if new_flavor else 0),
        )
        less, more = change.oversubscription
        if change.capacity.delta or change.promised.delta or less != more or change.spare.delta:
            yield change
