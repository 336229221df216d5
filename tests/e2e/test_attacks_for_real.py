"""Attacks on tenancy that run over time, on a real control plane with simulated nodes.

Each attack runs while the invariant is watched: what runs is what is counted. Then the lender submits the job that its
guarantee holds, and all its pods must run within the bound. `BERTH_ATTACKS_REPORT=FILE` adds the figures to a file:
rows of `tests/e2e/hostile/measured.yaml`, from which docs/tenancy.md has its table.

An attack must have attacked: a policy refused it, or the pods that it waits for first ran. With
`BERTH_ATTACKS_WITHOUT=1` the fleet has no policies, and each attack must do all its requests and see these pods.
"""

from __future__ import annotations

import json
import os
import threading
import time
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.support import attacks_of_pods as attacks_of_pods
from tests.e2e.support import attacks_of_siblings as attacks_of_siblings
from tests.e2e.support.attacks import (
    ACCOUNT,
    ATTACKS,
    GOES_ON,
    GPU,
    GRACE,
    LENDER,
    MEMBER,
    SERVER,
    World,
    attack,
    deployment,
    job,
    job_set,
    world,
)
from tests.e2e.support.attacks_of_forms import CORES
from tests.e2e.support.attacks_of_services import KINDS
from tests.e2e.support.cluster import Cluster
from tests.e2e.support.invariant import Watch

Manifest = dict[str, Any]
REACTION = 15.0
"""Seconds that controllers take to count, to evict and to start pods, on a loaded machine."""
BOUND = GRACE + REACTION
_FOREVER = 100_000_000
_MANY = "880 pods of 10m cpu, and as many as the queue can borrow"
WITHOUT = bool(os.environ.get("BERTH_ATTACKS_WITHOUT"))
BOUNDS = {_MANY: 400.0}
"""Title → seconds until the lender's job runs, where that is the machine's work: 720 pods are deleted first."""


@pytest.fixture(scope="module")
def fleet(cluster: Cluster) -> Iterator[World]:
    """Provide the fleet of three teams on the cluster."""
    with world(cluster, with_policies=not WITHOUT) as made:
        yield made


@pytest.fixture(autouse=True)
def _empty(fleet: World) -> None:
    fleet.clear()


# --- nothing outlives its owner ---------------------------------------------------------------------------------------


def _outlived(fleet: World, options: Manifest | None, *, kind: str = "Job", metadata: Manifest | None = None) -> None:
    """Run the guarantee, delete the job in a form that keeps its pods, and again: four times."""
    for number in range(4):
        made = job("vision", f"kept-{number}", 4, metadata=metadata or {})
        if kind == "JobSet":
            made = job_set("vision", f"kept-{number}", 1, 4)
            made["metadata"] |= metadata or {}
        if not fleet.tries(MEMBER, made):
            return
        fleet.waits_for_pods("vision", 4, f"kept-{number}", 15)
        fleet.tries_to_delete(MEMBER, kind, "vision", f"kept-{number}", options)
        time.sleep(1)


_QUEUE = {"labels": {"kueue.x-k8s.io/queue-name": "l4"}}


@attack("jobs deleted with propagationPolicy Orphan")
def _orphan(fleet: World) -> None:
    _outlived(fleet, {"propagationPolicy": "Orphan"})


@attack("jobs deleted with orphanDependents")
def _orphan_dependents(fleet: World) -> None:
    _outlived(fleet, {"orphanDependents": True})


@attack("jobs deleted without options, which orphans pods in batch/v1")
def _orphan_by_default(fleet: World) -> None:
    _outlived(fleet, None)


@attack("JobSets deleted with propagationPolicy Orphan")
def _orphan_sets(fleet: World) -> None:
    _outlived(fleet, {"propagationPolicy": "Orphan"}, kind="JobSet")


@attack("JobSets with the finalizer orphan, deleted without options")
def _orphan_finalizer(fleet: World) -> None:
    _outlived(fleet, None, kind="JobSet", metadata={"finalizers": ["orphan"]})


@attack("jobs with a finalizer of their own, deleted in the background")
def _finalizer(fleet: World) -> None:
    metadata = {**_QUEUE, "finalizers": ["example.com/keep"]}
    _outlived(fleet, {"propagationPolicy": "Background"}, metadata=metadata)


@attack("all jobs deleted as a collection with Orphan")
def _orphan_collection(fleet: World) -> None:
    for number in range(4):
        if fleet.tries(MEMBER, job("vision", f"kept-{number}", 4)):
            fleet.waits_for_pods("vision", 4, f"kept-{number}", 15)
            fleet.tries_to_delete(MEMBER, "Job", "vision", "", {"propagationPolicy": "Orphan"})
            time.sleep(1)


