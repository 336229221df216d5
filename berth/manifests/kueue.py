"""Kueue's objects and pod priority classes as plain dicts, ready to be applied or written as YAML.

Plan in, manifest out; nothing is decided here. What the API server would leave out of its answer (empty maps, `false`,
empty text) is left out from the start: it would show as a change in every later preview. Every manifest is a fresh
dict that shares nothing with the plan or with another manifest. Field names: Kueue 0.19.2, `apis/kueue/v1beta2`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, cast

from berth.manifests.quantities import quantity, weight
from berth.names import RUN_LIMIT_ANNOTATION, berth_labels
from berth.plan.admission_checks import (
    KUEUE_GROUP,
    QUEUED_CLASS,
    AdmissionCheckPlan,
    MultiKueueClusterPlan,
    MultiKueueConfigPlan,
    ProvisioningConfigPlan,
)
from berth.plan.kueue import (
    ClusterQueuePlan,
    CohortPlan,
    FlavorPlan,
    FlavorQuotasPlan,
    LocalQueuePlan,
    PreemptionPlan,
    PriorityPlan,
    QueueCheckPlan,
    QuotaPlan,
    ResourceGroupPlan,
    TopologyPlan,
)
from berth.plan.nodes import Toleration

Manifest = dict[str, object]

KUEUE_API: Final = "kueue.x-k8s.io/v1beta2"
"""The one place that names the API version: it is part of every identity, so a move needs aliases."""
SCHEDULING_API: Final = "scheduling.k8s.io/v1"

_NAMESPACE_LABEL: Final = "kubernetes.io/metadata.name"


def topology(plan: TopologyPlan) -> Manifest:
    """The labels by which Kueue tells how near nodes are to one another."""
    return _object(KUEUE_API, "Topology", plan.name) | {
        "spec": {"levels": [{"nodeLabel": each} for each in plan.levels]}
    }


def resource_flavor(plan: FlavorPlan) -> Manifest:
    """Which nodes the flavor means, and the tolerations its pods are given."""
    spec: Manifest = {}
    if plan.node_labels:
        spec["nodeLabels"] = dict(plan.node_labels)
    if plan.tolerations:
        spec["tolerations"] = [toleration(each) for each in plan.tolerations]
    if plan.topology is not None:
        spec["topologyName"] = plan.topology
    return _object(KUEUE_API, "ResourceFlavor", plan.name) | {"spec": spec}


def cohort(plan: CohortPlan) -> Manifest:
    """Queues that lend to one another, below its parent if it has one."""
    spec: Manifest = {} if plan.parent is None else {"parentName": plan.parent}
    if plan.resource_groups:
        has_parent = plan.parent is not None
        spec["resourceGroups"] = [_resource_group(each, limited=has_parent) for each in plan.resource_groups]
    spec |= _fair_sharing(plan.fair_share_weight)
    return _object(KUEUE_API, "Cohort", plan.name) | {"spec": spec}


def cluster_queue(plan: ClusterQueuePlan) -> Manifest:
    """Quotas, and the rules by which they are shared. It carries a team's label when it is that team's alone."""
    group = ResourceGroupPlan(covered_resources=plan.covered_resources, flavors=plan.flavors)
    spec: Manifest = {
        "queueingStrategy": plan.queueing_strategy,
        "namespaceSelector": _namespace_selector(plan.namespaces),
        "preemption": _preemption(plan.preemption),
        "resourceGroups": [_resource_group(group, limited=plan.cohort is not None)],
    }
    if plan.cohort is not None:
        spec["cohortName"] = plan.cohort
    if fungibility := _fungibility(plan):
        spec["flavorFungibility"] = fungibility
    team = plan.teams[0] if len(plan.teams) == 1 else None
    return _object(KUEUE_API, "ClusterQueue", plan.name, team=team, labels=plan.labels) | {
        "spec": spec | _admission(plan)
    }


def local_queue(plan: LocalQueuePlan) -> Manifest:
    """A team's local queue, which leads to a cluster queue."""
    spec = {"clusterQueue": plan.cluster_queue} | _without_none(stopPolicy=plan.stop_policy)
    manifest = _object(
        KUEUE_API, "LocalQueue", plan.name, namespace=plan.namespace, team=plan.team or None, labels=plan.labels
    )
    return manifest | {"spec": spec}


