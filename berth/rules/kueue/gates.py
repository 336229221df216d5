"""Feature gates of Kueue 0.19: defaults, locked gates, and dependencies between gates.

Source: `pkg/features/kube_features.go` and `pkg/config/validation.go` (LoadAndValidateFeatureGates) of Kueue 0.19.2.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Final

from berth.diagnostics import did_you_mean, format_value
from berth.plan.configuration import ConfigurationPlan
from berth.rules.kueue import bounds
from berth.rules.kueue.rule import FieldError

RELEASE: Final = "0.19"

_ON_BY_DEFAULT: Final = """
    AdmissionFairSharing AdmissionGatedBy AssignQueueLabelsForPods CleanupProvisioningRequestsOnEviction
    DeferRayServiceFinalizationForRedisCleanup ElasticJobsViaWorkloadSlices FairSharingPreemptWithinNominal
    FairSharingPrioritizeNonBorrowing FinishOrphanedWorkloads FlavorFungibility FlavorFungibilityPreserveScanProgress
    HierarchicalCohorts KueueDRAIntegration KueueDRAIntegrationExtendedResource KueueDRAIntegrationPartitionableDevices
    KueueDRARejectWorkloadsWhenDRADisabled LWSImmutableGroupSize LocalQueueMetrics
    ManagedJobsNamespaceSelectorAlwaysRespected MetricForWorkloadCreationLatency MetricsForCohorts MultiKueue
    MultiKueueAdaptersForCustomJobs MultiKueueIncrementalDispatcherConfig
    MultiKueueIncrementalDispatcherRespectConfigOrder MultiKueueRedoAdmissionOnEvictionInWorker MultiKueueRemoteSpecSync
    MultiKueueWaitForWorkloadAdmitted ObjectRetentionPolicies PartialAdmission PodIntegrationValidateGroupOwner
    PrioritySortingWithinCohort PropagateBatchJobLabelsToWorkload QuotaCheckStrategy ReclaimablePods
    RemoveFinalizersWithStrictPatch SchedulingEquivalenceHashing SkipAncestorCheckForDeletedWorkloads
    SkipFinalizersForPodsSuspendedByParent SkipReassignmentForPodOwnedWorkloads TASAssignmentsEncodingByHostnamePrefix
    TASCacheNodeMatchResults TASCachingRemainingResources TASFailedNodeReplacement TASFailedNodeReplacementFailFast
    TASHandleOverlappingFlavors TASMultiLayerTopology TASProfileMixed TASRecomputeAssignmentWithinSchedulingCycle
    TASReplaceNodeOnNodeTaints TASReplaceNodeOnPodTermination TASValidateWorkloadSliceSize TLSOptions
    TopologyAwareScheduling ValidateRayAndSparkJobUpdates VectorizedResourceRequests VisibilityOnDemand
    WorkloadIdentifierAnnotations WorkloadValidateResourcesAreNonNegative WorkloadValidationForPodSetMetadata
"""
_OFF_BY_DEFAULT: Final = """
    ConcurrentAdmission CustomMetricLabels DisableWaitForPodsReady ElasticJobsViaWorkloadSlicesWithTAS
    FailureRecoveryPolicy FastQuotaReleaseInPodIntegration KueueDRAIntegrationConsumableCapacity
    MultiKueueAllowInsecureKubeconfigs MultiKueueClusterProfile MultiKueueKubeConfigPathValidation
    MultiKueueManagerQuotaAutomation MultiKueueOrchestratedPreemption PrioritizePreemptorWorkloads PriorityBoost
    RecomputeAssignmentUponPreemptionTargetsOverlap RejectUpdatesToCQWithInvalidOnFlavors SchedulerLibraryIntegration
    SchedulerLongRequeueInterval SchedulerTimestampPreemptionBuffer ShortWorkloadNames SparkApplicationIntegration
    TASBalancedPlacement TASCacheTopologyTree TASReplaceNodeDueToNotReadyOverFixedTime TASRespectNodeAffinityPreferred
    UnadmittedWorkloadsExplicitStatus UnadmittedWorkloadsObservability WorkloadPriorityClassDefaulting
    WorkloadRequestUseMergePatch
