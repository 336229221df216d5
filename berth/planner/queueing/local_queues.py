"""Doors to queues: the namespaces of teams, their local queues, and whether a queue is stopped."""

from __future__ import annotations

from collections.abc import Iterator

from berth.diagnostics import Path, dotted
from berth.names import TEAM_LABEL
from berth.plan.configuration import ExpressionPlan, SelectorPlan
from berth.plan.kueue import LocalQueuePlan
from berth.plan.teams import NamespacePlan
from berth.planner.context import Draft
from berth.spec.teams import QueueSpec

DEFAULT = "default"
"""The local queue of jobs that name none (Kueue docs: LocalQueueDefaulting)."""

_STOPS = {"active": None, "held": "Hold", "drained": "HoldAndDrain"}
"""State of a team to the stop policy of what is its own."""
_STRICTNESS = (None, "None", "Hold", "HoldAndDrain")


def namespaces_of(draft: Draft, team: str) -> tuple[NamespacePlan, ...]:
    """The namespaces of a team: those it names, or one of its own name (of its former one: no namespace is renamed)."""
    spec = draft.spec.teams[team]
    own = spec.formerly or team
    return tuple(NamespacePlan(name=n.name or own, owned=not n.existing) for n in spec.namespaces or (spec.namespace,))


def managed_namespaces(draft: Draft) -> SelectorPlan | None:
    """The namespaces whose jobs Kueue may manage; None where a queue is open to all of them.

    Kueue leaves a job in any other namespace suspended for ever, its queue's label or not (since 0.15, feature gate
    ManagedJobsNamespaceSelectorAlwaysRespected), so this has to hold every namespace of every team: by the label that
    Berth gives its own, or by their names where some are not Berth's to label.
    """
    teams = draft.spec.teams
    queues = [*draft.spec.cluster_queues.values(), *(q for team in teams.values() for q in team.queues.values())]
    if any(queue.namespaces == "all" for queue in queues):
        return None
    places = [place for team in teams for place in namespaces_of(draft, team)]
    if all(place.owned for place in places):
        return SelectorPlan(expressions=(ExpressionPlan(key=TEAM_LABEL, operator="Exists"),))
    names = tuple(sorted({place.name for place in places}))
    return SelectorPlan(expressions=(ExpressionPlan(key="kubernetes.io/metadata.name", operator="In", values=names),))


def stop_policy(draft: Draft, path: Path, spec: QueueSpec, teams: tuple[str, ...]) -> str | None:
    """Kueue's stop policy of a cluster queue: its own, or that of the one team whose it is.

    What a held or drained team's queue says itself may be stricter, and not the contrary. A queue of several teams goes
    on for the others: there the team's local queues are stopped.
    """
    wanted = _STOPS[draft.spec.teams[teams[0]].state] if path[0] == "teams" else None
    own = spec.stop_policy
    if own is None:
        return wanted
    if _STRICTNESS.index(own) < _STRICTNESS.index(wanted):
        state = draft.spec.teams[teams[0]].state
        message = f"'{own}' contradicts the team, which is {state}; leave stopPolicy out, or write state: active"
        draft.problems.fault("contradiction", (*path, "stopPolicy"), message)
    return own


def local_queues(draft: Draft, path: Path, queue: str, name: str, teams: tuple[str, ...]) -> Iterator[LocalQueuePlan]:
    """A local queue in each namespace of each team, and the default one where this queue is it.

    `path` is the queue's, `queue` its name in Kueue, `name` that of its local queues.
    """
    for team in teams:
        spec = draft.spec.teams[team]
        default = spec.default_queue == path[-1] and name != DEFAULT and (path[0] == "teams" or not _own(draft, team))
        for place in namespaces_of(draft, team):
            for each in (name, DEFAULT) if default else (name,):
                yield LocalQueuePlan(
                    name=each,
                    namespace=place.name,
                    cluster_queue=queue,
                    team=team,
                    stop_policy=None if path[0] == "teams" else _STOPS[spec.state],
                    labels=dict(sorted(spec.labels.items())),
                )


def _own(draft: Draft, team: str) -> bool:
    """Whether the team's default queue is one of its own, which go before shared ones of the same name."""
    spec = draft.spec.teams[team]
    return spec.default_queue in spec.queues


class Doors:
    """The local queues that were seen so far: no two of a team have one name. (No two teams share a namespace.)"""

    def __init__(self) -> None:
        self._seen: dict[tuple[str, str], Path] = {}

    def add(self, draft: Draft, path: Path, name: str, teams: tuple[str, ...]) -> None:
        """Report a local queue whose name is taken, or that is called like the default one and is another."""
        for team in teams:
            first = self._seen.setdefault((team, name), path)
            where: Path = (*path, "localQueue")
            if first != path:
                what = f"local queue '{name}' in namespace '{namespaces_of(draft, team)[0].name}'"
                message = f"{what} is already that of {dotted(first)}; name it otherwise"
                draft.problems.fault("duplicate-name", where, message)
            elif name == DEFAULT and draft.spec.teams[team].default_queue not in (None, path[-1]):
                message = f"'{DEFAULT}' is the local queue of jobs that name none, and defaultQueue is another queue"
                draft.problems.fault("duplicate-name", where, f"{message}; leave one of them out")


def default_queues(draft: Draft) -> None:
    """Report the default queues that a team does not have."""
    for team, spec in sorted(draft.spec.teams.items()):
        shared = {name: name for name, queue in draft.spec.cluster_queues.items() if team in queue.teams}
        known = {**shared, **{name: name for name in spec.queues}}
        if spec.default_queue is not None and not draft.lost("clusterQueues", spec.default_queue):
            draft.find("queues", spec.default_queue, known, ("teams", team, "defaultQueue"))