def admission_check(plan: AdmissionCheckPlan) -> Manifest:
    """Whose consent a workload needs besides quota, and what that controller is configured with."""
    spec: Manifest = {"controllerName": plan.controller}
    if (parameters := plan.parameters) is not None:
        spec["parameters"] = {"apiGroup": KUEUE_GROUP, "kind": parameters.kind, "name": parameters.name}
    return _object(KUEUE_API, "AdmissionCheck", plan.name) | {"spec": spec}


def provisioning_request_config(plan: ProvisioningConfigPlan) -> Manifest:
    """What Kueue asks the autoscaler for, and how often it asks again. Resources have no order, so they are sorted."""
    retry = plan.retry
    spec: Manifest = {
        "provisioningClassName": QUEUED_CLASS,
        "retryStrategy": {
            "backoffLimitCount": retry.limit_count,
            "backoffBaseSeconds": retry.base_seconds,
            "backoffMaxSeconds": retry.max_seconds,
        },
    }
    if plan.parameters:
        spec["parameters"] = dict(plan.parameters)
    if plan.managed_resources:
        spec["managedResources"] = sorted(plan.managed_resources)
    spec |= _without_none(podSetMergePolicy=plan.merge_policy)
    manifest = _object(KUEUE_API, "ProvisioningRequestConfig", plan.name) | {"spec": spec}
    if plan.max_run_seconds is None:
        return manifest
    annotations = {RUN_LIMIT_ANNOTATION: str(plan.max_run_seconds)}
    return manifest | {"metadata": cast("Manifest", manifest["metadata"]) | {"annotations": annotations}}


def multikueue_config(plan: MultiKueueConfigPlan) -> Manifest:
    """The clusters that workloads may be sent to."""
    spec = {"clusters": list(plan.clusters)}
    return _object(KUEUE_API, "MultiKueueConfig", plan.name) | {"spec": spec}


def multikueue_cluster(plan: MultiKueueClusterPlan) -> Manifest:
    """How another cluster is reached: exactly one of a kubeconfig and a profile."""
    source: Manifest = {}
    if plan.kubeconfig is not None:
        source["kubeConfig"] = {"location": plan.kubeconfig, "locationType": "Secret"}
    if plan.profile is not None:
        source["clusterProfileRef"] = {"name": plan.profile}
    return _object(KUEUE_API, "MultiKueueCluster", plan.name) | {"spec": {"clusterSource": source}}


def workload_priority_class(plan: PriorityPlan) -> Manifest:
    """The priority as Kueue orders by it."""
    return _object(KUEUE_API, "WorkloadPriorityClass", plan.name) | _priority_fields(plan)


def priority_class(plan: PriorityPlan) -> Manifest:
    """The priority as the pod scheduler reads it; the class of pods that name none, where it is the default."""
    policy = "PreemptLowerPriority" if plan.preempts else "Never"
    manifest = (
        _object(SCHEDULING_API, "PriorityClass", plan.name) | _priority_fields(plan) | {"preemptionPolicy": policy}
    )
    return manifest | {"globalDefault": True} if plan.default else manifest


def toleration(plan: Toleration) -> dict[str, str]:
    """A pod toleration; without a value where the operator is Exists, without key or effect where it is any."""
    value = {} if plan.value is None else {"value": plan.value}
    fields = {"key": plan.key, "operator": plan.operator, **value, "effect": plan.effect}
    return {key: text for key, text in fields.items() if text}


