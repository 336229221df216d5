"""The guard on previews of the real engine, recorded on the dev stack and trimmed to what is read of them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from stacks.changes import words
from stacks.changes.preview import NoPreview, judge
from stacks.cli import app
from stacks.cli.guard import read
from tests.small_fleets import plan
from tests.stack_files import FILES, ROOT, fleet

RECORDED = Path(__file__).parent / "previews"
ALLOWED = {
    "v5e": "larger slices",
    "reservations.l4": "moves",
    "l4-reserved": "moves",
}


def recorded(name: str) -> Any:
    """A preview as it was recorded."""
    return json.loads((RECORDED / f"{name}.json").read_text(encoding="utf-8"))


def told(name: str, allowances: Mapping[str, str] | None = None) -> tuple[list[str], list[str]]:
    """What is guarded and what is allowed of a recorded preview, where the stack file allows these replacements."""
    judged = judge(recorded(name), plan({**fleet("dev"), "allowReplacement": allowances or {}}, "dev"))
    guarded = [words.loss(loss) for loss in judged.guarded]
    return guarded, [words.loss(loss) for loss in judged.losses if loss.allowed]


WHY = "because name changes, nodeConfig changes and placementPolicy changes"
V5E = f"pool v5e would be replaced (node pools v5e-{{}}), {WHY}"


@pytest.mark.parametrize(
    ("preview", "allowances", "guarded", "allowed"),
    [
        ("nothing", {}, [], []),
        ("quota-lowered", {}, [], []),
        ("topology-changed", {}, [V5E.format("1, v5e-3 and v5e-2")], []),
        ("topology-changed-and-allowed", ALLOWED, [], [V5E.format("2, v5e-1 and v5e-3")]),
        ("machine-changed", {}, ["pool l4-on-demand would be replaced, because nodeConfig changes"], []),
        ("reservation-moved", {}, ["pool l4-reserved would be replaced", "reservation l4 would be replaced"], []),
        ("reservation-moved-and-allowed-at-once", ALLOWED, ["pool l4-reserved would be replaced"], []),
        ("cluster-renamed-and-unprotected-at-once", {}, ["pool v5e would be replaced"], []),
        (
            "pool-and-queue-taken-out",
            {},
            [
                "queue language-batch would be deleted, with what it guarantees of l4-spot",
                "pool l4-spot would lose its node pool l4-spot",
            ],
            [],
        ),
        (
            "pool-and-queue-taken-out-and-allowed",
            {},
            [],
            [
                "queue language-batch would be deleted, with what it guarantees of l4-spot",
                "pool l4-spot would lose its node pool l4-spot",
            ],
        ),
    ],
)
def test_a_recorded_preview_is_judged_as_the_engine_will(
    preview: str, allowances: Mapping[str, str], guarded: list[str], allowed: list[str]
) -> None:
    assert told(preview, allowances) == (guarded, allowed)


def test_what_goes_with_something_else_has_to_be_allowed_before() -> None:
    """The engine allowed the reservation at once, and refused the pool that takes its name from it."""
    (loss,) = judge(recorded("reservation-moved-and-allowed-at-once"), plan(fleet("dev"), "dev")).guarded
    assert words.remedy(loss).startswith("to allow it, first deploy a change that adds allowReplacement: {l4-reserved:")


def test_a_preview_that_failed_for_another_reason_says_so() -> None:
    judged = judge(recorded("refused-by-berth"), plan(fleet("dev"), "dev"))
    assert not judged.losses
    assert "stack 'dev' is refused" in judged.errors[0]


@pytest.mark.parametrize("text", ["", "no json", "[]", '{"a": 1}'])
def test_what_is_no_preview_is_told(text: str) -> None:
    with pytest.raises(NoPreview, match="pulumi preview --json"):
        judge(read(text), plan(fleet("dev"), "dev"))


@pytest.mark.parametrize(
    ("preview", "status"),
    [("nothing", 0), ("topology-changed", 3), ("pool-and-queue-taken-out-and-allowed", 0), ("refused-by-berth", 1)],
)
def test_the_exit_status_says_what_was_found(preview: str, status: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    found = CliRunner().invoke(app, ["guard", str(FILES["dev"]), "-"], input=json.dumps(recorded(preview)))
    assert found.exit_code == status
    as_json = CliRunner().invoke(app, ["guard", "dev", "-", "--json"], input=json.dumps(recorded(preview)))
    assert as_json.exit_code == status
    assert bool(json.loads(as_json.stdout)["guarded"]) == (status == 3)
