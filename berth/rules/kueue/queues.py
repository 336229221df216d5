"""Rules of cluster queues, local queues, cohorts and priorities; those of quotas are in `quotas`."""

from __future__ import annotations

from collections.abc import Iterator

from berth.diagnostics import Path, near_miss, shown
from berth.names import is_dns_label, is_label_value
from berth.plan.kueue import ClusterQueuePlan, CohortPlan, LocalQueuePlan, PriorityPlan
from berth.rules.kueue import bounds, quotas
from berth.rules.kueue.rule import Fault, Rule, one_of, subdomain, too_many, twice, within


def _name(plan: ClusterQueuePlan) -> Iterator[Fault]:
    yield from subdomain(("name",), plan.name, "a cluster queue")


def _cohort(plan: ClusterQueuePlan) -> Iterator[Fault]:
    if plan.cohort is not None:
        yield from subdomain(("cohort",), plan.cohort, "a cohort")


def _namespaces(plan: ClusterQueuePlan) -> Iterator[Fault]:
    for namespace in plan.namespaces or ():
        if not is_dns_label(namespace):
            message = f"'{shown(namespace)}' is no namespace: 63 lower-case letters, digits and '-' at most"
            yield ("namespaces",), message


def _strategy(plan: ClusterQueuePlan) -> Iterator[Fault]:
    yield from one_of(("queueingStrategy",), plan.queueing_strategy, bounds.STRATEGIES)


def _stop(plan: ClusterQueuePlan) -> Iterator[Fault]:
    yield from one_of(("stopPolicy",), plan.stop_policy, bounds.STOP_POLICIES)


def _preemption(plan: ClusterQueuePlan) -> Iterator[Fault]:
    policies = plan.preemption
    hint: Path = ("preemption",)
    yield from one_of((*hint, "withinClusterQueue"), policies.within_cluster_queue, bounds.WITHIN_CLUSTER_QUEUE)
    yield from one_of((*hint, "reclaimWithinCohort"), policies.reclaim_within_cohort, bounds.RECLAIM_WITHIN_COHORT)
    yield from one_of((*hint, "borrowWithinCohort"), policies.borrow_within_cohort, bounds.BORROW_WITHIN_COHORT)


def _threshold(plan: ClusterQueuePlan) -> Iterator[Fault]:
    if (value := plan.preemption.max_priority_threshold) is not None:
        hint: Path = ("preemption", "borrowWithinCohort", "maxPriorityThreshold")
        yield from within(hint, value, -bounds.INT32 - 1, bounds.INT32, "priority")


def preempts_to_borrow(plan: ClusterQueuePlan) -> bool:
    """Whether a queue pushes out others' work to borrow."""
    return plan.preemption.borrow_within_cohort not in (None, "Never")


def _borrow_needs_reclaim(plan: ClusterQueuePlan) -> Iterator[Fault]:
    if preempts_to_borrow(plan) and plan.preemption.reclaim_within_cohort == "Never":
        written = plan.preemption.borrow_within_cohort
        message = f"'{written}' needs reclaimWithinCohort other than Never: LowerPriority or Any"
        yield ("preemption", "borrowWithinCohort"), message


def _fungibility(plan: ClusterQueuePlan) -> Iterator[Fault]:
    hint: Path = ("flavorFungibility",)
    yield from one_of((*hint, "whenCanBorrow"), plan.when_can_borrow, bounds.FUNGIBILITY)
    yield from one_of((*hint, "whenCanPreempt"), plan.when_can_preempt, bounds.FUNGIBILITY)
    yield from one_of((*hint, "preference"), plan.preference, bounds.PREFERENCES)


def _preference(plan: ClusterQueuePlan) -> Iterator[Fault]:
    """Kueue's own values count: whenCanBorrow is MayStopSearch unless written, whenCanPreempt is TryNextFlavor."""
    borrow, preempt = plan.when_can_borrow or "MayStopSearch", plan.when_can_preempt or bounds.TRY_NEXT
    if plan.preference is not None and not borrow == preempt == bounds.TRY_NEXT:
        message = (
            f"'{plan.preference}' chooses among all flavors, so whenCanBorrow ({borrow}) and whenCanPreempt "
            f"({preempt}) must both be {bounds.TRY_NEXT}"
        )
        yield ("flavorFungibility", "preference"), message