def _object(
    api_version: str,
    kind: str,
    name: str,
    *,
    namespace: str | None = None,
    team: str | None = None,
    labels: Mapping[str, str] | None = None,
) -> Manifest:
    metadata: Manifest = {"name": name, "labels": {**(labels or {}), **berth_labels(team)}}
    if namespace is not None:
        metadata["namespace"] = namespace
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata}


def _priority_fields(plan: PriorityPlan) -> Manifest:
    described = {"description": plan.description} if plan.description else {}
    return {"value": plan.value, **described}


def _without_none(**fields: str | None) -> Manifest:
    return {key: value for key, value in fields.items() if value is not None}


def _fair_sharing(share: float | None) -> Manifest:
    return {} if share is None else {"fairSharing": {"weight": weight(share)}}


def _fungibility(plan: ClusterQueuePlan) -> Manifest:
    return _without_none(
        whenCanBorrow=plan.when_can_borrow, whenCanPreempt=plan.when_can_preempt, preference=plan.preference
    )


def _admission(plan: ClusterQueuePlan) -> Manifest:
    """What is asked of a workload besides quota, whether any is admitted, and whose turn it is."""
    checks = [_check(each) for each in plan.admission_checks]
    spec: Manifest = {"admissionChecksStrategy": {"admissionChecks": checks}} if checks else {}
    if plan.admission_mode is not None:
        spec["admissionScope"] = {"admissionMode": plan.admission_mode}
    return spec | _without_none(stopPolicy=plan.stop_policy) | _fair_sharing(plan.fair_share_weight)


def _check(plan: QueueCheckPlan) -> Manifest:
    """On all flavors where none is named; flavors have no order here, so they are sorted."""
    flavors: Manifest = {"onFlavors": sorted(plan.on_flavors)} if plan.on_flavors else {}
    return {"name": plan.name, **flavors}


def _namespace_selector(namespaces: Sequence[str] | None) -> Manifest:
    """All for None, else those named; every namespace carries its own name as a label, so DoesNotExist admits none."""
    if namespaces is None:
        return {}
    if len(namespaces) == 1:
        return {"matchLabels": {_NAMESPACE_LABEL: namespaces[0]}}
    expression = {"operator": "In", "values": sorted(namespaces)} if namespaces else {"operator": "DoesNotExist"}
    return {"matchExpressions": [{"key": _NAMESPACE_LABEL, **expression}]}


def _preemption(plan: PreemptionPlan) -> Manifest:
    rules: Manifest = {
        "withinClusterQueue": plan.within_cluster_queue,
        "reclaimWithinCohort": plan.reclaim_within_cohort,
    }
    if plan.borrow_within_cohort is None:
        return rules
    threshold = {} if plan.max_priority_threshold is None else {"maxPriorityThreshold": plan.max_priority_threshold}
    return rules | {"borrowWithinCohort": {"policy": plan.borrow_within_cohort, **threshold}}


def _resource_group(plan: ResourceGroupPlan, *, limited: bool) -> Manifest:
    return {
        "coveredResources": list(plan.covered_resources),
        "flavors": [_flavor(each, limited) for each in plan.flavors],
    }


def _flavor(plan: FlavorQuotasPlan, limited: bool) -> Manifest:
    """Quotas in the order of the plan, which is that of the covered resources: Kueue's webhook refuses any other."""
    return {"name": plan.flavor, "resources": [_quota(each, limited) for each in plan.quotas]}


def _quota(plan: QuotaPlan, limited: bool) -> dict[str, str]:
    """Limits only of a queue in a cohort, or of a cohort below another; there an absent limit means no limit."""
    quota = {"name": plan.resource, "nominalQuota": quantity(plan.resource, plan.nominal)}
    if limited and plan.borrowing_limit is not None:
        quota["borrowingLimit"] = quantity(plan.resource, plan.borrowing_limit)
    if limited and plan.lending_limit is not None:
        quota["lendingLimit"] = quantity(plan.resource, plan.lending_limit)
    return quota
