"""Answers on rights, monitoring and requests that cannot be used: one clear line each, and never a traceback."""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from berth.adopt.api_objects import InvalidInventory
from berth.adopt.inventory import read_inventory
from berth.cli.adopt.answer import adopt_inventory
from berth.evaluate import evaluate_stack
from tests.gke_answers import files
from tests.google_answers import NUMBER
from tests.stack_files import ALL_STACKS, ROOT, plan

Answers = dict[str, Any]
Edit = Callable[[Answers], None]
AS_IT_IS = "give gcloud's answer as it is"
PROJECT = "my-project"


def entry(file: str, *path: str | int, value: object) -> Edit:
    """Set a value of the first answer in a file; the value `...` removes it."""

    def edit(answers: Answers) -> None:
        place: Any = answers[file][0]
        for step in path[:-1]:
            place = place[step]
        if value is ...:
            del place[path[-1]]
        else:
            place[path[-1]] = value

    return edit


def replaced(file: str, old: str, new: str) -> Edit:
    def edit(answers: Answers) -> None:
        answers[file] = json.loads(json.dumps(answers[file]).replace(old, new))

    return edit


def only_of_another_project(answers: Answers) -> None:
    policy = answers["policies.json"][0]
    answers["policies.json"] = [
        {**policy, "project": "projects/5", "resource": "//cloudresourcemanager.googleapis.com/projects/other"}
    ]


