"""Rules between things of a fleet: what is named exists, and what is written takes effect.

Kueue's API server takes all of this; a queue is then inactive, or a setting silently without effect.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from berth.diagnostics import Path, near_miss, shown
from berth.plan.admission_checks import MULTIKUEUE, PROVISIONING, QUEUED_CLASS, ProvisioningConfigPlan
from berth.plan.fleet import FleetPlan
from berth.plan.kueue import ClusterQueuePlan, QueueCheckPlan
from berth.rules.kueue import bounds, gates, quotas
from berth.rules.kueue.queues import preempts_to_borrow
from berth.rules.kueue.rule import FleetRule, Thing

Found = Iterator[tuple[Thing, Path, str]]


def _queue(plan: ClusterQueuePlan) -> Thing:
    return "cluster queue", plan.name


# --- what is named exists ---------------------------------------------------------------------------------------------


def _flavors_exist(fleet: FleetPlan) -> Found:
    known = {flavor.name for flavor in fleet.flavors}
    for queue in fleet.cluster_queues:
        for index, entry in enumerate(queue.flavors):
            if entry.flavor not in known:
                yield _queue(queue), ("flavors", index), _unknown("flavor", entry.flavor, known)


def _cohort_flavors_exist(fleet: FleetPlan) -> Found:
    known = {flavor.name for flavor in fleet.flavors}
    for cohort in fleet.cohorts:
        for hint, name in quotas.flavor_places(quotas.of_cohort(cohort)):
            if name not in known:
                message = f"no flavor '{shown(name)}', so nobody can use this{near_miss(name, known)}"
                yield ("cohort", cohort.name), hint, message


def _topologies_exist(fleet: FleetPlan) -> Found:
    known = {topology.name for topology in fleet.topologies}
    for flavor in fleet.flavors:
        if flavor.topology is not None and flavor.topology not in known:
            yield ("flavor", flavor.name), ("topology",), _unknown("topology", flavor.topology, known)


def _checks_exist(fleet: FleetPlan) -> Found:
    known = {check.name for check in fleet.admission_checks}
    for queue in fleet.cluster_queues:
        for index, check in enumerate(queue.admission_checks):
            if check.name not in known:
                yield _queue(queue), ("admissionChecks", index), _unknown("admission check", check.name, known)


def _configs_exist(fleet: FleetPlan) -> Found:
    known = {config.name for config in fleet.provisioning_configs}
    for check in fleet.admission_checks:
        if check.controller == PROVISIONING and check.parameters and check.parameters.name not in known:
            message = _unknown("provisioning config", check.parameters.name, known)
            yield ("admission check", check.name), ("parameters", "name"), message


def _queues_exist(fleet: FleetPlan) -> Found:
    known = {queue.name for queue in fleet.cluster_queues}
    for queue in fleet.cluster_queues:
        for door in queue.local_queues:
            if door.cluster_queue not in known:
                thing = ("local queue", f"{door.namespace}/{door.name}")
                yield thing, ("clusterQueue",), _unknown("cluster queue", door.cluster_queue, known)


def _unknown(what: str, name: str, known: set[str]) -> str:
    return f"no {what} '{shown(name)}', so Kueue keeps what names it inactive{near_miss(name, sorted(known))}"


def _cycles(fleet: FleetPlan) -> Found:
    parents = {cohort.name: cohort.parent for cohort in fleet.cohorts}
    for name in parents:
        chain = _above(name, parents)
        if chain[-1] == name:
            way = " → ".join([name, *chain])
            message = f"'{chain[0]}' leads back here ({way}), and no queue below would admit anything; break the circle"
            yield ("cohort", name), ("parent",), message


def _above(name: str, parents: Mapping[str, str | None]) -> list[str]:
    """The cohorts above one, up to the root or to the first that comes again."""
    chain: list[str] = []
    step = parents.get(name)
    while step is not None and step not in chain:
        chain.append(step)
        step = parents.get(step)
    return chain or [""]


# --- checks -----------------------------------------------------------------------------------------------------------


def _controllers(fleet: FleetPlan, queue: ClusterQueuePlan, controller: str) -> list[tuple[int, QueueCheckPlan]]:
    """The checks of a queue that are a controller's, with their places."""
    if not queue.admission_checks:
        return []
    ours = {check.name for check in fleet.admission_checks if check.controller == controller}
    return [(index, check) for index, check in enumerate(queue.admission_checks) if check.name in ours]


