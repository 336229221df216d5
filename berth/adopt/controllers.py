"""Read Kueue, JobSet and NVIDIA's DRA driver: adopted where Helm installed them, else `existing`.

Also tells the objects that every cluster has.
"""

from __future__ import annotations

from collections.abc import Mapping

from berth.adopt.api_objects import ApiObject, NotAdopted, StackEntry, labels_of, name_of, namespace_of
from berth.adopt.inventory import ClusterInventory
from berth.plan.configuration import SLICE_CONTROLLER

CONTROLLERS = {
    "kueue": ("kueue-system", ("kueue-controller-manager",)),
    "jobset": ("jobset-system", ("jobset-controller", "jobset-controller-manager")),
}
"""Section of the stack file → namespace and names of the controller's Deployment, in the project's chart and manifests.
"""
_DRIVER = ("nvidia-dra-driver-gpu", "nvidia-dra-driver-gpu-controller")
"""Namespace and Deployment of NVIDIA's DRA driver, which a cluster may lack."""
_OPERATORS: Mapping[str, str] = {
    "appwrapper": "appwrapper-controller-manager",
    "kuberay": "kuberay-operator",
    "leaderworkerset": "lws-controller-manager",
    "mpi-operator": "mpi-operator",
    "slice-controller": "slice-controller-controller-manager",
    "spark-operator": "spark-operator-controller",
    "trainer": "kubeflow-trainer-controller-manager",
    "training-operator": "training-operator",
}
"""Operator of the stack file → name of its Deployment, as its project's manifests or chart have it; for Kueue's slice
controller those of cluster-toolkit (`modules/management/kubectl-apply`)."""


def controller_sections(inventory: ClusterInventory, not_adopted: list[NotAdopted]) -> dict[str, StackEntry]:
    """Return the sections `kueue` and `jobset`, and `nvidiaDraDriver` where the driver is."""
    deployed = {
        (namespace_of(deployment), name_of(deployment)): deployment
        for deployment in inventory.objects_of_kind("Deployment")
    }
    places = dict(CONTROLLERS)
    if _DRIVER in deployed:
        places["nvidiaDraDriver"] = (_DRIVER[0], _DRIVER[1:])
    return {section: _controller_section(section, place, deployed, not_adopted) for section, place in places.items()}


def operators(inventory: ClusterInventory, pools: Mapping[str, StackEntry]) -> list[str]:
    """Return the operators that run in the cluster, where jobs need one of them to form slices; else none is stated.

    A list says that there is no other operator, which a Deployment of another name would prove wrong.
    """
    names = set(map(name_of, inventory.objects_of_kind("Deployment")))
    found = [operator for operator, name in _OPERATORS.items() if name in names]
    is_needed = any("dynamicSlicing" in pool for pool in pools.values())
    return found if is_needed and SLICE_CONTROLLER in found else []


def _controller_section(
    section: str,
    place: tuple[str, tuple[str, ...]],
    deployed: Mapping[tuple[str, str], ApiObject],
    not_adopted: list[NotAdopted],
) -> StackEntry:
    namespace, names = place
    deployment = next((deployed[namespace, name] for name in names if (namespace, name) in deployed), None)
    if deployment is None:
        not_adopted.append(
            NotAdopted(section, f"no Deployment {namespace}/{names[0]} in the answers: assumed to be existing")
        )
        return {"existing": True}
    labels = labels_of(deployment)
    version = labels.get("app.kubernetes.io/version", "").removeprefix("v")
    if labels.get("app.kubernetes.io/managed-by") != "Helm" or not version:
        not_adopted.append(NotAdopted(section, "no Helm release: `existing`, so whoever installed it upgrades it"))
        return {"existing": True}
    return {"version": version}


_PREFIXES = ("kube-", "gke-", "gmp-")
"""Starts of namespaces that Kubernetes and GKE make."""
_NAMES = {
    ("ServiceAccount", "default"),
    ("ConfigMap", "kube-root-ca.crt"),
    ("ClusterRoleBinding", "cluster-admin"),
    ("PriorityClass", "system-cluster-critical"),
    ("PriorityClass", "system-node-critical"),
}
"""Kind and name of objects that Kubernetes makes."""


def is_system_object(key: tuple[str, str, str]) -> bool:
    """Return whether Kubernetes, GKE or a controller made an object, given its kind, namespace and name.

    What a controller's release has in its namespace is called after it.
    """
    kind, namespace, name = key
    place = name if kind == "Namespace" else namespace
    return (
        (kind, name) in _NAMES
        or name.startswith("system:")
        or place.startswith(_PREFIXES)
        or any(place == its_namespace and section in name for section, (its_namespace, _) in CONTROLLERS.items())
        or (kind == "Namespace" and name == "default")
    )
