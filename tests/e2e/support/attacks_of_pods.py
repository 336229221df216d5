"""Attacks by what pods have besides containers, by identities, by rollouts, and by objects of other operators.

What a simulated node does not do is not here: it runs no preStop hook, mounts nothing, and resizes no container.
"""

from __future__ import annotations

import time
from typing import Any

from tests.e2e.support.attacks import ACCOUNT, GPU, LENDER, MEMBER, SERVER, World, attack, job, job_set, pod
from tests.e2e.support.attacks_of_services import leader_worker_set
from tests.hostile import RUNTIME, Identity

Manifest = dict[str, Any]
_BACKGROUND = {"propagationPolicy": "Background"}
_ORPHAN = {"propagationPolicy": "Orphan"}
_QUEUE = {"kueue.x-k8s.io/queue-name": "l4"}
_LIMITS = {"limits": {GPU: 1}, "requests": {"cpu": "10m", "memory": "16Mi", GPU: 1}}


def app_wrapper(name: str, *wrapped: Manifest, **metadata: Any) -> Manifest:
    """Return an AppWrapper in the queue l4 of vision."""
    components = [{"template": each} for each in wrapped]
    for each in wrapped:
        each["metadata"].pop("labels", None)
    return {
        "apiVersion": "workload.codeflare.dev/v1beta2",
        "kind": "AppWrapper",
        "metadata": {"name": name, "namespace": "vision", "labels": _QUEUE, **metadata},
        "spec": {"components": components},
    }


def ray_cluster(name: str, workers: int, **spec: Any) -> Manifest:
    """Return a RayCluster of workers with one L4; its head has none."""
    head = {"rayStartParams": {}, "template": {"spec": pod(0, restartPolicy="Always")}}
    group = {
        "groupName": "w",
        "replicas": workers,
        "minReplicas": workers,
        "maxReplicas": workers,
        "rayStartParams": {},
    }
    return {
        "apiVersion": "ray.io/v1",
        "kind": "RayCluster",
        "metadata": {"name": name, "namespace": "vision", "labels": _QUEUE},
        "spec": {
            "headGroupSpec": head,
            "workerGroupSpecs": [{**group, "template": {"spec": pod(1, restartPolicy="Always")}}],
            **spec,
        },
    }


def ray_job(name: str, workers: int, **spec: Any) -> Manifest:
    """Return a RayJob without a pod that submits it."""
    made = ray_cluster(name, workers)
    made["kind"] = "RayJob"
    cluster = made.pop("spec")
    made["spec"] = {
        "entrypoint": "x",
        "submissionMode": "HTTPMode",
        "shutdownAfterJobFinishes": True,
        "rayClusterSpec": cluster,
        **spec,
    }
    return made


def train_job(name: str, nodes: int) -> Manifest:
    """Return a TrainJob of the platform's runtime."""
    return {
        "apiVersion": "trainer.kubeflow.org/v1alpha1",
        "kind": "TrainJob",
        "metadata": {"name": name, "namespace": "vision", "labels": _QUEUE},
        "spec": {
            "runtimeRef": {"name": RUNTIME["metadata"]["name"]},
            "trainer": {"image": "x", "numNodes": nodes, "resourcesPerNode": {"limits": {GPU: 1}}},
        },
    }


# --- parts of pods ----------------------------------------------------------------------------------------------------


@attack("sidecars with accelerators beside containers with accelerators")
def _sidecars(fleet: World) -> None:
    sidecar = {"name": "side", "image": "x", "restartPolicy": "Always", "resources": _LIMITS}
    fleet.tries(MEMBER, job("vision", "sides", 4, pod={"initContainers": [sidecar]}))
    fleet.waits_for_pods("vision", 4)
    time.sleep(5)


