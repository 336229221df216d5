"""Jobs that form TPU slices themselves, on the example with five sub-blocks: what lint says of each, and why."""

from __future__ import annotations

import pathlib
from collections.abc import Callable
from typing import Any

import pytest
import yaml
from typer.testing import CliRunner

from berth.cli import app
from berth.yaml_loader import LOADER
from tests.stack_files import ROOT

EXAMPLE = str(ROOT / "stacks" / "examples" / "ironwood.yaml")
SLICE = "cloud.google.com/gke-tpu-slice-topology"


def workload(*options: str) -> dict[str, Any]:
    """Return the JobSet that `berth workload` writes."""
    result = CliRunner().invoke(app, ["workload", EXAMPLE, "pretraining", "train", *options])
    assert result.exit_code == 0, result.stderr
    (job,) = (each for each in yaml.load_all(result.stdout, LOADER) if each["kind"] in ("JobSet", "Job"))
    return job


def lint(tmp_path: pathlib.Path, job: dict[str, Any]) -> str:
    """Return what `berth lint` prints of a manifest, without the file and position."""
    file = tmp_path / "job.yaml"
    file.write_text(yaml.safe_dump(job))
    result = CliRunner().invoke(app, ["lint", EXAMPLE, str(file)])
    return "\n".join(line.partition(": ")[2] for line in result.stdout.splitlines())


def template(job: dict[str, Any]) -> dict[str, Any]:
    """Return the pod template of a JobSet."""
    return job["spec"]["replicatedJobs"][0]["template"]["spec"]["template"]


@pytest.mark.parametrize(
    ("topology", "slices", "pods", "level"),
    [
        ("2x2x1", 4, 1, "2x2x1"),
        ("2x2x4", 3, 4, "2x2x4"),
        ("2x4x4", 1, 8, "2x4x4"),
        ("4x4x4", 3, 16, "4x4x4"),
        ("4x4x12", 1, 48, "4x4x4"),
    ],
)
def test_a_job_of_a_shape_can_be_admitted(
    tmp_path: pathlib.Path, topology: str, slices: int, pods: int, level: str
) -> None:
    """The request of Kueue's topology is what the webhooks of the slice controller write, with or without Berth."""
    job = workload("--topology", topology, "--slices", str(slices))
    annotations = template(job)["metadata"]["annotations"]
    of_buckets = {key: value for key, value in annotations.items() if key.startswith("gke-gcsfuse/")}
    assert {key: value for key, value in annotations.items() if key not in of_buckets} == {
        SLICE: topology,
        "kueue.x-k8s.io/podset-required-topology": "cloud.google.com/gce-topology-block",
        "kueue.x-k8s.io/podset-slice-required-topology": f"cloud.google.com/gke-tpu-partition-{level}-id",
        "kueue.x-k8s.io/podset-slice-size": str(min(pods, 16)),
    }
    assert job["spec"]["replicatedJobs"][0]["template"]["spec"]["parallelism"] == pods
    admitted = f"JobSet/train: pretraining/train can admit it, {slices * pods * 4} TPU7x chips of ironwood"
    assert lint(tmp_path, job).splitlines()[0] == admitted
    template(job)["metadata"]["annotations"] = {SLICE: topology, **of_buckets}
    assert lint(tmp_path, job).splitlines()[0] == admitted


def edit_annotation(value: object) -> Callable[[dict[str, Any]], None]:
    return lambda job: template(job)["metadata"].update(annotations={} if value is None else {SLICE: value})


def _without_selector(job: dict[str, Any]) -> None:
    del template(job)["spec"]["nodeSelector"]


def _half_a_host(job: dict[str, Any]) -> None:
    for part in template(job)["spec"]["containers"][0]["resources"].values():
        part["google.com/tpu"] = "2"


def _pods(number: int) -> Callable[[dict[str, Any]], None]:
    return lambda job: job["spec"]["replicatedJobs"][0]["template"]["spec"].update(
        parallelism=number, completions=number
    )


