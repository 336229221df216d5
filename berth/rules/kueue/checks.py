"""Rules of admission checks, of provisioning configs, and of MultiKueue's objects."""

from __future__ import annotations

import re
from collections.abc import Iterator

from berth.diagnostics import Path, near_miss, shown
from berth.names import SUBDOMAIN, is_dns_label, is_subdomain
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
from berth.rules.kueue.rule import Fault, Rule, label_key, one_of, subdomain, too_many, twice, within

CONFIG_KINDS = {PROVISIONING: PROVISIONING_CONFIG, MULTIKUEUE: MULTIKUEUE_CONFIG}
"""What Kueue's own controllers are configured with."""

_KIND = re.compile(r"[a-z]([-a-z0-9]*[a-z0-9])?", re.IGNORECASE)


def _name(plan: AdmissionCheckPlan) -> Iterator[Fault]:
    yield from subdomain(("name",), plan.name, "an admission check")


def _controller(plan: AdmissionCheckPlan) -> Iterator[Fault]:
    if not 1 <= len(plan.controller) <= bounds.CONTROLLER_LENGTH:
        limit = bounds.CONTROLLER_LENGTH
        yield ("controllerName",), f"'{shown(plan.controller)}' is no controller's name; it has 1 to {limit} characters"


def _parameters_name(plan: AdmissionCheckPlan) -> Iterator[Fault]:
    if plan.parameters and not is_dns_label(plan.parameters.name):
        message = (
            f"'{shown(plan.parameters.name)}' cannot be named by a check: {bounds.PARAMETERS_NAME} lower-case letters, "
            "digits and '-' at most; name the config otherwise"
        )
        yield ("parameters", "name"), message


def _parameters_kind(plan: AdmissionCheckPlan) -> Iterator[Fault]:
    if plan.parameters:
        kind, group = plan.parameters.kind, plan.parameters.api_group
        if len(kind) > bounds.PARAMETERS_KIND or not _KIND.fullmatch(kind):
            yield ("parameters", "kind"), f"'{shown(kind)}' is no kind: {bounds.PARAMETERS_KIND} letters at most"
        if not is_subdomain(group):
            yield ("parameters", "apiGroup"), f"'{shown(group)}' is no API group; write one such as kueue.x-k8s.io"


def _config_kind(plan: AdmissionCheckPlan) -> Iterator[Fault]:
    if (wanted := CONFIG_KINDS.get(plan.controller)) is None:
        return
    given = plan.parameters
    if given is None:
        yield ("parameters",), f"'{plan.controller}' stays inactive without parameters; name a {wanted}"
    elif (given.api_group, given.kind) != ("kueue.x-k8s.io", wanted):
        message = f"'{shown(given.kind)}' of {shown(given.api_group)} is no {wanted}, which '{plan.controller}' takes"
        yield ("parameters", "kind"), message


ADMISSION_CHECKS: tuple[Rule[AdmissionCheckPlan], ...] = (
    Rule("bad-name", "Kubernetes: names of custom resources", _name),
    Rule("bad-controller", "CRD AdmissionCheck: controllerName length", _controller),
    Rule("bad-parameters-name", "CRD AdmissionCheck: parameters.name pattern, maxLength", _parameters_name),
    Rule("bad-parameters-kind", "CRD AdmissionCheck: parameters.kind, apiGroup", _parameters_kind),
    Rule("wrong-config-kind", "controller: pkg/util/admissioncheck refValidForGK", _config_kind),
)


# --- provisioning configs ---------------------------------------------------------------------------------------------


def _provisioning_name(plan: ProvisioningConfigPlan) -> Iterator[Fault]:
    yield from subdomain(("name",), plan.name, "a provisioning config")


def _class(plan: ProvisioningConfigPlan) -> Iterator[Fault]:
    if not is_subdomain(plan.class_name):
        limit = f"lower-case letters, digits, '-' and '.', {SUBDOMAIN} at most"
        yield ("provisioningClassName",), f"'{shown(plan.class_name)}' is no provisioning class: {limit}"


