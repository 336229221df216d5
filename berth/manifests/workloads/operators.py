"""Jobs of operators as plain dicts: PyTorchJob, MPIJob, TrainJob, RayJob, RayCluster.

Field names: Kubeflow's training operator 1.9 (`kubeflow.org/v1`), MPI operator 0.8 (`kubeflow.org/v2beta1`), Kubeflow
Trainer 2.2 (`trainer.kubeflow.org/v1alpha1`), KubeRay 1.6 (`ray.io/v1`). All are created suspended: Kueue resumes them.
"""

from __future__ import annotations

from typing import Any, Final, cast

from berth.manifests.workloads.pods import Manifest, optional, pod_template, queued_object
from berth.plan.workloads import MPIJobPlan, PyTorchJobPlan, RayPlan, TrainJobPlan

PYTORCH_JOB_API: Final = "kubeflow.org/v1"
RAY_API: Final = "ray.io/v1"

_PYTORCH: Final = "pytorch"
"""The container that the training operator looks for."""
_SUBMITTER: Final = "ray-job-submitter"
"""The container that runs a Ray job's entrypoint, as KubeRay names it."""
_TRAINER_JOB: Final = "node"
"""The replicated job of the trainer in the runtimes that Kubeflow Trainer 2.2 publishes."""


def pytorch_job(plan: PyTorchJobPlan) -> Manifest:
    """Render a PyTorchJob; a job of one pod has only a master."""
    roles = {"Master": 1, "Worker": plan.workers}
    replicas = {
        role: {
            "replicas": number,
            **optional("restartPolicy", plan.pod.restart_policy),
            "template": pod_template(plan.submission, plan.pod, container=_PYTORCH, with_restart_policy=False),
        }
        for role, number in roles.items()
        if number
    }
    policy = {"suspend": True, "cleanPodPolicy": "Running", **optional("backoffLimit", plan.backoff_limit)}
    spec: Manifest = {"runPolicy": policy, "pytorchReplicaSpecs": replicas}
    return queued_object(PYTORCH_JOB_API, "PyTorchJob", plan.submission) | {"spec": spec}


def mpi_job(plan: MPIJobPlan) -> Manifest:
    """Render an MPIJob. Workers have no command: the operator starts sshd in them."""
    roles = {"Launcher": (1, plan.launcher), "Worker": (plan.workers, plan.pod)}
    replicas = {
        role: {
            "replicas": number,
            **optional("restartPolicy", pod.restart_policy),
            "template": pod_template(plan.submission, pod, with_restart_policy=False),
        }
        for role, (number, pod) in roles.items()
    }
    policy = {"suspend": True, "cleanPodPolicy": "Running", **optional("backoffLimit", plan.backoff_limit)}
    spec: Manifest = {"slotsPerWorker": plan.slots, "runPolicy": policy}
    if plan.implementation:
        spec |= {"mpiImplementation": plan.implementation, "launcherCreationPolicy": "WaitForWorkersReady"}
    spec["mpiReplicaSpecs"] = replicas
    return queued_object("kubeflow.org/v2beta1", "MPIJob", plan.submission) | {"spec": spec}


def train_job(plan: TrainJobPlan) -> Manifest:
    """Render a TrainJob. Its pods come from the runtime; only what differs from it is written."""
    pod = cast("dict[str, Any]", pod_template(plan.submission, plan.pod))
    (container,) = pod["spec"].pop("containers")
    trainer: Manifest = {
        "numNodes": plan.nodes,
        "resourcesPerNode": container["resources"],
        **{key: container[key] for key in ("image", "command") if key in container},
    }
    patched = {key: pod["spec"][key] for key in ("nodeSelector", "serviceAccountName") if key in pod["spec"]}
    metadata = {"annotations": plan.pod.annotations} if plan.pod.annotations else {}
    patch = {"template": {**({"metadata": metadata} if metadata else {}), **({"spec": patched} if patched else {})}}
    spec: Manifest = {"suspend": True, "runtimeRef": {"name": plan.runtime}, "trainer": trainer}
    if patch["template"]:
        replicated_jobs = [{"name": _TRAINER_JOB, "template": {"spec": patch}}]
        spec["runtimePatches"] = [
            {
                "manager": "berth",
                "trainingRuntimeSpec": {"template": {"spec": {"replicatedJobs": replicated_jobs}}},
            }
        ]
    return queued_object("trainer.kubeflow.org/v1alpha1", "TrainJob", plan.submission) | {"spec": spec}


def ray(plan: RayPlan) -> Manifest:
    """Render a RayJob, or a RayCluster if the plan has no entrypoint."""
    cluster: Manifest = {
        "headGroupSpec": {
            # The head schedules no tasks on itself: it has no accelerator.
            "rayStartParams": {"dashboard-host": "0.0.0.0", "num-cpus": "0"},  # inside of the pod
            "template": pod_template(plan.submission, plan.head, container="ray-head"),
        },
        "workerGroupSpecs": [
            {
                "groupName": "workers",
                "replicas": plan.workers,
                # Kueue admits a fixed number of pods.
                "minReplicas": plan.workers,
                "maxReplicas": plan.workers,
                "rayStartParams": {},
                "template": pod_template(plan.submission, plan.pod, container="ray-worker"),
            }
        ],
    }
    if plan.entrypoint is None:
        return queued_object(RAY_API, "RayCluster", plan.submission) | {"spec": {"suspend": True, **cluster}}
    spec: Manifest = {
        "suspend": True,
        "entrypoint": plan.entrypoint,
        # Kueue requires it: the cluster of a finished job would keep its quota.
        "shutdownAfterJobFinishes": True,
        "rayClusterSpec": cluster,
    }
    if plan.submitter is not None:
        spec["submitterPodTemplate"] = pod_template(plan.submission, plan.submitter, container=_SUBMITTER)
    return queued_object(RAY_API, "RayJob", plan.submission) | {"spec": spec}
