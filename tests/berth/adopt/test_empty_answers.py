"""Answers that list nothing, or list it otherwise than gcloud does: read, and never an unknown kind."""

from __future__ import annotations

import json

import pytest

from berth.adopt.api_objects import InvalidInventory
from berth.adopt.google.answer_kinds import ANSWER_KINDS, IAM_POLICY, PROJECT_POLICY, RESERVATION, classify_answers
from berth.adopt.google.iam_policies import foreign_answers

EMPTY = (
    [],
    {"kind": "compute#reservationList", "id": "projects/p/zones/z/reservations", "selfLink": "https://x"},
    {"kind": "compute#reservationAggregatedList", "items": {"zones/z": {"warning": {"code": "NO_RESULTS_ON_PAGE"}}}},
    {"apiVersion": "v1", "kind": "List", "items": [], "metadata": {"resourceVersion": ""}},
    {"apiVersion": "v1", "kind": "NamespaceList", "metadata": {}, "items": None},
    *({field: []} for field in ("nodePools", "accounts", "services", "dashboards", "alertPolicies", "results")),
)


@pytest.mark.parametrize("answer", EMPTY, ids=lambda each: json.dumps(each)[:60])
def test_an_empty_list_is_an_answer(answer: object) -> None:
    assert list(classify_answers("answers.json", json.dumps(answer))) == []


@pytest.mark.parametrize("answer", [{"etag": "ACAB"}, {"etag": "ACAB", "version": 1}, {"etag": "BwX=", "bindings": []}])
def test_a_policy_without_bindings_is_a_policy(answer: dict[str, object]) -> None:
    assert [kind for kind, _ in classify_answers("iam-policy.json", json.dumps(answer))] == [PROJECT_POLICY]


def test_an_empty_policy_is_that_of_the_project() -> None:
    policies = {kind: [] for kind in ANSWER_KINDS} | {PROJECT_POLICY: [("iam-policy.json", {"etag": "ACAB"})]}
    assert list(foreign_answers("acme", policies)) == []
    other = {"etag": "ACAB", "resource": "//storage.googleapis.com/b", "policy": {"bindings": []}}
    (line,) = foreign_answers("acme", {**policies, IAM_POLICY: [("a.json", other)], PROJECT_POLICY: []})
    assert "no IAM policy of project 'acme'" in line


def test_an_aggregated_list_has_what_every_zone_lists() -> None:
    zones = {
        f"zones/{zone}": {"reservations": [{"name": zone, "specificReservation": {}, "zone": zone}]} for zone in "ab"
    }
    answer = {"kind": "compute#reservationAggregatedList", "items": zones}
    read = list(classify_answers("reservations.json", json.dumps(answer)))
    assert [(kind, each["name"]) for kind, each in read] == [(RESERVATION, "a"), (RESERVATION, "b")]


@pytest.mark.parametrize("text", ["{}", "[{}]", "null", '""', '{"etag": "ACAB", "selfLink": "x"}'])
def test_nothing_at_all_is_no_answer(text: str) -> None:
    with pytest.raises(InvalidInventory):
        list(classify_answers("answers.json", text))
