"""The report's section of usage: its picture against the samples, its tables, and files that have no page."""

from __future__ import annotations

import json
import pathlib
import re
import xml.etree.ElementTree as xml

import pytest
from msgspec.structs import replace
from typer.testing import CliRunner

from berth.cli import app
from berth.cli.usage import answer
from berth.cli.usage.tables import usage_view
from berth.document import Note
from berth.evaluate import evaluate_stack
from berth.report.page import render_page
from berth.report.usage_plot import MAX_ROWS, UsageRow, UsageView, usage_svg
from berth.usage.series import NOMINAL, PENDING, USAGE
from tests.berth.monitoring import recorded
from tests.berth.report.test_page import unbroken
from tests.stack_files import ALL_STACKS, evaluation

ROW = UsageRow(
    team="<a>", flavor="l4", noun="L4", guaranteed=4.0, points=((0, 2.0), (60, 2.0), (120, 6.0), (240, 0.0), (300, 4.0))
)
VIEW = UsageView(period="00:00 to 00:05", start=0, end=300, step=60, rows=(ROW,), document=())
SVG = "{http://www.w3.org/2000/svg}"


def hour(folder: pathlib.Path) -> pathlib.Path:
    file = folder / "usage.json"
    file.write_text(json.dumps(recorded.answer(USAGE, NOMINAL, PENDING)), encoding="utf-8")
    return file


def bars(picture: str, kind: str) -> list[tuple[float, float, float, float]]:
    """The bars of a kind: left, top, width, height in pixels, from the picture's text."""
    paths = [each.get("d", "") for each in xml.fromstring(picture).iter(f"{SVG}path") if each.get("class") == kind]
    found = re.findall(r"M([\d.]+) ([\d.]+)h([\d.]+)v([\d.]+)h-[\d.]+z", "".join(paths))
    return [(float(a), float(b), float(c), float(d)) for a, b, c, d in found]


def test_bars_are_as_wide_as_their_time_and_as_high_as_their_use() -> None:
    """Six steps in 640 pixels, 40 pixels for 6 accelerators; the gap at 180 s and the zero at 240 s have no bar."""
    picture = usage_svg(VIEW)
    step, high = 640 / 6, 40 / 6
    used, borrowed = bars(picture, "used"), bars(picture, "borrowed")
    left = used[0][0]
    wanted_used = [(0, 2 * step, 2 * high), (2 * step, step, 4 * high), (5 * step, step, 4 * high)]
    for (x, _, width, height), (offset, wide, tall) in zip(used, wanted_used, strict=True):
        assert (x - left, width, height) == pytest.approx((offset, wide, tall), abs=0.2)
    ((x, top, width, height),) = borrowed
    assert (x - left, width, height) == pytest.approx((2 * step, step, 2 * high), abs=0.2)
    assert top + height == pytest.approx(used[1][1], abs=0.2), "what is borrowed stands on what is guaranteed"


def test_text_of_a_stack_file_is_escaped_and_described() -> None:
    picture = usage_svg(VIEW)
    assert "<a>" not in picture
    described = xml.fromstring(picture).find(f"{SVG}desc")
    assert described is not None
    assert described.text == "<a> used up to 6 L4 of l4, 4 are guaranteed"


def test_the_page_draws_every_sample_of_the_hour(tmp_path: pathlib.Path) -> None:
    """The area of the bars is the sum of the samples, row by row."""
    fleet = evaluate_stack(str(recorded.STACK_FILE), recorded.FOLDER)
    assert fleet.fleet_plan is not None
    report = answer.measure_usage(fleet.fleet_plan, [hour(tmp_path)], None, None, "1h").report
    assert report is not None
    view = usage_view(report)
    per_second = 640 / (view.end - view.start + view.step)
    for row in view.rows:
        picture = usage_svg(replace(view, rows=(row,)))
        area = sum(width * height for kind in ("used", "borrowed") for _, _, width, height in bars(picture, kind))
        samples = sum(value for _, value in row.points) * view.step * per_second * 40 / row.highest
        assert area == pytest.approx(samples, rel=0.02, abs=1)
    assert len(view.rows) == sum(len(team.flavors) for team in report.teams)
    page = render_page(fleet, usage=view)
    assert "2026-11-22 19:01 to 2026-11-22 20:00 UTC (1.0 hours), a sample every 60 s" in page
    note = view.document[-1]
    assert isinstance(note, Note)
    assert all(line.split(":")[0] in unbroken(page) for line in note.lines[:1])


def test_many_rows_have_only_a_table() -> None:
    many = replace(VIEW, rows=(ROW,) * (MAX_ROWS + 1))
    assert not many.is_drawable
    assert "usage-plot" not in render_page(evaluation("dev"), usage=many)


def test_report_takes_metrics_and_refuses_those_of_another_fleet(tmp_path: pathlib.Path) -> None:
    file, page = hour(tmp_path), tmp_path / "page.html"
    runner = CliRunner()
    done = runner.invoke(app, ["report", str(recorded.STACK_FILE), "--metrics", str(file), "-o", str(page)])
    assert done.exit_code == 0, done.output
    assert "Use of guarantees" in page.read_text(encoding="utf-8")
    done = runner.invoke(app, ["report", str(ALL_STACKS["dev"]), "--metrics", str(file)])
    assert done.exit_code == 1
    assert "no cluster queue of dev has a sample" in done.stderr
    file.write_text(file.read_text(encoding="utf-8")[:500], encoding="utf-8")
    done = runner.invoke(app, ["report", str(recorded.STACK_FILE), "--metrics", str(file)])
    assert done.exit_code == 1
    assert "Use of guarantees" not in done.stdout
