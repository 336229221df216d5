"""Rules of cluster queues, local queues, cohorts and priorities; those of quotas are in `quotas`."""

from __future__ import annotations

from collections.abc import Iterator

from berth.diagnostics import FieldPath, did_you_mean, format_value
from berth.names import is_dns_label, is_label_value
from berth.plan.kueue import ClusterQueuePlan, CohortPlan, LocalQueuePlan, PriorityPlan
from berth.rules.kueue import bounds, quotas
from berth.rules.kueue.rule import (
    FieldError,
    Rule,
    check_enum,
    check_max_items,
    check_range,
    check_subdomain,
    check_unique,
)


def _name(plan: ClusterQueuePlan) -> Iterator[FieldError]:
    yield from check_subdomain(("name",), plan.name, "a cluster queue")


def _cohort(plan: ClusterQueuePlan) -> Iterator[FieldError]:
    if plan.cohort is not None:
        yield from check_subdomain(("cohort",), plan.cohort, "a cohort")


def _namespaces(plan: ClusterQueuePlan) -> Iterator[FieldError]:
    for namespace in plan.namespaces or ():
        if not is_dns_label(namespace):
            message = f"'{format_value(namespace)}' is no namespace: 63 lower-case letters, digits and '-' at most"
            yield ("namespaces",), message


def _strategy(plan: ClusterQueuePlan) -> Iterator[FieldError]:
    yield from check_enum(("queueingStrategy",), plan.queueing_strategy, bounds.QUEUEING_STRATEGIES)


def _stop_policy(plan: ClusterQueuePlan) -> Iterator[FieldError]:
    yield from check_enum(("stopPolicy",), plan.stop_policy, bounds.STOP_POLICIES)


def _preemption(plan: ClusterQueuePlan) -> Iterator[FieldError]:
    policies = plan.preemption
    path: FieldPath = ("preemption",)
    yield from check_enum((*path, "withinClusterQueue"), policies.within_cluster_queue, bounds.WITHIN_CLUSTER_QUEUE)
    yield from check_enum((*path, "reclaimWithinCohort"), policies.reclaim_within_cohort, bounds.RECLAIM_WITHIN_COHORT)
    yield from check_enum((*path, "borrowWithinCohort"), policies.borrow_within_cohort, bounds.BORROW_WITHIN_COHORT)


def _priority_threshold(plan: ClusterQueuePlan) -> Iterator[FieldError]:
    if (value := plan.preemption.max_priority_threshold) is not None:
        path: FieldPath = ("preemption", "borrowWithinCohort", "maxPriorityThreshold")
        yield from check_range(path, value, -bounds.INT32 - 1, bounds.INT32, "priority")


def preempts_to_borrow(plan: ClusterQueuePlan) -> bool:
    """Whether a queue pushes out others' work to borrow."""
    return plan.preemption.borrow_within_cohort not in (None, "Never")


def _borrow_needs_reclaim(plan: ClusterQueuePlan) -> Iterator[FieldError]:
    if preempts_to_borrow(plan) and plan.preemption.reclaim_within_cohort == "Never":
        policy = plan.preemption.borrow_within_cohort
        message = f"'{policy}' needs reclaimWithinCohort other than Never: LowerPriority or Any"
        yield ("preemption", "borrowWithinCohort"), message


def _fungibility(plan: ClusterQueuePlan) -> Iterator[FieldError]:
    path: FieldPath = ("flavorFungibility",)
    yield from check_enum((*path, "whenCanBorrow"), plan.when_can_borrow, bounds.FUNGIBILITY_POLICIES)
    yield from check_enum((*path, "whenCanPreempt"), plan.when_can_preempt, bounds.FUNGIBILITY_POLICIES)
    yield from check_enum((*path, "preference"), plan.preference, bounds.PREFERENCES)


def _preference_needs_try_next(plan: ClusterQueuePlan) -> Iterator[FieldError]:
    """Kueue's own values count: whenCanBorrow is MayStopSearch unless written, whenCanPreempt is TryNextFlavor."""
    borrow, preempt = plan.when_can_borrow or "MayStopSearch", plan.when_can_preempt or bounds.TRY_NEXT
    if plan.preference is not None and not borrow == preempt == bounds.TRY_NEXT:
        message = (
            f"'{plan.preference}' chooses among all flavors, so whenCanBorrow ({borrow}) and whenCanPreempt "
            f"({preempt}) must both be {bounds.TRY_NEXT}"
        )
        yield ("flavorFungibility", "preference"), message


