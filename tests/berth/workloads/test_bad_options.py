"""Options that `berth workload` refuses, with the whole messages."""

from __future__ import annotations

from typing import Any

import pytest
from typer.testing import CliRunner

from berth.cli import app
from tests.berth.workloads.made import answer, objects
from tests.problem_lines import line_without_code

REFUSED: dict[str, tuple[tuple[str, str, str], dict[str, Any], list[str]]] = {
    "a team that is not there": (
        ("dev", "visoin", "train"),
        {},
        ["TEAM: no team 'visoin'; did you mean 'vision'?"],
    ),
    "a queue that is not there": (
        ("dev", "vision", "batch"),
        {},
        [
            "QUEUE: team 'vision' has no queue 'batch'; write one of 'train', 'urgent', 'vision-train' and "
            "'vision-urgent'",
        ],
    ),
    "a kind that is not there": (
        ("dev", "vision", "train"),
        {"kind": "jobsets"},
        [
            "--kind: 'jobsets' is not one of jobset, job, pytorchjob, mpijob, trainjob, rayjob, raycluster, "
            "leaderworkerset, deployment, provisioning-request; did you mean 'jobset'?",
        ],
    ),
    "a Job on slices of several hosts": (
        ("dev", "vision", "train"),
        {"kind": "job"},
        ["--kind: the 2 pods of a job could be placed on two slices; write --kind jobset"],
    ),
    "a PyTorchJob on TPUs": (
        ("dev", "vision", "train"),
        {"kind": "pytorchjob"},
        ["--kind: a pytorchjob is for GPUs, and vision/train has v5e chips; write jobset"],
    ),
    "a request for machines that are there already": (
        ("dev", "vision", "urgent"),
        {"kind": "provisioning-request"},
        ["--kind: flavor 'l4-reserved' is reservation; a ProvisioningRequest needs queued machines"],
    ),
    "pods and GPUs of slices": (
        ("dev", "vision", "train"),
        {"pods": 2, "gpus": 1},
        [
            "--pods: '2': the machines of vision/train are 2x4 slices (2 pods of 4 v5e chips); write --slices",
            "--gpus: '1': the machines of vision/train are 2x4 slices (2 pods of 4 v5e chips); write --slices",
        ],
    ),
    "slices of GPUs": (
        ("dev", "vision", "urgent"),
        {"slices": 2},
        ["--slices: '2': the machines of vision/urgent are g2-standard-24 (2 L4); write --pods"],
    ),
    "more GPUs than a node has": (
        ("dev", "vision", "urgent"),
        {"gpus": 4},
        ["--gpus: '4': a pod of vision/urgent can have at most 2 L4; write more --pods instead"],
    ),
    "a priority that is not there": (
        ("dev", "vision", "train"),
        {"priority": "hihg"},
        ["--priority: no priority 'hihg'; did you mean 'high'?"],
    ),
    "a priority that the queue is not for": (
        ("dev", "vision", "urgent"),
        {"priority": "low"},
        ["--priority: 'low': vision/urgent requires 'high'; write high, or remove --priority"],
    ),
    "a flavor that is not the queue's": (
        ("dev", "vision", "urgent"),
        {"flavor": "l4-spot"},
        ["--flavor: the queue has no flavor 'l4-spot'; write one of 'l4-on-demand' and 'l4-reserved'"],
    ),
    "a run duration without queued machines": (
        ("dev", "vision", "urgent"),
        {"max_run_duration": "1h"},
        [
            "--max-run-duration: '3600s': the machines of vision/urgent are not queued, so jobs run without a limit; "
            "remove --max-run-duration"
        ],
    ),
    "a run duration that is too long": (
        ("dws", "batch", "dws"),
        {"max_run_duration": "8d"},
        ["--max-run-duration: '691200s' is not between 600s (10 minutes) and 604800s (7 days)"],
    ),
    "a run duration that is none": (
        ("dws", "batch", "dws"),
        {"max_run_duration": "soon"},
        ["--max-run-duration: 'soon' is not a duration; write one such as 3600s, 36h or 7d"],
    ),
    "a restart strategy of a Job": (
        ("dev", "vision", "urgent"),
        {"restart_strategy": "Recreate"},
        ["--restart-strategy: a job has none; remove it, or write --kind jobset"],
    ),
    "a restart strategy behind a gate": (
        ("dev", "vision", "train"),
        {"restart_strategy": "InPlaceRestart"},
        ["--restart-strategy: 'InPlaceRestart' is not one of Recreate, BlockingRecreate"],
    ),
    "a RayJob without an image and a command": (
        ("dev", "vision", "urgent"),
        {"kind": "rayjob"},
        ["--image: a rayjob needs an image; name one", "COMMAND: a rayjob needs a command, such as python train.py"],
    ),
    "a RayCluster with a command and a backoff limit": (
        ("dev", "vision", "urgent"),
        {"kind": "raycluster", "image": "ray:1", "command": ("python",), "backoff_limit": 2},
        [
            "COMMAND: a raycluster has no command; remove it, or write another --kind",
            "--backoff-limit: a raycluster has no backoff limit; remove it, or write another --kind",
        ],
    ),
    "a Deployment on slices of several hosts": (
        ("dev", "vision", "train"),
        {"kind": "deployment"},
        ["--kind: the 2 pods of a deployment could be placed on two slices; write --kind jobset"],
    ),
    "a runtime of a Job": (
        ("dev", "vision", "urgent"),
        {"runtime": "torch-distributed"},
        ["--runtime: a job has none; remove it, or write --kind trainjob"],
    ),
    "a Deployment where Kueue does not queue it": (
        ("dev", "vision", "urgent"),
        {"kind": "deployment"},
        [
            "Kueue does not manage Deployment objects in namespace 'vision': its pods would start outside all quota, "
            "or be refused if they use accelerators; write serving: true for the namespace in the platform's stack "
            "file, or use 'speech'"
        ],
    ),
    "a placement group where the nodes are there": (
        ("dev", "vision", "urgent"),
        {"placement_group": "near"},
        [
            "--placement-group: pool 'l4-reserved' has fixed nodes; only nodes that GKE creates can be placed "
            "for a job",
        ],
    ),
    "no quantities": (
        ("dev", "vision", "urgent"),
        {"cpu": "four", "memory": "-1Gi"},
        [
            "--cpu: 'four' is not a quantity; write 4 or 500m",
            "--memory: '-1Gi' is not a quantity; write 16Gi",
        ],
    ),
    "a name of which none can be made": (
        ("dev", "vision", "train"),
        {"name": "Train_1"},
        ["--name: 'Train_1' is not a workload name: write lower-case letters, digits and '-', starting with a letter"],
    ),
    "a name that is too long for the pods' names": (
        ("dev", "vision", "train"),
        {"name": "n" * 48, "slices": 2},
        [
            f"--name: '{'n' * 48}' has 48 characters, more than 47; names derived from it must fit into 63; "
            f"write '{'n' * 40}-d6c3cb'",
        ],
    ),
    "more than the ceiling": (
        ("dev", "vision", "train"),
        {"slices": 4},
        [
            "requests 4 slices of 2x4, 32 v5e chips in vision/train, whose ceiling is 24 of v5e: it can never "
            "be admitted; the largest that fits is 3 slices",
        ],
    ),
    "more cpu than the queue has for it": (
        ("batch-platform", "team-a", "compact"),
        {"cpu": "11", "pods": 2},
        [
            "requests 22 cpu in team-a/lq-team-a-compact, whose ceiling is 20 of gpu-a100-compact-spot: it can "
            "never be admitted; the largest that fits is 1 pod",
        ],
    ),
    "more cpu than a node has": (
        ("batch-platform", "team-a", "compact"),
        {"cpu": "12"},
        ["a pod requests 12 cpu, but pods can use 11800m of each a2-highgpu-1g; write at most 11400m"],
    ),
}
"""Stack, team and queue; options; the lines."""


