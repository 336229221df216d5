"""The picture of `berth simulate --svg`: as high as the figures, and that of the page."""

from __future__ import annotations

import json
import re
from pathlib import Path
from xml.etree import ElementTree

import pytest
from typer.testing import CliRunner

from berth.cli import app
from tests.stack_files import ROOT

STACK = "stacks/examples/batch-platform.yaml"
SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture(autouse=True)
def _in_project(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)


def simulate(*arguments: str) -> str:
    answer = CliRunner().invoke(app, ["simulate", STACK, *arguments])
    assert answer.exit_code == 0, answer.output
    return answer.stdout


def test_every_bar_is_as_high_as_its_figure(tmp_path: Path) -> None:
    """Parsed back from the paths: use on the scale of the quota, waiting jobs on one scale for all teams."""
    file = tmp_path / "new" / "picture.svg"
    (stack,) = json.loads(simulate("stacks/traces/batch-platform.csv", "--json", "--svg", str(file)))["stacks"]
    root = ElementTree.fromstring(file.read_text(encoding="utf-8"))
    groups = root.findall(f"{SVG}g")
    expected = [(each["flavor"], each["series"], max(each["quota"], *each["series"])) for each in stack["flavors"]]
    highest = max(value for team in stack["teams"] for value in team["series"])
    scale = -(-highest // 1)
    expected += [(each["team"], each["series"], scale) for each in stack["teams"]]
    assert len(groups) == len(expected)
    for group, (name, series, whole) in zip(groups, expected, strict=True):
        assert group.findtext(f"{SVG}text") == name
        path = group.find(f"{SVG}path")
        heights = [float(each) for each in re.findall(r"v-([0-9.]+)h", path.get("d", ""))] if path is not None else []
        assert heights == pytest.approx([value / whole * 40 for value in series if value], abs=0.06)


def test_the_picture_of_the_page_is_that_of_its_week(tmp_path: Path) -> None:
    trace, picture = tmp_path / "week.csv", tmp_path / "week.svg"
    trace.write_text(simulate("--generate", "1", "--days", "7", "--load", "0.5"), encoding="utf-8")
    simulate(str(trace), "--svg", str(picture))
    assert picture.read_text("utf-8") == (ROOT / "docs" / "pictures" / "simulate-week.svg").read_text("utf-8")


def test_a_picture_is_of_one_stack() -> None:
    two = CliRunner().invoke(app, ["simulate", STACK, STACK, "stacks/traces/batch-platform.csv", "--svg", "x.svg"])
    assert (two.exit_code, "name one stack" in two.output) == (2, True)
