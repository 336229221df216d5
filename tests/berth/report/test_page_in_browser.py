"""The page in a real browser: no request, no complaint, readable on a phone and in the dark, usable without a mouse."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from berth.cli.admit.simulate import run
from berth.cli.admit.timeline import story_timeline
from berth.cost.fleet import fleet_cost
from berth.cost.prices import Prices
from berth.report.bars import flavor_charts
from berth.report.page import render_page
from berth.report.view import ChangeSummary, Section
from tests.stack_files import ALL_STACKS, GKE_STACKS, ROOT, evaluation, plan

sync_api = pytest.importorskip("playwright.sync_api", reason="Playwright is not installed")

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium on PATH")

PHONE, DESK = {"width": 360, "height": 740}, {"width": 1280, "height": 900}
STACKS = ("dev", "quota-tree", "batch-platform", "reservations", "ack-fleet", "team-a")

JOBS = {"batch-platform": [str(ROOT / "stacks" / "scenarios" / "batch-platform.yaml")]}
"""Stacks whose page has jobs by time."""

every_view = pytest.mark.parametrize("scheme", ["light", "dark"])
every_size = pytest.mark.parametrize("size", [PHONE, DESK], ids=["phone", "desk"])

CONTRASTS = """() => {
  const rgb = text => (text.match(/[\\d.]+/g) || []).map(Number);
  const light = ([r, g, b]) => [r, g, b].map(v => v / 255)
    .map(v => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)
    .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
  const behind = e => {
    for (; e; e = e.parentElement) {
      const found = rgb(getComputedStyle(e).backgroundColor);
      if (found.length === 3 || found[3] === 1) return found;
    }
    return [255, 255, 255];
  };
  const found = [];
  for (const e of document.querySelectorAll('body *')) {
    const drawn = e.closest('svg');
    const own = [...e.childNodes].some(n => n.nodeType === 3 && n.textContent.trim());
    if (!own || ['STYLE', 'TITLE', 'DESC', 'style', 'title', 'desc'].includes(e.tagName)) continue;
    const ink = rgb(drawn ? getComputedStyle(e).fill : getComputedStyle(e).color);
    const paper = drawn ? rgb(getComputedStyle(e.parentElement.querySelector('rect')).fill) : behind(e);
    const [a, b] = [light(ink), light(paper)].sort((x, y) => y - x);
    found.push([(a + 0.05) / (b + 0.05), e.tagName, e.textContent.trim().slice(0, 40)]);
  }
  return found;
}"""
"""Contrast of every piece of text with what is behind it, as WCAG 2 reckons it."""

SPILLS = """() => [...document.querySelectorAll('.quota-tree g')].flatMap(g => {
  const box = g.querySelector('rect').getBBox();
  return [...g.querySelectorAll('text')].filter(t => {
    const own = t.getBBox();
    return own.x < box.x || own.y < box.y || own.x + own.width > box.x + box.width
      || own.y + own.height > box.y + box.height;
  }).map(t => t.textContent);
})"""

BARS = """() => [...document.querySelectorAll('article')].map(a => [...a.querySelectorAll('.track')].map(t => {
  const track = t.getBoundingClientRect();
  return [...t.querySelectorAll('i')].map(i => {
    const own = i.getBoundingClientRect();
    return [i.className, (own.left - track.left) / track.width, own.width / track.width];
  });
}))"""


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """Provide a headless Chromium, the system's own."""
    with sync_api.sync_playwright() as playwright:
        result = playwright.chromium.launch(executable_path=CHROMIUM)
        yield result
        result.close()


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Pages of some stacks, with what they cost and what changed."""
    folder = tmp_path_factory.mktemp("pages")
    lines = ["pool v5e REPLACED", "    because topology 2x2 → 2x4 (placementPolicy.tpuTopology)"]
    changed = ChangeSummary(
        "main", "a pool is replaced", [Section("Machines", lines=lines), Section("Objects", lines=lines, folded=True)]
    )
    written: dict[str, Path] = {}
    for stack in STACKS:
        written[stack] = folder / f"{stack}.html"
        priced = fleet_cost(plan(stack), Prices("prices.yaml", "USD", {})) if stack in GKE_STACKS else None
        timeline = (
            story_timeline(run([str(ALL_STACKS[stack]), *JOBS[stack]], (), ROOT).stories[0]) if stack in JOBS else None
        )
        written[stack].write_text(render_page(evaluation(stack), priced, changed, timeline), encoding="utf-8")
    return written


class Visit:
    """A page that was opened, with every request and complaint since."""

    def __init__(self, browser: Any, file: Path, size: dict[str, int], scheme: str = "light") -> None:
        self.context = browser.new_context(viewport=size, color_scheme=scheme)
        self.page = self.context.new_page()
        self.requests: list[str] = []
        self.complaints: list[str] = []
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.on("console", lambda message: self.complaints.append(message.text))
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.goto(file.as_uri(), wait_until="networkidle")

    def __enter__(self) -> Visit:
        return self

    def __exit__(self, *_: object) -> None:
        self.context.close()

    def focused(self) -> str:
        """What the keyboard is at: tag and text, or name."""
        return self.page.evaluate(
            "() => document.activeElement.tagName + ' ' + (document.activeElement.getAttribute('aria-label')"
            " || document.activeElement.textContent.trim())"
        )


@pytest.mark.parametrize("stack", STACKS)
def test_a_page_makes_no_request_and_no_complaint(browser: Any, files: dict[str, Path], stack: str) -> None:
    with Visit(browser, files[stack], DESK) as visit:
        assert [url for url in visit.requests if not url.startswith("data:")] == [files[stack].as_uri()]
        assert visit.complaints == []
        assert visit.page.title() == f"{stack} · Berth"


@every_size
@pytest.mark.parametrize("stack", STACKS)
def test_a_page_is_no_wider_than_the_screen(
    browser: Any, files: dict[str, Path], stack: str, size: dict[str, int]
) -> None:
    """What is wider scrolls inside its own region."""
    with Visit(browser, files[stack], size) as visit:
        visit.page.evaluate("() => document.querySelectorAll('details').forEach(d => d.open = true)")
        assert visit.page.evaluate("() => document.documentElement.scrollWidth") <= size["width"]
        assert visit.page.evaluate(SPILLS) == []


@every_view
@pytest.mark.parametrize("stack", STACKS)
def test_all_text_stands_out_from_what_is_behind_it(
    browser: Any, files: dict[str, Path], stack: str, scheme: str
) -> None:
    """WCAG 2, level AA: 4.5 to 1."""
    with Visit(browser, files[stack], PHONE, scheme) as visit:
        visit.page.evaluate("() => document.querySelectorAll('details').forEach(d => d.open = true)")
        result = visit.page.evaluate(CONTRASTS)
        assert len(result) > 40
        assert [each for each in result if each[0] < 4.5] == []


def test_a_page_is_dark_for_who_likes_it_dark(browser: Any, files: dict[str, Path]) -> None:
    shades: list[int] = []
    for scheme in ("light", "dark"):
        with Visit(browser, files["dev"], DESK, scheme) as visit:
            shade = visit.page.evaluate(
                "() => getComputedStyle(document.body).backgroundColor.match(/\\d+/g).map(Number)"
            )
            shades.append(sum(shade))
    assert shades[0] > 600
    assert shades[1] < 150


def test_a_page_is_read_without_a_mouse(browser: Any, files: dict[str, Path]) -> None:
    with Visit(browser, files["dev"], DESK) as visit:
        visit.page.keyboard.press("Tab")
        assert visit.focused() == "A Skip to the report"
        assert visit.page.locator(".skip").bounding_box()["x"] >= 0
        visit.page.keyboard.press("Enter")
        assert visit.page.evaluate("() => document.activeElement.id") == "main"
        seen: list[str] = []
        for _ in range(60):
            visit.page.keyboard.press("Tab")
            outline = visit.page.evaluate("() => getComputedStyle(document.activeElement).outlineStyle")
            if visit.focused() in seen or visit.focused().startswith("BODY"):
                break
            assert outline != "none"
            seen.append(visit.focused())
        regions = visit.page.locator("main .wide, main summary").count()
        shut = visit.page.locator("details:not([open]) .wide").count()
        assert len(seen) == regions - shut


def test_what_is_folded_opens_by_the_keyboard(browser: Any, files: dict[str, Path]) -> None:
    with Visit(browser, files["dev"], DESK) as visit:
        folded = visit.page.locator("#tree details")
        folded.locator("summary").focus()
        assert folded.get_attribute("open") is None
        visit.page.keyboard.press("Enter")
        assert folded.get_attribute("open") is not None


@pytest.mark.parametrize("stack", STACKS)
def test_bars_are_drawn_as_long_as_they_are(browser: Any, files: dict[str, Path], stack: str) -> None:
    with Visit(browser, files[stack], DESK) as visit:
        drawn = visit.page.evaluate(BARS)
    shown = evaluation(stack).plan or evaluation(stack).ack_plan
    if shown is None:  # a team's own stack has none
        assert drawn == []
        return
    expected = [
        [
            [[s.kind, s.start / chart.scale, (s.end - s.start) / chart.scale] for s in bar.segments]
            for bar in (*chart.totals, *chart.teams)
        ]
        for chart in flavor_charts(shown)
    ]
    flat = [stretch for chart in drawn for bar in chart for stretch in bar]
    wanted = [stretch for chart in expected for bar in chart for stretch in bar]
    assert [[len(bar) for bar in chart] for chart in drawn] == [[len(bar) for bar in chart] for chart in expected]
    for one, other in zip(flat, wanted, strict=True):
        assert one[0] == other[0]
        assert one[1:] == pytest.approx(other[1:], abs=0.01)


def test_jobs_are_drawn_as_long_as_they_were_in(browser: Any, files: dict[str, Path]) -> None:
    """Against the decisions themselves: from the step that admits a job to the one that it loses its place in."""
    story = run([str(ALL_STACKS["batch-platform"]), *JOBS["batch-platform"]], (), ROOT).stories[0]
    inside: dict[str, int] = {}
    for moment in story.steps:
        for row in moment.outcomes:
            if row.status == "admitted":
                inside[row.job] = len(story.steps) - moment.number + 1
            elif row.preempted_by is not None:
                inside[row.job] -= len(story.steps) - moment.number + 1
    with Visit(browser, files["batch-platform"], DESK) as visit:
        drawn = visit.page.evaluate(
            """() => Object.fromEntries([...document.querySelectorAll('.timeline g')]
                .filter(g => g.querySelector('.admitted'))
                .map(g => [g.querySelector('text').textContent, g.querySelector('.admitted').getBBox().width]))"""
        )
    assert drawn.keys() == {story.display_names[job] for job in inside}
    step = max(drawn.values()) / max(inside.values())
    for job, steps in inside.items():
        assert drawn[story.display_names[job]] == pytest.approx(steps * step, abs=2)
