"""Kueue's Configuration, with Berth's defaults. Durations are in seconds.

Fields as in `config.kueue.x-k8s.io/v1beta2` (Kueue 0.19.2); Kueue's default applies if one is None, empty or False.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from msgspec import Struct, field

JOB_FRAMEWORKS: Final = (
    "batch/job",
    "jobset.x-k8s.io/jobset",
    "kubeflow.org/jaxjob",
    "kubeflow.org/mpijob",
    "kubeflow.org/pytorchjob",
    "kubeflow.org/tfjob",
    "ray.io/raycluster",
    "ray.io/rayjob",
    "ray.io/rayservice",
    "trainer.kubeflow.org/trainjob",
    "workload.codeflare.dev/appwrapper",
)
"""Job kinds that Kueue queues by default. Kueue starts to queue a kind as soon as its CRD is installed."""

SENT_FRAMEWORKS: Final = ("batch/job", "jobset.x-k8s.io/jobset")
"""Job kinds that a manager queues by default. Its Kueue watches every kind on each worker, and does not connect to a
worker that lacks one of the CRDs (Kueue 0.19, multikueuecluster.go); Berth installs only that of JobSet."""

SERVING_FRAMEWORKS: Final = ("deployment", "leaderworkerset.x-k8s.io/leaderworkerset", "pod", "statefulset")
"""Integrations for services and pods, on by default in Kueue's chart. Berth turns them on for namespaces with serving:
each has a webhook that fails closed, and without a queue name Kueue gates every pod that reaches it."""

OPERATORS: Final[Mapping[str, str]] = {
    "appwrapper": "the AppWrapper controller",
    "kuberay": "the KubeRay operator",
    "leaderworkerset": "the LeaderWorkerSet controller",
    "mpi-operator": "the MPI operator",
    "slice-controller": "Kueue's slice controller",
    "spark-operator": "the Spark operator",
    "trainer": "Kubeflow Trainer",
    "training-operator": "Kubeflow's training operator",
}
"""Operators that Berth does not install, by their names in the stack file: of kinds of jobs, and of dynamic slices."""

SLICE_CONTROLLER: Final = "slice-controller"
"""The operator that forms dynamic slices."""

PODS_READY_SECONDS: Final = 3600
"""Default of 60 minutes from admission until all pods are ready: a large slice or queued capacity needs 45 to 60
minutes, and after Kueue's 30 a workload would be evicted while it still pulls images (Kueue docs: Configuration)."""


class RequeuingPlan(Struct, frozen=True, kw_only=True):
    """How a workload waits after its pods were not ready in time.

    `timestamp` (Eviction or Creation) determines its position in the queue. `limit_count` None retries forever; after a
    number of retries the workload is deactivated. The pause doubles from `base_seconds` (60) to `max_seconds` (3600).
    """

    timestamp: str | None = None
    limit_count: int | None = None
    base_seconds: int | None = None
    max_seconds: int | None = None


class PodsReadyPlan(Struct, frozen=True, kw_only=True):
    """How long the pods of an admitted workload may take to be ready before it is evicted and requeued.

    It cannot be turned off: 0 means Kueue's default of 30 minutes. `recovery_seconds` applies to pods that are lost
    later: None is as long as the first time, 0 waits forever. `block_admission` admits one workload at a time.
    """

    timeout_seconds: int = PODS_READY_SECONDS
    recovery_seconds: int | None = None
    block_admission: bool = False
    requeuing: RequeuingPlan = RequeuingPlan()


class AdmissionFairSharingPlan(Struct, frozen=True, kw_only=True):
    """Admission fair sharing: local queues of one cluster queue take turns by their past usage.

    Usage decays by half in `half_life_seconds` (0: only current usage counts) and is sampled every `sampling_seconds`.
    Each resource counts with its weight (default 1).
    """

    half_life_seconds: int
    sampling_seconds: int = 300
    resource_weights: Mapping[str, float] = field(default_factory=dict[str, float])


class ExpressionPlan(Struct, frozen=True, kw_only=True):
    """One requirement of a label selector; `operator` is In, NotIn, Exists or DoesNotExist."""

    key: str
    operator: str
    values: tuple[str, ...] = ()

    def matches(self, labels: Mapping[str, str]) -> bool:
        """Return whether it holds for an object with these labels."""
        value = labels.get(self.key)
        holds = value is not None if self.operator in ("Exists", "DoesNotExist") else value in self.values
        return holds == (self.operator in ("In", "Exists"))


