"""Known holes: who can use them, which policy closes them, and what `berth check` says."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from berth.manifests.policies import admission_policies
from berth.manifests.roles import cluster_access
from berth.plan.fleet import FleetPlan
from berth.upgrade.evidence import Applicability, Evidence
from berth.upgrade.holes import describe_open_holes, open_holes
from berth.versions.changes import known_holes
from berth.versions.standing import newest_run
from tests import small_fleets as small

SERVING: dict[str, Any] = {"teams.vision.namespaces": [{"name": "vision", "serving": True}]}


def plan_with(changes: dict[str, Any] | None = None) -> FleetPlan:
    return small.run_planner(small.fleet_with(changes)).plan


def usable(release: str, plan: FleetPlan) -> set[str]:
    found = open_holes(release, Evidence(plan))
    return {each.name for each in found if each.judgement.verdict == Applicability.APPLIES}


def test_the_default_pin_leaves_no_hole_open_that_a_team_can_use() -> None:
    """With services in queues too."""
    for changes in ({}, SERVING):
        assert describe_open_holes(newest_run("kueue"), plan_with(changes)) is None


def test_without_the_policies_the_holes_are_open() -> None:
    """So it is the policies that close them, and not the release."""
    bare = replace(plan_with(SERVING), policies=None)
    assert usable("0.19.2", bare) >= {"job-parallelism", "pod-level-requests", "rollouts-without-quota"}
    message = describe_open_holes("0.19.2", bare)
    assert message is not None
    assert "Kueue '0.19.2' has 3 known holes that this stack leaves open: " in message
    assert message.endswith("write 0.19.7 or later")


def test_a_gate_that_is_on_again_opens_a_hole_without_a_fix() -> None:
    written = plan_with({"kueue.featureGates": {"ReclaimablePods": True}})
    assert usable("0.19.2", written) - usable("0.19.2", plan_with()) == {"jobs-that-ended-and-run-again"}
    assert describe_open_holes("0.19.2", written) == (
        "Kueue '0.19.2' has 1 known hole that this stack leaves open: a JobSet that starts its jobs again runs pods "
        "whose quota was given back when they had ended well (jobs-that-ended-and-run-again, in every release); write "
        "ReclaimablePods: false under featureGates"
    )


def test_a_policy_that_only_warns_closes_nothing() -> None:
    plan = plan_with()
    assert plan.policies is not None
    audited = replace(plan, policies=replace(plan.policies, audited=("growth",)))
    assert usable("0.19.2", audited) >= {"job-parallelism", "pod-level-requests"}


@pytest.mark.parametrize("name", [name for name, hole in known_holes().items() if hole.closed_by])
def test_the_policy_that_closes_a_hole_exists_and_refuses(name: str) -> None:
    plan = plan_with(SERVING).policies
    assert plan is not None
    specs = [manifest["spec"] for _, manifest in admission_policies(plan)]
    refusing = {spec["policyName"] for spec in specs if "Deny" in spec.get("validationActions", ())}  # type: ignore[union-attr, index]
    assert known_holes()[name].closed_by in refusing


def test_no_role_of_a_team_has_a_right_that_a_hole_needs() -> None:
    """`team_right` of a row is a resource; the roles are those that the fleet creates."""
    plan = plan_with({"teams.vision.groups": ["vision@example.com"]})
    assert plan.access is not None
    roles = [manifest for role, manifest in cluster_access(plan.access) if role in ("submitter", "server")]
    rights = {
        (resource, verb)
        for manifest in roles
        for rule in manifest["rules"]  # type: ignore[union-attr]
        for resource in rule["resources"]  # type: ignore[index]
        for verb in rule["verbs"]  # type: ignore[index]
    }
    needed = {hole.usable["team_right"] for hole in known_holes().values() if "team_right" in hole.usable}
    assert needed == {"podtemplates", "workloads"}
    assert not {(each, verb) for each in needed for verb in ("create", "update", "patch")} & rights


@pytest.mark.parametrize(
    ("release", "changes", "names"),
    [
        ("0.18.4", {}, {"queue-name-removed", "negative-requests"}),
        ("0.18.6", {}, set()),
        ("0.19.1", {}, {"queue-name-removed"}),
        ("0.20.5", {}, {"conversion-webhook-gone"}),
        ("0.20.6", {}, set()),
        ("0.25.0", {}, set()),
        (
            "0.19.2",
            {
                "kueue.resources": {
                    "excludeResourcePrefixes": ["example.com/"],
                    "transformations": [{"input": "example.com/mig", "strategy": "Replace", "outputs": {"cpu": 1}}],
                }
            },
            {"excluded-transformation"},
        ),
        (
            "0.19.2",
            {"kueue.integrations": {"frameworks": ["batch/job", "sparkoperator.k8s.io/sparkapplication"]}},
            {"spark-retries"},
        ),
    ],
)
def test_check_names_the_holes_of_a_release(release: str, changes: dict[str, Any], names: set[str]) -> None:
    message = describe_open_holes(release, plan_with({**changes, "kueue.version": release}))
    said = {name for name in known_holes() if message is not None and f"({name}, fixed in" in message}
    assert said == names


def test_a_stack_without_teams_is_not_warned() -> None:
    problems = small.problems(
        {key: value for key, value in small.fleet_with({"kueue.version": "0.18.4"}).items() if key != "teams"}
    )
    assert "known-hole" not in {problem.code for problem in problems}
