"""Attacks by services and by jobs of operators, and those that end or stop a job rather than delete it.

A LeaderWorkerSet needs its controller. Of PyTorchJob and RayCluster only the definitions are needed, as the policies
refuse them before an operator sees them. Without the policies KubeRay runs, and the attack does what Kubeflow's does.
"""

from __future__ import annotations

import time
from functools import partial
from typing import Any, Final

from tests.e2e.support.attacks import MEMBER, SERVER, World, attack, deployment, job, job_set, pod
from tests.e2e.support.cluster import until

Manifest = dict[str, Any]
KINDS: Final = ("AppWrapper", "LeaderWorkerSet", "PyTorchJob", "RayCluster", "RayJob", "TrainJob")
"""Kinds that a cluster may lack; titles of attacks name them."""
_QUEUE: Final = {"kueue.x-k8s.io/queue-name": "l4"}
_LONG: Final = 100_000_000


def leader_worker_set(name: str, replicas: int, size: int = 2, gpus: int = 1, **changes: Any) -> Manifest:
    """Return a LeaderWorkerSet in the queue l4; `annotations` are its template's, `pod` is laid over its pods."""
    template = {
        "metadata": {"annotations": changes.get("annotations", {}), "labels": changes.get("labels", {})},
        "spec": pod(gpus, restartPolicy="Always", **changes.get("pod", {})),
    }
    return {
        "apiVersion": "leaderworkerset.x-k8s.io/v1",
        "kind": "LeaderWorkerSet",
        "metadata": {"name": name, "namespace": "language", "labels": _QUEUE},
        "spec": {
            "replicas": replicas,
            "rolloutStrategy": {"type": "RollingUpdate"},
            "leaderWorkerTemplate": {"size": size, "workerTemplate": template},
        },
    }


def stateful_set(name: str, replicas: int) -> Manifest:
    """Return a StatefulSet in the queue l4, whose pods start together."""
    made = deployment("language", name, replicas)
    made["kind"] = "StatefulSet"
    made["spec"] |= {"serviceName": name, "podManagementPolicy": "Parallel"}
    return made


@attack("StatefulSets scaled by the subresource scale, which Kueue's webhook does not see")
def _scale(fleet: World) -> None:
    for number in range(4):
        if fleet.tries(SERVER, stateful_set(f"state-{number}", 4)):
            fleet.waits_for_pods("language", 4, f"state-{number}", 15)
            fleet.tries_to_patch(SERVER, "StatefulSet", "language", f"state-{number}/scale", {"spec": {"replicas": 5}})
            time.sleep(2)


@attack("exclusive topology of a JobSet with one L4 in a pool of 8 nodes")
def _exclusive_pool(fleet: World) -> None:
    annotations = {"alpha.jobset.sigs.k8s.io/exclusive-topology": "cloud.google.com/gke-nodepool"}
    fleet.tries(MEMBER, job_set("vision", "alone", 1, annotations=annotations))
    fleet.waits_for_pods("vision", 1, seconds=8)


@attack("JobSets that end with the first of their jobs, whose other pods take their grace period")
def _ended(fleet: World) -> None:
    for number in range(6):
        made = job_set("vision", f"ends-{number}", 4, pod={"terminationGracePeriodSeconds": 30})
        made["spec"]["successPolicy"] = {"operator": "Any"}
        if fleet.tries(MEMBER, made) and fleet.waits_for_pods("vision", 4, f"ends-{number}", 10):
            first = fleet.running("vision", f"ends-{number}")[0]["metadata"]["name"]
            fleet.api.patch("Pod", "vision", f"{first}/status", {"status": {"phase": "Succeeded"}})
            time.sleep(1)


@attack("a job suspended and widened by hand, toggled for 40 s, with the longest allowed grace period")
def _suspended(fleet: World) -> None:
    spec = {"completions": None, "completionMode": "NonIndexed"}
    fleet.tries(MEMBER, job("vision", "stops", 4, spec=spec, pod={"terminationGracePeriodSeconds": 30}))
    fleet.waits_for_pods("vision", 4)
    end = time.monotonic() + 40
    while time.monotonic() < end:
        fleet.tries_to_patch(MEMBER, "Job", "vision", "stops", {"spec": {"suspend": True}})
        time.sleep(0.05)
        for pods in (16, 4):
            fleet.tries_to_patch(MEMBER, "Job", "vision", "stops", {"spec": {"parallelism": pods}})
            time.sleep(1)


@attack("a PyTorchJob that leaves its workers when it ends")
def _workers_left(fleet: World) -> None:
    spec = {**pod(1, restartPolicy="Always")}
    spec["containers"][0]["name"] = "pytorch"
    roles = {"Worker": {"replicas": 4, "template": {"spec": spec}}}
    for number, policy in enumerate(({}, {"cleanPodPolicy": "None"}) * 2):
        name = f"leaves-{number}"
        metadata = {"name": name, "namespace": "vision", "labels": _QUEUE}
        made = {"apiVersion": "kubeflow.org/v1", "kind": "PyTorchJob", "metadata": metadata}
        taken = fleet.tries(MEMBER, made | {"spec": {"runPolicy": policy, "pytorchReplicaSpecs": roles}})
        assert not (taken and fleet.with_policies), "the operator leaves pods that Kueue no longer counts"
        if taken:
            _operated(fleet, name)


