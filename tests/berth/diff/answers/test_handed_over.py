"""A namespace that goes to another team, or to another place in the list of its team, is kept or blocked."""

from __future__ import annotations

import json
from typing import Any, Final, cast

import pytest

from berth.backends.interface import check_preview, compare
from berth.diff.changes import Changes
from berth.diff.guard.preview_file import parse_preview
from berth.diff.guard.text import describe_remedy
from berth.engine import RecordedResource
from tests.berth.diff.answers.engine_previews import digest, steps
from tests.berth.diff.edits.enumerated import enumerated
from tests.berth.diff.edits.judged import plans
from tests.berth.diff.edits.one_key import base_values, registered
from tests.berth.diff.edits.sound_edits import before
from tests.small_fleets import fleet_with

BASE: Final = fleet_with({"teams.vision.namespaces": ["vision", "models"]}, base=before("dev")[0])
VISION, LANGUAGE = "teams.vision.namespaces", "teams.language.namespaces"


def kept(name: str, home: str) -> dict[str, str]:
    """An entry as the remedy prints it."""
    return {"name": name, "formerly": home}


MODELS, FIRST = kept("models", "vision/models"), kept("vision", "vision")
LOST: Final[dict[str, tuple[dict[str, Any], dict[str, str]]]] = {
    "a further namespace goes to another team": (
        {VISION: ["vision"], LANGUAGE: ["language", "models"]}, {"models": "vision/models"},
    ),
    "the first namespace goes to another team": (
        {VISION: ["models"], LANGUAGE: ["language", "vision"]}, {"models": "vision/models", "vision": "vision"},
    ),
    "another order": ({VISION: ["models", "vision"]}, {"models": "vision/models", "vision": "vision"}),
    "a new one before the others": ({VISION: ["new", "vision", "models"]}, {"vision": "vision"}),
    "two teams with each other's": (
        {VISION: ["vision", "language2"], LANGUAGE: ["language", "models"]}, {"models": "vision/models"},
    ),
}  # fmt: skip
KEPT: Final[dict[str, dict[str, Any]]] = {
    "a further namespace goes to another team": {VISION: ["vision"], LANGUAGE: ["language", MODELS]},
    "the first namespace goes to another team": {VISION: [MODELS], LANGUAGE: ["language", FIRST]},
    "another order": {VISION: [MODELS, FIRST]},
    "a new one before the others": {VISION: ["new", FIRST, "models"]},
    "two teams with each other's": {VISION: ["vision", "language2"], LANGUAGE: ["language", MODELS]},
}


def changes(edits: dict[str, Any]) -> Changes:
    return compare(*plans("dev", BASE, fleet_with(edits, base=BASE)))


def homes(made: dict[str, RecordedResource]) -> dict[str, str]:
    """The name of each namespace, by its URN."""
    spaces = {urn: one for urn, one in made.items() if one.type.endswith("v1:Namespace")}
    return {urn: str(cast("dict[str, Any]", one.inputs["metadata"])["name"]) for urn, one in spaces.items()}


@pytest.mark.parametrize("case", LOST)
def test_a_namespace_that_the_program_would_delete_is_blocked(case: str) -> None:
    """And the remedy is the entry that keeps it. The diff compared names, and called another order no change."""
    edits, told = LOST[case]
    losses = {each.name.removeprefix("Namespace "): describe_remedy(each) for each in changes(edits).blocked}
    assert {name: each.partition(" in its entry")[0] for name, each in losses.items() if "keep it" in each} == {
        name: f"to keep it, write {{name: {name}, formerly: {home}}}" for name, home in told.items()
    }


@pytest.mark.parametrize("case", KEPT)
def test_formerly_keeps_it(case: str) -> None:
    found = changes(KEPT[case])
    assert [each for each in found.objects if each.kind == "Namespace" and each.what in ("deleted", "replaced")] == []
    assert [each.name for each in found.blocked if each.name.startswith("Namespace ")] == []
    rights = [each.after for each in found.rights if each.right == "namespace of another team"]
    name = "models" if "further" in case or "two teams" in case else "vision"
    assert rights == ([f"{name} (of team vision)"] if "team" in case else [])


@pytest.mark.parametrize("case", ["the first namespace goes to another team", "a new one before the others"])
def test_the_program_registers_what_is_kept_under_its_name(case: str) -> None:
    old, new = (homes(registered("dev", fleet_with(edits, base=BASE))) for edits in ({}, KEPT[case]))
    assert old.items() <= new.items()
    lost = homes(registered("dev", fleet_with(LOST[case][0], base=BASE)))
    assert not old.items() <= lost.items()


def test_the_guard_prints_the_entry_too() -> None:
    edits = LOST["a further namespace goes to another team"][0]
    values = fleet_with(edits, base=BASE)
    run = steps(registered("dev", BASE).values(), registered("dev", values).values())
    (plan,) = plans("dev", values)
    losses = check_preview(parse_preview(json.dumps(digest(run, {}))), plan).blocked
    assert [describe_remedy(each).partition(" in its")[0] for each in losses if each.name == "Namespace models"] == [
        "to keep it, write {name: models, formerly: vision/models}"
    ]


def test_the_judges_agree_on_another_order() -> None:
    old, new = plans("dev", BASE, fleet_with({VISION: ["models", "vision"]}, base=BASE))
    assert homes(enumerated(old)).keys() != homes(enumerated(new)).keys()  # type: ignore[arg-type]


def test_a_driver_that_is_handed_over_keeps_its_namespace() -> None:
    """Its release is never uninstalled, and it would end with the namespace that it runs in."""
    base = base_values("gb200")
    other = fleet_with({"nvidiaDraDriver": {"existing": True}}, base=base)
    found = compare(*plans("gb200", base, other))
    assert {each.what for each in found.objects} == {"left"}
    assert found.blocked == ()
    made, kept = (registered("gb200", each) for each in (base, other))
    (plan,) = plans("gb200", other)
    report = check_preview(parse_preview(json.dumps(digest(steps(made.values(), kept.values()), {}))), plan)
    assert len(made.keys() - kept.keys()) == 3
    assert (report.blocked, report.others) == ((), ())