"""

DEFAULTS: Final = {
    **dict[str, bool].fromkeys(_ON_BY_DEFAULT.split(), True),
    **dict[str, bool].fromkeys(_OFF_BY_DEFAULT.split(), False),
}
"""Gate → its default."""

LOCKED: Final = frozenset(
    {
        "HierarchicalCohorts",
        "ManagedJobsNamespaceSelectorAlwaysRespected",
        "MultiKueueAllowInsecureKubeconfigs",
        "MultiKueueRedoAdmissionOnEvictionInWorker",
        "MultiKueueWaitForWorkloadAdmitted",
        "ObjectRetentionPolicies",
        "PropagateBatchJobLabelsToWorkload",
        "SkipFinalizersForPodsSuspendedByParent",
    }
)
"""Gates that cannot differ from their default."""

_TAS: Final = "TopologyAwareScheduling"
_REPLACEMENT: Final = (_TAS, "TASFailedNodeReplacement")
_DRA: Final = "KueueDRAIntegration"

DEPENDENCIES: Final[Mapping[str, tuple[str, ...]]] = {
    "TASProfileMixed": (_TAS,),
    "TASHandleOverlappingFlavors": (_TAS,),
    "TASFailedNodeReplacement": (_TAS,),
    "TASFailedNodeReplacementFailFast": _REPLACEMENT,
    "TASReplaceNodeOnPodTermination": _REPLACEMENT,
    "TASReplaceNodeDueToNotReadyOverFixedTime": _REPLACEMENT,
    "TASBalancedPlacement": (_TAS,),
    "TASReplaceNodeOnNodeTaints": (_TAS,),
    "TASMultiLayerTopology": (_TAS,),
    "TASRespectNodeAffinityPreferred": (_TAS,),
    "TASRecomputeAssignmentWithinSchedulingCycle": (_TAS,),
    "UnadmittedWorkloadsExplicitStatus": ("UnadmittedWorkloadsObservability",),
    "ElasticJobsViaWorkloadSlicesWithTAS": ("ElasticJobsViaWorkloadSlices", _TAS),
    "KueueDRAIntegrationExtendedResource": (_DRA,),
    "KueueDRAIntegrationPartitionableDevices": (_DRA,),
    "KueueDRAIntegrationConsumableCapacity": (_DRA,),
}
"""Gate → gates that it requires; otherwise Kueue does not start, even if the gate is on only by default."""

_GATE_GROUPS: Final = ("AllAlpha", "AllBeta")
"""Names of Kubernetes that set many gates together; with one of them, Berth does not check single gates."""

GATED_SETTINGS: Final[tuple[tuple[str, str, Callable[[ConfigurationPlan], bool]], ...]] = (
    ("QuotaCheckStrategy", "resources.quotaCheckStrategy", lambda plan: plan.quota_check is not None),
    ("AdmissionFairSharing", "admissionFairSharing", lambda plan: plan.admission_fair_sharing is not None),
    ("CustomMetricLabels", "metrics.customLabels", lambda plan: bool(plan.metrics.custom_labels)),
    ("LocalQueueMetrics", "metrics.localQueueMetrics", lambda plan: plan.metrics.local_queues is True),
    (
        "SparkApplicationIntegration",
        f"integrations.frameworks: {bounds.SPARK_FRAMEWORK}",
        lambda p: bounds.SPARK_FRAMEWORK in p.frameworks,
    ),
    (_DRA, "resources.deviceClassMappings", lambda plan: bool(plan.device_mappings)),
    ("MultiKueue", "multiKueue", lambda plan: plan.multikueue is not None),
    (
        "MultiKueueClusterProfile",
        "multiKueue.clusterProfile",
        lambda plan: plan.multikueue is not None and bool(plan.multikueue.access_providers),
    ),
)
"""Setting → the gate without which it has no effect or keeps Kueue from starting."""


def is_on(plan: ConfigurationPlan, gate: str) -> bool:
    """Return whether a gate is on, explicitly or by default."""
    return plan.feature_gates.get(gate, DEFAULTS.get(gate, False))


def implied_gates(plan: ConfigurationPlan) -> dict[str, bool]:
    """Return the gates that the configuration needs and that are off by default."""
    return {gate: True for gate, _, is_used in GATED_SETTINGS if is_used(plan) and not DEFAULTS[gate]}


def check_known(plan: ConfigurationPlan) -> Iterator[FieldError]:
    """Yield unknown gates, with which Kueue does not start."""
    for gate in sorted(plan.feature_gates):
        if gate not in DEFAULTS and gate not in _GATE_GROUPS:
            message = f"'{format_value(gate)}' is not a feature gate of Kueue {RELEASE}{did_you_mean(gate, DEFAULTS)}"
            yield ("featureGates", gate), message


def check_locked(plan: ConfigurationPlan) -> Iterator[FieldError]:
    """Yield locked gates (graduated or deprecated) that are not at their default."""
    for gate in sorted(LOCKED & plan.feature_gates.keys()):
        if plan.feature_gates[gate] != DEFAULTS[gate]:
            value, default = str(plan.feature_gates[gate]).lower(), str(DEFAULTS[gate]).lower()
            message = f"'{value}' is not possible: Kueue {RELEASE} locks this gate to {default}; remove {gate}"
            yield ("featureGates", gate), message


def check_dependencies(plan: ConfigurationPlan) -> Iterator[FieldError]:
    """Yield gates that are on, often by default, without a gate that they require."""
    if plan.feature_gates.keys() & set(_GATE_GROUPS):
        return
    for gate, dependencies in DEPENDENCIES.items():
        disabled = [dependency for dependency in dependencies if not is_on(plan, dependency)]
        if disabled and is_on(plan, gate):
            yield _missing_dependency(plan, gate, disabled[0])


def _missing_dependency(plan: ConfigurationPlan, gate: str, dependency: str) -> FieldError:
    if dependency in plan.feature_gates:
        message = f"'false' is not possible: {gate} needs this gate; remove {dependency}: false, or write {gate}: false"
        return ("featureGates", dependency), message
    message = f"'{gate}' needs {dependency}, which is off by default; write {dependency}: true, or {gate}: false"
    return ("featureGates", gate), message


def check_enabled(plan: ConfigurationPlan) -> Iterator[FieldError]:
    """Yield settings whose gate is off."""
    if plan.feature_gates.keys() & set(_GATE_GROUPS):
        return
    for gate, setting, is_used in GATED_SETTINGS:
        if is_used(plan) and not is_on(plan, gate):
            message = f"'{setting}' needs the feature gate {gate}, which is off; write {gate}: true"
            yield tuple(setting.partition(":")[0].split(".")), message
