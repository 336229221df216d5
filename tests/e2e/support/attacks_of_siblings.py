"""Attacks by what is beside a job: defaults of the namespace, priorities of pods, pods that are deleted one by one."""

from __future__ import annotations

import time
from typing import Any

from tests.e2e.support.attacks import (
    ACCOUNT,
    GPU,
    LENDER,
    MEMBER,
    SERVER,
    SERVICE_ACCOUNT,
    TPU,
    World,
    attack,
    deployment,
    job,
    job_set,
    pod,
)
from tests.e2e.support.attacks_of_services import stateful_set

Manifest = dict[str, Any]
_BACKGROUND = {"propagationPolicy": "Background"}
_LONGEST = {"terminationGracePeriodSeconds": 30}
_L4 = {"cloud.google.com/gke-accelerator": "nvidia-l4"}
_TPU_NODES = {
    "cloud.google.com/gke-tpu-accelerator": "tpu-v5-lite-podslice",
    "cloud.google.com/gke-tpu-topology": "2x4",
}


# --- what is written into pods after Kueue counted their job ----------------------------------------------------------


@attack("an account writes accelerators as the default of later pods of a job without")
def _defaults(fleet: World) -> None:
    fleet.tries(MEMBER, job("vision", "plain", 8, 0, spec={"completions": 16}, pod={"nodeSelector": _L4}))
    fleet.waits_for_pods("vision", 8)
    limits = {"limits": [{"type": "Container", "default": {GPU: "2"}, "defaultRequest": {GPU: "2"}}]}
    metadata = {"name": "late", "namespace": "vision"}
    try:
        fleet.tries(ACCOUNT, {"apiVersion": "v1", "kind": "LimitRange", "metadata": metadata, "spec": limits})
        time.sleep(2)
        for each in fleet.running("vision", "plain"):  # they end, and the job starts others
            status = {"status": {"phase": "Succeeded"}}
            fleet.api.patch("Pod", "vision", f"{each['metadata']['name']}/status", status)
        time.sleep(20)
    finally:
        fleet.cluster.kubectl("delete", "limitrange", "late", "-n", "vision", "--ignore-not-found")


# --- priorities -------------------------------------------------------------------------------------------------------


def _replaced(fleet: World, pods: list[Manifest]) -> list[str]:
    """Return the names of those pods of the lender that are no longer there, or leave."""
    left = {each["metadata"]["uid"] for each in fleet.running("speech") if "deletionTimestamp" not in each["metadata"]}
    return [each["metadata"]["name"] for each in pods if each["metadata"]["uid"] not in left]


@attack("JobSets in a queue of several teams whose pods have a higher priority")
def _urgent_set(fleet: World) -> None:
    machines = {"nodeSelector": _TPU_NODES}
    fleet.tries(LENDER, job_set("speech", "first", 2, 2, 4, queue="slices", resource=TPU, pod=machines))
    fleet.waits_for_pods("speech", 4)
    running = fleet.running("speech")
    for number in range(2):
        urgent = {**machines, "priorityClassName": "high"}
        fleet.tries(MEMBER, job_set("vision", f"urgent-{number}", 1, 2, 4, queue="slices", resource=TPU, pod=urgent))
        time.sleep(4)
    gone = _replaced(fleet, running)
    print(f"{len(gone)} pods of the lender were removed")
    assert not (gone and fleet.with_policies), f"pods of the lender were removed: {gone}"
    fleet.tries_to_delete(LENDER, "JobSet", "speech", "first", _BACKGROUND)


@attack("jobs of a higher priority, deleted and submitted again with the longest grace period")
def _urgent_cycle(fleet: World) -> None:
    fleet.tries(LENDER, job("speech", "first", 8))
    fleet.tries(MEMBER, job("vision", "second", 4))
    fleet.waits_for_pods("speech", 8)
    running = fleet.running("speech")
    for number in range(4):
        urgent = {**_LONGEST, "priorityClassName": "high"}
        fleet.tries(SERVER, job("language", f"urgent-{number}", 4, pod=urgent))
        fleet.waits_for_pods("language", 4, f"urgent-{number}", 5)
        fleet.tries_to_delete(SERVER, "Job", "language", f"urgent-{number}", _BACKGROUND)
    gone = _replaced(fleet, running)
    began = time.monotonic()
    returned = fleet.waits_for_pods("speech", 8, "first", 60)
    print(f"{len(gone)} pods of the lender were removed, and ran again after {time.monotonic() - began:.0f} s")
    assert returned or not fleet.with_policies, "the lender's job does not run again"
    fleet.tries_to_delete(LENDER, "Job", "speech", "first", _BACKGROUND)


# --- pods that are deleted one by one ---------------------------------------------------------------------------------


@attack(
    "pods of a job deleted again and again, also while the lender waits, with the longest grace period", goes_on=True
)
def _deleted_pods(fleet: World) -> None:
    # By index, the job controller replaces a pod after 10 s, then after 20 s; else after 10 s for each earlier one.
    if not fleet.api.list("Job", "vision"):
        fleet.tries(MEMBER, job("vision", "replaces", 4, pod=_LONGEST, spec={"backoffLimitPerIndex": 100}))
        fleet.waits_for_pods("vision", 4, "replaces")
    fleet.tries_to_delete_pods(MEMBER, "vision", "replaces")
    time.sleep(1)


