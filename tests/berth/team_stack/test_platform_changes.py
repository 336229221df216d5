"""`berth diff` of a platform names the teams' stacks that lose something, and of a team's stack another platform."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from typer.testing import CliRunner

from berth.cli import app

FLEET: dict[str, Any] = {
    "project": "acme-ml-dev",
    "region": "us-central1",
    "protect": False,
    "pools": {"a100": {"machineType": "a2-highgpu-8g", "nodes": 4, "zone": "us-central1-a"}},
    "teams": {
        "vision": {"queues": {"train": {"flavors": [{"pool": "a100", "guaranteed": 16}]}}},
        "speech": {"queues": {"train": {"flavors": [{"pool": "a100", "guaranteed": 16}]}}},
    },
}
TEAM: dict[str, Any] = {
    "platform": "prod",
    "team": "vision",
    "workloads": {"fit": {"queue": "train", "image": "a:1", "pods": 2}},
}


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "Pulumi.yaml").write_text("name: berth\nruntime: python\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write(file: str, value: dict[str, Any], key: str = "fleet") -> None:
    Path(file).write_text(yaml.safe_dump({"config": {f"berth:{key}": value}}), encoding="utf-8")


def changed(edit: Callable[[dict[str, Any]], object]) -> dict[str, Any]:
    value = copy.deepcopy(FLEET)
    edit(value)
    return value


def other_queue(fleet: dict[str, Any]) -> None:
    queues = fleet["teams"]["vision"]["queues"]
    queues["serve"] = queues.pop("train")


def other_region(fleet: dict[str, Any]) -> None:
    fleet["region"] = "us-east1"
    fleet["pools"]["a100"].update(zone="us-east1-b", acceptZone=True)


LOST: dict[str, tuple[Callable[[dict[str, Any]], object], str]] = {
    "its queue": (
        other_queue,
        "workloads.fit.queue: team 'vision' has no queue 'train'; write one of 'serve' and 'vision-serve'",
    ),
    "the team": (
        lambda fleet: fleet["teams"].pop("vision"),
        "team: the platform 'prod' has no team 'vision'; write one of 'speech'",
    ),
    "room": (
        lambda fleet: fleet["teams"]["vision"]["queues"]["train"]["flavors"][0].update(guaranteed=8),
        "workloads.fit: requests 16 A100 40GB in vision/train, whose ceiling is 8 "
        "of a100: it can never be admitted; the largest that fits is 1 pod",
    ),
    "its cluster": (other_region, ""),
}


@pytest.mark.parametrize("lost", LOST)
def test_a_diff_of_the_platform_names_the_team_stacks_and_what_they_lose(lost: str) -> None:
    edit, loss = LOST[lost]
    write("old.yaml", FLEET)
    write("Pulumi.prod.yaml", changed(edit))
    write("Pulumi.vision.yaml", TEAM, "team")
    write("Pulumi.speech.yaml", {**TEAM, "team": "speech"}, "team")
    write("Pulumi.elsewhere.yaml", {**TEAM, "platform": "other"}, "team")
    write("Pulumi.broken.yaml", {**TEAM, "workloads": {"x": {"queue": "none"}}}, "team")
    lines = CliRunner().invoke(app, ["diff", "old.yaml", "prod"]).output.splitlines()
    what = "can no longer be deployed as it is" if loss else "moves to another cluster"
    own = f"stack vision of team vision {what}"
    assert own in lines[0]
    section = lines[lines.index("Stacks on this platform") + 1 :]
    named = [line.strip() for line in section[: section.index("")]]
    others = [] if loss else ["stack speech of team speech moves to another cluster"]
    assert named == [*others, own, *([loss] if loss else [])]
    listed = json.loads(CliRunner().invoke(app, ["diff", "old.yaml", "prod", "--format", "json"]).output)["dependents"]
    assert [each["stack"] for each in listed] == [*(["speech"] if others else []), "vision"]


def test_a_change_that_takes_nothing_from_team_stacks_names_none() -> None:
    write("old.yaml", FLEET)
    write("Pulumi.prod.yaml", changed(lambda fleet: fleet["pools"]["a100"].update(nodes=5)))
    write("Pulumi.vision.yaml", TEAM, "team")
    assert "Stacks on this platform" not in CliRunner().invoke(app, ["diff", "old.yaml", "prod"]).output


@pytest.mark.parametrize(
    ("allowed", "code", "line"),
    [
        ({}, 3, 'to allow it, add allowChange: {cluster: "<why>"}'),
        (
            {"allowChange": {"cluster": "we move"}},
            0,
            "connection to the existing cluster would change, which may be another cluster (clusterIdentifier "
            "acme-ml-dev/us-central1/prod → acme-ml-two/us-central1/next and project acme-ml-dev → acme-ml-two): "
            "we move",
        ),
        (
            {"allowChange": {"team": "x"}},
            1,
            "Pulumi.new.yaml:4: error: allowChange.team: 'team' is not allowed; write cluster [bad-value]",
        ),
        (
            {"allowChange": {"cluster": " "}},
            1,
            "Pulumi.new.yaml:4: error: allowChange.cluster: is empty; write the reason [missing-key]",
        ),
    ],
)
def test_another_platform_is_another_cluster(allowed: dict[str, Any], code: int, line: str) -> None:
    write("Pulumi.prod.yaml", FLEET)
    write("Pulumi.next.yaml", {**FLEET, "project": "acme-ml-two"})
    write("Pulumi.old.yaml", TEAM, "team")
    write("Pulumi.new.yaml", {**TEAM, "platform": "next", **allowed}, "team")
    result = CliRunner().invoke(app, ["diff", "old", "new"])
    assert result.exit_code == code
    assert line in [each.strip() for each in result.output.splitlines()]