def _weight(plan: ClusterQueuePlan) -> Iterator[FieldError]:
    yield from quotas.check_weight(plan.fair_share_weight)


def _admission_mode(plan: ClusterQueuePlan) -> Iterator[FieldError]:
    yield from check_enum(("admissionScope", "admissionMode"), plan.admission_mode, bounds.ADMISSION_MODES)


# --- admission checks of a queue --------------------------------------------------------------------------------------


def _check_count(plan: ClusterQueuePlan) -> Iterator[FieldError]:
    path: FieldPath = ("admissionChecks",)
    yield from check_max_items(path, len(plan.admission_checks), bounds.QUEUE_CHECKS, "admission checks", "name fewer")


def _check_names(plan: ClusterQueuePlan) -> Iterator[FieldError]:
    for index, check in enumerate(plan.admission_checks):
        if not 1 <= len(check.name) <= bounds.CHECK_NAME_LENGTH:
            message = (
                f"'{format_value(check.name)}' is no check's name; it has 1 to {bounds.CHECK_NAME_LENGTH} characters"
            )
            yield ("admissionChecks", index), message


def _unique_checks(plan: ClusterQueuePlan) -> Iterator[FieldError]:
    yield from check_unique(("admissionChecks",), [check.name for check in plan.admission_checks], "admission check")


def _check_flavors(plan: ClusterQueuePlan) -> Iterator[FieldError]:
    for index, check in enumerate(plan.admission_checks):
        path: FieldPath = ("admissionChecks", index, "onFlavors")
        count, remedy = len(check.on_flavors), "name none, which means all"
        yield from check_max_items(path, count, bounds.CHECK_FLAVORS, "flavors of one check", remedy)
        yield from check_unique(path, check.on_flavors, "flavor")


def _checked_flavors_known(plan: ClusterQueuePlan) -> Iterator[FieldError]:
    known = [entry.flavor for entry in plan.flavors]
    for index, check in enumerate(plan.admission_checks):
        for flavor_index, flavor in enumerate(check.on_flavors):
            if flavor not in known:
                path: FieldPath = ("admissionChecks", index, "onFlavors", flavor_index)
                suggestion = did_you_mean(flavor, known) or f"; it has {', '.join(known)}"
                yield path, f"flavor '{format_value(flavor)}' is none of this queue's{suggestion}"


CLUSTER_QUEUES: tuple[Rule[ClusterQueuePlan], ...] = (
    Rule("bad-name", "Kubernetes: names of custom resources", _name),
    Rule("bad-cohort-reference", "CRD ClusterQueue: cohortName pattern", _cohort),
    Rule("bad-namespace", "webhook ValidateLabelSelector; Kubernetes: names of namespaces", _namespaces),
    Rule("bad-strategy", "CRD ClusterQueue: queueingStrategy enum", _strategy),
    Rule("bad-stop-policy", "CRD ClusterQueue: stopPolicy enum", _stop_policy),
    Rule("bad-preemption", "CRD ClusterQueue: preemption enums", _preemption),
    Rule("bad-threshold", "CRD ClusterQueue: maxPriorityThreshold int32", _priority_threshold),
    Rule("borrow-without-reclaim", "CEL ClusterQueue.preemption; webhook validatePreemption", _borrow_needs_reclaim),
    Rule("bad-fungibility", "CRD ClusterQueue: flavorFungibility enums", _fungibility),
    Rule(
        "preference-of-few",
        "CEL ClusterQueue.flavorFungibility; webhook validateFlavorFungibility",
        _preference_needs_try_next,
    ),
    Rule("bad-weight", "webhook validateFairSharing", _weight),
    Rule("bad-admission-mode", "CRD ClusterQueue: admissionMode enum", _admission_mode),
    Rule("too-many-checks", "CRD ClusterQueue: admissionChecks maxItems", _check_count),
    Rule("bad-check-reference", "CRD ClusterQueue: admissionChecks[].name length", _check_names),
    Rule("check-twice", "CRD ClusterQueue: admissionChecks list map key", _unique_checks),
    Rule("bad-check-flavors", "CRD ClusterQueue: onFlavors maxItems, set", _check_flavors),
    Rule("check-on-foreign-flavor", "webhook validateAdmissionCheckOnFlavors", _checked_flavors_known),
)


# --- local queues -----------------------------------------------------------------------------------------------------