@attack("jobs of a JobSet deleted again and again for 40 s, with the longest grace period")
def _deleted_jobs(fleet: World) -> None:
    fleet.tries(MEMBER, job_set("vision", "parts", 1, 4, pod=_LONGEST))
    fleet.waits_for_pods("vision", 4, "parts")
    end = time.monotonic() + 40
    while time.monotonic() < end:
        for each in fleet.api.list("Job", "vision"):
            fleet.tries_to_delete(MEMBER, "Job", "vision", each["metadata"]["name"], _BACKGROUND)
        time.sleep(2)


@attack("a JobSet that runs and gets more jobs and more pods")
def _grown_set(fleet: World) -> None:
    fleet.tries(MEMBER, job_set("vision", "grows", 1, 4))
    fleet.waits_for_pods("vision", 4, "grows")
    for field, value in (("replicas", 4), ("parallelism", 16)):
        made = job_set("vision", "grows", 1, 4)
        (part,) = made["spec"]["replicatedJobs"]
        if field == "replicas":
            part["replicas"] = value
        else:
            part["template"]["spec"] |= {"parallelism": value, "completions": value}
        patch = {"spec": {"replicatedJobs": made["spec"]["replicatedJobs"]}}
        fleet.tries_to_patch(MEMBER, "JobSet", "vision", "grows", patch)
        for part_of_set in fleet.api.list("Job", "vision"):
            name = part_of_set["metadata"]["name"]
            for wider in ({"parallelism": 16}, {"parallelism": 16, "completions": 16}):
                fleet.tries_to_patch(MEMBER, "Job", "vision", name, {"spec": wider})
        time.sleep(3)


@attack("JobSets whose large job ended well, and that start all their jobs again for a small one that failed")
def _ended_and_again(fleet: World) -> None:
    for number in range(4):
        made = job_set("vision", f"again-{number}", 1, 4)
        (large,) = made["spec"]["replicatedJobs"]
        small = {**job_set("vision", "x", 1, 1, 0)["spec"]["replicatedJobs"][0], "name": "small"}
        small["template"]["spec"]["backoffLimit"] = 0
        made["spec"] |= {"failurePolicy": {"maxRestarts": 1}, "replicatedJobs": [large, small]}
        if not fleet.tries(MEMBER, made):
            return
        fleet.waits_for_pods("vision", 5, f"again-{number}")
        for part, count, phase in (("part", 4, "Succeeded"), ("small", 1, "Failed")):
            for each in fleet.running("vision", f"again-{number}-{part}")[:count]:
                fleet.api.patch("Pod", "vision", f"{each['metadata']['name']}/status", {"status": {"phase": phase}})
            time.sleep(4)
        fleet.waits_for_pods("vision", 4, f"again-{number}-part")


# --- services ---------------------------------------------------------------------------------------------------------


@attack("an account takes Kueue's labels from pods of services")
def _taken_labels(fleet: World) -> None:
    for number, made in enumerate((deployment("language", "web-0", 4), stateful_set("web-1", 4)) * 2):
        made["metadata"]["name"] = name = f"web-{number}"
        fleet.tries(SERVER, made)
        fleet.waits_for_pods("language", 4, name, 10)
        for each in fleet.running("language", name):
            taken = {key: None for key in each["metadata"]["labels"] if key.startswith("kueue.x-k8s.io/")}
            notes = {key: None for key in each["metadata"].get("annotations", {}) if key.startswith("kueue.x-k8s.io/")}
            patch = {"metadata": {"labels": taken, "annotations": notes, "finalizers": None}}
            for change in (patch, {"metadata": {"labels": taken}}, {"metadata": {"annotations": notes}}):
                fleet.tries_to_patch(SERVICE_ACCOUNT, "Pod", "language", each["metadata"]["name"], change)
        time.sleep(2)


@attack("a StatefulSet whose ordinals move while it runs, with the longest grace period")
def _ordinals(fleet: World) -> None:
    made = stateful_set("moves", 4)
    made["spec"]["template"]["spec"] |= _LONGEST
    fleet.tries(SERVER, made)
    fleet.waits_for_pods("language", 4, "moves")
    for start in (4, 8, 12, 0):
        patch = {"spec": {"ordinals": {"start": start}}}
        fleet.tries_to_patch(SERVER, "StatefulSet", "language", "moves", patch)
        time.sleep(5)


@attack("StatefulSets that wait for quota, deleted again and again, with the longest grace period")
def _waiting_sets(fleet: World) -> None:
    fleet.tries(MEMBER, job("vision", "first", 12))
    fleet.waits_for_pods("vision", 12)
    for number in range(6):
        made = stateful_set(f"waits-{number}", 6)
        made["spec"]["template"]["spec"] |= _LONGEST
        fleet.tries(SERVER, made)
        time.sleep(2)
        fleet.tries_to_delete(SERVER, "StatefulSet", "language", f"waits-{number}", _BACKGROUND)
        time.sleep(1)


# --- pods outside the queue -------------------------------------------------------------------------------------------


@attack("880 pods of an account outside the queue, on machines with accelerators")
def _outside(fleet: World) -> None:
    tolerations = [{"key": GPU, "operator": "Exists"}]
    spec = pod(0, restartPolicy="Always", tolerations=tolerations, nodeSelector=_L4)
    made = {
        "apiVersion": "apps/v1",
        "kind": "ReplicaSet",
        "metadata": {"name": "many", "namespace": "vision"},
        "spec": {
            "replicas": 880,
            "selector": {"matchLabels": {"app": "many"}},
            "template": {"metadata": {"labels": {"app": "many"}}, "spec": spec},
        },
    }
    fleet.tries(ACCOUNT, made)
    bare = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "bare", "namespace": "vision"}, "spec": spec}
    fleet.tries(ACCOUNT, bare)
    fleet.waits_for_pods("vision", 870, seconds=120 if not fleet.refusals else 5)
