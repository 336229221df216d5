"""Ordinary use beside the attacks: what the admission policies must let pass, on the same fleet and cluster."""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Iterator
from copy import deepcopy
from typing import Any

import pytest
from msgspec.structs import replace

from berth.manifests.policies import admission_policies
from berth.manifests.workloads.objects import workload_manifests
from berth.workloads.derive import derive_workload
from berth.workloads.options import WorkloadOptions
from tests.e2e.support import hostile_fleet
from tests.e2e.support.attacks import (
    GPU,
    GRACE,
    LENDER,
    MEMBER,
    SERVER,
    TPU,
    World,
    deployment,
    job,
    job_set,
    plan,
    pod,
    world,
)
from tests.e2e.support.attacks_of_pods import app_wrapper, ray_job, train_job
from tests.e2e.support.attacks_of_services import leader_worker_set
from tests.e2e.support.cluster import Cluster, until

Manifest = dict[str, Any]
_OF_GRACE = ("berth-grace", "berth-submission")
"""The objects that change when the policy of grace periods only warns."""
_ACCELERATOR = "cloud.google.com/gke-accelerator"
_TPU_NODES = {
    "cloud.google.com/gke-tpu-accelerator": "tpu-v5-lite-podslice",
    "cloud.google.com/gke-tpu-topology": "2x4",
}


@pytest.fixture(scope="module")
def fleet(cluster: Cluster) -> Iterator[World]:
    """Provide the fleet of three teams on the cluster."""
    with world(cluster) as made:
        yield made


@pytest.fixture(autouse=True)
def _empty(fleet: World) -> None:
    fleet.clear()


def _taken(fleet: World, done: bool) -> None:
    assert done, fleet.refusals


@pytest.mark.parametrize("policy", ["Background", "Foreground"])
def test_a_deleted_job_takes_its_pods_along(policy: str, fleet: World) -> None:
    _taken(fleet, fleet.tries(MEMBER, job("vision", "plain", 4)))
    assert fleet.waits_for_pods("vision", 4)
    _taken(fleet, fleet.tries_to_delete(MEMBER, "Job", "vision", "plain", {"propagationPolicy": policy}))
    until("no pods", lambda: fleet.running("vision"), lambda left: not left)
    until("no job", lambda: fleet.api.list("Job", "vision"), lambda left: not left)


def test_a_checkpoint_within_the_grace_period_is_written(fleet: World) -> None:
    _taken(fleet, fleet.tries(MEMBER, job("vision", "saves", 16, pod={"terminationGracePeriodSeconds": int(GRACE)})))
    assert fleet.waits_for_pods("vision", 16)
    _taken(fleet, fleet.tries(LENDER, job("speech", "lends", 8)))
    time.sleep(GRACE / 2)
    assert len(fleet.running("vision")) == 16, "the pods lost their grace period"
    assert fleet.waits_for_pods("speech", 8, seconds=GRACE)


def test_exclusive_topology_gives_each_job_a_slice(fleet: World) -> None:
    annotations = {"alpha.jobset.sigs.k8s.io/exclusive-topology": "cloud.google.com/gke-nodepool"}
    slices = job_set(
        "speech", "slices", 2, pods=2, gpus=4, resource=TPU, queue="slices", annotations=annotations,
        pod={"nodeSelector": _TPU_NODES},
    )  # fmt: skip
    _taken(fleet, fleet.tries(LENDER, slices))
    assert fleet.waits_for_pods("speech", 4), fleet.api.list("Workload", "speech")
    nodes = [each["spec"]["nodeName"] for each in fleet.running("speech")]
    assert len(set(nodes)) == 4


def test_exclusive_topology_gives_each_job_a_domain_of_gpus(fleet: World) -> None:
    """Other JobSets keep out of the domain, also those of the same team, as JobSet says, and no policy says no."""
    annotations = {"alpha.jobset.sigs.k8s.io/exclusive-topology": "cloud.google.com/gke-nodepool"}
    nodes = {"nodeSelector": {"cloud.google.com/gke-accelerator": "nvidia-gb200"}}
    racks = job_set("speech", "racks", 2, pods=2, gpus=4, queue="gb200", annotations=annotations, pod=nodes)
    _taken(fleet, fleet.tries(LENDER, racks))
    assert fleet.waits_for_pods("speech", 4, seconds=30), fleet.api.list("Workload", "speech")
    pools = {(_job(each), _pool(each)) for each in fleet.running("speech")}
    assert len(pools) == 2, pools
    assert len({pool for _, pool in pools}) == 2, pools


