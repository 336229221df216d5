"""Configurations of Kueue that each break one rule, and the expected messages."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from berth.plan.configuration import (
    AdmissionFairSharingPlan,
    ConfigurationPlan,
    CustomLabelPlan,
    DeviceMappingPlan,
    ExpressionPlan,
    MetricsPlan,
    MultiKueueSettingsPlan,
    PodsReadyPlan,
    RequeuingPlan,
    SelectorPlan,
    TransformationPlan,
)
from berth.plan.fleet import FleetPlan
from tests.berth.rules.kueue.rule_cases import KEY, TOPOLOGY, Case, sound
from tests.components.kueue import plans

NAME = "kubernetes.io/metadata.name"
HERE = "configuration kueue: "
ON = {"CustomMetricLabels": True}


def configured(**changes: Any) -> FleetPlan:
    """A fleet with this configuration, whose queue goes with fair sharing too."""
    kept = replace(plans.PREEMPTION, borrow_within_cohort=None, max_priority_threshold=None)
    queue = replace(sound().cluster_queues[0], preemption=kept)
    return replace(sound(), cluster_queues=(queue,), kueue=ConfigurationPlan(**changes))


def case(claim: str, code: str, changes: dict[str, Any], *lines: str) -> Case:
    return Case(claim, code, configured(**changes), tuple(HERE + line for line in lines))


def labelled(*labels: CustomLabelPlan) -> dict[str, Any]:
    return {"metrics": MetricsPlan(custom_labels=labels), "feature_gates": ON}


def selecting(*expressions: ExpressionPlan, **labels: str) -> dict[str, Any]:
    return {"managed_namespaces": SelectorPlan(labels=labels, expressions=expressions)}


SETTINGS = (
    case(
        "waiting for pods cannot be switched off with 0",
        "bad-pods-ready",
        {"pods_ready": PodsReadyPlan(timeout_seconds=0, recovery_seconds=-1)},
        "waitForPodsReady.timeout: '0' seconds means 30 minutes in Kueue, not off; write at least 1s",
        "waitForPodsReady.recoveryTimeout: '-1' seconds is not a duration; write 0 for no timeout",
    ),
    case(
        "a workload queues again from its eviction or its creation",
        "bad-requeuing",
        {"pods_ready": PodsReadyPlan(requeuing=RequeuingPlan(timestamp="Evicted", limit_count=-1, max_seconds=2**31))},
        "waitForPodsReady.requeuingStrategy.timestamp: 'Evicted' is not a value that Kueue accepts; did you "
        "mean 'Eviction'?",
        "waitForPodsReady.requeuingStrategy.backoffLimitCount: '-1' is out of range; write 0 to 2147483647",
        "waitForPodsReady.requeuingStrategy.backoffMaxSeconds: '2147483648' is out of range; write 0 to 2147483647",
    ),
    case(
        "fair sharing has one of three orders",
        "bad-fair-sharing",
        {"fair_sharing": ("LessThanInitialShare", "LessThanOrEqualToFinalShare")},
        "fairSharing.preemptionStrategies: '[LessThanInitialShare, LessThanOrEqualToFinalShare]' is not a "
        "list of strategies that Kueue supports; write [LessThanOrEqualToFinalShare], [LessThanInitialShare] "
        "or [LessThanOrEqualToFinalShare, LessThanInitialShare]",
    ),
    case(
        "use is measured every so often, and counts for something",
        "bad-admission-fair-sharing",
        {
            "admission_fair_sharing": AdmissionFairSharingPlan(
                half_life_seconds=-1, sampling_seconds=0, resource_weights={"cpu": -0.5}
            )
        },
        "admissionFairSharing.usageHalfLifeTime: '-1' seconds is not a duration; write 0 or more",
        "admissionFairSharing.usageSamplingInterval: '0' seconds is too short; write 1 or more",
        "admissionFairSharing.resourceWeights.cpu: '-0.5' is not a weight; write 0 (ignored) or more",
    ),
    case(
        "what is undeclared is ignored by strategy or by prefix, not both",
        "quota-check-with-prefixes",
        {"quota_check": "IgnoreUndeclared"},
        "resources.quotaCheckStrategy: 'IgnoreUndeclared' and excludeResourcePrefixes (ephemeral-storage) "
        "cannot be combined; remove one",
    ),
    case(
        "a resource is transformed once, kept or replaced",
        "bad-transformation",
        {
            "transformations": (
                TransformationPlan(input="a", outputs={"b": -1}, strategy="Drop"),
                TransformationPlan(input="a", outputs={}),
            )
        },
        "resources.transformations[1]: input 'a' is listed twice; write it once",
        "resources.transformations[0].strategy: 'Drop' is not a value that Kueue accepts; write Retain or Replace",
        "resources.transformations[0].outputs.b: '-1' b is not an amount; write 0 or more",
    ),
    case(
        "sixteen resources stand for device classes at most",
        "bad-device-mapping",
        {"device_mappings": tuple(DeviceMappingPlan(name=f"r{n}", device_classes=(f"c{n}",)) for n in range(17))},
        "resources.deviceClassMappings: '17' mappings are more than Kueue's maximum of 16; name fewer",
    ),
    case(
        "a device class counts as one resource",
        "bad-device-mapping",
        {
            "device_mappings": (
                DeviceMappingPlan(name="a", device_classes=("c", "c")),
                DeviceMappingPlan(name="a", device_classes=()),
                DeviceMappingPlan(name="a b", device_classes=("c", *(f"c{n}" for n in range(8)))),
            )
        },
        "resources.deviceClassMappings[1]: resource 'a' is listed twice; write it once",
        "resources.deviceClassMappings[0].deviceClassNames[1]: device class 'c' is listed twice; write it once",
        "resources.deviceClassMappings[1].deviceClassNames: 'a' has no device class; write at least one",
        "resources.deviceClassMappings[2].deviceClassNames: '9' device classes are more than Kueue's maximum "
        "of 8; name fewer",
        "resources.deviceClassMappings[2].deviceClassNames: 'a b' is not a qualified name of at most 253 characters",
        "resources.deviceClassMappings[2].deviceClassNames: device class 'c' is already counted as 'a'; "
        "remove one of the two",
    ),
    case(
        "frameworks are Kueue's own, each once",
        "bad-framework",
        {"frameworks": ("batch/job", "batch/job", "kubeflow.org/pytorchjobs", "acme.com/thing")},
        "integrations.frameworks[1]: framework 'batch/job' is listed twice; write it once",
        "integrations.frameworks[2]: 'kubeflow.org/pytorchjobs' is not a framework of Kueue; did you mean "
        "'kubeflow.org/pytorchjob'?",
        "integrations.frameworks[3]: 'acme.com/thing' is not a framework of Kueue; write other kinds under "
        "externalFrameworks",
    ),
    case(
        "some kind of job is queued",
        "bad-framework",
        {"frameworks": ()},
        "integrations.frameworks: '[]' means Kueue's default, [batch/job]; write [batch/job], or every kind of job "
        "that Kueue manages",
    ),
    case(
        "an external framework is a kind, a version and a group",
        "bad-external-framework",
        {"external_frameworks": ("acme.com/Thing",)},
        "integrations.externalFrameworks[0]: 'acme.com/Thing' is not a kind; write Kind.version.group, such "
        "as Foo.v1.example.com",
    ),
    case(
        "labels that are copied are labels, each once",
        "bad-copied-label",
        {"label_keys_to_copy": ("a b", "team", "team")},
        "integrations.labelKeysToCopy[2]: label 'team' is listed twice; write it once",
        f"integrations.labelKeysToCopy[0]: 'a b' is not a label key; {KEY}",
    ),
    case(
        "a selector of namespaces can be read",
        "bad-namespace-selector",
        selecting(
            ExpressionPlan(key=NAME, operator="NotIn"),
            ExpressionPlan(key="a", operator="Exists", values=("b",)),
            ExpressionPlan(key="a", operator="Is"),
        ),
        "managedJobsNamespaceSelector.matchExpressions[0]: 'NotIn' needs values; write values: [<value>]",
        "managedJobsNamespaceSelector.matchExpressions[1]: 'Exists' takes no values; remove values",
        "managedJobsNamespaceSelector.matchExpressions[2]: 'Is' is not a value that Kueue accepts; write In, "
        "NotIn, Exists or DoesNotExist",
    ),
    case(
        "nothing of Kubernetes or of Kueue waits for Kueue",
        "system-namespace-selected",
        selecting(ExpressionPlan(key=NAME, operator="NotIn", values=("kueue-system",))),
        f"managedJobsNamespaceSelector: 'kube-system' is selected, but its pods must never wait for Kueue; "
        f"add a NotIn expression on {NAME}",
    ),
    case(
        "a selector of local queues can be read",
        "bad-metrics-selector",
        {"metrics": MetricsPlan(local_queue_selector=SelectorPlan(labels={"a b": "c"}))},
        f"metrics.localQueueMetrics.localQueueSelector.matchLabels: 'a b' is not a label key; {KEY}",
    ),
    case(
        "metrics have twenty labels at most, six of a kind",
        "bad-custom-labels",
        labelled(*(CustomLabelPlan(name=f"l{n}") for n in range(21))),
        "metrics.customLabels: '21' labels are more than Kueue's maximum of 20; name fewer",
        "metrics.customLabels: '21' labels of one kind, ClusterQueue, are more than Kueue's maximum of 6; name fewer",
    ),
    case(
        "a label is named once, and read from an object of Kueue's",
        "bad-custom-labels",
        labelled(CustomLabelPlan(name="a"), CustomLabelPlan(name="a", source_kind="Queue")),
        "metrics.customLabels[1]: label 'a' is listed twice; write it once",
        "metrics.customLabels: 'Queue' has no custom metric labels; did you mean 'LocalQueue'?",
    ),
    case(
        "a metric's label has a name and one source",
        "bad-custom-label",
        labelled(
            CustomLabelPlan(name="1a", label_key="a", annotation_key="b"), CustomLabelPlan(name="b", label_key="c d")
        ),
        "metrics.customLabels[0]: '1a' is not a metric label: a letter, then letters, digits and '_'",
        "metrics.customLabels[0]: '1a' has two sources; remove sourceLabelKey or sourceAnnotationKey",
        f"metrics.customLabels[1]: 'c d' is not a key to read from; {KEY}",
    ),
    case(
        "labels of workloads have few values, which are named",
        "bad-custom-label",
        labelled(
            CustomLabelPlan(name="a", source_kind="Workload"),
            CustomLabelPlan(name="b", source_kind="Workload", tracked=tuple(f"v{n}" for n in range(13))),
            CustomLabelPlan(name="c", tracked=("x", "x", *(f"v{n}" for n in range(15)))),
        ),
        "metrics.customLabels[0]: 'a' is a label of workloads, which can have any number of values; "
        "list some in trackedValues",
        "metrics.customLabels[1]: '13' values to track are more than Kueue's maximum of 12; name fewer",
        "metrics.customLabels[2]: '17' values to track are more than Kueue's maximum of 16; name fewer",
        "metrics.customLabels[2][1]: value 'x' is listed twice; write it once",
    ),
    case(
        "MultiKueue's settings are what they say",
        "bad-multikueue",
        {
            "multikueue": MultiKueueSettingsPlan(
                gc_interval_seconds=-1, worker_lost_seconds=-1, origin="a b", dispatcher="acme.com/own", step_size=0
            )
        },
        "multiKueue.gcInterval: '-1' seconds is not a duration; write 0 or more",
        "multiKueue.workerLostTimeout: '-1' seconds is not a duration; write 0 or more",
        "multiKueue.origin: 'a b' is not a label value: at most 63 letters, digits, '-', '_', '.'",
        "multiKueue.incrementalDispatcherConfig.stepSize: '0' applies only to the dispatcher "
        "kueue.x-k8s.io/multikueue-dispatcher-incremental; remove stepSize",
        "multiKueue.incrementalDispatcherConfig.stepSize: '0' is out of range; write 1 to 2147483647",
    ),
)

GATES = (
    case(
        "a feature gate is one of the release",
        "unknown-gate",
        {"feature_gates": {"TopologyAwareSchedulling": True, "AllAlpha": False}},
        "featureGates.TopologyAwareSchedulling: 'TopologyAwareSchedulling' is not a feature gate of Kueue "
        "0.19.2; did you mean 'TopologyAwareScheduling'?",
    ),
    case(
        "a gate that has become the rule stays on",
        "locked-gate",
        {"feature_gates": {"HierarchicalCohorts": False, "MultiKueueAllowInsecureKubeconfigs": False}},
        "featureGates.HierarchicalCohorts: 'false' is not possible: Kueue 0.19.2 locks this gate to true; remove "
        "HierarchicalCohorts",
    ),
    case(
        "a gate that is on has what it needs",
        "gate-needs-gate",
        {"feature_gates": {"UnadmittedWorkloadsExplicitStatus": True, "TASFailedNodeReplacement": False}},
        "featureGates.TASFailedNodeReplacement: 'false' is not possible: TASFailedNodeReplacementFailFast needs this "
        "gate; remove TASFailedNodeReplacement: false, or write TASFailedNodeReplacementFailFast: false",
        "featureGates.TASFailedNodeReplacement: 'false' is not possible: TASReplaceNodeOnPodTermination needs this "
        "gate; remove TASFailedNodeReplacement: false, or write TASReplaceNodeOnPodTermination: false",
        "featureGates.UnadmittedWorkloadsExplicitStatus: 'UnadmittedWorkloadsExplicitStatus' needs "
        "UnadmittedWorkloadsObservability, which is off by default; write UnadmittedWorkloadsObservability: true, or "
        "UnadmittedWorkloadsExplicitStatus: false",
    ),
    case(
        "what is set up is not switched off",
        "gate-is-off",
        {
            "quota_check": "BlockUndeclared",
            "frameworks": ("batch/job", "sparkoperator.k8s.io/sparkapplication"),
            "metrics": MetricsPlan(custom_labels=(CustomLabelPlan(name="a"),)),
            "feature_gates": {"QuotaCheckStrategy": False},
        },
        "resources.quotaCheckStrategy: 'resources.quotaCheckStrategy' needs the feature gate "
        "QuotaCheckStrategy, which is off; write QuotaCheckStrategy: true",
        "metrics.customLabels: 'metrics.customLabels' needs the feature gate CustomMetricLabels, which is "
        "off; write CustomMetricLabels: true",
        "integrations.frameworks: 'integrations.frameworks: sparkoperator.k8s.io/sparkapplication' needs the "
        "feature gate SparkApplicationIntegration, which is off; write SparkApplicationIntegration: true",
    ),
    Case(
        "a topology is of use while its gate is on",
        "topology-switched-off",
        replace(
            sound(),
            charts=(),
            topologies=(TOPOLOGY,),
            flavors=(replace(plans.flavor(), topology="gke"), plans.flavor("v5e-spot")),
            kueue=ConfigurationPlan(feature_gates={"TopologyAwareScheduling": False}),
        ),
        (
            "flavor v5e: topology: 'gke' has no effect while the feature gate TopologyAwareScheduling "
            "is off; remove kueue.featureGates.TopologyAwareScheduling",
        ),
    ),
)

ALL = (*SETTINGS, *GATES)
