"""The numbers and words that Kueue 0.19.2 allows; a test reads those that its CRDs state from the CRDs themselves.

Sources: the v1beta2 CRDs, `pkg/webhooks`, `pkg/config/validation.go` and
`pkg/controller/jobs` of Kueue 0.19.2.
"""

from __future__ import annotations

from typing import Final

# --- flavors and topologies -------------------------------------------------------------------------------------------

FLAVOR_LABELS: Final = 8
FLAVOR_TAINTS: Final = 8
FLAVOR_TOLERATIONS: Final = 8
TOPOLOGY_LEVELS: Final = 16
LEVEL_LENGTH: Final = 316
HOSTNAME: Final = "kubernetes.io/hostname"
OPERATORS: Final = ("Equal", "Exists")
EFFECTS: Final = ("NoSchedule", "PreferNoSchedule", "NoExecute")

# --- quotas -----------------------------------------------------------------------------------------------------------

GROUPS: Final = 16
GROUP_RESOURCES: Final = 64
GROUP_FLAVORS: Final = 64
TOTAL_FLAVORS: Final = 256
"""Over all resource groups of a cluster queue."""
TOTAL_RESOURCES: Final = 256
"""Over all resource groups of a cluster queue."""
GROUP_PAIRS: Final = 512
"""Flavors times resources in one resource group of a cluster queue."""

# --- cluster queues ---------------------------------------------------------------------------------------------------

INT32: Final = 2**31 - 1
QUEUEING_STRATEGIES: Final = ("BestEffortFIFO", "StrictFIFO")
STOP_POLICIES: Final = ("None", "Hold", "HoldAndDrain")
WITHIN_CLUSTER_QUEUE: Final = ("Never", "LowerPriority", "LowerOrNewerEqualPriority")
RECLAIM_WITHIN_COHORT: Final = ("Never", "LowerPriority", "Any")
BORROW_WITHIN_COHORT: Final = ("Never", "LowerPriority")
TRY_NEXT: Final = "TryNextFlavor"
FUNGIBILITY_POLICIES: Final = ("MayStopSearch", TRY_NEXT)
PREFERENCES: Final = ("BorrowingOverPreemption", "PreemptionOverBorrowing")
USAGE_BASED: Final = "UsageBasedAdmissionFairSharing"
ADMISSION_MODES: Final = (USAGE_BASED, "NoAdmissionFairSharing")
QUEUE_CHECKS: Final = 64
CHECK_NAME_LENGTH: Final = 316
CHECK_FLAVORS: Final = 64
MIN_WEIGHT: Final = 1e-9
"""A fair-share weight is 0 or more than this."""

# --- checks and their configuration -----------------------------------------------------------------------------------

CONTROLLER_LENGTH: Final = 253
PARAMETERS_GROUP: Final = 253
PARAMETERS_KIND: Final = 63
PARAMETERS_NAME: Final = 63
CLASS_NAME: Final = 253
CLASS_PARAMETERS: Final = 100
CLASS_PARAMETER: Final = 255
MANAGED_RESOURCES: Final = 100
MERGE_POLICIES: Final = ("IdenticalPodTemplates", "IdenticalWorkloadSchedulingRequirements")
SELECTOR_UPDATES: Final = 8
SELECTOR_KEY: Final = 317
SELECTOR_DETAIL: Final = 32768
RUN_SECONDS: Final = (600, 604800)
"""How long GKE's queued provisioning keeps nodes: ten minutes to seven days (GKE docs: DWS)."""
QUEUED_PARAMETERS: Final = ("maxRunDurationSeconds", "capacitySearchStrategy", "tpu-topology")
"""What GKE's queued provisioning takes (GKE docs: DWS)."""
MULTIKUEUE_CLUSTERS: Final = 20
MULTIKUEUE_NAME_LENGTH: Final = 256
QUOTA_MANAGEMENT: Final = ("Manual", "Automated")
KUBECONFIG_LOCATIONS: Final = ("Secret", "Path")

# --- priorities -------------------------------------------------------------------------------------------------------

DESCRIPTION_LENGTH: Final = 2048
MAX_PRIORITY: Final = 10**9
"""Of a PriorityClass that people make; Kubernetes keeps what is above for itself."""

# --- configuration ----------------------------------------------------------------------------------------------------

PREEMPTION_STRATEGIES: Final = (
    ("LessThanOrEqualToFinalShare",),
    ("LessThanInitialShare",),
    ("LessThanOrEqualToFinalShare", "LessThanInitialShare"),
)
FRAMEWORKS: Final = (
    "batch/job",
    "deployment",
    "jobset.x-k8s.io/jobset",
    "kubeflow.org/jaxjob",
    "kubeflow.org/mpijob",
    "kubeflow.org/paddlejob",
    "kubeflow.org/pytorchjob",
    "kubeflow.org/tfjob",
    "kubeflow.org/xgboostjob",
    "leaderworkerset.x-k8s.io/leaderworkerset",
    "pod",
    "ray.io/raycluster",
    "ray.io/rayjob",
    "ray.io/rayservice",
    "sparkoperator.k8s.io/sparkapplication",
    "statefulset",
    "trainer.kubeflow.org/trainjob",
    "workload.codeflare.dev/appwrapper",
)
SPARK_FRAMEWORK: Final = "sparkoperator.k8s.io/sparkapplication"
POD_FRAMEWORK: Final = "pod"
REQUEUING_TIMESTAMPS: Final = ("Eviction", "Creation")
IGNORE_UNDECLARED: Final = "IgnoreUndeclared"
QUOTA_CHECKS: Final = ("BlockUndeclared", IGNORE_UNDECLARED)
TRANSFORMATIONS: Final = ("Retain", "Replace")
DEVICE_MAPPINGS: Final = 16
DEVICE_CLASSES: Final = 8
DEVICE_NAME_LENGTH: Final = 253
CUSTOM_LABELS: Final = 20
CUSTOM_LABELS_BY_KIND: Final = {"Cohort": 6, "LocalQueue": 6, "ClusterQueue": 6, "Workload": 2}
TRACKED_VALUES: Final = 16
WORKLOAD_TRACKED_VALUES: Final = 12
SELECTOR_OPERATORS: Final = ("In", "NotIn", "Exists", "DoesNotExist")
INCREMENTAL_DISPATCHER: Final = "kueue.x-k8s.io/multikueue-dispatcher-incremental"
RESERVED_PORTS: Final = {8081: "health", 8443: "metrics", 9443: "webhooks"}
"""What the manager listens on besides the visibility server."""
