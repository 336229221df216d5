"""Access of people as Kubernetes roles and bindings, plain dicts: two roles for all teams, one for the platform.

A team's people can submit, watch and delete jobs and read queues. They cannot change quotas, limits of queues or
network policies, create bare pods, or read Secrets. The admission policies (`policies`) enforce that their jobs are
counted by Kueue.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from berth.manifests.serving.rules import KINDS
from berth.names import berth_labels
from berth.plan.teams import AccessPlan

Manifest = dict[str, object]

RBAC_GROUP: Final = "rbac.authorization.k8s.io"
SUBMITTER: Final = "berth-submitter"
SERVER: Final = "berth-server"
VIEWER: Final = "berth-queue-viewer"
OWNER: Final = "berth-platform-owner"

_READ_VERBS: Final = ["get", "list", "watch"]
_WRITE_VERBS: Final = ["get", "list", "watch", "create", "update", "patch", "delete", "deletecollection"]
_KUEUE: Final = "kueue.x-k8s.io"


def cluster_access(plan: AccessPlan) -> list[tuple[str, Manifest]]:
    """Return the name in the Pulumi program and the manifest of all cluster-wide objects: roles, then bindings."""
    manifests = [
        ("submitter", _role(SUBMITTER, _submitter(plan.job_kinds))),
        ("queue-viewer", _role(VIEWER, _viewer())),
        ("viewers", _cluster_binding(VIEWER, (*plan.owners, *plan.teams))),
    ]
    if plan.serving:
        manifests.append(("server", _role(SERVER, _server())))
    if plan.owners:
        manifests.append(("platform-owner", _role(OWNER, _owner(plan.job_kinds))))
        manifests.append(("owners", _cluster_binding(OWNER, plan.owners)))
    return manifests


def team_binding(role: str, groups: Sequence[str], namespace: str, labels: Mapping[str, str]) -> Manifest:
    """Return the binding of a team's groups to a cluster role in one of its namespaces."""
    metadata = {"name": role, "namespace": namespace, "labels": dict(labels)}
    return {"apiVersion": f"{RBAC_GROUP}/v1", "kind": "RoleBinding", "metadata": metadata} | _role_and_subjects(
        role, groups
    )


def _submitter(job_kinds: Mapping[str, Sequence[str]]) -> list[Manifest]:
    return [
        *(_rule(group, kinds, _WRITE_VERBS) for group, kinds in sorted(job_kinds.items())),
        _rule(_KUEUE, ["localqueues"], _READ_VERBS),
        # A policy allows it for finished Workloads and those without a job.
        _rule(_KUEUE, ["workloads"], [*_READ_VERBS, "delete"]),
        _rule("visibility.kueue.x-k8s.io", ["localqueues/pendingworkloads"], _READ_VERBS),
        _rule("", ["configmaps", "persistentvolumeclaims", "services"], _WRITE_VERBS),
        _rule("", ["pods"], [*_READ_VERBS, "delete"]),
        _rule("", ["events", "limitranges", "pods/log", "resourcequotas", "serviceaccounts"], _READ_VERBS),
        _rule("", ["pods/attach", "pods/exec", "pods/portforward"], ["create", "get"]),
        _rule("networking.k8s.io", ["networkpolicies"], _READ_VERBS),
        # It refers to secrets; IAM decides which of them a pod can read.
        _rule("secrets-store.csi.x-k8s.io", ["secretproviderclasses"], _WRITE_VERBS),
    ]


def _server() -> list[Manifest]:
    """Return rules to run services: their pods are queued, so bare pods are not among them."""
    return [
        *(_rule(group, [*kinds, *(f"{each}/scale" for each in kinds)], _WRITE_VERBS) for group, kinds in KINDS.items()),
        _rule("apps", ["controllerrevisions", "replicasets"], _READ_VERBS),
        _rule("autoscaling", ["horizontalpodautoscalers"], _WRITE_VERBS),
        _rule("policy", ["poddisruptionbudgets"], _WRITE_VERBS),
    ]


def _viewer() -> list[Manifest]:
    """Return rules to read cluster-scoped objects that explain why a job waits."""
    kinds = ["admissionchecks", "clusterqueues", "cohorts", "resourceflavors", "topologies", "workloadpriorityclasses"]
    return [
        _rule(_KUEUE, kinds, _READ_VERBS),
        _rule("scheduling.k8s.io", ["priorityclasses"], _READ_VERBS),
    ]


def _owner(job_kinds: Mapping[str, Sequence[str]]) -> list[Manifest]:
    """Return all permissions on queueing and tenancy in every namespace, none of which allows reading Secrets."""
    managed_kinds = [
        "configmaps",
        "limitranges",
        "namespaces",
        "persistentvolumeclaims",
        "resourcequotas",
        "serviceaccounts",
    ]
    return [
        *(_rule(group, kinds, _WRITE_VERBS) for group, kinds in sorted(job_kinds.items())),
        _rule(_KUEUE, ["*"], _WRITE_VERBS),
        _rule("visibility.kueue.x-k8s.io", ["*"], _READ_VERBS),
        _rule("", [*managed_kinds, "pods", "services"], _WRITE_VERBS),
        _rule("", ["events", "pods/log"], _READ_VERBS),
        _rule("", ["nodes"], [*_READ_VERBS, "patch"]),
        _rule("apps", ["daemonsets", "deployments", "replicasets"], [*_READ_VERBS, "patch"]),
        _rule("networking.k8s.io", ["networkpolicies"], _WRITE_VERBS),
        _rule(RBAC_GROUP, ["clusterrolebindings", "clusterroles", "rolebindings", "roles"], _READ_VERBS),
    ]


def _rule(group: str, resources: Sequence[str], verbs: Sequence[str]) -> Manifest:
    return {"apiGroups": [group], "resources": list(resources), "verbs": list(verbs)}


def _role(name: str, rules: list[Manifest]) -> Manifest:
    metadata = {"name": name, "labels": berth_labels()}
    return {"apiVersion": f"{RBAC_GROUP}/v1", "kind": "ClusterRole", "metadata": metadata, "rules": rules}


def _cluster_binding(role: str, groups: Sequence[str]) -> Manifest:
    metadata = {"name": role, "labels": berth_labels()}
    return {"apiVersion": f"{RBAC_GROUP}/v1", "kind": "ClusterRoleBinding", "metadata": metadata} | _role_and_subjects(
        role, groups
    )


def _role_and_subjects(role: str, groups: Sequence[str]) -> Manifest:
    """Return role and subjects of a binding, with groups sorted and unique."""
    subjects = [{"apiGroup": RBAC_GROUP, "kind": "Group", "name": group} for group in sorted(set(groups))]
    return {"roleRef": {"apiGroup": RBAC_GROUP, "kind": "ClusterRole", "name": role}, "subjects": subjects}
