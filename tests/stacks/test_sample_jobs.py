"""The jobs in stacks/jobs are what `berth workload` writes, and pass `berth lint`; test_sample_training runs them."""

from __future__ import annotations

import json
import os
import pathlib
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest
import yaml
from typer.testing import CliRunner

from berth.cli import app
from berth.yaml_loader import LOADER
from tests.stack_files import ROOT

JOBS = ROOT / "stacks" / "jobs"
SAMPLES = sorted(
    f"{file.parent.name}/{file.stem}"
    for file in JOBS.glob("*/*.yaml")
    if file.read_text(encoding="utf-8").startswith("# berth workload ")
)
UNQUEUED = {"no-queue-asked", "unqueued"}
"""Warnings of the sample that uses machines without a queue."""
every_sample = pytest.mark.parametrize("sample", SAMPLES)


def command_of(sample: str) -> list[str]:
    """The command at the top of a sample's manifest."""
    return shlex.split((JOBS / f"{sample}.yaml").read_text(encoding="utf-8").splitlines()[0])[2:]


def test_every_folder_is_a_sample() -> None:
    assert {folder.name for folder in JOBS.iterdir() if folder.is_dir()} == {each.split("/")[0] for each in SAMPLES}
    assert len(SAMPLES) >= 24


@every_sample
def test_the_manifest_is_what_the_command_at_its_top_prints(sample: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    done = CliRunner().invoke(app, command_of(sample))
    assert (done.exit_code, done.stderr) == (0, "")
    _, _, manifest = (JOBS / f"{sample}.yaml").read_text(encoding="utf-8").partition("\n")
    assert done.stdout == manifest


@every_sample
def test_the_manifest_passes_lint_of_its_stack(sample: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    stack = command_of(sample)[1]
    done = CliRunner().invoke(app, ["lint", stack, f"stacks/jobs/{sample}.yaml", "--json"])
    if "/ack-" in stack:
        assert "[wrong-backend]" in done.stderr
        return
    assert done.exit_code == 0, done.stderr + done.stdout
    objects = json.loads(done.stdout)["objects"]
    assert {each["verdict"] for each in objects} == {"runs"}, done.stdout
    codes = {problem["code"] for each in objects for problem in each["problems"]}
    assert codes == (UNQUEUED if sample.startswith("provisioning-request") else set())


FRAMEWORKS = "kueue: {integrations: {frameworks: [batch/job, jobset.x-k8s.io/jobset, kubeflow.org/tfjob, pod]}}"
"""What docs/walks/dws.md tells a platform that queues Pods to write."""


@pytest.mark.parametrize(("sample", "total"), [("tfjob", 2), ("pod", 1)])
def test_kinds_that_berth_does_not_write_wait_for_queued_machines_too(
    sample: str, total: int, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    assert FRAMEWORKS in (ROOT / "docs/walks/dws.md").read_text(encoding="utf-8")
    text = (ROOT / "stacks/examples/dws.yaml").read_text(encoding="utf-8")
    stack = tmp_path / "Pulumi.dws.yaml"
    operators = "    operators: [training-operator]\n"
    stack.write_text(text.replace("    pools:\n", f"    {FRAMEWORKS}\n{operators}    pools:\n"), encoding="utf-8")
    done = CliRunner().invoke(app, ["lint", str(stack), f"stacks/jobs/dws/{sample}.yaml", "--json"])
    (job,) = json.loads(done.stdout)["objects"]
    assert (job["verdict"], job["problems"]) == ("runs", [])
    done = CliRunner().invoke(app, ["admit", str(stack), f"stacks/jobs/dws/{sample}.yaml"])
    assert f"default-flavor {total}; waits for admission check dws-prov" in done.stdout


def test_the_job_without_a_folder_runs_in_the_stack_of_the_docs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    done = CliRunner().invoke(app, ["lint", "dev", "stacks/jobs/train.yaml", "--team", "vision", "--json"])
    (job,) = json.loads(done.stdout)["objects"]
    assert (job["verdict"], job["problems"]) == ("runs", [])
    assert [each.name for each in JOBS.iterdir() if each.is_file()] == ["train.yaml"]


def kustomized(folder: pathlib.Path) -> Iterator[tuple[pathlib.Path, dict[str, Any]]]:
    """The kustomizations that `kubectl apply -k` reads in a folder, each with the folder it is in."""
    values = yaml.load((folder / "kustomization.yaml").read_text(encoding="utf-8"), LOADER)
    yield folder, values
    for each in values.get("resources", []):
        if (folder / each).is_dir():
            yield from kustomized(folder / each)


@every_sample
def test_the_code_that_pods_mount_is_in_the_config_map(sample: str) -> None:
    """`kubectl apply -k` makes the ConfigMap that the template mounts, in the namespace of the job."""
    command, home = command_of(sample), (JOBS / sample).parent
    if "--template" not in command:
        return
    template = yaml.load((ROOT / command[command.index("--template") + 1]).read_text(encoding="utf-8"), LOADER)
    mounted = {v["configMap"]["name"] for v in template["spec"].get("volumes", []) if "configMap" in v}
    generators: list[dict[str, Any]] = []
    if (home / "kustomization.yaml").exists():
        (_, first), *_ = read = list(kustomized(home))
        objects = yaml.load_all((JOBS / f"{sample}.yaml").read_text(encoding="utf-8"), LOADER)
        assert {each["metadata"]["namespace"] for each in objects} == {first["namespace"]}
        for folder, values in read:
            generators += values.get("configMapGenerator", [])
            files = [file for each in values.get("configMapGenerator", []) for file in each["files"]]
            assert all((folder / file).is_file() for file in files)  # kustomize reads no file outside of its folder
            assert not files or values["generatorOptions"] == {"disableNameSuffixHash": True}
    assert {each["name"] for each in generators} == mounted
    code = {f"/code/{file}" for each in generators for file in each["files"]}
    assert code <= set((JOBS / f"{sample}.yaml").read_text(encoding="utf-8").replace("'", " ").split())


IMAGE = JOBS / "fine-tuning" / "image"


def test_the_image_for_fine_tuning_has_each_package_pinned_with_its_hash() -> None:
    """And no other: what tune.py imports is one of them, or the torch of the image that it is made from."""
    text = (IMAGE / "requirements.txt").read_text(encoding="utf-8")
    pinned = re.findall(r"^([a-z0-9-]+)==[0-9.]+ \\\n    --hash=sha256:[0-9a-f]{64}$", text, flags=re.MULTILINE)
    assert len(pinned) == text.count("==") == len(set(pinned)) > 30
    code = (JOBS / "fine-tuning" / "code" / "tune.py").read_text(encoding="utf-8")
    imported = set(re.findall(r"^(?:from|import) (\w+)", code, flags=re.MULTILINE)) - sys.stdlib_module_names
    assert imported <= {*pinned, "torch"}
    commands = [line for line in (IMAGE / "Dockerfile").read_text(encoding="utf-8").splitlines() if line[0] != "#"]
    assert [line.split()[0] for line in commands] == ["FROM", "COPY", "RUN"]
    assert re.fullmatch(r"FROM pytorch/pytorch:[0-9.]+-cuda[\w.-]+", commands[0])
    assert {"--no-deps", "--require-hashes"} <= set(commands[2].split())


# --- all MNIST jobs of the batch platform -----------------------------------------------------------------------------


def submitted(tmp_path: pathlib.Path, *groups: str, **environment: str) -> list[list[str]]:
    """The arguments with which submit.sh calls `berth`; programs that write them down take the place of both."""
    calls = tmp_path / "calls"
    for name, body in (("berth", f'printf "%s\\n" "$*" >> {calls}'), ("kubectl", "cat > /dev/null < /dev/null")):
        (tmp_path / name).write_text(f"#!/bin/sh\n{body}\n", encoding="utf-8")
        (tmp_path / name).chmod(0o755)
    settings = os.environ | {"PATH": f"{tmp_path}:{os.environ['PATH']}", "PAUSE": "0"} | environment
    script = [str(JOBS / "mnist" / "submit.sh"), *groups]
    done = subprocess.run(script, cwd=ROOT, env=settings, capture_output=True, text=True, timeout=120, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    return [line.split() for line in calls.read_text(encoding="utf-8").splitlines()]


def test_the_script_submits_four_jobs_of_each_group_for_each_team_in_rounds(tmp_path: pathlib.Path) -> None:
    calls = submitted(tmp_path)
    order = [(words[2], words[words.index("--name") + 1]) for words in calls]
    groups = ("low", "high", "compact", "jobset")
    assert order == [(f"team-{t}", f"{g}-{n}") for g in groups for n in range(4) for t in "abcd"]
    assert len(set(order)) == 64


def test_the_script_submits_the_groups_and_rounds_that_are_given(tmp_path: pathlib.Path) -> None:
    assert len(submitted(tmp_path, "high", "compact", ROUNDS="1")) == 8


def test_the_script_refuses_an_unknown_group_before_it_submits_anything(tmp_path: pathlib.Path) -> None:
    script = [str(JOBS / "mnist" / "submit.sh"), "low", "hihg"]
    done = subprocess.run(script, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "no group 'hihg'; write low, high, compact or jobset\n"


def deleted(tmp_path: pathlib.Path, *groups: str) -> list[list[str]]:
    """The arguments with which remove.sh calls `kubectl`."""
    calls = tmp_path / "deleted"
    (tmp_path / "kubectl").write_text(f'#!/bin/sh\nprintf "%s\\n" "$*" >> {calls}\n', encoding="utf-8")
    (tmp_path / "kubectl").chmod(0o755)
    settings = os.environ | {"PATH": f"{tmp_path}:{os.environ['PATH']}"}
    script = [str(JOBS / "mnist" / "remove.sh"), *groups]
    done = subprocess.run(script, cwd=ROOT, env=settings, capture_output=True, text=True, timeout=120, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    return [line.split() for line in calls.read_text(encoding="utf-8").splitlines()]


@pytest.mark.parametrize("groups", [(), ("jobset",), ("low", "high")])
def test_the_other_script_deletes_every_object_that_the_first_submits(
    tmp_path: pathlib.Path, groups: tuple[str, ...]
) -> None:
    made = {(f"team-{team}", "configmap", "mnist") for team in "abcd"} if not groups else set[tuple[str, str, str]]()
    for words in submitted(tmp_path, *groups):
        name, kind = words[words.index("--name") + 1], words[words.index("--kind") + 1]
        made |= {(words[2], each, name) for each in ([kind] if kind == "jobset" else [kind, "service"])}
    removed = [(words[words.index("--namespace") + 1], *words[1:3]) for words in deleted(tmp_path, *groups)]
    assert sorted(removed) == sorted(made)


def test_the_other_script_refuses_an_unknown_group_before_it_deletes_anything(tmp_path: pathlib.Path) -> None:
    script = [str(JOBS / "mnist" / "remove.sh"), "low", "hihg"]
    done = subprocess.run(script, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (
        1,
        "",
        "no group 'hihg'; write low, high, compact or jobset\n",
    )


def test_every_job_that_the_script_submits_passes_lint(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    manifests = tmp_path / "jobs.yaml"
    calls = submitted(tmp_path, ROUNDS="1")
    texts = [CliRunner().invoke(app, words) for words in calls]
    assert [each.output for each in texts if each.exit_code] == []
    manifests.write_text("".join(each.stdout for each in texts), encoding="utf-8")
    done = CliRunner().invoke(app, ["lint", "stacks/examples/batch-platform.yaml", str(manifests)])
    assert done.exit_code == 0, done.stdout
    lines = [line.partition(": ")[2] for line in done.stdout.splitlines()]
    flavors = {"low": "4 L4 of gpu-l4-reserved", "high": "4 L4 of gpu-l4-reserved", "jobset": "4 L4 of gpu-l4-reserved"}
    flavors["compact"] = "2 A100 40GB of gpu-a100-compact-spot"
    kinds = {"jobset": "JobSet"}
    queues = {"low": "lp", "high": "hp", "jobset": "lp", "compact": "compact"}
    assert lines == [
        f"{kinds.get(group, 'Job')}/{group}-0: team-{team}/lq-team-{team}-{queues[group]} can admit it, "
        f"{flavors[group]}"
        for group in ("low", "high", "compact", "jobset")
        for team in "abcd"
    ]
    groups = [
        each["spec"]["template"]["spec"]["nodeSelector"]["cloud.google.com/gke-placement-group"]
        for each in yaml.load_all(manifests.read_text(encoding="utf-8"), LOADER)
        if each["kind"] == "Job" and each["metadata"]["name"] == "compact-0"
    ]
    assert groups == [f"team-{team}-compact-0" for team in "abcd"]
