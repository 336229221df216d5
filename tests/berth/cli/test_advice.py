"""`berth simulate --advise`: on a fleet with one planted mistake, advice begins with what undoes it."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
from msgspec import Struct
from typer.testing import CliRunner

from berth.cli import app
from tests.stack_files import ROOT

FLEET = """config:
  berth:fleet:
    project: acme-ml
    region: us-central1
    cluster:
      deletionProtection: false
      dnsEndpoint: true
      controlPlane: {publicEndpoint: false, ipEndpoint: false}
    pools:
      l4: {machineType: g2-standard-24, nodes: {max: 8}}
      spare: {machineType: g2-standard-48, nodes: {max: 4}}
      v5e: {machineType: ct5lp-hightpu-4t, topology: 2x4, slices: 4, zone: us-central1-a}
    cohorts:
      research: {}
      other: {}
    teams:
      calm:
        cohort: research
        queues: {train: {flavors: [{pool: l4, guaranteed: 8, borrow: unlimited}]}}
      busy:
        cohort: research
        queues: {train: {flavors: [{pool: l4, guaranteed: 8, borrow: unlimited}]}}
      third:
        cohort: research
        queues:
          train:
            flavors:
              - {pool: spare, guaranteed: 16, borrow: unlimited}
"""
CALM = (
    "calm:\n        cohort: research\n"
    "        queues: {train: {flavors: [{pool: l4, guaranteed: 8, borrow: unlimited}]}}"
)
THIRD = "{pool: spare, guaranteed: 16, borrow: unlimited}"
L4, SPARE = "g2-standard-24, nodes: {max: 8}", "g2-standard-48, nodes: {max: 4}"
BUSY = CALM.replace("calm", "busy")
PRICES = """currency: USD
hourly:
  g2-standard-24: {on-demand: 2.00, spot: 0.80, queued: 1.50}
  g2-standard-48: {on-demand: 4.00, spot: 1.60, queued: 3.00}
  ct5lp-hightpu-4t: {on-demand: 4.80, spot: 2.00, queued: 4.80}
  e2-standard-4: {on-demand: 0.13}
