"""Rules of Kueue (those of 0.19.2; gates of each release) that a stack file can break, each with its source.

Pure functions over plans; the entry point is `fleet_violations(fleet)`. A violation names an object and a path within
it; `berth.validation` maps both to a place in the stack file. Kueue has more rules, which the schema of the
stack file and the planner guarantee for every plan; tests/berth/planner/kueue_invariants.py lists and tests them.

Rules about changes of an object are not rules over one plan: `berth.manifests.immutable` lists the immutable fields.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from berth.plan.configuration import ConfigurationPlan
from berth.plan.fleet import FleetPlan
from berth.rules.kueue import configuration, effects, gates, queues
from berth.rules.kueue.rule import FleetRule, KueueViolation, Rule, find_violations
from berth.versions.gates import kueue_gates

OBJECT_RULES: Final[Mapping[str, tuple[Rule[Any], ...]]] = {
    "provisioning config": queues.PROVISIONING_CONFIGS,
    "admission check": queues.ADMISSION_CHECKS,
    "cohort": queues.COHORTS,
    "cluster queue": queues.CLUSTER_QUEUES,
    "configuration": configuration.RULES,
}
"""Rules over one object, by its kind."""

FLEET_RULES: Final[tuple[FleetRule[FleetPlan], ...]] = effects.RULES
"""Rules between objects of a fleet."""


def fleet_violations(fleet: FleetPlan, *, complete: bool = True) -> Iterator[KueueViolation]:
    """Yield every broken rule of a fleet.

    `complete` as in `PlanningResult`: False skips rules between objects, because the missing object may have been
    omitted for another fault.
    """
    for config in fleet.provisioning_configs:
        yield from find_violations(queues.PROVISIONING_CONFIGS, ("provisioning config", config.name), config)
    for check in fleet.admission_checks:
        yield from find_violations(queues.ADMISSION_CHECKS, ("admission check", check.name), check)
    for cohort in fleet.cohorts:
        yield from find_violations(queues.COHORTS, ("cohort", cohort.name), cohort)
    for queue in fleet.cluster_queues:
        yield from find_violations(queues.CLUSTER_QUEUES, ("cluster queue", queue.name), queue)
    if fleet.kueue is not None:
        yield from configuration_violations(fleet.kueue, fleet.kueue_release)
    if complete:
        for rule in FLEET_RULES:
            for ref, path, message in rule.check(fleet):
                yield KueueViolation(rule.severity, rule.code, ref, path, message)


def configuration_violations(kueue: ConfigurationPlan, version: str | None) -> Iterator[KueueViolation]:
    """Yield violations of a Kueue that is installed; those of feature gates for releases with known gates."""
    ref = ("configuration", "kueue")
    yield from find_violations(configuration.RULES, ref, kueue)
    if version is not None and (release := kueue_gates(version)) is not None:
        yield from find_violations(gates.release_rules(release), ref, kueue)
