"""Rules of admission checks, of provisioning configs, and of MultiKueue's objects."""

from __future__ import annotations

import re
from collections.abc import Iterator

from berth.diagnostics import FieldPath, did_you_mean, format_value
from berth.names import MAX_SUBDOMAIN, is_dns_label, is_subdomain
from berth.plan.admission_checks import (
    MULTIKUEUE,
    MULTIKUEUE_CONFIG,
    PROVISIONING,
    PROVISIONING_CONFIG,
    QUEUED_CLASS,
    AdmissionCheckPlan,
    MultiKueueClusterPlan,
    MultiKueueConfigPlan,
    ProvisioningConfigPlan,
)
from berth.rules.kueue import bounds
from berth.rules.kueue.rule import (
    FieldError,
    Rule,
    check_enum,
    check_label_key,
    check_max_items,
    check_range,
    check_subdomain,
    check_unique,
)

CONFIG_KINDS = {PROVISIONING: PROVISIONING_CONFIG, MULTIKUEUE: MULTIKUEUE_CONFIG}
"""What Kueue's own controllers are configured with."""

_KIND = re.compile(r"[a-z]([-a-z0-9]*[a-z0-9])?", re.IGNORECASE)


def _name(plan: AdmissionCheckPlan) -> Iterator[FieldError]:
    yield from check_subdomain(("name",), plan.name, "an admission check")


def _controller(plan: AdmissionCheckPlan) -> Iterator[FieldError]:
    if not 1 <= len(plan.controller) <= bounds.CONTROLLER_LENGTH:
        limit = bounds.CONTROLLER_LENGTH
        yield (
            ("controllerName",),
            f"'{format_value(plan.controller)}' is no controller's name; it has 1 to {limit} characters",
        )


def _parameters_name(plan: AdmissionCheckPlan) -> Iterator[FieldError]:
    if plan.parameters and not is_dns_label(plan.parameters.name):
        message = (
            f"'{format_value(plan.parameters.name)}' cannot be named by a "
            f"check: {bounds.PARAMETERS_NAME} lower-case letters, "
            "digits and '-' at most; name the config otherwise"
        )
        yield ("parameters", "name"), message


def _parameters_kind(plan: AdmissionCheckPlan) -> Iterator[FieldError]:
    if plan.parameters:
        kind, group = plan.parameters.kind, plan.parameters.api_group
        if len(kind) > bounds.PARAMETERS_KIND or not _KIND.fullmatch(kind):
            yield ("parameters", "kind"), f"'{format_value(kind)}' is no kind: {bounds.PARAMETERS_KIND} letters at most"
        if not is_subdomain(group):
            yield (
                ("parameters", "apiGroup"),
                f"'{format_value(group)}' is no API group; write one such as kueue.x-k8s.io",
            )


def _config_kind(plan: AdmissionCheckPlan) -> Iterator[FieldError]:
    if (expected := CONFIG_KINDS.get(plan.controller)) is None:
        return
    parameters = plan.parameters
    if parameters is None:
        yield ("parameters",), f"'{plan.controller}' stays inactive without parameters; name a {expected}"
    elif (parameters.api_group, parameters.kind) != ("kueue.x-k8s.io", expected):
        message = (
            f"'{format_value(parameters.kind)}' of {format_value(parameters.api_group)} "
            f"is no {expected}, which '{plan.controller}' takes"
        )
        yield ("parameters", "kind"), message


ADMISSION_CHECKS: tuple[Rule[AdmissionCheckPlan], ...] = (
    Rule("bad-name", "Kubernetes: names of custom resources", _name),
    Rule("bad-controller", "CRD AdmissionCheck: controllerName length", _controller),
    Rule("bad-parameters-name", "CRD AdmissionCheck: parameters.name pattern, maxLength", _parameters_name),
    Rule("bad-parameters-kind", "CRD AdmissionCheck: parameters.kind, apiGroup", _parameters_kind),
    Rule("wrong-config-kind", "controller: pkg/util/admissioncheck refValidForGK", _config_kind),
)


# --- provisioning configs ---------------------------------------------------------------------------------------------


def _provisioning_name(plan: ProvisioningConfigPlan) -> Iterator[FieldError]:
    yield from check_subdomain(("name",), plan.name, "a provisioning config")


