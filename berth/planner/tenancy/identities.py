"""Who teams' pods are in Google Cloud, and what is granted to them there."""

from __future__ import annotations

from berth.diagnostics import Path
from berth.names import SERVICE_ACCOUNT, shorten
from berth.plan.gke import ServiceAccountPlan
from berth.plan.teams import IdentityPlan, SecretPlan
from berth.planner.cluster.gke import node_account
from berth.planner.context import Draft
from berth.planner.queueing.local_queues import namespaces_of
from berth.spec.tenancy import IdentitySpec

_UNSAID = IdentitySpec.model_construct()
_EVERYTHING = "may change nearly everything in the project; name what the pods need"
_BUCKETS = "may write to every bucket of the project; write identity.buckets"
_SECRETS = "may read every secret of the project; write identity.secrets"
_BROAD = {
    "roles/owner": _EVERYTHING,
    "roles/editor": _EVERYTHING,
    "roles/storage.admin": _BUCKETS,
    "roles/storage.objectAdmin": _BUCKETS,
    "roles/storage.objectUser": _BUCKETS,
    "roles/secretmanager.admin": _SECRETS,
    "roles/secretmanager.secretAccessor": _SECRETS,
}
"""Roles that reach further than one team where they are given for the whole project, and what to write instead."""


GRANTS = ("roles", "buckets", "secrets")
"""Keys of an identity that give rights in Google Cloud."""


def identity(draft: Draft, team: str) -> IdentityPlan | None:
    """The identity of a team's pods; none in a namespace of others, unless the team asks for one."""
    spec = draft.spec.teams[team]
    places = namespaces_of(draft, team)
    if spec.identity is None and not any(place.owned for place in places):
        return None
    written = spec.identity or _UNSAID
    account = written.service_account or spec.formerly or team
    impersonated = _impersonated(draft, team, written.impersonate) if written.impersonate else None
    _narrow(draft, team, written)
    return IdentityPlan(
        service_account=account,
        members=_members(draft, team, written, account),
        impersonates=impersonated,
        roles=tuple(sorted(set(written.roles))),
        buckets=dict(sorted(written.buckets.items())),
        secrets=_secrets(draft, written),
    )


def one_account_each(draft: Draft) -> None:
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


def _secrets(draft: Draft, spec: IdentitySpec) -> tuple[SecretPlan, ...]:
    return tuple(
        SecretPlan(file=file, project=each.project or draft.project, secret=each.secret, version=each.version)
        for file, each in sorted(spec.secrets.items())
    )


def _narrow(draft: Draft, team: str, spec: IdentitySpec) -> None:
    for index, role in enumerate(spec.roles):
        if role in _BROAD:
            path: Path = ("teams", team, "identity", "roles", index)
            draft.problems.warning("broad-role", path, f"'{role}' {_BROAD[role]}")


def _members(draft: Draft, team: str, spec: IdentitySpec, account: str) -> tuple[str, ...]:
    """The team's pods as IAM members: as Workload Identity names them, or as direct principals."""
    pool = f"{draft.project}.svc.id.goog"
    names = [place.name for place in namespaces_of(draft, team)]
    if spec.impersonate:
        return tuple(f"serviceAccount:{pool}[{name}/{account}]" for name in names)
    granted = next((key for key in GRANTS if getattr(spec, key)), None)
    if granted is None or draft.existing:
        return ()
    if draft.spec.project_number is None:
        if not draft.lost("projectNumber", ""):
            message = (
                "a direct grant names the project by its number; write projectNumber at the top of the fleet, "
                "or identity.impersonate: <service account id>"
            )
            draft.problems.fault("missing-project-number", ("teams", team, "identity", granted), message)
        return ()
    where = f"projects/{draft.spec.project_number}/locations/global/workloadIdentityPools/{pool}"
    return tuple(f"principal://iam.googleapis.com/{where}/subject/ns/{name}/sa/{account}" for name in names)


def _impersonated(draft: Draft, team: str, account_id: str) -> ServiceAccountPlan:
    account = shorten(account_id, SERVICE_ACCOUNT)
    return ServiceAccountPlan(
        account_id=account,
        display_name=f"Workloads of team {team}",
        email=f"{account}@{draft.project}.iam.gserviceaccount.com",
        roles=(),
    )
