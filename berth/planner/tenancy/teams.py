"""Plan teams: namespaces, labels and guarantees."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from msgspec.structs import replace

from berth.diagnostics import FieldPath
from berth.names import TEAM_LABEL, is_shared_namespace
from berth.plan.grouping import grouped
from berth.plan.kueue import ClusterQueuePlan
from berth.plan.teams import TeamPlan
from berth.planner.context import PlanningContext
from berth.planner.machines.network_devices import claim_templates
from berth.planner.queueing.flavors import FlavorGroup
from berth.planner.queueing.local_queues import check_default_queues, team_namespaces
from berth.planner.queueing.quota_tree import QuotaTree, guaranteed_by_flavor
from berth.planner.tenancy.identities import check_unique_accounts, team_identity
from berth.planner.tenancy.isolation import team_isolation
from berth.planner.tenancy.policies import with_run_limits
from berth.planner.tenancy.shared_machines import (
    check_sharing,
    max_grace,
    teams_by_flavor,
    with_plain_machines,
    with_shared_queues,
)
from berth.spec.tenancy import NamespaceSpec, TeamSettings

_SYSTEM_PREFIXES = ("kube-", "gke-managed-", "gmp-")
"""Prefixes of the names of GKE's own namespaces."""
_BERTH_LABELS = ("managed-by", "fleet", "team")
"""Labels that Berth sets on every team."""


def plan_teams(
    context: PlanningContext,
    queues: tuple[ClusterQueuePlan, ...],
    tree: QuotaTree,
    flavors: Mapping[str, FlavorGroup],
    limits: Mapping[str, int] = MappingProxyType({}),
) -> tuple[TeamPlan, ...]:
    """Return every team of the fleet, by name."""
    _check_namespaces(context)
    _check_swapped_names(context)
    check_unique_accounts(context)
    check_default_queues(context)
    by_team = grouped((team, queue) for queue in queues for team in queue.teams)
    resource_of = {flavor.name: flavor.resource for flavor in flavors.values()}
    sharing = teams_by_flavor(queues)
    check_sharing(context, sharing)
    made: list[TeamPlan] = []
    for name in sorted(context.spec.teams):
        own = by_team.get(name, [])
        team = _team(context, name, own, tree, flavors, resource_of, limits)
        isolation = replace(team.isolation, max_grace=max_grace(context, name, own, sharing))
        made.append(replace(team, isolation=isolation))
    return tuple(made)


def _team(
    context: PlanningContext,
    name: str,
    queues: list[ClusterQueuePlan],
    tree: QuotaTree,
    flavors: Mapping[str, FlavorGroup],
    resource_of: Mapping[str, str],
    limits: Mapping[str, int],
) -> TeamPlan:
    spec = context.spec.teams[name]
    ceiling = tree.ceilings(queues)
    namespaces = with_run_limits(team_namespaces(context, name), name, queues, limits)
    namespaces = with_shared_queues(context, namespaces, name, queues, flavors, tree)
    return TeamPlan(
        name=name,
        formerly=spec.formerly,
        settings=spec.model_part(TeamSettings),
        namespaces=with_plain_machines(namespaces, name, queues, flavors),
        isolation=team_isolation(context, name, queues, ceiling, flavors),
        identity=team_identity(context, name),
        groups=tuple(sorted(spec.groups)),
        local_queues=tuple(local_queue for q in queues for local_queue in q.local_queues if local_queue.team == name),
        # shared queues are guaranteed to no team
        guaranteed=dict(sorted(guaranteed_by_flavor((q for q in queues if q.teams == (name,)), resource_of).items())),
        ceiling={flavor: min(maximum, flavors[flavor].capacity.max) for flavor, maximum in ceiling.items()},
        labels={**_team_labels(context, name), TEAM_LABEL: name},
        claim_templates=claim_templates(flavors[entry.flavor].devices for q in queues for entry in q.flavors),
    )


def _team_labels(context: PlanningContext, team: str) -> dict[str, str]:
    labels = context.spec.teams[team].labels
    for key in sorted(set(labels) & set(_BERTH_LABELS)):
        context.problems.fault(
            "reserved-label", ("teams", team, "labels", key), f"'{key}' is set by Berth; write another key"
        )
    return dict(sorted(labels.items()))


def _check_namespaces(context: PlanningContext) -> None:
    """Report namespaces that two teams claim, that are repeated, or that belong to the system."""
    seen: dict[str, str] = {}
    # A duplicate is reported at a team that names its namespace.
    teams = context.spec.teams.items()
    for name, spec in sorted(teams, key=lambda t: (bool(t[1].namespaces) or t[1].namespace.name is not None, t[0])):
        if spec.namespaces and "namespace" in spec.model_fields_set:
            message = "namespace and namespaces are both set; remove one of them"
            context.problems.fault("contradiction", ("teams", name, "namespaces"), message)
        for index, namespace in enumerate(team_namespaces(context, name)):
            path: FieldPath = ("teams", name, *(("namespaces", index) if spec.namespaces else ("namespace",)))
            _check_namespace(
                context, path, namespace.name, seen.setdefault(namespace.name, f"{name}/{index}"), f"{name}/{index}"
            )
            if namespace.name == "default" and namespace.owned:
                context.problems.fault(
                    "bad-namespace",
                    path,
                    "'default' exists in every cluster; write {name: default, existing: true, "
                    "acceptSharedNamespace: <why>}, or another name",
                )
        for index, entry in enumerate(spec.namespaces or (spec.namespace,)):
            path = ("teams", name, *(("namespaces", index) if spec.namespaces else ("namespace",)))
            _check_shared(context, path, entry)
    _check_homes(context)


