"""Manifests that a real API server refused, or accepted, and what Berth says of them.

`api_answers.yaml` has the changes and the answers. Only the rules about fields are asked, without a fleet.
"""

from __future__ import annotations

import copy
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from berth.diagnostics import Problems, Severity
from berth.jobs.job_manifests import read_jobs
from berth.jobs.values import SourceValue
from berth.lint.validity.jobs import check_validity
from berth.yaml_loader import load_table
from tests.berth.lint.test_any_value import GONE, WRONG, changed, paths

ANSWERS: dict[str, list[tuple[str, dict[str, Any]]]] = load_table(Path(__file__).with_name("api_answers.yaml"))
BESIDES = {"Job": "$.restartPolicy", "CronJob": "$.restartPolicy"}
"""What the table of kinds refuses, and not the fields."""
OTHER_RULES = ("nvidia.com/gpu", "overhead", "resources.claims")
"""What other rules of lint refuse, which need a fleet or its devices."""


def manifest(kind: str) -> tuple[dict[str, Any], str]:
    """Return a sound object of a kind, and the path of its pods' spec."""
    container = {"name": "main", "image": "busybox", "command": ["sleep", "1"]}
    resources = {"requests": {"cpu": "1"}, "limits": {"cpu": "2"}}
    pods = {"restartPolicy": "Never", "containers": [container | {"resources": resources}]}
    start: dict[str, Any] = {"kind": kind, "metadata": {"name": "a", "namespace": "default"}}
    match kind:
        case "Pod":
            return {"apiVersion": "v1"} | start | {"spec": pods}, "spec"
        case "Job":
            return {"apiVersion": "batch/v1"} | start | {"spec": {"template": {"spec": pods}}}, "spec.template.spec"
        case "CronJob":
            job = {"spec": {"template": {"spec": pods}}}
            value = {"apiVersion": "batch/v1"} | start | {"spec": {"schedule": "0 3 * * *", "jobTemplate": job}}
            return value, "spec.jobTemplate.spec.template.spec"
        case _:
            template = {"metadata": {"labels": {"app": "x"}}, "spec": {"containers": pods["containers"]}}
            spec = {"selector": {"matchLabels": {"app": "x"}}, "template": template}
            return {"apiVersion": "apps/v1"} | start | {"spec": spec}, "spec.template.spec"


def put(value: Any, path: str, new: object) -> None:
    """Write a value at a path, with the lists and mappings on the way."""
    steps = [int(each) if each.isdigit() else each for each in path.split(".")]
    for step, following in pairwise(steps):
        if isinstance(step, int):
            value += [{}] * (step + 1 - len(value))
        elif value.get(step) is None:
            value[step] = [] if isinstance(following, int) else {}
        value = value[step]
    if new == "DEL":
        value.pop(steps[-1], None)
    elif isinstance(steps[-1], int):
        value[steps[-1] :] = [new]
    else:
        value[steps[-1]] = new


def faults(kind: str, changes: dict[str, Any]) -> list[str]:
    value, pods = copy.deepcopy(manifest(kind))
    for path, new in changes.items():
        put(value, path.replace("$", pods), copy.deepcopy(new))
    problems = Problems()
    for job in read_jobs(SourceValue(value, (), problems)):
        check_validity(job)
    return [each.message for each in problems.entries if each.severity == Severity.FAULT]


@pytest.mark.parametrize("answer", ANSWERS)
def test_the_fields_are_judged_as_by_the_api_server(answer: str) -> None:
    wrong: list[object] = []
    for kind, changes in ANSWERS[answer]:
        if BESIDES.get(kind) in changes or any(each in str(changes) for each in OTHER_RULES):
            continue
        found = faults(kind, changes)
        if bool(found) != (answer == "refused"):
            wrong.append((kind, changes, found))
    assert wrong == []
    assert len(ANSWERS[answer]) >= 50


@pytest.mark.parametrize("answer", ANSWERS)
def test_a_value_of_another_type_in_these_fields_causes_no_traceback(answer: str) -> None:
    """What is compared is first a number, or text: what is not has its own fault. Each field is asked once."""
    fields = {(kind, place): changes for kind, changes in ANSWERS[answer] for place in paths(changes) if place}
    for (kind, place), changes in fields.items():
        for wrong in (*WRONG, GONE):
            faults(kind, changed(changes, place, wrong))
