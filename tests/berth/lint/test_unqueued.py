"""Jobs that name no queue: refused, unless the stack file lets them start or they use the machines of a request."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from berth.cli import app
from tests.stack_files import ROOT

ALONE = (ROOT / "stacks/jobs/hotswap/alone.yaml").read_text(encoding="utf-8")
REQUEST = (ROOT / "stacks/jobs/provisioning-request/job.yaml").read_text(encoding="utf-8")
HOTSWAP, DWS = "stacks/examples/hotswap.yaml", "stacks/examples/dws.yaml"


def linted(folder: Path, stack: str, manifest: str, kueue: str = "") -> list[tuple[str, dict[str, str]]]:
    """Return verdict and problems (code to message) of each object, in a stack with more of Kueue's settings."""
    text = (ROOT / stack).read_text(encoding="utf-8").replace("\n    teams:", f"\n    kueue: {{{kueue}}}\n    teams:")
    (folder / "stack.yaml").write_text(text, encoding="utf-8")
    (folder / "job.yaml").write_text(manifest, encoding="utf-8")
    done = CliRunner().invoke(app, ["lint", str(folder / "stack.yaml"), str(folder / "job.yaml"), "--json"])
    assert done.exit_code in (0, 1), done.output
    objects = json.loads(done.stdout)["objects"]
    return [(each["verdict"], {p["code"]: p["message"] for p in each["problems"]}) for each in objects]


def test_a_job_without_a_queue_starts_where_the_stack_file_lets_it(tmp_path: Path) -> None:
    ((verdict, problems),) = linted(tmp_path, HOTSWAP, ALONE, "manageJobsWithoutQueueName: false")
    assert (verdict, list(problems)) == ("runs", ["unqueued"])
    assert "starts at once, outside all quota" in problems["unqueued"]


@pytest.mark.parametrize("kueue", ["", "manageJobsWithoutQueueName: true"])
def test_it_never_runs_where_kueue_holds_it(tmp_path: Path, kueue: str) -> None:
    ((verdict, problems),) = linted(tmp_path, HOTSWAP, ALONE, kueue)
    assert (verdict, list(problems)) == ("never", ["no-queue"])
    assert "suspend the job forever" in problems["no-queue"]


def test_a_queue_open_to_all_namespaces_alone_lets_no_job_start_by_mistake(tmp_path: Path) -> None:
    """multislice holds no job without a queue, but nobody wrote that they may start."""
    job = ALONE.replace("tpu-v6e-slice", "tpu-v5-lite-podslice").replace("4x4", "2x4").replace("s: 4\n", "s: 2\n")
    ((verdict, problems),) = linted(tmp_path, "stacks/examples/multislice.yaml", job)
    assert (verdict, next(iter(problems))) == ("never", "no-queue")


@pytest.mark.parametrize(
    ("old", "new", "code"),
    [
        ("topology: 4x4", "topology: 8x8", "no-nodes"),
        ("replicas: 2", "replicas: 5", "no-place"),
        ("google.com/tpu: 4", "google.com/tpu: 8", "no-shape"),
    ],
)
def test_its_pods_must_fit_on_the_nodes_of_the_fleet(tmp_path: Path, old: str, new: str, code: str) -> None:
    manifest = ALONE.replace(old, new)
    ((verdict, problems),) = linted(tmp_path, HOTSWAP, manifest, "manageJobsWithoutQueueName: false")
    assert verdict == "never"
    assert code in problems


def test_a_queue_in_the_wrong_place_is_still_a_mistake(tmp_path: Path) -> None:
    manifest = ALONE.replace("annotations:\n", "annotations:\n    kueue.x-k8s.io/queue-name: default-queue\n")
    ((verdict, problems),) = linted(tmp_path, HOTSWAP, manifest, "manageJobsWithoutQueueName: false")
    assert (verdict, list(problems)) == ("never", ["no-queue"])
    assert "named in an annotation" in problems["no-queue"]


def test_a_job_uses_the_machines_of_a_request(tmp_path: Path) -> None:
    (_, requested), (verdict, problems) = linted(tmp_path, DWS, REQUEST)
    assert (list(requested), verdict, list(problems)) == (["no-queue-asked"], "runs", ["unqueued"])
    assert "the request 'sample-request'" in problems["unqueued"]


@pytest.mark.parametrize("prefix", ["autoscaling.x-k8s.io", "cluster-autoscaler.kubernetes.io"])
def test_both_spellings_of_the_annotations_are_read(tmp_path: Path, prefix: str) -> None:
    head, _, job = REQUEST.partition("apiVersion: batch/v1\n")
    manifest = f"{head}apiVersion: batch/v1\n{job.replace('autoscaling.x-k8s.io', prefix)}"
    assert [verdict for verdict, _ in linted(tmp_path, DWS, manifest)] == ["runs", "runs"]


@pytest.mark.parametrize(
    ("old", "new", "code", "said"),
    [
        ("provisioning-class-name: queued", "provisioning-class-name: other", "dws", "is not the request's class"),
        ("        autoscaling.x-k8s.io/provisioning-class-name: queued-provisioning.gke.io\n", "", "dws", "without"),
        ("request: sample-request", "request: another", "not-checked", "no ProvisioningRequest 'another'"),
        ("gke-accelerator: nvidia-l4", "gke-accelerator: nvidia-h100-80gb", "no-nodes", "nvidia-l4"),
    ],
)
def test_a_job_that_cannot_use_the_request(tmp_path: Path, old: str, new: str, code: str, said: str) -> None:
    head, _, job = REQUEST.partition("apiVersion: batch/v1\n")
    assert old in job
    *_, (verdict, problems) = linted(tmp_path, DWS, f"{head}apiVersion: batch/v1\n{job.replace(old, new)}")
    assert verdict == ("unknown" if code == "not-checked" else "never")
    assert said in problems[code]


def test_a_fleet_that_holds_jobs_gets_the_request_without_the_job() -> None:
    words = ["workload", "stacks/examples/existing-gke.yaml", "research", "batch", "--kind", "provisioning-request"]
    done = CliRunner().invoke(app, [each if "/" not in each else str(ROOT / each) for each in words])
    assert done.exit_code == 0, done.output
    assert "kind: ProvisioningRequest\n" in done.stdout
    assert "kind: Job\n" not in done.stdout