def _check_homes(context: PlanningContext) -> None:
    """Report two namespaces that the program would know by one name, and `formerly` of one that Berth does not make."""
    seen: dict[str, tuple[str, bool]] = {}
    places = [
        (team, index, place)
        for team, spec in sorted(context.spec.teams.items())
        for index, place in enumerate(spec.namespaces or (spec.namespace,))
    ]
    for team, index, place in sorted(places, key=lambda each: each[2].formerly is not None):
        spec = context.spec.teams[team]
        own = spec.formerly or team
        name = place.name or own
        path: FieldPath = ("teams", team, *(("namespaces", index) if spec.namespaces else ("namespace",)), "formerly")
        home = next(
            each.formerly or (own if at == 0 else f"{own}/{name}")
            for at, each in enumerate(team_namespaces(context, team))
            if at == index
        )
        if place.formerly is not None and place.existing:
            message = "a namespace that exists already is not made here, so nothing keeps it; remove formerly"
            context.problems.fault("contradiction", path, message)
            continue
        first, is_written = seen.setdefault(home, (name, place.formerly is not None))
        if first != name:
            message = f"'{home}' is the place of namespace '{first}'; remove formerly of one of them"
            if not is_written:
                # Nobody's namespace moves to another place, and is deleted, by what is written of another one.
                new = (
                    ""
                    if "/" in home
                    else f", or, if '{first}' is new, write {{name: {first}, formerly: {home}/{first}}}"
                )
                message = f"'{home}' is the place of namespace '{first}', which would be deleted; remove formerly{new}"
            context.problems.fault("bad-former-name", path, message)


def _check_swapped_names(context: PlanningContext) -> None:
    """Report two teams, or two queues, of which each has the name that the other one has by default.

    The program knows an object by its name or by its team: what runs under the one name would go on under the other
    team's quota, or be deleted with its namespace.
    """
    spec = context.spec.teams
    owned = {name: {place.name for place in team_namespaces(context, name) if place.owned} for name in spec}
    for name in sorted(spec):
        for other in sorted((owned[name] - {name}) & spec.keys()):
            if name in owned[other] and name < other:
                path: FieldPath = ("teams", name, "namespaces" if spec[name].namespaces else "namespace")
                context.problems.fault(
                    "swapped-names",
                    path,
                    f"teams '{name}' and '{other}' have each other's name as namespace, and a swap deletes both with "
                    "their jobs; write a third name for one of them",
                )
    queues = {(team, key): queue.name or f"{team}-{key}" for team in spec for key, queue in spec[team].queues.items()}
    by_default = {f"{team}-{key}": (team, key) for team, key in queues}
    for (team, key), given in sorted(queues.items()):
        other = by_default.get(given, (team, key))
        if (team, key) < other and queues[other] == f"{team}-{key}":
            context.problems.fault(
                "swapped-names",
                ("teams", team, "queues", key, "name"),
                f"queues {team}.{key} and {other[0]}.{other[1]} have each other's name, and a swap gives the jobs of "
                "each the quota of the other; write a third name for one of them",
            )


def _check_namespace(context: PlanningContext, path: FieldPath, namespace: str, first_claim: str, claim: str) -> None:
    if first_claim != claim:
        owner = first_claim.partition("/")[0]
        again = "is listed twice; remove one of them"
        other = f"is already the namespace of team '{owner}'; write another namespace"
        context.problems.fault("duplicate-namespace", path, f"'{namespace}' {again if owner == path[1] else other}")
    if _is_of_the_system(namespace):
        message = f"'{namespace}' belongs to the system, where Kueue admits nothing; write another namespace"
        context.problems.fault("bad-namespace", path, message)


def _is_of_the_system(namespace: str) -> bool:
    return namespace.startswith(_SYSTEM_PREFIXES) or namespace in ("kueue-system", "jobset-system")


def _check_shared(context: PlanningContext, path: FieldPath, spec: NamespaceSpec) -> None:
    """Report shared namespaces without acceptSharedNamespace: the team's pods can run there as any account in it."""
    name = spec.name or ""
    shared = spec.existing and is_shared_namespace(name) and not _is_of_the_system(name)
    if shared and spec.accept_shared_namespace is None:
        context.problems.fault(
            "shared-namespace",
            path,
            f"'{spec.name}' is shared: the team could run pods with service accounts of others; write another "
            "namespace, "
            "or accept it with acceptSharedNamespace: <why>",
        )
    if spec.accept_shared_namespace is not None and not shared:
        message = "acceptSharedNamespace applies only to an existing shared namespace; remove acceptSharedNamespace"
        context.problems.fault("contradiction", (*path, "acceptSharedNamespace"), message)
