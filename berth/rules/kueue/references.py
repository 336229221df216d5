"""Rules between things of a fleet: what is named exists, and what is written takes effect.

Kueue's API server takes all of this; a queue is then inactive, or a setting silently without effect.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from berth.diagnostics import FieldPath, did_you_mean, format_value
from berth.plan.admission_checks import MULTIKUEUE, PROVISIONING, QUEUED_CLASS, ProvisioningConfigPlan
from berth.plan.fleet import FleetPlan
from berth.plan.kueue import ClusterQueuePlan, QueueCheckPlan
from berth.rules.kueue import bounds, gates, quotas
from berth.rules.kueue.queues import preempts_to_borrow
from berth.rules.kueue.rule import FleetRule, ObjectRef

Findings = Iterator[tuple[ObjectRef, FieldPath, str]]


def _queue_ref(plan: ClusterQueuePlan) -> ObjectRef:
    return "cluster queue", plan.name


# --- what is named exists ---------------------------------------------------------------------------------------------


def _flavors_exist(fleet: FleetPlan) -> Findings:
    known = {flavor.name for flavor in fleet.flavors}
    for queue in fleet.cluster_queues:
        for index, entry in enumerate(queue.flavors):
            if entry.flavor not in known:
                yield _queue_ref(queue), ("flavors", index), _unknown_message("flavor", entry.flavor, known)


def _cohort_flavors_exist(fleet: FleetPlan) -> Findings:
    known = {flavor.name for flavor in fleet.flavors}
    for cohort in fleet.cohorts:
        for path, name in quotas.flavor_paths(quotas.cohort_groups(cohort)):
            if name not in known:
                message = f"no flavor '{format_value(name)}', so nobody can use this{did_you_mean(name, known)}"
                yield ("cohort", cohort.name), path, message


def _topologies_exist(fleet: FleetPlan) -> Findings:
    known = {topology.name for topology in fleet.topologies}
    for flavor in fleet.flavors:
        if flavor.topology is not None and flavor.topology not in known:
            yield ("flavor", flavor.name), ("topology",), _unknown_message("topology", flavor.topology, known)


def _checks_exist(fleet: FleetPlan) -> Findings:
    known = {check.name for check in fleet.admission_checks}
    for queue in fleet.cluster_queues:
        for index, check in enumerate(queue.admission_checks):
            if check.name not in known:
                yield (
                    _queue_ref(queue),
                    ("admissionChecks", index),
                    _unknown_message("admission check", check.name, known),
                )


def _configs_exist(fleet: FleetPlan) -> Findings:
    known = {config.name for config in fleet.provisioning_configs}
    for check in fleet.admission_checks:
        if check.controller == PROVISIONING and check.parameters and check.parameters.name not in known:
            message = _unknown_message("provisioning config", check.parameters.name, known)
            yield ("admission check", check.name), ("parameters", "name"), message


def _queues_exist(fleet: FleetPlan) -> Findings:
    known = {queue.name for queue in fleet.cluster_queues}
    for queue in fleet.cluster_queues:
        for local_queue in queue.local_queues:
            if local_queue.cluster_queue not in known:
                ref = ("local queue", f"{local_queue.namespace}/{local_queue.name}")
                yield ref, ("clusterQueue",), _unknown_message("cluster queue", local_queue.cluster_queue, known)


def _unknown_message(noun: str, name: str, known: set[str]) -> str:
    return f"no {noun} '{format_value(name)}', so Kueue keeps what names it inactive{did_you_mean(name, sorted(known))}"


def _no_cohort_cycles(fleet: FleetPlan) -> Findings:
    parents = {cohort.name: cohort.parent for cohort in fleet.cohorts}
    for name in parents:
        ancestors = _ancestors(name, parents)
        if ancestors[-1] == name:
            cycle = " → ".join([name, *ancestors])
            message = (
                f"'{ancestors[0]}' leads back here ({cycle}), and no queue below would admit anything; break the circle"
            )
            yield ("cohort", name), ("parent",), message


def _ancestors(name: str, parents: Mapping[str, str | None]) -> list[str]:
    """The cohorts above one, up to the root or to the first that comes again."""
    ancestors: list[str] = []
    current = parents.get(name)
    while current is not None and current not in ancestors:
        ancestors.append(current)
        current = parents.get(current)
    return ancestors or [""]


# --- checks -----------------------------------------------------------------------------------------------------------


def _checks_of_controller(
    fleet: FleetPlan, queue: ClusterQueuePlan, controller: str
) -> list[tuple[int, QueueCheckPlan]]:
    """The checks of a queue that are a controller's, with their places."""
    if not queue.admission_checks:
        return []
    controller_checks = {check.name for check in fleet.admission_checks if check.controller == controller}
    return [(index, check) for index, check in enumerate(queue.admission_checks) if check.name in controller_checks]


