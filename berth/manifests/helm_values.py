"""Helm values of Kueue: only what Berth changes in the released chart; JobSet's chart stays as it is.

Compared with `charts/kueue` of Kueue 0.19.2. The chart takes Kueue's
configuration as one text, which replaces the chart's default as a whole, so this sets the values of that default too.
Omitted on purpose: `internalCertManagement`, which the chart derives from the release's name, and the chart's own list
of feature gates, which cannot be combined with the one in the configuration.
"""

from __future__ import annotations

import json
from functools import lru_cache
from typing import Final

from berth.manifests.quantities import memory, quantity
from berth.plan.configuration import (
    AdmissionFairSharingPlan,
    ConfigurationPlan,
    MetricsPlan,
    MultiKueueSettingsPlan,
    PodsReadyPlan,
    SelectorPlan,
    TransformationPlan,
)

Values = dict[str, object]

_EXEC_API: Final = "client.authentication.k8s.io/v1"
_MEBIBYTE: Final = 2**20
_MIN_MEMORY: Final = 512 * _MEBIBYTE


def manager_memory(cluster_queues: int, nodes: int = 0) -> int:
    """Return bytes for Kueue's manager: 2 MiB per cluster queue and 1.2 MiB per node above the chart's 512 MiB.

    The former is an estimate (about 100 pending workloads per queue), not a measurement; the latter is xpk's value
    (`src/xpk/core/kueue_manager.py`). The size doubles, so that a new team rarely restarts the manager: 1 GiB up to 256
    queues, 2 GiB up to 768, 4 GiB up to 1792.
    """
    needed, size = _MIN_MEMORY + 2 * _MEBIBYTE * cluster_queues + 12 * _MEBIBYTE * nodes // 10, _MIN_MEMORY
    while size < needed:
        size *= 2
    return size


def chart_values(plan: ConfigurationPlan, *, cluster_queues: int, nodes: int = 0) -> Values:
    """Return values of Kueue's chart; the manager is sized for its cluster queues and the fleet's maximum of nodes."""
    size = memory(manager_memory(cluster_queues, nodes))
    resources = {"requests": {"cpu": "500m", "memory": size}, "limits": {"cpu": "2", "memory": size}}
    return {
        "controllerManager": {"manager": {"resources": resources}},
        # JSON is YAML; with one key per line a preview shows the line that changed.
        "managerConfig": {"controllerManagerConfigYaml": _indented(json.dumps(configuration(plan)))},
    }


def configuration(plan: ConfigurationPlan) -> Values:
    """Return Kueue's Configuration: the chart's default, overridden by the plan. Unordered lists are sorted."""
    retention = _without_none(
        afterFinished=_seconds(plan.retain_finished_seconds),
        afterDeactivatedByKueue=_seconds(plan.retain_deactivated_seconds),
    )
    fields: Values = {
        "apiVersion": "config.kueue.x-k8s.io/v1beta2",
        "kind": "Configuration",
        "health": {"healthProbeBindAddress": ":8081"},
        "metrics": _metrics(plan.metrics),
        "webhook": {"port": 9443},
        "leaderElection": {"leaderElect": True, "resourceName": "c1f6bfd2.kueue.x-k8s.io"},
        "controller": {"groupKindConcurrency": _concurrency()},
        "clientConnection": {"qps": 300, "burst": 500},
        "waitForPodsReady": _pods_ready(plan.pods_ready),
        "manageJobsWithoutQueueName": plan.manage_jobs_without_queue_name,
        "managedJobsNamespaceSelector": _selector(plan.managed_namespaces),
        "integrations": _without_none(
            frameworks=sorted(plan.frameworks),
            externalFrameworks=sorted(plan.external_frameworks) or None,
            labelKeysToCopy=sorted(plan.label_keys_to_copy) or None,
        ),
        "fairSharing": {"preemptionStrategies": list(plan.fair_sharing)} if plan.fair_sharing is not None else None,
        "admissionFairSharing": _admission_fair_sharing(plan.admission_fair_sharing),
        "resources": _resources(plan) or None,
        "objectRetentionPolicies": {"workloads": retention} if retention else None,
        "multiKueue": _multikueue(plan.multikueue),
        "featureGates": dict(sorted(plan.feature_gates.items())) or None,
    }
    return _without_none(**fields)


