"""Kueue's objects and PriorityClasses as plain dicts, ready to apply or to write as YAML.

Pure: plan in, manifest out. Values that the API server omits from its answers (empty maps, `false`, empty text) are
omitted, because they would be a change in every later preview. Every manifest is a new dict that shares nothing with
the plan or with another manifest. Field names: Kueue 0.19.2, `apis/kueue/v1beta2`.
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
    QuotaPlan,
    ResourceGroupPlan,
    TopologyPlan,
)
from berth.plan.node_settings import Toleration

Manifest = dict[str, object]

KUEUE_API: Final = "kueue.x-k8s.io/v1beta2"
"""API version of all objects. It is part of every resource's type, so a change needs aliases."""
SCHEDULING_API: Final = "scheduling.k8s.io/v1"

NAMESPACE_LABEL: Final = "kubernetes.io/metadata.name"
"""Label that every namespace has with its name."""


def topology(plan: TopologyPlan) -> Manifest:
    """Return a Topology: the node labels that describe the location of nodes."""
    return _object(KUEUE_API, "Topology", plan.name) | {
        "spec": {"levels": [{"nodeLabel": each} for each in plan.levels]}
    }


def resource_flavor(plan: FlavorPlan) -> Manifest:
    """Return a ResourceFlavor: the node labels it selects, and the tolerations its pods get."""
    spec: Manifest = {}
    if plan.node_labels:
        spec["nodeLabels"] = dict(plan.node_labels)
    if plan.tolerations:
        spec["tolerations"] = [toleration(each) for each in plan.tolerations]
    if plan.topology is not None:
        spec["topologyName"] = plan.topology
    return _object(KUEUE_API, "ResourceFlavor", plan.name) | {"spec": spec}


def cohort(plan: CohortPlan) -> Manifest:
    """Return a Cohort with its quotas and its parent, if it has one."""
    spec: Manifest = {} if plan.parent is None else {"parentName": plan.parent}
    if plan.resource_groups:
        has_parent = plan.parent is not None
        spec["resourceGroups"] = [_resource_group(each, limited=has_parent) for each in plan.resource_groups]
    spec |= _fair_sharing(plan.fair_share_weight)
    return _object(KUEUE_API, "Cohort", plan.name) | {"spec": spec}


def cluster_queue(plan: ClusterQueuePlan) -> Manifest:
    """Return a ClusterQueue with quotas and sharing rules, labelled with its team if it has only one."""
    group = ResourceGroupPlan(covered_resources=plan.covered_resources, flavors=plan.flavors)
    spec: Manifest = {
        "queueingStrategy": plan.queueing_strategy,
        "namespaceSelector": _namespace_selector(plan.namespaces),
        "preemption": _preemption(plan.preemption),
        "resourceGroups": [_resource_group(group, limited=plan.cohort is not None)],
    }
    if plan.cohort is not None:
        spec["cohortName"] = plan.cohort
    if fungibility := _without_none(
        whenCanBorrow=plan.when_can_borrow, whenCanPreempt=plan.when_can_preempt, preference=plan.preference
    ):
        spec["flavorFungibility"] = fungibility
    team = plan.teams[0] if len(plan.teams) == 1 else None
    return _object(KUEUE_API, "ClusterQueue", plan.name, team=team, labels=plan.labels) | {
        "spec": spec | _admission(plan)
    }


def local_queue(plan: LocalQueuePlan) -> Manifest:
    """Return a team's LocalQueue of a cluster queue."""
    spec: Manifest = {"clusterQueue": plan.cluster_queue, **_without_none(stopPolicy=plan.stop_policy)}
    manifest = _object(
        KUEUE_API, "LocalQueue", plan.name, namespace=plan.namespace, team=plan.team or None, labels=plan.labels
    )
    return manifest | {"spec": spec | _fair_sharing(plan.fair_share_weight)}


