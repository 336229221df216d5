"""A renamed resource stays the same resource, in both passes of the program and in the diff."""

from __future__ import annotations

from pathlib import Path
from typing import cast

import pytest

from berth.backends.interface import compare
from berth.document.text import render_text
from berth.engine import RecordedResource, run_program
from berth.evaluate import evaluate_stack
from berth.overview.fleet import fleet_document
from berth.plan.fleet import FleetPlan
from tests.berth.diff.edits.edited import BASE, changes, edited, plan, write
from tests.stack_files import ROOT

EDIT = "team-called-otherwise"


def _read(folder: Path, texts: dict[str, str]) -> tuple[FleetPlan, dict[str, object], dict[str, object]]:
    folder.mkdir(exist_ok=True)
    write(folder, texts)
    evaluation = evaluate_stack("dev", folder)
    assert [fault.line() for fault in evaluation.faults] == []
    assert evaluation.fleet_plan is not None
    assert evaluation.file is not None
    config = {key: value for key, value in evaluation.file.config.items() if key != "berth:fleet"}
    fleet = {
        key: value for key, value in cast("dict[str, object]", evaluation.file.fleet).items() if key != "teamFiles"
    }
    return evaluation.fleet_plan, fleet, config


def _registered(folder: Path, texts: dict[str, str], *, preview: bool) -> dict[str, RecordedResource]:
    _, fleet, config = _read(folder, texts)
    return {each.urn: each for each in run_program(ROOT, "dev", fleet, config, preview=preview).resources}


@pytest.mark.parametrize("preview", [True, False], ids=["preview", "up"])
def test_a_rename_registers_the_same_resources_with_the_same_names(tmp_path: Path, *, preview: bool) -> None:
    before = _registered(tmp_path / "before", dict(BASE), preview=preview)
    after = _registered(tmp_path / "after", edited(EDIT), preview=preview)
    assert before.keys() == after.keys()
    changed = [urn for urn in before if before[urn].inputs != after[urn].inputs]
    assert changed, "the team's label is another"
    for urn in changed:
        one, other = (repr(each.inputs) for each in (before[urn], after[urn]))
        assert one != other
        metadata = before[urn].inputs.get("metadata"), after[urn].inputs.get("metadata")
        if all(metadata):
            names = [{k: cast("dict[str, object]", m).get(k) for k in ("name", "namespace")} for m in metadata]
            assert names[0] == names[1]
            if before[urn].inputs.get("kind") != "ClusterRules":  # recordings are by team
                assert before[urn].inputs.get("spec") == after[urn].inputs.get("spec")
        else:
            assert before[urn].type == "gcp:monitoring/dashboard:Dashboard"


def test_a_rename_takes_no_quota_from_any_team() -> None:
    result = changes(EDIT)
    assert not result.losses
    assert not result.entitlements.entitlements
    assert not result.entitlements.new_relations
    assert [(each.team, each.what, each.renamed) for each in result.entitlements.teams] == [
        ("text", "renamed", "language")
    ]
    assert [(each.pool, each.what, each.renamed, each.hit_nodes) for each in result.pools] == [
        ("l4-cheap", "renamed", "l4-spot", 0)
    ]


def test_a_plan_lists_kept_names(tmp_path: Path) -> None:
    write(tmp_path, edited(EDIT))
    evaluation = render_text(fleet_document(evaluate_stack("dev", tmp_path)))
    assert "text (formerly language)" in evaluation
    assert "l4-cheap (formerly l4-spot)" in evaluation


def test_a_second_rename_keeps_the_first_name(tmp_path: Path) -> None:
    texts = {name: each.replace("      text:", "      words:") for name, each in edited(EDIT).items()}
    again = _read(tmp_path, texts)[0]
    result = compare(plan(EDIT), again)
    assert not result.losses
    assert [(each.team, each.what, each.renamed) for each in result.entitlements.teams] == [
        ("words", "renamed", "text")
    ]
    assert "language" in [place.name for team in again.teams for place in team.namespaces]


def test_a_rename_without_its_old_name_is_reported_as_a_loss(tmp_path: Path) -> None:
    """`formerly` taken out is another pool and another team, however the name stays."""
    texts = {
        name: text.replace("formerly: l4-spot, ", "").replace("        formerly: language\n", "")
        for name, text in edited(EDIT).items()
    }
    result = compare(plan(EDIT), _read(tmp_path, texts)[0])
    assert {(loss.kind, loss.name, loss.action) for loss in result.blocked} == {
        ("pool", "l4-cheap", "delete"),
        ("queue", "language-batch", "delete"),
        ("queue", "language-tune", "delete"),
        ("object", "Namespace language", "delete"),
    }


def test_a_name_of_another_object_is_not_mistaken_for_it(tmp_path: Path) -> None:
    """The pool that goes is lost, although one of its name stays."""
    text = BASE["Pulumi.dev.yaml"].replace("{pool: v6e, guaranteed: all}", "{pool: v5e, borrow: 1 slice}")
    kept = "\n".join(line for line in text.split("\n") if not line.startswith("      v6e:"))
    swapped = kept.replace("      l4-spot: {", "      v6e: {formerly: l4-spot, ").replace("pool: l4-spot", "pool: v6e")
    result = compare(plan(), _read(tmp_path, {**BASE, "Pulumi.dev.yaml": swapped})[0])
    assert [(each.pool, each.what, each.hit_nodes) for each in result.pools] == [
        ("v6e", "renamed", 0),
        ("v6e (before)", "deleted", 2),
    ]
    assert [(loss.kind, loss.name, loss.action) for loss in result.blocked] == [
        ("pool", "v6e (before)", "delete"),
        ("queue", "language-tune", "shrink"),  # it may only borrow now
    ]


def test_a_queue_under_another_key_is_the_same_queue(tmp_path: Path) -> None:
    renamed = ("          tune:", "          finish:\n            formerly: tune")
    texts = {name: text.replace(*renamed) for name, text in BASE.items()}
    assert texts != BASE
    assert compare(plan(), _read(tmp_path, texts)[0]).is_empty
