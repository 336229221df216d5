"""Rules of Kueue's Configuration: with a broken one the manager does not start, and every queue stands still."""

from __future__ import annotations

import ipaddress
import re
from collections import Counter
from collections.abc import Iterator

from berth.diagnostics import Path, near_miss, shown
from berth.names import is_label_key, is_label_value
from berth.plan.configuration import ConfigurationPlan, CustomLabelPlan, DeviceMappingPlan, ExpressionPlan, SelectorPlan
from berth.rules.kueue import bounds, gates
from berth.rules.kueue.rule import Fault, Rule, either, label_key, one_of, too_many, twice, within

_NAME = "kubernetes.io/metadata.name"
_GVK = re.compile(r"[A-Za-z][A-Za-z0-9]*\.[a-z0-9]+\.[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
_LABEL_NAME = re.compile(r"[a-zA-Z][a-zA-Z0-9_]*")


# --- waiting for pods -------------------------------------------------------------------------------------------------


def _timeout(plan: ConfigurationPlan) -> Iterator[Fault]:
    hint: Path = ("waitForPodsReady", "timeout")
    if plan.pods_ready.timeout_seconds <= 0:
        yield hint, f"'{plan.pods_ready.timeout_seconds}' seconds: 0 is Kueue's 30 minutes, not off; write how long"
    recovery = plan.pods_ready.recovery_seconds
    if recovery is not None and recovery < 0:
        yield ("waitForPodsReady", "recoveryTimeout"), f"'{recovery}' seconds is no time; write 0 for none at all"


def _requeuing(plan: ConfigurationPlan) -> Iterator[Fault]:
    again, hint = plan.pods_ready.requeuing, ("waitForPodsReady", "requeuingStrategy")
    yield from one_of((*hint, "timestamp"), again.timestamp, bounds.TIMESTAMPS)
    numbers = (
        ("backoffLimitCount", again.limit_count),
        ("backoffBaseSeconds", again.base_seconds),
        ("backoffMaxSeconds", again.max_seconds),
    )
    for key, number in numbers:
        if number is not None:
            yield from within((*hint, key), number, 0, bounds.INT32, "number here")


# --- whose turn it is -------------------------------------------------------------------------------------------------


def _strategies(plan: ConfigurationPlan) -> Iterator[Fault]:
    if plan.fair_sharing is not None and plan.fair_sharing not in bounds.PREEMPTION_STRATEGIES:
        allowed = either(tuple(f"[{', '.join(each)}]" for each in bounds.PREEMPTION_STRATEGIES))
        message = f"'[{', '.join(plan.fair_sharing)}]' is no order of strategies; write {allowed}"
        yield ("fairSharing", "preemptionStrategies"), message


def _admission_fair_sharing(plan: ConfigurationPlan) -> Iterator[Fault]:
    if (sharing := plan.admission_fair_sharing) is None:
        return
    hint: Path = ("admissionFairSharing",)
    if sharing.half_life_seconds < 0:
        yield (*hint, "usageHalfLifeTime"), f"'{sharing.half_life_seconds}' seconds is no time; write 0 or more"
    if sharing.sampling_seconds <= 0:
        yield (*hint, "usageSamplingInterval"), f"'{sharing.sampling_seconds}' seconds is no interval; write 1 or more"
    for resource, weight in sorted(sharing.resource_weights.items()):
        if weight < 0:
            yield (*hint, "resourceWeights", resource), f"'{weight:g}' is no weight; write 0 to leave it out of account"


# --- resources --------------------------------------------------------------------------------------------------------


def _quota_check(plan: ConfigurationPlan) -> Iterator[Fault]:
    yield from one_of(("resources", "quotaCheckStrategy"), plan.quota_check, bounds.QUOTA_CHECKS)


def _quota_check_or_prefixes(plan: ConfigurationPlan) -> Iterator[Fault]:
    if plan.quota_check == bounds.IGNORE_UNDECLARED and plan.excluded_prefixes:
        named = ", ".join(plan.excluded_prefixes)
        message = f"'{plan.quota_check}' and excludeResourcePrefixes ({named}) exclude each other; write one of them"
        yield ("resources", "quotaCheckStrategy"), message


def _transformations(plan: ConfigurationPlan) -> Iterator[Fault]:
    hint: Path = ("resources", "transformations")
    yield from twice(hint, [each.input for each in plan.transformations], "input")
    for index, each in enumerate(plan.transformations):
        yield from one_of((*hint, index, "strategy"), each.strategy, bounds.TRANSFORMATIONS)
        for resource, amount in sorted(each.outputs.items()):
            if amount < 0:
                yield (*hint, index, "outputs", resource), f"'{amount}' {resource} is no amount; write 0 or more"


def _device_mappings(plan: ConfigurationPlan) -> Iterator[Fault]:
    hint: Path = ("resources", "deviceClassMappings")
    yield from too_many(hint, len(plan.device_mappings), bounds.DEVICE_MAPPINGS, "mappings", "name fewer")
    yield from twice(hint, [each.name for each in plan.device_mappings], "resource")
    of: dict[str, str] = {}
    for index, each in enumerate(plan.device_mappings):
        place = (*hint, index, "deviceClassNames")
        yield from _device_mapping(place, each)
        for name in each.device_classes:
            if of.setdefault(name, each.name) != each.name:
                yield place, f"device class '{shown(name)}' counts as '{of[name]}' already; count it once"


def _device_mapping(hint: Path, plan: DeviceMappingPlan) -> Iterator[Fault]:
    if not plan.device_classes:
        yield hint, f"'{shown(plan.name)}' counts no device class; name one"
    yield from too_many(hint, len(plan.device_classes), bounds.DEVICE_CLASSES, "device classes", "name fewer")
    yield from twice(hint, plan.device_classes, "device class")
    for name in (plan.name, *plan.device_classes):
        if not is_label_key(name) or len(name) > bounds.DEVICE_NAME:
            yield hint, f"'{shown(name)}' is no qualified name of {bounds.DEVICE_NAME} characters at most"


# --- which jobs -------------------------------------------------------------------------------------------------------


def _frameworks(plan: ConfigurationPlan) -> Iterator[Fault]:
    hint: Path = ("integrations", "frameworks")
    if not plan.frameworks:
        yield hint, "'[]' means batch/job alone; write the kinds of jobs that are to be queued"
    yield from twice(hint, plan.frameworks, "framework")
    for index, name in enumerate(plan.frameworks):
        if name not in bounds.FRAMEWORKS:
            remedy = near_miss(name, bounds.FRAMEWORKS) or "; write a kind it does not know under externalFrameworks"
            yield (*hint, index), f"'{shown(name)}' is no framework of Kueue's{remedy}"


def _external(plan: ConfigurationPlan) -> Iterator[Fault]:
    hint: Path = ("integrations", "externalFrameworks")
    yield from twice(hint, plan.external_frameworks, "framework")
    for index, name in enumerate(plan.external_frameworks):
        if not _GVK.fullmatch(name):
            yield (*hint, index), f"'{shown(name)}' is no kind; write Kind.version.group, such as Foo.v1.example.com"


def _copied_labels(plan: ConfigurationPlan) -> Iterator[Fault]:
    hint: Path = ("integrations", "labelKeysToCopy")
    yield from twice(hint, plan.label_keys_to_copy, "label")
    for index, key in enumerate(plan.label_keys_to_copy):
        yield from label_key((*hint, index), key, "label key")


def _selector(plan: ConfigurationPlan) -> Iterator[Fault]:
    if (selector := plan.managed_namespaces) is not None:
        yield from selector_words(("managedJobsNamespaceSelector",), selector)


def _exempt_namespaces(plan: ConfigurationPlan) -> Iterator[Fault]:
    """Nothing of Kubernetes or of Kueue itself may ever wait for Kueue."""
    if (selector := plan.managed_namespaces) is not None:
        for namespace in ("kube-system", plan.namespace):
            if selects(selector, {_NAME: namespace}):
                message = f"'{namespace}' is selected, and nothing in it may wait for Kueue; write {_NAME} NotIn for it"
                yield ("managedJobsNamespaceSelector",), message


def selects(selector: SelectorPlan, labels: dict[str, str]) -> bool:
    """Whether a label selector matches an object with these labels."""
    return selector.labels.items() <= labels.items() and all(_meets(e, labels) for e in selector.expressions)


def _meets(expression: ExpressionPlan, labels: dict[str, str]) -> bool:
    value = labels.get(expression.key)
    found = value is not None if expression.operator in ("Exists", "DoesNotExist") else value in expression.values
    return found == (expression.operator in ("In", "Exists"))


def selector_words(hint: Path, selector: SelectorPlan) -> Iterator[Fault]:
    """A label selector that Kubernetes cannot read."""
    for key in selector.labels:
        yield from label_key((*hint, "matchLabels"), key, "label key")
    for index, each in enumerate(selector.expressions):
        place = (*hint, "matchExpressions", index)
        yield from label_key(place, each.key, "label key")
        yield from one_of(place, each.operator, bounds.SELECTOR_OPERATORS)
        if bool(each.values) != (each.operator in ("In", "NotIn")):
            yield place, f"'{each.operator}' {'takes no values' if each.values else 'wants values'}"


# --- what is kept and shown -------------------------------------------------------------------------------------------


def _retention(plan: ConfigurationPlan) -> Iterator[Fault]:
    hint: Path = ("objectRetentionPolicies", "workloads")
    finished, deactivated = plan.retain_finished_seconds, plan.retain_deactivated_seconds
    for key, seconds in (("afterFinished", finished), ("afterDeactivatedByKueue", deactivated)):
        if seconds is not None and seconds < 0:
            yield (*hint, key), f"'{seconds}' seconds is no time; write 0 to keep nothing, or leave it out to keep all"


def _local_queue_selector(plan: ConfigurationPlan) -> Iterator[Fault]:
    if (selector := plan.metrics.local_queue_selector) is not None:
        yield from selector_words(("metrics", "localQueueMetrics", "localQueueSelector"), selector)


def _custom_labels(plan: ConfigurationPlan) -> Iterator[Fault]:
    labels, hint = plan.metrics.custom_labels, ("metrics", "customLabels")
    yield from too_many(hint, len(labels), bounds.CUSTOM_LABELS, "labels", "name fewer")
    yield from twice(hint, [each.name for each in labels], "label")
    for kind, count in sorted(Counter(each.source_kind for each in labels).items()):
        if (most := bounds.CUSTOM_LABELS_OF.get(kind)) is None:
            yield hint, f"'{shown(kind)}' has no labels to show{near_miss(kind, bounds.CUSTOM_LABELS_OF)}"
        else:
            yield from too_many(hint, count, most, f"labels of one kind, {kind},", "name fewer")


def _custom_label_words(plan: ConfigurationPlan) -> Iterator[Fault]:
    for index, each in enumerate(plan.metrics.custom_labels):
        hint: Path = ("metrics", "customLabels", index)
        if not _LABEL_NAME.fullmatch(each.name):
            yield hint, f"'{shown(each.name)}' is no label of a metric: letters, digits and '_', a letter first"
        if each.label_key and each.annotation_key:
            yield hint, f"'{shown(each.name)}' is read either from a label or from an annotation; name one"
        yield from label_key(hint, each.label_key or each.annotation_key or each.name, "key to read from")
        yield from _tracked(hint, each)


def _tracked(hint: Path, plan: CustomLabelPlan) -> Iterator[Fault]:
    of_workloads = plan.source_kind == "Workload"
    if of_workloads and not plan.tracked:
        yield hint, f"'{shown(plan.name)}' is a workload's, of which there are many; name the values to track"
    most = bounds.TRACKED_OF_WORKLOADS if of_workloads else bounds.TRACKED_VALUES
    yield from too_many(hint, len(plan.tracked), most, "values to track", "name fewer")
    yield from twice(hint, plan.tracked, "value")


def _visibility(plan: ConfigurationPlan) -> Iterator[Fault]:
    port, hint = plan.visibility_port, ("visibilityServer", "bindPort")
    if port is not None:
        yield from within(hint, port, 1, 65535, "port")
        if port in bounds.TAKEN_PORTS:
            yield hint, f"'{port}' is where the manager serves {bounds.TAKEN_PORTS[port]}; write another"
    if plan.visibility_address is not None and not _is_address(plan.visibility_address):
        yield ("visibilityServer", "bindAddress"), f"'{shown(plan.visibility_address)}' is no IP address"


def _is_address(text: str) -> bool:
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return True


def _multikueue(plan: ConfigurationPlan) -> Iterator[Fault]:
    if (given := plan.multikueue) is None:
        return
    for key, seconds in (("gcInterval", given.gc_interval_seconds), ("workerLostTimeout", given.worker_lost_seconds)):
        if seconds is not None and seconds < 0:
            yield ("multiKueue", key), f"'{seconds}' seconds is no time; write 0 or more"
    if given.origin is not None and not is_label_value(given.origin):
        yield ("multiKueue", "origin"), f"'{shown(given.origin)}' is no label value: 63 letters, digits, '-', '_', '.'"
    if given.step_size is not None:
        step: Path = ("multiKueue", "incrementalDispatcherConfig", "stepSize")
        if given.dispatcher != bounds.INCREMENTAL:
            yield step, f"'{given.step_size}' is for the dispatcher {bounds.INCREMENTAL} alone"
        yield from within(step, given.step_size, 1, bounds.INT32, "number of clusters")


RULES: tuple[Rule[ConfigurationPlan], ...] = (
    Rule("bad-pods-ready", "config validateWaitForPodsReady; 0: SetDefaults_Configuration", _timeout),
    Rule("bad-requeuing", "config validateWaitForPodsReady", _requeuing),
    Rule("bad-fair-sharing", "config validateFairSharing", _strategies),
    Rule("bad-admission-fair-sharing", "config validateAdmissionFairSharing", _admission_fair_sharing),
    Rule("bad-quota-check", "config validateQuotaCheckStrategy", _quota_check),
    Rule("quota-check-with-prefixes", "config validateQuotaCheckStrategy", _quota_check_or_prefixes),
    Rule("bad-transformation", "config validateResourceTransformations", _transformations),
    Rule("bad-device-mapping", "config validateDeviceClassMappings", _device_mappings),
    Rule("bad-framework", "config validateIntegrations", _frameworks),
    Rule("bad-external-framework", "config validateIntegrations: ParseKindArg", _external),
    Rule("bad-copied-label", "config.kueue.x-k8s.io: labelKeysToCopy are label keys", _copied_labels),
    Rule("bad-namespace-selector", "config validateManagedJobsNamespaceSelector", _selector),
    Rule("system-namespace-selected", "config validateManagedJobsNamespaceSelector", _exempt_namespaces),
    Rule("bad-retention", "config validateObjectRetentionPolicies", _retention),
    Rule("bad-metrics-selector", "Kubernetes: LabelSelectorAsSelector", _local_queue_selector),
    Rule("bad-custom-labels", "config validateCustomLabels", _custom_labels),
    Rule("bad-custom-label", "config validateCustomLabels", _custom_label_words),
    Rule("bad-visibility", "config validateVisibilityServer; two servers cannot share a port", _visibility),
    Rule("bad-multikueue", "config validateMultiKueue", _multikueue),
)

OF_RELEASE: tuple[Rule[ConfigurationPlan], ...] = (
    Rule("unknown-gate", "component-base featuregate SetFromMap", gates.known),
    Rule("locked-gate", "component-base featuregate SetFromMap: LockToDefault", gates.locked),
    Rule("gate-needs-gate", "config LoadAndValidateFeatureGates", gates.needs),
    Rule("gate-is-off", "Kueue's use of features.Enabled", gates.used),
)
"""What holds for the release that `gates` knows, and may not for another."""