def _provisioning_class(plan: ProvisioningConfigPlan) -> Iterator[FieldError]:
    if not is_subdomain(plan.class_name):
        limit = f"lower-case letters, digits, '-' and '.', {MAX_SUBDOMAIN} at most"
        yield ("provisioningClassName",), f"'{format_value(plan.class_name)}' is no provisioning class: {limit}"


def _class_parameters(plan: ProvisioningConfigPlan) -> Iterator[FieldError]:
    path: FieldPath = ("parameters",)
    yield from check_max_items(path, len(plan.parameters), bounds.CLASS_PARAMETERS, "parameters", "leave some out")
    for key, value in sorted(plan.parameters.items()):
        limit = bounds.CLASS_PARAMETER
        yield from check_max_items((*path, key), len(value), limit, "characters", "write a shorter value")


def _queued_parameters(plan: ProvisioningConfigPlan) -> Iterator[FieldError]:
    if plan.class_name == QUEUED_CLASS:
        for key in sorted(plan.parameters):
            if key not in bounds.QUEUED_PARAMETERS:
                suggestion = (
                    did_you_mean(key, bounds.QUEUED_PARAMETERS) or f"; it knows {', '.join(bounds.QUEUED_PARAMETERS)}"
                )
                yield ("parameters", key), f"'{format_value(key)}' is no parameter of {QUEUED_CLASS}{suggestion}"


def _max_run_duration(plan: ProvisioningConfigPlan) -> Iterator[FieldError]:
    seconds = plan.parameters.get("maxRunDurationSeconds")
    if plan.class_name == QUEUED_CLASS and seconds is not None:
        path: FieldPath = ("parameters", "maxRunDurationSeconds")
        if not (seconds.isascii() and seconds.isdigit()):
            yield path, f"'{format_value(seconds)}' is no number of seconds; write one without a unit, such as 86400"
        else:
            yield from check_range(
                path, int(seconds[:20]), *bounds.RUN_SECONDS, "time in seconds for GKE's queued nodes"
            )


def _managed_resources(plan: ProvisioningConfigPlan) -> Iterator[FieldError]:
    path: FieldPath = ("managedResources",)
    count = len(plan.managed_resources)
    yield from check_max_items(path, count, bounds.MANAGED_RESOURCES, "managed resources", "name fewer")
    yield from check_unique(path, plan.managed_resources, "managed resource")
    for index, resource in enumerate(plan.managed_resources):
        yield from check_label_key((*path, index), resource, "resource name")


def _merge_policy(plan: ProvisioningConfigPlan) -> Iterator[FieldError]:
    yield from check_enum(("podSetMergePolicy",), plan.merge_policy, bounds.MERGE_POLICIES)


def _retry(plan: ProvisioningConfigPlan) -> Iterator[FieldError]:
    path: FieldPath = ("retryStrategy",)
    numbers = (
        ("backoffLimitCount", plan.retry.limit_count, "number of retries"),
        ("backoffBaseSeconds", plan.retry.base_seconds, "pause in seconds"),
        ("backoffMaxSeconds", plan.retry.max_seconds, "pause in seconds"),
    )
    for key, number, noun in numbers:
        yield from check_range((*path, key), number, 0, bounds.INT32, noun)
    if plan.retry.max_seconds < plan.retry.base_seconds:
        message = f"'{plan.retry.max_seconds}' is below backoffBaseSeconds, {plan.retry.base_seconds}; write as much"
        yield (*path, "backoffMaxSeconds"), message


def _selector_updates(plan: ProvisioningConfigPlan) -> Iterator[FieldError]:
    path: FieldPath = ("podSetUpdates", "nodeSelector")
    keys = [update.key for update in plan.selector_updates]
    yield from check_max_items(path, len(keys), bounds.SELECTOR_UPDATES, "labels to select by", "name fewer")
    yield from check_unique(path, keys, "label")