def _one_multikueue(fleet: FleetPlan) -> Found:
    for queue in fleet.cluster_queues:
        for index, check in _controllers(fleet, queue, MULTIKUEUE)[1:]:
            message = f"'{check.name}' is a second MultiKueue check; a queue has one, which names all clusters"
            yield _queue(queue), ("admissionChecks", index), message


def _multikueue_on_all(fleet: FleetPlan) -> Found:
    for queue in fleet.cluster_queues:
        for index, check in _controllers(fleet, queue, MULTIKUEUE):
            if check.on_flavors:
                message = f"'{check.name}' is MultiKueue's, which sends whole jobs away; leave onFlavors out"
                yield _queue(queue), ("admissionChecks", index, "onFlavors"), message


def _multikueue_alone(fleet: FleetPlan) -> Found:
    for queue in fleet.cluster_queues:
        provisioned = _controllers(fleet, queue, PROVISIONING)
        for index, check in _controllers(fleet, queue, MULTIKUEUE):
            if provisioned:
                message = f"'{check.name}' is MultiKueue's, and Kueue takes no provisioning check beside it; drop one"
                yield _queue(queue), ("admissionChecks", index), message


def _check_on_every_flavor(fleet: FleetPlan) -> Found:
    for queue in fleet.cluster_queues:
        for index, check in _controllers(fleet, queue, PROVISIONING):
            if not check.on_flavors and len(queue.flavors) > 1:
                names = ", ".join(entry.flavor for entry in queue.flavors)
                message = f"'{check.name}' asks for new nodes on every flavor ({names}); write onFlavors"
                yield _queue(queue), ("admissionChecks", index), message


def _managed_resources(fleet: FleetPlan) -> Found:
    configs = _config_of(fleet)
    resource_of = {flavor.name: flavor.resource for flavor in fleet.flavors}
    for queue in fleet.cluster_queues:
        for index, check in _controllers(fleet, queue, PROVISIONING):
            config = configs.get(check.name)
            for flavor in check.on_flavors or [entry.flavor for entry in queue.flavors]:
                resource = resource_of.get(flavor)
                if config and config.managed_resources and resource and resource not in config.managed_resources:
                    message = f"'{check.name}' does not manage {resource}, so jobs on {flavor} pass it and get no nodes"
                    yield _queue(queue), ("admissionChecks", index), message


def _queued_checked(fleet: FleetPlan) -> Found:
    """GKE makes nodes of a queued pool for a provisioning request alone, and only the check writes one."""
    queued, configs = _queued_flavors(fleet), _config_of(fleet)
    for queue in fleet.cluster_queues:
        asked = [check for check in queue.admission_checks if _is_queued(configs.get(check.name))]
        for index, entry in enumerate(queue.flavors):
            if entry.flavor in queued and not any(not c.on_flavors or entry.flavor in c.on_flavors for c in asked):
                message = (
                    f"'{entry.flavor}' has queued capacity, and no admission check of this queue asks for its nodes"
                )
                yield _queue(queue), ("flavors", index), message


def _checked_queued(fleet: FleetPlan) -> Found:
    """What is asked of GKE's queue comes from queued pools."""
    queued, configs = _queued_flavors(fleet), _config_of(fleet)
    known = {pool.flavor for pool in fleet.pools}
    for queue in fleet.cluster_queues:
        for index, check in enumerate(queue.admission_checks):
            for place, flavor in enumerate(check.on_flavors if _is_queued(configs.get(check.name)) else ()):
                if flavor in known - queued:
                    message = f"'{flavor}' has no queued capacity, so '{check.name}' would wait for its nodes in vain"
                    yield _queue(queue), ("admissionChecks", index, "onFlavors", place), message


def _queued_flavors(fleet: FleetPlan) -> set[str]:
    return {pool.flavor for pool in fleet.pools if pool.capacity == "queued"}


def _is_queued(config: ProvisioningConfigPlan | None) -> bool:
    return config is not None and config.class_name == QUEUED_CLASS


def _config_of(fleet: FleetPlan) -> dict[str, ProvisioningConfigPlan]:
    """Admission check → its provisioning config."""
    configs = {config.name: config for config in fleet.provisioning_configs}
    named = {c.name: c.parameters.name for c in fleet.admission_checks if c.parameters and c.controller == PROVISIONING}
    return {check: configs[name] for check, name in named.items() if name in configs}


# --- what is written takes effect -------------------------------------------------------------------------------------


