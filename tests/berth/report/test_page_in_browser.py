"""The page in a real browser: no request, no complaint, readable on a phone and in the dark, usable without a mouse."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from berth.backends.interface import backend_of
from berth.cli.admit.simulate import simulate_arguments
from berth.cli.admit.timeline import story_timeline
from berth.cost.fleet import fleet_cost
from berth.cost.prices import Prices
from berth.diagnostics import Problem
from berth.document import Heading, Lines
from berth.evaluate import evaluate_stack
from berth.plan.ack import AckFleetPlan
from berth.plan.fleet import FleetPlan
from berth.report.bars import flavor_charts
from berth.report.page import render_page
from berth.report.svg import tree_svg
from berth.report.tree import quota_tree_boxes
from berth.report.view import ChangeSummary
from tests import fleets
from tests.stack_files import ALL_STACKS, GKE_STACKS, ROOT, evaluation, plan

sync_api = pytest.importorskip("playwright.sync_api", reason="Playwright is not installed")

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium on PATH")

PHONE, DESK = {"width": 390, "height": 844}, {"width": 1400, "height": 900}
FORTY = "bench"
"""A generated fleet of 40 teams in 4 cohorts."""

STACKS = ("dev", "quota-tree", "batch-platform", "reservations", "ack-fleet", "team-a", FORTY)

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
      const color = rgb(getComputedStyle(e).backgroundColor);
      if (color.length === 3 || color[3] === 1) return color;
    }
    return [255, 255, 255];
  };
  const contrasts = [];
  for (const e of document.querySelectorAll('body *')) {
    const drawn = e.closest('svg');
    const own = [...e.childNodes].some(n => n.nodeType === 3 && n.textContent.trim());
    if (!own || ['STYLE', 'TITLE', 'DESC', 'style', 'title', 'desc'].includes(e.tagName)) continue;
    const ink = rgb(drawn ? getComputedStyle(e).fill : getComputedStyle(e).color);
    const paper = drawn ? rgb(getComputedStyle(e.parentElement.querySelector('rect')).fill) : behind(e);
    const [a, b] = [light(ink), light(paper)].sort((x, y) => y - x);
    contrasts.push([(a + 0.05) / (b + 0.05), e.tagName, e.textContent.trim().slice(0, 40)]);
  }
  return contrasts;
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

LANES = """() => Object.fromEntries([...document.querySelectorAll('.lane:not(.ticks)')].map(lane => {
  const track = lane.querySelector('.track').getBoundingClientRect().width;
  const widths = [...lane.querySelectorAll('.admitted')].map(i => i.getBoundingClientRect().width / track);
  return [lane.querySelector('.label').firstChild.textContent.trim(), widths.reduce((a, b) => a + b, 0)];
}))"""
"""Each job with the part of the width in which it is admitted."""

OPEN_ALL = "() => document.querySelectorAll('details').forEach(d => d.open = true)"

PIECES = """const seen = (parent, r) => {
  const region = parent.closest('.wide')?.getBoundingClientRect();  // what a region has scrolled away is not seen
  return !region || (r.bottom <= region.bottom && r.right <= region.right);
};
const pieces = (everything) => {
  const walker = document.createTreeWalker(document.querySelector('body'), NodeFilter.SHOW_TEXT);
  const all = [];
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const parent = node.parentElement;
    if (!node.textContent.trim() || ['style', 'script', 'title', 'desc'].includes(parent.localName)) continue;
    if (!parent.checkVisibility() || parent.closest('.skip, .filter')) continue;
    const range = document.createRange();
    range.selectNodeContents(node);
    for (const r of range.getClientRects())
      if (r.width > 1 && (everything || seen(parent, r)))
        all.push({node, parent, r, text: node.textContent.trim().slice(0, 40)});
  }
  return all;
};"""
"""Every visible line of text with its rectangle."""

CUT = f"""() => {{ {PIECES}
  return pieces(true).filter(({{parent, r}}) => {{
    for (let at = parent; at && at.tagName !== 'BODY'; at = at.parentElement) {{
      const overflow = getComputedStyle(at).overflowX;
      if (['auto', 'scroll'].includes(overflow)) return false;  // it scrolls to the rest
      const own = at.getBoundingClientRect();
      if (['hidden', 'clip'].includes(overflow) && (r.right > own.right + 1 || r.left < own.left - 1)) return true;
    }}
    return r.right > innerWidth + 1 || r.left < -1;
  }}).map(each => each.text);
}}"""

OVERLAPS = f"""() => {{ {PIECES}
  const all = pieces().filter(({{parent}}) => !parent.closest('svg')).sort((a, b) => a.r.top - b.r.top);
  const result = [];
  for (let i = 0; i < all.length; i++)
    for (let j = i + 1; j < all.length && all[j].r.top < all[i].r.bottom - 4; j++) {{
      const [a, b] = [all[i].r, all[j].r];
      if (all[i].node !== all[j].node && Math.min(a.right, b.right) - Math.max(a.left, b.left) > 2
          && Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 6)
        result.push([all[i].text, all[j].text]);
    }}
  return result;
}}"""
"""Pairs of texts that cover each other by more than their line spacing."""


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """Provide a headless Chromium, the system's own."""
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM)
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Pages of some stacks, with what they cost and what changed."""
    folder = tmp_path_factory.mktemp("pages")
    lines = [("pool v5e REPLACED", "because topology 2x2 → 2x4 (placementPolicy.tpuTopology)")]
    changed = ChangeSummary(
        "main", [Heading("a pool is replaced"), Lines("Machines", lines), Lines("Objects", lines, folded=True)]
    )
    written: dict[str, Path] = {FORTY: folder / f"{FORTY}.html"}
    many = fleets.write(folder / "forty", 40)
    written[FORTY].write_text(render_page(evaluate_stack(str(many), many.parent)), encoding="utf-8")
    for stack in STACKS[:-1]:
        written[stack] = folder / f"{stack}.html"
        priced = fleet_cost(plan(stack), Prices("prices.yaml", "USD", {})) if stack in GKE_STACKS else None
        timeline = (
            story_timeline(simulate_arguments([str(ALL_STACKS[stack]), *JOBS[stack]], (), ROOT).stories[0])
            if stack in JOBS
            else None
        )
        written[stack].write_text(render_page(evaluation(stack), priced, changed, timeline), encoding="utf-8")
    return written


class Visit:
    """A page that was opened, with every request and complaint since."""

    def __init__(self, browser: Any, file: Path, size: dict[str, int], scheme: str = "light") -> None:
        """Open a page. It is done when it is loaded: the test of requests holds that nothing comes later."""
        self.context = browser.new_context(viewport=size, color_scheme=scheme)
        self.page = self.context.new_page()
        self.requests: list[str] = []
        self.complaints: list[str] = []
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.on("console", lambda message: self.complaints.append(message.text))
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.goto(file.as_uri())

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


Opened = Callable[[str, dict[str, int]], Any]


@pytest.fixture(scope="module")
def opened(browser: Any, files: dict[str, Path]) -> Iterator[Opened]:
    """Open the page of a stack at a size once, for all tests that only read it; all that is folded is open."""
    visits: dict[tuple[str, int], Visit] = {}

    def open_once(stack: str, size: dict[str, int]) -> Any:
        key = stack, size["width"]
        if key not in visits:
            visits[key] = Visit(browser, files[stack], size)
            visits[key].page.evaluate(OPEN_ALL)
        return visits[key].page

    yield open_once
    for visit in visits.values():
        visit.context.close()


@pytest.mark.parametrize("stack", STACKS)
def test_a_page_makes_no_request_and_logs_no_error(browser: Any, files: dict[str, Path], stack: str) -> None:
    with Visit(browser, files[stack], DESK) as visit:
        visit.page.wait_for_load_state("networkidle")
        assert [url for url in visit.requests if not url.startswith("data:")] == [files[stack].as_uri()]
        assert visit.complaints == []
        assert visit.page.title() == f"{stack} · Berth"


@every_size
@pytest.mark.parametrize("stack", STACKS)
def test_a_page_is_no_wider_than_the_screen(opened: Opened, stack: str, size: dict[str, int]) -> None:
    """What is wider scrolls inside its own region."""
    page = opened(stack, size)
    assert page.evaluate("() => document.documentElement.scrollWidth") <= size["width"]
    assert page.evaluate(SPILLS) == []


@every_view
@pytest.mark.parametrize("stack", STACKS)
def test_all_text_has_enough_contrast(opened: Opened, stack: str, scheme: str) -> None:
    """WCAG 2, level AA: 4.5 to 1."""
    page = opened(stack, PHONE)
    page.emulate_media(color_scheme=scheme)
    contrasts = page.evaluate(CONTRASTS)
    assert len(contrasts) > 40
    assert [each for each in contrasts if each[0] < 4.5] == []


def test_a_page_follows_the_preferred_color_scheme(browser: Any, files: dict[str, Path]) -> None:
    shades: list[int] = []
    for scheme in ("light", "dark"):
        with Visit(browser, files["dev"], DESK, scheme) as visit:
            shade = visit.page.evaluate(
                "() => getComputedStyle(document.body).backgroundColor.match(/\\d+/g).map(Number)"
            )
            shades.append(sum(shade))
    assert shades[0] > 600
    assert shades[1] < 150


def test_a_page_works_with_the_keyboard(browser: Any, files: dict[str, Path]) -> None:
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
        regions = visit.page.locator("main .wide:visible, main summary:visible").count()
        assert len(seen) == regions


def test_folded_sections_open_with_the_keyboard(browser: Any, files: dict[str, Path]) -> None:
    with Visit(browser, files["dev"], DESK) as visit:
        folded = visit.page.locator("#problems details")
        folded.locator("summary").focus()
        assert folded.get_attribute("open") is None
        visit.page.keyboard.press("Enter")
        assert folded.get_attribute("open") is not None


@pytest.mark.parametrize("stack", STACKS[:-1])
def test_bars_are_drawn_to_scale(browser: Any, files: dict[str, Path], stack: str) -> None:
    with Visit(browser, files[stack], DESK) as visit:
        drawn = visit.page.evaluate(BARS)
    shown = evaluation(stack).plan
    if not isinstance(shown, FleetPlan | AckFleetPlan):  # a team's own stack has none
        assert drawn == []
        return
    expected = [
        [
            [[s.kind, s.start / chart.scale, (s.end - s.start) / chart.scale] for s in bar.segments]
            for bar in (*chart.totals, *chart.teams)
        ]
        for chart in flavor_charts(shown, getattr(shown, "workers", ()))
    ]
    flat = [stretch for chart in drawn for bar in chart for stretch in bar]
    wanted = [stretch for chart in expected for bar in chart for stretch in bar]
    assert [[len(bar) for bar in chart] for chart in drawn] == [[len(bar) for bar in chart] for chart in expected]
    for one, other in zip(flat, wanted, strict=True):
        assert one[0] == other[0]
        assert one[1:] == pytest.approx(other[1:], abs=0.01)


def test_jobs_are_drawn_for_their_admitted_steps(browser: Any, files: dict[str, Path]) -> None:
    """Against the decisions themselves: from the step that admits a job to the one that it loses its place in."""
    story = simulate_arguments([str(ALL_STACKS["batch-platform"]), *JOBS["batch-platform"]], (), ROOT).stories[0]
    inside: dict[str, int] = {}
    since: dict[str, int] = {}
    for moment in story.steps:
        for row in moment.outcomes:
            if row.status == "admitted":
                since.setdefault(row.job, moment.number)
            elif row.job in since:
                inside[row.job] = inside.get(row.job, 0) + moment.number - since.pop(row.job)
    for job, start in since.items():
        inside[job] = inside.get(job, 0) + len(story.steps) + 1 - start
    names = {story.display_names[job] for job in inside}
    for size in (PHONE, DESK):
        with Visit(browser, files["batch-platform"], size) as visit:
            lanes = visit.page.evaluate(LANES)
        drawn = {job: width for job, width in lanes.items() if width}
        assert drawn.keys() == names
        for job, steps in inside.items():
            assert drawn[story.display_names[job]] == pytest.approx(steps / len(story.steps), abs=0.01)


# --- nothing is cut, nothing overlaps ---------------------------------------------------------------------------------


@every_size
@pytest.mark.parametrize("stack", STACKS)
def test_no_text_is_cut(opened: Opened, stack: str, size: dict[str, int]) -> None:
    """Text ends inside the screen, and inside every box that hides what is outside it."""
    assert opened(stack, size).evaluate(CUT) == []


@every_size
@pytest.mark.parametrize("stack", STACKS)
def test_no_text_covers_another(opened: Opened, stack: str, size: dict[str, int]) -> None:
    assert opened(stack, size).evaluate(OVERLAPS) == []


@pytest.mark.parametrize("stack", STACKS)
def test_tables_are_cards_on_a_phone_and_what_scrolls_says_so(browser: Any, files: dict[str, Path], stack: str) -> None:
    with Visit(browser, files[stack], PHONE) as visit:
        assert visit.page.locator(".cards thead:visible").count() == 0
        labels = visit.page.locator(".cards td:visible").first
        if labels.count():
            content = labels.evaluate("e => getComputedStyle(e, '::before').content")
            assert json.loads(content) == f"{labels.get_attribute('data-label')} "
        for region in visit.page.locator(".wide:visible").all():
            wider = region.evaluate("e => e.scrollWidth > e.clientWidth + 1")
            cue = region.evaluate("e => getComputedStyle(e, '::before').content")
            assert ("scroll sideways" in cue) == wider
            assert not (wider and region.locator(".cards").count())


def test_a_team_is_one_card_and_the_matrix_a_list_on_a_phone(browser: Any, files: dict[str, Path]) -> None:
    """Nothing scrolls sideways; a team's name stands once, also where the filter hides its first row."""
    with Visit(browser, files["dev"], PHONE) as visit:
        assert visit.page.locator(".scrolls:visible").count() == 0
        assert visit.page.locator("#teams th:visible").all_inner_texts() == ["language", "speech", "vision"]
        row = visit.page.locator(".matrix tbody tr:visible").first
        assert row.locator("td:visible").count() == row.locator("td.on").count() > 0
        told = row.locator("td.on").first.evaluate("e => getComputedStyle(e, '::before').content")
        assert json.loads(told).strip() == row.locator("td.on").first.get_attribute("data-queue")
        visit.page.get_by_label("Filter").fill("speech v5e")
        assert visit.page.locator("#teams th:visible").all_inner_texts() == ["speech"]