# --- grace periods ----------------------------------------------------------------------------------------------------


@attack("a grace period of three years on borrowed machines")
def _grace(fleet: World) -> None:
    if fleet.tries(MEMBER, job("vision", "borrows", 16, pod={"terminationGracePeriodSeconds": _FOREVER})):
        fleet.waits_for_pods("vision", 16)


@attack("a grace period of three years, deleted and submitted again")
def _grace_again(fleet: World) -> None:
    for number in range(4):
        made = job("vision", f"again-{number}", 4, pod={"terminationGracePeriodSeconds": _FOREVER})
        if fleet.tries(MEMBER, made):
            fleet.waits_for_pods("vision", 4, f"again-{number}", 15)
            fleet.tries_to_delete(MEMBER, "Job", "vision", f"again-{number}", {"propagationPolicy": "Background"})


@attack("pods deleted with a grace period of three years, replaced by their job")
def _grace_of_deletion(fleet: World) -> None:
    # By index, the job controller replaces a pod after 10 s, then after 20 s; else after 10 s for each earlier one.
    fleet.tries(MEMBER, job("vision", "replaces", 4, spec={"backoffLimitPerIndex": 100}))
    fleet.waits_for_pods("vision", 4, "replaces")
    for pods, seconds in ((8, 15), (12, 25)):
        fleet.tries_to_delete_pods(MEMBER, "vision", "replaces", {"gracePeriodSeconds": _FOREVER})
        fleet.waits_for_pods("vision", pods, "replaces", seconds)


@attack("pods of a Deployment deleted with a grace period of three years, four times")
def _grace_of_deletion_of_services(fleet: World) -> None:
    fleet.tries(SERVER, deployment("language", "server", 4))
    fleet.waits_for_pods("language", 4)
    for pods in (8, 12, 16):
        fleet.tries_to_delete_pods(SERVER, "language", "server", {"gracePeriodSeconds": _FOREVER})
        fleet.waits_for_pods("language", pods, seconds=8)


@attack("a Deployment with that grace period, scaled up and down")
def _grace_of_deployment(fleet: World) -> None:
    made = deployment("language", "server", 4, pod={"terminationGracePeriodSeconds": _FOREVER})
    if fleet.tries(SERVER, made):
        for replicas in (4, 0, 4, 0, 4, 0, 4):
            fleet.tries_to_patch(SERVER, "Deployment", "language", "server", {"spec": {"replicas": replicas}})
            time.sleep(5)


@attack("the longest allowed grace period, deleted and submitted again for 40 s")
def _grace_cycled(fleet: World) -> None:
    end, number = time.monotonic() + 40, 0
    while time.monotonic() < end:
        number += 1
        made = job("vision", f"cycle-{number}", 4, pod={"terminationGracePeriodSeconds": 30})
        if fleet.tries(MEMBER, made):
            fleet.waits_for_pods("vision", 4, f"cycle-{number}", 3)
            fleet.tries_to_delete(MEMBER, "Job", "vision", f"cycle-{number}", {"propagationPolicy": "Background"})


# --- what controllers write -------------------------------------------------------------------------------------------


def _group(name: str, count: int) -> Manifest:
    return {
        "labels": {"kueue.x-k8s.io/pod-group-name": name},
        "annotations": {
            "kueue.x-k8s.io/pod-group-total-count": str(count),
            "kueue.x-k8s.io/pod-group-fast-admission": "true",
            "kueue.x-k8s.io/role-hash": "same",
        },
    }


@attack("a planted role hash: large pods in a group that is counted by a small one")
def _role_hash(fleet: World) -> None:
    fleet.tries(SERVER, deployment("language", "small", 1, 0, metadata=_group("g", 9)))
    time.sleep(1)
    fleet.tries(SERVER, deployment("language", "large", 8, 2, metadata=_group("g", 9)))
    fleet.waits_for_pods("language", 9, seconds=10)


@attack("a planted role hash with a pod priority, which removes guaranteed pods of others")
def _role_hash_with_priority(fleet: World) -> None:
    fleet.tries(LENDER, job("speech", "first", 8))
    fleet.waits_for_pods("speech", 8)
    high = {"priorityClassName": "high"}
    fleet.tries(SERVER, deployment("language", "small", 1, 0, metadata=_group("g", 9), pod=high))
    time.sleep(1)
    fleet.tries(SERVER, deployment("language", "large", 8, 2, metadata=_group("g", 9), pod=high))
    fleet.waits_for_pods("language", 9, seconds=10)


# --- pods without accelerators that keep others away ------------------------------------------------------------------


