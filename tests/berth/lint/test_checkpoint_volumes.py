"""Multi-tier checkpointing: the memory that it takes is one number for all verbs, and JobSets mount its volume."""

from __future__ import annotations

import pathlib

import pytest
import yaml
from typer.testing import CliRunner

from berth.cli import app
from berth.evaluate import evaluate_stack
from berth.nodes import fleet_nodes
from berth.yaml_loader import LOADER
from tests.stack_files import ROOT

GIB = 2**30
STACK = """\
config:
  berth:fleet:
    project: acme-ml-dev
    projectNumber: "123456789012"
    region: us-central1
    cluster:
      version: "1.35"
      storageDrivers: [gcs-fuse]
      checkpointing: {bucket: acme-ckpt, machineType: ct5lp-hightpu-4t, inMemoryVolumeSize: SIZE}
    pools:
      v5e: {machineType: ct5lp-hightpu-4t, topology: 2x4, slices: 3, zone: us-central1-a}
      one: {machineType: ct5lp-hightpu-1t, topology: 1x1, slices: 4, zone: us-central1-a}
    teams:
      vision:
        queues:
          train: {flavors: [{pool: v5e, guaranteed: all}]}
          mixed: {flavors: [{pool: v5e, guaranteed: 0}, {pool: one, guaranteed: all}]}
"""
DRIVER = "multitier-checkpoint.csi.storage.gke.io"


@pytest.fixture
def folder(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> pathlib.Path:
    """Return a project's folder, the current directory."""
    (tmp_path / "Pulumi.yaml").write_text("name: berth\nruntime: python\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write(folder: pathlib.Path, size: str) -> None:
    """Write the stack `lab` with a volume of a size; without one for an empty size."""
    lines = [line for line in STACK.splitlines() if size or "checkpointing" not in line]
    (folder / "Pulumi.lab.yaml").write_text("\n".join(lines).replace("SIZE", size) + "\n")


def run(*arguments: str) -> str:
    """Return what a verb prints."""
    return CliRunner().invoke(app, [*arguments]).stdout


def memory(folder: pathlib.Path, pool: str) -> tuple[int, int]:
    """Return the most and the least memory for jobs on a node of a pool."""
    plan = evaluate_stack("lab", folder).fleet_plan
    assert plan is not None
    group = next(each for each in fleet_nodes(plan).groups if each.pool == pool)
    return group.allocatable["memory"], group.least["memory"]


def test_the_volume_is_taken_once_for_all_verbs(folder: pathlib.Path) -> None:
    write(folder, "")
    before, other = memory(folder, "v5e"), memory(folder, "one")
    write(folder, "60Gi")
    most, least = memory(folder, "v5e")
    assert before[0] - most == 60 * GIB
    assert before[1] - least == 60 * GIB + 466 * 2**20  # with the pods of the driver
    assert memory(folder, "one") == other

    rendered = [each for each in yaml.load_all(run("render", "lab", "--nodes"), LOADER) if each]
    of_pool = [each for each in rendered if each["metadata"]["labels"].get("berth.dev/pool", "v5e") == "v5e"]
    assert str(most) in {each["status"]["allocatable"]["memory"] for each in of_pool}

    job = run("workload", "lab", "vision", "train", "--memory", f"{least // 2**20}Mi")
    (folder / "job.yaml").write_text(job)
    assert "can admit it" in run("lint", "lab", "job.yaml")
    assert "admitted   v5e 8" in run("admit", "lab", "job.yaml")
    (folder / "job.yaml").write_text(job.replace(f"{least // 2**20}Mi", f"{most // 2**20 + 1}Mi"))
    assert "error: JobSet/train: a pod requests" in run("lint", "lab", "job.yaml")
    assert "admitted   v5e 8" not in run("admit", "lab", "job.yaml")
    write(folder, "")
    assert "a pod requests" not in run("lint", "lab", "job.yaml")


def volumes(text: str) -> list[str]:
    """Return the drivers of the volumes of a JobSet's pods."""
    (job,) = [each for each in yaml.load_all(text, LOADER) if each and each["kind"] == "JobSet"]
    spec = job["spec"]["replicatedJobs"][0]["template"]["spec"]["template"]["spec"]
    return [each["csi"]["driver"] for each in spec.get("volumes", ())]


@pytest.mark.parametrize(
    ("size", "arguments", "drivers"),
    [
        ("60Gi", ("train",), [DRIVER]),
        ("", ("train",), []),
        ("60Gi", ("mixed", "--flavor", "one"), []),
        ("60Gi", ("train", "--template", "own.yaml"), [DRIVER]),
    ],
)
def test_jobsets_mount_it_where_all_their_nodes_have_it(
    folder: pathlib.Path, size: str, arguments: tuple[str, ...], drivers: list[str]
) -> None:
    write(folder, size)
    volume = {"name": "mine", "csi": {"driver": DRIVER}}
    own = {"spec": {"containers": [{"name": "a", "image": "a:1"}], "volumes": [volume]}}
    (folder / "own.yaml").write_text(yaml.safe_dump(own))
    assert volumes(run("workload", "lab", "vision", *arguments, "--kind", "jobset")) == drivers


def test_a_pod_that_may_get_other_nodes_is_a_warning(folder: pathlib.Path) -> None:
    write(folder, "60Gi")
    text = run("workload", "lab", "vision", "mixed", "--flavor", "one", "--kind", "jobset")
    (job,) = [each for each in yaml.load_all(text, LOADER) if each]
    spec = job["spec"]["replicatedJobs"][0]["template"]["spec"]["template"]["spec"]
    spec["volumes"] = [{"name": "mine", "csi": {"driver": DRIVER}}]
    (folder / "job.yaml").write_text(yaml.safe_dump(job))
    assert "of which its pods get none in vision/mixed: they never start" in run("lint", "lab", "job.yaml")
    del spec["nodeSelector"]
    (folder / "job.yaml").write_text(yaml.safe_dump(job))
    assert "Kueue may assign 'one' to its pods, where they never start" in run("lint", "lab", "job.yaml")
    job["spec"]["replicatedJobs"].append({**job["spec"]["replicatedJobs"][0], "name": "second"})
    (folder / "job.yaml").write_text(yaml.safe_dump(job))
    assert "so those of this JobSet with several are lost with its node" in run("lint", "lab", "job.yaml")


def test_a_job_of_a_manager_mounts_what_its_workers_have(folder: pathlib.Path) -> None:
    """The manager's policies let it through, and workers without the driver are named."""
    text = (ROOT / "stacks/examples/multikueue.yaml").read_text(encoding="utf-8")
    key = "checkpointing: {bucket: ckpt, machineType: ct5lp-hightpu-4t, inMemoryVolumeSize: 50Gi}"
    for old, new in (
        ("name: worker-central\n", f"name: worker-central\n          storageDrivers: [gcs-fuse]\n          {key}\n"),
        ("    region:", '    projectNumber: "123456789012"\n    region:'),
        ("stacks/teams/trainers.yaml", "trainers.yaml"),
    ):
        assert old in text
        text = text.replace(old, new, 1)
    (folder / "Pulumi.lab.yaml").write_text(text)
    (folder / "trainers.yaml").write_text((ROOT / "stacks/teams/trainers.yaml").read_text(encoding="utf-8"))
    (folder / "job.yaml").write_text(run("workload", "lab", "language", "train", "--flavor", "v5e"))
    assert volumes((folder / "job.yaml").read_text()) == [DRIVER]
    found = run("lint", "lab", "job.yaml")
    assert "error" not in found
    assert "whether its pods run on east" in found
