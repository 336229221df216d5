"""Schema of the controllers, and of Kueue's own Configuration. Keys are Kueue's."""

from __future__ import annotations

from typing import Literal

from berth.diagnostics import join_words
from berth.spec.amounts import QuantityField, Seconds
from berth.spec.base import Entry, Model, NonEmptyText, Section, SemVer, Sequence, default_field, validation_fault
from berth.spec.machines.pools import LabelKey, LabelValue
from berth.spec.model import Field, check_model, to_camel
from berth.spec.multikueue import MultiKueueSpec

ResourceName = LabelKey


class ControllerSpec(Model):
    """A controller installed by Helm, or an `existing` one that this stack does not manage.

    `chart` is an OCI address or a path, for mirrors and networks without internet access.
    """

    existing: bool = False
    version: SemVer | None = None
    chart: NonEmptyText | None = None

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
    backoff_limit_count: int | None = None
    backoff_base_seconds: int | None = None
    backoff_max_seconds: int | None = None


class PodsReadySpec(Model):
    """How long the pods of an admitted workload may take to be ready, at first and after a pod was lost."""

    timeout: Seconds | None = None
    recovery_timeout: Seconds | None = None
    block_admission: bool = False
    requeuing_strategy: Entry[RequeuingSpec] = default_field(RequeuingSpec)


# --- fair sharing -----------------------------------------------------------------------------------------------------

ShareStrategy = Literal["LessThanOrEqualToFinalShare", "LessThanInitialShare"]


class FairSharingSpec(Model):
    """Fair sharing: the cluster queues of a cohort get shares by weight, and preempt each other to reach them."""

    preemption_strategies: Sequence[ShareStrategy] = ("LessThanOrEqualToFinalShare", "LessThanInitialShare")


class AdmissionFairSharingSpec(Model):
    """Admission fair sharing: local queues of a cluster queue take turns by past use, which decays by half-life."""

    usage_half_life_time: Seconds
    usage_sampling_interval: Seconds = Field(default=300, json_schema_extra={"default": "5m"})
    resource_weights: Section[ResourceName, float] = Field(default_factory=dict)


# --- resources --------------------------------------------------------------------------------------------------------


class TransformationSpec(Model):
    """What one unit of a resource counts as in quotas."""

    input: ResourceName
    strategy: Literal["Retain", "Replace"] = "Retain"
    multiply_by: ResourceName | None = None
    outputs: Section[ResourceName, QuantityField] = Field(default_factory=dict)


class DeviceMappingSpec(Model):
    """Device classes that count as one resource in quotas."""

    name: str
    device_class_names: Sequence[str]


class ResourcesSpec(Model):
    """Which requests count against quota, and as which resource."""

    exclude_resource_prefixes: Sequence[NonEmptyText] | None = None
    quota_check_strategy: Literal["BlockUndeclared", "IgnoreUndeclared"] | None = None
    transformations: Sequence[TransformationSpec] = ()
    device_class_mappings: Sequence[DeviceMappingSpec] = ()


# --- which jobs -------------------------------------------------------------------------------------------------------


class ExpressionSpec(Model):
    """One requirement of a label selector."""

    key: LabelKey
    operator: Literal["In", "NotIn", "Exists", "DoesNotExist"]
    values: Sequence[LabelValue] = ()


class SelectorSpec(Model):
    """A Kubernetes label selector."""

    match_labels: Section[LabelKey, LabelValue] = Field(default_factory=dict)
    match_expressions: Sequence[ExpressionSpec] = ()


class IntegrationsSpec(Model):
    """Kinds of jobs that are queued, and their labels that workloads copy. Without `frameworks`: batch jobs."""

    frameworks: Sequence[str] | None = None
    external_frameworks: Sequence[str] = ()
    label_keys_to_copy: Sequence[str] = ()


# --- retention and metrics --------------------------------------------------------------------------------------------


class WorkloadRetentionSpec(Model):
    """How long workloads are kept; without a time, forever."""

    after_finished: Seconds | None = None
    after_deactivated_by_kueue: Seconds | None = None


class RetentionSpec(Model):
    """Which of its own objects Kueue deletes."""

    workloads: Entry[WorkloadRetentionSpec] = default_field(WorkloadRetentionSpec)


class LocalQueueMetricsSpec(Model):
    """Metrics of local queues: all, or the selected ones."""

    enable: bool = True
    local_queue_selector: SelectorSpec | None = None


class CustomLabelSpec(Model):
    """A label or annotation of Kueue's objects that metrics show as `custom_<name>`."""

    name: str
    source_kind: Literal["Cohort", "ClusterQueue", "LocalQueue", "Workload"] = "ClusterQueue"
    source_label_key: str | None = None
    source_annotation_key: str | None = None
    tracked_values: Sequence[str] = ()


class MetricsSpec(Model):
    """Optional metrics of Kueue."""

    enable_cluster_queue_resources: bool = True
    local_queue_metrics: Entry[LocalQueueMetricsSpec | None] = None
    custom_labels: Sequence[CustomLabelSpec] = ()


class KueueSpec(ControllerSpec):
    """Kueue and its configuration. `waitForPodsReadyMinutes` is `waitForPodsReady.timeout` in minutes.

    `featureGates` are gates that no other key enables.
    """

    wait_for_pods_ready_minutes: int = Field(default=60, ge=1, le=1440)
    wait_for_pods_ready: Entry[PodsReadySpec] = default_field(PodsReadySpec)
    fair_sharing: Entry[FairSharingSpec | None] = None
    admission_fair_sharing: AdmissionFairSharingSpec | None = None
    resources: Entry[ResourcesSpec] = default_field(ResourcesSpec)
    integrations: Entry[IntegrationsSpec] = default_field(IntegrationsSpec)
    manage_jobs_without_queue_name: bool | None = None
    managed_jobs_namespace_selector: SelectorSpec | None = None
    object_retention_policies: Entry[RetentionSpec] = default_field(RetentionSpec)
    metrics: Entry[MetricsSpec] = default_field(MetricsSpec)
    multi_kueue: MultiKueueSpec | None = None
    feature_gates: Section[str, bool] = Field(default_factory=dict)

    @check_model
    def _check_single_timeout(self) -> KueueSpec:
        if "wait_for_pods_ready_minutes" in self.model_fields_set and self.wait_for_pods_ready.timeout is not None:
            short = "waitForPodsReadyMinutes"
            message = f"{short} and waitForPodsReady.timeout are the same setting; remove {short}"
            raise validation_fault("bad-value", message)
        return self
