"""Tell objects that every cluster has from those that somebody made in it."""

from __future__ import annotations

from berth.adopt.controllers import CONTROLLERS

_NAMESPACES = ("default", *(namespace for namespace, _ in CONTROLLERS.values()))
_PREFIXES = ("kube-", "gke-", "gmp-")
"""Starts of namespaces that Kubernetes and GKE make."""
_NAMES = {
    ("ServiceAccount", "default"),
    ("ClusterRoleBinding", "cluster-admin"),
    ("PriorityClass", "system-cluster-critical"),
    ("PriorityClass", "system-node-critical"),
}
"""Kind and name of objects that Kubernetes makes."""


def is_system_object(key: tuple[str, str, str]) -> bool:
    """Return whether Kubernetes, GKE or a controller made an object, given its kind, namespace and name."""
    kind, namespace, name = key
    place = name if kind == "Namespace" else namespace
    return (
        (kind, name) in _NAMES
        or name.startswith("system:")
        or place.startswith(_PREFIXES)
        or (place in _NAMESPACES and place != "default")
        or (kind == "Namespace" and name == "default")
    )