def _single_multikueue_check(fleet: FleetPlan) -> Findings:
    for queue in fleet.cluster_queues:
        for index, check in _checks_of_controller(fleet, queue, MULTIKUEUE)[1:]:
            message = f"'{check.name}' is a second MultiKueue check; a queue has one, which names all clusters"
            yield _queue_ref(queue), ("admissionChecks", index), message


def _multikueue_on_all_flavors(fleet: FleetPlan) -> Findings:
    for queue in fleet.cluster_queues:
        for index, check in _checks_of_controller(fleet, queue, MULTIKUEUE):
            if check.on_flavors:
                message = f"'{check.name}' is MultiKueue's, which sends whole jobs away; leave onFlavors out"
                yield _queue_ref(queue), ("admissionChecks", index, "onFlavors"), message


def _multikueue_without_provisioning(fleet: FleetPlan) -> Findings:
    for queue in fleet.cluster_queues:
        provisioning_checks = _checks_of_controller(fleet, queue, PROVISIONING)
        for index, check in _checks_of_controller(fleet, queue, MULTIKUEUE):
            if provisioning_checks:
                message = f"'{check.name}' is MultiKueue's, and Kueue takes no provisioning check beside it; drop one"
                yield _queue_ref(queue), ("admissionChecks", index), message


def _check_on_every_flavor(fleet: FleetPlan) -> Findings:
    for queue in fleet.cluster_queues:
        for index, check in _checks_of_controller(fleet, queue, PROVISIONING):
            if not check.on_flavors and len(queue.flavors) > 1:
                names = ", ".join(entry.flavor for entry in queue.flavors)
                message = f"'{check.name}' asks for new nodes on every flavor ({names}); write onFlavors"
                yield _queue_ref(queue), ("admissionChecks", index), message


def _managed_resources(fleet: FleetPlan) -> Findings:
    configs = _configs_by_check(fleet)
    resource_of = {flavor.name: flavor.resource for flavor in fleet.flavors}
    for queue in fleet.cluster_queues:
        for index, check in _checks_of_controller(fleet, queue, PROVISIONING):
            config = configs.get(check.name)
            for flavor in check.on_flavors or [entry.flavor for entry in queue.flavors]:
                resource = resource_of.get(flavor)
                if config and config.managed_resources and resource and resource not in config.managed_resources:
                    message = f"'{check.name}' does not manage {resource}, so jobs on {flavor} pass it and get no nodes"
                    yield _queue_ref(queue), ("admissionChecks", index), message


def _queued_flavors_have_check(fleet: FleetPlan) -> Findings:
    """GKE makes nodes of a queued pool for a provisioning request alone, and only the check writes one."""
    queued, configs = _queued_flavors(fleet), _configs_by_check(fleet)
    for queue in fleet.cluster_queues:
        queued_checks = [check for check in queue.admission_checks if _is_queued(configs.get(check.name))]
        for index, entry in enumerate(queue.flavors):
            if entry.flavor in queued and not any(
                not c.on_flavors or entry.flavor in c.on_flavors for c in queued_checks
            ):
                message = (
                    f"'{entry.flavor}' has queued capacity, and no admission check of this queue asks for its nodes"
                )
                yield _queue_ref(queue), ("flavors", index), message


