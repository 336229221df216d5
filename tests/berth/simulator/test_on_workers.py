"""A manager's jobs: what no worker could ever run is refused by `lint`, and never let go by `admit`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from typer.testing import CliRunner

from berth.cli import app
from tests.problem_lines import without_codes
from tests.stack_files import GKE_STACKS, plan, plan_json

STACK = str(GKE_STACKS["multikueue"])


def job(team: str, queue: str, resource: str, pods: int, each: int) -> dict[str, Any]:
    """Return a Job of so many pods."""
    resources = {"requests": {resource: str(each)}, "limits": {resource: str(each)}}
    pod = {"restartPolicy": "Never", "containers": [{"name": "main", "image": "busybox", "resources": resources}]}
    labels = {"kueue.x-k8s.io/queue-name": queue}
    if team == "speech":  # whose queue is for that priority
        labels["kueue.x-k8s.io/priority-class"] = "high"
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": f"{team}-{pods}", "namespace": team, "labels": labels},
        "spec": {"suspend": True, "parallelism": pods, "completions": pods, "template": {"spec": pod}},
    }


def berth(folder: Path, verb: str, *jobs: dict[str, Any], words: tuple[str, ...] = ()) -> tuple[int, str]:
    """Exit status, and what is printed."""
    file = folder / "jobs.yaml"
    file.write_text(yaml.safe_dump_all(jobs), encoding="utf-8")
    result = CliRunner().invoke(app, [verb, STACK, str(file), *words])
    assert "Traceback" not in result.output
    return result.exit_code, result.stdout


LARGEST = [
    ("trainers", "train", "a100", 8),  # 8 on each worker, and nothing to borrow
    ("vision", "train", "h100", 64),  # central: its own 32 and what the others lend, as far as there are nodes
    ("speech", "tune", "h100", 8),  # the manager itself lets it have no more
]
"""Team, queue, flavor, and the most of it that one job can have."""


@pytest.mark.parametrize(("team", "queue", "flavor", "most"), LARGEST)
def test_a_job_above_the_limit_of_every_worker_is_rejected(
    team: str, queue: str, flavor: str, most: int, tmp_path: Path
) -> None:
    fits, beyond = (job(team, queue, "nvidia.com/gpu", pods, 8) for pods in (most // 8, most // 8 + 1))
    assert berth(tmp_path, "lint", fits)[0] == 0
    status, result = berth(tmp_path, "lint", beyond)
    assert status == 1
    if team == "speech":
        assert "whose ceiling is" in result
    else:
        held = [
            f["largestJob"] for w in plan_json("multikueue")["workers"] for f in w["flavors"] if f["name"] == flavor
        ]
        assert most == max(held)  # the quota tree's own reckoning
        pods = f"{most // 8} pod{'' if most == 8 else 's'}"
        assert f"runs on one worker: the maximum is central {most} of {flavor}" in result
        assert without_codes(result.strip()).endswith(
            f"it would hold its quota forever without running; the largest that fits is {pods}"
        )


def test_admit_prints_the_reason_for_each_worker(tmp_path: Path) -> None:
    jobs = job("trainers", "train", "nvidia.com/gpu", 2, 8), job("vision", "train", "nvidia.com/gpu", 4, 8)
    status, result = berth(tmp_path, "admit", *jobs)
    assert status == 1
    assert (
        "trainers-2   trainers/train   never admitted   a100 16; keeps its quota reserved forever, because no worker "
        "can run it (central and east: larger than the queue's ceiling: 16 A100 80GB: a100 at most 8)"
    ) in result
    assert "vision-4     vision/train     quota reserved   h100 32; waits for admission check multikueue" in result
    assert "At the end: 1 never admitted, 1 waiting for an admission check." in result
    assert "not which one does, or when" in result


def test_json_has_the_reason_for_each_worker(tmp_path: Path) -> None:
    _, result = berth(tmp_path, "admit", job("trainers", "train", "nvidia.com/gpu", 2, 8), words=("--json",))
    (row,) = json.loads(result)["unfinished"]
    assert (row["status"], row["pendingReason"]["code"]) == ("never-admitted", "never-worker")
    assert [(w["worker"], w["code"], w["shortages"][0]["ceiling"]) for w in row["pendingReason"]["workers"]] == [
        ("central", "never-fits", 8),
        ("east", "never-fits", 8),
    ]


def test_a_worker_without_a_resource_does_not_block_jobs_that_another_worker_runs(tmp_path: Path) -> None:
    """Only central has TPUs: east has no quota of them and does not matter."""
    pods = 4  # one 4x4 slice
    status, result = berth(tmp_path, "admit", job("language", "train", "google.com/tpu", pods, 4))
    assert status == 0
    assert "quota reserved   v5e 16; waits for admission check" in result
    assert {w.name for w in plan("multikueue").workers if any(f.name == "v5e" for f in w.plan.flavors)} == {"central"}


def test_workload_prints_no_job_that_could_never_run() -> None:
    result = CliRunner().invoke(app, ["workload", STACK, "trainers", "train", "--pods", "2", "--gpus", "8"])
    assert result.exit_code == 1
    assert "requests 16 A100 80GB in trainers/train, and runs on one worker" in result.stderr
    assert not result.stdout


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (
            "vision train --pods 4",
            "# It runs on one of central and east. MultiKueue copies only the job: also apply the Service below, "
            "ConfigMaps and Secrets there.",
        ),
        ("vision train", "# It runs on one of central and east. MultiKueue copies only the job: also apply ConfigMaps"),
        (
            "speech tune",
            "# It runs on central. MultiKueue copies only the job: also apply ConfigMaps and Secrets there.",
        ),
        ("vision train --pods 4", "(the team's ceiling is 96, and at most 64 on one worker)"),
    ],
)
def test_workload_prints_where_a_job_runs_and_what_is_not_copied(words: str, text: str) -> None:
    """MultiKueue makes the job's copy on the worker, and nothing that its pods refer to."""
    result = CliRunner().invoke(app, ["workload", STACK, *words.split()])
    assert result.exit_code == 0, result.output
    assert text in result.stdout
    assert ("kind: Service\n" in result.stdout) == ("the Service below" in result.stdout)


def test_a_fleet_without_workers_has_no_notice_about_workers() -> None:
    result = CliRunner().invoke(app, ["workload", str(GKE_STACKS["dev"]), "vision", "train"])
    assert "worker" not in result.stdout and "sent" not in result.stdout
