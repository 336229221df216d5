"""The controllers that queue: what is installed, and how Kueue itself is set up."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from msgspec.structs import replace

from berth.manifests.helm_values import chart_values, jobset_values
from berth.manifests.quantities import MAXIMUM
from berth.plan.configuration import (
    JOB_FRAMEWORKS,
    SENT_FRAMEWORKS,
    AccessProviderPlan,
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
from berth.plan.kueue import ChartPlan
from berth.planner.context import Draft
from berth.planner.queueing.amounts import CPU
from berth.planner.queueing.local_queues import managed_namespaces
from berth.rules.kueue import gates
from berth.spec.controllers import (
    ControllerSpec,
    KueueSpec,
    MetricsSpec,
    ResourcesSpec,
    SelectorSpec,
    TransformationSpec,
)
from berth.spec.multikueue import MultiKueueSpec

KUEUE = ("0.19.2", "oci://registry.k8s.io/kueue/charts/kueue", "kueue-system")
JOBSET = ("0.12.0", "oci://registry.k8s.io/jobset/charts/jobset", "jobset-system")
"""Release, chart and namespace."""

_OLDEST = (0, 15)
"""The first Kueue that serves v1beta2, in which everything is written (Kueue's release notes of 0.15)."""


def charts(
    draft: Draft, kueue: ConfigurationPlan | None, cluster_queues: int, nodes: Iterable[int]
) -> tuple[ChartPlan, ...]:
    """The controllers to install; none for those that exist. JobSet comes first: Kueue looks for its kind.

    Kueue's manager is sized for these `cluster_queues`, and for the `nodes` of all pools at the most.
    """
    made = [_chart("jobset", draft.spec.jobset, JOBSET, jobset_values())] if not draft.spec.jobset.existing else []
    if kueue is not None:
        values = chart_values(kueue, cluster_queues=cluster_queues, nodes=sum(nodes))
        made.append(_chart("kueue", draft.spec.kueue, KUEUE, values))
    return tuple(made)


def _chart(name: str, spec: ControllerSpec, released: tuple[str, str, str], values: Mapping[str, object]) -> ChartPlan:
    version, chart, namespace = released
    return ChartPlan(
        name=name,
        chart=spec.chart or chart,
        version=spec.version or version,
        namespace=namespace,
        values=values,
    )


# --- Kueue's own configuration ----------------------------------------------------------------------------------------


def configuration(draft: Draft) -> ConfigurationPlan | None:
    """How Kueue is set up; None where somebody else did that.

    A feature gate that something here needs is switched on with it, in the release whose gates are known.
    """
    spec = draft.spec.kueue
    if spec.existing:
        return None
    draft.origins["configuration", "kueue"] = ("kueue",)
    _new_enough(draft, spec.version or KUEUE[0])
    sharing, usage = spec.fair_sharing, spec.admission_fair_sharing
    kept = spec.object_retention_policies.workloads
    teams, all_jobs = managed_namespaces(draft), spec.manage_jobs_without_queue_name
    if all_jobs is None:  # where any namespace may have queued jobs, GKE's own jobs would be held too
        all_jobs = teams is not None
    plan = ConfigurationPlan(
        namespace=KUEUE[2],
        pods_ready=_pods_ready(spec),
        fair_sharing=sharing.preemption_strategies if sharing else None,
        admission_fair_sharing=AdmissionFairSharingPlan(
            half_life_seconds=usage.usage_half_life_time,
            sampling_seconds=usage.usage_sampling_interval,
            resource_weights=usage.resource_weights,
        )
        if usage
        else None,
        frameworks=frameworks(draft),
        external_frameworks=spec.integrations.external_frameworks,
        label_keys_to_copy=spec.integrations.label_keys_to_copy,
        manage_jobs_without_queue_name=all_jobs,
        managed_namespaces=_selector(spec.managed_jobs_namespace_selector) or (teams if all_jobs else None),
        excluded_prefixes=_excluded(spec.resources),
        quota_check=spec.resources.quota_check_strategy,
        transformations=tuple(_transformation(draft, i, t) for i, t in enumerate(spec.resources.transformations)),
        device_mappings=tuple(
            DeviceMappingPlan(name=m.name, device_classes=m.device_class_names)
            for m in spec.resources.device_class_mappings
        ),
        retain_finished_seconds=kept.after_finished,
        retain_deactivated_seconds=kept.after_deactivated_by_kueue,
        metrics=_metrics(spec.metrics),
        multikueue=_multikueue(draft, spec.multi_kueue),
    )
    known = (spec.version or KUEUE[0]).startswith(f"{gates.RELEASE}.")
    return replace(plan, feature_gates={**(gates.derived(plan) if known else {}), **spec.feature_gates})


def _new_enough(draft: Draft, version: str) -> None:
    if tuple(int(number) for number in version.split(".")[:2]) < _OLDEST:
        message = (
            f"'{version}' does not serve v1beta2, in which queues are written; write 0.15.0 or later, best {KUEUE[0]}"
        )
        draft.problems.fault("version-too-old", ("kueue", "version"), message)


def frameworks(draft: Draft) -> tuple[str, ...]:
    """The kinds of jobs that are queued: as written, or those of batch jobs; on a manager, what its workers know."""
    said = draft.spec.kueue.integrations.frameworks
    if said is not None:
        return said
    return SENT_FRAMEWORKS if draft.spec.workers and not draft.spec.kueue.existing else JOB_FRAMEWORKS


def _pods_ready(spec: KueueSpec) -> PodsReadyPlan:
    ready = spec.wait_for_pods_ready
    again = ready.requeuing_strategy
    timeout = spec.wait_for_pods_ready_minutes * 60 if ready.timeout is None else ready.timeout
    return PodsReadyPlan(
        timeout_seconds=timeout,
        recovery_seconds=ready.recovery_timeout,
        block_admission=ready.block_admission,
        requeuing=RequeuingPlan(
            timestamp=again.timestamp,
            limit_count=again.backoff_limit_count,
            base_seconds=again.backoff_base_seconds,
            max_seconds=again.backoff_max_seconds,
        ),
    )


def _excluded(spec: ResourcesSpec) -> tuple[str, ...]:
    """What is left out of account: as written, or else Berth's default, unless a quota check takes its place."""
    if spec.exclude_resource_prefixes is not None:
        return spec.exclude_resource_prefixes
    return () if spec.quota_check_strategy else ConfigurationPlan().excluded_prefixes


def _transformation(draft: Draft, index: int, spec: TransformationSpec) -> TransformationPlan:
    outputs: dict[str, int] = {}
    for resource, written in spec.outputs.items():
        amount = written.value * 1000 if resource == CPU else written.value
        if amount.denominator == 1 and 0 <= amount <= MAXIMUM:
            outputs[resource] = int(amount)
        else:
            path = ("kueue", "resources", "transformations", index, "outputs", resource)
            message = f"'{written.written}' of {resource} cannot be counted; write a whole number, 0 or more"
            draft.problems.fault("bad-transformation", path, message)
    return TransformationPlan(input=spec.input, outputs=outputs, strategy=spec.strategy, multiply_by=spec.multiply_by)


def _metrics(spec: MetricsSpec) -> MetricsPlan:
    local = spec.local_queue_metrics
    return MetricsPlan(
        queue_resources=spec.enable_cluster_queue_resources,
        local_queues=local.enable if local else None,
        local_queue_selector=_selector(local.local_queue_selector) if local else None,
        custom_labels=tuple(
            CustomLabelPlan(
                name=label.name,
                source_kind=label.source_kind,
                label_key=label.source_label_key,
                annotation_key=label.source_annotation_key,
                tracked=label.tracked_values,
            )
            for label in spec.custom_labels
        ),
    )


def _multikueue(draft: Draft, spec: MultiKueueSpec | None) -> MultiKueueSettingsPlan | None:
    """How jobs are sent to workers; None leaves it to Kueue."""
    if spec is None:
        return None
    if not draft.spec.workers and all(section != "workers" for section, _ in draft.set_aside):
        message = "there are no workers to send jobs to; leave it out, or write workers"
        draft.problems.fault("no-workers", ("kueue", "multiKueue"), message)
    step, profiles = spec.incremental_dispatcher_config, spec.cluster_profile
    return MultiKueueSettingsPlan(
        gc_interval_seconds=spec.gc_interval,
        origin=spec.origin,
        worker_lost_seconds=spec.worker_lost_timeout,
        dispatcher=spec.dispatcher_name,
        step_size=step.step_size if step else None,
        access_providers=tuple(
            AccessProviderPlan(name=each.name, command=each.command, args=each.args)
            for each in (profiles.access_providers if profiles else ())
        ),
    )


def _selector(spec: SelectorSpec | None) -> SelectorPlan | None:
    if spec is None:
        return None
    return SelectorPlan(
        labels=spec.match_labels,
        expressions=tuple(
            ExpressionPlan(key=e.key, operator=e.operator, values=e.values) for e in spec.match_expressions
        ),
    )