def _queued_checks_match_flavors(fleet: FleetPlan) -> Findings:
    """What is asked of GKE's queue comes from queued pools."""
    queued, configs = _queued_flavors(fleet), _configs_by_check(fleet)
    known = {pool.flavor for pool in fleet.pools}
    for queue in fleet.cluster_queues:
        for index, check in enumerate(queue.admission_checks):
            for flavor_index, flavor in enumerate(check.on_flavors if _is_queued(configs.get(check.name)) else ()):
                if flavor in known - queued:
                    message = f"'{flavor}' has no queued capacity, so '{check.name}' would wait for its nodes in vain"
                    yield _queue_ref(queue), ("admissionChecks", index, "onFlavors", flavor_index), message


def _queued_flavors(fleet: FleetPlan) -> set[str]:
    return {pool.flavor for pool in fleet.pools if pool.capacity == "queued"}


def _is_queued(config: ProvisioningConfigPlan | None) -> bool:
    return config is not None and config.class_name == QUEUED_CLASS


def _configs_by_check(fleet: FleetPlan) -> dict[str, ProvisioningConfigPlan]:
    """Admission check → its provisioning config."""
    configs = {config.name: config for config in fleet.provisioning_configs}
    config_names = {
        c.name: c.parameters.name for c in fleet.admission_checks if c.parameters and c.controller == PROVISIONING
    }
    return {check: configs[name] for check, name in config_names.items() if name in configs}


# --- what is written takes effect -------------------------------------------------------------------------------------


def _no_borrow_preemption(fleet: FleetPlan) -> Findings:
    if fleet.kueue is None or fleet.kueue.fair_sharing is None:
        return
    for queue in fleet.cluster_queues:
        if preempts_to_borrow(queue):
            policy = queue.preemption.borrow_within_cohort
            message = f"'{policy}' has no place in fair sharing, where shares decide who is pushed out; leave it out"
            yield _queue_ref(queue), ("preemption", "borrowWithinCohort"), message


def _weights_take_effect(fleet: FleetPlan) -> Findings:
    if fleet.kueue is None or fleet.kueue.fair_sharing is not None:
        return
    weights = [(_queue_ref(queue), queue.fair_share_weight) for queue in fleet.cluster_queues]
    weights += [(("cohort", cohort.name), cohort.fair_share_weight) for cohort in fleet.cohorts if cohort.parent]
    for ref, weight in weights:
        if weight is not None:
            yield ref, ("fairShareWeight",), f"'{weight:g}' has no effect: kueue.fairSharing is off"


def _usage_takes_effect(fleet: FleetPlan) -> Findings:
    if fleet.kueue is None or fleet.kueue.admission_fair_sharing is not None:
        return
    for queue in fleet.cluster_queues:
        if queue.admission_mode == bounds.USAGE_BASED:
            yield (
                _queue_ref(queue),
                ("admissionScope", "admissionMode"),
                f"'{bounds.USAGE_BASED}' has no effect: {_NO_ADMISSION_FAIR_SHARING}",
            )
        for local_queue in queue.local_queues:
            if local_queue.fair_share_weight is not None:
                ref = ("local queue", f"{local_queue.namespace}/{local_queue.name}")
                yield (
                    ref,
                    ("fairShareWeight",),
                    f"'{local_queue.fair_share_weight:g}' has no effect: {_NO_ADMISSION_FAIR_SHARING}",
                )


_NO_ADMISSION_FAIR_SHARING = "kueue.admissionFairSharing is not set up"


def _topology_gate_on(fleet: FleetPlan) -> Findings:
    if fleet.kueue is not None and not gates.is_on(fleet.kueue, "TopologyAwareScheduling"):
        for flavor in fleet.flavors:
            if flavor.topology is not None:
                message = (
                    f"'{format_value(flavor.topology)}' has no effect: the feature gate TopologyAwareScheduling is off"
                )
                yield ("flavor", flavor.name), ("topology",), message


