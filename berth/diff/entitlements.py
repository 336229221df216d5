"""What a change gives and takes: guarantees, ceilings, totals of cohorts and flavors, who can push out whom."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from msgspec import Struct

from berth.plan.ack import AckFleetPlan
from berth.plan.fleet import FleetPlan
from berth.plan.kueue import FlavorPlan, PriorityPlan
from berth.plan.teams import TeamPlan
from berth.planner.queueing.preemption import PushOut, push_outs, taken_back
from berth.planner.queueing.quota_tree import QuotaTree


class Step(Struct, frozen=True):
    """A count before and after."""

    before: int
    after: int

    @property
    def gain(self) -> int:
        """How much more it is; negative is a loss."""
        return self.after - self.before


class Entitlement(Struct, frozen=True):
    """What one team has of one flavor, in accelerators called `noun`; 0 where the flavor was not or is no more."""

    team: str
    flavor: str
    noun: str
    guaranteed: Step
    ceiling: Step


class TeamChange(Struct, frozen=True):
    """A team that is `added`, `removed`, `held`, `drained`, `resumed` or `renamed`.

    `renamed` is what a team that stays was called before; of one that goes or comes, the team that has the same queues.
    """

    team: str
    what: str
    renamed: str | None = None


class PriorityChange(Struct, frozen=True):
    """A priority whose `value` changes (None: it is not there), or what its jobs may do.

    `above` are the priorities that it is above now and was not before, `preempts` whether its jobs push others out,
    `default` whether jobs that name none have it; both before and after.
    """

    priority: str
    value: tuple[int | None, int | None]
    above: tuple[str, ...]
    preempts: tuple[bool, bool]
    default: tuple[bool, bool]


class CohortTotal(Struct, frozen=True):
    """What a cohort, and all cohorts and queues below it, are guaranteed of a flavor together."""

    cohort: str
    flavor: str
    noun: str
    guaranteed: Step


class NodeQuota(Struct, frozen=True):
    """What a node of ACK's quota tree has of a resource: the minimum is guaranteed, the maximum is the most, and `lent`
    is what others may use of the minimum."""

    node: str
    resource: str
    minimum: Step
    maximum: Step
    lent: Step


class FlavorTotal(Struct, frozen=True):
    """A flavor's `capacity` at the most, what is promised of it, and the accepted oversubscription (1 means none)."""

    flavor: str
    noun: str
    capacity: Step
    promised: Step
    oversubscription: tuple[float, float]


class Entitlements(Struct, frozen=True):
    """Everything of it that changes, sorted by name; `new_relations` and `lifted_relations` as in
    `berth.planner.queueing.preemption`.

    `quota_tree` is of fleets on Alibaba Cloud alone, in the order of the tree; it holds their cohorts too.
    """

    teams: tuple[TeamChange, ...] = ()
    entitlements: tuple[Entitlement, ...] = ()
    cohorts: tuple[CohortTotal, ...] = ()
    flavors: tuple[FlavorTotal, ...] = ()
    new_relations: tuple[PushOut, ...] = ()
    lifted_relations: tuple[PushOut, ...] = ()
    priorities: tuple[PriorityChange, ...] = ()
    quota_tree: tuple[NodeQuota, ...] = ()


Plan = FleetPlan | AckFleetPlan


def compare_entitlements(old: Plan, new: Plan, quota_tree: tuple[NodeQuota, ...] = ()) -> Entitlements:
    """What changes for whom between two plans of one fleet, on one backend.

    A flavor whose machines become others is two: the old accelerators go, and the new ones come.
    """
    relations = _relations(old), _relations(new)
    return Entitlements(
        teams=tuple(_teams(old, new)),
        entitlements=tuple(_entitlements(old, new)),
        cohorts=tuple(_cohorts(old, new)) if isinstance(new, FleetPlan) else (),
        flavors=tuple(_flavors(old, new)),
        new_relations=_only(relations[1], relations[0]),
        lifted_relations=_only(relations[0], relations[1]),
        priorities=tuple(_priorities(old, new)),
        quota_tree=quota_tree,
    )


def _relations(plan: Plan) -> tuple[PushOut, ...]:
    return push_outs(plan) if isinstance(plan, FleetPlan) else taken_back(plan.quotas)


def _priorities(old: Plan, new: Plan) -> Iterator[PriorityChange]:
    before, after = ({each.name: each for each in plan.priorities} for plan in (old, new))
    for name in sorted(before.keys() | after.keys()):
        one, other = before.get(name), after.get(name)
        if one != other:
            yield PriorityChange(
                priority=name,
                value=(one and one.value, other and other.value),
                above=tuple(sorted(_below(name, after) - _below(name, before))),
                preempts=(bool(one and one.preempts), bool(other and other.preempts)),
                default=(bool(one and one.default), bool(other and other.default)),
            )


