"""Google service accounts, roles of the project, and the identity of a team's pods."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct

from berth.plan.gke import CheckpointingPlan, ServiceAccountPlan
from berth.plan.teams import AccessPlan, TeamPlan
from berth.registration import Registration


def service_account(plan: ServiceAccountPlan, project: str) -> Registration:
    """Return a service account of the project."""
    return Registration(
        type="gcp:serviceaccount/account:Account",
        arguments={"project": project, "account_id": plan.account_id, "display_name": plan.display_name},
    )


def project_role(project: str, role: str, member: object) -> Registration:
    """Return the binding of a role of the project; other members of the role stay."""
    return Registration(
        type="gcp:projects/iAMMember:IAMMember", arguments={"project": project, "role": role, "member": member}
    )


def project_roles(project: str, roles: Iterable[str], member: object) -> dict[str, Registration]:
    """Return one binding for each role (roles/logging.logWriter), by the end of its name (logging.logWriter)."""
    return {role.removeprefix("roles/"): project_role(project, role, member) for role in sorted(roles)}


def bucket_role(bucket: str, role: str, member: object) -> Registration:
    """Return the binding of a role on a bucket; other members of the role stay."""
    return Registration(
        type="gcp:storage/bucketIAMMember:BucketIAMMember",
        arguments={"bucket": bucket, "role": role, "member": member},
    )


def checkpoint_writer(plan: CheckpointingPlan) -> Registration:
    """Return the right of GKE's driver to copy checkpoints to the bucket, and to read them there."""
    return bucket_role(plan.bucket, "roles/storage.objectUser", plan.member)


class TeamGrants(Struct, frozen=True):
    """The roles of a team on the project, buckets and secrets, each by the end of its name in the program."""

    project_roles: dict[str, Registration]
    buckets: dict[str, Registration]
    secrets: dict[str, Registration]


def team_account(plan: TeamPlan, project: str) -> Registration | None:
    """Return the Google service account that the pods impersonate, if the team has one that is created here."""
    if plan.identity is None or not plan.identity.granted or plan.identity.impersonates is None:
        return None
    return service_account(plan.identity.impersonates, project)


def team_account_users(plan: TeamPlan, account: object) -> dict[str, Registration]:
    """Return the permission of each of the team's Kubernetes service accounts to impersonate `account`, its name.

    Keys are the ends of names in the program.
    """
    return {
        f"workload-identity{suffix}": Registration(
            type="gcp:serviceaccount/iAMMember:IAMMember",
            arguments={"service_account_id": account, "role": "roles/iam.workloadIdentityUser", "member": member},
        )
        for suffix, member in _kubernetes_members(plan)
    }


def team_grants(plan: TeamPlan, project: str, account_member: object | None) -> TeamGrants:
    """Return the roles of the Google service account `account_member`; if it is None, those of the pods directly.

    Empty for a team without an identity, or if another cluster of the project already makes the grants.
    """
    grants = TeamGrants({}, {}, {})
    if (identity := plan.identity) is None or not identity.granted:
        return grants
    members = _kubernetes_members(plan) if account_member is None else [("", account_member)]
    for suffix, member in members:
        for role in sorted(identity.roles):
            grants.project_roles[f"{role.removeprefix('roles/')}{suffix}"] = project_role(project, role, member)
        for bucket, role in sorted(identity.buckets.items()):
            grants.buckets[f"bucket/{bucket}{suffix}"] = bucket_role(bucket, role, member)
        for owner, secret in sorted({(each.project, each.secret) for each in identity.secrets}):
            grants.secrets[f"secret/{owner}/{secret}{suffix}"] = Registration(
                type="gcp:secretmanager/secretIamMember:SecretIamMember",
                arguments={
                    "project": owner,
                    "secret_id": secret,
                    "role": "roles/secretmanager.secretAccessor",
                    "member": member,
                },
            )
    return grants


def _kubernetes_members(plan: TeamPlan) -> list[tuple[str, object]]:
    """Return the Kubernetes service account of each namespace as an IAM principal, with the suffix of its resources."""
    members = plan.identity.members if plan.identity else ()
    return [(plan.resource_suffix(place.name), member) for place, member in zip(plan.namespaces, members, strict=False)]


def cluster_viewers(plan: AccessPlan, project: str) -> dict[str, Registration]:
    """Return the permission of each group to view clusters, by the end of its name in the program.

    It is needed to read the cluster's address, and grants no permission inside the cluster.
    """
    groups = sorted({*plan.owners, *plan.teams}) if plan.in_project else ()
    return {
        f"cluster-viewer/{group}": project_role(project, "roles/container.clusterViewer", f"group:{group}")
        for group in groups
    }
