"""Every rule of Kueue is broken by some fleet, which is told what is wrong, in whole, and nothing besides.

The claims stand with the cases: `kueue_rule_cases` and `kueue_configuration_cases`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

import pytest
import yaml
from msgspec.structs import replace

from berth.diagnostics import format_path
from berth.manifests.immutable import IMMUTABLE, IMMUTABLE_WITH
from berth.plan.admission_checks import MultiKueueClusterPlan, MultiKueueConfigPlan, RetryPlan
from berth.plan.configuration import ConfigurationPlan
from berth.plan.fleet import FleetPlan
from berth.rules.kueue import FLEET_RULES, OBJECT_RULES, bounds, checks, fleet_violations, gates, quotas
from berth.rules.kueue.rule import KueueViolation, find_violations
from tests.berth.rules.kueue import configuration_cases, rule_cases
from tests.berth.rules.kueue.rule_cases import Case, group, sound
from tests.components.kueue import plans
from tests.stack_files import ROOT

CRDS = ROOT / "tests" / "vendored" / "crds"
CASES = (*rule_cases.ALL, *configuration_cases.ALL)


def line(found: KueueViolation) -> str:
    severity = "warning: " if found.severity == "warning" else ""
    return f"{severity}{' '.join(found.ref)}: {format_path(found.path)}: {found.message}"


def test_a_fleet_that_breaks_no_rule_is_told_nothing() -> None:
    assert [*fleet_violations(sound())] == []


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.claim.replace(" ", "-"))
def test_kueue_holds_that(case: Case) -> None:
    assert [line(found) for found in fleet_violations(case.fleet)] == list(case.lines)


def test_every_case_breaks_the_rule_that_it_is_of() -> None:
    assert [
        case.claim for case in CASES if case.code not in {found.code for found in fleet_violations(case.fleet)}
    ] == []


def test_every_rule_is_broken_by_a_case() -> None:
    """But for those of things that no fleet has yet, which are tested below."""
    of = {"resource groups": ("cluster queue", "cohort"), "configuration of the release": ("configuration",)}
    told = {(found.ref[0], found.code) for case in CASES for found in fleet_violations(case.fleet)}
    wanted = {
        (kind, rule.code) for kind, rules in OBJECT_RULES.items() if not kind.startswith("multikueue") for rule in rules
    }
    missing = {(kind, code) for kind, code in wanted if not any((each, code) in told for each in of.get(kind, (kind,)))}
    assert missing == {("resource groups", "too-many-in-all")}
    assert {rule.code for rule in FLEET_RULES} <= {code for _, code in told}


def test_every_rule_says_who_enforces_it_and_has_a_code_of_its_own() -> None:
    for rules in (*OBJECT_RULES.values(), FLEET_RULES):
        assert all(rule.source for rule in rules)
        assert len({rule.code for rule in rules}) == len(rules)


def test_a_message_is_one_line_that_starts_with_the_value() -> None:
    """It goes on a line of its own behind place and path."""
    for case in CASES:
        for found in fleet_violations(case.fleet):
            assert found.message.isprintable()
            assert found.message.startswith(("'", "no ", *_NAMED)), found.message


_NAMED = (
    "resource '", "flavor '", "device class '", "level '", "taint '", "input '", "framework '", "label '", "value '",
    "admission check '", "managed resource '",
)  # fmt: skip


def test_rules_between_things_wait_until_everything_was_understood() -> None:
    """What is missing may only have been set aside for a fault of its own."""
    fleet = replace(sound(), flavors=())
    assert {found.code for found in fleet_violations(fleet)} == {"flavor-not-found"}
    assert [*fleet_violations(fleet, complete=False)] == []


def test_nothing_is_said_of_a_kueue_that_somebody_else_set_up() -> None:
    weighed = replace(sound().cluster_queues[0], fair_share_weight=2.0, covered_resources=plans.COVERED)
    assert [*fleet_violations(replace(sound(), kueue=None, cluster_queues=(weighed,)))] == []


def test_gates_of_another_release_are_not_judged() -> None:
    """0.20 has gates that 0.19 has not, and no longer some that it has."""
    plan = ConfigurationPlan(feature_gates={"NextYears": True})
    chart = replace(rule_cases.CHART, version="0.20.0")
    assert [*fleet_violations(replace(sound(), kueue=plan, charts=(chart,)))] == []
    assert [found.code for found in fleet_violations(replace(sound(), kueue=plan))] == ["unknown-gate"]


def test_limits_over_all_groups_of_a_queue_are_counted_together() -> None:
    """A planned queue has one group, in which they cannot be reached."""
    many = tuple(group(tuple(f"r{n}-{m}" for m in range(52)), *(f"f{n}-{m}" for m in range(52))) for n in range(5))
    whole = quotas.ResourceGroups(many, ((),) * 5, can_borrow=True, is_queue=True)
    told = [
        found
        for found in find_violations(quotas.RULES, ("cluster queue", "q"), whole)
        if found.code == "too-many-in-all"
    ]
    assert [found.message for found in told] == [
        "'260' flavors are more than the 256 that Kueue takes; make several cluster queues",
        "'260' covered resources are more than the 256 that Kueue takes; make several cluster queues",
    ]
    cohort = replace(whole, is_queue=False)
    assert "too-many-in-all" not in {found.code for found in find_violations(quotas.RULES, ("cohort", "c"), cohort)}


def test_a_cohort_may_lend_more_than_it_has() -> None:
    """It passes on what its queues lend."""
    fleet = rule_cases.of_cohort(group(("cpu",), "v5e", lending_limit=9))
    assert [*fleet_violations(fleet)] == []


def test_retries_can_be_switched_off() -> None:
    assert [*fleet_violations(rule_cases.of_config(retry=RetryPlan(limit_count=0)))] == []


# --- MultiKueue, which no fleet has yet -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("plan", "messages"),
    [
        (MultiKueueConfigPlan(name="c", clusters=("a", "b"), quota_management="Manual"), []),
        (MultiKueueConfigPlan(name="c", clusters=()), ["'[]' names no cluster; Kueue wants one at least"]),
        (
            MultiKueueConfigPlan(name="c", clusters=("a", "a")),
            ["cluster 'a' is here twice; write it once"],
        ),
        (
            MultiKueueConfigPlan(name="c", clusters=tuple(f"c{n}" for n in range(21))),
            ["'21' clusters are more than the 20 that Kueue takes; name fewer"],
        ),
        (
            MultiKueueConfigPlan(name="c", clusters=("a" * 257,), quota_management="Auto"),
            [
                "'257' characters are more than the 256 that Kueue takes; name it otherwise",
                "'Auto' is no value of Kueue's; did you mean 'Automated'?",
            ],
        ),
    ],
)
def test_a_multikueue_config_names_one_to_twenty_clusters(plan: MultiKueueConfigPlan, messages: list[str]) -> None:
    assert [f.message for f in find_violations(checks.MULTIKUEUE_CONFIGS, ("multikueue config", "c"), plan)] == messages


@pytest.mark.parametrize(
    ("plan", "messages"),
    [
        (MultiKueueClusterPlan(name="c", kubeconfig="far"), []),
        (MultiKueueClusterPlan(name="c", profile="far"), []),
        (
            MultiKueueClusterPlan(name="c"),
            ["'c' is reached either by a kubeconfig or by a cluster profile; name one"],
        ),
        (
            MultiKueueClusterPlan(name="c", kubeconfig="", profile="x" * 257, kubeconfig_in="File"),
            [
                "'c' is reached either by a kubeconfig or by a cluster profile; name one",
                "'' has to have 1 to 256 characters",
                f"'{'x' * 77}...' has to have 1 to 256 characters",
                "'File' is no value of Kueue's; write Secret or Path",
            ],
        ),
    ],
)
def test_another_cluster_is_reached_in_one_way(plan: MultiKueueClusterPlan, messages: list[str]) -> None:
    assert [
        f.message for f in find_violations(checks.MULTIKUEUE_MEMBERS, ("multikueue cluster", "c"), plan)
    ] == messages


# --- gates ------------------------------------------------------------------------------------------------------------


def test_the_table_of_gates_agrees_with_itself() -> None:
    named = {*gates.LOCKED, *gates.DEPENDENCIES, *(each for wanted in gates.DEPENDENCIES.values() for each in wanted)}
    assert named | {gate for gate, _, _ in gates.GATED_SETTINGS} <= gates.DEFAULTS.keys()
    assert [*gates.check_dependencies(ConfigurationPlan())] == [], "the defaults need nothing that is off"


def test_all_gates_of_a_stage_at_once_are_left_to_kueue() -> None:
    plan = ConfigurationPlan(feature_gates={"AllBeta": False, "TASFailedNodeReplacement": False}, quota_check="x")
    assert [*gates.check_dependencies(plan), *gates.check_enabled(plan)] == []


# --- the bounds are those of the published CRDs -----------------------------------------------------------------------


@cache
def schema(plural: str) -> Mapping[str, Any]:
    """The v1beta2 schema of a kind."""
    crd = yaml.safe_load((CRDS / f"kueue.x-k8s.io_{plural}.yaml").read_text(encoding="utf-8"))
    (version,) = (each for each in crd["spec"]["versions"] if each["name"] == "v1beta2")
    return version["schema"]["openAPIV3Schema"]["properties"]


def at(plural: str, path: str) -> Any:
    """The part of a schema at a path such as `spec.levels.[].nodeLabel.maxLength`."""
    found: Any = {"properties": schema(plural)}
    for step in path.split("."):
        if step in ("[]", "{}"):
            found = found["items" if step == "[]" else "additionalProperties"]
        else:
            found = found["properties"][step] if step in found.get("properties", {}) else found[step]
    return found


GROUP = "spec.resourceGroups.[]."
QUEUE_CHECK = "spec.admissionChecksStrategy.admissionChecks."
PROVISIONED = "provisioningrequestconfigs"
STATED: tuple[tuple[object, str, str], ...] = (
    (bounds.FLAVOR_LABELS, "resourceflavors", "spec.nodeLabels.maxProperties"),
    (bounds.FLAVOR_TAINTS, "resourceflavors", "spec.nodeTaints.maxItems"),
    (bounds.FLAVOR_TOLERATIONS, "resourceflavors", "spec.tolerations.maxItems"),
    (bounds.TOPOLOGY_LEVELS, "topologies", "spec.levels.maxItems"),
    (1, "topologies", "spec.levels.minItems"),
    (bounds.LEVEL_LENGTH, "topologies", "spec.levels.[].nodeLabel.maxLength"),
    *((bounds.GROUPS, kind, "spec.resourceGroups.maxItems") for kind in ("clusterqueues", "cohorts")),
    *((bounds.GROUP_RESOURCES, kind, GROUP + "coveredResources.maxItems") for kind in ("clusterqueues", "cohorts")),
    *((1, kind, GROUP + "coveredResources.minItems") for kind in ("clusterqueues", "cohorts")),
    *((bounds.GROUP_FLAVORS, kind, GROUP + "flavors.maxItems") for kind in ("clusterqueues", "cohorts")),
    *((1, kind, GROUP + "flavors.minItems") for kind in ("clusterqueues", "cohorts")),
    (["name"], "clusterqueues", GROUP + "flavors.x-kubernetes-list-map-keys"),
    (bounds.QUEUEING_STRATEGIES, "clusterqueues", "spec.queueingStrategy.enum"),
    *((bounds.STOP_POLICIES, kind, "spec.stopPolicy.enum") for kind in ("clusterqueues", "localqueues")),
    (bounds.WITHIN_CLUSTER_QUEUE, "clusterqueues", "spec.preemption.withinClusterQueue.enum"),
    (bounds.RECLAIM_WITHIN_COHORT, "clusterqueues", "spec.preemption.reclaimWithinCohort.enum"),
    (bounds.BORROW_WITHIN_COHORT, "clusterqueues", "spec.preemption.borrowWithinCohort.policy.enum"),
    ("int32", "clusterqueues", "spec.preemption.borrowWithinCohort.maxPriorityThreshold.format"),
    (bounds.FUNGIBILITY_POLICIES, "clusterqueues", "spec.flavorFungibility.whenCanBorrow.enum"),
    ("MayStopSearch", "clusterqueues", "spec.flavorFungibility.whenCanBorrow.default"),
    (bounds.FUNGIBILITY_POLICIES, "clusterqueues", "spec.flavorFungibility.whenCanPreempt.enum"),
    (bounds.TRY_NEXT, "clusterqueues", "spec.flavorFungibility.whenCanPreempt.default"),
    (bounds.PREFERENCES, "clusterqueues", "spec.flavorFungibility.preference.enum"),
    (bounds.ADMISSION_MODES, "clusterqueues", "spec.admissionScope.admissionMode.enum"),
    (bounds.QUEUE_CHECKS, "clusterqueues", QUEUE_CHECK + "maxItems"),
    (1, "clusterqueues", QUEUE_CHECK + "minItems"),
    (["name"], "clusterqueues", QUEUE_CHECK + "x-kubernetes-list-map-keys"),
    (bounds.CHECK_NAME_LENGTH, "clusterqueues", QUEUE_CHECK + "[].name.maxLength"),
    (bounds.CHECK_FLAVORS, "clusterqueues", QUEUE_CHECK + "[].onFlavors.maxItems"),
    ("set", "clusterqueues", QUEUE_CHECK + "[].onFlavors.x-kubernetes-list-type"),
    (bounds.CONTROLLER_LENGTH, "admissionchecks", "spec.controllerName.maxLength"),
    (bounds.PARAMETERS_GROUP, "admissionchecks", "spec.parameters.apiGroup.maxLength"),
    (bounds.PARAMETERS_KIND, "admissionchecks", "spec.parameters.kind.maxLength"),
    (bounds.PARAMETERS_NAME, "admissionchecks", "spec.parameters.name.maxLength"),
    (bounds.CLASS_NAME, PROVISIONED, "spec.provisioningClassName.maxLength"),
    (bounds.CLASS_PARAMETERS, PROVISIONED, "spec.parameters.maxProperties"),
    (bounds.CLASS_PARAMETER, PROVISIONED, "spec.parameters.{}.maxLength"),
    (bounds.MANAGED_RESOURCES, PROVISIONED, "spec.managedResources.maxItems"),
    ("set", PROVISIONED, "spec.managedResources.x-kubernetes-list-type"),
    (bounds.MERGE_POLICIES, PROVISIONED, "spec.podSetMergePolicy.enum"),
    (RetryPlan().limit_count, PROVISIONED, "spec.retryStrategy.backoffLimitCount.default"),
    (RetryPlan().base_seconds, PROVISIONED, "spec.retryStrategy.backoffBaseSeconds.default"),
    (RetryPlan().max_seconds, PROVISIONED, "spec.retryStrategy.backoffMaxSeconds.default"),
    (bounds.SELECTOR_UPDATES, PROVISIONED, "spec.podSetUpdates.nodeSelector.maxItems"),
    (bounds.SELECTOR_KEY, PROVISIONED, "spec.podSetUpdates.nodeSelector.[].key.maxLength"),
    (
        bounds.SELECTOR_DETAIL,
        PROVISIONED,
        "spec.podSetUpdates.nodeSelector.[].valueFromProvisioningClassDetail.maxLength",
    ),
    (bounds.MULTIKUEUE_CLUSTERS, "multikueueconfigs", "spec.clusters.maxItems"),
    (bounds.MULTIKUEUE_NAME_LENGTH, "multikueueconfigs", "spec.clusters.[].maxLength"),
    (bounds.QUOTA_MANAGEMENT, "multikueueconfigs", "spec.quotaManagement.enum"),
    (bounds.MULTIKUEUE_NAME_LENGTH, "multikueueclusters", "spec.clusterSource.kubeConfig.location.maxLength"),
    (bounds.MULTIKUEUE_NAME_LENGTH, "multikueueclusters", "spec.clusterSource.clusterProfileRef.name.maxLength"),
    (bounds.KUBECONFIG_LOCATIONS, "multikueueclusters", "spec.clusterSource.kubeConfig.locationType.enum"),
    ("int32", "workloadpriorityclasses", "value.format"),
    (bounds.DESCRIPTION_LENGTH, "workloadpriorityclasses", "description.maxLength"),
)


@pytest.mark.parametrize(("bound", "plural", "path"), STATED, ids=lambda value: str(value)[:60])
def test_a_bound_is_what_the_crd_states(bound: object, plural: str, path: str) -> None:
    stated = at(plural, path)
    assert (
        (sorted(stated), sorted(bound)) == (sorted(bound), sorted(stated))
        if isinstance(bound, tuple)
        else bound == stated
    )


def rules_of(node: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], str]]:
    """Every CEL rule in a schema with its path."""
    if isinstance(node, Mapping):
        for each in node.get("x-kubernetes-validations", ()):
            yield path, each["rule"]
        for name, inner in node.get("properties", {}).items():
            yield from rules_of(inner, (*path, name))


def test_every_field_that_cannot_be_changed_is_known_as_such() -> None:
    """Else a preview shows an update that the API server then refuses."""
    kinds = {"admissionchecks": "AdmissionCheck", "localqueues": "LocalQueue", "topologies": "Topology"}
    kinds |= {"clusterqueues": "ClusterQueue", "cohorts": "Cohort", "resourceflavors": "ResourceFlavor"}
    kinds |= {"provisioningrequestconfigs": "ProvisioningRequestConfig", "multikueueconfigs": "MultiKueueConfig"}
    for plural, kind in kinds.items():
        found = {".".join(path) for path, rule in rules_of({"properties": schema(plural)}) if rule == "self == oldSelf"}
        assert found == set(IMMUTABLE.get(kind, ())), kind
    given = [rule for _, rule in rules_of({"properties": schema("resourceflavors")}) if "oldSelf.topologyName)" in rule]
    fixed = {
        field for field in ("nodeLabels", "tolerations", "nodeTaints") if any(f"self.{field} ==" in r for r in given)
    }
    assert {f"spec.{field}" for field in fixed} == set(IMMUTABLE_WITH["ResourceFlavor", "topologyName"])


def fleets() -> Iterator[FleetPlan]:
    yield sound()
    yield from (case.fleet for case in CASES)


def test_no_fleet_makes_a_rule_fall_over() -> None:
    assert sum(1 for fleet in fleets() for _ in fleet_violations(fleet, complete=False)) > len(CASES) // 2