@attack("required anti-affinity over all namespaces, by one pod of 1m cpu")
def _anti_affinity(fleet: World) -> None:
    term = {"topologyKey": "kubernetes.io/os", "namespaceSelector": {}, "labelSelector": {}}
    affinity = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    fleet.tries(MEMBER, job("vision", "alone", 1, 0, pod={"affinity": affinity}))
    fleet.waits_for_pods("vision", 1, seconds=8)


@attack("exclusive topology of a JobSet without accelerators")
def _exclusive(fleet: World) -> None:
    annotations = {"alpha.jobset.sigs.k8s.io/exclusive-topology": "kubernetes.io/os"}
    fleet.tries(MEMBER, job_set("vision", "alone", 1, gpus=0, annotations=annotations))
    fleet.waits_for_pods("vision", 1, seconds=8)


@attack(_MANY)
def _pods(fleet: World) -> None:
    fleet.tries(MEMBER, job("vision", "more", 880, 0))
    fleet.tries(MEMBER, job("vision", "many", 720, 0))
    assert fleet.waits_for_pods("vision", 720, "many", seconds=300)
    assert not fleet.running("vision", "more")


# --- what controllers do ----------------------------------------------------------------------------------------------


@attack("an account finishes the Workload of a job that runs")
def _workload_status(fleet: World) -> None:
    for number in range(4):
        fleet.tries(MEMBER, job("vision", f"done-{number}", 4))
        fleet.waits_for_pods("vision", 4, f"done-{number}", 15)
        for each in fleet.api.list("Workload", "vision"):
            condition = {
                "type": "Finished",
                "status": "True",
                "reason": "JobFinished",
                "message": "",
                "lastTransitionTime": "2026-01-01T00:00:00Z",
            }
            conditions = [*each["status"].get("conditions", []), condition]
            name = f"{each['metadata']['name']}/status"
            fleet.tries_to_patch(ACCOUNT, "Workload", "vision", name, {"status": {"conditions": conditions}})
        time.sleep(1)


@attack("an account finishes a job that runs, by its status")
def _job_status(fleet: World) -> None:
    for number in range(4):
        fleet.tries(MEMBER, job("vision", f"done-{number}", 4))
        fleet.waits_for_pods("vision", 4, f"done-{number}", 15)
        ended = [
            {"type": kind, "status": "True", "reason": "x", "lastTransitionTime": "2026-01-01T00:00:00Z"}
            for kind in ("FailureTarget", "Failed")
        ]
        status = {"active": 0, "ready": 0, "terminating": 0, "uncountedTerminatedPods": None, "conditions": ended}
        fleet.tries_to_patch(ACCOUNT, "Job", "vision", f"done-{number}/status", {"status": status})
        time.sleep(1)


@attack("an account takes the owners from pods that run")
def _owners(fleet: World) -> None:
    for number in range(4):
        fleet.tries(MEMBER, job("vision", f"free-{number}", 4))
        fleet.waits_for_pods("vision", 4, f"free-{number}", 15)
        for each in fleet.running("vision", f"free-{number}"):
            labels = dict.fromkeys(each["metadata"]["labels"])
            patch = {"metadata": {"ownerReferences": None, "labels": labels}}
            fleet.tries_to_patch(ACCOUNT, "Pod", "vision", each["metadata"]["name"], patch)
        fleet.tries_to_delete(MEMBER, "Job", "vision", f"free-{number}", {"propagationPolicy": "Background"})
        time.sleep(1)


@attack("an account changes the labels by which a job selects its pods")
def _labels(fleet: World) -> None:
    for number in range(4):
        fleet.tries(MEMBER, job("vision", f"free-{number}", 4))
        fleet.waits_for_pods("vision", 4, f"free-{number}", 15)
        for each in fleet.running("vision", f"free-{number}"):
            labels = {key: None for key in each["metadata"]["labels"] if key.endswith("controller-uid")}
            fleet.tries_to_patch(ACCOUNT, "Pod", "vision", each["metadata"]["name"], {"metadata": {"labels": labels}})
        time.sleep(1)
        fleet.tries_to_delete(MEMBER, "Job", "vision", f"free-{number}", {"propagationPolicy": "Background"})


# --- growth -----------------------------------------------------------------------------------------------------------


@attack("parallelism of a job that runs, toggled for 40 s")
def _parallelism(fleet: World) -> None:
    fleet.tries(MEMBER, job("vision", "grows", 4, spec={"completions": None, "completionMode": "NonIndexed"}))
    fleet.waits_for_pods("vision", 4)
    end, many = time.monotonic() + 40, True
    while time.monotonic() < end:
        fleet.tries_to_patch(MEMBER, "Job", "vision", "grows", {"spec": {"parallelism": 16 if many else 4}})
        many = not many
        time.sleep(0.7)


