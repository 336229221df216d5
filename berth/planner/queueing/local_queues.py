"""Doors to queues: the namespaces of teams, their local queues, and whether a queue is stopped."""

from __future__ import annotations

from collections.abc import Iterator

from berth.diagnostics import FieldPath, format_path
from berth.names import TEAM_LABEL
from berth.plan.configuration import ExpressionPlan, SelectorPlan
from berth.plan.kueue import LocalQueuePlan
from berth.plan.teams import NamespacePlan
from berth.planner.context import PlanningContext
from berth.spec.teams import QueueSpec

DEFAULT_LOCAL_QUEUE = "default"
"""The local queue of jobs that name none (Kueue docs: LocalQueueDefaulting)."""

_STOP_POLICY_BY_STATE = {"active": None, "held": "Hold", "drained": "HoldAndDrain"}
"""State of a team to the stop policy of what is its own."""
_STRICTNESS = (None, "None", "Hold", "HoldAndDrain")


def team_namespaces(context: PlanningContext, team: str) -> tuple[NamespacePlan, ...]:
    """The namespaces of a team: those it names, or one of its own name (of its former one: no namespace is renamed)."""
    spec = context.spec.teams[team]
    own = spec.formerly or team
    return tuple(NamespacePlan(name=n.name or own, owned=not n.existing) for n in spec.namespaces or (spec.namespace,))


def managed_namespaces(context: PlanningContext) -> SelectorPlan | None:
    """The namespaces whose jobs Kueue may manage; None where a queue is open to all of them.

    Kueue leaves a job in any other namespace suspended for ever, its queue's label or not (since 0.15, feature gate
    ManagedJobsNamespaceSelectorAlwaysRespected), so this has to hold every namespace of every team: by the label that
    Berth gives its own, or by their names where some are not Berth's to label.
    """
    teams = context.spec.teams
    queues = [*context.spec.cluster_queues.values(), *(q for team in teams.values() for q in team.queues.values())]
    if any(queue.namespaces == "all" for queue in queues):
        return None
    namespaces = [namespace for team in teams for namespace in team_namespaces(context, team)]
    if all(place.owned for place in namespaces):
        return SelectorPlan(expressions=(ExpressionPlan(key=TEAM_LABEL, operator="Exists"),))
    names = tuple(sorted({place.name for place in namespaces}))
    return SelectorPlan(expressions=(ExpressionPlan(key="kubernetes.io/metadata.name", operator="In", values=names),))


def stop_policy(context: PlanningContext, path: FieldPath, spec: QueueSpec, teams: tuple[str, ...]) -> str | None:
    """Kueue's stop policy of a cluster queue: its own, or that of the one team whose it is.

    What a held or drained team's queue says itself may be stricter, and not the contrary. A queue of several teams goes
    on for the others: there the team's local queues are stopped.
    """
    team_policy = _STOP_POLICY_BY_STATE[context.spec.teams[teams[0]].state] if path[0] == "teams" else None
    queue_policy = spec.stop_policy
    if queue_policy is None:
        return team_policy
    if _STRICTNESS.index(queue_policy) < _STRICTNESS.index(team_policy):
        state = context.spec.teams[teams[0]].state
        message = (
            f"'{queue_policy}' contradicts the team, which is {state}; leave stopPolicy out, or write state: active"
        )
        context.problems.fault("contradiction", (*path, "stopPolicy"), message)
    return queue_policy


def plan_local_queues(
    context: PlanningContext, path: FieldPath, queue: str, name: str, teams: tuple[str, ...]
) -> Iterator[LocalQueuePlan]:
    """A local queue in each namespace of each team, and the default one where this queue is it.

    `path` is the queue's, `queue` its name in Kueue, `name` that of its local queues.
    """
    for team in teams:
        spec = context.spec.teams[team]
        default = (
            spec.default_queue == path[-1]
            and name != DEFAULT_LOCAL_QUEUE
            and (path[0] == "teams" or not _has_own_default(context, team))
        )
        for namespace in team_namespaces(context, team):
            for local_name in (name, DEFAULT_LOCAL_QUEUE) if default else (name,):
                yield LocalQueuePlan(
                    name=local_name,
                    namespace=namespace.name,
                    cluster_queue=queue,
                    team=team,
                    stop_policy=None if path[0] == "teams" else _STOP_POLICY_BY_STATE[spec.state],
                    labels=dict(sorted(spec.labels.items())),
                )


def _has_own_default(context: PlanningContext, team: str) -> bool:
    """Whether the team's default queue is one of its own, which go before shared ones of the same name."""
    spec = context.spec.teams[team]
    return spec.default_queue in spec.queues


class LocalQueueNames:
    """The local queues that were seen so far: no two of a team have one name. (No two teams share a namespace.)"""

    def __init__(self) -> None:
        self._seen: dict[tuple[str, str], FieldPath] = {}

    def add(self, context: PlanningContext, path: FieldPath, name: str, teams: tuple[str, ...]) -> None:
        """Report a local queue whose name is taken, or that is called like the default one and is another."""
        for team in teams:
            first_path = self._seen.setdefault((team, name), path)
            name_path: FieldPath = (*path, "localQueue")
            if first_path != path:
                subject = f"local queue '{name}' in namespace '{team_namespaces(context, team)[0].name}'"
                report_duplicate(context, name_path, subject, first_path)
            elif name == DEFAULT_LOCAL_QUEUE and context.spec.teams[team].default_queue not in (None, path[-1]):
                message = (
                    f"'{DEFAULT_LOCAL_QUEUE}' is the local queue of jobs that "
                    "name none, and defaultQueue is another queue"
                )
                context.problems.fault("duplicate-name", name_path, f"{message}; leave one of them out")


def check_default_queues(context: PlanningContext) -> None:
    """Report the default queues that a team does not have."""
    for team, spec in sorted(context.spec.teams.items()):
        shared = {name: name for name, queue in context.spec.cluster_queues.items() if team in queue.teams}
        known = {**shared, **{name: name for name in spec.queues}}
        if spec.default_queue is not None and not context.is_set_aside("clusterQueues", spec.default_queue):
            context.resolve("queues", spec.default_queue, known, ("teams", team, "defaultQueue"))


def report_duplicate(context: PlanningContext, path: FieldPath, subject: str, first: FieldPath) -> None:
    """Report a name at `path` that a queue at `first` has already."""
    message = f"{subject} is already that of {format_path(first)}; name it otherwise"
    context.problems.fault("duplicate-name", path, message)