@pytest.mark.parametrize("claim", REFUSED)
def test_an_impossible_request_is_a_fault_and_prints_nothing(claim: str) -> None:
    where, options, lines = REFUSED[claim]
    result = answer(*where, **options)
    assert [line_without_code(problem) for problem in result.faults] == lines
    assert result.objects == ()


def test_there_are_enough_of_them() -> None:
    assert len(REFUSED) >= 20


def test_the_longest_names_that_fit_are_taken() -> None:
    """47 and `-slice-1-1-xxxxx`, 61 and `-1` of an Indexed Job: 63 each."""
    assert len("n" * 47 + "-slice-1-1-xxxxx") == len("n" * 61 + "-1") == 63
    assert objects("dev", "vision", "train", name="n" * 47, slices=2)
    assert objects("dev", "vision", "urgent", name="n" * 61, pods=2)


def test_the_command_prints_yaml_with_notes_or_faults_on_stderr() -> None:
    runner = CliRunner()
    done = runner.invoke(app, ["workload", "dev", "vision", "train", "--slices", "2", "--", "python", "-c", "1"])
    assert (done.exit_code, done.stderr) == (0, "")
    assert done.stdout.startswith("# vision/train: 2 slices of 2x4, 4 pods of 4, 16 v5e chips in total")
    assert "- python\n              - -c\n" in done.stdout
    refused = runner.invoke(app, ["workload", "dev", "vision", "train", "--slices", "4"])
    assert (refused.exit_code, refused.stdout) == (1, "")
    assert "it can never be admitted" in refused.stderr
    broken = runner.invoke(app, ["workload", "dev", "vision", "train", "--slices", "none"])
    assert broken.exit_code == 2


@pytest.mark.parametrize("name", ["hp", "lq-team-a-hp", "cq-team-a-hp"])
def test_a_queue_can_be_named_by_key_local_queue_or_cluster_queue(name: str) -> None:
    (each,) = objects("batch-platform", "team-a", name)
    assert each["metadata"]["labels"]["kueue.x-k8s.io/queue-name"] == "lq-team-a-hp"
