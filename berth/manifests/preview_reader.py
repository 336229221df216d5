"""The ClusterRole of an identity that previews a stack: it reads the kinds that the stack has, and no Secret.

Kubernetes authorises a dry run like the write itself. Without that right the provider compares on the client.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping

from berth.names import berth_labels

Manifest = dict[str, object]
NAME = "berth-preview-reader"


def preview_reader(manifests: Iterable[Mapping[str, object]]) -> Manifest:
    """Return the ClusterRole for the kinds of the manifests."""
    resources: defaultdict[str, set[str]] = defaultdict(set)
    for each in manifests:
        if each["kind"] != "Secret":
            resources[str(each["apiVersion"]).rpartition("/")[0]].add(plural(str(each["kind"])))
    rules = [
        {"apiGroups": [group], "resources": sorted(resources[group]), "verbs": ["get", "list", "watch"]}
        for group in sorted(resources)
    ]
    metadata = {"name": NAME, "labels": berth_labels()}
    return {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": metadata, "rules": rules}


def plural(kind: str) -> str:
    """Return the resource of a kind: ComputeClass is computeclasses, NetworkPolicy is networkpolicies."""
    name = kind.lower()
    if name.endswith("s"):
        return f"{name}es"
    return f"{name[:-1]}ies" if name.endswith(("cy", "gy", "ty")) else f"{name}s"