def _weight(plan: ClusterQueuePlan) -> Iterator[Fault]:
    yield from quotas.weight(plan.fair_share_weight)


def _mode(plan: ClusterQueuePlan) -> Iterator[Fault]:
    yield from one_of(("admissionScope", "admissionMode"), plan.admission_mode, bounds.ADMISSION_MODES)


# --- admission checks of a queue --------------------------------------------------------------------------------------


def _checks(plan: ClusterQueuePlan) -> Iterator[Fault]:
    hint: Path = ("admissionChecks",)
    yield from too_many(hint, len(plan.admission_checks), bounds.QUEUE_CHECKS, "admission checks", "name fewer")


def _check_names(plan: ClusterQueuePlan) -> Iterator[Fault]:
    for index, check in enumerate(plan.admission_checks):
        if not 1 <= len(check.name) <= bounds.CHECK_REFERENCE:
            message = f"'{shown(check.name)}' is no check's name; it has 1 to {bounds.CHECK_REFERENCE} characters"
            yield ("admissionChecks", index), message


def _check_once(plan: ClusterQueuePlan) -> Iterator[Fault]:
    yield from twice(("admissionChecks",), [check.name for check in plan.admission_checks], "admission check")


def _check_flavors(plan: ClusterQueuePlan) -> Iterator[Fault]:
    for index, check in enumerate(plan.admission_checks):
        hint: Path = ("admissionChecks", index, "onFlavors")
        count, remedy = len(check.on_flavors), "name none, which means all"
        yield from too_many(hint, count, bounds.CHECK_FLAVORS, "flavors of one check", remedy)
        yield from twice(hint, check.on_flavors, "flavor")


def _checked_flavors_known(plan: ClusterQueuePlan) -> Iterator[Fault]:
    known = [entry.flavor for entry in plan.flavors]
    for index, check in enumerate(plan.admission_checks):
        for place, flavor in enumerate(check.on_flavors):
            if flavor not in known:
                hint: Path = ("admissionChecks", index, "onFlavors", place)
                offer = near_miss(flavor, known) or f"; it has {', '.join(known)}"
                yield hint, f"flavor '{shown(flavor)}' is none of this queue's{offer}"


CLUSTER_QUEUES: tuple[Rule[ClusterQueuePlan], ...] = (
    Rule("bad-name", "Kubernetes: names of custom resources", _name),
    Rule("bad-cohort-reference", "CRD ClusterQueue: cohortName pattern", _cohort),
    Rule("bad-namespace", "webhook ValidateLabelSelector; Kubernetes: names of namespaces", _namespaces),
    Rule("bad-strategy", "CRD ClusterQueue: queueingStrategy enum", _strategy),
    Rule("bad-stop-policy", "CRD ClusterQueue: stopPolicy enum", _stop),
    Rule("bad-preemption", "CRD ClusterQueue: preemption enums", _preemption),
    Rule("bad-threshold", "CRD ClusterQueue: maxPriorityThreshold int32", _threshold),
    Rule("borrow-without-reclaim", "CEL ClusterQueue.preemption; webhook validatePreemption", _borrow_needs_reclaim),
    Rule("bad-fungibility", "CRD ClusterQueue: flavorFungibility enums", _fungibility),
    Rule("preference-of-few", "CEL ClusterQueue.flavorFungibility; webhook validateFlavorFungibility", _preference),
    Rule("bad-weight", "webhook validateFairSharing", _weight),
    Rule("bad-admission-mode", "CRD ClusterQueue: admissionMode enum", _mode),
    Rule("too-many-checks", "CRD ClusterQueue: admissionChecks maxItems", _checks),
    Rule("bad-check-reference", "CRD ClusterQueue: admissionChecks[].name length", _check_names),
    Rule("check-twice", "CRD ClusterQueue: admissionChecks list map key", _check_once),
    Rule("bad-check-flavors", "CRD ClusterQueue: onFlavors maxItems, set", _check_flavors),
    Rule("check-on-foreign-flavor", "webhook validateAdmissionCheckOnFlavors", _checked_flavors_known),
)


