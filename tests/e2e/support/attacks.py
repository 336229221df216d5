"""What attacks on a fleet's tenancy are made of: users, jobs, and a cluster with three teams on it.

`shared.yaml` is the fleet. The nodes are simulated, with the labels of real ones, and their pods end when their grace
period does (see docs/e2e.md).
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import yaml

from berth.evaluate import evaluate_stack
from berth.manifests.fleet import all_manifests
from berth.plan.fleet import FleetPlan
from berth.plan.kueue import CPU
from tests.e2e.support import hostile_fleet
from tests.e2e.support.api import Api, Refused, proxied
from tests.e2e.support.cluster import Cluster, until
from tests.e2e.support.invariant import Watch
from tests.e2e.support.project import BERTH, ROOT, output
from tests.hostile import FOLDER, RUNTIME, Identity

Manifest = dict[str, Any]
FILE = FOLDER / "shared.yaml"
GPU, TPU = "nvidia.com/gpu", "google.com/tpu"
_EVERYBODY = "system:authenticated"
MEMBER = Identity("ana@acme.example", ("vision@acme.example", _EVERYBODY))
LENDER = Identity("eva@acme.example", ("speech@acme.example", _EVERYBODY))
SERVER = Identity("ben@acme.example", ("language@acme.example", _EVERYBODY))
ACCOUNT = Identity(
    "system:serviceaccount:vision:vision",
    ("system:serviceaccounts:vision", "system:serviceaccounts", _EVERYBODY),
)
SERVICE_ACCOUNT = Identity(
    "system:serviceaccount:language:language",
    ("system:serviceaccounts:language", "system:serviceaccounts", _EVERYBODY),
)
_GONE = 300.0
"""Seconds until nothing is left of an attack or of the fleet: 880 pods take longer than all else."""
GRACE = 30.0
"""The fleet's longest grace period, in seconds."""
_REAL_LABELS = {"kubernetes.io/os": "linux", "kubernetes.io/arch": "amd64"}
_RIGHTS: list[Manifest] = [
    {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "RoleBinding",
        "metadata": {"name": "attack-account", "namespace": name},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin"},
        "subjects": [{"kind": "ServiceAccount", "name": name, "namespace": name}],
    }
    for name in ("vision", "language")
]
POLICY = re.compile(r"ValidatingAdmissionPolicy '(berth-[a-z]+)'")
_POLICIES = ("ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding")
_NOTHING: Manifest = {"gracePeriodSeconds": 0, "propagationPolicy": "Background"}
_LEFT = (
    "TrainJob",
    "PyTorchJob",
    "AppWrapper",
    "RayJob",
    "RayCluster",
    "LeaderWorkerSet",
    "PodDisruptionBudget",
    "JobSet",
    "Job",
    "Deployment",
    "StatefulSet",
    "ReplicaSet",
    "Pod",
    "Service",
    "ConfigMap",
    "Event",
)
TEAMS = ("vision", "speech", "language")


