"""Jobs without accelerators on queues that count cores: lint's verdict, with what admit and a second sum say."""

from __future__ import annotations

import pathlib

import pytest
import yaml
from typer.testing import CliRunner

from berth.cli import app
from berth.yaml_loader import LOADER
from tests.problem_lines import without_codes, without_total

ROOT = pathlib.Path(__file__).resolve().parents[3]
STACK = "stacks/examples/cpu-batch.yaml"
NO_SHAPE = "a pod requests {} cpu, but pods can use 31750m of each n2-standard-32"

VERDICTS: dict[str, tuple[int, str, str, str, str]] = {
    "small": (12, "10", "30Gi", "frames", "frames can admit it, 120 cores of n2-reserved"),
    "fractions": (3, "500m", "1Gi", "frames", "frames can admit it, 1500m cores of n2-reserved"),
    "whole nodes": (4, "31", "114Gi", "frames", "frames can admit it, 124 cores of n2-reserved"),
    "whole nodes without the kernel's part": (
        4,
        "31",
        "117Gi",
        "frames",
        "whether its pods fit beside the kernel and the pods of the system is not known: a pod requests 117Gi memory, "
        "but pods can use 117322Mi of each n2-standard-32; write at most 117322Mi",
    ),
    "more pods than reserved cores": (13, "10", "30Gi", "frames", "frames can admit it, 130 cores of c3-spot"),
    "a pod larger than the smaller node": (
        2,
        "32",
        "60Gi",
        "frames",
        "Kueue assigns 'n2-reserved' to its pods, where they stay pending: a pod requests 32 cpu, but pods can use "
        "31750m of each n2-standard-32; write at most 31350m, or the node selector berth.dev/capacity: 'spot' for the "
        "nodes of 'c3-spot'",
    ),
    "a pod larger than every node": (1, "90", "60Gi", "frames", NO_SHAPE.format("90")),
    "memory of more than a node": (1, "2", "200Gi", "solver", "can admit it"),
    "more than the ceiling": (
        2000,
        "1",
        "1Gi",
        "frames",
        "requests 2000 cores in rendering/frames, whose ceiling is 124 of n2-reserved, 124 of n2-on-demand and 1740 of "
        "c3-spot: it can never be admitted; the largest that fits is 1740 pods",
    ),
    "more than the machines of a queue": (3, "100", "300Gi", "solver", "whose ceiling is 222 of c2d"),
}
"""Pods, cpu, memory, queue, and a part of what lint says."""


def manifest(pods: int, cpu: str, memory: str, queue: str) -> str:
    """Return a Job without accelerators."""
    namespace = "rendering" if queue == "frames" else "simulation"
    resources = {"requests": {"cpu": cpu, "memory": memory}}
    labels = {"kueue.x-k8s.io/queue-name": queue} | (
        {"kueue.x-k8s.io/priority-class": "high"} if queue == "solver" else {}
    )
    container = {"name": "main", "image": "busybox", "resources": resources}
    job = {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": "job", "namespace": namespace, "labels": labels},
        "spec": {
            "suspend": True,
            "parallelism": pods,
            "completions": pods,
            "template": {"spec": {"restartPolicy": "Never", "containers": [container]}},
        },
    }
    return yaml.safe_dump(job)


@pytest.mark.parametrize("name", VERDICTS)
def test_verdicts(name: str, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    *job, expected = VERDICTS[name]
    file = tmp_path / "job.yaml"
    file.write_text(manifest(*job))  # type: ignore[arg-type]
    linted = CliRunner().invoke(app, ["lint", STACK, str(file)])
    assert expected in without_codes(linted.stdout)
    assert (linted.exit_code == 0) == ("can admit it" in expected or "not known" in expected), linted.stdout
    assert "no accelerator" not in linted.stdout
    admitted = CliRunner().invoke(app, ["admit", STACK, str(file)])
    assert admitted.exit_code == linted.exit_code, admitted.output
    faults = [
        line for line in without_total(linted.stdout).splitlines() if ": warning: " not in line and linted.exit_code
    ]
    assert [line for line in without_total(admitted.stderr).splitlines() if "[placement-unknown]" not in line] == faults


def test_a_queue_of_cores_has_no_quota_of_gpus(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    job = yaml.load(manifest(1, "4", "8Gi", "frames"), LOADER)
    job["spec"]["template"]["spec"]["containers"][0]["resources"]["limits"] = {"nvidia.com/gpu": 1}
    file = tmp_path / "job.yaml"
    file.write_text(yaml.safe_dump(job))
    linted = CliRunner().invoke(app, ["lint", STACK, str(file)])
    assert "requests nvidia.com/gpu, but rendering/frames has quota only for cpu and memory" in linted.stdout
    assert linted.exit_code == 1


KINDS = ("job", "jobset", "pytorchjob", "mpijob", "trainjob", "rayjob", "raycluster")


@pytest.mark.parametrize("kind", KINDS)
def test_printed_workloads_are_admitted(kind: str, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two pods of 8 cores: 16 cores, and those of a Ray head or an MPI launcher."""
    monkeypatch.chdir(ROOT)
    command = [] if kind == "raycluster" else ["--", "run"]
    options = ["--kind", kind, "--image", "busybox", "--pods", "2", "--cpu", "8"]
    written = CliRunner().invoke(app, ["workload", STACK, "rendering", "frames", *options, *command])
    assert written.exit_code == 0, written.output
    file = tmp_path / "job.yaml"
    file.write_text(written.stdout)
    linted = CliRunner().invoke(app, ["lint", STACK, str(file)])
    cores = {"mpijob": "16500m", "rayjob": "17500m", "raycluster": "17"}.get(kind, "16")
    assert (linted.exit_code, f"can admit it, {cores} cores of n2-reserved" in linted.stdout) == (0, True), (
        linted.stdout
    )


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ([], "cpu: '31'"),
        (["--cpu", "500m"], "cpu: 500m"),
        (["--cpu", "8"], f"memory: {8 * 117322 // 31}Mi"),
        (["--cpu", "8", "--memory", "64Gi"], "memory: 64Gi"),
        (["--flavor", "c3-spot"], "cpu: '87'"),
    ],
)
def test_pods_have_a_whole_node_unless_written(
    options: list[str], expected: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    written = CliRunner().invoke(app, ["workload", STACK, "rendering", "frames", *options])
    assert (written.exit_code, expected in written.stdout) == (0, True), written.output


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (
            ["--gpus", "2"],
            "'2': the machines of rendering/frames are n2-standard-32 (31 cores); write --pods and --cpu",
        ),
        (
            ["--slices", "2"],
            "'2': the machines of rendering/frames are n2-standard-32 (31 cores); write --pods and --cpu",
        ),
        (["--cpu", "40"], "'40': a pod of rendering/frames can have at most 31 cpu on n2-standard-32; "),
        (["--cpu", "40"], "or --flavor c3-spot"),
        (["--memory", "200Gi"], "'200Gi': a pod of rendering/frames can have at most 114Gi memory on n2-standard-32"),
        (
            ["--flavor", "c3-spot", "--cpu", "88"],
            "can have at most 87 cpu on c3-standard-88; write more --pods instead",
        ),
        (["--max-run-duration", "2h"], "the machines of rendering/frames are not queued"),
        (["--kind", "provisioning-request"], "a ProvisioningRequest needs queued machines"),
    ],
)
def test_bad_options(options: list[str], expected: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    refused = CliRunner().invoke(app, ["workload", STACK, "rendering", "frames", *options])
    assert (refused.exit_code, expected in refused.output) == (1, True), refused.output