def _selector_update_syntax(plan: ProvisioningConfigPlan) -> Iterator[FieldError]:
    for index, update in enumerate(plan.selector_updates):
        path: FieldPath = ("podSetUpdates", "nodeSelector", index)
        if len(update.key) > bounds.SELECTOR_KEY:
            yield (*path, "key"), f"'{format_value(update.key)}' is longer than {bounds.SELECTOR_KEY} characters"
        else:
            yield from check_label_key((*path, "key"), update.key, "node label")
        if not 1 <= len(update.detail) <= bounds.SELECTOR_DETAIL:
            message = (
                f"'{format_value(update.detail)}' is no detail of a class: 1 to {bounds.SELECTOR_DETAIL} characters"
            )
            yield (*path, "valueFromProvisioningClassDetail"), message


PROVISIONING_CONFIGS: tuple[Rule[ProvisioningConfigPlan], ...] = (
    Rule("bad-name", "Kubernetes: names of custom resources", _provisioning_name),
    Rule("bad-provisioning-class", "CRD ProvisioningRequestConfig: provisioningClassName pattern", _provisioning_class),
    Rule("bad-class-parameters", "CRD ProvisioningRequestConfig: parameters limits", _class_parameters),
    Rule("unknown-class-parameter", "GKE docs: DWS", _queued_parameters, "warning"),
    Rule("bad-run-duration", "GKE docs: DWS", _max_run_duration),
    Rule("bad-managed-resources", "CRD ProvisioningRequestConfig: managedResources maxItems, set", _managed_resources),
    Rule("bad-merge-policy", "CRD ProvisioningRequestConfig: podSetMergePolicy enum", _merge_policy),
    Rule("bad-retry", "CRD ProvisioningRequestConfig: retryStrategy int32; below zero has no meaning", _retry),
    Rule("bad-selector-updates", "CRD ProvisioningRequestConfig: nodeSelector maxItems, map key", _selector_updates),
    Rule(
        "bad-selector-update", "CRD ProvisioningRequestConfig: nodeSelector lengths, pattern", _selector_update_syntax
    ),
)


# --- MultiKueue -------------------------------------------------------------------------------------------------------


def _clusters(plan: MultiKueueConfigPlan) -> Iterator[FieldError]:
    path: FieldPath = ("clusters",)
    if not plan.clusters:
        yield path, "'[]' names no cluster; Kueue wants one at least"
    yield from check_max_items(path, len(plan.clusters), bounds.MULTIKUEUE_CLUSTERS, "clusters", "name fewer")
    yield from check_unique(path, plan.clusters, "cluster")
    for index, name in enumerate(plan.clusters):
        yield from check_max_items(
            (*path, index), len(name), bounds.MULTIKUEUE_NAME_LENGTH, "characters", "name it otherwise"
        )


def _quota_management(plan: MultiKueueConfigPlan) -> Iterator[FieldError]:
    yield from check_enum(("quotaManagement",), plan.quota_management, bounds.QUOTA_MANAGEMENT)


MULTIKUEUE_CONFIGS: tuple[Rule[MultiKueueConfigPlan], ...] = (
    Rule("bad-clusters", "CRD MultiKueueConfig: clusters limits; CEL: unique", _clusters),
    Rule("bad-quota-management", "CRD MultiKueueConfig: quotaManagement enum", _quota_management),
)


def _cluster_source(plan: MultiKueueClusterPlan) -> Iterator[FieldError]:
    if (plan.kubeconfig is None) == (plan.profile is None):
        yield ("clusterSource",), f"'{plan.name}' is reached either by a kubeconfig or by a cluster profile; name one"


def _cluster_source_syntax(plan: MultiKueueClusterPlan) -> Iterator[FieldError]:
    for key, text in (("kubeConfig", plan.kubeconfig), ("clusterProfileRef", plan.profile)):
        if text is not None and not 1 <= len(text) <= bounds.MULTIKUEUE_NAME_LENGTH:
            yield (
                ("clusterSource", key),
                f"'{format_value(text)}' has to have 1 to {bounds.MULTIKUEUE_NAME_LENGTH} characters",
            )
    if plan.kubeconfig is not None:
        yield from check_enum(("clusterSource", "kubeConfig"), plan.kubeconfig_in, bounds.KUBECONFIG_LOCATIONS)


MULTIKUEUE_MEMBERS: tuple[Rule[MultiKueueClusterPlan], ...] = (
    Rule("bad-cluster-source", "CEL MultiKueueCluster.clusterSource", _cluster_source),
    Rule("bad-cluster-source-words", "CRD MultiKueueCluster: lengths, locationType enum", _cluster_source_syntax),
)