@dataclass
class World:
    """The fleet on a cluster, and what an attack saw.

    `refusals` are those of the API server in order, `accepted` counts the other requests. `seen` says of each wait for
    pods whether they ran.
    """

    cluster: Cluster
    api: Api
    watch: Watch
    with_policies: bool = True
    refusals: list[str] = field(default_factory=list[str])
    accepted: int = 0
    seen: list[bool] = field(default_factory=list[bool])

    @property
    def refused_by(self) -> list[str]:
        """The policies that refused a request, also of a controller for what a user made: its events say so."""
        events = [each.get("message", "") for namespace in TEAMS for each in self.api.list("Event", namespace)]
        return sorted({name for text in (*self.refusals, *events) for name in POLICY.findall(text)})

    def tries(self, who: Identity, made: Manifest) -> bool:
        """Create an object as a user; return whether the API server took it."""
        return self.sends(lambda: self.api.create(made, who))

    def tries_to_patch(self, who: Identity, kind: str, namespace: str, name: str, patch: Manifest) -> bool:
        """Patch an object as a user; return whether the API server took it."""
        return self.sends(lambda: self.api.patch(kind, namespace, name, patch, who))

    def tries_to_delete(
        self, who: Identity, kind: str, namespace: str, name: str, options: Manifest | None = None
    ) -> bool:
        """Delete an object as a user; return whether the API server took it."""
        return self.sends(lambda: self.api.delete(kind, namespace, name, options, who))

    def tries_to_delete_pods(self, who: Identity, namespace: str, prefix: str, options: Manifest | None = None) -> None:
        """Delete those pods of a namespace as a user, one by one, that run and do not leave yet."""
        for each in self.running(namespace, prefix):
            if "deletionTimestamp" not in each["metadata"]:
                self.tries_to_delete(who, "Pod", namespace, each["metadata"]["name"], options)

    def tries_to_apply(self, who: Identity, made: Manifest, manager: str) -> bool:
        """Apply an object on the server as a user and as a manager, by force; return whether the API server took it."""
        return self.sends(lambda: self.api.apply(made, manager, who))

    def sends(self, request: Callable[[], object]) -> bool:
        """Send a request; return whether the API server took it."""
        try:
            request()
        except Refused as refused:
            self.refusals.append(str(refused))
            return False
        self.accepted += 1
        return True

    def serves(self, kind: str) -> bool:
        """Return whether the cluster has a kind, which an operator may bring."""
        try:
            self.api.list(kind, "default")
        except Refused:
            return False
        return True

    def running(self, namespace: str, prefix: str = "") -> list[Manifest]:
        """Return the pods of a namespace that run, also those that are being deleted."""
        pods = self.api.list("Pod", namespace)
        return [p for p in pods if p["status"].get("phase") == "Running" and p["metadata"]["name"].startswith(prefix)]

    def waits_for_pods(self, namespace: str, count: int, prefix: str = "", seconds: float = 20.0) -> bool:
        """Wait until so many pods run; return whether they did in time."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if len(self.running(namespace, prefix)) >= count:
                self.seen.append(True)
                return True
            time.sleep(0.3)
        self.seen.append(False)
        return False

    def clear(self) -> None:
        """Delete everything that users made, at once."""
        for namespace in TEAMS:
            for kind in (each for each in _LEFT if self.serves(each)):
                for each in self.api.list(kind, namespace):
                    if each["metadata"].get("finalizers"):
                        self._forced(kind, namespace, each["metadata"]["name"], strip=True)
                self._forced(kind, namespace, "")
        until("an empty fleet", self._left, lambda left: not left, _GONE)
        self.refusals.clear()
        self.seen.clear()
        self.accepted = 0

    def _forced(self, kind: str, namespace: str, name: str, *, strip: bool = False) -> None:
        try:
            if strip:
                self.api.patch(kind, namespace, name, {"metadata": {"finalizers": None}})
            else:
                self.api.delete(kind, namespace, name, _NOTHING)
        except Refused:
            pass

    def _left(self) -> list[str]:
        left: list[str] = []
        for namespace in TEAMS:
            for kind in ("Pod", "Job", "JobSet", "Workload"):
                found = self.api.list(kind, namespace)
                for each in found:
                    if each["metadata"].get("finalizers"):
                        self._forced(kind, namespace, each["metadata"]["name"], strip=True)
                if found:
                    self._forced(kind, namespace, "")
                left += [f"{kind}/{each['metadata']['name']}" for each in found]
        return left


ATTACKS: dict[str, Callable[[World], None]] = {}
"""Title of an attack → what it does; the modules of attacks fill it."""

GOES_ON: set[str] = set()
"""Titles of attacks that are one round, which is repeated also while the lender waits."""


def attack(title: str, *, goes_on: bool = False) -> Callable[[Callable[[World], None]], Callable[[World], None]]:
    """Return a decorator that keeps an attack under its title."""

    def kept(function: Callable[[World], None]) -> Callable[[World], None]:
        ATTACKS[title] = function
        if goes_on:
            GOES_ON.add(title)
        return function

    return kept


def job(namespace: str, name: str, pods: int, gpus: int = 1, **changes: Any) -> Manifest:
    """Return a Job of pods with so many L4; `pod`, `template`, `spec`, `metadata` are laid over its parts."""
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {
            "name": name,
            "namespace": namespace,
            "labels": {"kueue.x-k8s.io/queue-name": "l4"},
            **changes.get("metadata", {}),
        },
        "spec": {
            "parallelism": pods,
            "completions": pods,
            "completionMode": "Indexed",
            **changes.get("spec", {}),
            "template": {**changes.get("template", {}), "spec": pod(gpus, **changes.get("pod", {}))},
        },
    }


def pod(gpus: int = 0, resource: str = GPU, **changes: Any) -> Manifest:
    """Return the spec of a pod with one container that requests so many accelerators."""
    limits = {resource: gpus} if gpus else {}
    container = {"name": "main", "image": "x", "resources": {"requests": {"cpu": "10m", "memory": "16Mi"}}}
    if limits:
        container["resources"] = {**container["resources"], "limits": limits}
    return {"restartPolicy": "Never", "terminationGracePeriodSeconds": 1, "containers": [container], **changes}


def job_set(namespace: str, name: str, jobs: int, pods: int = 1, gpus: int = 1, **changes: Any) -> Manifest:
    """Return a JobSet of jobs with so many pods; `annotations`, `pod`, `queue` and `resource` change it."""
    spec = pod(gpus, changes.get("resource", GPU), **changes.get("pod", {}))
    return {
        "apiVersion": "jobset.x-k8s.io/v1alpha2",
        "kind": "JobSet",
        "metadata": {
            "name": name,
            "namespace": namespace,
            "labels": {"kueue.x-k8s.io/queue-name": changes.get("queue", "l4")},
            "annotations": changes.get("annotations", {}),
        },
        "spec": {
            "replicatedJobs": [
                {
                    "name": "part",
                    "replicas": jobs,
                    "template": {
                        "spec": {
                            "parallelism": pods,
                            "completions": pods,
                            "completionMode": "Indexed",
                            "template": {"spec": spec},
                        }
                    },
                }
            ]
        },
    }


def deployment(namespace: str, name: str, replicas: int, gpus: int = 1, **changes: Any) -> Manifest:
    """Return a Deployment in the queue l4; `metadata` is its template's, `pod` is laid over its pods."""
    metadata = changes.get("metadata", {})
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name, "namespace": namespace, "labels": {"kueue.x-k8s.io/queue-name": "l4"}},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": {"app": name}},
            "template": {
                "metadata": {**metadata, "labels": {"app": name, **metadata.get("labels", {})}},
                "spec": pod(gpus, restartPolicy="Always", **changes.get("pod", {})),
            },
        },
    }


