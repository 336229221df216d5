"""Changes of ACK fleets and of team stacks, computed a second way, and their kinds of objects."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
import yaml
from msgspec.structs import replace

from berth.backends.interface import IncomparablePlans, compare
from berth.diff.entitlements import CountChange
from berth.diff.headline import headline
from berth.diff.kinds import ChangeKind
from berth.diff.objects import load_kinds
from berth.evaluate import evaluate_stack
from berth.manifests import ack
from berth.manifests.fleet import all_manifests
from berth.manifests.immutable import IMMUTABLE, IMMUTABLE_WITH
from berth.manifests.workloads.objects import team_stack_manifests
from berth.plan.ack import AckFleetPlan
from berth.plan.team_stack import TeamStackPlan
from berth.planner.ack.elastic_quotas import reclaim_rules
from tests.berth.diff.edits.edited import ACK, FLEET, TEAM
from tests.stack_files import GKE_STACKS, GOLDEN, ROOT, plan

on_ack = pytest.mark.parametrize("edit", ACK.edits)
of_a_team = pytest.mark.parametrize("edit", TEAM.edits)


def fleet(edit: str | None = None) -> AckFleetPlan:
    fleet_plan = ACK.plan(edit)
    assert isinstance(fleet_plan, AckFleetPlan)
    return fleet_plan


def team(edit: str | None = None) -> TeamStackPlan:
    fleet_plan = TEAM.plan(edit)
    assert isinstance(fleet_plan, TeamStackPlan)
    return fleet_plan


def test_a_comparison_with_itself_is_empty() -> None:
    for each in (fleet(), team()):
        changes = compare(each, each)
        assert changes.is_empty
        assert not changes.losses


@on_ack
def test_every_edit_of_a_fleet_gives_a_change_that_names_it(edit: str) -> None:
    changes = ACK.changes(edit)
    assert not changes.is_empty
    assert all(pool.fields or pool.nodes[0] != pool.nodes[1] or pool.hit_nodes for pool in changes.pools)


@pytest.mark.parametrize("part", [field for field in AckFleetPlan.__struct_fields__ if field not in ("stack", "tags")])
def test_the_diff_compares_every_part_of_an_ack_fleet(part: str) -> None:
    edits = [edit for edit in ACK.edits if getattr(fleet(edit), part) != getattr(fleet(), part)]
    if part == "region":  # nothing else may differ, and everything stands in it
        moved = compare(fleet(), replace(fleet(), region="cn-beijing"))
        assert [loss.kind for loss in moved.blocked] == ["ACK One fleet", "cluster", "pool"]
        return
    if part == "calendar":  # no example's guarantee ends
        in_time = evaluate_stack("ack", ROOT / "tests/berth/full_fleets").plan
        assert isinstance(in_time, AckFleetPlan) and in_time.calendar
        assert not compare(in_time, replace(in_time, calendar=())).is_empty
        return
    assert edits, "no edit changes it"
    assert not any(ACK.changes(edit).is_empty for edit in edits)


def _tree(plan: AckFleetPlan) -> dict[str, tuple[int, int]]:
    """Minimum and maximum of each node, from the manifest that is applied; nothing without a quota tree."""
    values: dict[str, tuple[int, int]] = {}
    if plan.quotas is None:
        return values
    waiting: list[Any] = [ack.quota_tree(plan.quotas)["spec"]]
    waiting = [waiting[0]["root"]]
    while waiting:
        node = waiting.pop()
        values[node["name"]] = int(node["min"]["nvidia.com/gpu"]), int(node["max"]["nvidia.com/gpu"])
        waiting += node.get("children", [])
    return values


@on_ack
def test_the_planned_quota_tree_equals_its_manifest(edit: str) -> None:
    before, after = _tree(fleet()), _tree(fleet(edit))
    changes = {
        n.node: (n.minimum, n.maximum)
        for n in ACK.changes(edit).entitlements.quota_tree
        if n.minimum.delta or n.maximum.delta
    }
    for name in before.keys() | after.keys():
        one, other = before.get(name, (0, 0)), after.get(name, (0, 0))
        expected = None if one == other else (CountChange(one[0], other[0]), CountChange(one[1], other[1]))
        assert changes.get(name) == expected


@on_ack
def test_affected_gpus_are_those_of_created_node_pools(edit: str) -> None:
    held = Counter[str]()
    for member in fleet().members:
        for pool in member.node_pools:
            held[f"{member.name}/{pool.name}"] += 0 if member.existing else pool.nodes.max * pool.gpus
    for change in ACK.changes(edit).pools:
        assert change.hit_accelerators == (
            held[change.pool] if change.what in (ChangeKind.REPLACED, ChangeKind.DELETED) else 0
        )


def test_a_leaf_reclaims_what_another_may_borrow() -> None:
    """Within research vision can borrow; products neither borrows nor lends."""
    rules = [reclaim_rules(plan.quotas) for plan in map(fleet, (None, "quota-moved", "cohort-moved")) if plan.quotas]
    assert [(r.queue, r.flavors) for r in rules[0]] == [("speech-train", ("nvidia.com/gpu",))]
    assert rules[1][0].queue == "speech-train"
    assert {r.queue for r in rules[2]} == {"speech-train", "search-rank"}


@on_ack
def test_jobs_that_become_pending_or_admitted_are_in_the_headline(edit: str) -> None:
    """The count of policies that suspend jobs, from the objects."""
    suspending = [
        any(
            "suspension" in str(each["spec"]) for each in ack.ack_manifests(plan) if each["kind"] == "PropagationPolicy"
        )
        for plan in (fleet(), fleet(edit))
    ]
    changes = ACK.changes(edit)
    assert changes.entitlements.queueing == (() if suspending[0] == suspending[1] else tuple(suspending))
    assert ("jobs no longer wait for quota" in headline(changes)) == (suspending == [True, False])
    backwards = headline(compare(fleet(edit), fleet()))
    assert ("jobs wait in a queue for quota" in backwards) == (suspending == [True, False])


# --- a team's own stack -----------------------------------------------------------------------------------------------


@of_a_team
def test_every_edit_of_a_team_changes_something_and_guards_nothing(edit: str) -> None:
    changes = TEAM.changes(edit)
    assert not changes.is_empty
    assert not changes.blocked


@of_a_team
def test_objects_of_a_team_are_those_whose_manifests_differ(edit: str) -> None:
    def objects(plan: TeamStackPlan) -> dict[tuple[str, str], Any]:
        values: list[Any] = list(team_stack_manifests(plan))
        return {(m["kind"], m["metadata"]["name"]): m for m in values}

    before, after = objects(team()), objects(team(edit))
    differ = {key for key in before.keys() | after.keys() if before.get(key) != after.get(key)}
    changes = {(change.kind, change.name) for change in TEAM.changes(edit).objects}
    assert changes == differ or edit == "workload-renamed"  # under another key the same manifest is another resource


def test_stacks_of_different_kinds_cannot_be_compared() -> None:
    for old, new in ((fleet(), team()), (FLEET.plan(), fleet()), (team(), FLEET.plan())):
        with pytest.raises(IncomparablePlans, match=r"^one is .*, the other "):
            compare(old, new)


# --- kinds of objects -------------------------------------------------------------------------------------------------


def test_every_kind_of_object_has_a_row() -> None:
    """Every kind is in a golden, in an edit, or printed by `berth workload`."""
    seen = {
        str(document["kind"])
        for file in GOLDEN.glob("*/manifests.yaml")
        for document in yaml.load_all(file.read_text(encoding="utf-8"), yaml.CSafeLoader)
    }
    seen |= {
        change.kind
        for subject in (FLEET, ACK, TEAM)
        for edit in subject.edits
        for change in subject.changes(edit).objects
    }
    seen |= {str(m["kind"]) for stack in GKE_STACKS for m in all_manifests(plan(stack))}
    seen |= {"Job", "JobSet", "PyTorchJob", "PodTemplate", "ProvisioningRequest", "Service", "ConfigMap"}
    table = load_kinds().keys()
    assert {kind for kind in seen if not {kind, f"{kind}Patch"} & table} == set()  # a patch has the kind of its object


def test_immutable_fields_of_components_match_the_table() -> None:
    request = {kind: tuple(row["asked"]) for kind, row in load_kinds().items() if "asked" in row and "of" not in row}
    assert request == IMMUTABLE
    given = {
        (kind, row["of"].removeprefix("spec.")): tuple(row["asked"])
        for kind, row in load_kinds().items()
        if "of" in row
    }
    assert given == IMMUTABLE_WITH
