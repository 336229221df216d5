"""Plan the identities of teams' pods in Google Cloud and their grants, and check their roles."""

from __future__ import annotations

from berth.catalog import fact_tables
from berth.catalog.google_roles import google_roles
from berth.diagnostics import FieldPath, format_value
from berth.names import MAX_ACCOUNT_ID, shorten
from berth.plan.gke import ServiceAccountPlan
from berth.plan.teams import IdentityPlan, SecretPlan
from berth.planner.cluster.gke import node_account_id
from berth.planner.context import PlanningContext
from berth.planner.queueing.local_queues import team_namespaces
from berth.spec.tenancy import IdentitySpec

_DEFAULT_IDENTITY = IdentitySpec.model_construct()
GRANTS = ("roles", "buckets", "secrets")
"""Keys of an identity that grant permissions in Google Cloud."""


def team_identity(context: PlanningContext, team: str) -> IdentityPlan | None:
    """Return the identity of a team's pods; None in a shared namespace, unless the team sets one."""
    spec = context.spec.teams[team]
    if spec.identity is None and not any(namespace.owned for namespace in team_namespaces(context, team)):
        return None
    spec_identity = spec.identity or _DEFAULT_IDENTITY
    account = spec_identity.service_account or spec.formerly or team
    impersonated = (
        _impersonated_account(context, team, spec_identity.impersonate) if spec_identity.impersonate else None
    )
    check_roles(context, team, spec_identity)
    if spec_identity.service_account == "default":
        message = "'default' is the account of all pods that set none; write another name"
        context.problems.fault("bad-value", ("teams", team, "identity", "serviceAccount"), message)
    return IdentityPlan(
        service_account=account,
        members=_iam_members(context, team, spec_identity, account),
        impersonates=impersonated,
        roles=tuple(sorted(set(spec_identity.roles))),
        buckets=dict(sorted(spec_identity.buckets.items())),
        secrets=tuple(
            SecretPlan(
                file=file, project=secret.project or context.project, secret=secret.secret, version=secret.version
            )
            for file, secret in sorted(spec_identity.secrets.items())
        ),
        api_token=spec_identity.automount_service_account_token,
    )


def check_unique_accounts(context: PlanningContext) -> None:
    """Report Google service accounts that are used twice, including that of the nodes."""
    taken = {node_account_id(context): "the nodes"}
    for name, spec in sorted(context.spec.teams.items()):
        account = spec.identity.impersonate if spec.identity else None
        if account is not None:
            first = taken.setdefault(account, f"team '{name}'")
            if first != f"team '{name}'":
                path: FieldPath = ("teams", name, "identity", "impersonate")
                context.problems.fault(
                    "duplicate-name", path, f"'{account}' is already the service account of {first}; write another"
                )


def _iam_members(context: PlanningContext, team: str, spec: IdentitySpec, account: str) -> tuple[str, ...]:
    """Return the team's pods as IAM members: a Workload Identity account, or direct principals."""
    pool = f"{context.project}.svc.id.goog"
    names = [namespace.name for namespace in team_namespaces(context, team)]
    if spec.impersonate:
        return tuple(f"serviceAccount:{pool}[{name}/{account}]" for name in names)
    grant_key = next((key for key in GRANTS if getattr(spec, key)), None)
    if grant_key is None or context.only_connects:
        return ()
    if context.spec.project_number is None:
        if not context.is_set_aside("projectNumber", ""):
            context.problems.fault(
                "missing-project-number",
                ("teams", team, "identity", grant_key),
                "a direct grant needs the project number; write projectNumber at the top level, "
                "or identity.impersonate: <service account id>",
            )
        return ()
    pool_path = f"projects/{context.spec.project_number}/locations/global/workloadIdentityPools/{pool}"
    return tuple(f"principal://iam.googleapis.com/{pool_path}/subject/ns/{name}/sa/{account}" for name in names)


def _impersonated_account(context: PlanningContext, team: str, account_id: str) -> ServiceAccountPlan:
    account = shorten(account_id, MAX_ACCOUNT_ID)
    return ServiceAccountPlan(
        account_id=account,
        display_name=f"Workloads of team {team}",
        email=f"{account}@{context.project}.iam.gserviceaccount.com",
        roles=(),
    )


def check_roles(context: PlanningContext, team: str, spec: IdentitySpec) -> None:
    """Report roles that grant permissions or keys, unless accepted; warn of roles that reach other teams' data."""
    path: FieldPath = ("teams", team, "identity")
    for index, role in enumerate(spec.roles):
        if role not in spec.accept_roles:
            _check_role(context, (*path, "roles", index), role)
    for role in spec.accept_roles:
        if role not in spec.roles:
            message = f"'{role}' is not in identity.roles; remove it from acceptRoles"
            context.problems.fault("contradiction", (*path, "acceptRoles", role), message)


def _check_role(context: PlanningContext, path: FieldPath, role: str) -> None:
    roles = google_roles()
    if (effect := roles.privilege(role)) is not None:
        message = f"'{role}' {effect}; remove the role, or accept it with identity.acceptRoles: {{{role}: <why>}}"
        context.problems.fault("privileged-role", path, message)
    elif (broad := roles.broad.get(role)) is not None:
        context.problems.warning("broad-role", path, f"'{role}' {broad.effect}; write {broad.instead}")
    elif role not in roles.workload:
        unknown = fact_tables()["google-roles"].unknown(
            f"'{format_value(role)}'", "what it gives in the whole project, also of other teams, is"
        )
        remedy = f"write buckets and secrets instead, or accept it with identity.acceptRoles: {{{role}: <why>}}"
        context.problems.unknown("role-unknown", path, f"{unknown}; {remedy}")