@pytest.mark.parametrize("stack", STACKS)
def test_the_quota_tree_is_an_outline_on_a_phone_and_a_picture_on_a_wide_screen(
    browser: Any, files: dict[str, Path], stack: str
) -> None:
    """Every box of the tree is in the outline, with every line; a large tree is folded on any screen."""
    boxes = backend_of(evaluation(stack)).tree(evaluation(stack)) if stack != FORTY else ()
    assert not isinstance(boxes, Problem)
    with Visit(browser, files[stack], PHONE) as visit:
        assert visit.page.locator(".quota-tree:visible").count() == 0
        assert visit.page.locator(".outline:visible").count() == 1
        if boxes:
            read = visit.page.locator(".outline strong, .outline .quota").all_inner_texts()
            assert read == [line for box in boxes for line in box.lines]
    with Visit(browser, files[stack], DESK) as visit:
        assert visit.page.locator(".quota-tree:visible").count() == (stack != FORTY)
        assert visit.page.locator(".outline:visible").count() == (stack == FORTY)


def test_forty_teams_fit_on_four_screens(browser: Any, files: dict[str, Path]) -> None:
    for size, most in ((DESK, 3600), (PHONE, 5200)):
        with Visit(browser, files[FORTY], size) as visit:
            assert visit.page.evaluate("() => document.documentElement.scrollHeight") < most
            assert visit.page.locator("#teams summary").all_inner_texts() == [
                f"Cohort cohort-{n}: 10 teams" for n in range(4)
            ]


