"""Read identities: the account of teams' pods with its roles in Google Cloud, and the account of nodes."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from berth.adopt.api_objects import (
    ApiObject,
    Kept,
    NotAdopted,
    StackEntry,
    labels_of,
    mapping_at,
    name_of,
    namespace_of,
    other_than,
    stated,
    value_at,
)
from berth.adopt.google.iam_policies import BUCKET, PROJECT, Grant
from berth.adopt.inventory import ClusterInventory
from berth.catalog.google_roles import google_roles
from berth.diagnostics import join_words
from berth.names import (
    COMPUTE_ENGINE_ACCOUNT,
    MANAGED_BY_LABEL,
    NODE_ACCOUNT,
    is_service_account_id,
    node_account_email,
)
from berth.plan.teams import SECRETS
from berth.text import abbreviate_names

_ANNOTATION = "iam.gke.io/gcp-service-account"
_DEFAULT_ACCOUNT = "default"
_AS_IT_IS = "as in the existing cluster"
_BUCKET_ROLE = re.compile(r"(roles/storage\.|projects/[^/]+/roles/|organizations/[^/]+/roles/)[A-Za-z0-9_.]+")
_PROJECT_ROLE = re.compile(r"(roles|projects/[^/]+/roles|organizations/[^/]+/roles)/[A-Za-z0-9_.]+")


def identity_entry(
    inventory: ClusterInventory,
    team: str,
    namespaces: Sequence[str],
    not_adopted: list[NotAdopted],
    *,
    is_managed: bool,
) -> StackEntry:
    """Return the section `identity`: the account of pods, the one they impersonate, its roles, and mounted secrets."""
    account = _team_account(inventory, team, namespaces[0], not_adopted)
    classes = inventory.objects_of_kind("SecretProviderClass")
    secrets = next((each for each in classes if (namespace_of(each), name_of(each)) == (namespaces[0], SECRETS)), None)
    impersonated = _impersonated(inventory, team, account, not_adopted)
    entry: StackEntry = {"impersonate": impersonated}
    if account is not None:
        members = team_members(inventory, namespaces, name_of(account), impersonated)
        is_mounted = account.get("automountServiceAccountToken") is not False  # Kubernetes' default is to mount it
        entry = {
            "serviceAccount": other_than(team, name_of(account)),
            **entry,
            **_granted(inventory, team, members, not_adopted),
            "automountServiceAccountToken": True if is_mounted else None,
        }
    entry["secrets"] = _secret_entries(secrets, inventory.project) if secrets else None
    entry = stated(entry)
    return {} if not entry and (account is None or is_managed) else {"identity": entry}


def team_members(
    inventory: ClusterInventory, namespaces: Sequence[str], account: str, impersonated: str | None
) -> list[str]:
    """Return the IAM members of a team's pods: the account that they impersonate, or each account by itself."""
    if impersonated is not None:
        return [f"serviceAccount:{impersonated}@{inventory.project}.iam.gserviceaccount.com"]
    number = inventory.rights.project_number
    if number is None:
        return []
    pool = f"projects/{number}/locations/global/workloadIdentityPools/{inventory.project}.svc.id.goog"
    return [f"principal://iam.googleapis.com/{pool}/subject/ns/{each}/sa/{account}" for each in namespaces]


def needs_project_number(teams: Mapping[str, StackEntry]) -> bool:
    """Return whether a team has grants without an account that it impersonates."""
    identities = (team.get("identity", {}) for team in teams.values())
    return any(
        "impersonate" not in identity and any(identity.get(key) for key in ("roles", "buckets", "secrets"))
        for identity in identities
    )


# --- accounts ---------------------------------------------------------------------------------------------------------


def _team_account(
    inventory: ClusterInventory, team: str, namespace: str, not_adopted: list[NotAdopted]
) -> ApiObject | None:
    """Return the service account of a team's pods: Berth's own, or the only one with an identity in Google Cloud."""
    accounts = [each for each in inventory.objects_of_kind("ServiceAccount") if namespace_of(each) == namespace]
    own = [each for each in accounts if labels_of(each).get(MANAGED_BY_LABEL) == "berth"]
    if own:
        return own[0]
    granted: list[ApiObject] = []
    for account in accounts:
        members = team_members(inventory, [namespace], name_of(account), None)
        if _google_account(account) or any(inventory.rights.of_member(member) for member in members):
            granted.append(account)
    others = [each for each in granted if name_of(each) != _DEFAULT_ACCOUNT]
    if len(others) < len(granted):
        not_adopted.append(
            NotAdopted(
                f"ServiceAccount {namespace}/{_DEFAULT_ACCOUNT}",
                "has an identity in Google Cloud, and all pods that name no account have it; it stays. Give the team's "
                f"pods an account of their own (teams.{team}.identity.serviceAccount)",
                kept=Kept.SYSTEM,
            )
        )
    if len(others) > 1:
        names = abbreviate_names([name_of(each) for each in others[1:]])
        not_adopted.append(
            NotAdopted(
                f"ServiceAccount {namespace}/{names}",
                f"a team has one identity, and '{name_of(others[0])}' is it; the others stay as they are",
                kept=Kept.SECOND,
                names=tuple(f"{namespace}/{name_of(each)}" for each in others[1:]),
            )
        )
    return others[0] if others else None


