"""Machines without accelerators on the workers of a manager: quotas, admission and Google's quotas, summed again."""

from __future__ import annotations

import pathlib

import pytest
import yaml
from typer.testing import CliRunner

from berth.cli import app
from berth.evaluate import evaluate_stack
from berth.plan.fleet import FleetPlan
from berth.quota.required import required_quotas
from tests.problem_lines import without_codes

N2 = {"node.kubernetes.io/instance-type": "n2-standard-32"}
"""What a pod without accelerators selects in a queue that has machines with them."""

N2_CORES = 31
"""The cores of an n2-standard-32 for jobs: 32, less what GKE and the system's pods take of them."""
STACK = """\
config:
  berth:fleet:
    project: acme-ml-dev
    region: us-central1
    cluster: {name: manager, controlPlane: {publicEndpoint: false}, zones: [us-central1-a]}
    workers:
      central:
        cluster: {name: worker-central, controlPlane: {publicEndpoint: false}}
        pools:
          n2: {machineType: n2-standard-32, acceptZone: true, nodes: 4, zone: us-central1-a}
          l4: {machineType: g2-standard-24, nodes: 2, zone: us-central1-a}
      east:
        region: us-east5
        cluster: {name: worker-east, controlPlane: {publicEndpoint: false}}
        pools:
          n2: {machineType: n2-standard-32, acceptZone: true, nodes: 2, zone: us-east5-a}
    priorities: {low: {value: 10, default: true}}
    cohorts: {all: {}}
    teams:
      vision:
        cohort: all
        queues:
          train: {flavors: [{pool: n2, guaranteed: 100 cores, borrow: 30 cores}, {pool: l4, guaranteed: 4}]}
      speech:
        cohort: all
        queues:
          tune: {flavors: [{pool: n2, guaranteed: 2 nodes}]}
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> pathlib.Path:
    (tmp_path / "Pulumi.yaml").write_text("name: berth\nruntime: python\n")
    (tmp_path / "Pulumi.lab.yaml").write_text(STACK, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def plan(folder: pathlib.Path) -> FleetPlan:
    evaluation = evaluate_stack("lab", folder)
    assert (evaluation.faults, evaluation.fleet_plan is None) == ((), False)
    assert evaluation.fleet_plan is not None
    return evaluation.fleet_plan


def nominal(plan: FleetPlan, queue: str) -> int:
    """The cores of flavor n2 that a queue is guaranteed."""
    (quota,) = (
        quota
        for each in plan.cluster_queues
        if each.name == queue
        for entry in each.flavors
        if entry.flavor == "n2"
        for quota in entry.quotas
        if quota.resource == "cpu"
    )
    return quota.counted.nominal


def test_the_cores_of_all_workers_are_what_is_guaranteed(plan: FleetPlan) -> None:
    workers = {worker.name: worker.plan for worker in plan.workers}
    for queue, written in (("vision-train", 100), ("speech-tune", 2 * N2_CORES)):
        assert nominal(plan, queue) == written
        assert sum(nominal(each, queue) for each in workers.values()) == written
    for name, nodes in (("central", 4), ("east", 2)):
        total = sum(nominal(workers[name], queue) for queue in ("vision-train", "speech-tune"))
        assert total <= nodes * N2_CORES


def run(verb: str, pods: int) -> tuple[int, str]:
    """Lint or simulate a Job of pods of one core."""
    container = {"name": "main", "image": "busybox", "resources": {"requests": {"cpu": "1", "memory": "1Gi"}}}
    job = {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": "a", "namespace": "vision", "labels": {"kueue.x-k8s.io/queue-name": "train"}},
        "spec": {
            "parallelism": pods,
            "completions": pods,
            "template": {"spec": {"restartPolicy": "Never", "nodeSelector": N2, "containers": [container]}},
        },
    }
    pathlib.Path("job.yaml").write_text(yaml.safe_dump(job), encoding="utf-8")
    result = CliRunner().invoke(app, [verb, "lab", "job.yaml"])
    return result.exit_code, without_codes(result.stderr + result.stdout)


def test_a_job_runs_on_one_worker(plan: FleetPlan) -> None:
    """The largest is the queue's own cores on that worker and what it can borrow there, within its limit."""
    (central,) = (each.plan for each in plan.workers if each.name == "central")
    own, others = nominal(central, "vision-train"), nominal(central, "speech-tune")
    quotas = (each for q in central.cluster_queues if q.name == "vision-train" for e in q.flavors for each in e.quotas)
    limit = next(each.counted.borrowing_limit for each in quotas if each.resource == "cpu")
    most = own + min(others, limit if limit is not None else others)
    assert run("lint", most) == (0, f"job.yaml:1: Job/a: vision/train can admit it, {most} cores of n2\n")
    code, text = run("lint", most + 1)
    assert (
        code,
        f"requests {most + 1} cores in vision/train, and runs on one worker: the maximum is central {most}" in text,
    ) == (
        1,
        True,
    ), text
    assert run("admit", most)[0] == 0
    code, text = run("admit", most + 1)
    assert (code, "never admitted" in text) == (1, True), text


def test_google_counts_the_cores_in_the_region_of_each_worker(plan: FleetPlan) -> None:
    cores = {each.location: each.maximum for each in required_quotas(plan) if each.metric.name == "N2_CPUS"}
    assert cores == {"us-central1": 4 * 32, "us-east5": 2 * 32}


@pytest.mark.parametrize("verb", ["plan", "report", "graph", "quota", "render"])
def test_every_verb_counts_cores(verb: str) -> None:
    result = CliRunner().invoke(app, [verb, "lab"])
    assert result.exit_code == 0, result.output
    assert {"quota": "N2_CPUS", "render": "nominalQuota: '100'"}.get(verb, "162") in result.stdout
    if verb in ("plan", "report", "graph"):
        assert "cores" in result.stdout


def test_workload_names_the_maximum_of_one_worker(plan: FleetPlan) -> None:
    """The queue's cores on the worker and its borrowing limit there; not those of the worker's machines."""
    most = 0
    for worker in plan.workers:
        (queue,) = (each for each in worker.plan.cluster_queues if each.name == "vision-train")
        quotas = {q.resource: q.counted for entry in queue.flavors if entry.flavor == "n2" for q in entry.quotas}
        most = max(most, quotas["cpu"].nominal + (quotas["cpu"].borrowing_limit or 0))
    result = CliRunner().invoke(app, ["workload", "lab", "vision", "train", "--cpu", "8", "--pods", "3", "--", "run"])
    assert result.exit_code == 0, result.output
    assert f"24 cores in total (the team's ceiling is 130, and at most {most} on one worker)." in result.stdout
    assert most < 4 * N2_CORES