@every_size
def test_the_filter_shows_the_rows_of_one_team(browser: Any, files: dict[str, Path], size: dict[str, int]) -> None:
    with Visit(browser, files[FORTY], size) as visit:
        visit.page.get_by_label("Filter").fill("Team-00013 L4-spot")
        assert visit.page.locator("#teams tbody tr:visible").count() == 1
        assert visit.page.locator("#teams tbody tr:visible th").inner_text() == "team-00013"
        assert visit.page.locator(".bar.team:visible").count() == 1
        queues = visit.page.locator(".outline li:not(:has(li)):visible strong").all_inner_texts()
        assert queues == ["team-00013-batch", "team-00013-urgent"]
        assert visit.page.locator("#pools:visible").count() == 0
        assert visit.page.locator("#filter-count").inner_text().startswith("5 of ")  # with the warning that names it
        visit.page.get_by_label("Filter").fill("no such team")
        assert visit.page.locator("#filter-count").inner_text() == "nothing matches"
        visit.page.get_by_label("Filter").fill("")
        assert visit.page.locator("#teams tbody tr:visible").count() == 0  # folded again
        assert visit.page.locator("section:visible").count() == visit.page.locator("section").count()
        assert visit.complaints == []


def test_the_filter_shows_all_of_a_cohort(browser: Any, files: dict[str, Path]) -> None:
    with Visit(browser, files[FORTY], DESK) as visit:
        visit.page.get_by_label("Filter").fill("cohort-2")
        assert visit.page.locator("#teams tbody tr:visible").count() == 30
        assert visit.page.locator(".outline li:not(:has(li)):visible").count() == 30
        assert visit.page.locator(".matrix tbody tr:visible").count() == 30


