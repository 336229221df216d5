"""Teams: namespaces, identities, and what they are guaranteed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

from components.names import SERVICE_ACCOUNT, TEAM_LABEL, shorten
from components.plan.gke import ServiceAccountPlan
from components.plan.kueue import ClusterQueuePlan
from components.plan.teams import IdentityPlan, TeamPlan
from stacks.planner.ceilings import QuotaTree, accelerator_quotas
from stacks.planner.cluster import node_account
from stacks.planner.draft import Draft
from stacks.planner.queues import namespace_of
from stacks.problems import Path
from stacks.spec.teams import IdentitySpec, TeamSpec

_SYSTEM = ("kube-", "gke-managed-", "gmp-")
"""How the names of GKE's own namespaces begin."""


def teams(
    draft: Draft, queues: tuple[ClusterQueuePlan, ...], tree: QuotaTree, resource_of: Mapping[str, str]
) -> tuple[TeamPlan, ...]:
    """Every team of the fleet, by name."""
    _one_namespace_each(draft)
    _one_account_each(draft)
    by_team: dict[str, list[ClusterQueuePlan]] = {}
    for queue in queues:
        for team in queue.teams:
            by_team.setdefault(team, []).append(queue)
    return tuple(
        TeamPlan(
            name=name,
            namespace=namespace_of(draft, name),
            owns_namespace=not spec.namespace.existing,
            identity=_identity(draft, name, spec),
            local_queues=tuple(d for q in by_team.get(name, ()) for d in q.local_queues if d.team == name),
            guaranteed=_guaranteed(name, by_team.get(name, ()), resource_of),
            ceiling=tree.ceilings(by_team.get(name, ())),
            labels={TEAM_LABEL: name},
        )
        for name, spec in sorted(draft.spec.teams.items())
    )


def _guaranteed(team: str, queues: Iterable[ClusterQueuePlan], resource_of: Mapping[str, str]) -> dict[str, int]:
    """Nominal quota of the queues that are this team's alone: what is shared is guaranteed to nobody in particular."""
    total: Counter[str] = Counter()
    for queue in queues:
        if queue.teams == (team,):
            for flavor, quota in accelerator_quotas(queue, resource_of):
                total[flavor] += quota.nominal
    return dict(sorted(total.items()))


def _one_namespace_each(draft: Draft) -> None:
    seen: dict[str, str] = {}
    for name in sorted(draft.spec.teams, key=lambda n: (draft.spec.teams[n].namespace.name is not None, n)):
        namespace = namespace_of(draft, name)
        first = seen.setdefault(namespace, name)
        if first != name:
            message = f"'{namespace}' is already the namespace of team '{first}'; give each team its own"
            draft.problems.fault("duplicate-namespace", ("teams", name, "namespace"), message)
        if namespace.startswith(_SYSTEM) or namespace in ("kueue-system", "jobset-system"):
            message = f"'{namespace}' belongs to the system, where Kueue admits nothing; write another namespace"
            draft.problems.fault("bad-namespace", ("teams", name, "namespace"), message)
        elif namespace == "default" and not draft.spec.teams[name].namespace.existing:
            message = "'default' is in every cluster already; write {name: default, existing: true}, or another"
            draft.problems.fault("bad-namespace", ("teams", name, "namespace"), message)


def _one_account_each(draft: Draft) -> None:
    """No two Google service accounts of the fleet are one; that of the nodes is among them."""
    taken = {node_account(draft): "the nodes"}
    for name, spec in sorted(draft.spec.teams.items()):
        account = spec.identity.impersonate if spec.identity else None
        if account is not None:
            first = taken.setdefault(account, f"team '{name}'")
            if first != f"team '{name}'":
                path: Path = ("teams", name, "identity", "impersonate")
                message = f"'{account}' is already the service account of {first}; give each its own"
                draft.problems.fault("duplicate-name", path, message)


def _identity(draft: Draft, team: str, spec: TeamSpec) -> IdentityPlan | None:
    if spec.identity is None and spec.namespace.existing:
        return None
    written = spec.identity or IdentitySpec.model_construct()
    account = written.service_account or team
    impersonated = _impersonated(draft, team, written.impersonate) if written.impersonate else None
    if written.roles and not impersonated and not draft.spec.project_number and not draft.lost("projectNumber", ""):
        path: Path = ("teams", team, "identity", "roles")
        message = (
            "a direct grant names the project by its number; write projectNumber at the top of the fleet, "
            "or identity.impersonate: <service account id>"
        )
        draft.problems.fault("missing-project-number", path, message)
        return None
    return IdentityPlan(
        service_account=account,
        member=_member(draft, namespace_of(draft, team), account, bool(impersonated)),
        impersonates=impersonated,
        roles=tuple(sorted(set(written.roles))),
    )


def _impersonated(draft: Draft, team: str, account_id: str) -> ServiceAccountPlan:
    account = shorten(account_id, SERVICE_ACCOUNT)
    return ServiceAccountPlan(
        account_id=account,
        display_name=f"Workloads of team {team}",
        email=f"{account}@{draft.spec.project}.iam.gserviceaccount.com",
        roles=(),
    )


def _member(draft: Draft, namespace: str, account: str, impersonates: bool) -> str | None:
    """The team's pods as an IAM member: as Workload Identity names them, or as a direct principal."""
    pool = f"{draft.spec.project}.svc.id.goog"
    if impersonates:
        return f"serviceAccount:{pool}[{namespace}/{account}]"
    if draft.spec.project_number is None:
        return None
    where = f"projects/{draft.spec.project_number}/locations/global/workloadIdentityPools/{pool}"
    return f"principal://iam.googleapis.com/{where}/subject/ns/{namespace}/sa/{account}"