"""


class Mistake(Struct, frozen=True):
    """What is planted: texts of the fleet and others instead; jobs of two teams in each hour; titles that undo it."""

    name: str
    plant: dict[str, str]
    undone_by: tuple[str, ...]
    jobs: int = 8
    third: int = 0
    options: tuple[str, ...] = ()
    resource: str = "nvidia.com/gpu"


MISTAKES = (
    Mistake(
        "an idle guarantee that is not lent",
        {CALM: CALM.replace("borrow: unlimited", "borrow: unlimited, lend: 0")},
        ("let calm-train lend all of l4", "move 8 of l4 from calm-train to busy-train"),
    ),
    Mistake(
        "an idle guarantee in another cohort",
        {CALM: CALM.replace("cohort: research", "cohort: other")},
        ("move 4 of l4 from calm-train to busy-train",),
    ),
    Mistake(
        "an idle guarantee of slices",
        {
            CALM: "calm:\n        queues: {train: {flavors: [{pool: v5e, guaranteed: 3 slices}]}}",
            BUSY: "busy:\n        queues: {train: {flavors: [{pool: v5e, guaranteed: 1 slice}]}}",
        },
        ("move 2 slices of v5e from calm-train to busy-train",),
        resource="google.com/tpu",
        jobs=4,
    ),
    Mistake(
        "no right to borrow",
        {BUSY: BUSY.replace(", borrow: unlimited", "")},
        ("let busy-train borrow unlimited of l4", "move 8 of l4 from calm-train to busy-train"),
    ),
    Mistake(
        "a borrowing limit too low",
        {BUSY: BUSY.replace("unlimited", "2")},
        ("let busy-train borrow unlimited of l4", "move 8 of l4 from calm-train to busy-train"),
    ),
    Mistake(
        "a lending limit too low",
        {CALM: CALM.replace("unlimited", "unlimited, lend: 1")},
        ("let calm-train lend all of l4", "move 8 of l4 from calm-train to busy-train"),
    ),
    Mistake(
        "the limit of a cohort too low",
        {
            "research: {}\n      other: {}": "all: {}\n      other: {parent: all}\n"
            "      research: {parent: all, flavors: [{pool: l4, guaranteed: 8, borrow: 1}]}",
            CALM: CALM.replace("cohort: research", "cohort: other"),
        },
        ("let cohort research borrow unlimited of l4",),
    ),
    Mistake(
        "a slow flavor before a fast one",
        {
            SPARE: f"{SPARE}, capacity: queued",
            BUSY: BUSY.replace("[{pool: l4", "[{pool: spare, guaranteed: 0, borrow: unlimited}, {pool: l4"),
        },
        ("let busy-train try l4 before spare",),
        jobs=1,
        options=("--provisioning", "spare=2h"),
    ),
    Mistake(
        "an expensive flavor before a cheap one",
        {
            L4: f"{L4}, capacity: spot",
            BUSY: BUSY.replace("[{pool: l4", "[{pool: spare, guaranteed: 0, borrow: unlimited}, {pool: l4"),
        },
        ("let busy-train try l4 before spare",),
        jobs=1,
        options=("--prices", "prices.yaml"),
    ),
    Mistake(
        "a flavor of others before the own one",
        {
            THIRD: f"{{pool: l4, guaranteed: 0, borrow: unlimited}}\n{' ' * 14}- {{pool: spare, guaranteed: 16}}",
        },
        ("let third-train try spare before l4",),
        third=4,
    ),
    Mistake(
        "machines that are queued for, where they could be there",
        {
            L4: f"{L4}, capacity: queued",
        },
        ("make l4 on-demand", "make l4 spot"),
        jobs=1,
        options=("--provisioning", "l4=1h"),
    ),
    Mistake(
        "machines on demand, where spot is cheaper",
        {},
        ("make l4 spot",),
        jobs=1,
        options=("--prices", "prices.yaml"),
    ),
)


def trace(mistake: Mistake) -> str:
    """Jobs of `busy` for two days: one at a time, or more than its own guarantee holds; `third` has some too."""
    rows = [f"submitted,seconds,queue,{mistake.resource},pods"]
    amount, pods = (2, 1) if mistake.resource == "nvidia.com/gpu" else (4, 2)
    for hour in range(48):
        rows += [f"{hour * 3600},3000,third/train,2,1"] * mistake.third
        rows += [f"{hour * 3600},3000,busy/train,{amount},{pods}"] * mistake.jobs
    return "\n".join(rows) + "\n"


def advice(folder: Path, mistake: Mistake, *options: str) -> dict[str, Any]:
    """The advice for a fleet with a mistake, as JSON."""
    (folder / "Pulumi.yaml").write_text("name: berth\nruntime: python\n", encoding="utf-8")
    text = FLEET
    for old, new in mistake.plant.items():
        assert old in text
        text = text.replace(old, new)
    (folder / "Pulumi.planted.yaml").write_text(text, encoding="utf-8")
    (folder / "prices.yaml").write_text(PRICES, encoding="utf-8")
    (folder / "trace.csv").write_text(trace(mistake), encoding="utf-8")
    command = ["simulate", "Pulumi.planted.yaml", "trace.csv", "--advise", "--json", *mistake.options, *options]
    answer = CliRunner().invoke(app, command)
    assert answer.exit_code == 0, answer.output + answer.stderr
    value: dict[str, Any] = json.loads(answer.stdout)
    return value


@pytest.mark.parametrize("mistake", MISTAKES, ids=lambda each: each.name)
def test_advice_begins_with_what_undoes_the_mistake(
    mistake: Mistake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its edit applies as it is printed, has no fault, and does what the evidence says."""
    monkeypatch.chdir(tmp_path)
    found = advice(tmp_path, mistake)
    first = found["changes"][0]
    assert first["title"] in mistake.undone_by, [each["title"] for each in found["changes"]]
    subprocess.run(["git", "apply", "-"], input=first["difference"], text=True, check=True)
    command = ["simulate", "Pulumi.planted.yaml", "trace.csv", "--json", *mistake.options]
    (after,) = json.loads(CliRunner().invoke(app, command).stdout)["stacks"]
    assert round(sum(team["waitingHours"] for team in after["teams"]), 1) == first["waitingHours"][1]
    if first["cost"][1] is not None:
        assert round(sum(team["cost"] for team in after["teams"]), 2) == first["cost"][1]


def test_no_team_may_wait_longer_than_the_bound(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All quota is given away in a fleet where both teams have jobs; with a larger bound more changes are allowed."""
    monkeypatch.chdir(tmp_path)
    mistake = next(each for each in MISTAKES if each.third)
    strict, loose = (advice(tmp_path, mistake, "--bound", bound) for bound in ("0s", "30d"))
    assert all(each["worstSeconds"] <= 0 for each in strict["changes"])
    assert strict["worse"] > loose["worse"] == 0
    assert strict == advice(tmp_path, mistake, "--bound", "0s")
    assert strict["listed"] == strict["tried"] >= strict["refused"] + strict["worse"] + len(strict["changes"])


def test_advice_says_what_was_tried_and_shows_diffs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    answer = CliRunner().invoke(app, ["simulate", "dev", "stacks/traces/dev.csv", "--advise"])
    assert answer.exit_code == 0, answer.output
    shown = answer.stdout.split("\n\n")
    page = (ROOT / "docs" / "simulate.md").read_text(encoding="utf-8")
    assert f"```\n{shown[0]}\n\n{shown[1]}\n```\n" in page
    two = CliRunner().invoke(app, ["simulate", "dev", "dev", "stacks/traces/dev.csv", "--advise"])
    assert (two.exit_code, "name one stack" in two.output) == (2, True)