def plan() -> FleetPlan:
    """Return the plan of the fleet."""
    evaluation = evaluate_stack(str(FILE), ROOT)
    assert isinstance(evaluation.plan, FleetPlan), [fault.line() for fault in evaluation.faults]
    return evaluation.plan


@contextmanager
def world(cluster: Cluster, *, with_policies: bool = True) -> Generator[World]:
    """Provide the fleet on the cluster, with its policies or without, and take it away."""
    fleet = plan()
    rendered: list[Manifest] = list(all_manifests(fleet))
    objects = [each for each in rendered if hostile_fleet.is_served(each)] + _RIGHTS
    objects = [each for each in objects if with_policies or each["kind"] not in _POLICIES]
    if "clustertrainingruntimes" in cluster.kubectl("api-resources", "-o", "name"):
        objects.append(RUNTIME)
    nodes = list(yaml.safe_load_all(output([*BERTH, "render", str(FILE), "--nodes"], ROOT)))
    for node in nodes:
        node["metadata"]["labels"] |= _REAL_LABELS | {"kubernetes.io/hostname": node["metadata"]["name"]}
    flavors = _flavors(nodes, [each for each in objects if each["kind"] == "ResourceFlavor"])
    accelerators = frozenset(each.resource for each in fleet.flavors) - {CPU}
    before = cluster.objects()
    try:
        hostile_fleet.apply(cluster, [*objects, *nodes])
        hostile_fleet.apply_patches(cluster, hostile_fleet.patches(rendered))
        hostile_fleet.wait_for_quotas(cluster)
        with proxied(cluster.context) as api:
            made = World(cluster, api, Watch(api, flavors, accelerators, GRACE), with_policies)
            until("default accounts", lambda: _accounts(cluster), lambda count: count >= len(TEAMS))
            yield made
            made.clear()
    finally:
        given = hostile_fleet.stream([*objects, *nodes])
        cluster.kubectl("delete", "-f", "-", "--ignore-not-found", "--wait=false", given=given)
        until("the fleet to be gone", lambda: sorted(cluster.objects() - before), lambda left: not left, _GONE)


def _accounts(cluster: Cluster) -> int:
    accounts = cluster.get("serviceaccounts", "-A")["items"]
    return sum(each["metadata"]["name"] == "default" and each["metadata"]["namespace"] in TEAMS for each in accounts)


def _flavors(nodes: list[Manifest], flavors: list[Manifest]) -> dict[str, str]:
    """Return the flavor of each node, by the labels that the flavor selects."""
    return {
        node["metadata"]["name"]: flavor["metadata"]["name"]
        for node in nodes
        for flavor in flavors
        if flavor["spec"]["nodeLabels"].items() <= node["metadata"]["labels"].items()
    }