class SelectorPlan(Struct, frozen=True, kw_only=True):
    """A Kubernetes label selector: all labels and all expressions must match; without any, it selects everything."""

    labels: Mapping[str, str] = field(default_factory=dict[str, str])
    expressions: tuple[ExpressionPlan, ...] = ()

    def matches(self, labels: Mapping[str, str]) -> bool:
        """Return whether it selects an object with these labels."""
        return self.labels.items() <= labels.items() and all(each.matches(labels) for each in self.expressions)


class TransformationPlan(Struct, frozen=True, kw_only=True):
    """What one unit of resource `input` counts as in quotas: `outputs`, such as memory for a MIG slice.

    `strategy` is Retain (the input counts too) or Replace; Replace without outputs ignores the input.
    `multiply_by` is a resource whose requested amount multiplies the outputs.
    """

    input: str
    outputs: Mapping[str, int]
    strategy: str = "Retain"
    multiply_by: str | None = None


class DeviceMappingPlan(Struct, frozen=True, kw_only=True):
    """Device classes (dynamic resource allocation) that count as one resource `name` in quotas."""

    name: str
    device_classes: tuple[str, ...]


class CustomLabelPlan(Struct, frozen=True, kw_only=True):
    """A label or annotation of Kueue's objects that becomes the metric label `custom_<name>`.

    `source_kind` is Cohort, LocalQueue, ClusterQueue or Workload; values that are not `tracked` are combined.
    """

    name: str
    source_kind: str = "ClusterQueue"
    label_key: str | None = None
    annotation_key: str | None = None
    tracked: tuple[str, ...] = ()


class MetricsPlan(Struct, frozen=True, kw_only=True):
    """Optional metrics of Kueue: quotas and usage of cluster queues, and of local queues (None: all)."""

    queue_resources: bool = True
    local_queues: bool | None = None
    local_queue_selector: SelectorPlan | None = None
    custom_labels: tuple[CustomLabelPlan, ...] = ()


class AccessProviderPlan(Struct, frozen=True, kw_only=True):
    """A program in Kueue's container that gets credentials for clusters known by a ClusterProfile."""

    name: str
    command: str
    args: tuple[str, ...] = ()


class MultiKueueSettingsPlan(Struct, frozen=True, kw_only=True):
    """How workloads are sent to other clusters; `step_size` applies only to the incremental dispatcher."""

    gc_interval_seconds: int | None = None
    origin: str | None = None
    worker_lost_seconds: int | None = None
    dispatcher: str | None = None
    step_size: int | None = None
    access_providers: tuple[AccessProviderPlan, ...] = ()


class ConfigurationPlan(Struct, frozen=True, kw_only=True):
    """Kueue's Configuration with Berth's defaults. Values equal to Kueue's defaults are omitted from the manifest.

    `fair_sharing` is the order of preemption strategies; None is off. Requests for resources with one of
    `excluded_prefixes` are ignored; a request for any other resource that a queue does not cover keeps a workload
    pending, unless `quota_check` is IgnoreUndeclared. `feature_gates` must all be here: with some in the chart's own
    list too, the manager does not start. Retention None keeps finished or deactivated workloads forever.
    `serving_namespaces` are the only ones in which the webhooks of SERVING_FRAMEWORKS are called; None: wherever Kueue
    manages jobs. `lets_unqueued_start` is whether the stack file itself says that jobs without a queue start, and not
    only a queue that is open to all namespaces.
    """

    pods_ready: PodsReadyPlan = PodsReadyPlan()
    fair_sharing: tuple[str, ...] | None = None
    admission_fair_sharing: AdmissionFairSharingPlan | None = None
    frameworks: tuple[str, ...] = JOB_FRAMEWORKS
    external_frameworks: tuple[str, ...] = ()
    label_keys_to_copy: tuple[str, ...] = ()
    manage_jobs_without_queue_name: bool = False
    lets_unqueued_start: bool = False
    managed_namespaces: SelectorPlan | None = None
    serving_namespaces: tuple[str, ...] | None = None
    excluded_prefixes: tuple[str, ...] = ("ephemeral-storage",)
    quota_check: str | None = None
    transformations: tuple[TransformationPlan, ...] = ()
    device_mappings: tuple[DeviceMappingPlan, ...] = ()
    retain_finished_seconds: int | None = None
    retain_deactivated_seconds: int | None = None
    metrics: MetricsPlan = MetricsPlan()
    feature_gates: Mapping[str, bool] = field(default_factory=dict[str, bool])
    multikueue: MultiKueueSettingsPlan | None = None
