"""Attacks in other forms: owners, server-side apply, other controllers, restarts, deadlines, cores, the namespace."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

from tests.e2e.support.attacks import ACCOUNT, GPU, LENDER, MEMBER, World, attack, job, job_set, pod

Manifest = dict[str, Any]
_BACKGROUND = {"propagationPolicy": "Background"}
_LONGEST = {"terminationGracePeriodSeconds": 30}
_L4 = {"cloud.google.com/gke-accelerator": "nvidia-l4"}
_QUEUE = {"kueue.x-k8s.io/queue-name": "l4"}
_ANY_NUMBER = {"completions": None, "completionMode": "NonIndexed"}
CORES = "cores of accelerator machines taken by 48 pods of one core"
"""The lender's pods request their share of the cores there."""


def _rounds(seconds: float) -> Iterator[int]:
    """Yield numbers for so many seconds."""
    end, number = time.monotonic() + seconds, 0
    while time.monotonic() < end:
        number += 1
        yield number


@attack("an account gives pods that run a second owner, and their job is deleted")
def _second_owner(fleet: World) -> None:
    anchor = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "anchor", "namespace": "vision"}}
    uid = fleet.api.create(anchor, MEMBER)["metadata"]["uid"]
    second = {"apiVersion": "v1", "kind": "ConfigMap", "name": "anchor", "uid": uid}
    for number in range(4):
        fleet.tries(MEMBER, job("vision", f"free-{number}", 4))
        fleet.waits_for_pods("vision", 4, f"free-{number}", 15)
        for each in fleet.running("vision", f"free-{number}"):
            owners = [*each["metadata"]["ownerReferences"], second]
            patch = {"metadata": {"ownerReferences": owners}}
            fleet.tries_to_patch(ACCOUNT, "Pod", "vision", each["metadata"]["name"], patch)
        fleet.tries_to_delete(MEMBER, "Job", "vision", f"free-{number}", _BACKGROUND)
        time.sleep(1)


@attack("a member gives the jobs of JobSets a second owner, and deletes the JobSets")
def _second_owner_of_jobs(fleet: World) -> None:
    anchor = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "anchor", "namespace": "vision"}}
    uid = fleet.api.create(anchor, MEMBER)["metadata"]["uid"]
    second = {"apiVersion": "v1", "kind": "ConfigMap", "name": "anchor", "uid": uid}
    for number in range(4):
        fleet.tries(MEMBER, job_set("vision", f"free-{number}", 1, 4))
        fleet.waits_for_pods("vision", 4, f"free-{number}", 15)
        for each in fleet.api.list("Job", "vision"):
            patch = {"metadata": {"ownerReferences": [*each["metadata"]["ownerReferences"][:1], second]}}
            fleet.tries_to_patch(MEMBER, "Job", "vision", each["metadata"]["name"], patch)
        fleet.tries_to_delete(MEMBER, "JobSet", "vision", f"free-{number}", _BACKGROUND)
        time.sleep(1)


@attack("an account takes its namespace from the policies")
def _namespace(fleet: World) -> None:
    patch = {"metadata": {"labels": {"berth.dev/team": None}}}
    fleet.sends(lambda: fleet.api.call("PATCH", "api/v1/namespaces/vision", patch, ACCOUNT, "merge"))
    try:
        time.sleep(1)
        spec = pod(1, tolerations=[{"key": GPU, "operator": "Exists"}], nodeSelector=_L4)
        spec["terminationGracePeriodSeconds"] = 100_000_000
        for number in range(16):
            metadata = {"name": f"bare-{number}", "namespace": "vision"}
            fleet.tries(ACCOUNT, {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec})
        fleet.waits_for_pods("vision", 16)
    finally:
        fleet.api.call(
            "PATCH", "api/v1/namespaces/vision", {"metadata": {"labels": {"berth.dev/team": "vision"}}}, None, "merge"
        )


@attack("a job suspended by hand, whose pods then request twice as much, toggled for 40 s")
def _larger(fleet: World) -> None:
    fleet.tries(MEMBER, job("vision", "grows", 4, pod=_LONGEST))
    fleet.waits_for_pods("vision", 4)
    for number in _rounds(40):
        gpus = 2 if number % 2 else 1
        limits = {"nvidia.com/gpu": gpus}
        container = {
            "name": "main",
            "image": "x",
            "resources": {"limits": limits, "requests": {"cpu": "10m", **limits}},
        }
        template = {"template": {"spec": {"containers": [container]}}}
        fleet.tries_to_patch(MEMBER, "Job", "vision", "grows", {"spec": {"suspend": True}})
        fleet.tries_to_patch(MEMBER, "Job", "vision", "grows", {"spec": template})
        time.sleep(1.5)


@attack("an elastic job that shrinks and grows for 40 s, with the longest allowed grace period")
def _elastic(fleet: World) -> None:
    metadata = {"labels": _QUEUE, "annotations": {"kueue.x-k8s.io/elastic-job": "true"}}
    fleet.tries(MEMBER, job("vision", "elastic", 4, spec=_ANY_NUMBER, metadata=metadata, pod=_LONGEST))
    fleet.waits_for_pods("vision", 4)
    for number in _rounds(40):
        fleet.tries_to_patch(MEMBER, "Job", "vision", "elastic", {"spec": {"parallelism": 1 if number % 2 else 4}})
        time.sleep(2)


