"""Damaged files of every kind that a verb reads: each ends with a line and exit 0 to 3, never with a traceback."""

from __future__ import annotations

import contextlib
import copy
import json
import pathlib
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from berth.cli import app
from berth.evaluate import evaluate_stack
from berth.yaml_loader import LOADER
from tests import gke_answers
from tests.berth.bad_input.test_fuzz import JUNK, at, damaged, many, paths, torn
from tests.stack_files import ROOT

EXAMPLES = 15
"""Damaged files of each kind in one run of the tests."""
TEAM_FILE = "stacks/teams/speech.yaml"
PRICES = {"currency": "USD", "hourly": {"g2-standard-24": {"on-demand": 2.0, "spot": 0.8}}}


def nested(depth: int) -> Any:
    """Lists inside each other."""
    value: Any = 1
    for _ in range(depth):
        value = [value]
    return value


MORE_JUNK: list[Any] = [*JUNK, nested(80), "9" * 5000, {str(n): n for n in range(300)}]


@dataclass(frozen=True)
class Kind:
    """A kind of file: a sound one, and the verb that reads it; `{}` stands for the file."""

    value: Any
    words: tuple[str, ...]
    suffix: str = ".json"
    writes_to: str | None = None


def _yaml(name: str) -> Any:
    return yaml.load((ROOT / name).read_text(encoding="utf-8"), LOADER)


def _kinds() -> Iterator[tuple[str, Kind]]:
    previews = ROOT / "tests" / "berth" / "diff" / "previews"
    for name in ("pool-and-queue-taken-out", "cluster-renamed-and-unprotected-at-once", "l4-2-taken-out-protected"):
        yield f"preview {name}", Kind(json.loads((previews / f"{name}.json").read_text()), ("guard", "dev", "{}"))
    plan = evaluate_stack("dev", ROOT).fleet_plan
    assert plan is not None
    # An answer without entries, such as that on future reservations, has nothing to damage.
    answers = {name: text for name, text in gke_answers.files(plan).items() if json.loads(text)}
    for name, text in answers.items():
        others = tuple(each for each in answers if each != name)
        yield f"answer {name}", Kind(json.loads(text), ("adopt", "new", "{}", *others))
    job = _yaml("stacks/jobs/train.yaml")
    yield "manifest to lint", Kind(job, ("lint", "dev", "{}"), ".yaml")
    yield "manifest to admit", Kind(job, ("admit", "dev", "{}"), ".yaml")
    yield "scenario", Kind(SCENARIO, ("admit", "dev", "{}"), ".yaml")
    yield "live state", Kind(LIVE, ("admit", "dev", "--live", "{}"))
    cases = _yaml("tests/berth/simulator/cases.yaml")[:2]
    yield "recorded cases", Kind(cases, ("admit", "--cases", "{}"), ".yaml")
    yield "prices", Kind(PRICES, ("plan", "dev", "--prices", "{}"), ".yaml")
    yield "team file", Kind(_yaml(TEAM_FILE), ("check", "dev"), ".yaml", TEAM_FILE)


SCENARIO = {
    "steps": [
        {"submit": {"name": "one", "queue": "vision/train", "pods": 2, "requests": {"google.com/tpu": 4}}},
        {"submit": {"name": "two", "queue": "vision/train", "pods": 2, "requests": {"google.com/tpu": 4}}},
        {"finish": "one"},
    ]
}
LIVE = {
    "items": [
        {
            "apiVersion": "kueue.x-k8s.io/v1beta2",
            "kind": "Workload",
            "metadata": {"name": "job-a", "namespace": "vision", "creationTimestamp": "2026-11-22T10:00:00Z"},
            "spec": {
                "queueName": "train",
                "priority": 0,
                "podSets": [
                    {
                        "name": "main",
                        "count": 2,
                        "template": {
                            "spec": {
                                "containers": [
                                    {"name": "main", "resources": {"requests": {"google.com/tpu": "4", "cpu": "1"}}}
                                ]
                            }
                        },
                    }
                ],
            },
            "status": {
                "conditions": [{"type": "Admitted", "status": "True", "lastTransitionTime": "2026-11-22T10:00:01Z"}],
                "admission": {
                    "clusterQueue": "vision-train",
                    "podSetAssignments": [
                        {
                            "name": "main",
                            "count": 2,
                            "flavors": {"google.com/tpu": "v5e", "cpu": "v5e"},
                            "resourceUsage": {"google.com/tpu": "8", "cpu": "2"},
                        }
                    ],
                },
            },
        }
    ]
}
KINDS = dict(_kinds())


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Iterator[pathlib.Path]:
    """A project with the stack dev, its team files, and the answers of its cluster."""
    folder = tmp_path_factory.mktemp("fuzz-files")
    for name in ("Pulumi.yaml", "Pulumi.dev.yaml"):
        shutil.copy(ROOT / name, folder / name)
    shutil.copytree(ROOT / "stacks" / "teams", folder / "stacks" / "teams")
    for name, kind in KINDS.items():
        if name.startswith("answer "):
            (folder / name.removeprefix("answer ")).write_text(json.dumps(kind.value), encoding="utf-8")
    with contextlib.chdir(folder):
        yield folder


