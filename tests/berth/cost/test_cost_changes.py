"""What a change costs: `berth diff --prices` in all formats, and the same on the report's page."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from berth.cli import app
from berth.cost.fleet import compare_costs, fleet_cost
from berth.cost.prices import Prices
from berth.evaluate import evaluate_stack
from tests.stack_files import GKE_STACKS, ROOT, plan

DEV = GKE_STACKS["dev"].read_text(encoding="utf-8")
TABLE = """\
currency: EUR
hourly:
  ct5lp-hightpu-4t: {on-demand: 4.80}
  g2-standard-24: {on-demand: 2.00, spot: 0.80}
  e2-standard-4: {on-demand: 0.10}
"""
MODELS = ("on-demand", "spot", "reservation")
PRICES = Prices("prices.yaml", "EUR", {("ct5lp-hightpu-4t", "on-demand"): Fraction(24, 5)})


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Stacks `old`, `new` (a slice more, for vision) and `same`, and a table without what is reserved."""
    (tmp_path / "Pulumi.yaml").write_text("name: berth\nruntime: python\n", encoding="utf-8")
    (tmp_path / "stacks" / "teams").mkdir(parents=True)
    speech = (ROOT / "stacks" / "teams" / "speech.yaml").read_text(encoding="utf-8")
    (tmp_path / "stacks" / "teams" / "speech.yaml").write_text(speech, encoding="utf-8")
    own = "guaranteed: 1 slice, borrow: 2 slices"
    assert DEV.count("slices: 3") == DEV.count(own) == 1
    larger = DEV.replace("slices: 3", "slices: 4").replace(own, own.replace("1 slice,", "2 slices,"))
    for name, text in (("old", DEV), ("same", DEV), ("new", larger)):
        (tmp_path / f"Pulumi.{name}.yaml").write_text(text, encoding="utf-8")
    (tmp_path / "prices.yaml").write_text(TABLE, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def diff(*words: str) -> Any:
    """`berth diff` with prices."""
    return CliRunner().invoke(app, ["diff", *words, "--prices", "prices.yaml"])


def test_a_change_costs_what_both_sides_cost(folder: Path) -> None:
    """By hand: a slice is 2 machines of 4.80 for 8 chips; one that nobody may borrow yet costs the fleet alone."""
    plans = [evaluate_stack(f"Pulumi.{name}.yaml", folder).fleet_plan for name in ("old", "new")]
    assert plans[0] is not None and plans[1] is not None
    steps = {
        (step.kind, step.name): step for step in compare_costs(*(fleet_cost(each, PRICES) for each in plans if each))
    }
    slice_ = Fraction(48, 5)
    assert steps["machines", "v5e"].committed == (3 * slice_, 4 * slice_) == steps["machines", "v5e"].ceiling
    assert steps["fleet", "all"].committed == (3 * slice_, 4 * slice_)
    assert ("team", "vision") not in steps  # lacks a price before and after, so nobody knows
    every = Prices("prices.yaml", "EUR", {**PRICES.hourly, **{("g2-standard-24", m): Fraction(2) for m in MODELS}})
    steps = {
        (step.kind, step.name): step for step in compare_costs(*(fleet_cost(each, every) for each in plans if each))
    }
    gpus = 8 + 4  # guaranteed, two of a machine of 2.00
    assert steps["team", "vision"].committed == (gpus + slice_, gpus + 2 * slice_)
    assert {name for kind, name in steps if kind == "team"} == {"vision"}


def test_equal_fleets_have_no_changes() -> None:
    result = fleet_cost(plan("dev"), PRICES)
    assert compare_costs(result, result) == ()


def test_the_diff_ends_with_what_it_costs(folder: Path) -> None:
    done = diff("old", "new")
    assert (done.exit_code, done.stderr) == (0, "")
    assert done.stdout.endswith("""

Cost, EUR an hour       committed         ceiling
  v5e               28.80 → 38.40   28.80 → 38.40
  all               28.90 → 38.50   72.60 → 82.20

Prices from prices.yaml, for machines only: without disks, networks, licences and fees.
prices.yaml has no price for g2-standard-24 reservation; not counted: l4-reserved
""")


def test_a_diff_in_markdown_has_it_as_a_table(folder: Path) -> None:
    output = diff("old", "new", "--format", "markdown").stdout
    assert (
        "| EUR an hour | committed | ceiling |\n|---|---:|---:|\n| v5e | 28.80 → **38.40** | 28.80 → **38.40** |\n"
        in output
    )
    assert "- prices.yaml has no price for g2-standard-24 reservation; not counted: l4-reserved\n" in output


def test_a_diff_in_json_has_it_as_numbers(folder: Path) -> None:
    document = json.loads(diff("old", "new", "--format", "json").stdout)["cost"]
    assert (document["currency"], document["prices"]) == ("EUR", "prices.yaml")
    assert document["unpriced"] == {"before": ["l4-reserved"], "after": ["l4-reserved"]}
    step = {"before": 28.8, "after": 38.4}
    assert document["changes"][0] == {"kind": "machines", "name": "v5e", "committed": step, "ceiling": step}
    assert document["changes"][-1]["kind"] == "fleet"
    plain = CliRunner().invoke(app, ["diff", "old", "new", "--format", "json"])
    assert "cost" not in json.loads(plain.stdout)


def test_a_change_without_a_price_is_reported(folder: Path) -> None:
    assert "\n\nThe cost does not change.\n\nPrices from" in diff("old", "same").stdout
