"""A team's own file changes nothing of anybody else, save a short list, unless the stack file is asked to allow it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any, Final, cast

import pytest

from berth.backends.interface import compare
from berth.engine import RecordedResource
from berth.evaluate import evaluate_values as evaluate_plain
from berth.loader.team_reach import team_reach_problems
from berth.names import TEAM_LABEL
from berth.plan.fleet import FleetPlan
from berth.plan.policies import MAX_GRACE
from tests.berth.diff.edits.enumerated import enumerated
from tests.berth.diff.edits.one_key import evaluate_values
from tests.berth.diff.edits.schema_edits import Edit, generated_edits, root_schema
from tests.berth.diff.edits.sound_edits import after, before
from tests.small_fleets import fleet_with

STACKS: Final = ("local", "batch-platform", "dev") if os.environ.get("BERTH_ALL_RUNS") else ("local",)
"""All fleets that have teams of several kinds take minutes."""
SHORT_LIST: Final = {
    "ResourceQuota": "limits of requests follow what a team can use, and others can borrow less or more",
    "Dashboard": "panels name the queues",
    "ConfigMap": "panels name the queues",
    "ClusterRules": "recording rules name the queues",
    "PrometheusRule": "recording rules name the queues",
    "AlertPolicy": "alerts name the queues",
    "ClusterRoleBinding": "its own groups may read queues",
    "ClusterRole": "roles that its own groups are bound to in its own namespaces",
    "Cluster": "the security group, with the first group",
    "MutatingWebhookConfigurationPatch": "webhooks in its own namespaces with serving",
    "ValidatingWebhookConfigurationPatch": "webhooks in its own namespaces with serving",
    "ValidatingAdmissionPolicy": "checks in its own namespaces",
    "ValidatingAdmissionPolicyBinding": "checks in its own namespaces",
    "Release": "Kueue knows one more kind of job, in the namespaces with serving",
}
"""Kind → why an edit of a team may change one that is not the team's."""


def own_names(plan: FleetPlan, team: str) -> Iterator[str]:
    yield from (place.name for each in plan.teams if each.name == team for place in each.namespaces)
    yield from (queue.name for queue in plan.cluster_queues if queue.teams == (team,))


def of_others(
    old: FleetPlan, new: FleetPlan, team: str
) -> Iterator[tuple[str, RecordedResource | None, RecordedResource | None]]:
    """Yield kind, old form and new form of each resource that differs and is not the team's."""
    sides = enumerated(old), enumerated(new)
    own = {*own_names(old, team), *own_names(new, team)}
    formerly = {each.key for plan in (old, new) for each in plan.teams if each.name == team}
    for urn in {**sides[0], **sides[1]}:
        one, two = sides[0].get(urn), sides[1].get(urn)
        shown = two or one
        assert shown is not None
        if one is not None and two is not None and (one.inputs, one.protect) == (two.inputs, two.protect):
            continue
        metadata = dict[str, Any](cast("Any", shown.inputs).get("metadata") or {})
        names = {metadata.get("namespace"), metadata.get("name"), (metadata.get("labels") or {}).get(TEAM_LABEL)}
        if names & (own | {team}) or any(shown.name.startswith((f"{key}-", f"teams-{key}-")) for key in formerly):
            continue
        yield shown.type.rpartition(":")[2], one, two


def without_grace(resource: RecordedResource) -> dict[str, Any]:
    """The inputs of a namespace without the limit of grace periods, which follows from who shares its machines."""
    inputs = dict[str, Any](cast("Any", resource.inputs))
    annotations = dict[str, str](inputs["metadata"].get("annotations") or {})
    annotations.pop(MAX_GRACE, None)
    return {**inputs, "metadata": {**inputs["metadata"], "annotations": annotations}}


def is_listed(kind: str, old: RecordedResource | None, new: RecordedResource | None) -> bool:
    """Whether the short list has a difference; of some kinds only some of it."""
    if kind == "Namespace" and old is not None and new is not None:
        return without_grace(old) == without_grace(new)
    if kind == "ResourceQuota" and old is not None and new is not None:
        hard = [dict[str, str](cast("Any", each.inputs)["spec"]["hard"]) for each in (old, new)]
        hard = [
            {key: value for key, value in each.items() if not key.startswith(("requests.", "pods"))} for each in hard
        ]
        return hard[0] == hard[1]
    return kind in SHORT_LIST


def team_edits(stack: str) -> Iterator[tuple[str, Edit]]:
    values = before(stack)[0]
    for edit in generated_edits(root_schema(stack), values):
        if edit.path[0] == "teams" and len(edit.path) > 2 and not any("." in str(step) for step in edit.path):
            yield str(edit.path[1]), edit


def reaches(values: dict[str, Any], team: str) -> set[str]:
    return {problem.message for problem in team_reach_problems({**values, "allowTeams": {}}, [team])}


@pytest.mark.parametrize("stack", STACKS)
def test_an_edit_of_a_team_changes_nothing_of_others(stack: str) -> None:
    values, evaluation = before(stack)
    old = evaluation.fleet_plan
    assert old is not None
    wrong: list[str] = []
    tried = 0
    for team, edit in team_edits(stack):
        edited = after(stack, edit)
        new = evaluate_values(stack, edited)
        if new.faults or new.fleet_plan is None:
            continue
        tried += 1
        if reaches(edited, team) - reaches(values, team) or reaches(values, team) - reaches(edited, team):
            continue
        title = f"{edit.dotted} {edit.value}"
        for kind, one, two in of_others(old, new.fleet_plan, team):
            if not is_listed(kind, one, two):
                shown = two or one
                wrong.append(f"{title}: {kind} {shown and shown.name}")
        changes = compare(old, new.fleet_plan)
        losing = {each.team for each in changes.entitlements.entitlements if each.guaranteed.delta} - {team}
        wrong += [f"{title}: guarantee of {each}" for each in losing]
        rights = [each for each in changes.rights if each.right != "grace period"]
        wrong += [f"{title}: {each.owner}" for each in rights if each.owner not in (f"team {team}", "cluster")]
    assert wrong == []
    assert tried >= 120


@pytest.mark.parametrize(
    ("settings", "name"),
    [
        ({"namespace": {"existing": True}}, "namespaces.vision"),
        ({"namespaces": ["vision", {"name": "vault", "existing": True}]}, "namespaces.vault"),
        (
            {"namespace": {"name": "monitoring", "existing": True, "acceptSharedNamespace": "why"}},
            "namespaces.monitoring",
        ),
        ({"podSecurity": "privileged"}, "podSecurity"),
        ({"queues.train.namespaces": "all"}, "queues.train"),
    ],
)
def test_the_line_of_the_warning_moves_the_decision_to_the_stack_file(settings: dict[str, Any], name: str) -> None:
    base = before("local")[0]
    values = fleet_with({f"teams.vision.{key}": value for key, value in settings.items()}, base=base)
    (warning,) = team_reach_problems(values, ["vision"])
    assert f"allowTeams: {{vision: {{{name}: <why>}}}}" in warning.message
    allowed = {**values, "allowTeams": {"vision": {name: "the platform agrees"}}}
    assert list(team_reach_problems(allowed, ["vision"])) == []
    assert list(team_reach_problems(values, [])) == []
    assert [fault.line() for fault in evaluate_plain("test", allowed).faults] == []
