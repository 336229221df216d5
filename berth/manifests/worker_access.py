"""Access of a manager's Kueue to a worker cluster, as plain dicts: a service account, its role, and a token.

The role is that in Kueue's documentation (MultiKueue: create-multikueue-kubeconfig.sh of 0.19), for the job kinds that
the manager queues. The long-lived token is a Secret of the account, which Kubernetes fills.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from berth.names import berth_labels
from berth.plan.admission_checks import WorkerAccessPlan

Manifest = dict[str, object]

_RBAC: Final = "rbac.authorization.k8s.io"
_KUEUE: Final = "kueue.x-k8s.io"
_CREATE_VERBS: Final = ("create", "delete", "get", "list", "watch")
_UPDATE_VERBS: Final = ("update", "patch")
_UPDATED_KINDS: Final = {("ray.io", "rayclusters")}
"""Kinds that the manager also changes while they run, because Ray scales them."""


def access_manifests(plan: WorkerAccessPlan) -> Iterator[tuple[str, Manifest]]:
    """Yield the name in the Pulumi program and the manifest of the objects in the worker, except the token."""
    account_ref = {"name": plan.account, "namespace": plan.namespace}
    yield "account", {"apiVersion": "v1", "kind": "ServiceAccount"} | _metadata(plan.account, plan.namespace)
    rules = [rule for group in sorted(plan.job_kinds) for rule in _job_rules(group, plan.job_kinds[group])]
    role = {"apiVersion": f"{_RBAC}/v1", "kind": "ClusterRole"} | _metadata(plan.account)
    rules += [
        _rule(_KUEUE, ["workloads"], (*_CREATE_VERBS, *_UPDATE_VERBS)),
        _rule(_KUEUE, ["workloads/status"], ("get", *_UPDATE_VERBS)),
        _rule(_KUEUE, ["clusterqueues", "localqueues"], ("get", "list", "watch")),
    ]
    yield "role", role | {"rules": rules}
    binding = {
        "roleRef": {"apiGroup": _RBAC, "kind": "ClusterRole", "name": plan.account},
        "subjects": [{"kind": "ServiceAccount", **account_ref}],
    }
    yield "binding", {"apiVersion": f"{_RBAC}/v1", "kind": "ClusterRoleBinding"} | _metadata(plan.account) | binding


def token_secret(plan: WorkerAccessPlan) -> Manifest:
    """Return the Secret that Kubernetes fills with a token of the account and the cluster's certificate.

    A new date is a new name: the engine creates the new Secret, writes its token into the manager's kubeconfig, and
    then deletes the old Secret, which ends the old token.
    """
    name = plan.account if plan.token_date is None else f"{plan.account}-{plan.token_date}"
    metadata = _metadata(name, plan.namespace, {"kubernetes.io/service-account.name": plan.account})
    return {"apiVersion": "v1", "kind": "Secret", "type": "kubernetes.io/service-account-token"} | metadata


def worker_kubeconfig(name: str, server: str, data: Mapping[str, str]) -> str:
    """Return a kubeconfig (JSON, which is YAML) for the account, from the `data` of its token Secret.

    `server` is the control plane's URL. Kueue rejects a kubeconfig without a certificate, or with an exec plugin.
    """
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": name, "cluster": {"server": server, "certificate-authority-data": data["ca.crt"]}}],
        "contexts": [{"name": name, "context": {"cluster": name, "user": name}}],
        "current-context": name,
        "users": [{"name": name, "user": {"token": base64.b64decode(data["token"]).decode()}}],
    }
    return json.dumps(config, sort_keys=True)


def kubeconfig_secret(plan: WorkerAccessPlan) -> Manifest:
    """Return the Secret on the manager without its kubeconfig, which is known only during a deployment."""
    return {"apiVersion": "v1", "kind": "Secret", "type": "Opaque"} | _metadata(plan.secret, plan.namespace)


def _job_rules(group: str, resources: Sequence[str]) -> Iterator[Manifest]:
    for resource in resources:
        update_verbs = _UPDATE_VERBS if (group, resource) in _UPDATED_KINDS else ()
        yield _rule(group, [resource], (*_CREATE_VERBS, *update_verbs))
        if (group, resource) != ("", "pods"):
            yield _rule(group, [f"{resource}/status"], ("get",))


def _rule(group: str, resources: Sequence[str], verbs: Sequence[str]) -> Manifest:
    return {"apiGroups": [group], "resources": list(resources), "verbs": list(verbs)}


def _metadata(name: str, namespace: str | None = None, annotations: Mapping[str, str] | None = None) -> Manifest:
    metadata: Manifest = {"name": name, "labels": berth_labels()}
    if namespace is not None:
        metadata["namespace"] = namespace
    if annotations:
        metadata["annotations"] = dict(annotations)
    return {"metadata": metadata}
