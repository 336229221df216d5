"""Objects on the API server of an ACK One fleet, as plain dicts: namespaces, quota tree, propagation policies.

Field names: ElasticQuotaTree `scheduling.sigs.k8s.io/v1beta1` (ACK docs: capacity scheduling, ack-kube-queue) and
PropagationPolicy `policy.one.alibabacloud.com/v1alpha1` (ACK One docs: propagation policies; Karmada's own fields).
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Final, cast

from berth.manifests.kueue import priority_class
from berth.manifests.quantities import quantity
from berth.manifests.tenancy import team_namespace
from berth.manifests.workloads.operators import PYTORCH_JOB_API, pytorch_job
from berth.names import TEAM_LABEL, berth_labels
from berth.plan.ack import AckFleetPlan, PropagationPlan, QuotaNodePlan
from berth.plan.workloads import PyTorchJobPlan

Manifest = dict[str, object]

POLICY_API: Final = "policy.one.alibabacloud.com/v1alpha1"

TREE_NAMESPACE: Final = "kube-system"
"""Name and namespace of the quota tree: ACK reads only this one."""

MAX_JOBS: Final = "kube-queue/max-jobs"
LEND_LIMIT: Final = "alibabacloud.com/lendlimit"
SHARED_POLICY: Final = "berth"
"""Name of the policy that propagates cluster-scoped objects (namespaces, priorities) to every member."""

TRAINING_JOB: Final = (PYTORCH_JOB_API, "PyTorchJob")
"""API version and kind of propagated jobs."""


def ack_manifests(plan: AckFleetPlan) -> Iterator[Manifest]:
    """Yield every object of the fleet, in the order to apply them."""
    for _, manifest in manifests_by_role(plan):
        yield manifest


def manifests_by_role(plan: AckFleetPlan) -> Iterator[tuple[str, Manifest]]:
    """Yield role and manifest of each object; the role is its name in the Pulumi program."""
    namespaces = [team_namespace(team, place.name) for team in plan.teams for place in team.namespaces if place.owned]
    priorities = list(map(priority_class, plan.priorities))
    for each in (*namespaces, *priorities):
        yield f"{str(each['kind']).lower()}-{_name(each)}", each
    if shared := [*namespaces, *priorities]:
        yield "shared-propagation", shared_propagation(shared)
    if plan.quotas is not None:
        yield "quota-tree", quota_tree(plan.quotas)
    for policy in plan.propagations:
        yield f"propagation-{policy.namespace}", propagation(policy)


def quota_tree(root: QuotaNodePlan) -> Manifest:
    """Return the ElasticQuotaTree of a fleet."""
    metadata = {"name": "elasticquotatree", "namespace": TREE_NAMESPACE, "labels": berth_labels()}
    return {
        "apiVersion": "scheduling.sigs.k8s.io/v1beta1",
        "kind": "ElasticQuotaTree",
        "metadata": metadata,
        "spec": {"root": _node(root)},
    }


def _node(node: QuotaNodePlan) -> Manifest:
    jobs = {} if node.max_jobs is None else {MAX_JOBS: node.max_jobs}
    lend = {} if node.lend is None else {LEND_LIMIT: json.dumps(_quantities(node.lend), separators=(",", ":"))}
    return {
        "name": node.name,
        "min": _quantities(node.minimum),
        "max": _quantities({**node.maximum, **jobs}),
        **({"attributes": lend} if lend else {}),
        **({"namespaces": list(node.namespaces)} if node.namespaces else {}),
        **({"children": [_node(child) for child in node.children]} if node.children else {}),
    }


def _quantities(amounts: Mapping[str, int]) -> dict[str, str]:
    return {resource: quantity(resource, amount) for resource, amount in amounts.items()}


def propagation(plan: PropagationPlan) -> Manifest:
    """Return the policy that places each training job of a namespace on one member.

    With `suspension` the job waits until kube-queue has quota for it; without, it is placed at once. Replicas are
    divided over members; with Gang, the master and workers of one job are on the same member.
    """
    api_version, kind = TRAINING_JOB
    placement: Manifest = {"replicaSchedulingType": "Divided"}
    if plan.gang:
        placement["customSchedulingType"] = "Gang"
    spec: Manifest = {
        "propagateDeps": plan.propagate_deps,
        "preserveResourcesOnDeletion": plan.preserve_resources_on_deletion,
        **({"suspension": {"scheduling": True}} if plan.suspension else {}),
        "failover": {
            "application": {
                "decisionConditions": {"tolerationSeconds": plan.toleration_seconds},
                "purgeMode": plan.purge_mode,
            }
        },
        "placement": {"replicaScheduling": placement},
        "resourceSelectors": [{"apiVersion": api_version, "kind": kind}],
    }
    metadata = {"name": plan.name, "namespace": plan.namespace, "labels": berth_labels()}
    return {"apiVersion": POLICY_API, "kind": "PropagationPolicy", "metadata": metadata, "spec": spec}


def training_job(plan: PyTorchJobPlan) -> Manifest:
    """Return a PyTorchJob without suspension and queue: the policy suspends it, and its namespace has one queue.

    Without a quota tree the job is not suspended, and its namespace has no queue.
    """
    manifest = pytorch_job(plan)
    metadata, spec = (dict(cast("Manifest", manifest[key])) for key in ("metadata", "spec"))
    metadata["labels"] = {TEAM_LABEL: plan.submission.team}
    spec["runPolicy"] = {k: v for k, v in cast("Manifest", spec["runPolicy"]).items() if k != "suspend"}
    return {**manifest, "metadata": metadata, "spec": spec}


def shared_propagation(manifests: list[Manifest]) -> Manifest:
    """Return the policy that propagates cluster-scoped objects, each by name, to every member."""
    selectors = [{"apiVersion": each["apiVersion"], "kind": each["kind"], "name": _name(each)} for each in manifests]
    spec = {"placement": {"replicaScheduling": {"replicaSchedulingType": "Duplicated"}}, "resourceSelectors": selectors}
    metadata = {"name": SHARED_POLICY, "labels": berth_labels()}
    return {"apiVersion": POLICY_API, "kind": "ClusterPropagationPolicy", "metadata": metadata, "spec": spec}


def _name(manifest: Manifest) -> str:
    return cast("dict[str, str]", manifest["metadata"])["name"]
