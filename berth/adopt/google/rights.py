"""Report what the identities of a fleet have and Berth does not grant, and names of accounts that it sets."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from berth.adopt.api_objects import Fate, NotAdopted
from berth.adopt.google.iam_policies import ACCOUNT, BUCKET, PROJECT, Grant
from berth.adopt.google.identities import team_members
from berth.adopt.google.registered_resource import RegisteredResource
from berth.adopt.inventory import ClusterInventory
from berth.plan.fleet import ExistingClusterPlan, FleetPlan
from berth.plan.gke import ServiceAccountPlan
from berth.plan.teams import IdentityPlan, TeamPlan

_USER_ROLE = "roles/iam.workloadIdentityUser"
_ACCESSOR_ROLE = "roles/secretmanager.secretAccessor"


def other_rights(inventory: ClusterInventory, plan: FleetPlan) -> Iterator[NotAdopted]:
    """Yield the roles of nodes, teams and their accounts that the plan does not grant."""
    if isinstance(plan.cluster, ExistingClusterPlan) or not inventory.rights.grants:
        return
    account = plan.cluster.node_service_account
    if account is not None:
        member = f"serviceAccount:{account.email}"
        granted = {Grant(PROJECT, inventory.project, role, member) for role in account.roles}
        yield from _left(inventory, "nodes", [member], granted, "give teams an identity instead of the nodes")
    for team in plan.teams:
        if team.identity is not None:
            yield from _team_rights(inventory, team, team.identity)


def _team_rights(inventory: ClusterInventory, team: TeamPlan, identity: IdentityPlan) -> Iterator[NotAdopted]:
    account = identity.impersonates
    namespaces = [each.name for each in team.namespaces]
    account_id = account.account_id if account else None
    members = team_members(inventory, namespaces, identity.service_account, account_id)
    granted = {grant for member in members for grant in _planned(inventory, identity, member)}
    remedy = f"add it to teams.{team.name}.identity, or remove it with gcloud"
    yield from _left(inventory, f"team {team.name}", members, granted, remedy)
    if account is not None:
        yield from _other_users(inventory, team.name, account, set(identity.members))


def _planned(inventory: ClusterInventory, identity: IdentityPlan, member: str) -> Iterator[Grant]:
    for role in identity.roles:
        yield Grant(PROJECT, inventory.project, role, member)
    for bucket, role in identity.buckets.items():
        yield Grant(BUCKET, bucket, role, member)
    for secret in identity.secrets:
        yield Grant("secret", f"{secret.project}/secrets/{secret.secret}", _ACCESSOR_ROLE, member)


def _left(
    inventory: ClusterInventory, what: str, members: Sequence[str], granted: set[Grant], remedy: str
) -> Iterator[NotAdopted]:
    for member in members:
        for grant in inventory.rights.of_member(member):
            if grant in granted:
                continue
            reason = "with a condition, which a stack file cannot express; it stays" if grant.conditional else None
            yield NotAdopted(
                what,
                f"has {grant.role} on {grant.place()}" + (f" {reason}" if reason else f"; it stays: {remedy}"),
            )


def _other_users(
    inventory: ClusterInventory, team: str, account: ServiceAccountPlan, users: set[str]
) -> Iterator[NotAdopted]:
    """Yield the members besides the team's pods that have rights on the account that they impersonate."""
    for grant in sorted(inventory.rights.grants):
        is_own = grant.role == _USER_ROLE and grant.member in users and not grant.conditional
        if grant.kind == ACCOUNT and grant.name == account.email and not is_own:
            yield NotAdopted(
                f"team {team}",
                f"'{grant.member}' has {grant.role} on its {grant.place()}; it stays: remove it with gcloud unless "
                "others must act as the team",
            )


_ACCOUNT = "gcp:serviceaccount/account:Account"


def display_name_changes(inventory: ClusterInventory, registered: Sequence[RegisteredResource]) -> Iterator[NotAdopted]:
    """Yield the accounts whose display name is another one than Berth's; of accounts in the answers only."""
    names = {str(each["email"]): str(each.get("displayName", "")) for each in inventory.service_accounts}
    for resource in registered:
        if resource.type != _ACCOUNT:
            continue
        email = f"{resource.inputs.get('accountId')}@{inventory.project}.iam.gserviceaccount.com"
        before, after = names.get(email), str(resource.inputs.get("displayName", ""))
        if before is not None and before != after:
            yield NotAdopted(f"service account {email}", f"its display name becomes '{after}'", Fate.CHANGED)
