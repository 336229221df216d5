"""The table of what is tried against a fleet's tenancy, as objects and identities (`tests/e2e/hostile/table.yaml`)."""

from __future__ import annotations

import copy
from dataclasses import dataclass
from functools import cache
from typing import Any

from berth.evaluate import evaluate_stack
from berth.manifests.fleet import all_manifests
from berth.plan.fleet import FleetPlan
from berth.yaml_loader import load_yaml
from tests.stack_files import ROOT

FOLDER = ROOT / "tests" / "e2e" / "hostile"
Manifest = dict[str, Any]

_EVERYBODY = "system:authenticated"
_ACCOUNTS = ("system:serviceaccounts", _EVERYBODY)


@dataclass(frozen=True)
class Identity:
    """Who asks. `everywhere` says whether pods, jobs and workloads may be written in the whole cluster."""

    user: str
    groups: tuple[str, ...]
    everywhere: bool = False


IDENTITIES = {
    "member": Identity("ana@acme.example", ("vision@acme.example", _EVERYBODY)),
    "account": Identity("system:serviceaccount:vision:vision", ("system:serviceaccounts:vision", *_ACCOUNTS)),
    "other": Identity("ben@acme.example", ("language@acme.example", _EVERYBODY)),
    "owner": Identity("eva@acme.example", ("platform@acme.example", _EVERYBODY), everywhere=True),
    "controller": Identity(
        "system:serviceaccount:kube-system:job-controller",
        ("system:serviceaccounts:kube-system", *_ACCOUNTS),
        everywhere=True,
    ),
    "cron": Identity(
        "system:serviceaccount:kube-system:cronjob-controller",
        ("system:serviceaccounts:kube-system", *_ACCOUNTS),
        everywhere=True,
    ),
}

_CONTAINERS = [{"name": "main", "image": "x"}]
_POD: Manifest = {"containers": _CONTAINERS}
_TEMPLATE: Manifest = {"spec": {"restartPolicy": "Never", **_POD}}
_QUEUED = {"labels": {"kueue.x-k8s.io/queue-name": "nowhere"}}
_SERVICE: Manifest = {
    "replicas": 0,
    "selector": {"matchLabels": {"app": "x"}},
    "template": {"metadata": {"labels": {"app": "x"}}, "spec": _POD},
}
_ON_GPU: Manifest = {"name": "pytorch", "image": "x", "resources": {"limits": {"nvidia.com/gpu": 1}}}
_RAY: Manifest = {
    "headGroupSpec": {"rayStartParams": {}, "template": {"spec": _POD}},
    "workerGroupSpecs": [
        {
            "groupName": "w",
            "replicas": 1,
            "minReplicas": 0,
            "maxReplicas": 9,
            "rayStartParams": {},
            "template": {"spec": _POD},
        }
    ],
}
RUNTIME: Manifest = {
    "apiVersion": "trainer.kubeflow.org/v1alpha1",
    "kind": "ClusterTrainingRuntime",
    "metadata": {"name": "berth-plain"},
    "spec": {
        "mlPolicy": {"numNodes": 1},
        "template": {
            "spec": {
                "replicatedJobs": [
                    {
                        "name": "node",
                        "template": {
                            "metadata": {"labels": {"trainer.kubeflow.org/trainjob-ancestor-step": "trainer"}},
                            "spec": {"template": {"spec": {"containers": [{"name": "node", "image": "x"}]}}},
                        },
                    }
                ]
            }
        },
    },
}
"""A runtime of Trainer, which the platform provides."""

