"""Limits and enum values of Kueue 0.19.2; a test compares those from CRDs with the CRDs.

Sources: the v1beta2 CRDs, `pkg/webhooks` and `pkg/config/validation.go` of Kueue 0.19.2.
"""

from __future__ import annotations

from typing import Final

# --- queues and checks ------------------------------------------------------------------------------------------------

INT32: Final = 2**31 - 1
TRY_NEXT: Final = "TryNextFlavor"
MIN_WEIGHT: Final = 1e-9
"""A fair-share weight is 0, or greater than this."""
PARAMETERS_NAME: Final = 63
MANAGED_RESOURCES: Final = 100

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
REQUEUING_TIMESTAMPS: Final = ("Eviction", "Creation")
IGNORE_UNDECLARED: Final = "IgnoreUndeclared"
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