@attack("jobs deleted and submitted again, also while the lender waits, with the longest grace period", goes_on=True)
def _cycled(fleet: World) -> None:
    name = f"cycle-{time.monotonic_ns()}"
    if fleet.tries(MEMBER, job("vision", name, 4, pod=_LONGEST)):
        fleet.waits_for_pods("vision", 4, name, 3)
        fleet.tries_to_delete(MEMBER, "Job", "vision", name, _BACKGROUND)


@attack("JobSets that start their jobs again for 40 s, with the longest allowed grace period")
def _restarts(fleet: World) -> None:
    made = job_set("vision", "restarts", 1, 4, pod=_LONGEST)
    made["spec"]["failurePolicy"] = {"maxRestarts": 100}
    made["spec"]["replicatedJobs"][0]["template"]["spec"]["backoffLimit"] = 0
    fleet.tries(MEMBER, made)
    for _ in _rounds(40):
        for each in fleet.running("vision")[:1]:
            fleet.api.patch("Pod", "vision", f"{each['metadata']['name']}/status", {"status": {"phase": "Failed"}})
        time.sleep(2)


@attack("jobs with a deadline of one second for 40 s, with the longest allowed grace period")
def _deadlines(fleet: World) -> None:
    for number in _rounds(40):
        made = job("vision", f"late-{number}", 4, pod=_LONGEST, spec={"activeDeadlineSeconds": 1})
        made["spec"]["ttlSecondsAfterFinished"] = 0
        if fleet.tries(MEMBER, made):
            fleet.waits_for_pods("vision", 4, f"late-{number}", 3)
        time.sleep(1)


@attack("jobs that end by one index or one failed pod for 40 s, with the longest allowed grace period")
def _indexes(fleet: World) -> None:
    ends: list[tuple[str, Manifest]] = [
        ("Succeeded", {"successPolicy": {"rules": [{"succeededIndexes": "0"}]}}),
        ("Failed", {"backoffLimitPerIndex": 0, "maxFailedIndexes": 0}),
        (
            "Failed",
            {
                "podFailurePolicy": {
                    "rules": [{"action": "FailJob", "onPodConditions": [{"type": "DisruptionTarget"}]}]
                },
                "backoffLimit": 0,
                "podReplacementPolicy": "Failed",
            },
        ),
    ]
    for number in _rounds(40):
        phase, spec = ends[number % len(ends)]
        name = f"index-{number}"
        if fleet.tries(MEMBER, job("vision", name, 4, pod=_LONGEST, spec=spec)):
            fleet.waits_for_pods("vision", 4, name, 5)
            for each in fleet.running("vision", f"{name}-0"):
                fleet.api.patch("Pod", "vision", f"{each['metadata']['name']}/status", {"status": {"phase": phase}})
            time.sleep(1)


@attack("jobs and a JobSet that no controller of the cluster manages")
def _managed_by(fleet: World) -> None:
    fleet.tries(MEMBER, job("vision", "elsewhere", 4, spec={"managedBy": "example.com/other"}))
    made = job_set("vision", "elsewhere", 1, 4)
    made["spec"]["managedBy"] = "example.com/other"
    fleet.tries(MEMBER, made)
    inner = job_set("vision", "inside", 1, 4)
    inner["spec"]["replicatedJobs"][0]["template"]["spec"]["managedBy"] = "kueue.x-k8s.io/multikueue"
    fleet.tries(MEMBER, inner)
    time.sleep(5)


@attack("a job applied on the server as Kueue and by force: more pods, a finalizer, no suspension")
def _applied(fleet: World) -> None:
    fleet.tries(LENDER, job("speech", "first", 16))
    fleet.waits_for_pods("speech", 16)
    for manager in ("kueue", "job-controller", "kubectl"):
        made = job("vision", f"applied-{manager}", 16, pod=_LONGEST)
        made["spec"]["suspend"] = False
        fleet.tries_to_apply(MEMBER, made, manager)
        time.sleep(1)
        fleet.tries_to_apply(MEMBER, made, manager)
        made["metadata"]["finalizers"] = ["example.com/keep"]
        fleet.tries_to_apply(MEMBER, made, manager)
    fleet.tries_to_delete(LENDER, "Job", "speech", "first", _BACKGROUND)
    time.sleep(5)


@attack("a job that is admitted in part and asks for the rest while it runs")
def _partial(fleet: World) -> None:
    fleet.tries(LENDER, job("speech", "first", 12))
    fleet.waits_for_pods("speech", 12)
    metadata = {"labels": _QUEUE, "annotations": {"kueue.x-k8s.io/job-min-parallelism": "1"}}
    fleet.tries(
        MEMBER,
        job(
            "vision",
            "part",
            16,
            spec={"completions": 16, "completionMode": "NonIndexed"},
            metadata=metadata,
            pod=_LONGEST,
        ),
    )
    fleet.waits_for_pods("vision", 4)
    fleet.tries_to_delete(LENDER, "Job", "speech", "first", _BACKGROUND)
    for _ in _rounds(20):
        for name in ("16", None):
            fleet.tries_to_patch(
                MEMBER,
                "Job",
                "vision",
                "part",
                {"metadata": {"annotations": {"kueue.x-k8s.io/job-min-parallelism": name}}},
            )
            fleet.tries_to_patch(MEMBER, "Job", "vision", "part", {"spec": {"parallelism": 16}})
        time.sleep(1)


@attack(CORES)
def _cores(fleet: World) -> None:
    fleet.tries(
        MEMBER,
        job(
            "vision",
            "cores",
            48,
            0,
            pod={
                "containers": [
                    {"name": "main", "image": "x", "resources": {"requests": {"cpu": "1", "memory": "16Mi"}}}
                ]
            },
        ),
    )
    fleet.waits_for_pods("vision", 48, seconds=60)