@attack("an account adds containers to pods that run, and cores")
def _added(fleet: World) -> None:
    fleet.tries(MEMBER, job("vision", "plain", 4))
    fleet.waits_for_pods("vision", 4)
    for each in fleet.running("vision"):
        name = each["metadata"]["name"]
        debug = {"name": "debug", "image": "x", "resources": _LIMITS}
        patch: Manifest = {"spec": {"ephemeralContainers": [debug]}}
        fleet.tries_to_patch(ACCOUNT, "Pod", "vision", f"{name}/ephemeralcontainers", patch)
        (main,) = each["spec"]["containers"]
        main["resources"]["requests"]["cpu"] = "200m"
        fleet.tries_to_patch(ACCOUNT, "Pod", "vision", f"{name}/resize", {"spec": {"containers": [main]}})
    time.sleep(5)


# --- identities -------------------------------------------------------------------------------------------------------

_CONTROLLER = "system:serviceaccount:kube-system:job-controller"


@attack("an account asks for tokens of controllers, and acts in their name")
def _tokens(fleet: World) -> None:
    fleet.tries(MEMBER, job("vision", "plain", 4))
    fleet.waits_for_pods("vision", 4)
    request = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}
    for account in ("kube-system/serviceaccounts/job-controller", "kueue-system/serviceaccounts/default"):
        path = f"api/v1/namespaces/{account}/token"
        assert not fleet.sends(lambda path=path: fleet.api.call("POST", path, request, ACCOUNT))
    for resource in (
        {"resource": "users", "name": _CONTROLLER},
        {"resource": "serviceaccounts", "namespace": "kube-system", "name": "job-controller"},
    ):
        review = {
            "apiVersion": "authorization.k8s.io/v1",
            "kind": "SelfSubjectAccessReview",
            "spec": {"resourceAttributes": {"verb": "impersonate", **resource}},
        }
        path = "apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
        assert not fleet.api.call("POST", path, review, ACCOUNT)["status"]["allowed"]
    # Its own account, in whose name a pod is made, is still one of the team.
    own = {**pod(1), "serviceAccountName": "default", "nodeSelector": {"cloud.google.com/gke-accelerator": "nvidia-l4"}}
    metadata = {"name": "bare", "namespace": "vision"}
    named = Identity("system:serviceaccount:vision:default", ("system:serviceaccounts:vision",))
    for who in (ACCOUNT, named):
        fleet.tries(who, {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": own})
    time.sleep(3)


# --- rollouts ---------------------------------------------------------------------------------------------------------


@attack("a LeaderWorkerSet that is updated while it runs, with as many groups beside it")
def _surge(fleet: World) -> None:
    made = leader_worker_set("rolls", 2, pod={"terminationGracePeriodSeconds": 30})
    made["spec"]["rolloutStrategy"] = {
        "type": "RollingUpdate",
        "rollingUpdateConfiguration": {"maxSurge": 2, "maxUnavailable": 2},
    }
    fleet.tries(SERVER, made)
    fleet.waits_for_pods("language", 4)
    for number in range(4):
        new = leader_worker_set("rolls", 2, labels={"version": str(number)})
        template = {"leaderWorkerTemplate": new["spec"]["leaderWorkerTemplate"]}
        fleet.tries_to_patch(SERVER, "LeaderWorkerSet", "language", "rolls", {"spec": template})
        time.sleep(5)


# --- what operators make ----------------------------------------------------------------------------------------------


def _kept(fleet: World, made: Manifest, pods: int) -> None:
    name = made["metadata"]["name"]
    if fleet.tries(MEMBER, made):
        fleet.waits_for_pods("vision", pods, name, 30)
        fleet.tries_to_delete(MEMBER, made["kind"], "vision", name, _ORPHAN)
        time.sleep(2)


@attack("an AppWrapper of a job, and one of a RayJob, deleted with Orphan")
def _orphaned_wrappers(fleet: World) -> None:
    for number in range(2):
        _kept(fleet, app_wrapper(f"kept-{number}", job("vision", f"kept-{number}", 4)), 4)
    _kept(fleet, app_wrapper("kept-ray", ray_job("kept-ray", 4)), 5)


@attack("an AppWrapper of a job with a grace period of three years, and with a finalizer and another owner")
def _long_wrappers(fleet: World) -> None:
    long = job("vision", "long", 16, pod={"terminationGracePeriodSeconds": 100_000_000})
    fleet.tries(MEMBER, app_wrapper("long", long))
    kept = job("vision", "kept", 16)
    kept["metadata"]["finalizers"] = ["example.com/keep"]
    fleet.tries(MEMBER, app_wrapper("kept", kept))
    fleet.waits_for_pods("vision", 16, seconds=15)
    for name in ("long", "kept"):
        fleet.tries_to_delete(MEMBER, "AppWrapper", "vision", name, _BACKGROUND)


@attack("an AppWrapper of a RayJob whose submitter has accelerators that it does not count")
def _submitters(fleet: World) -> None:
    submitter = {"spec": pod(2)}
    for number in range(4):
        wrapped = ray_job(f"ray-{number}", 0, submissionMode="K8sJobMode", submitterPodTemplate=submitter)
        fleet.tries(MEMBER, app_wrapper(f"ray-{number}", wrapped))
    fleet.waits_for_pods("vision", 4, seconds=15)
    time.sleep(10)


@attack("a job of an AppWrapper that gets more pods")
def _grown_wrapper(fleet: World) -> None:
    spec = {"completions": None, "completionMode": "NonIndexed"}
    fleet.tries(MEMBER, app_wrapper("grows", job("vision", "grows", 4, spec=spec)))
    fleet.waits_for_pods("vision", 4, "grows", 30)
    for _ in range(10):
        fleet.tries_to_patch(MEMBER, "Job", "vision", "grows", {"spec": {"parallelism": 16}})
        time.sleep(1)


@attack("a RayJob deleted with Orphan, and one that grows while it runs")
def _rays(fleet: World) -> None:
    _kept(fleet, ray_job("kept", 3), 4)
    fleet.tries(MEMBER, ray_job("grows", 3))
    fleet.waits_for_pods("vision", 4, "grows", 30)
    for each in fleet.api.list("RayCluster", "vision"):
        groups = each["spec"]["workerGroupSpecs"]
        groups[0] |= {"replicas": 16, "maxReplicas": 16}
        patch = {"spec": {"workerGroupSpecs": groups}}
        fleet.tries_to_patch(MEMBER, "RayCluster", "vision", each["metadata"]["name"], patch)
    time.sleep(10)


@attack("TrainJobs deleted with Orphan, and the JobSet of one that gets more pods")
def _trained(fleet: World) -> None:
    for number in range(2):
        _kept(fleet, train_job(f"kept-{number}", 4), 4)
    fleet.tries(MEMBER, train_job("grows", 4))
    fleet.waits_for_pods("vision", 4, "grows", 30)
    for _ in range(5):
        for kind in ("JobSet", "Job"):
            for each in fleet.api.list(kind, "vision"):
                name = each["metadata"]["name"]
                patch: Manifest = {"spec": {"suspend": True} if kind == "JobSet" else {"parallelism": 16}}
                fleet.tries_to_patch(MEMBER, kind, "vision", name, patch)
        time.sleep(1)


@attack("a JobSet whose parts depend on each other, and end while others take their grace period")
def _depends(fleet: World) -> None:
    made = job_set("vision", "chain", 1, 4, pod={"terminationGracePeriodSeconds": 30})
    first = made["spec"]["replicatedJobs"][0]
    second = {**first, "name": "later", "dependsOn": [{"name": "part", "status": "Complete"}]}
    made["spec"]["replicatedJobs"] = [first, second]
    fleet.tries(LENDER, job("speech", "first", 8))
    fleet.waits_for_pods("speech", 8)
    fleet.tries_to_delete(LENDER, "Job", "speech", "first", _BACKGROUND)
    fleet.tries(MEMBER, made)
    fleet.waits_for_pods("vision", 4, "chain")
    for each in fleet.running("vision", "chain"):
        fleet.api.patch("Pod", "vision", f"{each['metadata']['name']}/status", {"status": {"phase": "Succeeded"}})
    fleet.waits_for_pods("vision", 4, "chain-later", 10)
