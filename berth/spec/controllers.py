"""Schema of the controllers, and of Kueue's own Configuration. Keys are Kueue's."""

from __future__ import annotations

from typing import Literal

from berth.diagnostics import join_words
from berth.names import to_camel
from berth.spec.amounts import QuantityField, Seconds
from berth.spec.base import Entry, Model, NonEmptyText, Section, SemVer, Sequence, default_field, validation_fault
from berth.spec.machines.pools import LabelKey, LabelValue
from berth.spec.model import Field, check_model
from berth.spec.workers import MultiKueueSpec

ResourceName = LabelKey


class ControllerSpec(Model):
    """A controller that Helm installs."""

    existing: bool = False
    """The controller is installed already, and the fleet does not manage it."""
    version: SemVer | None = None
    """Release, in quotes; Kueue 0.15 or later. By default 0.19.2 of Kueue, 0.12.0 of JobSet, 25.8.0 of NVIDIA's DRA
    driver."""
    chart: NonEmptyText | None = None
    """Address of a mirror of the Helm chart or a path, for networks without internet access. By default the project's
    own chart."""

    @check_model
    def _check_existing(self) -> ControllerSpec:
        configured_fields = [key for key in type(self).model_fields if key in self.model_fields_set - {"existing"}]
        if self.existing and configured_fields:
            words = join_words([to_camel(key) for key in configured_fields])
            raise validation_fault(
                "bad-value", f"existing is true, so Berth does not configure this controller; remove {words}"
            )
        return self


# --- waiting for pods -------------------------------------------------------------------------------------------------


class RequeuingSpec(Model):
    """How a workload is requeued after its pods were not ready in time; without a limit it retries forever."""

    timestamp: Literal["Eviction", "Creation"] | None = None
    """The time by which requeued workloads are ordered."""
    backoff_limit_count: int | None = None
    """Number of times that a workload is requeued."""
    backoff_base_seconds: int | None = None
    """First pause before a workload is requeued, in seconds."""
    backoff_max_seconds: int | None = None
    """Longest pause before a workload is requeued, in seconds."""


class PodsReadySpec(Model):
    """How long the pods of an admitted workload may take to be ready."""

    timeout: Seconds | None = None
    """How long an admitted workload may take until all its pods are ready, such as `45m`. By default
    `waitForPodsReadyMinutes`."""
    recovery_timeout: Seconds | None = None
    """How long it may take until all pods are ready again after one was lost."""
    block_admission: bool = False
    """Admit one workload at a time."""
    requeuing_strategy: Entry[RequeuingSpec] = default_field(RequeuingSpec)
    """How a workload is requeued after its pods were not ready in time."""


# --- fair sharing -----------------------------------------------------------------------------------------------------

ShareStrategy = Literal["LessThanOrEqualToFinalShare", "LessThanInitialShare"]


class FairSharingSpec(Model):
    """Fair sharing: the cluster queues of a cohort get shares by weight, and preempt each other to reach them."""

    preemption_strategies: Sequence[ShareStrategy] = ("LessThanOrEqualToFinalShare", "LessThanInitialShare")
    """Strategies of preemption, in order."""


class AdmissionFairSharingSpec(Model):
    """Admission fair sharing: local queues of a cluster queue take turns by past use, which decays by half-life."""

    usage_half_life_time: Seconds
    """Time after which past use counts half, such as `168h`."""
    usage_sampling_interval: Seconds = Field(default=300, json_schema_extra={"default": "5m"})
    """Interval at which use is sampled, such as `5m`."""
    resource_weights: Section[ResourceName, float] = Field(default_factory=dict)
    """Weights of resources by name."""


# --- resources --------------------------------------------------------------------------------------------------------


class TransformationSpec(Model):
    """What one unit of a resource counts as in quotas."""

    input: ResourceName
    """The resource that jobs request."""
    strategy: Literal["Retain", "Replace"] = "Retain"
    """Whether the input still counts (`Retain`) or not (`Replace`)."""
    multiply_by: ResourceName | None = None
    """Resource by whose quantity the outputs are multiplied."""
    outputs: Section[ResourceName, QuantityField] = Field(default_factory=dict)
    """Quantities by resource for one unit of the input."""


class DeviceMappingSpec(Model):
    """Device classes that count as one resource in quotas."""

    name: str
    """Name of the resource."""
    device_class_names: Sequence[str]
    """The device classes."""


class ResourcesSpec(Model):
    """Which requests count against quota, and as which resource."""

    exclude_resource_prefixes: Sequence[NonEmptyText] | None = None
    """Resources that do not count, by prefix. By default `[ephemeral-storage]`."""
    quota_check_strategy: Literal["BlockUndeclared", "IgnoreUndeclared"] | None = None
    """`IgnoreUndeclared` also admits jobs that request resources without quota in their queue."""
    transformations: Sequence[TransformationSpec] = ()
    """What one unit of a resource counts as."""
    device_class_mappings: Sequence[DeviceMappingSpec] = ()
    """Device classes that count as one resource."""


# --- which jobs -------------------------------------------------------------------------------------------------------


