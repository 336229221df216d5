"""Plan namespaces of teams, their local queues, and stop policies."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from berth.diagnostics import FieldPath, did_you_mean, format_path, join_or
from berth.names import TEAM_LABEL
from berth.plan.configuration import ExpressionPlan, SelectorPlan
from berth.plan.kueue import LocalQueuePlan
from berth.plan.teams import NamespacePlan
from berth.planner.context import PlanningContext
from berth.spec.teams import QueueSpec, TeamSpec
from berth.spec.tenancy import NamespaceSpec

DEFAULT_LOCAL_QUEUE = "default"
"""The local queue of jobs without a queue label (Kueue docs: LocalQueueDefaulting)."""

_STOP_POLICY_BY_STATE = {"active": None, "held": "Hold", "drained": "HoldAndDrain"}
"""State of a team → stop policy of its queues."""
_STRICTNESS = (None, "None", "Hold", "HoldAndDrain")


def team_namespaces(context: PlanningContext, team: str) -> tuple[NamespacePlan, ...]:
    """Return the namespaces of a team: as written, else one with the team's (former) name, as none can be renamed."""
    if team in context.namespaces:
        return context.namespaces[team]
    spec = context.spec.teams[team]
    own = spec.formerly or team
    taken = {each.formerly for each in _written_namespaces(spec)}
    context.namespaces[team] = tuple(
        NamespacePlan(
            name=n.name or own,
            owned=not n.existing,
            serving=n.serving,
            # The first one has the team's own home, unless another one of the team has it.
            formerly=n.formerly or (f"{own}/{n.name or own}" if at == 0 and own in taken else None),
        )
        for at, n in enumerate(_written_namespaces(spec))
    )
    return context.namespaces[team]


def _written_namespaces(spec: TeamSpec) -> Sequence[NamespaceSpec]:
    return spec.namespaces or (spec.namespace,)


def serving_namespaces(context: PlanningContext) -> tuple[str, ...]:
    """Return the namespaces of all teams in which Kueue queues services and pods, sorted."""
    namespaces = (namespace for team in context.spec.teams for namespace in team_namespaces(context, team))
    return tuple(sorted({each.name for each in namespaces if each.serving}))


def serving_paths(context: PlanningContext) -> Iterator[FieldPath]:
    """Yield the path of each `serving: true`, in order of teams."""
    for team, spec in sorted(context.spec.teams.items()):
        for index, namespace in enumerate(spec.namespaces or (spec.namespace,)):
            if namespace.serving:
                yield ("teams", team, *(("namespaces", index) if spec.namespaces else ("namespace",)), "serving")


def managed_namespaces(context: PlanningContext) -> SelectorPlan | None:
    """Return the namespaces whose jobs Kueue may manage; None if a queue is open to all of them, or teams are unknown.

    Kueue leaves jobs in other namespaces suspended forever, with or without a queue label (since 0.15, feature gate
    ManagedJobsNamespaceSelectorAlwaysRespected). So the selector must match every namespace of every team: by Berth's
    label, or by name if Berth does not manage the labels of some of them.
    """
    teams = context.spec.teams
    queues = [*context.spec.cluster_queues.values(), *(q for team in teams.values() for q in team.queues.values())]
    if context.cluster_of_others or any(queue.namespaces == "all" for queue in queues):
        return None
    namespaces = [namespace for team in teams for namespace in team_namespaces(context, team)]
    if all(place.owned for place in namespaces):
        return SelectorPlan(expressions=(ExpressionPlan(key=TEAM_LABEL, operator="Exists"),))
    names = tuple(sorted({place.name for place in namespaces}))
    return SelectorPlan(expressions=(ExpressionPlan(key="kubernetes.io/metadata.name", operator="In", values=names),))


def stop_policy(context: PlanningContext, path: FieldPath, spec: QueueSpec, teams: tuple[str, ...]) -> str | None:
    """Return Kueue's stop policy of a cluster queue: its own, or that of its only team.

    The queue of a held or drained team may be stricter than the team, but not less strict. A queue of several teams
    continues for the others, and only the team's local queues are stopped.
    """
    team_policy = _STOP_POLICY_BY_STATE[context.spec.teams[teams[0]].state] if path[0] == "teams" else None
    queue_policy = spec.stop_policy
    if queue_policy is None:
        return team_policy
    if _STRICTNESS.index(queue_policy) < _STRICTNESS.index(team_policy):
        state = context.spec.teams[teams[0]].state
        message = f"'{queue_policy}' contradicts the team, which is {state}; remove stopPolicy, or write state: active"
        context.problems.fault("contradiction", (*path, "stopPolicy"), message)
    return queue_policy


