"""Hotswap on a real scheduler: an urgent JobSet that loses a slice takes a healthy one from a patient JobSet.

GKE repairs a multi-host slice as a whole, so the test deletes all nodes of the slice, and the pods as the garbage
collector of pods does (it waits 40 seconds). A JobSet restarts because its Job counts the preempted pods as failed:
KWOK must leave the Job's finalizer on a deleted pod, as a kubelet does (`kwok/stages.yaml`).
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
import yaml

from tests.e2e.support.cluster import Cluster, until
from tests.e2e.support.project import BERTH, ROOT, output

STACK = "stacks/examples/hotswap.yaml"
QUEUEING = ("ClusterQueue", "LocalQueue", "PriorityClass", "ResourceFlavor", "WorkloadPriorityClass")
POOL = "cloud.google.com/gke-nodepool"
JOB_SET = "jobset.sigs.k8s.io/jobset-name"
HOSTS = 4
"""Of a 4x4 slice of v6e."""


def berth(*words: str) -> str:
    """What `berth WORDS` prints."""
    return output([*BERTH, *words], ROOT)


@pytest.fixture
def fleet(cluster: Cluster, tmp_path: Path) -> Iterator[Cluster]:
    """The cluster with the queues and nodes of the example, and both JobSets on their slices."""
    queueing = [each for each in yaml.safe_load_all(berth("render", STACK)) if each and each["kind"] in QUEUEING]
    if not keeps_finalizers(cluster):
        pytest.skip("KWOK removes the finalizers of deleted pods: give it the stages of tests/e2e/kwok/stages.yaml")
    files = {
        "queues": yaml.safe_dump_all(queueing),
        "nodes": berth("render", STACK, "--nodes"),
        **{name: job_set(name) for name in ("urgent", "patient")},
    }
    for name, text in files.items():
        (tmp_path / f"{name}.yaml").write_text(text, encoding="utf-8")
        cluster.kubectl("create", "-f", str(tmp_path / f"{name}.yaml"))
        if name == "urgent":
            until("the urgent JobSet to run", lambda: slices(cluster, "urgent"), is_whole)
    until("the patient JobSet to run", lambda: slices(cluster, "patient"), is_whole)
    yield cluster
    for name in reversed(files):
        cluster.kubectl("delete", "-f", str(tmp_path / f"{name}.yaml"), "--ignore-not-found")


def keeps_finalizers(cluster: Cluster) -> bool:
    """Whether KWOK ends a deleted pod as a kubelet does, with its finalizers. Raises `Failed` where no KWOK answers."""
    metadata = {"name": "berth-e2e-kubelet"}
    node = {"apiVersion": "v1", "kind": "Node", "metadata": metadata | {"annotations": {"kwok.x-k8s.io/node": "fake"}}}
    spec = {"nodeName": metadata["name"], "containers": [{"name": "main", "image": "x"}]}
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata | {"finalizers": ["berth.dev/e2e"]}, "spec": spec}
    where = ("pod", metadata["name"], "-n", "default")
    for each in (node, pod):
        cluster.kubectl("create", "-f", "-", given=json.dumps(each))
    running = ("get", *where, "--ignore-not-found", "-o", "jsonpath={.status.phase}")
    until("a pod on a simulated node", lambda: cluster.kubectl(*running), lambda phase: phase == "Running")
    cluster.kubectl("delete", *where, "--wait=false")
    kept = until("KWOK to end a pod", lambda: cluster.kubectl(*running), lambda phase: phase != "Running") != ""
    if kept:
        cluster.kubectl("patch", *where, "--type=merge", "-p", '{"metadata": {"finalizers": null}}')
    cluster.kubectl("delete", "node", metadata["name"])
    return kept


def job_set(name: str) -> str:
    """The manifest of a JobSet on two of the four slices."""
    priority = {"urgent": "high-priority-job", "patient": "low-priority-job"}[name]
    restarts = ("--max-restarts", "10", "--restart-strategy", "BlockingRecreate")  # as the source runs them
    words = ("training", "default-queue", "--slices", "2", "--name", name, "--priority", priority)
    return berth("workload", STACK, *words, *restarts)


def slices(cluster: Cluster, name: str) -> Mapping[str, int]:
    """Node pool → pods of a JobSet that run in it; pods that wait are in the pool ``."""
    pool_of = {
        each["metadata"]["name"]: each["metadata"]["labels"].get(POOL, "") for each in cluster.get("nodes")["items"]
    }
    counts: dict[str, int] = {}
    for pod in cluster.get("pods", "-n", "default", "-l", f"{JOB_SET}={name}")["items"]:
        runs = pod["status"].get("phase") == "Running" and "deletionTimestamp" not in pod["metadata"]
        pool = pool_of.get(pod["spec"].get("nodeName", ""), "") if runs else ""
        counts[pool] = counts.get(pool, 0) + 1
    return counts


def is_whole(counts: Mapping[str, int]) -> bool:
    """Whether a JobSet runs on two whole slices."""
    return len(counts) == 2 and "" not in counts and set(counts.values()) == {HOSTS}


def fail(cluster: Cluster, pool: str) -> str:
    """Delete the nodes of a slice and what runs on them; return the nodes as they were."""
    nodes = cluster.get("nodes", "-l", f"{POOL}={pool}")
    names = [each["metadata"]["name"] for each in nodes["items"]]
    cluster.kubectl("delete", "node", *names)
    for pod in cluster.get("pods", "-n", "default")["items"]:
        if pod["spec"].get("nodeName") in names:
            where = ("-n", "default", pod["metadata"]["name"])
            cluster.kubectl("delete", "pod", *where, "--force", "--grace-period=0", "--ignore-not-found")
    for each in nodes["items"]:
        each["metadata"] = {key: each["metadata"][key] for key in ("name", "labels", "annotations")}
    return json.dumps(nodes)


def test_the_urgent_jobset_takes_a_slice_and_the_patient_one_returns_after_the_repair(fleet: Cluster) -> None:
    lost, _ = sorted(slices(fleet, "urgent"))
    before = set(slices(fleet, "patient"))
    admitted = [each["metadata"]["name"] for each in fleet.get("workloads.kueue.x-k8s.io", "-n", "default")["items"]]
    nodes = fail(fleet, lost)
    urgent = until("the urgent JobSet to run again", lambda: slices(fleet, "urgent"), is_whole)
    assert lost not in urgent
    (taken,) = before & set(urgent)

    def kept(counts: Mapping[str, int]) -> bool:
        running = {pool: number for pool, number in counts.items() if pool}
        return set(running.values()) == {HOSTS} and len(running) == 1 and "" in counts

    patient = until("the patient JobSet to restart on one slice", lambda: slices(fleet, "patient"), kept)
    assert set(patient) - {""} <= (before | set(urgent)) - {lost}
    still = fleet.get("workloads.kueue.x-k8s.io", "-n", "default")["items"]
    assert [each["metadata"]["name"] for each in still] == admitted  # Kueue's admissions do not change
    fleet.kubectl("create", "-f", "-", given=nodes)
    returned = until("the patient JobSet to run on the repaired slice", lambda: slices(fleet, "patient"), is_whole)
    assert lost in returned
    assert slices(fleet, "urgent") == urgent
    restarts = {each["metadata"]["name"]: each["status"]["restarts"] for each in fleet.get("jobsets", "-A")["items"]}
    assert min(restarts.values()) >= 1  # each restarted whole
    print(f"hotswap: {lost} lost, {taken} taken, restarts {restarts}")