def test_a_page_without_scripts_shows_everything_but_the_filter(browser: Any, files: dict[str, Path]) -> None:
    context = browser.new_context(viewport=DESK, java_script_enabled=False)
    page = context.new_page()
    page.goto(files["dev"].as_uri())
    assert page.locator("#filter").is_hidden()
    assert page.locator("#teams tbody tr").first.is_visible()
    context.close()


def test_the_head_of_a_table_stays_while_its_rows_scroll(browser: Any, files: dict[str, Path]) -> None:
    with Visit(browser, files[FORTY], {"width": 1400, "height": 500}) as visit:
        visit.page.locator("#teams summary").first.click()
        region = visit.page.locator("#teams .wide").first
        before = region.locator("thead th").first.bounding_box()
        region.evaluate("e => e.scrollTo(0, 400)")
        after = region.locator("thead th").first.bounding_box()
        assert region.evaluate("e => e.scrollTop") == 400
        assert after["y"] == pytest.approx(before["y"], abs=1)


@every_size
def test_the_timeline_uses_the_width(browser: Any, files: dict[str, Path], size: dict[str, int]) -> None:
    with Visit(browser, files["batch-platform"], size) as visit:
        section = visit.page.locator("#admission").bounding_box()
        lane = visit.page.locator(".lane").first.bounding_box()
        assert lane["width"] > 0.9 * section["width"] - 30


