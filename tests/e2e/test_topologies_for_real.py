"""Published topology levels on a real Kueue: shapes that fit are placed as a whole, others are not, as lint says.

The levels are those of dynamic slicing (blocks, sub-blocks, their parts, hosts) and the NVLink domain of GB200, on
nodes of `berth render --nodes`. The test takes the place of the slice controller, which connects the chips of a slice:
it says that the slice is ready. What that controller decides, NVIDIA's DRA driver and programs in pods are not run.
"""

from __future__ import annotations

import json
import subprocess
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.e2e.support.cluster import Cluster, until
from tests.e2e.support.hostile_fleet import wait_for_quotas
from tests.e2e.support.project import BERTH, ROOT, output
from tests.e2e.support.walks import BATCH_SECONDS, WORKLOADS, Autoscaler, deployed, pods

ANNOTATION = "cloud.google.com/gke-tpu-slice-topology"
PARTITION = "cloud.google.com/gke-tpu-partition-"
DOMAIN = "cloud.google.com/gke-nodepool"
CHECK = "dynamic-slices"
DAY = "2026-01-01T00:00:00Z"
SETTLED = 5.0
"""Seconds in which a job that Kueue could place would be placed."""


@pytest.fixture(scope="module")
def ironwood(cluster: Cluster) -> Iterator[Cluster]:
    with deployed(cluster, "ironwood"):
        nodes = Autoscaler(cluster, "ironwood").nodes
        cluster.kubectl("create", "-f", "-", given=yaml.safe_dump_all(nodes))
        wait_for_quotas(cluster)
        active = {"type": "Active", "status": "True", "reason": "Active", "message": "", "lastTransitionTime": DAY}
        answer = ("--subresource=status", "--type=merge", "-p", json.dumps({"status": {"conditions": [active]}}))
        cluster.kubectl("patch", "admissionchecks.kueue.x-k8s.io", CHECK, *answer)  # as the slice controller does
        yield cluster


@pytest.fixture(scope="module")
def gb200(cluster: Cluster) -> Iterator[Cluster]:
    with deployed(cluster, "gb200"):
        nodes = Autoscaler(cluster, "gb200").nodes
        cluster.kubectl("create", "-f", "-", given=yaml.safe_dump_all(nodes))
        wait_for_quotas(cluster)
        yield cluster


def job_of(*words: str) -> dict[str, Any]:
    """Return the job that `berth workload` writes."""
    text = output([*BERTH, "workload", *words], ROOT)
    (job,) = [each for each in yaml.safe_load_all(text) if each and each["kind"] in ("Job", "JobSet")]
    return job


def lint(folder: Path, stack: str, job: dict[str, Any]) -> bool:
    """Return whether `berth lint` says that the fleet can admit a job."""
    file = folder / "job.yaml"
    file.write_text(yaml.safe_dump(job), encoding="utf-8")
    done = subprocess.run([*BERTH, "lint", stack, str(file), "--json"], cwd=ROOT, capture_output=True, text=True)
    (found,) = json.loads(done.stdout)["objects"]
    return found["verdict"] == "runs"


def workload(cluster: Cluster, namespace: str) -> dict[str, Any] | None:
    """Return the only Workload of a namespace; None before Kueue has made it."""
    items = cluster.get(WORKLOADS, "-n", namespace)["items"]
    return items[0] if items else None


def has(item: dict[str, Any] | None, condition: str) -> str:
    """Return the status of a condition of a Workload, "" without it."""
    conditions = (item or {}).get("status", {}).get("conditions", ())
    return next((each["status"] for each in conditions if each["type"] == condition), "")


def expect_placed(cluster: Cluster, namespace: str) -> None:
    """Wait until Kueue has reserved quota and places for the job; before, nodes may not be ready."""
    until("a place", lambda: said(cluster, namespace), lambda found: found[0] == "True")


def expect_refused(cluster: Cluster, namespace: str) -> None:
    """Wait until Kueue has said why it places the job nowhere, and see that it stays so."""
    until("a refusal", lambda: said(cluster, namespace), lambda found: found[0] == "False" and _is_refusal(found[1]))
    time.sleep(SETTLED)
    assert said(cluster, namespace)[0] == "False"


def _is_refusal(words: str) -> bool:
    """Whether Kueue's words are about quota or places, and not about a queue or nodes that are not ready yet."""
    return "couldn't assign flavors" in words


