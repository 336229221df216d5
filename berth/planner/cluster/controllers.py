"""Plan the controllers (Kueue, JobSet): which charts are installed, and Kueue's configuration."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Literal

from msgspec.structs import replace

from berth.catalog import fact_tables
from berth.diagnostics import did_you_mean, format_value
from berth.manifests.helm_values import chart_values
from berth.manifests.quantities import MAXIMUM
from berth.plan.configuration import (
    JOB_FRAMEWORKS,
    SENT_FRAMEWORKS,
    AccessProviderPlan,
    AdmissionFairSharingPlan,
    ConfigurationPlan,
    CustomLabelPlan,
    ExpressionPlan,
    MetricsPlan,
    MultiKueueSettingsPlan,
    PodsReadyPlan,
    RequeuingPlan,
    SelectorPlan,
    TransformationPlan,
)
from berth.plan.kueue import KUEUE_NAMESPACE, ChartPlan, NetworkDevicesPlan
from berth.planner.cluster.serving import with_serving
from berth.planner.context import PlanningContext
from berth.planner.machines.network_devices import device_mappings
from berth.planner.queueing.amounts import CPU
from berth.planner.queueing.local_queues import managed_namespaces, serving_namespaces
from berth.rules.kueue import gates
from berth.spec.controllers import (
    ControllerSpec,
    KueueSpec,
    MetricsSpec,
    SelectorSpec,
    TransformationSpec,
)
from berth.spec.workers import MultiKueueSpec
from berth.versions.gates import Gates, kueue_gates
from berth.versions.standing import Standing, describe_standing, newest_run, standing

KUEUE_RELEASE = (newest_run("kueue"), "oci://registry.k8s.io/kueue/charts/kueue", KUEUE_NAMESPACE)
JOBSET_RELEASE = (newest_run("jobset"), "oci://registry.k8s.io/jobset/charts/jobset", "jobset-system")
"""Release, chart and namespace."""


def controller_charts(
    context: PlanningContext, kueue: ConfigurationPlan | None, cluster_queues: int, nodes: Iterable[int]
) -> tuple[ChartPlan, ...]:
    """Return the controllers to install, without existing ones. JobSet comes first, because Kueue looks for its CRD.

    Kueue's manager is sized for the number of `cluster_queues` and the maximum `nodes` of all pools.
    """
    planned_charts: list[ChartPlan] = []
    if not context.spec.jobset.existing:
        planned_charts.append(_chart("jobset", context.spec.jobset, JOBSET_RELEASE, {}))
        _check_version(context, "jobset", planned_charts[0].version)
    if kueue is not None:
        values = chart_values(kueue, cluster_queues=cluster_queues, nodes=sum(nodes))
        planned_charts.append(_chart("kueue", context.spec.kueue, KUEUE_RELEASE, values))
    return tuple(planned_charts)


def _chart(
    name: str, spec: ControllerSpec, default_release: tuple[str, str, str], values: Mapping[str, object]
) -> ChartPlan:
    version, chart, namespace = default_release
    return ChartPlan(
        name=name,
        chart=spec.chart or chart,
        version=spec.version or version,
        namespace=namespace,
        values=values,
    )


# --- Kueue's own configuration ----------------------------------------------------------------------------------------


def kueue_configuration(
    context: PlanningContext, devices: Iterable[NetworkDevicesPlan | None] = ()
) -> ConfigurationPlan | None:
    """Return Kueue's configuration, which counts `devices` in quotas; None if Kueue already exists in the cluster.

    Turns on the feature gates that the configuration needs, for the release whose gates Berth knows.
    """
    spec = context.spec.kueue
    if spec.existing:
        return None
    context.origins["configuration", "kueue"] = ("kueue",)
    version = spec.version or KUEUE_RELEASE[0]
    _check_version(context, "kueue", version)
    sharing, usage_sharing = spec.fair_sharing, spec.admission_fair_sharing
    workload_retention = spec.object_retention_policies.workloads
    team_selector, all_jobs = managed_namespaces(context), spec.manage_jobs_without_queue_name
    if all_jobs is None:  # if every namespace may have queued jobs, Kueue would hold GKE's own jobs too
        all_jobs = team_selector is not None
    serving = serving_namespaces(context) or None
    excluded = spec.resources.exclude_resource_prefixes
    if excluded is None:  # resources without quota may be Berth's default, or found by the quota check
        excluded = () if spec.resources.quota_check_strategy else ConfigurationPlan().excluded_prefixes
    plan = ConfigurationPlan(
        pods_ready=_pods_ready(spec),
        fair_sharing=sharing.preemption_strategies if sharing else None,
        admission_fair_sharing=AdmissionFairSharingPlan(
            half_life_seconds=usage_sharing.usage_half_life_time,
            sampling_seconds=usage_sharing.usage_sampling_interval,
            resource_weights=usage_sharing.resource_weights,
        )
        if usage_sharing
        else None,
        frameworks=with_serving(context, job_frameworks(context)),
        external_frameworks=spec.integrations.external_frameworks,
        label_keys_to_copy=spec.integrations.label_keys_to_copy,
        manage_jobs_without_queue_name=all_jobs,
        lets_unqueued_start=spec.manage_jobs_without_queue_name is False,
        managed_namespaces=_selector_plan(spec.managed_jobs_namespace_selector)
        or (team_selector if all_jobs or serving else None),
        serving_namespaces=serving,
        excluded_prefixes=excluded,
        quota_check=spec.resources.quota_check_strategy,
        transformations=tuple(_transformation(context, i, t) for i, t in enumerate(spec.resources.transformations)),
        device_mappings=device_mappings(spec, devices),
        retain_finished_seconds=workload_retention.after_finished,
        retain_deactivated_seconds=workload_retention.after_deactivated_by_kueue,
        metrics=_metrics_plan(spec.metrics),
        multikueue=_multikueue_settings(context, spec.multi_kueue),
    )
    release = kueue_gates(version)
    implied = gates.implied_gates(plan, release) if release else {}
    _warn_unlisted_gates(context, spec, release)
    return replace(plan, feature_gates={**implied, **spec.feature_gates})


def _check_version(context: PlanningContext, key: Literal["kueue", "jobset"], version: str) -> None:
    """Report a release that did not run here: refused, known by its changelog, or unknown."""
    path = (key, "version")
    match standing(key, version):
        case Standing.REFUSED:
            context.problems.fault("version-too-old", path, describe_standing(key, version))
        case Standing.CHANGELOG:
            context.problems.warning("version-not-run", path, describe_standing(key, version))
        case Standing.UNKNOWN:
            context.problems.unknown("version-unknown", path, describe_standing(key, version))
        case Standing.RAN:
            pass


def _warn_unlisted_gates(context: PlanningContext, spec: KueueSpec, release: Gates | None) -> None:
    """Report written gates that the list of a release does not have, where the list may lack some."""
    if release is None or release.is_whole:
        return
    table = fact_tables()["kueue-gates"]
    for gate in (gate for gate in sorted(spec.feature_gates) if gate not in release.states):
        unknown = table.unknown(
            f"'{format_value(gate)}'", f"whether Kueue {release.release} has it and starts with it is"
        )
        hint = did_you_mean(gate, release.states) or "; compare it with the release's kube_features.go"
        context.problems.unknown("gate-unknown", ("kueue", "featureGates", gate), f"{unknown}{hint}")


def job_frameworks(context: PlanningContext) -> tuple[str, ...]:
    """Return the frameworks that Kueue queues: as written, else batch frameworks (on a manager, those of workers)."""
    written = context.spec.kueue.integrations.frameworks
    if written is not None:
        return written
    return SENT_FRAMEWORKS if context.spec.workers and not context.spec.kueue.existing else JOB_FRAMEWORKS


def _pods_ready(spec: KueueSpec) -> PodsReadyPlan:
    pods_ready = spec.wait_for_pods_ready
    requeuing = pods_ready.requeuing_strategy
    timeout = spec.wait_for_pods_ready_minutes * 60 if pods_ready.timeout is None else pods_ready.timeout
    return PodsReadyPlan(
        timeout_seconds=timeout,
        recovery_seconds=pods_ready.recovery_timeout,
        block_admission=pods_ready.block_admission,
        requeuing=RequeuingPlan(
            timestamp=requeuing.timestamp,
            limit_count=requeuing.backoff_limit_count,
            base_seconds=requeuing.backoff_base_seconds,
            max_seconds=requeuing.backoff_max_seconds,
        ),
    )


def _transformation(context: PlanningContext, index: int, spec: TransformationSpec) -> TransformationPlan:
    outputs: dict[str, int] = {}
    for resource, quantity in spec.outputs.items():
        amount = quantity.value * 1000 if resource == CPU else quantity.value
        if amount.denominator == 1 and 0 <= amount <= MAXIMUM:
            outputs[resource] = int(amount)
        else:
            path = ("kueue", "resources", "transformations", index, "outputs", resource)
            message = f"'{quantity.written}' is not an amount of {resource}; write a whole number, 0 or more"
            context.problems.fault("bad-transformation", path, message)
    return TransformationPlan(input=spec.input, outputs=outputs, strategy=spec.strategy, multiply_by=spec.multiply_by)


def _metrics_plan(spec: MetricsSpec) -> MetricsPlan:
    local = spec.local_queue_metrics
    return MetricsPlan(
        queue_resources=spec.enable_cluster_queue_resources,
        local_queues=local.enable if local else None,
        local_queue_selector=_selector_plan(local.local_queue_selector) if local else None,
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


def _multikueue_settings(context: PlanningContext, spec: MultiKueueSpec | None) -> MultiKueueSettingsPlan | None:
    """Return how jobs are sent to workers; None for Kueue's defaults."""
    if spec is None:
        return None
    if not (context.spec.workers or context.lacks_entries("workers")):
        context.problems.fault(
            "no-workers", ("kueue", "multiKueue"), "has no effect without workers; remove multiKueue, or write workers"
        )
    step, profiles = spec.incremental_dispatcher_config, spec.cluster_profile
    return MultiKueueSettingsPlan(
        gc_interval_seconds=spec.gc_interval,
        origin=spec.origin,
        worker_lost_seconds=spec.worker_lost_timeout,
        dispatcher=spec.dispatcher_name,
        step_size=step.step_size if step else None,
        access_providers=tuple(
            AccessProviderPlan(name=provider.name, command=provider.command, args=provider.args)
            for provider in (profiles.access_providers if profiles else ())
        ),
    )


def _selector_plan(spec: SelectorSpec | None) -> SelectorPlan | None:
    if spec is None:
        return None
    return SelectorPlan(
        labels=spec.match_labels,
        expressions=tuple(
            ExpressionPlan(key=e.key, operator=e.operator, values=e.values) for e in spec.match_expressions
        ),
    )
