"""Teams: their namespaces and labels, and what they are guaranteed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

from berth.diagnostics import Path
from berth.names import TEAM_LABEL
from berth.plan.kueue import ClusterQueuePlan
from berth.plan.teams import TeamPlan
from berth.planner.context import Draft
from berth.planner.queueing.flavors import Flavor
from berth.planner.queueing.local_queues import default_queues, namespaces_of
from berth.planner.queueing.quota_tree import QuotaTree, accelerator_quotas
from berth.planner.tenancy.identities import identity, one_account_each
from berth.planner.tenancy.isolation import isolation

_SYSTEM = ("kube-", "gke-managed-", "gmp-")
"""How the names of GKE's own namespaces begin."""
_OF_BERTH = ("managed-by", "fleet", "team")
"""Labels that say what Berth says anyway."""


def teams(
    draft: Draft, queues: tuple[ClusterQueuePlan, ...], tree: QuotaTree, kinds: Mapping[str, Flavor]
) -> tuple[TeamPlan, ...]:
    """Every team of the fleet, by name."""
    _namespaces(draft)
    one_account_each(draft)
    default_queues(draft)
    by_team: dict[str, list[ClusterQueuePlan]] = {}
    for queue in queues:
        for team in queue.teams:
            by_team.setdefault(team, []).append(queue)
    resource_of = {flavor.name: flavor.resource for flavor in kinds.values()}
    return tuple(
        _team(draft, name, by_team.get(name, []), tree.ceilings(by_team.get(name, ())), kinds, resource_of)
        for name in sorted(draft.spec.teams)
    )


def _team(
    draft: Draft,
    name: str,
    queues: list[ClusterQueuePlan],
    ceiling: dict[str, int],
    kinds: Mapping[str, Flavor],
    resource_of: Mapping[str, str],
) -> TeamPlan:
    spec = draft.spec.teams[name]
    return TeamPlan(
        name=name,
        formerly=spec.formerly,
        state=spec.state,
        namespaces=namespaces_of(draft, name),
        isolation=isolation(draft, name, queues, ceiling, kinds),
        identity=identity(draft, name),
        groups=tuple(sorted(spec.groups)),
        local_queues=tuple(d for q in queues for d in q.local_queues if d.team == name),
        guaranteed=_guaranteed(name, queues, resource_of),
        ceiling={flavor: min(most, kinds[flavor].capacity.max) for flavor, most in ceiling.items()},
        labels={**_labels(draft, name), TEAM_LABEL: name},
    )


def _guaranteed(team: str, queues: Iterable[ClusterQueuePlan], resource_of: Mapping[str, str]) -> dict[str, int]:
    """Nominal quota of the queues that are this team's alone: what is shared is guaranteed to nobody in particular."""
    total: Counter[str] = Counter()
    for queue in queues:
        if queue.teams == (team,):
            for flavor, quota in accelerator_quotas(queue, resource_of):
                total[flavor] += quota.nominal
    return dict(sorted(total.items()))


def _labels(draft: Draft, team: str) -> dict[str, str]:
    labels = draft.spec.teams[team].labels
    for key in sorted(set(labels) & set(_OF_BERTH)):
        message = f"'{key}' is set by Berth; write another key"
        draft.problems.fault("reserved-label", ("teams", team, "labels", key), message)
    return dict(sorted(labels.items()))


def _namespaces(draft: Draft) -> None:
    """Every namespace is one team's, once, and none of the system's."""
    seen: dict[str, str] = {}
    for name in sorted(draft.spec.teams, key=lambda n: (bool(_written(draft, n)), n)):
        spec = draft.spec.teams[name]
        if spec.namespaces and "namespace" in spec.model_fields_set:
            message = "write namespace or namespaces, not both"
            draft.problems.fault("contradiction", ("teams", name, "namespaces"), message)
        for index, place in enumerate(namespaces_of(draft, name)):
            path: Path = ("teams", name, *(("namespaces", index) if spec.namespaces else ("namespace",)))
            _namespace(draft, path, place.name, seen.setdefault(place.name, f"{name}/{index}"), f"{name}/{index}")
            if place.name == "default" and place.owned:
                message = "'default' is in every cluster already; write {name: default, existing: true}, or another"
                draft.problems.fault("bad-namespace", path, message)


def _namespace(draft: Draft, path: Path, namespace: str, first: str, this: str) -> None:
    if first != this:
        owner = first.partition("/")[0]
        again = "is in this list already; leave it out"
        other = f"is already the namespace of team '{owner}'; give each team its own"
        message = f"'{namespace}' {again if owner == path[1] else other}"
        draft.problems.fault("duplicate-namespace", path, message)
    if namespace.startswith(_SYSTEM) or namespace in ("kueue-system", "jobset-system"):
        message = f"'{namespace}' belongs to the system, where Kueue admits nothing; write another namespace"
        draft.problems.fault("bad-namespace", path, message)


def _written(draft: Draft, team: str) -> bool:
    spec = draft.spec.teams[team]
    return bool(spec.namespaces) or spec.namespace.name is not None