def _borrow_with_fair_sharing(fleet: FleetPlan) -> Found:
    if fleet.kueue is None or fleet.kueue.fair_sharing is None:
        return
    for queue in fleet.cluster_queues:
        if preempts_to_borrow(queue):
            written = queue.preemption.borrow_within_cohort
            message = f"'{written}' has no place in fair sharing, where shares decide who is pushed out; leave it out"
            yield _queue(queue), ("preemption", "borrowWithinCohort"), message


def _weights_count(fleet: FleetPlan) -> Found:
    if fleet.kueue is None or fleet.kueue.fair_sharing is not None:
        return
    weighed = [(_queue(queue), queue.fair_share_weight) for queue in fleet.cluster_queues]
    weighed += [(("cohort", cohort.name), cohort.fair_share_weight) for cohort in fleet.cohorts if cohort.parent]
    for thing, weight in weighed:
        if weight is not None:
            yield thing, ("fairShareWeight",), f"'{weight:g}' has no effect: kueue.fairSharing is off"


def _usage_counts(fleet: FleetPlan) -> Found:
    if fleet.kueue is None or fleet.kueue.admission_fair_sharing is not None:
        return
    for queue in fleet.cluster_queues:
        if queue.admission_mode == bounds.USAGE_BASED:
            yield _queue(queue), ("admissionScope", "admissionMode"), f"'{bounds.USAGE_BASED}' has no effect: {_OFF}"
        for door in queue.local_queues:
            if door.fair_share_weight is not None:
                thing = ("local queue", f"{door.namespace}/{door.name}")
                yield thing, ("fairShareWeight",), f"'{door.fair_share_weight:g}' has no effect: {_OFF}"


_OFF = "kueue.admissionFairSharing is not set up"


def _topologies_work(fleet: FleetPlan) -> Found:
    if fleet.kueue is not None and not gates.is_on(fleet.kueue, "TopologyAwareScheduling"):
        for flavor in fleet.flavors:
            if flavor.topology is not None:
                message = f"'{shown(flavor.topology)}' has no effect: the feature gate TopologyAwareScheduling is off"
                yield ("flavor", flavor.name), ("topology",), message


def _cpu_and_memory_covered(fleet: FleetPlan) -> Found:
    """Every pod asks for both, and what a queue does not cover it never admits."""
    if fleet.kueue is None or fleet.kueue.quota_check == bounds.IGNORE_UNDECLARED:
        return
    excluded = fleet.kueue.excluded_prefixes
    asked = [resource for resource in ("cpu", "memory") if not resource.startswith(excluded)]
    for queue in fleet.cluster_queues:
        missing = [resource for resource in asked if resource not in queue.covered_resources]
        if missing:
            remedy = f"cover it, or write quotaCheckStrategy: {bounds.IGNORE_UNDECLARED}"
            message = f"'{', '.join(missing)}' is not covered, and a job that asks for it is never admitted; {remedy}"
            yield _queue(queue), ("flavors",), message


def _gates_in_one_place(fleet: FleetPlan) -> Found:
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
    FleetRule("cohort-cycle", "controller: cycles make every member inactive", _cycles),
    FleetRule("two-multikueue-checks", "controller: MultipleMultiKueueAdmissionChecks", _one_multikueue),
    FleetRule("multikueue-on-flavors", "controller: MultiKueueAdmissionCheckAppliedPerFlavor", _multikueue_on_all),
    FleetRule("multikueue-and-provisioning", "controller: MultiKueueWithProvisioningRequest", _multikueue_alone),
    FleetRule("check-on-every-flavor", "docs: admissionChecksStrategy", _check_on_every_flavor, "warning"),
    FleetRule("unmanaged-resource", "API: managedResources", _managed_resources),
    FleetRule("queued-without-check", "GKE docs: DWS", _queued_checked),
    FleetRule("check-without-queued", "GKE docs: DWS", _checked_queued),
    FleetRule("borrow-with-fair-sharing", "API: ClusterQueuePreemption.borrowWithinCohort", _borrow_with_fair_sharing),
    FleetRule("weight-without-fair-sharing", "API: ClusterQueue.fairSharing", _weights_count, "warning"),
    FleetRule("mode-without-admission-fair-sharing", "API: admissionScope", _usage_counts, "warning"),
    FleetRule("topology-switched-off", "Kueue's use of features.Enabled", _topologies_work),
    FleetRule("undeclared-resource", "BlockUndeclared (Kueue docs: Configuration)", _cpu_and_memory_covered, "warning"),
    FleetRule("gates-in-two-places", "config LoadAndValidateFeatureGates", _gates_in_one_place),
)
