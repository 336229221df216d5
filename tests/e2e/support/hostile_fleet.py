"""The fleet of the hostile table on a cluster: the objects of `berth render`, and waiting until they work."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from berth.manifests.serving.webhooks import is_patch, without_patch
from tests import hostile
from tests.e2e.support.cluster import Cluster, until

Manifest = dict[str, Any]
_NOT_SERVED = ("ClusterRules", "DaemonSet", "GKENetworkParamSet", "Network", "PodMonitoring")
_RECOUNT = 330.0
"""Seconds until Kubernetes has counted every ResourceQuota anew: `--resource-quota-sync-period` is 5 minutes."""
_SYSTEM_NAMESPACES = ("kube-system", "kueue-system")


def objects() -> list[Manifest]:
    """Return the objects that a cluster without GKE's own kinds can have."""
    return [each for each in hostile.manifests() if is_served(each)]


def is_served(manifest: Manifest) -> bool:
    """Return whether a cluster without GKE's own kinds can have an object of its own like this."""
    kind, namespace = manifest["kind"], manifest["metadata"].get("namespace")
    return kind not in _NOT_SERVED and not is_patch(manifest) and namespace not in _SYSTEM_NAMESPACES


def apply(cluster: Cluster, manifests: Sequence[Manifest]) -> None:
    """`kubectl apply` of the objects."""
    cluster.kubectl("apply", "-f", "-", given=stream(manifests))


def patches(manifests: Sequence[Manifest]) -> list[Manifest]:
    """Return the patches of Kueue's webhooks among the objects: without them Kueue looks at pods of every namespace."""
    return [without_patch(each) for each in manifests if is_patch(each)]


def apply_patches(cluster: Cluster, made: Sequence[Manifest]) -> None:
    """As the program does, by server-side apply; what this manager set before and is not in a patch is removed."""
    cluster.kubectl("apply", "--server-side", "--field-manager=berth-e2e", "-f", "-", given=stream(made))


def stream(manifests: Sequence[Manifest]) -> str:
    """Return the objects as documents of one file."""
    return "".join(f"---\n{json.dumps(manifest)}\n" for manifest in manifests)


def wait_for_namespaces(cluster: Cluster) -> None:
    """Wait until pods can be created: default accounts exist, and Kubernetes has counted what the quotas limit."""
    until("default accounts", lambda: _accounts(cluster), lambda accounts: len(accounts) == 2)
    wait_for_quotas(cluster)


def wait_for_quotas(cluster: Cluster) -> None:
    """Wait until Kubernetes has counted what the quotas limit."""
    until("counted quotas", lambda: _uncounted(cluster), lambda left: not left, _RECOUNT)


def _accounts(cluster: Cluster) -> list[Manifest]:
    accounts = cluster.get("serviceaccounts", "-A")["items"]
    return [
        each
        for each in accounts
        if each["metadata"]["name"] == "default" and each["metadata"]["namespace"] in ("vision", "language")
    ]


def _uncounted(cluster: Cluster) -> list[str]:
    """What a ResourceQuota limits and Kubernetes has not counted yet: it refuses such an object.

    A quota that is older than a custom resource definition is counted at the next full count.
    """
    served = {f"count/{name}" for name in cluster.kubectl("api-resources", "-o", "name").split()}
    return [
        f"{quota['metadata']['namespace']}: {resource}"
        for quota in cluster.get("resourcequotas", "-A")["items"]
        for resource in quota["spec"]["hard"].keys() - quota.get("status", {}).get("used", {}).keys()
        if resource in served or not resource.startswith("count/")
    ]
