"""How Kueue itself is set up: its Configuration, with Berth's defaults. Durations in seconds.

Fields are those of `config.kueue.x-k8s.io/v1beta2` (Kueue 0.19.2); one that is None, empty or False is left to Kueue.
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
"""Kinds of jobs that are queued. A kind whose CRD is missing is picked up once it is installed."""

SENT_FRAMEWORKS: Final = ("batch/job", "jobset.x-k8s.io/jobset")
"""Kinds of jobs that a manager queues. Its Kueue watches every kind it queues on each worker, and connects to no worker
that lacks the CRD of one (Kueue 0.19, multikueuecluster.go); Berth installs that of JobSet alone."""

PODS_READY_SECONDS: Final = 3600
"""An hour from admission until all pods are ready: a large slice or queued capacity needs 45 to 60 minutes, and Kueue's
own 30 would put the workload back while its images are still being pulled (Kueue docs: Configuration)."""


class RequeuingPlan(Struct, frozen=True, kw_only=True):
    """How a workload waits after its pods were not ready in time.

    `timestamp` (Eviction or Creation) says from when it queues. `limit_count` None retries for ever, a number
    deactivates the workload after so many. The pause doubles from `base_seconds` (60) to `max_seconds` (3600).
    """

    timestamp: str | None = None
    limit_count: int | None = None
    base_seconds: int | None = None
    max_seconds: int | None = None


class PodsReadyPlan(Struct, frozen=True, kw_only=True):
    """How long the pods of an admitted workload may take to be ready before it is put back into its queue.

    Kueue has this on, whatever is written: 0 means its own 30 minutes. `recovery_seconds` is the same for pods lost
    later: None is as long as the first time, 0 waits for ever. `block_admission` admits one workload at a time.
    """

    timeout_seconds: int = PODS_READY_SECONDS
    recovery_seconds: int | None = None
    block_admission: bool = False
    requeuing: RequeuingPlan = RequeuingPlan()


class AdmissionFairSharingPlan(Struct, frozen=True, kw_only=True):
    """Local queues of one cluster queue take turns by what they used.

    Use counts half after `half_life_seconds` (0: it counts only while it lasts), is measured every `sampling_seconds`,
    and each resource counts with its weight (1 where none is given).
    """

    half_life_seconds: int
    sampling_seconds: int = 300
    resource_weights: Mapping[str, float] = field(default_factory=dict[str, float])


class ExpressionPlan(Struct, frozen=True, kw_only=True):
    """One requirement of a label selector; `operator` is In, NotIn, Exists or DoesNotExist."""

    key: str
    operator: str
    values: tuple[str, ...] = ()


class SelectorPlan(Struct, frozen=True, kw_only=True):
    """A Kubernetes label selector: all of these labels and all of these expressions; neither selects everything."""

    labels: Mapping[str, str] = field(default_factory=dict[str, str])
    expressions: tuple[ExpressionPlan, ...] = ()


class TransformationPlan(Struct, frozen=True, kw_only=True):
    """What one unit of resource `input` counts as: `outputs`, in the units of a quota (MIG slices as memory, say).

    `strategy` is Retain (the input counts as well) or Replace; Replace without outputs ignores the input.
    `multiply_by` names a resource whose requested amount multiplies the outputs.
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
    """A label or annotation of Kueue's objects that becomes the metrics' label `custom_<name>`.

    `source_kind` is Cohort, LocalQueue, ClusterQueue or Workload; values that are not `tracked` are shown as one.
    """

    name: str
    source_kind: str = "ClusterQueue"
    label_key: str | None = None
    annotation_key: str | None = None
    tracked: tuple[str, ...] = ()


class MetricsPlan(Struct, frozen=True, kw_only=True):
    """What Kueue reports besides its counters: quotas and use of cluster queues, and of local queues (None: all)."""

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
    """How workloads are sent to other clusters; `step_size` is for the incremental dispatcher alone."""

    gc_interval_seconds: int | None = None
    origin: str | None = None
    worker_lost_seconds: int | None = None
    dispatcher: str | None = None
    step_size: int | None = None
    access_providers: tuple[AccessProviderPlan, ...] = ()


class ConfigurationPlan(Struct, frozen=True, kw_only=True):
    """Kueue's Configuration. The defaults are Berth's; what Kueue would choose itself is left out of the text.

    `fair_sharing` None is off, else it is the order of preemption strategies. Requests for resources that start with
    one of `excluded_prefixes` are ignored; any other that a queue does not cover keeps a workload waiting, unless
    `quota_check` is IgnoreUndeclared. `feature_gates` stand here and nowhere else: with some in the chart's own list
    too, the manager does not start. Retention None keeps finished or deactivated workloads for ever.
    """

    pods_ready: PodsReadyPlan = PodsReadyPlan()
    fair_sharing: tuple[str, ...] | None = None
    admission_fair_sharing: AdmissionFairSharingPlan | None = None
    frameworks: tuple[str, ...] = JOB_FRAMEWORKS
    external_frameworks: tuple[str, ...] = ()
    label_keys_to_copy: tuple[str, ...] = ()
    manage_jobs_without_queue_name: bool = False
    managed_namespaces: SelectorPlan | None = None
    excluded_prefixes: tuple[str, ...] = ("ephemeral-storage",)
    quota_check: str | None = None
    transformations: tuple[TransformationPlan, ...] = ()
    device_mappings: tuple[DeviceMappingPlan, ...] = ()
    retain_finished_seconds: int | None = None
    retain_deactivated_seconds: int | None = None
    metrics: MetricsPlan = MetricsPlan()
    feature_gates: Mapping[str, bool] = field(default_factory=dict[str, bool])
    multikueue: MultiKueueSettingsPlan | None = None