def _cpu_and_memory_covered(fleet: FleetPlan) -> Findings:
    """Every pod asks for both, and what a queue does not cover it never admits."""
    if fleet.kueue is None or fleet.kueue.quota_check == bounds.IGNORE_UNDECLARED:
        return
    excluded = fleet.kueue.excluded_prefixes
    required = [resource for resource in ("cpu", "memory") if not resource.startswith(excluded)]
    for queue in fleet.cluster_queues:
        missing = [resource for resource in required if resource not in queue.covered_resources]
        if missing:
            remedy = f"cover it, or write quotaCheckStrategy: {bounds.IGNORE_UNDECLARED}"
            message = f"'{', '.join(missing)}' is not covered, and a job that asks for it is never admitted; {remedy}"
            yield _queue_ref(queue), ("flavors",), message


def _single_gate_source(fleet: FleetPlan) -> Findings:
    for chart in fleet.charts:
        manager = chart.values.get("controllerManager")
        listed = isinstance(manager, Mapping) and "featureGates" in manager
        if fleet.kueue is not None and fleet.kueue.feature_gates and listed and chart.name == "kueue":
            message = "'featureGates' stand in the chart's values and in the configuration; Kueue takes one place only"
            yield ("configuration", "kueue"), ("featureGates",), message


RULES: tuple[FleetRule[FleetPlan], ...] = (
    FleetRule("flavor-not-found", "controller: ClusterQueue FlavorNotFound", _flavors_exist),
    FleetRule("cohort-flavor-not-found", "a quota of a flavor that no node belongs to", _cohort_flavors_exist),
    FleetRule("topology-not-found", "controller: ClusterQueue TopologyNotFound", _topologies_exist),
    FleetRule("check-not-found", "controller: ClusterQueue AdmissionCheckNotFound", _checks_exist),
    FleetRule("config-not-found", "controller: AdmissionCheck BadParametersRef", _configs_exist),
    FleetRule("queue-not-found", "controller: LocalQueue ClusterQueueDoesNotExist", _queues_exist),
    FleetRule("cohort-cycle", "controller: cycles make every member inactive", _no_cohort_cycles),
    FleetRule("two-multikueue-checks", "controller: MultipleMultiKueueAdmissionChecks", _single_multikueue_check),
    FleetRule(
        "multikueue-on-flavors", "controller: MultiKueueAdmissionCheckAppliedPerFlavor", _multikueue_on_all_flavors
    ),
    FleetRule(
        "multikueue-and-provisioning", "controller: MultiKueueWithProvisioningRequest", _multikueue_without_provisioning
    ),
    FleetRule("check-on-every-flavor", "docs: admissionChecksStrategy", _check_on_every_flavor, "warning"),
    FleetRule("unmanaged-resource", "API: managedResources", _managed_resources),
    FleetRule("queued-without-check", "GKE docs: DWS", _queued_flavors_have_check),
    FleetRule("check-without-queued", "GKE docs: DWS", _queued_checks_match_flavors),
    FleetRule("borrow-with-fair-sharing", "API: ClusterQueuePreemption.borrowWithinCohort", _no_borrow_preemption),
    FleetRule("weight-without-fair-sharing", "API: ClusterQueue.fairSharing", _weights_take_effect, "warning"),
    FleetRule("mode-without-admission-fair-sharing", "API: admissionScope", _usage_takes_effect, "warning"),
    FleetRule("topology-switched-off", "Kueue's use of features.Enabled", _topology_gate_on),
    FleetRule("undeclared-resource", "BlockUndeclared (Kueue docs: Configuration)", _cpu_and_memory_covered, "warning"),
    FleetRule("gates-in-two-places", "config LoadAndValidateFeatureGates", _single_gate_source),
)