def _class_parameters(plan: ProvisioningConfigPlan) -> Iterator[Fault]:
    hint: Path = ("parameters",)
    yield from too_many(hint, len(plan.parameters), bounds.CLASS_PARAMETERS, "parameters", "leave some out")
    for key, value in sorted(plan.parameters.items()):
        limit = bounds.CLASS_PARAMETER
        yield from too_many((*hint, key), len(value), limit, "characters", "write a shorter value")


def _queued_parameters(plan: ProvisioningConfigPlan) -> Iterator[Fault]:
    if plan.class_name == QUEUED_CLASS:
        for key in sorted(plan.parameters):
            if key not in bounds.QUEUED_PARAMETERS:
                known = near_miss(key, bounds.QUEUED_PARAMETERS) or f"; it knows {', '.join(bounds.QUEUED_PARAMETERS)}"
                yield ("parameters", key), f"'{shown(key)}' is no parameter of {QUEUED_CLASS}{known}"


def _run_duration(plan: ProvisioningConfigPlan) -> Iterator[Fault]:
    written = plan.parameters.get("maxRunDurationSeconds")
    if plan.class_name == QUEUED_CLASS and written is not None:
        hint: Path = ("parameters", "maxRunDurationSeconds")
        if not (written.isascii() and written.isdigit()):
            yield hint, f"'{shown(written)}' is no number of seconds; write one without a unit, such as 86400"
        else:
            yield from within(hint, int(written[:20]), *bounds.RUN_SECONDS, "time in seconds for GKE's queued nodes")


def _managed(plan: ProvisioningConfigPlan) -> Iterator[Fault]:
    hint: Path = ("managedResources",)
    count = len(plan.managed_resources)
    yield from too_many(hint, count, bounds.MANAGED_RESOURCES, "managed resources", "name fewer")
    yield from twice(hint, plan.managed_resources, "managed resource")
    for index, resource in enumerate(plan.managed_resources):
        yield from label_key((*hint, index), resource, "resource name")


def _merge(plan: ProvisioningConfigPlan) -> Iterator[Fault]:
    yield from one_of(("podSetMergePolicy",), plan.merge_policy, bounds.MERGE_POLICIES)


def _retry(plan: ProvisioningConfigPlan) -> Iterator[Fault]:
    hint: Path = ("retryStrategy",)
    numbers = (
        ("backoffLimitCount", plan.retry.limit_count, "number of retries"),
        ("backoffBaseSeconds", plan.retry.base_seconds, "pause in seconds"),
        ("backoffMaxSeconds", plan.retry.max_seconds, "pause in seconds"),
    )
    for key, number, what in numbers:
        yield from within((*hint, key), number, 0, bounds.INT32, what)
    if plan.retry.max_seconds < plan.retry.base_seconds:
        message = f"'{plan.retry.max_seconds}' is below backoffBaseSeconds, {plan.retry.base_seconds}; write as much"
        yield (*hint, "backoffMaxSeconds"), message


def _updates(plan: ProvisioningConfigPlan) -> Iterator[Fault]:
    hint: Path = ("podSetUpdates", "nodeSelector")
    keys = [update.key for update in plan.selector_updates]
    yield from too_many(hint, len(keys), bounds.SELECTOR_UPDATES, "labels to select by", "name fewer")
    yield from twice(hint, keys, "label")


def _update_words(plan: ProvisioningConfigPlan) -> Iterator[Fault]:
    for index, update in enumerate(plan.selector_updates):
        hint: Path = ("podSetUpdates", "nodeSelector", index)
        if len(update.key) > bounds.SELECTOR_KEY:
            yield (*hint, "key"), f"'{shown(update.key)}' is longer than {bounds.SELECTOR_KEY} characters"
        else:
            yield from label_key((*hint, "key"), update.key, "node label")
        if not 1 <= len(update.detail) <= bounds.SELECTOR_DETAIL:
            message = f"'{shown(update.detail)}' is no detail of a class: 1 to {bounds.SELECTOR_DETAIL} characters"
            yield (*hint, "valueFromProvisioningClassDetail"), message


