"""Rules between objects of a fleet: settings that Kueue accepts silently but that have no effect."""

from __future__ import annotations

from collections.abc import Iterator

from berth.diagnostics import FieldPath, Severity, format_value
from berth.plan.fleet import FleetPlan
from berth.plan.kueue import USAGE_BASED, ClusterQueuePlan
from berth.rules.kueue.rule import FleetRule, ObjectRef

Findings = Iterator[tuple[ObjectRef, FieldPath, str]]


def _queue_ref(plan: ClusterQueuePlan) -> ObjectRef:
    return "cluster queue", plan.name


def _no_borrow_preemption(fleet: FleetPlan) -> Findings:
    if fleet.kueue is None or fleet.kueue.fair_sharing is None:
        return
    for queue in fleet.cluster_queues:
        if (policy := queue.preemption.borrow_within_cohort) not in (None, "Never"):
            message = (
                f"'{policy}' cannot be combined with fair sharing, where shares decide what is preempted; remove "
                "borrowWithinCohort"
            )
            yield _queue_ref(queue), ("preemption", "borrowWithinCohort"), message


def _weights_take_effect(fleet: FleetPlan) -> Findings:
    if fleet.kueue is not None and fleet.kueue.fair_sharing is None:
        weights = [(_queue_ref(queue), queue.fair_share_weight) for queue in fleet.cluster_queues]
        weights += [(("cohort", cohort.name), cohort.fair_share_weight) for cohort in fleet.cohorts if cohort.parent]
        for ref, weight in weights:
            if weight is not None:
                remedy = "write kueue.fairSharing, or remove fairShareWeight"
                message = f"'{weight:g}' has no effect without kueue.fairSharing; {remedy}"
                yield ref, ("fairShareWeight",), message
    for queue in fleet.cluster_queues:
        of_local_queues = (each.fair_share_weight for each in queue.local_queues)
        written = next((each for each in of_local_queues if each is not None), None)
        if written is not None and queue.admission_mode != USAGE_BASED:
            message = (
                f"'{written:g}' has no effect where local queues do not take turns by past use; write admissionScope: "
                f"{{admissionMode: {USAGE_BASED}}}, or remove localQueueWeights"
            )
            yield _queue_ref(queue), ("localQueueWeights",), message


def _usage_takes_effect(fleet: FleetPlan) -> Findings:
    """Kueue 0.19.2 clears past use at each sample where the half-life is 0, and charges nothing for an admission."""
    sharing = fleet.kueue.admission_fair_sharing if fleet.kueue is not None else None
    if fleet.kueue is None or (sharing is not None and sharing.half_life_seconds):
        return
    without = "without kueue.admissionFairSharing; write kueue.admissionFairSharing"
    if sharing is not None:
        without = "with usageHalfLifeTime: 0s, which keeps no past use; write a time such as usageHalfLifeTime: 12h"
    for queue in fleet.cluster_queues:
        if queue.admission_mode == USAGE_BASED:
            message = f"'{USAGE_BASED}' has no effect {without}, or remove admissionScope"
            yield _queue_ref(queue), ("admissionScope", "admissionMode"), message


def _memory_decides(fleet: FleetPlan) -> Findings:
    """Use is a sum of plain amounts: one byte of memory counts as much as one accelerator, unless weights differ."""
    sharing = fleet.kueue.admission_fair_sharing if fleet.kueue is not None else None
    if sharing is None or "memory" in sharing.resource_weights:
        return
    for queue in fleet.cluster_queues:
        others = sorted({*queue.covered_resources} - {"memory", "pods"}, key=lambda name: name == "cpu")
        if queue.admission_mode == USAGE_BASED and "memory" in queue.covered_resources and others:
            message = (
                f"'{USAGE_BASED}' counts a byte of memory as much as one {others[0]}, so memory alone decides; write "
                "kueue.admissionFairSharing.resourceWeights: {memory: 0}"
            )
            yield _queue_ref(queue), ("admissionScope", "admissionMode"), message


def _topology_gate_on(fleet: FleetPlan) -> Findings:
    if fleet.kueue is not None and fleet.kueue.feature_gates.get("TopologyAwareScheduling") is False:
        for flavor in fleet.flavors:
            if flavor.topology is not None:
                message = (
                    f"'{format_value(flavor.topology)}' has no effect while the feature gate "
                    "TopologyAwareScheduling is off; "
                    "remove kueue.featureGates.TopologyAwareScheduling"
                )
                yield ("flavor", flavor.name), ("topology",), message


RULES: tuple[FleetRule[FleetPlan], ...] = (
    FleetRule("borrow-with-fair-sharing", "API: ClusterQueuePreemption.borrowWithinCohort", _no_borrow_preemption),
    FleetRule("weight-without-fair-sharing", "API: ClusterQueue.fairSharing", _weights_take_effect, Severity.WARNING),
    FleetRule("mode-without-admission-fair-sharing", "API: admissionScope", _usage_takes_effect, Severity.WARNING),
    FleetRule("memory-decides", "Kueue CalculateUsage", _memory_decides, Severity.WARNING),
    FleetRule("topology-switched-off", "Kueue's use of features.Enabled", _topology_gate_on),
)