class ExpressionSpec(Model):
    """One requirement of a label selector."""

    key: LabelKey
    """Key of a label."""
    operator: Literal["In", "NotIn", "Exists", "DoesNotExist"]
    """Relation of the key to the values."""
    values: Sequence[LabelValue] = ()
    """The values."""


class SelectorSpec(Model):
    """A Kubernetes label selector."""

    match_labels: Section[LabelKey, LabelValue] = Field(default_factory=dict)
    """Labels with their values."""
    match_expressions: Sequence[ExpressionSpec] = ()
    """Requirements."""


class IntegrationsSpec(Model):
    """Kinds of jobs that are queued."""

    frameworks: Sequence[str] | None = None
    """Kinds that Kueue supports, such as `batch/job`; namespaces with `serving` add those of services. By default those
    of batch jobs; on a manager `batch/job` and `jobset.x-k8s.io/jobset`."""
    external_frameworks: Sequence[str] = ()
    """Kinds that other controllers support."""
    label_keys_to_copy: Sequence[str] = ()
    """Labels of jobs that workloads copy."""


# --- retention and metrics --------------------------------------------------------------------------------------------


class WorkloadRetentionSpec(Model):
    """How long workloads are kept. Without a time, forever."""

    after_finished: Seconds | None = None
    """Time after a workload finished, such as `7d`."""
    after_deactivated_by_kueue: Seconds | None = None
    """Time after Kueue deactivated a workload."""


class RetentionSpec(Model):
    """How long Kueue keeps its own objects."""

    workloads: Entry[WorkloadRetentionSpec] = default_field(WorkloadRetentionSpec)
    """How long workloads are kept."""


class LocalQueueMetricsSpec(Model):
    """Metrics of local queues."""

    enable: bool = True
    """Report metrics of local queues."""
    local_queue_selector: SelectorSpec | None = None
    """Selector of the local queues. By default all."""


class CustomLabelSpec(Model):
    """A label or annotation of Kueue's objects that metrics show as `custom_<name>`."""

    name: str
    """Name of the metric label, without `custom_`."""
    source_kind: Literal["Cohort", "ClusterQueue", "LocalQueue", "Workload"] = "ClusterQueue"
    """Kind of the object."""
    source_label_key: str | None = None
    """Key of the label whose value is shown."""
    source_annotation_key: str | None = None
    """Key of the annotation whose value is shown."""
    tracked_values: Sequence[str] = ()
    """Values that are shown."""


class MetricsSpec(Model):
    """What Kueue reports."""

    enable_cluster_queue_resources: bool = True
    """Report quota and usage of cluster queues."""
    local_queue_metrics: Entry[LocalQueueMetricsSpec | None] = None
    """Metrics of local queues, of all or of selected ones."""
    custom_labels: Sequence[CustomLabelSpec] = ()
    """Labels and annotations that metrics show."""


class KueueSpec(ControllerSpec):
    """Kueue, and its own Configuration."""

    wait_for_pods_ready_minutes: int = Field(default=60, ge=1, le=1440)
    """Short form of `waitForPodsReady.timeout`, in minutes. The default is enough for a large slice."""
    wait_for_pods_ready: Entry[PodsReadySpec] = default_field(PodsReadySpec)
    """How long the pods of an admitted workload may take to be ready."""
    fair_sharing: Entry[FairSharingSpec | None] = None
    """Fair sharing by weight: an empty mapping `{}` turns it on."""
    admission_fair_sharing: AdmissionFairSharingSpec | None = None
    """Admission fair sharing. Off by default."""
    resources: Entry[ResourcesSpec] = default_field(ResourcesSpec)
    """Which requests count against quota, and as which resource."""
    integrations: Entry[IntegrationsSpec] = default_field(IntegrationsSpec)
    """Kinds of jobs that are queued."""
    manage_jobs_without_queue_name: bool | None = None
    """Let Kueue also hold jobs without a queue name. By default `true`, unless a queue is open to all namespaces."""
    managed_jobs_namespace_selector: SelectorSpec | None = None
    """Namespaces in which jobs without a queue name are held. By default those of teams."""
    object_retention_policies: Entry[RetentionSpec] = default_field(RetentionSpec)
    """How long Kueue keeps finished and deactivated workloads. By default forever."""
    metrics: Entry[MetricsSpec] = default_field(MetricsSpec)
    """What Kueue reports."""
    multi_kueue: MultiKueueSpec | None = None
    """How jobs are sent to workers."""
    feature_gates: Section[str, bool] = Field(default_factory=dict)
    """Additional feature gates. Berth enables those that other keys need, and disables `ReclaimablePods` where Kueue
    queues JobSets or TrainJobs, which may run ended pods again (docs/tenancy.md)."""

    @check_model
    def _check_single_timeout(self) -> KueueSpec:
        if "wait_for_pods_ready_minutes" in self.model_fields_set and self.wait_for_pods_ready.timeout is not None:
            short = "waitForPodsReadyMinutes"
            raise validation_fault(
                "bad-value", f"{short} and waitForPodsReady.timeout are the same setting; remove {short}"
            )
        return self