BINDINGS = ("policy", "bindings")
FUTURE = "future.json: future reservation 'reservations-december'"
FIRST_POLICY = f"//cloudresourcemanager.googleapis.com/projects/{PROJECT}"
CASES: dict[str, tuple[Edit, str]] = {
    "bindings that are an object": (
        entry("policies.json", *BINDINGS, value={"role": "x"}),
        f"policies.json: IAM policy '{FIRST_POLICY}': bindings is not a list; {AS_IT_IS}",
    ),
    "a binding that is a text": (
        entry("policies.json", *BINDINGS, value=["roles/owner"]),
        f"policies.json: IAM policy '{FIRST_POLICY}': bindings[0] is not an object; {AS_IT_IS}",
    ),
    "a binding without a role": (
        entry("policies.json", *BINDINGS, 0, "role", value=...),
        f"policies.json: IAM policy '{FIRST_POLICY}': bindings[0] has no role; {AS_IT_IS}",
    ),
    "members that are a text": (
        entry("policies.json", *BINDINGS, 0, "members", value="user:a@example.com"),
        f"policies.json: IAM policy '{FIRST_POLICY}': bindings[0].members is not a list of texts; {AS_IT_IS}",
    ),
    "a member that is an object": (
        entry("policies.json", *BINDINGS, 0, "members", value=[{"user": "a"}]),
        f"policies.json: IAM policy '{FIRST_POLICY}': bindings[0].members is not a list of texts; {AS_IT_IS}",
    ),
    "a policy that is a list": (
        entry("policies.json", "policy", value=[]),
        f"policies.json: IAM policy '{FIRST_POLICY}': policy is not an object; {AS_IT_IS}",
    ),
    "a resource that is a number": (
        entry("policies.json", "resource", value=7),
        f"policies.json: an IAM policy without a resource; {AS_IT_IS}",
    ),
    "a policy with an etag that is a number": (
        lambda answers: answers.update({"own.json": {"bindings": [], "etag": 5}}),
        f"own.json: a project's IAM policy without an etag; {AS_IT_IS}",
    ),
    "policies of another project alone": (
        only_of_another_project,
        f"policies.json: no IAM policy of project '{PROJECT}'; give the answer of gcloud asset search-all-iam-policies "
        f"--scope projects/{PROJECT} --format json",
    ),
    "an account without an address": (
        entry("accounts.json", "email", value=None),
        f"accounts.json: a service account without an email; {AS_IT_IS}",
    ),
    "an account of another project": (
        replaced("accounts.json", f"projects/{PROJECT}/", "projects/other/"),
        "accounts.json: service account 'reservations-nodes@my-project.iam.gserviceaccount.com' belongs to project "
        f"'other', and the cluster to '{PROJECT}'; remove it",
    ),
    "a dashboard without a title": (
        entry("dashboards.json", "displayName", value=...),
        f"dashboards.json: dashboard 'projects/{NUMBER}/dashboards/0000-queues': displayName is not a text; {AS_IT_IS}",
    ),
    "a title that is a list": (
        entry("dashboards.json", "displayName", value=["Queues"]),
        f"dashboards.json: dashboard 'projects/{NUMBER}/dashboards/0000-queues': displayName is not a text; {AS_IT_IS}",
    ),
    "conditions that are an object": (
        entry("alerts.json", "conditions", value={}),
        f"alerts.json: alert policy 'projects/{NUMBER}/alertPolicies/1000': conditions is not a list of objects; "
        f"{AS_IT_IS}",
    ),
    "a condition that is a text": (
        entry("alerts.json", "conditions", value=["absent(up)"]),
        f"alerts.json: alert policy 'projects/{NUMBER}/alertPolicies/1000': conditions is not a list of objects; "
        f"{AS_IT_IS}",
    ),
    "an alert without a title": (
        entry("alerts.json", "displayName", value=0),
        f"alerts.json: alert policy 'projects/{NUMBER}/alertPolicies/1000': displayName is not a text; {AS_IT_IS}",
    ),
    "a channel that is an object": (
        entry("alerts.json", "notificationChannels", value=[{"name": "x"}]),
        f"alerts.json: alert policy 'projects/{NUMBER}/alertPolicies/1000': notificationChannels is not a list of "
        f"texts; {AS_IT_IS}",
    ),
    "a request without a window": (
        entry("future.json", "timeWindow", value=None),
        f"future.json: future reservation 'reservations-december': timeWindow has no startTime; {AS_IT_IS}",
    ),
    "a request whose start is a number": (
        entry("future.json", "timeWindow", "startTime", value=1764547200),
        f"future.json: future reservation 'reservations-december': timeWindow.startTime is not a text; {AS_IT_IS}",
    ),
    "a request without a zone": (
        entry("future.json", "zone", value=...),
        f"future.json: future reservation 'reservations-december': zone is missing; {AS_IT_IS}",
    ),
    "a request for nothing": (
        entry("future.json", "specificSkuProperties", value=...),
        "future.json: future reservation 'reservations-december': neither specificSkuProperties nor "
        f"aggregateReservation is an object; {AS_IT_IS}",
    ),
    "a request without a name": (
        entry("future.json", "name", value=...),
        f"future.json: a future reservation without a name; {AS_IT_IS}",
    ),
    "a count that is no number": (
        entry("future.json", "specificSkuProperties", "totalCount", value="many"),
        f"{FUTURE}: specificSkuProperties.totalCount is not a number; {AS_IT_IS}",
    ),
    "projects that are a number": (
        entry("future.json", "shareSettings", value={"shareType": "SPECIFIC_PROJECTS", "projectMap": 7}),
        f"{FUTURE}: shareSettings.projectMap is not an object; {AS_IT_IS}",
    ),
    "projects that are no list": (
        entry("future.json", "shareSettings", value={"shareType": "SPECIFIC_PROJECTS", "projects": 7}),
        f"{FUTURE}: shareSettings.projects is not a list of texts; {AS_IT_IS}",
    ),
    "user labels that are a list": (
        entry("alerts.json", "userLabels", value=["alert"]),
        f"alerts.json: alert policy 'projects/{NUMBER}/alertPolicies/1000': userLabels is not an object of texts; "
        f"{AS_IT_IS}",
    ),
    "reserved resources that are texts": (
        replaced("future.json", '"reservedResources": [{', '"reservedResources": ["x", {'),
        "future.json: future reservation 'reservations-spring': aggregateReservation.reservedResources is not a list "
        f"of accelerators with their number; {AS_IT_IS}",
    ),
    "a GPU without a type": (
        replaced("future.json", '"acceleratorType"', '"type"'),
        f"{FUTURE}: specificSkuProperties.instanceProperties.guestAccelerators is not a list of GPUs with their type "
        f"and number; {AS_IT_IS}",
    ),
    "a request in another project": (
        entry("future.json", "selfLink", value="https://www.googleapis.com/compute/v1/projects/other/zones/z/x/y"),
        "future.json: future reservation 'reservations-december' belongs to project 'other', and the cluster to "
        f"'{PROJECT}'; remove it",
    ),
}


