"""Every rule of Kueue that a stack file can break is broken by some fleet; all messages are listed.

The claims stand with the cases: `rule_cases` and `configuration_cases`.
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
from berth.plan.admission_checks import RetryPlan
from berth.plan.configuration import ConfigurationPlan
from berth.plan.fleet import FleetPlan
from berth.rules.kueue import FLEET_RULES, OBJECT_RULES, bounds, fleet_violations, gates
from berth.rules.kueue.rule import KueueViolation
from berth.versions.gates import Gates, kueue_gates
from berth.versions.standing import newest_run
from berth.yaml_loader import LOADER
from tests.berth.rules.kueue import configuration_cases, rule_cases
from tests.berth.rules.kueue.rule_cases import Case, sound
from tests.stack_files import ROOT

CRDS = ROOT / "tests" / "vendored" / "crds"


def _pinned() -> Gates:
    found = kueue_gates(newest_run("kueue"))
    assert found is not None
    return found


PINNED = _pinned()
"""The gates of the release that Berth installs by default."""
CASES = (*rule_cases.ALL, *configuration_cases.ALL)


def line(result: KueueViolation) -> str:
    severity = "warning: " if result.severity == "warning" else ""
    return f"{severity}{' '.join(result.ref)}: {format_path(result.path)}: {result.message}"


def test_a_valid_fleet_has_no_faults() -> None:
    assert [*fleet_violations(sound())] == []


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.claim.replace(" ", "-"))
def test_kueue_holds_that(case: Case) -> None:
    assert [line(violation) for violation in fleet_violations(case.fleet)] == list(case.lines)


def test_every_case_breaks_its_rule() -> None:
    assert [
        case.claim for case in CASES if case.code not in {violation.code for violation in fleet_violations(case.fleet)}
    ] == []


def test_every_rule_is_broken_by_a_case() -> None:
    violations = {(violation.ref[0], violation.code) for case in CASES for violation in fleet_violations(case.fleet)}
    wanted = {(kind, rule.code) for kind, rules in OBJECT_RULES.items() for rule in rules}
    wanted |= {("configuration", rule.code) for rule in gates.release_rules(PINNED)}
    assert wanted - violations == set()
    assert {rule.code for rule in FLEET_RULES} <= {code for _, code in violations}


def test_every_rule_says_who_enforces_it_and_has_a_code_of_its_own() -> None:
    for rules in (*OBJECT_RULES.values(), FLEET_RULES, gates.release_rules(PINNED)):
        assert all(rule.source for rule in rules)
        assert len({rule.code for rule in rules}) == len(rules)


def test_a_message_is_one_line_that_starts_with_the_value() -> None:
    """It goes on a line of its own behind place and path."""
    for case in CASES:
        for violation in fleet_violations(case.fleet):
            assert violation.message.isprintable()
            assert violation.message.startswith(("'", "no ", *_NAMED)), violation.message


_NAMED = (
    "resource '", "flavor '", "device class '", "level '", "taint '", "input '", "framework '", "label '", "value '",
    "admission check '", "managed resource '",
)  # fmt: skip


def test_cross_checks_are_skipped_for_incomplete_fleets() -> None:
    """What gives a setting its effect may only have been set aside for a fault of its own."""
    fleet = rule_cases.of_queue(fair_share_weight=2.0)
    assert {violation.code for violation in fleet_violations(fleet)} == {"weight-without-fair-sharing"}
    assert [*fleet_violations(fleet, complete=False)] == []


def test_the_configuration_of_an_existing_kueue_is_not_checked() -> None:
    weighed = replace(sound().cluster_queues[0], fair_share_weight=2.0)
    assert [*fleet_violations(replace(sound(), kueue=None, cluster_queues=(weighed,)))] == []


@pytest.mark.parametrize(
    ("version", "codes"),
    [("0.18.6", ["unknown-gate"]), ("0.19.2", ["unknown-gate"]), ("0.19.6", []), ("0.20.0", []), ("9.9.9", [])],
)
def test_a_gate_is_refused_only_where_the_list_of_the_release_is_whole(version: str, codes: list[str]) -> None:
    """Of later patches and of 0.20 there are only the gates that tags and changelogs name; the planner warns there."""
    plan = ConfigurationPlan(feature_gates={"NextYears": True})
    chart = replace(rule_cases.CHART, version=version)
    found = fleet_violations(replace(sound(), kueue=plan, charts=(chart,)))
    assert [violation.code for violation in found] == codes


def test_retries_can_be_switched_off() -> None:
    assert [*fleet_violations(rule_cases.of_config(retry=RetryPlan(limit_count=0)))] == []


# --- gates ------------------------------------------------------------------------------------------------------------


def test_every_gate_that_a_setting_needs_is_in_the_list_of_the_pinned_release() -> None:
    assert {gate for gate, _, _ in gates.GATED_SETTINGS} <= PINNED.states.keys()


@pytest.mark.parametrize("version", ["0.15.8", "0.16.9", "0.17.8", "0.18.6", "0.19.0", "0.19.2", "0.19.7", "0.20.0"])
def test_the_defaults_of_a_release_need_nothing_that_is_off(version: str) -> None:
    release = kueue_gates(version)
    assert release is not None
    named = {*release.requires, *(each for wanted in release.requires.values() for each in wanted)}
    assert named <= release.states.keys()
    assert [*gates.check_dependencies(ConfigurationPlan(), release)] == []


def test_all_gates_of_a_stage_at_once_are_left_to_kueue() -> None:
    plan = ConfigurationPlan(feature_gates={"AllBeta": False, "TASFailedNodeReplacement": False}, quota_check="x")
    assert [*gates.check_dependencies(plan, PINNED), *gates.check_enabled(plan, PINNED)] == []


# --- the bounds are those of the published CRDs -----------------------------------------------------------------------


@cache
def schema(plural: str) -> Mapping[str, Any]:
    """The v1beta2 schema of a kind."""
    crd = yaml.load((CRDS / f"kueue.x-k8s.io_{plural}.yaml").read_text(encoding="utf-8"), LOADER)
    (version,) = (each for each in crd["spec"]["versions"] if each["name"] == "v1beta2")
    return version["schema"]["openAPIV3Schema"]["properties"]


def at(plural: str, path: str) -> Any:
    """The part of a schema at a path such as `spec.levels.[].nodeLabel.maxLength`."""
    values: Any = {"properties": schema(plural)}
    for step in path.split("."):
        if step in ("[]", "{}"):
            values = values["items" if step == "[]" else "additionalProperties"]
        else:
            values = values["properties"][step] if step in values.get("properties", {}) else values[step]
    return values


PROVISIONED = "provisioningrequestconfigs"
STATED: tuple[tuple[object, str, str], ...] = (
    ("MayStopSearch", "clusterqueues", "spec.flavorFungibility.whenCanBorrow.default"),
    (bounds.TRY_NEXT, "clusterqueues", "spec.flavorFungibility.whenCanPreempt.default"),
    (bounds.PARAMETERS_NAME, "admissionchecks", "spec.parameters.name.maxLength"),
    (bounds.MANAGED_RESOURCES, PROVISIONED, "spec.managedResources.maxItems"),
    ("set", PROVISIONED, "spec.managedResources.x-kubernetes-list-type"),
    (RetryPlan().limit_count, PROVISIONED, "spec.retryStrategy.backoffLimitCount.default"),
    (RetryPlan().base_seconds, PROVISIONED, "spec.retryStrategy.backoffBaseSeconds.default"),
    (RetryPlan().max_seconds, PROVISIONED, "spec.retryStrategy.backoffMaxSeconds.default"),
)


@pytest.mark.parametrize(("bound", "plural", "path"), STATED, ids=lambda value: str(value)[:60])
def test_a_bound_is_what_the_crd_states(bound: object, plural: str, path: str) -> None:
    stated = at(plural, path)
    assert bound == stated


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
        values = {
            ".".join(path) for path, rule in rules_of({"properties": schema(plural)}) if rule == "self == oldSelf"
        }
        assert values == set(IMMUTABLE.get(kind, ())), kind
    given = [rule for _, rule in rules_of({"properties": schema("resourceflavors")}) if "oldSelf.topologyName)" in rule]
    fixed = {
        field for field in ("nodeLabels", "tolerations", "nodeTaints") if any(f"self.{field} ==" in r for r in given)
    }
    assert {f"spec.{field}" for field in fixed} == set(IMMUTABLE_WITH["ResourceFlavor", "topologyName"])


def fleets() -> Iterator[FleetPlan]:
    yield sound()
    yield from (case.fleet for case in CASES)


def test_no_fleet_makes_a_rule_raise() -> None:
    assert sum(1 for fleet in fleets() for _ in fleet_violations(fleet, complete=False)) > len(CASES) // 2