def _operated(fleet: World, name: str) -> None:
    """Do what the operator of Kubeflow does: start the workers once Kueue lets it, and leave them when the job ends."""
    jobs = partial(fleet.api.list, "PyTorchJob", "vision")
    (made,) = until("an admitted job", lambda: [each for each in jobs() if _starts(each, name)], bool)
    owner = {"apiVersion": made["apiVersion"], "kind": made["kind"], "name": name, "uid": made["metadata"]["uid"]}
    placed = made["spec"]["pytorchReplicaSpecs"]["Worker"]["template"]["spec"]
    for number in range(4):
        metadata = {
            "name": f"{name}-{number}",
            "namespace": "vision",
            "ownerReferences": [owner | {"controller": True}],
        }
        fleet.api.create({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": placed})
    fleet.waits_for_pods("vision", 4, name)
    ended = {"type": "Succeeded", "status": "True", "reason": "x", "message": ""}
    fleet.api.patch("PyTorchJob", "vision", f"{name}/status", {"status": {"conditions": [ended]}})


def _starts(made: Manifest, name: str) -> bool:
    return made["metadata"]["name"] == name and made["spec"]["runPolicy"].get("suspend") is False


@attack("a RayCluster whose workers Kueue does not count")
def _least_replicas(fleet: World) -> None:
    group = {"groupName": "w", "replicas": 0, "minReplicas": 16, "maxReplicas": 16, "rayStartParams": {}}
    head = {"rayStartParams": {}, "template": {"spec": pod(0, restartPolicy="Always")}}
    spec = {
        "headGroupSpec": head,
        "workerGroupSpecs": [{**group, "template": {"spec": pod(1, restartPolicy="Always")}}],
    }
    metadata = {"name": "ray", "namespace": "vision", "labels": _QUEUE}
    taken = fleet.tries(MEMBER, {"apiVersion": "ray.io/v1", "kind": "RayCluster", "metadata": metadata, "spec": spec})
    assert not (taken and fleet.with_policies), "KubeRay starts 16 workers, of which Kueue counts none"
    if taken:
        fleet.waits_for_pods("vision", 17, "ray")


@attack("LeaderWorkerSets deleted with Orphan, four times")
def _orphaned_groups(fleet: World) -> None:
    for number in range(4):
        if fleet.tries(SERVER, leader_worker_set(f"group-{number}", 2)):
            fleet.waits_for_pods("language", 4, f"group-{number}", 15)
            options = {"propagationPolicy": "Orphan"}
            fleet.tries_to_delete(SERVER, "LeaderWorkerSet", "language", f"group-{number}", options)
            time.sleep(1)


@attack("a LeaderWorkerSet with a grace period of three years")
def _long_groups(fleet: World) -> None:
    if fleet.tries(SERVER, leader_worker_set("long", 8, pod={"terminationGracePeriodSeconds": _LONG})):
        fleet.waits_for_pods("language", 16)


@attack("a LeaderWorkerSet that is updated while it waits for quota")
def _updated_groups(fleet: World) -> None:
    fleet.tries(MEMBER, job("vision", "first", 16))
    fleet.waits_for_pods("vision", 16)
    fleet.tries(SERVER, leader_worker_set("waits", 4, 4))
    time.sleep(2)
    new = leader_worker_set("waits", 4, 4, labels={"version": "2"})
    template = {"leaderWorkerTemplate": new["spec"]["leaderWorkerTemplate"]}
    fleet.tries_to_patch(SERVER, "LeaderWorkerSet", "language", "waits", {"spec": template})
    fleet.tries_to_delete(MEMBER, "Job", "vision", "first", {"propagationPolicy": "Background"})
    fleet.waits_for_pods("language", 16, seconds=15)


@attack("a planted role hash in a LeaderWorkerSet")
def _hash_of_group(fleet: World) -> None:
    fleet.tries(SERVER, leader_worker_set("hash", 4, annotations={"kueue.x-k8s.io/role-hash": "same"}))
    fleet.waits_for_pods("language", 8, seconds=5)


@attack("a LeaderWorkerSet scaled up and down for 40 s, with the longest allowed grace period")
def _scaled_groups(fleet: World) -> None:
    fleet.tries(SERVER, leader_worker_set("scales", 2, pod={"terminationGracePeriodSeconds": 30}))
    fleet.waits_for_pods("language", 4)
    end = time.monotonic() + 40
    while time.monotonic() < end:
        for replicas in (0, 2):
            fleet.tries_to_patch(
                SERVER, "LeaderWorkerSet", "language", "scales/scale", {"spec": {"replicas": replicas}}
            )
            time.sleep(2)