def _below(name: str, known: Mapping[str, PriorityPlan]) -> set[str]:
    return {each.name for each in known.values() if name in known and each.value < known[name].value}


def _only(these: tuple[PushOut, ...], others: tuple[PushOut, ...]) -> tuple[PushOut, ...]:
    known = set(others)
    return tuple(each for each in these if each not in known)


# --- teams ------------------------------------------------------------------------------------------------------------


def _teams(old: Plan, new: Plan) -> Iterator[TeamChange]:
    before, after = _states(old), _states(new)
    twins = _twins(old, new)
    for team in sorted(before.keys() | after.keys()):
        if team not in before:
            yield TeamChange(team, "added", twins.get(team))
        elif team not in after:
            yield TeamChange(team, "removed", twins.get(team))
        elif before[team] != after[team]:
            yield TeamChange(team, "resumed" if after[team] == "active" else after[team])


def _states(plan: Plan) -> dict[str, str]:
    """Team → active, held or drained: its own word, or that of all its queues (held where one of them is no more)."""
    stops: dict[str, set[str]] = {}
    for queue in plan.cluster_queues:
        if len(queue.teams) == 1:
            stops.setdefault(queue.teams[0], set()).add(queue.stop_policy or "None")
    return {team.name: _state(team.state, stops.get(team.name, set())) for team in plan.teams}


def _state(said: str, stops: set[str]) -> str:
    if said != "active" or not stops or "None" in stops:
        return said
    return "held" if "Hold" in stops else "drained"


def _twins(old: Plan, new: Plan) -> dict[str, str]:
    """Teams that went and came with equal rights on every flavor, and doors of equal names; both ways."""
    names = {team.name for team in old.teams}, {team.name for team in new.teams}
    gone = [team for team in old.teams if team.name not in names[1]]
    found: dict[str, str] = {}
    for team in (team for team in new.teams if team.name not in names[0] and team.ceiling):
        twin = next((each for each in gone if each.name not in found and _rights(each) == _rights(team)), None)
        if twin is not None:
            found |= {team.name: twin.name, twin.name: team.name}
    return found


def _rights(team: TeamPlan) -> object:
    return team.guaranteed, team.ceiling, [door.name for door in team.local_queues]


_Key = tuple[str, str, str]
"""A team or a cohort, a flavor, and the noun of its accelerators."""


def _entitlements(old: Plan, new: Plan) -> Iterator[Entitlement]:
    before, after = _held(old), _held(new)
    nothing = (0, 0)
    for key in sorted(before.keys() | after.keys()):
        one, other = before.get(key, nothing), after.get(key, nothing)
        if one != other:
            yield Entitlement(*key, Step(one[0], other[0]), Step(one[1], other[1]))


def _held(plan: Plan) -> dict[_Key, tuple[int, int]]:
    """Each team's guarantee and ceiling of each flavor that it can use."""
    nouns = {f.name: f.noun for f in plan.flavors}
    return {
        (team.name, flavor, nouns[flavor]): (team.guaranteed.get(flavor, 0), most)
        for team in plan.teams
        for flavor, most in team.ceiling.items()
    }


# --- totals -----------------------------------------------------------------------------------------------------------


def _cohorts(old: Plan, new: Plan) -> Iterator[CohortTotal]:
    before, after = _totals(old), _totals(new)
    for key in sorted(before.keys() | after.keys()):
        step = Step(before.get(key, 0), after.get(key, 0))
        if step.gain:
            yield CohortTotal(*key, step)


def _totals(plan: Plan) -> dict[_Key, int]:
    """What is guaranteed to each cohort and all below it, by Kueue's reckoning."""
    nouns = {f.name: f.noun for f in plan.flavors}
    tree = QuotaTree.of(plan)
    names = {cohort.name for cohort in plan.cohorts} | {queue.cohort for queue in plan.cluster_queues if queue.cohort}
    return {
        (name, flavor, nouns[flavor]): node.promised for name in names for flavor, node in tree.cohort(name).items()
    }


def _flavors(old: Plan, new: Plan) -> Iterator[FlavorTotal]:
    before, after = _by_noun(old.flavors), _by_noun(new.flavors)
    for key in sorted(before.keys() | after.keys()):
        one, other = before.get(key), after.get(key)
        found = FlavorTotal(
            *key,
            Step(one.capacity.max if one else 0, other.capacity.max if other else 0),
            Step(one.promised if one else 0, other.promised if other else 0),
            (one.oversubscription if one else 1, other.oversubscription if other else 1),
        )
        less, more = found.oversubscription
        if found.capacity.gain or found.promised.gain or less != more:
            yield found


def _by_noun(flavors: Iterable[FlavorPlan]) -> dict[tuple[str, str], FlavorPlan]:
    return {(flavor.name, flavor.noun): flavor for flavor in flavors}