def test_a_train_job_runs_with_its_controller(fleet: World) -> None:
    """Trainer makes a JobSet of it, by a runtime of the platform."""
    if not fleet.serves("TrainJob"):
        pytest.skip("the cluster has no Trainer")
    _taken(fleet, fleet.tries(MEMBER, train_job("tunes", 4)))
    assert fleet.waits_for_pods("vision", 4, "tunes", seconds=40), fleet.api.list("Workload", "vision")
    _taken(fleet, fleet.tries_to_delete(MEMBER, "TrainJob", "vision", "tunes"))
    until("no pods", lambda: fleet.running("vision"), lambda left: not left)


@pytest.mark.parametrize("wrapped", [job("vision", "inner", 4), ray_job("inner", 3)], ids=["Job", "RayJob"])
def test_an_app_wrapper_runs_what_it_wraps(wrapped: Manifest, fleet: World) -> None:
    """Kueue admits the AppWrapper, whose controller creates the job; the job alone is not queued once more."""
    if not fleet.serves("AppWrapper") or not fleet.serves(wrapped["kind"]):
        pytest.skip("the cluster has no AppWrapper")
    _taken(fleet, fleet.tries(MEMBER, app_wrapper("outer", deepcopy(wrapped))))
    assert fleet.waits_for_pods("vision", 4, "inner", seconds=40), fleet.api.list("Workload", "vision")
    assert len(fleet.api.list("Workload", "vision")) == 1
    _taken(fleet, fleet.tries_to_delete(MEMBER, "AppWrapper", "vision", "outer", {"propagationPolicy": "Background"}))
    until("no pods", lambda: fleet.running("vision"), lambda left: not left)


@pytest.mark.parametrize("kind", ["job", "rayjob", "raycluster"])
def test_a_workload_of_a_queue_with_both_kinds_of_machines_runs(kind: str, fleet: World) -> None:
    """The head of a Ray cluster has no accelerator, so it gets a machine without."""
    command = ("python", "tune.py") if kind == "rayjob" else ()
    options = WorkloadOptions(kind=kind, flavor="l4", pods=2, image="x", command=command)
    made = derive_workload(plan(), "speech", "mixed", options)
    assert made.workload is not None, made.problems
    *others, running = workload_manifests(made.workload)
    if not fleet.serves(str(running["kind"])):
        pytest.skip(f"the cluster has no {kind}")
    for each in (*others, running):
        _taken(fleet, fleet.tries(LENDER, each))
    assert fleet.waits_for_pods("speech", 2 if kind == "job" else 3, seconds=60), fleet.api.list("Workload", "speech")
    for each in fleet.running("speech"):
        limits = each["spec"]["containers"][0]["resources"]["limits"]
        assert (_ACCELERATOR in each["spec"]["nodeSelector"]) is (GPU in limits)


def test_a_cpu_job_runs_in_a_fleet_without_cpu_pools(fleet: World) -> None:
    _taken(fleet, fleet.tries(MEMBER, job("vision", "prepares", 2, 0)))
    assert fleet.waits_for_pods("vision", 2)


def test_a_job_mounts_cloud_storage(fleet: World) -> None:
    volumes = [
        {"name": "bucket", "csi": {"driver": "gcsfuse.csi.storage.gke.io", "volumeAttributes": {"bucketName": "b"}}},
        {"name": "scratch", "emptyDir": {}},
    ]
    _taken(fleet, fleet.tries(MEMBER, job("vision", "reads", 1, pod={"volumes": volumes})))
    assert fleet.waits_for_pods("vision", 1)


def test_a_deployment_rolls_and_scales(fleet: World) -> None:
    _taken(fleet, fleet.tries(SERVER, deployment("language", "server", 2)))
    assert fleet.waits_for_pods("language", 2)
    image = {"spec": {"template": {"spec": {"containers": [{"name": "main", "image": "y"}]}}}}
    limits = deployment("language", "server", 2)["spec"]["template"]["spec"]["containers"][0]["resources"]
    image["spec"]["template"]["spec"]["containers"][0]["resources"] = limits
    _taken(fleet, fleet.tries_to_patch(SERVER, "Deployment", "language", "server", image))
    until("the new image", lambda: _images(fleet, "language"), lambda images: images == ["y", "y"])
    _taken(fleet, fleet.tries_to_patch(SERVER, "Deployment", "language", "server", {"spec": {"replicas": 3}}))
    until("three pods", lambda: _images(fleet, "language"), lambda images: images == ["y"] * 3)


