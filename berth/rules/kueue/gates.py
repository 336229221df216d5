"""Feature gates of Kueue 0.19: their defaults, those that can no longer be turned, and which needs which.

Source: `pkg/features/kube_features.go` and `pkg/config/validation.go` (LoadAndValidateFeatureGates) of Kueue 0.19.2.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Final

from berth.diagnostics import near_miss, shown
from berth.plan.configuration import ConfigurationPlan
from berth.rules.kueue import bounds
from berth.rules.kueue.rule import Fault

RELEASE: Final = "0.19"

_ON: Final = """
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
_OFF: Final = """
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

DEFAULTS: Final = {**dict[str, bool].fromkeys(_ON.split(), True), **dict[str, bool].fromkeys(_OFF.split(), False)}
"""Gate to its default."""

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
"""Gates that may be given their default and nothing else."""

_TAS: Final = "TopologyAwareScheduling"
_REPLACEMENT: Final = (_TAS, "TASFailedNodeReplacement")
_DRA: Final = "KueueDRAIntegration"

NEEDS: Final[Mapping[str, tuple[str, ...]]] = {
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
"""Gate to those that must be on where it is: Kueue does not start otherwise, defaults included."""

_ALL: Final = ("AllAlpha", "AllBeta")
"""Kubernetes' own words for many gates at once; with one of them nothing is said of single gates' states."""

USERS: Final[tuple[tuple[str, str, Callable[[ConfigurationPlan], bool]], ...]] = (
    ("QuotaCheckStrategy", "resources.quotaCheckStrategy", lambda plan: plan.quota_check is not None),
    ("AdmissionFairSharing", "admissionFairSharing", lambda plan: plan.admission_fair_sharing is not None),
    ("CustomMetricLabels", "metrics.customLabels", lambda plan: bool(plan.metrics.custom_labels)),
    ("LocalQueueMetrics", "metrics.localQueueMetrics", lambda plan: plan.metrics.local_queues is True),
    ("SparkApplicationIntegration", f"integrations.frameworks: {bounds.SPARK}", lambda p: bounds.SPARK in p.frameworks),
    (_DRA, "resources.deviceClassMappings", lambda plan: bool(plan.device_mappings)),
    ("VisibilityOnDemand", "visibilityServer", lambda plan: plan.visibility_port is not None),
    ("MultiKueue", "multiKueue", lambda plan: plan.multikueue is not None),
    (
        "MultiKueueClusterProfile",
        "multiKueue.clusterProfile",
        lambda plan: plan.multikueue is not None and bool(plan.multikueue.access_providers),
    ),
)
"""What has no effect, or keeps Kueue from starting, while its gate is off."""


def is_on(plan: ConfigurationPlan, gate: str) -> bool:
    """Whether a gate is on: as written, or else by default."""
    return plan.feature_gates.get(gate, DEFAULTS.get(gate, False))


def derived(plan: ConfigurationPlan) -> dict[str, bool]:
    """The gates that what is configured needs and that are off by default."""
    return {gate: True for gate, _, uses in USERS if uses(plan) and not DEFAULTS[gate]}


def known(plan: ConfigurationPlan) -> Iterator[Fault]:
    """Kueue does not start with a gate that it does not know."""
    for gate in sorted(plan.feature_gates):
        if gate not in DEFAULTS and gate not in _ALL:
            message = f"'{shown(gate)}' is no feature gate of Kueue {RELEASE}{near_miss(gate, DEFAULTS)}"
            yield ("featureGates", gate), message


def locked(plan: ConfigurationPlan) -> Iterator[Fault]:
    """A gate that has become the rule, or is about to go, keeps its default."""
    for gate in sorted(LOCKED & plan.feature_gates.keys()):
        if plan.feature_gates[gate] != DEFAULTS[gate]:
            written, default = str(plan.feature_gates[gate]).lower(), str(DEFAULTS[gate]).lower()
            yield ("featureGates", gate), f"'{written}': in Kueue {RELEASE} it is {default} and stays so; leave it out"


def needs(plan: ConfigurationPlan) -> Iterator[Fault]:
    """A gate that is on wants others to be on, and many are on without being written."""
    if plan.feature_gates.keys() & set(_ALL):
        return
    for gate, wanted in NEEDS.items():
        off = [each for each in wanted if not is_on(plan, each)]
        if off and is_on(plan, gate):
            written = gate if gate in plan.feature_gates else off[0]
            yield ("featureGates", written), f"'{gate}' is on and needs {off[0]}; write {gate}: false, or leave that on"


def used(plan: ConfigurationPlan) -> Iterator[Fault]:
    """What is configured is on."""
    if plan.feature_gates.keys() & set(_ALL):
        return
    for gate, words, uses in USERS:
        if uses(plan) and not is_on(plan, gate):
            yield tuple(words.partition(":")[0].split(".")), f"'{words}' needs the feature gate {gate}, which is off"