PROVISIONING_CONFIGS: tuple[Rule[ProvisioningConfigPlan], ...] = (
    Rule("bad-name", "Kubernetes: names of custom resources", _provisioning_name),
    Rule("bad-provisioning-class", "CRD ProvisioningRequestConfig: provisioningClassName pattern", _class),
    Rule("bad-class-parameters", "CRD ProvisioningRequestConfig: parameters limits", _class_parameters),
    Rule("unknown-class-parameter", "GKE docs: DWS", _queued_parameters, "warning"),
    Rule("bad-run-duration", "GKE docs: DWS", _run_duration),
    Rule("bad-managed-resources", "CRD ProvisioningRequestConfig: managedResources maxItems, set", _managed),
    Rule("bad-merge-policy", "CRD ProvisioningRequestConfig: podSetMergePolicy enum", _merge),
    Rule("bad-retry", "CRD ProvisioningRequestConfig: retryStrategy int32; below zero has no meaning", _retry),
    Rule("bad-selector-updates", "CRD ProvisioningRequestConfig: nodeSelector maxItems, map key", _updates),
    Rule("bad-selector-update", "CRD ProvisioningRequestConfig: nodeSelector lengths, pattern", _update_words),
)


# --- MultiKueue -------------------------------------------------------------------------------------------------------


def _clusters(plan: MultiKueueConfigPlan) -> Iterator[Fault]:
    hint: Path = ("clusters",)
    if not plan.clusters:
        yield hint, "'[]' names no cluster; Kueue wants one at least"
    yield from too_many(hint, len(plan.clusters), bounds.MULTIKUEUE_CLUSTERS, "clusters", "name fewer")
    yield from twice(hint, plan.clusters, "cluster")
    for index, name in enumerate(plan.clusters):
        yield from too_many((*hint, index), len(name), bounds.MULTIKUEUE_NAME, "characters", "name it otherwise")


def _quota_management(plan: MultiKueueConfigPlan) -> Iterator[Fault]:
    yield from one_of(("quotaManagement",), plan.quota_management, bounds.QUOTA_MANAGEMENT)


MULTIKUEUE_CONFIGS: tuple[Rule[MultiKueueConfigPlan], ...] = (
    Rule("bad-clusters", "CRD MultiKueueConfig: clusters limits; CEL: unique", _clusters),
    Rule("bad-quota-management", "CRD MultiKueueConfig: quotaManagement enum", _quota_management),
)


def _source(plan: MultiKueueClusterPlan) -> Iterator[Fault]:
    if (plan.kubeconfig is None) == (plan.profile is None):
        yield ("clusterSource",), f"'{plan.name}' is reached either by a kubeconfig or by a cluster profile; name one"


def _source_words(plan: MultiKueueClusterPlan) -> Iterator[Fault]:
    for key, text in (("kubeConfig", plan.kubeconfig), ("clusterProfileRef", plan.profile)):
        if text is not None and not 1 <= len(text) <= bounds.MULTIKUEUE_NAME:
            yield ("clusterSource", key), f"'{shown(text)}' has to have 1 to {bounds.MULTIKUEUE_NAME} characters"
    if plan.kubeconfig is not None:
        yield from one_of(("clusterSource", "kubeConfig"), plan.kubeconfig_in, bounds.KUBECONFIG_IN)


MULTIKUEUE_MEMBERS: tuple[Rule[MultiKueueClusterPlan], ...] = (
    Rule("bad-cluster-source", "CEL MultiKueueCluster.clusterSource", _source),
    Rule("bad-cluster-source-words", "CRD MultiKueueCluster: lengths, locationType enum", _source_words),
)