def test_a_stateful_set_starts_and_stops(fleet: World) -> None:
    made = deployment("language", "state", 2)
    made["kind"] = "StatefulSet"
    made["spec"]["serviceName"] = "state"
    _taken(fleet, fleet.tries(SERVER, made))
    assert fleet.waits_for_pods("language", 2)
    _taken(fleet, fleet.tries_to_patch(SERVER, "StatefulSet", "language", "state", {"spec": {"replicas": 0}}))
    until("no pods", lambda: fleet.running("language"), lambda left: not left)


def test_a_suspended_job_is_widened_and_runs(fleet: World) -> None:
    _taken(fleet, fleet.tries(LENDER, job("speech", "first", 16)))
    assert fleet.waits_for_pods("speech", 16)
    spec = {"completions": None, "completionMode": "NonIndexed"}
    _taken(
        fleet,
        fleet.tries(
            MEMBER, job("vision", "waits", 8, spec=spec, metadata={"labels": {"kueue.x-k8s.io/queue-name": "l4"}})
        ),
    )
    time.sleep(1)
    _taken(fleet, fleet.tries_to_patch(MEMBER, "Job", "vision", "waits", {"spec": {"parallelism": 4}}))
    _taken(fleet, fleet.tries_to_patch(MEMBER, "Job", "vision", "waits", {"spec": {"parallelism": 6}}))
    fleet.tries_to_delete(LENDER, "Job", "speech", "first", {"propagationPolicy": "Background"})
    assert fleet.waits_for_pods("vision", 6, seconds=40)


def test_an_elastic_job_grows_through_kueue(fleet: World) -> None:
    metadata = {
        "labels": {"kueue.x-k8s.io/queue-name": "l4"},
        "annotations": {"kueue.x-k8s.io/elastic-job": "true"},
    }
    spec = {"completions": None, "completionMode": "NonIndexed"}
    _taken(fleet, fleet.tries(MEMBER, job("vision", "elastic", 2, spec=spec, metadata=metadata)))
    assert fleet.waits_for_pods("vision", 2)
    _taken(fleet, fleet.tries_to_patch(MEMBER, "Job", "vision", "elastic", {"spec": {"parallelism": 4}}))
    assert fleet.waits_for_pods("vision", 4, seconds=30)


def test_a_team_deletes_its_finished_workload(fleet: World) -> None:
    _taken(fleet, fleet.tries(MEMBER, job("vision", "ends", 1)))
    assert fleet.waits_for_pods("vision", 1)
    (running,) = fleet.api.list("Workload", "vision")
    name = running["metadata"]["name"]
    assert not fleet.tries_to_delete(MEMBER, "Workload", "vision", name)
    assert "delete the job" in fleet.refusals[-1]
    for each in fleet.running("vision"):
        fleet.api.patch("Pod", "vision", f"{each['metadata']['name']}/status", {"status": {"phase": "Succeeded"}})
    until("the end", lambda: fleet.api.list("Workload", "vision"), _is_finished)
    _taken(fleet, fleet.tries_to_delete(MEMBER, "Workload", "vision", name))


def test_a_jobset_of_more_jobs_than_pod_sets_is_refused_and_not_retried(fleet: World) -> None:
    made = job_set("vision", "wide", 1)
    (part,) = made["spec"]["replicatedJobs"]
    made["spec"]["replicatedJobs"] = [{**part, "name": f"part-{number}"} for number in range(30)]
    assert not fleet.tries(MEMBER, made)
    assert "at most 18 pod sets" in fleet.refusals[-1]
    made["spec"]["replicatedJobs"] = made["spec"]["replicatedJobs"][:4]
    _taken(fleet, fleet.tries(MEMBER, made))
    assert fleet.waits_for_pods("vision", 4)


def test_the_head_of_a_shared_queue_cannot_be_one_that_never_fits(fleet: World) -> None:
    pods = {"nodeSelector": _TPU_NODES}
    wide = job_set("vision", "never", 3, pods=2, gpus=4, resource=TPU, queue="slices", pod=pods)
    assert not fleet.tries(MEMBER, wide)
    assert "than its queue can ever admit" in fleet.refusals[-1]
    urgent = job_set("vision", "urgent", 1, pods=2, gpus=4, resource=TPU, queue="slices", pod=pods)
    urgent["metadata"]["labels"]["kueue.x-k8s.io/priority-class"] = "high"
    assert not fleet.tries(MEMBER, urgent)
    assert "evicts jobs of others" in fleet.refusals[-1]
    del urgent["metadata"]["labels"]["kueue.x-k8s.io/priority-class"]
    _taken(fleet, fleet.tries(MEMBER, urgent))
    assert fleet.waits_for_pods("vision", 2)


