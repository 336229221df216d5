"""Every object of the answers is imported or has a line, whoever owns it."""

from __future__ import annotations

import copy
import json
import re
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from berth.adopt.inventory import read_inventory
from berth.cli import app
from tests.berth.adopt.test_cloud_answers import DEV, Answers
from tests.gke_answers import files
from tests.stack_files import plan

_OTHERS = ("CronJob", "StatefulSet", "Secret", "PersistentVolumeClaim", "JobSet", "MutatingWebhookConfiguration")
"""Kinds that Berth never makes."""
_MEANT = ("LocalQueue", "PriorityClass", "ResourceFlavor", "WorkloadPriorityClass")
"""Kinds of which another one changes what teams have."""
_GOOGLE = ("reservations", "subnets", "firewalls", "services", "accounts", "dashboards", "alerts")
"""Answers of Google Cloud without those on the cluster and on rights."""


def _answers() -> Answers:
    return {name: json.loads(text) for name, text in files(plan(DEV), noise=True).items()}


def _add_foreign(answers: Answers) -> set[str]:
    """Add one object of somebody else to each answer and of each Kubernetes kind; return their names."""
    names: set[str] = set()
    for kind in _GOOGLE:
        answer = copy.deepcopy(answers[f"{kind}.json"][0])
        own = str(answer["name"]).rpartition("/")[2].partition("@")[0]
        other = f"other-{kind}"
        parts = {key: str(answer[key]).rpartition(own) for key in ("name", "selfLink", "email") if key in answer}
        answer |= {key: f"{start}{other}{end}" for key, (start, _, end) in parts.items()}
        answer |= {"displayName": other} if "displayName" in answer else {}
        answer.pop("userLabels", None)
        if kind == "dashboards":
            answer["mosaicLayout"] = {"columns": 12}
        answers[f"{kind}.json"].append(answer)
        names.add(other)
    items: list[dict[str, Any]] = answers["objects.json"]["items"]
    kinds = {each["kind"]: each for each in reversed(items) if each["kind"] not in _MEANT}
    for place in ("vision", "kueue-system"):
        for kind, example in {**kinds, **{kind: {"apiVersion": "v1", "kind": kind} for kind in _OTHERS}}.items():
            name = f"other-{kind.lower()}-{place[:3]}"
            namespaced = "namespace" in example.get("metadata", {"namespace": ""})
            items.append({**example, "metadata": {"name": name} | ({"namespace": place} if namespaced else {})})
            names.add(name)
    return names


def _adopt(folder: Path, answers: Answers) -> tuple[str, list[str]]:
    """Return what the command prints, and the IDs of the import files."""
    for name, answer in answers.items():
        (folder / name).write_text(json.dumps(answer), encoding="utf-8")
    result = CliRunner().invoke(app, ["adopt", "copy", *sorted(answers)])
    assert result.exit_code == 0, result.output
    content = [json.loads(each.read_text(encoding="utf-8")) for each in folder.glob("copy.*.import.json")]
    return result.stdout, [each["id"] for file in content for each in file["resources"] if "id" in each]


def test_an_object_of_somebody_else_is_imported_or_named(folder: Path) -> None:
    answers = _answers()
    foreign = _add_foreign(answers)
    assert len(foreign) > 45
    printed, ids = _adopt(folder, answers)
    shown = set(re.findall(r"[\w.-]+", printed)) | {name.rpartition("/")[2] for name in ids}
    counted = "".join(re.findall(r"^  (\w+) .*\(\d+ in all\)", printed, re.MULTILINE))
    assert {name for name in foreign if name not in shown and name.split("-")[1] not in counted.lower()} == set()


@pytest.mark.parametrize("kind", ["reservations", "accounts", "subnets", "firewalls"])
def test_an_answer_of_google_that_nothing_uses_has_a_line(folder: Path, kind: str) -> None:
    answers = _answers()
    _add_foreign(answers)
    printed, ids = _adopt(folder, answers)
    assert any(f"other-{kind}" in line for line in [*printed.splitlines(), *ids])


def test_an_object_that_two_answers_have_is_read_once() -> None:
    answers = _answers()
    answers["again.json"] = copy.deepcopy(answers["objects.json"])
    inventory = read_inventory({name: json.dumps(answer) for name, answer in answers.items()})
    assert len(inventory.objects) == len(answers["again.json"]["items"])