def plan_local_queues(
    context: PlanningContext,
    path: FieldPath,
    queue: str,
    name: str,
    teams: tuple[str, ...],
    weights: Mapping[str, float],
) -> Iterator[LocalQueuePlan]:
    """Yield a local queue for each namespace of each team, and the default one if this queue is the default.

    `path` is the path of the queue, `queue` its name in Kueue, `name` the name of its local queues, `weights` are by
    namespace or team; that of a namespace goes before that of its team.
    """
    for team in teams:
        spec = context.spec.teams[team]
        default = (
            spec.default_queue == path[-1]
            and name != DEFAULT_LOCAL_QUEUE
            # A team's own default queue takes precedence over a shared one of that name.
            and (path[0] == "teams" or spec.default_queue not in spec.queues)
        )
        for namespace in team_namespaces(context, team):
            for local_name in (name, DEFAULT_LOCAL_QUEUE) if default else (name,):
                yield LocalQueuePlan(
                    name=local_name,
                    namespace=namespace.name,
                    cluster_queue=queue,
                    team=team,
                    stop_policy=None if path[0] == "teams" else _STOP_POLICY_BY_STATE[spec.state],
                    fair_share_weight=weights.get(namespace.name, weights.get(team)),
                    labels=dict(sorted(spec.labels.items())),
                )


def check_weights(
    context: PlanningContext, path: FieldPath, weights: Mapping[str, float], teams: tuple[str, ...]
) -> None:
    """Report weights of local queues that a queue does not have."""
    if not weights:
        return
    namespaces = [namespace.name for team in teams for namespace in team_namespaces(context, team)]
    known = list(dict.fromkeys([*teams, *namespaces]))
    for name in weights:
        if name not in known and not context.is_set_aside("teams", name):
            hint = did_you_mean(name, known) or f"; write {join_or(known)}"
            message = f"the queue has no local queue of a team or namespace '{name}'{hint}"
            context.problems.fault("unknown-reference", (*path, "localQueueWeights", name), message)


class LocalQueueNames:
    """The local queues seen so far, to find duplicate names within a team. (Teams do not share namespaces.)"""

    def __init__(self) -> None:
        self._seen: dict[tuple[str, str], FieldPath] = {}

    def add(self, context: PlanningContext, path: FieldPath, name: str, teams: tuple[str, ...]) -> None:
        """Report a local queue with a name in use, or one named like the default queue that is not the default."""
        for team in teams:
            first_path = self._seen.setdefault((team, name), path)
            name_path: FieldPath = (*path, "localQueue")
            if first_path != path:
                subject = f"local queue '{name}' in namespace '{team_namespaces(context, team)[0].name}'"
                report_duplicate(context, name_path, subject, first_path)
            elif name == DEFAULT_LOCAL_QUEUE and context.spec.teams[team].default_queue not in (None, path[-1]):
                context.problems.fault(
                    "duplicate-name",
                    name_path,
                    f"'{DEFAULT_LOCAL_QUEUE}' is the local queue of jobs without a queue label, "
                    f"but the team's defaultQueue is '{context.spec.teams[team].default_queue}'; remove localQueue "
                    "or defaultQueue",
                )


def check_default_queues(context: PlanningContext) -> None:
    """Report a defaultQueue that is not a queue of the team."""
    for team, spec in sorted(context.spec.teams.items()):
        shared = {name: name for name, queue in context.spec.cluster_queues.items() if team in queue.teams}
        known = {**shared, **{name: name for name in spec.queues}}
        if spec.default_queue is not None and not context.is_set_aside("clusterQueues", spec.default_queue):
            context.resolve("queues", spec.default_queue, known, ("teams", team, "defaultQueue"))


def report_duplicate(context: PlanningContext, path: FieldPath, subject: str, first: FieldPath) -> None:
    """Report a name at `path` that the queue at `first` already has."""
    context.problems.fault(
        "duplicate-name", path, f"{subject} already belongs to {format_path(first)}; write another name"
    )