def admission_check(plan: AdmissionCheckPlan) -> Manifest:
    """Return an AdmissionCheck: its controller, and the reference to its configuration."""
    spec: Manifest = {"controllerName": plan.controller}
    if (parameters := plan.parameters) is not None:
        spec["parameters"] = {"apiGroup": KUEUE_GROUP, "kind": parameters.kind, "name": parameters.name}
    return _object(KUEUE_API, "AdmissionCheck", plan.name) | {"spec": spec}


def provisioning_request_config(plan: ProvisioningConfigPlan) -> Manifest:
    """Return a ProvisioningRequestConfig: what Kueue requests, and its retries. Resources are sorted."""
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
    """Return a MultiKueueConfig: the clusters that workloads may be sent to."""
    spec = {"clusters": list(plan.clusters)}
    return _object(KUEUE_API, "MultiKueueConfig", plan.name) | {"spec": spec}


def multikueue_cluster(plan: MultiKueueClusterPlan) -> Manifest:
    """Return a MultiKueueCluster with exactly one of a kubeconfig and a profile."""
    source: Manifest = {}
    if plan.kubeconfig is not None:
        source["kubeConfig"] = {"location": plan.kubeconfig, "locationType": "Secret"}
    if plan.profile is not None:
        source["clusterProfileRef"] = {"name": plan.profile}
    return _object(KUEUE_API, "MultiKueueCluster", plan.name) | {"spec": {"clusterSource": source}}


def workload_priority_class(plan: PriorityPlan) -> Manifest:
    """Return the WorkloadPriorityClass of a priority, for Kueue."""
    return _object(KUEUE_API, "WorkloadPriorityClass", plan.name) | _priority_fields(plan)


def priority_class(plan: PriorityPlan) -> Manifest:
    """Return the PriorityClass of a priority, for the pod scheduler; the default class if it is the default."""
    policy = "PreemptLowerPriority" if plan.preempts else "Never"
    manifest = (
        _object(SCHEDULING_API, "PriorityClass", plan.name) | _priority_fields(plan) | {"preemptionPolicy": policy}
    )
    return manifest | {"globalDefault": True} if plan.default else manifest


def toleration(plan: Toleration) -> dict[str, str]:
    """Return a pod toleration, without a value for Exists, and without key or effect if it matches any."""
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


def _admission(plan: ClusterQueuePlan) -> Manifest:
    """Return admission checks, stop policy and admission scope."""
    # A check without flavors applies to all.
    checks = [
        {"name": each.name} | ({"onFlavors": sorted(each.on_flavors)} if each.on_flavors else {})
        for each in plan.admission_checks
    ]
    spec: Manifest = {"admissionChecksStrategy": {"admissionChecks": checks}} if checks else {}
    if plan.admission_mode is not None:
        spec["admissionScope"] = {"admissionMode": plan.admission_mode}
    return spec | _without_none(stopPolicy=plan.stop_policy) | _fair_sharing(plan.fair_share_weight)


def _namespace_selector(namespaces: Sequence[str] | None) -> Manifest:
    """Return a selector: all namespaces for None, else those listed (DoesNotExist on the name label selects none)."""
    if namespaces is None:
        return {}
    if len(namespaces) == 1:
        return {"matchLabels": {NAMESPACE_LABEL: namespaces[0]}}
    expression = {"operator": "In", "values": sorted(namespaces)} if namespaces else {"operator": "DoesNotExist"}
    return {"matchExpressions": [{"key": NAMESPACE_LABEL, **expression}]}


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
    """Return quotas in the order of covered resources, which Kueue's webhook requires."""
    return {"name": plan.flavor, "resources": [_quota(each, limited) for each in plan.quotas]}


def _quota(plan: QuotaPlan, limited: bool) -> dict[str, str]:
    """Return a quota; limits only within a cohort or below a parent, where an absent limit means no limit."""
    quota = {"name": plan.resource, "nominalQuota": quantity(plan.resource, plan.nominal)}
    if limited and plan.borrowing_limit is not None:
        quota["borrowingLimit"] = quantity(plan.resource, plan.borrowing_limit)
    if limited and plan.lending_limit is not None:
        quota["lendingLimit"] = quantity(plan.resource, plan.lending_limit)
    return quota
