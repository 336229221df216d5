"""Rules of Kueue's Configuration. If one is broken, the manager does not start and no job is admitted."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

from berth.diagnostics import FieldPath, did_you_mean, format_value, join_or
from berth.names import is_label_key, is_label_value
from berth.plan.configuration import ConfigurationPlan, CustomLabelPlan, DeviceMappingPlan, SelectorPlan
from berth.plan.kueue import KUEUE_NAMESPACE
from berth.rules.kueue import bounds
from berth.rules.kueue.rule import (
    FieldError,
    Rule,
    check_enum,
    check_label_key,
    check_max_items,
    check_range,
    check_unique,
)

_NAMESPACE_NAME_LABEL = "kubernetes.io/metadata.name"
_KIND_VERSION_GROUP = re.compile(
    r"[A-Za-z][A-Za-z0-9]*\.[a-z0-9]+\.[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*"
)
_LABEL_NAME = re.compile(r"[a-zA-Z][a-zA-Z0-9_]*")


# --- waiting for pods -------------------------------------------------------------------------------------------------


def _timeout(plan: ConfigurationPlan) -> Iterator[FieldError]:
    path: FieldPath = ("waitForPodsReady", "timeout")
    if plan.pods_ready.timeout_seconds <= 0:
        message = f"'{plan.pods_ready.timeout_seconds}' seconds means 30 minutes in Kueue, not off; write at least 1s"
        yield path, message
    recovery = plan.pods_ready.recovery_seconds
    if recovery is not None and recovery < 0:
        yield ("waitForPodsReady", "recoveryTimeout"), f"'{recovery}' seconds is not a duration; write 0 for no timeout"


def _requeuing(plan: ConfigurationPlan) -> Iterator[FieldError]:
    requeuing, path = plan.pods_ready.requeuing, ("waitForPodsReady", "requeuingStrategy")
    yield from check_enum((*path, "timestamp"), requeuing.timestamp, bounds.REQUEUING_TIMESTAMPS)
    numbers = (
        ("backoffLimitCount", requeuing.limit_count),
        ("backoffBaseSeconds", requeuing.base_seconds),
        ("backoffMaxSeconds", requeuing.max_seconds),
    )
    for key, number in numbers:
        if number is not None:
            yield from check_range((*path, key), number, 0, bounds.INT32)


# --- fair sharing -----------------------------------------------------------------------------------------------------


def _preemption_strategies(plan: ConfigurationPlan) -> Iterator[FieldError]:
    if plan.fair_sharing is not None and plan.fair_sharing not in bounds.PREEMPTION_STRATEGIES:
        allowed = join_or(f"[{', '.join(each)}]" for each in bounds.PREEMPTION_STRATEGIES)
        message = f"'[{', '.join(plan.fair_sharing)}]' is not a list of strategies that Kueue supports; write {allowed}"
        yield ("fairSharing", "preemptionStrategies"), message


def _admission_fair_sharing(plan: ConfigurationPlan) -> Iterator[FieldError]:
    if (sharing := plan.admission_fair_sharing) is None:
        return
    path: FieldPath = ("admissionFairSharing",)
    if sharing.half_life_seconds < 0:
        yield (*path, "usageHalfLifeTime"), f"'{sharing.half_life_seconds}' seconds is not a duration; write 0 or more"
    if sharing.sampling_seconds <= 0:
        message = f"'{sharing.sampling_seconds}' seconds is too short; write 1 or more"
        yield (*path, "usageSamplingInterval"), message
    for resource, weight in sorted(sharing.resource_weights.items()):
        if weight < 0:
            message = f"'{weight:g}' is not a weight; write 0 (ignored) or more"
            yield (*path, "resourceWeights", resource), message


# --- resources --------------------------------------------------------------------------------------------------------


def _quota_check_or_prefixes(plan: ConfigurationPlan) -> Iterator[FieldError]:
    if plan.quota_check == bounds.IGNORE_UNDECLARED and plan.excluded_prefixes:
        prefixes = ", ".join(plan.excluded_prefixes)
        message = f"'{plan.quota_check}' and excludeResourcePrefixes ({prefixes}) cannot be combined; remove one"
        yield ("resources", "quotaCheckStrategy"), message


def _transformations(plan: ConfigurationPlan) -> Iterator[FieldError]:
    path: FieldPath = ("resources", "transformations")
    yield from check_unique(path, [each.input for each in plan.transformations], "input")
    for index, transformation in enumerate(plan.transformations):
        yield from check_enum((*path, index, "strategy"), transformation.strategy, bounds.TRANSFORMATIONS)
        for resource, amount in sorted(transformation.outputs.items()):
            if amount < 0:
                yield (*path, index, "outputs", resource), f"'{amount}' {resource} is not an amount; write 0 or more"


def _device_mappings(plan: ConfigurationPlan) -> Iterator[FieldError]:
    path: FieldPath = ("resources", "deviceClassMappings")
    yield from check_max_items(path, len(plan.device_mappings), bounds.DEVICE_MAPPINGS, "mappings")
    yield from check_unique(path, [each.name for each in plan.device_mappings], "resource")
    resource_of: dict[str, str] = {}
    for index, mapping in enumerate(plan.device_mappings):
        classes_path = (*path, index, "deviceClassNames")
        yield from _device_mapping(classes_path, mapping)
        for name in mapping.device_classes:
            if resource_of.setdefault(name, mapping.name) != mapping.name:
                counted = f"device class '{format_value(name)}' is already counted as '{resource_of[name]}'"
                message = f"{counted}; remove one of the two"
                yield classes_path, message


def _device_mapping(path: FieldPath, plan: DeviceMappingPlan) -> Iterator[FieldError]:
    if not plan.device_classes:
        yield path, f"'{format_value(plan.name)}' has no device class; write at least one"
    yield from check_max_items(path, len(plan.device_classes), bounds.DEVICE_CLASSES, "device classes")
    yield from check_unique(path, plan.device_classes, "device class")
    for name in (plan.name, *plan.device_classes):
        if not is_label_key(name) or len(name) > bounds.DEVICE_NAME_LENGTH:
            message = (
                f"'{format_value(name)}' is not a qualified name of at most {bounds.DEVICE_NAME_LENGTH} characters"
            )
            yield path, message


# --- which jobs -------------------------------------------------------------------------------------------------------


def _frameworks(plan: ConfigurationPlan) -> Iterator[FieldError]:
    path: FieldPath = ("integrations", "frameworks")
    if not plan.frameworks:
        yield (
            path,
            "'[]' means Kueue's default, [batch/job]; write [batch/job], or every kind of job that Kueue manages",
        )
    yield from check_unique(path, plan.frameworks, "framework")
    for index, name in enumerate(plan.frameworks):
        if name not in bounds.FRAMEWORKS:
            remedy = did_you_mean(name, bounds.FRAMEWORKS) or "; write other kinds under externalFrameworks"
            yield (*path, index), f"'{format_value(name)}' is not a framework of Kueue{remedy}"


def _external_frameworks(plan: ConfigurationPlan) -> Iterator[FieldError]:
    path: FieldPath = ("integrations", "externalFrameworks")
    yield from check_unique(path, plan.external_frameworks, "framework")
    for index, name in enumerate(plan.external_frameworks):
        if not _KIND_VERSION_GROUP.fullmatch(name):
            message = f"'{format_value(name)}' is not a kind; write Kind.version.group, such as Foo.v1.example.com"
            yield (*path, index), message


def _copied_labels(plan: ConfigurationPlan) -> Iterator[FieldError]:
    path: FieldPath = ("integrations", "labelKeysToCopy")
    yield from check_unique(path, plan.label_keys_to_copy, "label")
    for index, key in enumerate(plan.label_keys_to_copy):
        yield from check_label_key((*path, index), key, "label key")


def _exempt_namespaces(plan: ConfigurationPlan) -> Iterator[FieldError]:
    """Namespaces of Kubernetes and of Kueue must not be queued, because Kueue itself runs there."""
    if (selector := plan.managed_namespaces) is not None:
        for namespace in ("kube-system", KUEUE_NAMESPACE):
            if selector.matches({_NAMESPACE_NAME_LABEL: namespace}):
                message = (
                    f"'{namespace}' is selected, but its pods must never wait for "
                    f"Kueue; add a NotIn expression on {_NAMESPACE_NAME_LABEL}"
                )
                yield ("managedJobsNamespaceSelector",), message


def check_selector(path: FieldPath, selector: SelectorPlan | None) -> Iterator[FieldError]:
    """Yield what makes a label selector invalid in Kubernetes; nothing for none."""
    if selector is None:
        return
    for key in selector.labels:
        yield from check_label_key((*path, "matchLabels"), key, "label key")
    for index, expression in enumerate(selector.expressions):
        expression_path = (*path, "matchExpressions", index)
        yield from check_label_key(expression_path, expression.key, "label key")
        yield from check_enum(expression_path, expression.operator, bounds.SELECTOR_OPERATORS)
        if bool(expression.values) != (expression.operator in ("In", "NotIn")):
            message = (
                f"'{expression.operator}' "
                f"{'takes no values; remove values' if expression.values else 'needs values; write values: [<value>]'}"
            )
            yield expression_path, message


_METRICS_SELECTOR: FieldPath = ("metrics", "localQueueMetrics", "localQueueSelector")


# --- metrics ----------------------------------------------------------------------------------------------------------


def _custom_labels(plan: ConfigurationPlan) -> Iterator[FieldError]:
    labels, path = plan.metrics.custom_labels, ("metrics", "customLabels")
    yield from check_max_items(path, len(labels), bounds.CUSTOM_LABELS, "labels")
    yield from check_unique(path, [each.name for each in labels], "label")
    for kind, count in sorted(Counter(each.source_kind for each in labels).items()):
        if (limit := bounds.CUSTOM_LABELS_BY_KIND.get(kind)) is None:
            message = (
                f"'{format_value(kind)}' has no custom metric labels{did_you_mean(kind, bounds.CUSTOM_LABELS_BY_KIND)}"
            )
            yield path, message
        else:
            yield from check_max_items(path, count, limit, f"labels of one kind, {kind},")


def _custom_label_syntax(plan: ConfigurationPlan) -> Iterator[FieldError]:
    for index, label in enumerate(plan.metrics.custom_labels):
        path: FieldPath = ("metrics", "customLabels", index)
        if not _LABEL_NAME.fullmatch(label.name):
            message = f"'{format_value(label.name)}' is not a metric label: a letter, then letters, digits and '_'"
            yield path, message
        if label.label_key and label.annotation_key:
            yield path, f"'{format_value(label.name)}' has two sources; remove sourceLabelKey or sourceAnnotationKey"
        yield from check_label_key(path, label.label_key or label.annotation_key or label.name, "key to read from")
        yield from _tracked_values(path, label)


def _tracked_values(path: FieldPath, plan: CustomLabelPlan) -> Iterator[FieldError]:
    is_workload = plan.source_kind == "Workload"
    if is_workload and not plan.tracked:
        name = format_value(plan.name)
        message = f"'{name}' is a label of workloads, which can have any number of values; list some in trackedValues"
        yield path, message
    limit = bounds.WORKLOAD_TRACKED_VALUES if is_workload else bounds.TRACKED_VALUES
    yield from check_max_items(path, len(plan.tracked), limit, "values to track")
    yield from check_unique(path, plan.tracked, "value")


def _multikueue(plan: ConfigurationPlan) -> Iterator[FieldError]:
    if (settings := plan.multikueue) is None:
        return
    for key, seconds in (
        ("gcInterval", settings.gc_interval_seconds),
        ("workerLostTimeout", settings.worker_lost_seconds),
    ):
        if seconds is not None and seconds < 0:
            yield ("multiKueue", key), f"'{seconds}' seconds is not a duration; write 0 or more"
    if settings.origin is not None and not is_label_value(settings.origin):
        message = f"'{format_value(settings.origin)}' is not a label value: at most 63 letters, digits, '-', '_', '.'"
        yield ("multiKueue", "origin"), message
    if settings.step_size is not None:
        step_path: FieldPath = ("multiKueue", "incrementalDispatcherConfig", "stepSize")
        if settings.dispatcher != bounds.INCREMENTAL_DISPATCHER:
            problem = f"'{settings.step_size}' applies only to the dispatcher {bounds.INCREMENTAL_DISPATCHER}"
            yield step_path, f"{problem}; remove stepSize"
        yield from check_range(step_path, settings.step_size, 1, bounds.INT32)


RULES: tuple[Rule[ConfigurationPlan], ...] = (
    Rule("bad-pods-ready", "config validateWaitForPodsReady; 0: SetDefaults_Configuration", _timeout),
    Rule("bad-requeuing", "config validateWaitForPodsReady", _requeuing),
    Rule("bad-fair-sharing", "config validateFairSharing", _preemption_strategies),
    Rule("bad-admission-fair-sharing", "config validateAdmissionFairSharing", _admission_fair_sharing),
    Rule("quota-check-with-prefixes", "config validateQuotaCheckStrategy", _quota_check_or_prefixes),
    Rule("bad-transformation", "config validateResourceTransformations", _transformations),
    Rule("bad-device-mapping", "config validateDeviceClassMappings", _device_mappings),
    Rule("bad-framework", "config validateIntegrations", _frameworks),
    Rule("bad-external-framework", "config validateIntegrations: ParseKindArg", _external_frameworks),
    Rule("bad-copied-label", "config.kueue.x-k8s.io: labelKeysToCopy are label keys", _copied_labels),
    Rule(
        "bad-namespace-selector",
        "config validateManagedJobsNamespaceSelector",
        lambda plan: check_selector(("managedJobsNamespaceSelector",), plan.managed_namespaces),
    ),
    Rule("system-namespace-selected", "config validateManagedJobsNamespaceSelector", _exempt_namespaces),
    Rule(
        "bad-metrics-selector",
        "Kubernetes: LabelSelectorAsSelector",
        lambda plan: check_selector(_METRICS_SELECTOR, plan.metrics.local_queue_selector),
    ),
    Rule("bad-custom-labels", "config validateCustomLabels", _custom_labels),
    Rule("bad-custom-label", "config validateCustomLabels", _custom_label_syntax),
    Rule("bad-multikueue", "config validateMultiKueue", _multikueue),
)
