"""The jobs in stacks/jobs are what `berth workload` writes, and pass `berth lint`; their code trains on a CPU."""

from __future__ import annotations

import pathlib
import shlex
import subprocess
import sys
from typing import Any

import pytest
import yaml
from typer.testing import CliRunner

from berth.cli import app
from tests.stack_files import ROOT

JOBS = ROOT / "stacks" / "jobs"
SAMPLES = sorted(file.parent.name for file in JOBS.glob("*/job.yaml"))
every_sample = pytest.mark.parametrize("sample", SAMPLES)


def command_of(sample: str) -> list[str]:
    """The command at the top of a sample's manifest."""
    return shlex.split((JOBS / sample / "job.yaml").read_text(encoding="utf-8").splitlines()[0])[2:]


def test_every_folder_is_a_sample() -> None:
    assert sorted(folder.name for folder in JOBS.iterdir() if folder.is_dir()) == SAMPLES
    assert len(SAMPLES) >= 5


@every_sample
def test_the_manifest_is_what_the_command_at_its_top_prints(sample: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    done = CliRunner().invoke(app, command_of(sample))
    assert (done.exit_code, done.stderr) == (0, "")
    _, _, manifest = (JOBS / sample / "job.yaml").read_text(encoding="utf-8").partition("\n")
    assert done.stdout == manifest


@every_sample
def test_the_manifest_passes_lint_of_its_stack(sample: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    stack = command_of(sample)[1]
    done = CliRunner().invoke(app, ["lint", stack, f"stacks/jobs/{sample}/job.yaml"])
    assert done.exit_code == 0, done.stderr + done.stdout


@every_sample
def test_the_code_that_pods_mount_is_in_the_config_map(sample: str) -> None:
    """`kubectl apply -k` makes the ConfigMap that the template mounts, in the namespace of the job."""
    template = yaml.safe_load((JOBS / sample / "template.yaml").read_text(encoding="utf-8"))
    mounted = {v["configMap"]["name"] for v in template["spec"].get("volumes", []) if "configMap" in v}
    kustomization = JOBS / sample / "kustomization.yaml"
    made: list[dict[str, Any]] = []
    if kustomization.exists():
        values = yaml.safe_load(kustomization.read_text(encoding="utf-8"))
        made = values["configMapGenerator"]
        objects = yaml.safe_load_all((JOBS / sample / "job.yaml").read_text(encoding="utf-8"))
        namespaces = {each["metadata"]["namespace"] for each in objects}
        assert namespaces == {values["namespace"]}
        assert values["generatorOptions"] == {"disableNameSuffixHash": True}
        assert all((JOBS / sample / file).is_file() for each in made for file in each["files"])
    assert {each["name"] for each in made} == mounted
    code = {f"/code/{file}" for each in made for file in each["files"]}
    assert code <= set((JOBS / sample / "job.yaml").read_text(encoding="utf-8").replace("'", " ").split())


# --- training, on the CPU ---------------------------------------------------------------------------------------------


def train(file: pathlib.Path, folder: pathlib.Path, steps: int, **environment: str) -> list[str]:
    """The lines that a training prints, with its checkpoints in a folder."""
    settings = {"CHECKPOINT_DIR": str(folder), "STEPS": str(steps), "CHECKPOINT_EVERY": "10", "PATH": ""}
    command = [sys.executable, str(file)]
    done = subprocess.run(command, env=settings | environment, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def check_training(file: pathlib.Path, tmp_path: pathlib.Path, **environment: str) -> None:
    """Interrupted after 20 of 40 steps and continued, the training ends where one run of 40 steps ends."""
    whole, halves = tmp_path / "whole", tmp_path / "halves"
    whole.mkdir()
    halves.mkdir()
    in_one = train(file, whole, 40, **environment)
    first, second = train(file, halves, 20, **environment), train(file, halves, 40, **environment)
    assert any("starts at step 0 of 40" in line for line in in_one)
    assert any("starts at step 20 of 40" in line for line in second)
    assert in_one[-1] == second[-1]
    losses = [float(line.rpartition(" ")[2]) for line in (*first, *second) if line.startswith("step ")]
    assert losses[-1] < losses[0]


def test_the_jax_training_continues_from_its_checkpoint(tmp_path: pathlib.Path) -> None:
    pytest.importorskip("jax", reason="the extra `samples` is not installed")
    eight = "--xla_force_host_platform_device_count=8"
    check_training(JOBS / "jax-multislice" / "train.py", tmp_path, XLA_FLAGS=eight, JAX_PLATFORMS="cpu")


def test_the_pytorch_training_continues_from_its_checkpoint(tmp_path: pathlib.Path) -> None:
    pytest.importorskip("torch", reason="the extra `samples` is not installed")
    one = {"RANK": "0", "LOCAL_RANK": "0", "WORLD_SIZE": "1", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "29511"}
    check_training(JOBS / "pytorch-ddp" / "train.py", tmp_path, **one)