_SMALLEST: dict[str, Manifest] = {
    "pod": {"apiVersion": "v1", "kind": "Pod", "metadata": {}, "spec": _POD},
    "job": {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": _QUEUED,
        "spec": {"suspend": True, "template": _TEMPLATE},
    },
    "jobset": {
        "apiVersion": "jobset.x-k8s.io/v1alpha2",
        "kind": "JobSet",
        "metadata": _QUEUED,
        "spec": {
            "suspend": True,
            "replicatedJobs": [{"name": "slice", "replicas": 2, "template": {"spec": {"template": _TEMPLATE}}}],
        },
    },
    "deployment": {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": _QUEUED, "spec": _SERVICE},
    "statefulset": {
        "apiVersion": "apps/v1",
        "kind": "StatefulSet",
        "metadata": _QUEUED,
        "spec": {**_SERVICE, "serviceName": "x"},
    },
    "leaderworkerset": {
        "apiVersion": "leaderworkerset.x-k8s.io/v1",
        "kind": "LeaderWorkerSet",
        "metadata": _QUEUED,
        "spec": {
            "replicas": 0,
            "rolloutStrategy": {"type": "RollingUpdate"},
            "leaderWorkerTemplate": {"size": 2, "workerTemplate": {"spec": _POD}},
        },
    },
    "pytorchjob": {
        "apiVersion": "kubeflow.org/v1",
        "kind": "PyTorchJob",
        "metadata": _QUEUED,
        "spec": {
            "runPolicy": {"suspend": True, "cleanPodPolicy": "Running"},
            "pytorchReplicaSpecs": {"Worker": {"replicas": 2, "template": {"spec": {"containers": [_ON_GPU]}}}},
        },
    },
    "raycluster": {
        "apiVersion": "ray.io/v1",
        "kind": "RayCluster",
        "metadata": _QUEUED,
        "spec": {"suspend": True, **_RAY},
    },
    "rayjob": {
        "apiVersion": "ray.io/v1",
        "kind": "RayJob",
        "metadata": _QUEUED,
        "spec": {"suspend": True, "entrypoint": "x", "shutdownAfterJobFinishes": True, "rayClusterSpec": _RAY},
    },
    "rayservice": {
        "apiVersion": "ray.io/v1",
        "kind": "RayService",
        "metadata": _QUEUED,
        "spec": {"rayClusterConfig": {"suspend": True, **_RAY}},
    },
    "trainjob": {
        "apiVersion": "trainer.kubeflow.org/v1alpha1",
        "kind": "TrainJob",
        "metadata": _QUEUED,
        "spec": {"suspend": True, "runtimeRef": {"name": RUNTIME["metadata"]["name"]}, "trainer": {"numNodes": 2}},
    },
    "service": {"apiVersion": "v1", "kind": "Service", "metadata": {}, "spec": {"ports": [{"port": 80}]}},
    "ingress": {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "Ingress",
        "metadata": {},
        "spec": {"defaultBackend": {"service": {"name": "x", "port": {"number": 80}}}},
    },
    "gateway": {
        "apiVersion": "gateway.networking.k8s.io/v1",
        "kind": "Gateway",
        "metadata": {},
        "spec": {
            "gatewayClassName": "gke-l7-global-external-managed",
            "listeners": [{"name": "http", "port": 80, "protocol": "HTTP"}],
        },
    },
    "workload": {
        "apiVersion": "kueue.x-k8s.io/v1beta2",
        "kind": "Workload",
        "metadata": {},
        "spec": {"podSets": [{"name": "main", "count": 1, "template": _TEMPLATE}]},
    },
    "binding": {
        "apiVersion": "v1",
        "kind": "Binding",
        "metadata": {},
        "target": {"apiVersion": "v1", "kind": "Node", "name": "system-1"},
    },
    "oldbinding": {
        "apiVersion": "v1",
        "kind": "Binding",
        "metadata": {},
        "target": {"apiVersion": "v1", "kind": "Node", "name": "system-1"},
    },
    "eviction": {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {}},
    "scale": {"apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": {}, "spec": {"replicas": 0}},
    "statefulsetscale": {
        "apiVersion": "autoscaling/v1",
        "kind": "Scale",
        "metadata": {},
        "spec": {"replicas": 0},
    },
    "replicaset": {
        "apiVersion": "apps/v1",
        "kind": "ReplicaSet",
        "metadata": {},
        "spec": {key: value for key, value in _SERVICE.items() if key != "serviceName"},
    },
    "podtemplate": {"apiVersion": "v1", "kind": "PodTemplate", "metadata": {}, "template": {"spec": _POD}},
    "autoscaler": {
        "apiVersion": "autoscaling/v2",
        "kind": "HorizontalPodAutoscaler",
        "metadata": {},
        "spec": {"maxReplicas": 4, "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "x"}},
    },
    "resourcequota": {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {}, "spec": {}},
    "limitrange": {"apiVersion": "v1", "kind": "LimitRange", "metadata": {}, "spec": {"limits": []}},
    "networkpolicy": {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "NetworkPolicy",
        "metadata": {},
        "spec": {"podSelector": {}},
    },
    "localqueue": {
        "apiVersion": "kueue.x-k8s.io/v1beta2",
        "kind": "LocalQueue",
        "metadata": {},
        "spec": {"clusterQueue": "shared"},
    },
    "appwrapper": {
        "apiVersion": "workload.codeflare.dev/v1beta2",
        "kind": "AppWrapper",
        "metadata": _QUEUED,
        "spec": {
            "suspend": True,
            "components": [
                {
                    "template": {
                        "apiVersion": "batch/v1",
                        "kind": "Job",
                        "metadata": {"name": "inner"},
                        "spec": {"template": _TEMPLATE},
                    }
                }
            ],
        },
    },
    "namespace": {"apiVersion": "v1", "kind": "Namespace", "metadata": {}},
    "budget": {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {},
        "spec": {"minAvailable": "100%", "selector": {}},
    },
    "claim": {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "metadata": {},
        "spec": {"devices": {"requests": [{"name": "gpu", "exactly": {"deviceClassName": "gpu.nvidia.com"}}]}},
    },
    "provisioningrequest": {
        "apiVersion": "autoscaling.x-k8s.io/v1",
        "kind": "ProvisioningRequest",
        "metadata": {},
        "spec": {
            "provisioningClassName": "queued-provisioning.gke.io",
            "podSets": [{"podTemplateRef": {"name": "x"}, "count": 1}],
        },
    },
    "secret": {"apiVersion": "v1", "kind": "Secret", "metadata": {}},
    "policybinding": {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingAdmissionPolicyBinding",
        "metadata": {},
        "spec": {"policyName": "none", "validationActions": ["Deny"]},
    },
}
RESOURCES = {
    "pod": ("", "pods"),
    "job": ("batch", "jobs"),
    "jobset": ("jobset.x-k8s.io", "jobsets"),
    "deployment": ("apps", "deployments"),
    "statefulset": ("apps", "statefulsets"),
    "leaderworkerset": ("leaderworkerset.x-k8s.io", "leaderworkersets"),
    "pytorchjob": ("kubeflow.org", "pytorchjobs"),
    "raycluster": ("ray.io", "rayclusters"),
    "rayjob": ("ray.io", "rayjobs"),
    "rayservice": ("ray.io", "rayservices"),
    "trainjob": ("trainer.kubeflow.org", "trainjobs"),
    "service": ("", "services"),
    "ingress": ("networking.k8s.io", "ingresses"),
    "gateway": ("gateway.networking.k8s.io", "gateways"),
    "workload": ("kueue.x-k8s.io", "workloads"),
    "binding": ("", "pods/binding"),
    "oldbinding": ("", "bindings"),
    "eviction": ("", "pods/eviction"),
    "scale": ("apps", "replicasets/scale"),
    "statefulsetscale": ("apps", "statefulsets/scale"),
    "replicaset": ("apps", "replicasets"),
    "podtemplate": ("", "podtemplates"),
    "autoscaler": ("autoscaling", "horizontalpodautoscalers"),
    "resourcequota": ("", "resourcequotas"),
    "limitrange": ("", "limitranges"),
    "networkpolicy": ("networking.k8s.io", "networkpolicies"),
    "localqueue": ("kueue.x-k8s.io", "localqueues"),
    "appwrapper": ("workload.codeflare.dev", "appwrappers"),
    "namespace": ("", "namespaces"),
    "secret": ("", "secrets"),
    "budget": ("policy", "poddisruptionbudgets"),
    "claim": ("resource.k8s.io", "resourceclaims"),
    "provisioningrequest": ("autoscaling.x-k8s.io", "provisioningrequests"),
    "policybinding": ("admissionregistration.k8s.io", "validatingadmissionpolicybindings"),
}
"""API group and resource of each kind."""


@dataclass(frozen=True)
class Attempt:
    """One row: `before` is None for a creation, `after` for a deletion, whose DeleteOptions are `options`.

    The refusal has one of the texts of `refused`; none: it happens. `subresource` is what of the object is written.
    With `over_time`, the answer needs a job that runs; with `unanswered`, a Kueue whose webhooks do not answer. What is
    `there` is an object of the fleet. `hole` is a known hole of Kueue that it goes through.
    """

    title: str
    who: str
    verb: str
    kind: str
    namespace: str
    before: Manifest | None
    after: Manifest | None
    refused: tuple[str, ...]
    options: Manifest | None = None
    subresource: str = ""
    over_time: bool = False
    unanswered: bool = False
    there: bool = False
    hole: str = ""

    @property
    def name(self) -> str:
        """Name of the object; empty for a deletion of all of a kind."""
        shown = self.after or self.before
        assert shown is not None
        return "" if self.verb == "deletecollection" else shown["metadata"]["name"]

    @property
    def resource(self) -> tuple[str, str]:
        """API group, and resource with its subresource."""
        group, resource = RESOURCES[self.kind]
        return group, f"{resource}/{self.subresource}" if self.subresource else resource

    @property
    def identity(self) -> Identity:
        """Who asks."""
        return IDENTITIES[self.who]


@cache
def attempts() -> list[Attempt]:
    """Every row of the table."""
    rows: list[Manifest] = load_yaml((FOLDER / "table.yaml").read_text(encoding="utf-8"))
    return [_attempt(number, row) for number, row in enumerate(rows, 1)]


def fleet() -> FleetPlan:
    """The fleet that the table is about."""
    file = FOLDER / "fleet.yaml"
    evaluation = evaluate_stack(str(file), ROOT)
    assert isinstance(evaluation.plan, FleetPlan), [fault.line() for fault in evaluation.faults]
    return evaluation.plan


def manifests() -> list[Manifest]:
    """What `berth render` prints for that fleet."""
    return list(all_manifests(fleet()))


def parent(attempt: Attempt) -> Manifest | None:
    """Return the object that must exist for an attempt below it: a pod for its eviction, its owner for a scale."""
    kinds = {"eviction": "pod", "scale": "replicaset", "statefulsetscale": "statefulset"}
    if attempt.kind not in kinds:
        return None
    made = copy.deepcopy(_SMALLEST[kinds[attempt.kind]])
    made["metadata"] |= {"name": attempt.name, "namespace": attempt.namespace}
    return made


def _attempt(number: int, row: Manifest) -> Attempt:
    namespace = row.get("namespace", "vision")
    refused = row["refused"]
    is_deletion = row.get("verb") in ("delete", "deletecollection")
    before = row.get("before", {} if is_deletion else None)
    return Attempt(
        title=f"{number} {row['who']}: {row['try']}",
        who=row["who"],
        verb=row.get("verb", "create" if before is None else "update"),
        kind=row["kind"],
        namespace=namespace,
        before=None if before is None else _object(row["kind"], number, namespace, before),
        after=None if is_deletion else _object(row["kind"], number, namespace, row),
        refused=() if refused is None else (refused,) if isinstance(refused, str) else tuple(refused),
        options=row.get("options"),
        subresource=row.get("subresource", ""),
        over_time=row.get("overTime", False),
        unanswered=row.get("unanswered", False),
        there=row.get("there", False),
        hole=row.get("hole", ""),
    )


def _object(kind: str, number: int, namespace: str, row: Manifest) -> Manifest:
    made = copy.deepcopy(_SMALLEST[kind])
    made["metadata"] |= {"name": f"attempt-{number}", "namespace": namespace}
    if kind == "namespace":
        made["metadata"] = {"name": namespace, "labels": {}}
    if kind == "policybinding":
        made["metadata"].pop("namespace")
    made["metadata"] = _laid_over(made["metadata"], row.get("metadata", {}))
    if "spec" in row:
        made["spec"] |= row["spec"]
    for part in ("status", "deleteOptions", "template"):
        if part in row:
            made[part] = row[part]
    if "labels" in row:  # of the pod template
        _template(kind, made).setdefault("metadata", {})["labels"] = {"app": "x", **row["labels"]}
    for part in ("annotations", "finalizers"):
        if part in row:
            _template(kind, made).setdefault("metadata", {})[part] = row[part]
    if "pod" in row:
        _pod(kind, made).update(copy.deepcopy(row["pod"]))
    return made


def _pod(kind: str, made: Manifest) -> Manifest:
    return made["spec"] if kind == "pod" else _template(kind, made)["spec"]


def _template(kind: str, made: Manifest) -> Manifest:
    """Return the pod template of an object; a pod is its own."""
    if kind == "pod":
        return made
    if kind == "leaderworkerset":
        return made["spec"]["leaderWorkerTemplate"]["workerTemplate"]
    if kind == "jobset":
        return made["spec"]["replicatedJobs"][0]["template"]["spec"]["template"]
    return made["spec"]["template"]


def _laid_over(below: Manifest, above: Manifest) -> Manifest:
    merged = dict(below)
    for key, value in copy.deepcopy(above).items():
        merged[key] = {**merged[key], **value} if isinstance(merged.get(key), dict) else value
    return merged
