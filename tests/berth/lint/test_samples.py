"""Samples that Kueue, JobSet, KubeRay and LeaderWorkerSet publish: the verdict of `berth lint` on each, and why.

`samples.txt` is the table: the lines that lint prints for every file, on a fleet with the samples' queues.
"""

from __future__ import annotations

import os
import pathlib
import re
import shutil
from typing import Any

import pytest
import yaml
from typer.testing import CliRunner

from berth.cli import app
from tests.problem_lines import without_codes
from tests.stack_files import ROOT

HERE = pathlib.Path(__file__).parent
SAMPLES = ROOT / "tests" / "vendored" / "samples"
FILES = sorted(SAMPLES.rglob("*.yaml"))
TABLE = HERE / "samples.txt"
STACK = (HERE / "samples_stack.yaml").read_text(encoding="utf-8")


@pytest.fixture
def folder(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> pathlib.Path:
    """A project's folder with the stack `lab` and all samples."""
    (tmp_path / "Pulumi.yaml").write_text("name: berth\nruntime: python\n")
    (tmp_path / "Pulumi.lab.yaml").write_text(STACK, encoding="utf-8")
    for source in SAMPLES.iterdir():
        if source.is_dir():
            shutil.copytree(source, tmp_path / source.name)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def lint(*files: str) -> list[str]:
    """The lines of `berth lint` without their codes."""
    result = CliRunner().invoke(app, ["lint", "lab", *files, "--all"])
    assert (result.stderr, result.exit_code in (0, 1)) == ("", True), result.output
    return without_codes(result.stdout).splitlines()


def objects(file: pathlib.Path) -> list[dict[str, Any]]:
    """The objects of a file."""
    return [each for each in yaml.safe_load_all(file.read_text(encoding="utf-8")) if each]


def test_every_sample_has_the_verdict_of_the_table(folder: pathlib.Path) -> None:
    lines = lint(*(file.relative_to(SAMPLES).as_posix() for file in FILES))
    text = "\n".join(lines) + "\n"
    if os.environ.get("BERTH_GOLDEN") == "write":
        TABLE.write_text(text, encoding="utf-8")
    assert text == TABLE.read_text(encoding="utf-8")


def test_every_sample_file_has_an_expected_result() -> None:
    table = TABLE.read_text(encoding="utf-8")
    judged = {line.partition(":")[0] for line in table.splitlines()}
    assert judged == {file.relative_to(SAMPLES).as_posix() for file in FILES}
    assert len(judged) >= 100
    assert "right or wrong" not in table
    for line in table.splitlines():
        is_of_object = re.match(r"[\w./-]+\.yaml:\d+(:\d+)?: (warning: )?[A-Za-z]+/[\w.-]+: .{20,}", line)
        assert is_of_object or "is a variable of a template" in line, line


def test_every_queued_object_of_the_samples_is_checked() -> None:
    table = TABLE.read_text(encoding="utf-8")
    queued = [
        (file.relative_to(SAMPLES).as_posix(), f"{each['kind']}/{each['metadata'].get('name', '')}")
        for file in FILES
        for each in objects(file)
        if "kueue.x-k8s.io/queue-name" in (each["metadata"].get("labels") or {})
    ]
    assert len(queued) >= 35
    for file, name in queued:
        assert re.search(rf"^{re.escape(file)}:\d+(:\d+)?: (warning: )?{re.escape(name)}", table, re.M), (file, name)


# --- what the samples showed ------------------------------------------------------------------------------------------


def edited(folder: pathlib.Path, name: str, *edits: tuple[str, str]) -> str:
    """Edit a file of the folder in place; return its name."""
    text = (folder / name).read_text(encoding="utf-8")
    for old, new in edits:
        assert text.count(old) >= 1, old
        text = text.replace(old, new)
    (folder / name).write_text(text, encoding="utf-8")
    return name


def test_a_group_per_slice_has_the_annotation_of_leaderworkerset(folder: pathlib.Path) -> None:
    """One leader and three workers are the four hosts of a slice; they are not judged one by one."""
    name = "leaderworkerset/vllm-TPU-lws.yaml"
    (before,) = [line for line in lint(name) if "warning" in line]
    annotation = "leaderworkerset.sigs.k8s.io/exclusive-topology: cloud.google.com/gke-nodepool"
    assert before.endswith(f"nothing keeps the 4 pods of a slice on one slice; write the annotation {annotation}")
    edited(folder, name, ("metadata:\n  name: vllm\n", f"metadata:\n  name: vllm\n  annotations:\n    {annotation}\n"))
    (line,) = lint(name)
    assert line.endswith("samples/default can admit each of its 2 workloads, 16 v5e chips of v5e")


def test_a_group_smaller_than_a_slice_never_runs(folder: pathlib.Path) -> None:
    name = edited(folder, "leaderworkerset/vllm-TPU-lws.yaml", ("size: 4", "size: 3"))
    assert any("3 pods are not a whole number of 4x4 slices; write a multiple of 4" in line for line in lint(name))


def test_claims_of_mapped_device_classes_count_as_the_resource(folder: pathlib.Path) -> None:
    mapping = "{name: nvidia.com/gpu, deviceClassNames: [gpu.example.com]}"
    edited(
        folder,
        "Pulumi.lab.yaml",
        ("    kueue:\n", f"    kueue:\n      resources: {{deviceClassMappings: [{mapping}]}}\n"),
    )
    lines = lint("kueue/dra-sample-dra-rct-job.yaml")
    assert lines[-1].endswith("Job/sample-dra-rct-job-: samples/user-queue can admit it, 1 L4 of l4"), lines


def test_pods_of_an_unknown_kind_start_outside_all_quota_where_kueue_does_not_manage_pods(
    folder: pathlib.Path,
) -> None:
    edited(folder, "Pulumi.lab.yaml", ("          - pod\n", ""))
    first, *_ = lint("kueue/pod-based-workloads-workflow-single-queue.yaml")
    assert first == (
        "kueue/pod-based-workloads-workflow-single-queue.yaml:1: Workflow/hello-world-: Kueue does not manage pods in "
        "namespace 'default': its pods start at once, outside all quota; write serving: true for the namespace in the "
        "platform's stack file"
    )


def test_a_workflow_among_other_jobs_is_read(folder: pathlib.Path) -> None:
    """Its containers are single ones in templates; it is reported even without a queue."""
    edited(folder, "kueue/pod-based-workloads-workflow-single-queue.yaml", ("kueue.x-k8s.io/queue-name", "team"))
    text = "".join(
        (folder / name).read_text(encoding="utf-8") + "\n---\n"
        for name in ("kueue/jobs-sample-job.yaml", "kueue/pod-based-workloads-workflow-single-queue.yaml")
    )
    (folder / "both.yaml").write_text(text, encoding="utf-8")
    lines = lint("both.yaml")
    verdict = "Workflow/hello-world-: names no queue: Kueue queues its pods one by one in 'default'"
    assert any(line.endswith(verdict) for line in lines)


def test_a_ray_job_on_an_existing_cluster_is_not_simulated(folder: pathlib.Path) -> None:
    result = CliRunner().invoke(app, ["admit", "lab", "kuberay/ray-job.use-existing-raycluster.yaml"])
    line = "RayJob 'rayjob-use-existing-raycluster' runs on the pods that spec.clusterSelector selects, so it is not"
    assert line in result.output.replace("\n", " ")


def test_compact_jobs_without_a_placement_group_are_warned_about(
    folder: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    stack = "stacks/examples/batch-platform.yaml"
    words = ["workload", stack, "team-a", "compact", "--pods", "2", "--gpus", "1", "--name", "near"]
    manifest = CliRunner().invoke(app, words).stdout
    selector = "        cloud.google.com/gke-placement-group: team-a-near\n"
    assert selector in manifest
    (folder / "near.yaml").write_text(manifest, encoding="utf-8")
    (folder / "anywhere.yaml").write_text(manifest.replace("      nodeSelector:\n" + selector, ""), encoding="utf-8")
    near, anywhere = (
        CliRunner().invoke(app, ["lint", stack, str(folder / f"{name}.yaml")]) for name in ("near", "anywhere")
    )
    assert (near.exit_code, anywhere.exit_code) == (0, 0)
    assert "placement-group" not in near.stdout
    assert (
        "warning: Job/near: nothing keeps its 2 pods close to each other; write the node selector "
        "cloud.google.com/gke-placement-group with a value of its own [no-placement-group]"
    ) in anywhere.stdout
