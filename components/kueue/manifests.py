"""Kueue's objects and pod priority classes as plain dicts, ready to be applied or written as YAML.

Plan in, manifest out; nothing is decided here. What the API server would leave out of its answer (empty maps, `false`,
empty text) is left out from the start: it would show as a change in every later preview. Every manifest is a fresh
dict that shares nothing with the plan or with another manifest. Field names: Kueue 0.19.2, `apis/kueue/v1beta2`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from components.kueue.quantities import quantity
from components.names import berth_labels
from components.plan.kueue import (
    ClusterQueuePlan,
    CohortPlan,
    FlavorPlan,
    FlavorQuotasPlan,
    LocalQueuePlan,
    PreemptionPlan,
    PriorityPlan,
    QuotaPlan,
)
from components.plan.nodes import Toleration

Manifest = dict[str, object]

KUEUE: Final = "kueue.x-k8s.io/v1beta2"
"""The one place that names the API version: it is part of every identity, so a move needs aliases."""
SCHEDULING: Final = "scheduling.k8s.io/v1"

_NAMESPACE: Final = "kubernetes.io/metadata.name"


def resource_flavor(plan: FlavorPlan) -> Manifest:
    """Which nodes the flavor means, and the tolerations its pods are given."""
    spec: Manifest = {}
    if plan.node_labels:
        spec["nodeLabels"] = dict(plan.node_labels)
    if plan.tolerations:
        spec["tolerations"] = [toleration(each) for each in plan.tolerations]
    return _object(KUEUE, "ResourceFlavor", plan.name) | {"spec": spec}


def cohort(plan: CohortPlan) -> Manifest:
    """Queues that lend to one another, below its parent if it has one."""
    spec = {} if plan.parent is None else {"parentName": plan.parent}
    return _object(KUEUE, "Cohort", plan.name) | {"spec": spec}


def cluster_queue(plan: ClusterQueuePlan) -> Manifest:
    """Quotas, and the rules by which they are shared. It carries a team's label when it is that team's alone."""
    spec: Manifest = {
        "queueingStrategy": plan.queueing_strategy,
        "namespaceSelector": _namespace_selector(plan.namespaces),
        "preemption": _preemption(plan.preemption),
        "resourceGroups": [_resource_group(plan)],
    }
    if plan.cohort is not None:
        spec["cohortName"] = plan.cohort
    if fungibility := _given(whenCanBorrow=plan.when_can_borrow, whenCanPreempt=plan.when_can_preempt):
        spec["flavorFungibility"] = fungibility
    team = plan.teams[0] if len(plan.teams) == 1 else None
    return _object(KUEUE, "ClusterQueue", plan.name, team=team) | {"spec": spec}


def local_queue(plan: LocalQueuePlan) -> Manifest:
    """A team's door to a cluster queue."""
    manifest = _object(KUEUE, "LocalQueue", plan.name, namespace=plan.namespace, team=plan.team)
    return manifest | {"spec": {"clusterQueue": plan.cluster_queue}}


def workload_priority_class(plan: PriorityPlan) -> Manifest:
    """The priority as Kueue orders by it."""
    return _object(KUEUE, "WorkloadPriorityClass", plan.name) | _valued(plan)


def priority_class(plan: PriorityPlan) -> Manifest:
    """The priority as the pod scheduler reads it; the class of pods that name none, where it is the default."""
    policy = "PreemptLowerPriority" if plan.preempts else "Never"
    manifest = _object(SCHEDULING, "PriorityClass", plan.name) | _valued(plan) | {"preemptionPolicy": policy}
    return manifest | {"globalDefault": True} if plan.default else manifest


def toleration(plan: Toleration) -> dict[str, str]:
    """A pod toleration; without a value where the operator is Exists."""
    value = {} if plan.value is None else {"value": plan.value}
    return {"key": plan.key, "operator": plan.operator, **value, "effect": plan.effect}


def _object(
    api_version: str, kind: str, name: str, *, namespace: str | None = None, team: str | None = None
) -> Manifest:
    metadata: Manifest = {"name": name, "labels": berth_labels(team)}
    if namespace is not None:
        metadata["namespace"] = namespace
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata}


def _valued(plan: PriorityPlan) -> Manifest:
    described = {"description": plan.description} if plan.description else {}
    return {"value": plan.value, **described}


def _given(**fields: str | None) -> dict[str, str]:
    return {key: value for key, value in fields.items() if value is not None}


def _namespace_selector(namespaces: Sequence[str] | None) -> Manifest:
    """All for None, else those named; every namespace carries its own name as a label, so DoesNotExist admits none."""
    if namespaces is None:
        return {}
    if len(namespaces) == 1:
        return {"matchLabels": {_NAMESPACE: namespaces[0]}}
    named = {"operator": "In", "values": sorted(namespaces)} if namespaces else {"operator": "DoesNotExist"}
    return {"matchExpressions": [{"key": _NAMESPACE, **named}]}


def _preemption(plan: PreemptionPlan) -> Manifest:
    rules: Manifest = {
        "withinClusterQueue": plan.within_cluster_queue,
        "reclaimWithinCohort": plan.reclaim_within_cohort,
    }
    if plan.borrow_within_cohort is None:
        return rules
    threshold = {} if plan.max_priority_threshold is None else {"maxPriorityThreshold": plan.max_priority_threshold}
    return rules | {"borrowWithinCohort": {"policy": plan.borrow_within_cohort, **threshold}}


def _resource_group(plan: ClusterQueuePlan) -> Manifest:
    return {
        "coveredResources": list(plan.covered_resources),
        "flavors": [_flavor(each, plan.cohort is not None) for each in plan.flavors],
    }


def _flavor(plan: FlavorQuotasPlan, in_cohort: bool) -> Manifest:
    """Quotas in the order of the plan, which is that of the covered resources: Kueue's webhook refuses any other."""
    return {"name": plan.flavor, "resources": [_quota(each, in_cohort) for each in plan.quotas]}


def _quota(plan: QuotaPlan, in_cohort: bool) -> dict[str, str]:
    """Limits only in a cohort; there an absent limit means no limit."""
    quota = {"name": plan.resource, "nominalQuota": quantity(plan.resource, plan.nominal)}
    if in_cohort and plan.borrowing_limit is not None:
        quota["borrowingLimit"] = quantity(plan.resource, plan.borrowing_limit)
    if in_cohort and plan.lending_limit is not None:
        quota["lendingLimit"] = quantity(plan.resource, plan.lending_limit)
    return quota