def test_a_policy_that_only_warns_lets_the_job_run_and_says_so(fleet: World) -> None:
    policies = plan().policies
    assert policies is not None
    made = {
        name: hostile_fleet.stream([each for _, each in admission_policies(which) if _is_of(each, _OF_GRACE)])
        for name, which in (("deny", policies), ("warn", replace(policies, audited={"grace": "2027-01-31"})))
    }
    long = {"terminationGracePeriodSeconds": 100_000_000}
    user = ["--as", MEMBER.user, *(word for group in MEMBER.groups for word in ("--as-group", group))]
    words = ["kubectl", "--context", fleet.cluster.context, *user, "create", "-f", "-"]
    try:
        fleet.cluster.kubectl("apply", "-f", "-", given=made["warn"])
        time.sleep(3)
        text = json.dumps(job("vision", "warned", 1, pod=long))
        ended = subprocess.run(words, input=text, text=True, capture_output=True, check=True)
        assert "'berth-grace'" in ended.stderr and "longest grace period" in ended.stderr
        assert fleet.waits_for_pods("vision", 1)
    finally:
        fleet.cluster.kubectl("apply", "-f", "-", given=made["deny"])
        time.sleep(3)
    assert not fleet.tries(MEMBER, job("vision", "refused", 1, pod=long))
    assert "longest grace period" in fleet.refusals[-1]


def test_a_leader_worker_set_starts_grows_and_ends(fleet: World) -> None:
    if not fleet.serves("LeaderWorkerSet"):
        pytest.skip("the cluster has no LeaderWorkerSet")
    _taken(fleet, fleet.tries(SERVER, leader_worker_set("serves", 1)))
    assert fleet.waits_for_pods("language", 2)
    _taken(
        fleet, fleet.tries_to_patch(SERVER, "LeaderWorkerSet", "language", "serves/scale", {"spec": {"replicas": 3}})
    )
    assert fleet.waits_for_pods("language", 6)
    _taken(fleet, fleet.tries_to_delete(SERVER, "LeaderWorkerSet", "language", "serves"))
    until("no pods", lambda: fleet.running("language"), lambda left: not left)


def test_exclusive_topology_gives_each_pod_a_node(fleet: World) -> None:
    annotations = {"alpha.jobset.sigs.k8s.io/exclusive-topology": "kubernetes.io/hostname"}
    _taken(fleet, fleet.tries(LENDER, job_set("speech", "alone", 2, gpus=2, annotations=annotations)))
    assert fleet.waits_for_pods("speech", 2)
    assert len({each["spec"]["nodeName"] for each in fleet.running("speech")}) == 2


def test_an_object_of_the_largest_size_is_within_the_budget_of_expressions(fleet: World) -> None:
    """The API server refuses a request whose expressions cost too much."""
    containers = [
        {
            "name": f"c{n}",
            "image": "x",
            "env": [{"name": f"a{e}", "value": "b"} for e in range(20)],
            "resources": {"limits": {"cpu": "10m"}},
        }
        for n in range(40)
    ]
    volumes = [{"name": f"v{n}", "emptyDir": {}} for n in range(200)]
    term = {"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": {"app": "x"}}}
    affinity = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term] * 50}}
    spec = pod(0, containers=containers, volumes=volumes, affinity=affinity)
    made = job_set("vision", "large", 1)
    (part,) = made["spec"]["replicatedJobs"]
    made["spec"]["replicatedJobs"] = [{**part, "name": f"part-{n}"} for n in range(18)]
    for each in made["spec"]["replicatedJobs"]:
        each["template"] = {"spec": {"template": {"spec": spec}}}
    _taken(fleet, fleet.tries(MEMBER, made))


def _is_of(manifest: Manifest, policies: tuple[str, ...]) -> bool:
    return manifest["metadata"]["name"] in policies


def _job(pod: Manifest) -> str:
    return pod["metadata"]["labels"]["batch.kubernetes.io/job-name"]


def _pool(pod: Manifest) -> str:
    """Return the node pool of a pod's node, by the name of the node."""
    return next(name for name in ("rack-1", "rack-2") if name in pod["spec"]["nodeName"])


def _images(fleet: World, namespace: str) -> list[str]:
    return [
        each["spec"]["containers"][0]["image"]
        for each in fleet.running(namespace)
        if "deletionTimestamp" not in each["metadata"]
    ]


def _is_finished(workloads: list[Manifest]) -> bool:
    conditions = [c for each in workloads for c in each.get("status", {}).get("conditions", [])]
    return any(c["type"] == "Finished" and c["status"] == "True" for c in conditions)
