"""Rules of admission checks and provisioning configs that a stack file can break; the planner guarantees the others."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from berth.diagnostics import FieldPath, format_value
from berth.names import is_dns_label
from berth.plan.admission_checks import (
    AdmissionCheckPlan,
    ProvisioningConfigPlan,
)
from berth.rules.kueue import bounds
from berth.rules.kueue.rule import (
    FieldError,
    Rule,
    check_label_key,
    check_max_items,
    check_range,
    check_subdomain,
    check_unique,
)


def _name_of(noun: str) -> Callable[[AdmissionCheckPlan | ProvisioningConfigPlan], Iterator[FieldError]]:
    return lambda plan: check_subdomain(("name",), plan.name, noun)


def _parameters_name(plan: AdmissionCheckPlan) -> Iterator[FieldError]:
    if plan.parameters and not is_dns_label(plan.parameters.name):
        message = (
            f"'{format_value(plan.parameters.name)}' is not a name that an admission check can refer to: at most "
            f"{bounds.PARAMETERS_NAME} "
            "lower-case letters, digits and '-'; write such a name"
        )
        yield ("parameters", "name"), message


ADMISSION_CHECKS: tuple[Rule[AdmissionCheckPlan], ...] = (
    Rule("bad-name", "Kubernetes: names of custom resources", _name_of("an admission check")),
    Rule("bad-parameters-name", "CRD AdmissionCheck: parameters.name pattern, maxLength", _parameters_name),
)


def _managed_resources(plan: ProvisioningConfigPlan) -> Iterator[FieldError]:
    path: FieldPath = ("managedResources",)
    count = len(plan.managed_resources)
    yield from check_max_items(path, count, bounds.MANAGED_RESOURCES, "managed resources")
    yield from check_unique(path, plan.managed_resources, "managed resource")
    for index, resource in enumerate(plan.managed_resources):
        yield from check_label_key((*path, index), resource, "resource name")


def _retry(plan: ProvisioningConfigPlan) -> Iterator[FieldError]:
    path: FieldPath = ("retryStrategy",)
    numbers = (
        ("backoffLimitCount", plan.retry.limit_count),
        ("backoffBaseSeconds", plan.retry.base_seconds),
        ("backoffMaxSeconds", plan.retry.max_seconds),
    )
    for key, number in numbers:
        yield from check_range((*path, key), number, 0, bounds.INT32)
    if plan.retry.max_seconds < plan.retry.base_seconds:
        message = (
            f"'{plan.retry.max_seconds}' is below backoffBaseSeconds, {plan.retry.base_seconds}; write at least "
            f"{plan.retry.base_seconds}"
        )
        yield (*path, "backoffMaxSeconds"), message


PROVISIONING_CONFIGS: tuple[Rule[ProvisioningConfigPlan], ...] = (
    Rule("bad-name", "Kubernetes: names of custom resources", _name_of("a provisioning config")),
    Rule("bad-managed-resources", "CRD ProvisioningRequestConfig: managedResources maxItems, set", _managed_resources),
    Rule("bad-retry", "CRD ProvisioningRequestConfig: retryStrategy int32; below zero has no meaning", _retry),
)
