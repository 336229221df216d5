"""Admission policies: what they refuse, row by row of the hostile table, without an API server."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import replace
from functools import cache
from typing import Any

import pytest

from berth.versions.changes import known_holes
from tests import hostile
from tests.cel import Request, asked_policies, is_asked, refusals, violations
from tests.hostile import Attempt

Manifest = dict[str, Any]
ATTEMPTS = hostile.attempts()
_BY_RIGHTS = [each for each in ATTEMPTS if each.refused == ("rbac",)]
_BY_POLICIES = [each for each in ATTEMPTS if each.refused != ("rbac",)]


@cache
def rendered() -> list[Manifest]:
    return hostile.manifests()


def namespace(name: str) -> Manifest:
    (item,) = (m for m in rendered() if m["kind"] == "Namespace" and m["metadata"]["name"] == name)
    return item


def _title(attempt: Attempt) -> str:
    return attempt.title


@pytest.mark.parametrize("attempt", _BY_POLICIES, ids=_title)
def test_the_policies_answer_as_the_table_says(attempt: Attempt) -> None:
    messages, _ = _messages(attempt.title)
    if not attempt.refused:
        assert messages == []
    else:
        assert any(text in message for text in attempt.refused for message in messages), messages


@pytest.mark.parametrize("attempt", _BY_POLICIES, ids=lambda attempt: attempt.title)
def test_a_policy_that_does_not_concern_a_request_would_not_refuse_it(attempt: Attempt) -> None:
    _, messages = _messages(attempt.title)
    assert messages == []


_KINDS = [(group, kind) for group, kinds in sorted(hostile.fleet().policies.job_kinds.items()) for kind in kinds]  # type: ignore[union-attr]


@pytest.mark.parametrize("part", ["status", "scale"])
@pytest.mark.parametrize(("group", "kind"), _KINDS)
def test_nobody_in_a_namespace_writes_the_status_or_scale_of_a_queued_kind(group: str, kind: str, part: str) -> None:
    before: Manifest = {"metadata": {"name": "x", "namespace": "vision"}, "spec": {}, "status": {}}
    after = {**before, "spec": {"replicas": 16}, "status": {"active": 0}}
    place = namespace("vision")
    for is_controller in (False, True):
        asked = Request(group, kind, place, after, before, is_controller, subresource=part)
        assert bool(refusals(rendered(), asked)) is not is_controller


def test_few_policies_concern_an_ordinary_job() -> None:
    (attempt,) = (each for each in ATTEMPTS if each.title.endswith("member: a job on one GPU"))
    concerned = {
        policy["metadata"]["name"]
        for policy in rendered()
        if policy["kind"] == "ValidatingAdmissionPolicy" and is_asked(policy["spec"], _request(attempt))
    }
    assert concerned == set()


@pytest.mark.parametrize("attempt", [each for each in _BY_POLICIES if each.resource == ("", "pods")], ids=_title)
def test_a_job_with_the_template_of_a_refused_pod_concerns_the_policy_of_pods(attempt: Attempt) -> None:
    """Rules that refuse the pod as a part of a Job are asked about the Job, whatever field they read."""
    if attempt.after is None:
        return
    (made,) = (each for each in ATTEMPTS if each.title.endswith("member: a job on one GPU"))
    request = _request(made)
    assert request.after is not None
    job = deepcopy(request.after)
    job["spec"]["template"]["spec"] = {"restartPolicy": "Never", **attempt.after["spec"]}
    as_job = replace(request, after=job, everywhere=attempt.identity.everywhere)
    assert _asked_and_not_concerned(as_job)[1] == []


@cache
def _messages(title: str) -> tuple[list[str], list[str]]:
    (attempt,) = (each for each in ATTEMPTS if each.title == title)
    return _asked_and_not_concerned(_request(attempt))


def _asked_and_not_concerned(request: Request) -> tuple[list[str], list[str]]:
    """The messages of the policies that are asked about a request, and of those that say that it is not concerned."""
    messages: tuple[list[str], list[str]] = [], []
    concerned = asked_policies(rendered(), request)
    for name, policy in asked_policies(_asked_always(), request).items():
        messages[0 if name in concerned else 1].extend(violations(policy, request))
    return messages


def _request(attempt: Attempt) -> Request:
    group, whole = attempt.resource
    resource, _, subresource = whole.partition("/")
    return Request(
        group=group,
        resource=resource,
        subresource=subresource,
        namespace=namespace(attempt.namespace),
        before=attempt.before,
        after=attempt.after,
        everywhere=attempt.identity.everywhere,
        options=attempt.options,
    )


@cache
def _asked_always() -> list[Manifest]:
    """The manifests with policies whose rules are asked about every request that changes something."""
    made = deepcopy(rendered())
    for spec in (m["spec"] for m in made if m["kind"] == "ValidatingAdmissionPolicy"):
        spec["matchConditions"] = [each for each in spec.get("matchConditions", ()) if each["name"] != "concerned"]
    return made


@pytest.mark.parametrize("attempt", _BY_RIGHTS, ids=lambda attempt: attempt.title)
def test_denied_permissions_are_in_no_role(attempt: Attempt) -> None:
    group, resource = attempt.resource
    for role in _roles(attempt):
        for rule in role["rules"]:
            matched = {group, "*"} & set(rule["apiGroups"]) and {resource, "*"} & set(rule["resources"])
            assert not (matched and {attempt.verb, "*"} & set(rule["verbs"])), role["metadata"]["name"]


def _roles(attempt: Attempt) -> list[Manifest]:
    """The cluster roles that the rendered bindings grant in the namespace or in the whole cluster."""
    bound = {
        m["roleRef"]["name"]
        for m in rendered()
        if m["kind"] in ("RoleBinding", "ClusterRoleBinding")
        and m["metadata"].get("namespace") in (None, attempt.namespace)
        and any(subject["name"] in attempt.identity.groups for subject in m["subjects"])
    }
    return [m for m in rendered() if m["kind"] == "ClusterRole" and m["metadata"]["name"] in bound]


def test_every_rule_of_every_policy_refuses_some_row() -> None:
    messages = {
        rule["message"] for m in rendered() if m["kind"] == "ValidatingAdmissionPolicy"
        for rule in m["spec"]["validations"]
    }  # fmt: skip
    tried = [text for attempt in ATTEMPTS for text in attempt.refused]
    assert [message for message in messages if not any(text in message for text in tried)] == []


def test_a_thousand_teams_need_as_many_policies_as_two() -> None:
    kinds = [m["kind"] for m in rendered() if m["kind"].startswith("ValidatingAdmissionPolicy")]
    assert len(kinds) == 42
    assert len(hostile.fleet().teams) == 2


@pytest.mark.parametrize("hole", [name for name, hole in known_holes().items() if hole.closed_by])
def test_every_known_hole_that_a_policy_closes_is_tried(hole: str) -> None:
    """By a row that the policy refuses, and that happens without it."""
    tried = [attempt for attempt in ATTEMPTS if attempt.hole == hole]
    assert tried
    policy, shared = known_holes()[hole].closed_by, "berth-submission"  # an object with rules of all policies
    names = [(m["metadata"]["name"], m.get("spec", {}).get("policyName")) for m in rendered()]
    others = [m for m, name in zip(rendered(), names, strict=True) if not {policy, shared} & {*name}]
    for attempt in tried:
        assert refusals(rendered(), _request(attempt)), attempt.title
        assert not refusals(others, _request(attempt)), attempt.title


def test_rows_name_holes_that_are_known() -> None:
    assert {attempt.hole for attempt in ATTEMPTS} - {""} == {
        name for name, hole in known_holes().items() if hole.closed_by
    }
