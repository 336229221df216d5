"""A manager and a worker as two clusters: connected, a job sent and run there, and everything deleted.

A manager is a cluster that Berth makes, so there is no stack for two that exist: `kubectl` applies what `berth render`
prints, and the Secret that the program would make of the worker's token.
"""

from __future__ import annotations

import base64
import json
import os
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import yaml

from berth.evaluate import evaluate_stack
from berth.manifests import worker_access
from tests.e2e.support.cluster import Cluster, until
from tests.e2e.support.project import BERTH, ROOT, Failed, output

WORKER = "BERTH_E2E_WORKER"
"""Names the context of a second cluster with Kueue and JobSet, whose API server the Kueue of the first one reaches."""
FLEET = """
config:
  berth:fleet:
    project: my-project
    region: us-central1
    workers:
      east: {region: us-east5, tokenDate: "2026-11-22", pools: {l4: {machineType: g2-standard-24, nodes: {max: 4}}}}
    cohorts: {research: {}}
    teams:
      vision: {cohort: research, queues: {train: {flavors: [{pool: l4, guaranteed: 4}]}}}
      language: {cohort: research, queues: {train: {flavors: [{pool: l4, guaranteed: 4, borrow: 4}]}}}
"""
SOURCES = {"PYTHONPATH": str(ROOT)}
Objects = list[dict[str, Any]]


@pytest.fixture
def worker(cluster: Cluster) -> Cluster:
    """Return the second cluster, without cluster queues, as the first is."""
    if (context := os.environ.get(WORKER)) is None:
        pytest.skip(f"takes two clusters: name the other's context in {WORKER}")
    other = Cluster(context)
    try:
        left = other.queues()
    except Failed as failed:
        pytest.skip(f"no Kueue answers in context '{context}': {failed}")
    if left or context == cluster.context:
        pytest.skip(f"context '{context}' has cluster queues already, or is the manager")
    return other


def test_a_job_of_the_manager_runs_on_its_worker(cluster: Cluster, worker: Cluster, tmp_path: Path) -> None:
    """The account that Berth makes on a worker is all that the manager's Kueue needs there; and what one team leaves
    idle on the worker, another one's job has: six GPUs, four of its own.
    """
    file = tmp_path / "Pulumi.far.yaml"
    file.write_text(FLEET, encoding="utf-8")
    (tmp_path / "Pulumi.yaml").write_text("name: berth\n", encoding="utf-8")
    output([*BERTH, "render", str(file), "-o", "far"], tmp_path, SOURCES)
    output([*BERTH, "render", str(file), "--nodes", "-o", "nodes"], tmp_path, SOURCES)
    words = ("language", "train", "--kind", "jobset", "--gpus", "2", "--pods", "3", "--name", "sent")
    job = list(yaml.safe_load_all(output([*BERTH, "workload", str(file), *words], tmp_path, SOURCES)))
    before = cluster.objects(), worker.objects()
    with (
        applied(worker, [*objects(tmp_path / "far" / "worker-east"), *objects(tmp_path / "nodes" / "worker-east")]),
        applied(cluster, objects(tmp_path / "far" / "manager")),
        applied(cluster, [credentials(worker, file)]),
    ):
        until("the worker to be connected", lambda: _connected(cluster), lambda status: status == "True")
        with applied(cluster, job):
            until("its pods to run there", lambda: _running(worker), lambda count: count == 3)
            assert _running(cluster) == 0
            (workload,) = cluster.get("workloads", "-n", "language")["items"]
            assert workload["status"]["clusterName"] == "east"
        until("the job to be gone there", lambda: worker.get("jobsets", "-A")["items"], lambda left: not left)
    until("both to be as before", lambda: (cluster.objects(), worker.objects()), lambda now: now == before)


def objects(folder: Path) -> Objects:
    """What was rendered into a folder, in its order."""
    return [yaml.safe_load(file.read_text(encoding="utf-8")) for file in sorted(folder.iterdir())]


def credentials(worker: Cluster, file: Path) -> dict[str, Any]:
    """Return the Secret with the worker's kubeconfig, of the token that its cluster has made."""
    plan = evaluate_stack(str(file), file.parent).fleet_plan
    assert plan is not None
    (fleet_plan,) = (each.plan.manager_access for each in plan.workers)
    assert fleet_plan is not None
    metadata: Any = worker_access.token_secret(fleet_plan)["metadata"]
    assert metadata["name"] == "multikueue-2026-11-22"
    token = ("secret", metadata["name"], "-n", metadata["namespace"])
    data = until("a token", lambda: worker.get(*token).get("data", {}), lambda data: {"token", "ca.crt"} <= data.keys())
    config: dict[str, Any] = json.loads(worker.kubectl("config", "view", "--raw", "--minify", "-o", "json"))
    text = worker_access.worker_kubeconfig("east", config["clusters"][0]["cluster"]["server"], data)
    return {
        **worker_access.kubeconfig_secret(fleet_plan),
        "data": {"kubeconfig": base64.b64encode(text.encode()).decode()},
    }


@contextmanager
def applied(cluster: Cluster, wanted: Objects) -> Generator[None]:
    """Objects of the kinds that the cluster has, as long as this lasts."""
    served = cluster.kinds()
    text = yaml.safe_dump_all([each for each in wanted if each["kind"] in served])
    try:
        cluster.kubectl("apply", "-f", "-", given=text)
        yield
    finally:
        cluster.kubectl("delete", "--ignore-not-found", "-f", "-", given=text)


def _connected(cluster: Cluster) -> str:
    result = cluster.get("multikueueclusters", "east").get("status", {}).get("conditions", [])
    return next((each["status"] for each in result if each["type"] == "Active"), "")


def _running(cluster: Cluster) -> int:
    return sum(pod["status"]["phase"] == "Running" for pod in cluster.get("pods", "-n", "language")["items"])