@attack("parallelism above completions")
def _above_completions(fleet: World) -> None:
    spec = {"parallelism": 16, "completions": 4, "completionMode": "NonIndexed"}
    # The job controller of Kubernetes 1.36 starts at most completions, so nothing runs uncounted without the policy.
    fleet.tries(MEMBER, job("vision", "above", 4, spec=spec))
    fleet.waits_for_pods("vision", 4, seconds=10)


# --- the attacks, one by one ------------------------------------------------------------------------------------------


def _lender(title: str) -> Manifest:
    """Return the job that the guarantee of the lender holds; a JobSet where the attack keeps JobSets away."""
    if title == CORES:
        limits = {GPU: 1}
        resources = {"requests": {"cpu": "11", "memory": "16Mi", **limits}, "limits": limits}
        return job(
            "speech", "guaranteed", 8, pod={"containers": [{"name": "main", "image": "x", "resources": resources}]}
        )
    return job_set("speech", "guaranteed", 8) if "JobSet" in title else job("speech", "guaranteed", 8)


@pytest.mark.parametrize("title", ATTACKS)
def test_what_runs_is_what_is_counted(title: str, fleet: World) -> None:
    check = _does_its_requests if WITHOUT else _does_no_harm
    check(title, fleet)


def _does_no_harm(title: str, fleet: World) -> None:
    with _watched_attack(title, fleet) as watch:
        assert fleet.refused_by or _has_effect(fleet), f"the attack did not attack: {fleet.refusals}"
        began = time.monotonic()
        fleet.tries(LENDER, _lender(title))
        bound = BOUNDS.get(title, BOUND + 5)
        ran = fleet.waits_for_pods("speech", 8, "guaranteed", bound)
        waited = time.monotonic() - began
        time.sleep(5)  # at least some samples, also where everything was refused
    _report(title, watch, waited if ran else None, fleet.refused_by)
    assert watch.samples > 3
    assert watch.longest <= REACTION, f"{watch.most} accelerators above the count for {watch.longest:.0f} s"
    assert ran, f"the lender's job does not run within {bound:.0f} s"


def _does_its_requests(title: str, fleet: World) -> None:
    """Show that an attack attacks: without the policies nothing refuses it, and its pods run."""
    with _watched_attack(title, fleet) as watch:
        began = time.monotonic()
        fleet.tries(LENDER, _lender(title))
        attacked = _has_effect(fleet)
        ran = fleet.waits_for_pods("speech", 8, "guaranteed", BOUND + 5)
        waited = time.monotonic() - began
    _report(title, watch, waited if ran else None, fleet.refused_by)
    assert not fleet.refused_by
    assert attacked, f"the attack did not attack: {fleet.refusals}"


def _has_effect(fleet: World) -> bool:
    """Whether an attack made something, and the pods that it waited for first ran."""
    return fleet.accepted > 0 and all(fleet.seen[:1])


@contextmanager
def _watched_attack(title: str, fleet: World) -> Generator[Watch]:
    """Attack, and watch what runs and what is counted; skip what the cluster has no kind for."""
    if lacking := [kind for kind in KINDS if kind in title and not fleet.serves(kind)]:
        pytest.skip(f"the cluster has no {lacking[0]}")
    watch = Watch(fleet.api, fleet.watch.flavors, fleet.watch.accelerators, GRACE)
    with watch, _attacked(title, fleet):
        yield watch


@contextmanager
def _attacked(title: str, fleet: World) -> Generator[None]:
    """Attack; where the attack goes on, start it and end it with the block."""
    if title not in GOES_ON:
        ATTACKS[title](fleet)
        yield
        return
    ended = threading.Event()

    def rounds() -> None:
        while not ended.is_set():
            ATTACKS[title](fleet)

    thread = threading.Thread(target=rounds, daemon=True)
    thread.start()
    time.sleep(GRACE)
    try:
        yield
    finally:
        ended.set()
        thread.join()


def _report(title: str, watch: Watch, waited: float | None, refused_by: list[str]) -> None:
    if (file := os.environ.get("BERTH_ATTACKS_REPORT")) is None:
        return
    row = {
        "attack": title,
        "most": watch.most,
        "seconds": round(watch.longest),
        "total": round(watch.total),
        "lender": None if waited is None else round(waited),
        "refused": bool(refused_by),
    }
    with Path(file).open("a", encoding="utf-8") as report:
        report.write(f"- {json.dumps(row)}\n")