def texts(edit: Edit) -> dict[str, str]:
    answers: Answers = {name: json.loads(text) for name, text in files(plan("reservations")).items()}
    edit(answers)
    return {name: json.dumps(answer) for name, answer in answers.items()}


@pytest.mark.parametrize("claim", CASES)
def test_an_unusable_answer_is_one_line(claim: str) -> None:
    edit, line = CASES[claim]
    with pytest.raises(InvalidInventory) as refused:
        read_inventory(texts(edit))
    assert list(refused.value.lines) == [line]


def test_dashboards_and_alerts_of_another_project_are_named_one_by_one() -> None:
    """By number, once the project's own is known."""

    def edit(answers: Answers) -> None:
        for file in ("alerts.json", "dashboards.json"):
            answers[file] = answers[file][:1]
            answers[file][0]["name"] = answers[file][0]["name"].replace(NUMBER, "999")

    with pytest.raises(InvalidInventory) as refused:
        read_inventory(texts(edit))
    assert list(refused.value.lines) == [
        f"dashboards.json: dashboard 'reservations: Queues and teams' belongs to project '999', and the cluster to "
        f"'{PROJECT}'; remove it",
        "alerts.json: alert policy 'reservations: Kueue sends no metrics' belongs to project '999', and the cluster "
        f"to '{PROJECT}'; remove it",
    ]


@pytest.mark.parametrize("file", ["policies.json", "accounts.json", "dashboards.json", "alerts.json", "future.json"])
def test_an_empty_answer_is_no_fault(file: str) -> None:
    """As gcloud prints it for a project that has none."""

    def edit(answers: Answers) -> None:
        answers[file] = []

    _, _, evaluation = adopt_inventory(read_inventory(texts(edit)), "reservations")
    assert [fault.line() for fault in evaluation.faults] == []


_SETTINGS = ROOT / "tests" / "berth" / "full_fleets" / "Pulumi.settings.yaml"
_WRONG: tuple[object, ...] = ("text", ["a"], {"a": 1}, 7, True, [{}], [7], None)


def _places(value: object, path: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    """Yield the paths of all values, of lists the first two entries only."""
    if path:
        yield path
    entries = enumerate(value[:2]) if isinstance(value, list) else value.items() if isinstance(value, dict) else ()
    for step, each in entries:
        yield from _places(each, (*path, step))


@pytest.mark.parametrize("part", range(4))
@pytest.mark.parametrize("stack", ["reservations", "settings"])
def test_a_value_of_another_type_is_named_by_its_place(stack: str, part: int) -> None:
    """Each field of each answer that Google gives, with values of other types; the general line names no place."""
    fleet = plan(stack) if stack in ALL_STACKS else evaluate_stack(str(_SETTINGS), _SETTINGS.parent).fleet_plan
    assert fleet is not None
    answers: Answers = {name: json.loads(text) for name, text in files(fleet, noise=True).items()}
    fields = {
        (file, tuple(step for step in path if isinstance(step, str))): (file, path)
        for file, answer in answers.items()
        if file != "objects.json"
        for path in _places(answer)
    }
    chosen = random.Random(f"{stack} {part}").sample([*fields.values()], 16)
    for index, (file, path) in enumerate(chosen):
        changed = copy.deepcopy(answers[file])
        place: Any = changed
        for step in path[:-1]:
            place = place[step]
        place[path[-1]] = _WRONG[index % len(_WRONG)]
        try:
            adopt_inventory(
                read_inventory({name: json.dumps(each) for name, each in {**answers, file: changed}.items()}),
                "reservations",
            )
        except InvalidInventory as refused:
            assert not any("cannot read the files" in line for line in refused.lines), (path, refused.lines)