def said(cluster: Cluster, namespace: str) -> tuple[str, str]:
    """Return whether Kueue reserved quota and places, and its words."""
    conditions = (workload(cluster, namespace) or {}).get("status", {}).get("conditions", ())
    found = [(each["status"], each["message"]) for each in conditions if each["type"] == "QuotaReserved"]
    return found[0] if found else ("", "")


def say_ready(cluster: Cluster, namespace: str) -> None:
    """Say what the slice controller says when GKE has connected the chips, also after a node flapped."""
    item = workload(cluster, namespace)
    checks = (item or {}).get("status", {}).get("admissionChecks", ())
    if item is None or has(item, "QuotaReserved") != "True" or all(each["state"] == "Ready" for each in checks):
        return
    state = {"name": CHECK, "state": "Ready", "message": "", "lastTransitionTime": DAY}
    where = ("-n", namespace, item["metadata"]["name"], "--subresource=status", "--type=merge")
    cluster.kubectl("patch", WORKLOADS, *where, "-p", json.dumps({"status": {"admissionChecks": [state]}}))


def remove(cluster: Cluster, namespace: str) -> None:
    """Delete the jobs of a namespace, and wait until their workloads and pods are gone."""
    cluster.kubectl("delete", "jobsets.jobset.x-k8s.io,jobs", "--all", "-n", namespace)
    until("the workload to be gone", lambda: workload(cluster, namespace), lambda found: found is None)
    until("the pods to be gone", lambda: cluster.get("pods", "-n", namespace)["items"], lambda found: not found)


