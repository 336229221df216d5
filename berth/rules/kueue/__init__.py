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
from berth.rules.kueue.rule import FleetRule, Rule, Thing, Violation, broken

TABLE: Final[Mapping[str, tuple[Rule[Any], ...]]] = {
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
    "configuration of the release": configuration.OF_RELEASE,
}
"""Rules over one thing. Resource groups are those of cluster queues and of cohorts."""

FLEET: Final[tuple[FleetRule[FleetPlan], ...]] = references.RULES
"""Rules between the things of a fleet."""


def violations(fleet: FleetPlan, *, complete: bool = True) -> Iterator[Violation]:
    """Every broken rule of a fleet. `complete` as in `Planned`: False leaves out rules between things, of which the
    cause may only have been set aside.
    """
    yield from _objects(fleet)
    for queue in fleet.cluster_queues:
        yield from _queue(queue)
    yield from _configuration(fleet)
    if complete:
        for rule in FLEET:
            for thing, hint, message in rule.check(fleet):
                yield Violation(rule.severity, rule.code, thing, hint, message)


def _objects(fleet: FleetPlan) -> Iterator[Violation]:
    """All that is named but for queues."""
    for topology in fleet.topologies:
        yield from broken(flavors.TOPOLOGIES, ("topology", topology.name), topology)
    for flavor in fleet.flavors:
        yield from broken(flavors.FLAVORS, ("flavor", flavor.name), flavor)
    for config in fleet.provisioning_configs:
        yield from broken(checks.PROVISIONING_CONFIGS, ("provisioning config", config.name), config)
    for check in fleet.admission_checks:
        yield from broken(checks.ADMISSION_CHECKS, ("admission check", check.name), check)
    for config in fleet.multikueue_configs:
        yield from broken(checks.MULTIKUEUE_CONFIGS, ("multikueue config", config.name), config)
    for member in fleet.multikueue_clusters:
        yield from broken(checks.MULTIKUEUE_MEMBERS, ("multikueue cluster", member.name), member)
    for cohort in fleet.cohorts:
        yield from broken(queues.COHORTS, ("cohort", cohort.name), cohort)
        yield from _quotas(("cohort", cohort.name), quotas.of_cohort(cohort))
    for priority in fleet.priorities:
        yield from broken(queues.PRIORITIES, ("priority", priority.name), priority)


def _queue(plan: ClusterQueuePlan) -> Iterator[Violation]:
    thing = ("cluster queue", plan.name)
    yield from broken(queues.CLUSTER_QUEUES, thing, plan)
    yield from _quotas(thing, quotas.of_queue(plan))
    yield from chain.from_iterable(map(_local_queue, plan.local_queues))


def _quotas(thing: Thing, groups: quotas.Groups) -> Iterator[Violation]:
    for found in _wrong_quotas(groups):
        yield replace(found, thing=thing)


@lru_cache(maxsize=1 << 14)
def _wrong_quotas(groups: quotas.Groups) -> tuple[Violation, ...]:
    """What is wrong with quotas, whoever has them: many teams have the same."""
    return tuple(broken(quotas.RULES, ("", ""), groups))


def _local_queue(plan: LocalQueuePlan) -> Iterator[Violation]:
    return broken(queues.LOCAL_QUEUES, ("local queue", f"{plan.namespace}/{plan.name}"), plan)


def _configuration(fleet: FleetPlan) -> Iterator[Violation]:
    """Of a Kueue that the fleet sets up; feature gates where its release is the one whose gates are known."""
    if fleet.kueue is None:
        return
    thing = ("configuration", "kueue")
    yield from broken(configuration.RULES, thing, fleet.kueue)
    if any(chart.name == "kueue" and chart.version.startswith(f"{gates.RELEASE}.") for chart in fleet.charts):
        yield from broken(configuration.OF_RELEASE, thing, fleet.kueue)
