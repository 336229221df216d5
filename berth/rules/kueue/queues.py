"""Rules of queues, cohorts, admission checks and provisioning configs that a stack file can break.

The planner guarantees the others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction

from berth.diagnostics import FieldPath, Severity, format_value
from berth.names import is_dns_label
from berth.plan.admission_checks import (
    AdmissionCheckPlan,
    ProvisioningConfigPlan,
)
from berth.plan.kueue import ClusterQueuePlan, CohortPlan
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


def _preference_needs_try_next(plan: ClusterQueuePlan) -> Iterator[FieldError]:
    """A flavor preference needs both policies at TryNextFlavor; Kueue's default of whenCanBorrow is MayStopSearch."""
    borrow, preempt = plan.when_can_borrow or "MayStopSearch", plan.when_can_preempt or bounds.TRY_NEXT
    if plan.preference is not None and not borrow == preempt == bounds.TRY_NEXT:
        message = (
            f"'{plan.preference}' chooses among all flavors; write {bounds.TRY_NEXT} for both whenCanBorrow (now "
            f"{borrow}) "
            f"and whenCanPreempt (now {preempt})"
        )
        yield ("flavorFungibility", "preference"), message


def _check_weight(plan: ClusterQueuePlan | CohortPlan) -> Iterator[FieldError]:
    yield from _weight_errors(("fairShareWeight",), plan.fair_share_weight)


def _check_queue_weights(plan: ClusterQueuePlan) -> Iterator[FieldError]:
    """A weight may be that of all local queues of a team, so an equal one is reported once."""
    yield from _check_weight(plan)
    weights = dict.fromkeys(each.fair_share_weight for each in plan.local_queues)
    for value in weights:
        yield from _weight_errors(("localQueueWeights",), value)


def _weight_errors(path: FieldPath, value: float | None) -> Iterator[FieldError]:
    """A fair-share weight is 0, or a number above 0.000000001 with at most nine decimals."""
    if value is None:
        return
    if 0 < value <= bounds.MIN_WEIGHT:
        yield path, f"'{value:g}' is not a weight; write 0 (always last) or a number above 0.000000001"
    elif (Fraction(str(value)) * 10**9).denominator != 1:
        yield path, f"'{value!r}' has more decimals than Kubernetes keeps; write at most 9 decimals"


def _root_weight(plan: CohortPlan) -> Iterator[FieldError]:
    if plan.parent is None and plan.fair_share_weight is not None:
        message = (
            f"'{plan.fair_share_weight:g}' has no effect on a root cohort, which shares with no other cohort; "
            "remove fairShareWeight"
        )
        yield ("fairShareWeight",), message


CLUSTER_QUEUES: tuple[Rule[ClusterQueuePlan], ...] = (
    Rule(
        "preference-of-few",
        "CEL ClusterQueue.flavorFungibility; webhook validateFlavorFungibility",
        _preference_needs_try_next,
    ),
    Rule("bad-weight", "webhook validateFairSharing; API: LocalQueue.fairSharing", _check_queue_weights),
)

COHORTS: tuple[Rule[CohortPlan], ...] = (
    Rule("bad-weight", "webhook validateFairSharing", _check_weight),
    Rule("weight-of-root", "Kueue docs: fair sharing of cohorts", _root_weight, Severity.WARNING),
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