def _pods_ready(plan: PodsReadyPlan) -> Values:
    requeuing = _without_none(
        timestamp=plan.requeuing.timestamp,
        backoffLimitCount=plan.requeuing.limit_count,
        backoffBaseSeconds=plan.requeuing.base_seconds,
        backoffMaxSeconds=plan.requeuing.max_seconds,
    )
    return _without_none(
        timeout=_seconds(plan.timeout_seconds),
        recoveryTimeout=_seconds(plan.recovery_seconds),
        blockAdmission=plan.block_admission or None,
        requeuingStrategy=requeuing or None,
    )


def _admission_fair_sharing(plan: AdmissionFairSharingPlan | None) -> Values | None:
    if plan is None:
        return None
    return _without_none(
        usageHalfLifeTime=_seconds(plan.half_life_seconds),
        usageSamplingInterval=_seconds(plan.sampling_seconds),
        resourceWeights=dict(sorted(plan.resource_weights.items())) or None,
    )


def _resources(plan: ConfigurationPlan) -> Values:
    mappings = [{"name": m.name, "deviceClassNames": sorted(m.device_classes)} for m in plan.device_mappings]
    return _without_none(
        excludeResourcePrefixes=sorted(plan.excluded_prefixes) or None,
        quotaCheckStrategy=plan.quota_check,
        transformations=[_transformation(each) for each in plan.transformations] or None,
        deviceClassMappings=mappings or None,
    )


def _transformation(plan: TransformationPlan) -> Values:
    outputs = {name: quantity(name, amount) for name, amount in sorted(plan.outputs.items())}
    fields = {
        "input": plan.input,
        "strategy": plan.strategy,
        "multiplyBy": plan.multiply_by,
        "outputs": outputs or None,
    }
    return _without_none(**fields)


def _metrics(plan: MetricsPlan) -> Values:
    local_queues = None
    if plan.local_queues is not None or plan.local_queue_selector is not None:
        enabled = plan.local_queues is not False
        local_queues = _without_none(enable=enabled, localQueueSelector=_selector(plan.local_queue_selector))
    return _without_none(
        bindAddress=":8443",
        enableClusterQueueResources=plan.queue_resources or None,
        localQueueMetrics=local_queues,
        customLabels=[
            _without_none(
                name=each.name,
                sourceKind=each.source_kind,
                sourceLabelKey=each.label_key,
                sourceAnnotationKey=each.annotation_key,
                trackedValues=list(each.tracked) or None,
            )
            for each in plan.custom_labels
        ]
        or None,
    )


def _multikueue(plan: MultiKueueSettingsPlan | None) -> Values | None:
    if plan is None:
        return None
    step = None if plan.step_size is None else {"stepSize": plan.step_size}
    providers: list[Values] = []
    for each in plan.access_providers:
        command = _without_none(apiVersion=_EXEC_API, command=each.command, args=list(each.args) or None)
        providers.append({"name": each.name, "execConfig": {**command, "interactiveMode": "Never"}})
    return _without_none(
        gcInterval=_seconds(plan.gc_interval_seconds),
        origin=plan.origin,
        workerLostTimeout=_seconds(plan.worker_lost_seconds),
        dispatcherName=plan.dispatcher,
        incrementalDispatcherConfig=step,
        clusterProfile={"accessProviders": providers} if providers else None,
    )


def _selector(plan: SelectorPlan | None) -> Values | None:
    """Return a label selector; `{}` selects everything, and None means no selector."""
    if plan is None:
        return None
    expressions = [
        _without_none(key=each.key, operator=each.operator, values=sorted(each.values) or None)
        for each in plan.expressions
    ]
    return _without_none(matchLabels=dict(sorted(plan.labels.items())) or None, matchExpressions=expressions or None)


def _without_none(**fields: object) -> Values:
    return {key: value for key, value in fields.items() if value is not None}


def _seconds(number: int | None) -> str | None:
    return None if number is None else f"{number}s"


def _concurrency() -> dict[str, int]:
    """Return concurrent reconciles by kind, as in the chart's default."""
    return {
        "Job.batch": 5,
        "Pod": 5,
        "Workload.kueue.x-k8s.io": 10,
        "LocalQueue.kueue.x-k8s.io": 5,
        "ClusterQueue.kueue.x-k8s.io": 5,
        "ResourceFlavor.kueue.x-k8s.io": 1,
    }


@lru_cache(maxsize=64)  # clusters of one owner have equal configurations, and indentation is not done in C
def _indented(text: str) -> str:
    return json.dumps(json.loads(text), indent=2) + "\n"