def formed(topology: str) -> dict[str, Any]:
    """Return a JobSet of one slice of a shape, which may be one that `berth workload` refuses."""
    job = job_of("ironwood", "pretraining", "train", "--topology", "4x4x12", "--name", "shape")
    template = job["spec"]["replicatedJobs"][0]["template"]["spec"]
    x, y, z = (int(each) for each in topology.split("x"))
    template |= {"parallelism": x * y * z // 4, "completions": x * y * z // 4}
    template["template"]["metadata"]["annotations"][ANNOTATION] = topology
    return job


@pytest.mark.parametrize("topology", ["2x2x1", "2x2x2", "2x2x4", "2x4x4", "4x4x4", "4x4x8", "4x4x12"])
def test_a_shape_that_fits_is_placed_as_one_slice(ironwood: Cluster, tmp_path: Path, topology: str) -> None:
    job = job_of("ironwood", "pretraining", "train", "--topology", topology, "--name", "shape")
    assert lint(tmp_path, "ironwood", job)
    for volume in job["spec"]["replicatedJobs"][0]["template"]["spec"]["template"]["spec"].pop("volumes", ()):
        assert "csi" in volume or "emptyDir" in volume  # drivers that simulated nodes do not have
    container = job["spec"]["replicatedJobs"][0]["template"]["spec"]["template"]["spec"]["containers"][0]
    container.pop("volumeMounts", None)
    ironwood.kubectl("create", "-f", "-", given=yaml.safe_dump(job))
    try:
        expect_placed(ironwood, "pretraining")
        assert has(workload(ironwood, "pretraining"), "Admitted") != "True"  # it waits for the slice controller
        x, y, z = (int(each) for each in topology.split("x"))
        count = x * y * z // 4

        def bound() -> list[str]:
            say_ready(ironwood, "pretraining")
            return [each["spec"]["nodeName"] for each in pods(ironwood, "shape") if each["spec"].get("nodeName")]

        names = until(f"{count} pods on nodes", bound, lambda found: len(found) == count, BATCH_SECONDS)
        labels = {each["metadata"]["name"]: each["metadata"]["labels"] for each in ironwood.get("nodes")["items"]}
        whole = topology if count <= 16 else "4x4x4"
        parts = Counter(labels[each].get(f"{PARTITION}{whole}-id", each) for each in names)
        assert set(parts.values()) == {min(count, 16)}
        assert len(parts) == max(1, count // 16)
    finally:
        remove(ironwood, "pretraining")


@pytest.mark.parametrize("topology", ["4x4x16", "4x8x8"])
def test_a_shape_that_does_not_fit_is_not_placed(ironwood: Cluster, tmp_path: Path, topology: str) -> None:
    job = formed(topology)
    assert not lint(tmp_path, "ironwood", job)
    ironwood.kubectl("create", "-f", "-", given=yaml.safe_dump(job))
    try:
        expect_refused(ironwood, "pretraining")
    finally:
        remove(ironwood, "pretraining")


def in_one_domain(team: str, name: str, count: int) -> dict[str, Any]:
    """Return a job of so many nodes of one NVLink domain, without devices that simulated nodes do not have."""
    job = job_of("gb200", team, "train", "--pods", "2", "--name", name)
    job["spec"] |= {"parallelism": count, "completions": count}
    spec = job["spec"]["template"]["spec"]
    spec.pop("resourceClaims", None)
    spec["containers"][0]["resources"].pop("claims", None)
    return job


@pytest.mark.parametrize(("count", "fits"), [(2, True), (18, True), (19, False), (36, False)])
def test_a_job_has_one_nvlink_domain_or_none(gb200: Cluster, tmp_path: Path, count: int, *, fits: bool) -> None:
    job = in_one_domain("llm", "domain", count)
    assert lint(tmp_path, "gb200", job) is fits
    gb200.kubectl("create", "-f", "-", given=yaml.safe_dump(job))
    try:
        if not fits:
            expect_refused(gb200, "llm")
        else:
            expect_placed(gb200, "llm")

            def bound() -> list[str]:
                return [each["spec"]["nodeName"] for each in pods(gb200, "domain") if each["spec"].get("nodeName")]

            names = until(f"{count} pods on nodes", bound, lambda found: len(found) == count)
            labels = {each["metadata"]["name"]: each["metadata"]["labels"] for each in gb200.get("nodes")["items"]}
            assert len({labels[each][DOMAIN] for each in names}) == 1
    finally:
        remove(gb200, "llm")


@pytest.mark.parametrize(("count", "fits"), [(9, True), (10, False)])
def test_quota_does_not_help_where_domains_are_used_in_part(
    gb200: Cluster, tmp_path: Path, count: int, *, fits: bool
) -> None:
    """17 nodes of the queue's quota and 17 nodes are free, but no more than 9 of them in one domain."""
    jobs = [
        ("vision", in_one_domain("vision", "first", 9)),
        ("llm", in_one_domain("llm", "single", 1)),
        ("vision", in_one_domain("vision", "second", 9)),
        ("llm", in_one_domain("llm", "last", count)),
    ]
    files = [tmp_path / f"{number}.yaml" for number in range(len(jobs))]
    for file, (_, job) in zip(files, jobs, strict=True):
        file.write_text(yaml.safe_dump(job), encoding="utf-8")
    answer = json.loads(output([*BERTH, "admit", "gb200", *map(str, files), "--json"], ROOT))
    predicted = {each["job"]: each["status"] for each in answer["unfinished"]}
    try:
        for number, (_, job) in enumerate(jobs, 1):
            gb200.kubectl("create", "-f", "-", given=yaml.safe_dump(job))
            wanted = number if fits or number < len(jobs) else number - 1
            until(f"{wanted} jobs with a place", lambda: _reserved(gb200), lambda found, n=wanted: len(found) == n)
        time.sleep(0 if fits else SETTLED)
        last = next(words for job, words in _words(gb200).items() if job.startswith("job-last"))
        assert (last[0] == "True") is fits
        assert fits or "topology" in last[1], last
        assert (predicted["last"] == "admitted") is fits
    finally:
        for namespace in ("llm", "vision"):
            gb200.kubectl("delete", "jobs", "--all", "-n", namespace)
        until("the workloads to be gone", lambda: _words(gb200), lambda found: not found)
        for namespace in ("llm", "vision"):
            until("the pods to be gone", lambda n=namespace: gb200.get("pods", "-n", n)["items"], lambda left: not left)


def _words(cluster: Cluster) -> dict[str, tuple[str, str]]:
    """Return whether Kueue reserved quota and places for each Workload, and its words."""
    found: dict[str, tuple[str, str]] = {}
    for item in cluster.get(WORKLOADS, "-A")["items"]:
        conditions = item.get("status", {}).get("conditions", ())
        said_of = [(each["status"], each["message"]) for each in conditions if each["type"] == "QuotaReserved"]
        found[item["metadata"]["name"]] = said_of[0] if said_of else ("", "")
    return found


def _reserved(cluster: Cluster) -> list[str]:
    return [name for name, (status, _) in _words(cluster).items() if status == "True"]