def _google_account(account: ApiObject) -> str | None:
    email = mapping_at(account, "metadata.annotations").get(_ANNOTATION)
    return str(email) if email else None


def _impersonated(
    inventory: ClusterInventory, team: str, account: ApiObject | None, not_adopted: list[NotAdopted]
) -> str | None:
    """Return the ID of the Google account that pods impersonate, if it is one of the project."""
    email = _google_account(account) if account is not None else None
    if email is None or account is None:
        return None
    name, _, domain = email.partition("@")
    if domain == f"{inventory.project}.iam.gserviceaccount.com" and is_service_account_id(name):
        return name
    not_adopted.append(
        NotAdopted(
            f"ServiceAccount {namespace_of(account)}/{name_of(account)}",
            f"impersonates '{email}', which is no account of project '{inventory.project}'; the first `pulumi up` "
            f"removes that. Write teams.{team}.identity.impersonate to give it an account of the project",
        )
    )
    return None


# --- roles ------------------------------------------------------------------------------------------------------------


def _granted(
    inventory: ClusterInventory, team: str, members: Sequence[str], not_adopted: list[NotAdopted]
) -> StackEntry:
    """Return roles and buckets that all members of a team have; the others stay, and are reported after the import."""
    held = [
        frozenset(Grant(each.kind, each.name, each.role, "", each.conditional) for each in of_member)
        for of_member in map(inventory.rights.of_member, members)
    ]
    every = frozenset[Grant]().union(*held)
    plain = sorted(each for each in every if not each.conditional and all(each in one for one in held))
    roles = [each.role for each in plain if each.kind == PROJECT and _PROJECT_ROLE.fullmatch(each.role)]
    buckets: dict[str, str] = {}
    for grant in (each for each in plain if each.kind == BUCKET and _BUCKET_ROLE.fullmatch(each.role)):
        if buckets.setdefault(grant.name, grant.role) != grant.role:
            not_adopted.append(
                NotAdopted(
                    f"team {team}",
                    f"has {grant.role} on bucket {grant.name} besides {buckets[grant.name]}, and a stack file "
                    "gives one role for each bucket; it stays",
                )
            )
    accepted = {role: _AS_IT_IS for role in roles if google_roles().privilege(role) is not None}
    return {"roles": roles, "acceptRoles": accepted, "buckets": buckets}


# --- secrets ----------------------------------------------------------------------------------------------------------


def _secret_entries(resource: ApiObject, project: str) -> dict[str, Any]:
    """Return file → secret, with version and project if they are not the defaults."""
    listed = json.loads(resource["spec"]["parameters"]["secrets"])
    result: dict[str, Any] = {}
    for secret_item in listed:
        _, owner, _, secret, _, version = secret_item["resourceName"].split("/")
        more = stated({"version": other_than("latest", version), "project": other_than(project, owner)})
        result[secret_item["path"]] = {"secret": secret, **more} if more else secret
    return dict(sorted(result.items()))


class NodeAccounts:
    """The accounts that the nodes of a pool's node pools run as, in a cluster that a stack adopts."""

    def __init__(self, inventory: ClusterInventory, stack: str, node_pools: Sequence[ApiObject]) -> None:
        self._accounts = sorted({str(value_at(each, "config.serviceAccount") or "") for each in node_pools} - {""})
        owner = stack if inventory.keeps_cluster else str(inventory.cluster["name"])
        self._made_by_berth = node_account_email(owner, inventory.project)

    @property
    def must_be_kept(self) -> bool:
        """Whether only an adopted pool can have these accounts."""
        return self._accounts == [COMPUTE_ENGINE_ACCOUNT] or (
            bool(self._accounts) and not self._is_one_that_a_key_names()
        )

    def entry(self, *, adopted: bool) -> StackEntry:
        """Return `serviceAccount`: of an adopted pool always, of another one unless Berth makes the account for it."""
        if not self._is_one_that_a_key_names() or (not adopted and self._accounts == [self._made_by_berth]):
            return {}
        return {"serviceAccount": self._accounts[0]}

    def unnamed(self, pool: str) -> NotAdopted | None:
        """Return the line about accounts that `serviceAccount` cannot name."""
        if not self._accounts or self._is_one_that_a_key_names():
            return None
        names = join_words(self._accounts)
        why = (
            f"its node pools run as {names}, and serviceAccount names one account"
            if len(self._accounts) > 1
            else f"its nodes run as {names}, which serviceAccount cannot name"
        )
        return NotAdopted(f"pool {pool}", f"{why}; nodes keep their account, so do not delete it")

    def _is_one_that_a_key_names(self) -> bool:
        return len(self._accounts) == 1 and re.fullmatch(NODE_ACCOUNT, self._accounts[0]) is not None
