"""Google service accounts, and roles of the project."""

from __future__ import annotations

from collections.abc import Iterable

from berth.plan.gke import CheckpointingPlan, ServiceAccountPlan
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
