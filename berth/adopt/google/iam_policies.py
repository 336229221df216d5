"""Read IAM policies, who has which role on what, and report answers about another project than the cluster's.

`gcloud asset search-all-iam-policies` names the resource of each policy (Cloud Asset API, IamPolicySearchResult). The
answer of `gcloud projects get-iam-policy` does not; it is that of the cluster's project.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, cast

from msgspec import Struct

from berth.adopt.api_objects import ApiObject, list_at
from berth.adopt.google import answer_kinds

PROJECT, ACCOUNT, BUCKET, SECRET = "project", "service account", "bucket", "secret"
_FORMS = (
    (PROJECT, re.compile(r"//cloudresourcemanager\.googleapis\.com/projects/([^/]+)")),
    (ACCOUNT, re.compile(r"//iam\.googleapis\.com/projects/[^/]+/serviceAccounts/([^/]+)")),
    (BUCKET, re.compile(r"//storage\.googleapis\.com/(?:projects/_/buckets/)?([^/]+)")),
    (SECRET, re.compile(r"//secretmanager\.googleapis\.com/projects/([^/]+/secrets/[^/]+)")),
)
"""Kinds of resources whose rights Berth grants, and their full resource names (Cloud Asset docs, "Asset names")."""
_GKE_AGENT = re.compile(r"serviceAccount:service-([0-9]+)@container-engine-robot\.iam\.gserviceaccount\.com")
"""GKE's service agent, whose address has the number of the project."""


class Grant(Struct, frozen=True, order=True):
    """A role of a member on a resource; `name` is a project, an account's address, a bucket, or PROJECT/secrets/ID."""

    kind: str
    name: str
    role: str
    member: str
    conditional: bool = False

    def place(self) -> str:
        """Return the resource in words."""
        return self.kind if self.kind == PROJECT else f"{self.kind} {self.name.replace('/secrets/', '/')}"


class Rights(Struct, frozen=True):
    """All grants of the answers. `project_number` is None if no answer has it."""

    project: str
    project_number: str | None
    grants: frozenset[Grant]

    def has(self, grant: Grant) -> bool:
        """Return whether a member has a role without a condition."""
        return grant in self.grants

    def of_member(self, member: str) -> list[Grant]:
        """Return the grants of one member, in order."""
        return sorted(grant for grant in self.grants if grant.member == member)

    def members(self) -> set[str]:
        """Return everybody who has a role."""
        return {grant.member for grant in self.grants}


def read_rights(project: str, policies: Sequence[ApiObject], accounts: Sequence[ApiObject]) -> Rights:
    """Return the grants of the answers; `accounts` give the addresses of accounts that policies name by number."""
    number = project_number(project, policies)
    emails = {str(each.get("uniqueId")): str(each["email"]) for each in accounts}
    grants: set[Grant] = set()
    for policy in policies:
        place = _resource(policy, project, number, emails)
        if place is not None:
            grants |= set(_grants(*place, policy.get("policy", policy)))
    return Rights(project, number, frozenset(grants))


def project_number(project: str, policies: Sequence[ApiObject]) -> str | None:
    """Return the number of a project: of an answer on one of its resources, or in the address of GKE's agent."""
    for policy in policies:
        owner = str(policy.get("project", "")).removeprefix("projects/")
        if owner.isdecimal() and f"/projects/{project}/" in f"{policy.get('resource')}/":
            return owner
    numbers: set[str] = set()
    for bindings in (list_at(policy, "bindings") for policy in policies if "resource" not in policy):
        members = (member for binding in bindings for member in binding.get("members", ()))
        numbers |= set([match[1] for each in members if (match := _GKE_AGENT.fullmatch(each))][:1])
    return numbers.pop() if len(numbers) == 1 else None


def has_project_policy(rights: Rights) -> bool:
    """Return whether an answer has the rights on the project itself."""
    return any(grant.kind == PROJECT for grant in rights.grants)


def _resource(policy: ApiObject, project: str, number: str | None, emails: Mapping[str, str]) -> tuple[str, str] | None:
    """Return kind and name of a policy's resource; None for others, and for other projects."""
    if "resource" not in policy:
        return PROJECT, project
    path = str(policy["resource"])
    kind, name = next(((kind, match[1]) for kind, form in _FORMS if (match := form.fullmatch(path))), ("", ""))
    if not kind:
        return None
    if kind == PROJECT:
        return (PROJECT, project) if name in (project, number) else None
    if kind == SECRET:
        owner, _, rest = name.partition("/")
        return SECRET, f"{project if owner == number else owner}/{rest}"
    return (kind, emails.get(name, name)) if kind == ACCOUNT else (kind, name)


def _grants(kind: str, name: str, policy: Mapping[str, Any]) -> Iterator[Grant]:
    for binding in cast("list[Mapping[str, Any]]", policy.get("bindings") or []):
        for member in cast("list[str]", binding.get("members") or []):
            yield Grant(kind, name, binding["role"], member, bool(binding.get("condition")))


_PATH_FIELDS = {
    answer_kinds.RESERVATION: "selfLink",
    answer_kinds.FUTURE_RESERVATION: "selfLink",
    answer_kinds.DASHBOARD: "name",
    answer_kinds.ALERT_POLICY: "name",
    answer_kinds.SERVICE_ACCOUNT: "name",
    answer_kinds.FIREWALL: "selfLink",
    answer_kinds.SERVICE: "name",
}
"""Field whose path names the project."""
_TITLES = {answer_kinds.DASHBOARD: "displayName", answer_kinds.ALERT_POLICY: "displayName"}


def foreign_answers(project: str, answers_by_kind: Mapping[str, Sequence[tuple[str, ApiObject]]]) -> Iterator[str]:
    """Yield a line for each answer about another project, and one if IAM policies are those of another one."""
    policies = [*answers_by_kind[answer_kinds.IAM_POLICY], *answers_by_kind[answer_kinds.PROJECT_POLICY]]
    number = project_number(project, [each for _, each in policies])
    own = {project, *([number] if number else [])}
    for kind, field in _PATH_FIELDS.items():
        for file, answer in answers_by_kind[kind]:
            owner = str(answer.get(field, "")).partition("projects/")[2].partition("/")[0]
            is_unknown_number = owner.isdecimal() and number is None
            if project and owner and owner not in own and not is_unknown_number:
                name = answer[_TITLES.get(kind, "email" if "email" in answer else "name")]
                yield f"{file}: {kind} '{name}' belongs to project '{owner}', and the cluster to '{project}'; remove it"
    is_empty = any(not each.get("bindings") for _, each in answers_by_kind[answer_kinds.PROJECT_POLICY])
    if (
        project
        and policies
        and not is_empty
        and not has_project_policy(read_rights(project, [each for _, each in policies], ()))
    ):
        yield (
            f"{policies[0][0]}: no IAM policy of project '{project}'; give the answer of gcloud asset "
            f"search-all-iam-policies --scope projects/{project} --format json"
        )
