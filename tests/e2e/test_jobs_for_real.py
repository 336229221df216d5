"""Jobs that must go on working under the policies: what `berth workload` prints, submitted as a person of the team.

Kueue admits them, and their controllers create the pods, which run on nodes from `berth render --nodes`. Ray needs the
KubeRay operator beside a Kueue that manages ray.io/rayjob; without it that test is skipped.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
import yaml

from tests import hostile
from tests.e2e.support import hostile_fleet
from tests.e2e.support.cluster import Cluster, until
from tests.e2e.support.project import BERTH, ROOT, output

FLEET = str(hostile.FOLDER / "fleet.yaml")
RAY = ("--image", "rayproject/ray:2.52.0", "--", "python", "train.py")


@pytest.fixture(scope="module")
def fleet(cluster: Cluster) -> Iterator[Cluster]:
    """Provide the cluster with the fleet of the hostile table, its policies and its nodes."""
    before, objects = cluster.objects(), hostile_fleet.objects()
    try:
        hostile_fleet.apply(cluster, objects)
        hostile_fleet.apply_patches(cluster, hostile_fleet.patches(hostile.manifests()))
        cluster.kubectl("apply", "-f", "-", given=output([*BERTH, "render", FLEET, "--nodes"], ROOT))
        hostile_fleet.wait_for_namespaces(cluster)
        yield cluster
    finally:
        cluster.kubectl("delete", "jobs,jobsets", "--all", "-n", "vision", "--ignore-not-found")
        cluster.kubectl("delete", "jobs,jobsets", "--all", "-n", "language", "--ignore-not-found")
        cluster.kubectl("delete", "-f", "-", "--ignore-not-found", "--wait=false", given=hostile_fleet.stream(objects))
        until("the fleet to be gone", lambda: sorted(cluster.objects() - before), lambda left: not left)
        cluster.kubectl("delete", "nodes", "-l", "berth.dev/simulated=true", "--ignore-not-found")


def test_a_jobset_on_two_slices_runs(fleet: Cluster) -> None:
    """Each slice has its own four nodes, on the network of the host."""
    submit(fleet, "member", workload("vision", "train", "--slices", "2", "--name", "two-slices"))
    pods = running(fleet, "vision", "jobset.sigs.k8s.io/jobset-name=two-slices", 8)
    assert {each["spec"]["hostNetwork"] for each in pods} == {True}
    assert len({each["spec"]["nodeName"] for each in pods}) == 8


def test_a_gpudirect_job_with_its_daemon_runs(fleet: Cluster) -> None:
    """The job of the hostile table, whose daemon has capabilities and folders of the node."""
    (attempt,) = [each for each in hostile.attempts() if each.title.endswith("a GPUDirect job with its daemon")]
    job: Any = json.loads(json.dumps(attempt.after))
    job["metadata"] = {"name": "gpudirect", "namespace": "language", "labels": {"kueue.x-k8s.io/queue-name": "train"}}
    job["spec"] |= {"parallelism": 2, "completions": 2}
    submit(fleet, "other", json.dumps(job))
    pods = running(fleet, "language", "batch.kubernetes.io/job-name=gpudirect", 2)
    folders = [sum("hostPath" in volume for volume in each["spec"]["volumes"]) for each in pods]
    assert folders == [4, 4]


def test_a_ray_job_runs_with_its_operator(fleet: Cluster) -> None:
    """The operator creates a RayCluster, its head and workers, and the job that submits."""
    if not fleet.serves("rayjobs.ray.io"):
        pytest.skip("the cluster has no KubeRay operator")
    submit(fleet, "member", workload("vision", "l4", "--kind", "rayjob", "--name", "tune", "--pods", "2", *RAY))
    try:
        pods = running(fleet, "vision", "ray.io/cluster", 3)
        assert sorted(each["metadata"]["labels"]["ray.io/node-type"] for each in pods) == ["head", "worker", "worker"]
    finally:
        fleet.kubectl("delete", "rayjob", "tune", "-n", "vision")


def test_the_operator_cannot_create_the_pods_of_a_hostile_ray_job(fleet: Cluster) -> None:
    if not fleet.serves("rayjobs.ray.io"):
        pytest.skip("the cluster has no KubeRay operator")
    documents = yaml.safe_load_all(workload("vision", "l4", "--kind", "rayjob", "--name", "evil", *RAY))
    (ray,) = [each for each in documents if each["kind"] == "RayJob"]
    ray["spec"]["rayClusterSpec"]["headGroupSpec"]["template"]["spec"]["hostPID"] = True
    submit(fleet, "member", json.dumps(ray))
    try:
        until("a refused head", lambda: warnings(fleet, "vision"), lambda texts: any("hostPID" in t for t in texts))
        assert [pod for pod in pods_of(fleet, "vision", "ray.io/node-type=head") if "evil" in str(pod)] == []
    finally:
        fleet.kubectl("delete", "rayjob", "evil", "-n", "vision")


def workload(*words: str) -> str:
    """What `berth workload` prints for the fleet."""
    team, queue, *options = words
    return output([*BERTH, "workload", FLEET, team, queue, *options], ROOT)


def submit(cluster: Cluster, who: str, manifest: str) -> None:
    """Create the objects as one of the table's people."""
    identity = hostile.IDENTITIES[who]
    words = [word for group in identity.groups for word in ("--as-group", group)]
    cluster.kubectl("--as", identity.user, *words, "create", "-f", "-", given=manifest)


def running(cluster: Cluster, namespace: str, selector: str, count: int) -> list[dict[str, Any]]:
    """Wait until so many pods of the selector run, and return them."""
    return until(
        f"{count} pods of {selector}",
        lambda: [
            each for each in pods_of(cluster, namespace, selector) if each.get("status", {}).get("phase") == "Running"
        ],
        lambda pods: len(pods) == count,
    )


def pods_of(cluster: Cluster, namespace: str, selector: str) -> list[dict[str, Any]]:
    return cluster.get("pods", "-n", namespace, "-l", selector)["items"]


def warnings(cluster: Cluster, namespace: str) -> list[str]:
    """The messages of the namespace's warning events."""
    events = cluster.get("events", "-n", namespace, "--field-selector", "type=Warning")["items"]
    return [each["message"] for each in events]
