"""Every verb says the same of the same job: lint, admit, workload, plan and report of a team's stack, report --jobs."""

from __future__ import annotations

import json
import pathlib
import re
from typing import Any

import pytest
import yaml
from typer.testing import CliRunner

from berth.cli import app

PLATFORM = """\
config:
  berth:fleet:
    project: acme-ml-dev
    region: us-central1
    cluster: {zones: [us-central1-a]}
    OPERATORS
    pools:
      l4: {machineType: g2-standard-24, nodes: 4, zone: us-central1-a}
    teams:
      red: {queues: {gpu: {flavors: [{pool: l4, guaranteed: all}]}}}
"""
TEAM = """\
config:
  berth:team:
    platform: PLATFORM
    team: red
    workloads:
      work: {queue: gpu, kind: KIND, image: "x:1", command: [sleep, "60"], pods: PODS}
"""
CASES = {
    "runs": ("job", 2, ""),
    "never": ("mpijob", 2, "operators: [kuberay]"),
    "unknown": ("mpijob", 2, ""),
}


@pytest.fixture
def folder(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> pathlib.Path:
    (tmp_path / "Pulumi.yaml").write_text("name: berth\nruntime: python\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def answer(*words: str) -> tuple[int, str]:
    done = CliRunner().invoke(app, list(words))
    return done.exit_code, done.stdout


@pytest.mark.parametrize("expected", CASES)
def test_every_verb_has_the_verdict(expected: str, folder: pathlib.Path) -> None:
    kind, pods, operators = CASES[expected]
    (folder / "Pulumi.lab.yaml").write_text(PLATFORM.replace("OPERATORS", operators))
    named = PLATFORM.replace("OPERATORS", "operators: [mpi-operator]")
    (folder / "Pulumi.named.yaml").write_text(named)
    options = ("red", "gpu", "--kind", kind, "--pods", str(pods), "--image", "x:1", "--name", "work")
    said: dict[str, Any] = {}
    code, out = answer("workload", "lab", *options, "--json", "--", "sleep", "60")
    said["workload"] = json.loads(out)["verdict"]
    assert code == (1 if expected == "never" else 0)
    # What lint and admit read is the job on a platform that has its operator.
    job = json.loads(answer("workload", "named", *options, "--json", "--", "sleep", "60")[1])["objects"]
    (folder / "job.yaml").write_text(yaml.safe_dump_all(job))
    for verb, key in (("lint", "objects"), ("admit", "jobs")):
        code, out = answer(verb, "lab", "job.yaml", "--json")
        (said[verb],) = {each["verdict"] for each in json.loads(out)[key]}
        assert code == (1 if expected == "never" else 0)
    team = TEAM.replace("PLATFORM", "lab").replace("KIND", kind).replace("PODS", str(pods))
    (folder / "Pulumi.red.yaml").write_text(team)
    code, out = answer("check", "red")
    assert code == (1 if expected == "never" else 0)
    said["check"] = "never" if ": error: " in out else "unknown" if ": warning: " in out else "runs"
    (workload,) = json.loads(answer("plan", "red", "--json")[1])["workloads"]
    said["plan"] = workload["verdict"]
    page = answer("report", "red")[1]
    said["report"] = next(word for word in CASES if re.search(rf"<td[^>]*>{word}</td>", page))
    if expected != "never":  # such a job is not simulated
        page = answer("report", "lab", "--jobs", "job.yaml")[1]
        said["report --jobs"] = next(word for word in CASES if re.search(rf"<td[^>]*>{word}</td>", page))
    assert said == dict.fromkeys(said, expected)
