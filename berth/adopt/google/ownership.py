"""Report answers about another project than the cluster's."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from berth.adopt.api_objects import ApiObject
from berth.adopt.google import answer_kinds
from berth.adopt.google.iam_policies import has_project_policy, project_number, read_rights

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