def _local_name(plan: LocalQueuePlan) -> Iterator[FieldError]:
    if not (is_label_value(plan.name) and plan.name):
        yield (
            ("name",),
            f"'{format_value(plan.name)}' is no name for a local queue: jobs carry it as a label, 63 characters",
        )
    else:
        yield from check_subdomain(("name",), plan.name, "a local queue")


def _local_target(plan: LocalQueuePlan) -> Iterator[FieldError]:
    yield from check_subdomain(("clusterQueue",), plan.cluster_queue, "a cluster queue")


def _local_namespace(plan: LocalQueuePlan) -> Iterator[FieldError]:
    if not is_dns_label(plan.namespace):
        message = f"'{format_value(plan.namespace)}' is no namespace: 63 lower-case letters, digits and '-' at most"
        yield ("namespace",), message


def _local_stop_policy(plan: LocalQueuePlan) -> Iterator[FieldError]:
    yield from check_enum(("stopPolicy",), plan.stop_policy, bounds.STOP_POLICIES)


def _local_weight(plan: LocalQueuePlan) -> Iterator[FieldError]:
    yield from quotas.check_weight(plan.fair_share_weight)


LOCAL_QUEUES: tuple[Rule[LocalQueuePlan], ...] = (
    Rule("bad-name", "Kubernetes: names; Kueue: label kueue.x-k8s.io/queue-name", _local_name),
    Rule("bad-queue-reference", "CRD LocalQueue: clusterQueue pattern", _local_target),
    Rule("bad-namespace", "Kubernetes: names of namespaces", _local_namespace),
    Rule("bad-stop-policy", "CRD LocalQueue: stopPolicy enum", _local_stop_policy),
    Rule("bad-weight", "webhook validateFairSharing, which Kueue has for cluster queues and cohorts", _local_weight),
)


# --- cohorts and priorities -------------------------------------------------------------------------------------------


def _cohort_name(plan: CohortPlan) -> Iterator[FieldError]:
    yield from check_subdomain(("name",), plan.name, "a cohort")


def _parent(plan: CohortPlan) -> Iterator[FieldError]:
    if plan.parent is not None:
        yield from check_subdomain(("parent",), plan.parent, "a cohort")


def _cohort_weight(plan: CohortPlan) -> Iterator[FieldError]:
    yield from quotas.check_weight(plan.fair_share_weight)


def _root_weight(plan: CohortPlan) -> Iterator[FieldError]:
    if plan.parent is None and plan.fair_share_weight is not None:
        message = (
            f"'{plan.fair_share_weight:g}' has no effect: there is nobody beside a root to share with; leave it out"
        )
        yield ("fairShareWeight",), message


COHORTS: tuple[Rule[CohortPlan], ...] = (
    Rule("bad-name", "Kubernetes: names of custom resources", _cohort_name),
    Rule("bad-parent-reference", "CRD Cohort: parentName pattern", _parent),
    Rule("bad-weight", "webhook validateFairSharing", _cohort_weight),
    Rule("weight-of-root", "Kueue docs: fair sharing of cohorts", _root_weight, "warning"),
)


def _priority_name(plan: PriorityPlan) -> Iterator[FieldError]:
    if not (is_label_value(plan.name) and plan.name):
        yield (
            ("name",),
            f"'{format_value(plan.name)}' is no name for a priority: jobs carry it as a label, 63 characters",
        )
    else:
        yield from check_subdomain(("name",), plan.name, "a priority")
    if plan.name.startswith("system-"):
        yield ("name",), f"'{format_value(plan.name)}': Kubernetes keeps names that start with system- for itself"


def _priority_value(plan: PriorityPlan) -> Iterator[FieldError]:
    yield from check_range(("value",), plan.value, -bounds.INT32 - 1, bounds.MAX_PRIORITY, "priority")


def _description(plan: PriorityPlan) -> Iterator[FieldError]:
    remedy = "write less"
    yield from check_max_items(("description",), len(plan.description), bounds.DESCRIPTION_LENGTH, "characters", remedy)


PRIORITIES: tuple[Rule[PriorityPlan], ...] = (
    Rule("bad-name", "Kubernetes: PriorityClass; Kueue: label kueue.x-k8s.io/priority-class", _priority_name),
    Rule("bad-priority", "CRD WorkloadPriorityClass: value int32; Kubernetes: ValidatePriorityClass", _priority_value),
    Rule("description-too-long", "CRD WorkloadPriorityClass: description maxLength", _description),
)