@pytest.mark.parametrize(
    ("edit", "message"),
    [
        (edit_annotation(None), f"nothing connects its chips; write the annotation {SLICE}: 4x4x8 on its pods"),
        (edit_annotation("8x4x4"), "'8x4x4' does not have its dimensions in ascending order; write 4x4x8"),
        (edit_annotation("4x4x24"), "'4x4x24' needs 6 sub-blocks of 4x4x4, and there are 5; write one of 2x2x1"),
        (edit_annotation("3x3x3"), "'3x3x3' is neither a part of a 4x4x4 block nor several of them; write one of"),
        (edit_annotation("2x2x8"), "'2x2x8' is neither a part of a 4x4x4 block nor several of them; write one of"),
        (edit_annotation("4x4"), "'4x4' is no shape of a slice; write one of"),
        (edit_annotation(""), "'' is no shape of a slice; write one of"),
        (edit_annotation(44), "'44' is no shape of a slice; write one of"),
        (edit_annotation("24x24x24"), "'24x24x24' has 13824 chips, and a slice at most 9216; write one of"),
        (
            edit_annotation("4x4x12"),
            f"a slice of 4x4x12 has 48 pods, and a child job has 32; write 48 pods, or {SLICE}",
        ),
        (_pods(16), "a slice of 4x4x8 has 32 pods, and a child job has 16; write 32 pods, or"),
        (_without_selector, "passes over pods that do not select the accelerator; write the node selector"),
        (_half_a_host, "a pod requests 2 TPU7x chips, and its node has 4; write google.com/tpu: 4"),
    ],
)
def test_a_job_that_forms_no_slice_is_told_what_to_write(
    tmp_path: pathlib.Path, edit: Callable[[dict[str, Any]], None], message: str
) -> None:
    job = workload("--topology", "4x4x8")
    edit(job)
    lines = lint(tmp_path, job)
    assert message in lines
    assert "can admit it" not in lines


def test_more_slices_than_there_are_at_once_are_never_admitted(tmp_path: pathlib.Path) -> None:
    job = workload("--topology", "4x4x8")
    job["spec"]["replicatedJobs"][0]["replicas"] = 3
    assert "3 slices of 4x4x8 are more than the 2 that 'ironwood' can form at once" in lint(tmp_path, job)


def test_a_kind_that_the_slice_controller_does_not_read_forms_no_slices(tmp_path: pathlib.Path) -> None:
    job = workload("--topology", "4x4x8")
    worker = {"replicas": 32, "template": template(job)}
    torch = {
        "apiVersion": "kubeflow.org/v1",
        "kind": "PyTorchJob",
        "metadata": job["metadata"],
        "spec": {"pytorchReplicaSpecs": {"Worker": worker}},
    }
    lines = lint(tmp_path, torch)
    assert "Kueue's slice controller forms no slices for a PyTorchJob; write a Job, JobSet or LeaderWorkerSet" in lines
    assert "can admit it" not in lines


@pytest.mark.parametrize("kind", ["deployment", "trainjob", "raycluster", "rayjob"])
def test_a_kind_that_the_slice_controller_does_not_read_is_not_written(kind: str) -> None:
    options = ["--kind", kind, "--image", "train:1", "--", "python", "train.py"]
    result = CliRunner().invoke(app, ["workload", EXAMPLE, "pretraining", "train", *options])
    assert result.exit_code == 1
    assert f"a {kind} cannot form slices of pretraining/train; write jobset or job or leaderworkerset" in result.stderr


@pytest.mark.parametrize(("length", "warned"), [(16, False), (17, True), (40, True)])
def test_names_of_slices_have_at_most_49_characters(tmp_path: pathlib.Path, length: int, warned: bool) -> None:
    """pretraining-jobset-<name>-<hash>-slice-0 has 33 characters besides the name."""
    job = workload("--topology", "4x4x4")
    job["metadata"]["name"] = "t" * length
    found = lint(tmp_path, job)
    assert ("[long-slice-name]" in found) == warned
    assert ("write a name of at most 16 [" in found) == warned
    assert "can admit it" in found