@every_size
def test_a_label_is_next_to_its_bar(browser: Any, files: dict[str, Path], size: dict[str, int]) -> None:
    with Visit(browser, files["dev"], size) as visit:
        for bar in visit.page.locator(".bar").all():
            label, track, figure = (bar.locator(f".{part}").bounding_box() for part in ("label", "track", "figure"))
            assert label["x"] + label["width"] <= track["x"]
            assert track["x"] + track["width"] <= figure["x"]
            for text in (label, figure):
                assert text["y"] <= track["y"] + track["height"] / 2 <= text["y"] + text["height"]


def test_a_graph_scales_to_its_window(browser: Any, tmp_path: Path) -> None:
    """`berth graph --format svg` in a window of its own: not wider than the window, with its aspect ratio."""
    file = tmp_path / "tree.svg"
    boxes = quota_tree_boxes(plan("quota-tree"))
    file.write_text(tree_svg(boxes, "Quota tree"), encoding="utf-8")
    shapes: list[float] = []
    for width in (400, 4000):
        page = browser.new_page(viewport={"width": width, "height": 800})
        page.goto(file.as_uri())
        shape = page.evaluate("() => document.documentElement.getBoundingClientRect().toJSON()")
        assert shape["width"] <= width
        shapes.append(shape["width"] / shape["height"])
        page.close()
    assert shapes[0] == pytest.approx(shapes[1], rel=0.01)