# --- local queues -----------------------------------------------------------------------------------------------------


def _local_name(plan: LocalQueuePlan) -> Iterator[Fault]:
    if not (is_label_value(plan.name) and plan.name):
        yield ("name",), f"'{shown(plan.name)}' is no name for a local queue: jobs carry it as a label, 63 characters"
    else:
        yield from subdomain(("name",), plan.name, "a local queue")


def _local_target(plan: LocalQueuePlan) -> Iterator[Fault]:
    yield from subdomain(("clusterQueue",), plan.cluster_queue, "a cluster queue")


def _local_namespace(plan: LocalQueuePlan) -> Iterator[Fault]:
    if not is_dns_label(plan.namespace):
        message = f"'{shown(plan.namespace)}' is no namespace: 63 lower-case letters, digits and '-' at most"
        yield ("namespace",), message


def _local_stop(plan: LocalQueuePlan) -> Iterator[Fault]:
    yield from one_of(("stopPolicy",), plan.stop_policy, bounds.STOP_POLICIES)


def _local_weight(plan: LocalQueuePlan) -> Iterator[Fault]:
    yield from quotas.weight(plan.fair_share_weight)


LOCAL_QUEUES: tuple[Rule[LocalQueuePlan], ...] = (
    Rule("bad-name", "Kubernetes: names; Kueue: label kueue.x-k8s.io/queue-name", _local_name),
    Rule("bad-queue-reference", "CRD LocalQueue: clusterQueue pattern", _local_target),
    Rule("bad-namespace", "Kubernetes: names of namespaces", _local_namespace),
    Rule("bad-stop-policy", "CRD LocalQueue: stopPolicy enum", _local_stop),
    Rule("bad-weight", "webhook validateFairSharing, which Kueue has for cluster queues and cohorts", _local_weight),
)


# --- cohorts and priorities -------------------------------------------------------------------------------------------


def _cohort_name(plan: CohortPlan) -> Iterator[Fault]:
    yield from subdomain(("name",), plan.name, "a cohort")


def _parent(plan: CohortPlan) -> Iterator[Fault]:
    if plan.parent is not None:
        yield from subdomain(("parent",), plan.parent, "a cohort")


def _cohort_weight(plan: CohortPlan) -> Iterator[Fault]:
    yield from quotas.weight(plan.fair_share_weight)


def _root_weight(plan: CohortPlan) -> Iterator[Fault]:
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


def _priority_name(plan: PriorityPlan) -> Iterator[Fault]:
    if not (is_label_value(plan.name) and plan.name):
        yield ("name",), f"'{shown(plan.name)}' is no name for a priority: jobs carry it as a label, 63 characters"
    else:
        yield from subdomain(("name",), plan.name, "a priority")
    if plan.name.startswith("system-"):
        yield ("name",), f"'{shown(plan.name)}': Kubernetes keeps names that start with system- for itself"


def _priority_value(plan: PriorityPlan) -> Iterator[Fault]:
    yield from within(("value",), plan.value, -bounds.INT32 - 1, bounds.HIGHEST_PRIORITY, "priority")


def _description(plan: PriorityPlan) -> Iterator[Fault]:
    remedy = "write less"
    yield from too_many(("description",), len(plan.description), bounds.DESCRIPTION, "characters", remedy)


PRIORITIES: tuple[Rule[PriorityPlan], ...] = (
    Rule("bad-name", "Kubernetes: PriorityClass; Kueue: label kueue.x-k8s.io/priority-class", _priority_name),
    Rule("bad-priority", "CRD WorkloadPriorityClass: value int32; Kubernetes: ValidatePriorityClass", _priority_value),
    Rule("description-too-long", "CRD WorkloadPriorityClass: description maxLength", _description),
)