def ends_in_words(project: pathlib.Path, kind: Kind, text: str) -> None:
    """Run the verb on the file."""
    file = project / (kind.writes_to or f"damaged{kind.suffix}")
    file.write_text(text, encoding="utf-8")
    for made in (*project.glob("*.import.json"), project / "Pulumi.new.yaml"):
        made.unlink(missing_ok=True)
    words = [str(file) if word == "{}" else word for word in kind.words]
    result = CliRunner().invoke(app, words)
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    assert result.exit_code in (0, 1, 2, 3)
    assert result.output.strip()
    if result.exit_code:
        assert all(line.isprintable() for line in result.stderr.splitlines())


def damage(value: Any, data: st.DataObject) -> Any:
    """The value with one to four damages; half of them put in what no file of the kind holds."""
    if data.draw(st.booleans()):
        return damaged(value, data)
    value = copy.deepcopy(value)
    path = data.draw(st.sampled_from([each for each in paths(value) if each]))
    at(value, path[:-1])[path[-1]] = copy.deepcopy(data.draw(st.sampled_from(MORE_JUNK)))
    return value


@pytest.mark.parametrize("name", KINDS)
def test_an_undamaged_file_is_read(project: pathlib.Path, name: str) -> None:
    """Or the damage would prove nothing. Of answers the program is not run, because that would take too long."""
    kind = KINDS[name]
    file = project / f"damaged{kind.suffix}"
    file.write_text(json.dumps(kind.value), encoding="utf-8")
    for made in (*project.glob("*.import.json"), project / "Pulumi.new.yaml"):
        made.unlink(missing_ok=True)
    words = [str(file) if word == "{}" else word for word in kind.words]
    result = CliRunner().invoke(app, words)
    if name.startswith("answer"):
        assert "__main__.py: no such file" in result.stderr
    else:
        assert result.exit_code in ((0, 1, 3) if name.startswith("preview") else (0,)), result.output
        assert "is not what" not in result.output


@pytest.mark.parametrize("name", KINDS)
@settings(many, max_examples=EXAMPLES)
@given(st.data())
def test_damaged_values_give_faults_and_no_traceback(project: pathlib.Path, name: str, data: st.DataObject) -> None:
    kind = KINDS[name]
    value = damage(kind.value, data)
    dump: Callable[[Any], str] = json.dumps if kind.suffix == ".json" else _as_yaml
    ends_in_words(project, kind, dump(value))


def _as_yaml(value: Any) -> str:
    return yaml.dump(value, Dumper=yaml.CSafeDumper, allow_unicode=True, sort_keys=False)


@pytest.mark.parametrize("name", KINDS)
@settings(many, max_examples=EXAMPLES)
@given(st.data())
def test_truncated_texts_give_faults_and_no_traceback(project: pathlib.Path, name: str, data: st.DataObject) -> None:
    kind = KINDS[name]
    text = json.dumps(kind.value, indent=1) if kind.suffix == ".json" else _as_yaml(kind.value)
    ends_in_words(project, kind, torn(text, data).replace("\x00", ""))
