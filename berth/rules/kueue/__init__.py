"""Every rule by which Kueue 0.19.2 refuses, ignores or never acts on what a plan says; each with who enforces it.

Pure functions over plans: `violations(fleet)` is all there is to call. A violation names the thing and a path within
it; whoever knows where the thing was written puts the two together. `TABLE` lists the rules by the kind of thing.

What only holds between an old object and a new one is no rule over one plan: `components.kubernetes` keeps the list of
fields that cannot be changed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache
from itertools import chain
from typing import Any, Final

from msgspec.structs import replace

from berth.plan.fleet import FleetPlan
from berth.plan.kueue import ClusterQueuePlan, LocalQueuePlan
from berth.rules.kueue import checks, configuration, flavors, gates, queues, quotas, references
from berth.rules.kueue.rule import FleetRule, KueueViolation, ObjectRef, Rule, find_violations

OBJECT_RULES: Final[Mapping[str, tuple[Rule[Any], ...]]] = {
    "topology": flavors.TOPOLOGIES,
    "flavor": flavors.FLAVORS,
    "provisioning config": checks.PROVISIONING_CONFIGS,
    "admission check": checks.ADMISSION_CHECKS,
    "multikueue config": checks.MULTIKUEUE_CONFIGS,
    "multikueue cluster": checks.MULTIKUEUE_MEMBERS,
    "cohort": queues.COHORTS,
    "cluster queue": queues.CLUSTER_QUEUES,
    "resource groups": quotas.RULES,
    "local queue": queues.LOCAL_QUEUES,
    "priority": queues.PRIORITIES,
    "configuration": configuration.RULES,
    "configuration of the release": configuration.RELEASE_RULES,
}
"""Rules over one thing. Resource groups are those of cluster queues and of cohorts."""

FLEET_RULES: Final[tuple[FleetRule[FleetPlan], ...]] = references.RULES
"""Rules between the things of a fleet."""


def fleet_violations(fleet: FleetPlan, *, complete: bool = True) -> Iterator[KueueViolation]:
    """Every broken rule of a fleet. `complete` as in `Planned`: False leaves out rules between things, of which the
    cause may only have been set aside.
    """
    yield from _object_violations(fleet)
    for queue in fleet.cluster_queues:
        yield from _queue_violations(queue)
    yield from _configuration_violations(fleet)
    if complete:
        for rule in FLEET_RULES:
            for ref, path, message in rule.check(fleet):
                yield KueueViolation(rule.severity, rule.code, ref, path, message)


def _object_violations(fleet: FleetPlan) -> Iterator[KueueViolation]:
    """All that is named but for queues."""
    for topology in fleet.topologies:
        yield from find_violations(flavors.TOPOLOGIES, ("topology", topology.name), topology)
    for flavor in fleet.flavors:
        yield from find_violations(flavors.FLAVORS, ("flavor", flavor.name), flavor)
    for config in fleet.provisioning_configs:
        yield from find_violations(checks.PROVISIONING_CONFIGS, ("provisioning config", config.name), config)
    for check in fleet.admission_checks:
        yield from find_violations(checks.ADMISSION_CHECKS, ("admission check", check.name), check)
    for config in fleet.multikueue_configs:
        yield from find_violations(checks.MULTIKUEUE_CONFIGS, ("multikueue config", config.name), config)
    for member in fleet.multikueue_clusters:
        yield from find_violations(checks.MULTIKUEUE_MEMBERS, ("multikueue cluster", member.name), member)
    for cohort in fleet.cohorts:
        yield from find_violations(queues.COHORTS, ("cohort", cohort.name), cohort)
        yield from _quota_violations(("cohort", cohort.name), quotas.cohort_groups(cohort))
    for priority in fleet.priorities:
        yield from find_violations(queues.PRIORITIES, ("priority", priority.name), priority)


def _queue_violations(plan: ClusterQueuePlan) -> Iterator[KueueViolation]:
    ref = ("cluster queue", plan.name)
    yield from find_violations(queues.CLUSTER_QUEUES, ref, plan)
    yield from _quota_violations(ref, quotas.queue_groups(plan))
    yield from chain.from_iterable(map(_local_queue_violations, plan.local_queues))


def _quota_violations(ref: ObjectRef, groups: quotas.ResourceGroups) -> Iterator[KueueViolation]:
    for violation in _cached_quota_violations(groups):
        yield replace(violation, ref=ref)


@lru_cache(maxsize=1 << 14)
def _cached_quota_violations(groups: quotas.ResourceGroups) -> tuple[KueueViolation, ...]:
    """What is wrong with quotas, whoever has them: many teams have the same."""
    return tuple(find_violations(quotas.RULES, ("", ""), groups))


def _local_queue_violations(plan: LocalQueuePlan) -> Iterator[KueueViolation]:
    return find_violations(queues.LOCAL_QUEUES, ("local queue", f"{plan.namespace}/{plan.name}"), plan)


def _configuration_violations(fleet: FleetPlan) -> Iterator[KueueViolation]:
    """Of a Kueue that the fleet sets up; feature gates where its release is the one whose gates are known."""
    if fleet.kueue is None:
        return
    ref = ("configuration", "kueue")
    yield from find_violations(configuration.RULES, ref, fleet.kueue)
    if any(chart.name == "kueue" and chart.version.startswith(f"{gates.RELEASE}.") for chart in fleet.charts):
        yield from find_violations(configuration.RELEASE_RULES, ref, fleet.kueue)
