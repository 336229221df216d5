"""Take the pictures of the report in docs/ again, with the system's Chromium: `python -m tests.pictures`."""

from __future__ import annotations

import pathlib
import shutil
import tempfile

from playwright.sync_api import Browser, sync_playwright

from berth.evaluate import evaluate_stack
from berth.report.page import render_page
from tests import fleets

DOCS = pathlib.Path(__file__).resolve().parents[1] / "docs"
CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
TEAMS = 40


def main() -> None:
    """Write report.png, report-phone.png and report-40-teams.png."""
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM)
        dev = _page(pathlib.Path(folder, "dev.html"), DOCS.parent / "Pulumi.dev.yaml")
        many = _page(pathlib.Path(folder, "many.html"), fleets.write(pathlib.Path(folder, "many"), TEAMS))
        _take(browser, dev, "report.png", 1000, 900)
        _take(browser, dev, "report-phone.png", 390, 1400, scheme="dark")
        _take(browser, many, "report-40-teams.png", 1400, 1500, words="team-00013")
        browser.close()


def _page(page: pathlib.Path, stack: pathlib.Path) -> pathlib.Path:
    page.write_text(render_page(evaluate_stack(str(stack), stack.parent)), encoding="utf-8")
    return page


def _take(
    browser: Browser, page: pathlib.Path, name: str, width: int, height: int, scheme: str = "light", words: str = ""
) -> None:
    context = browser.new_context(viewport={"width": width, "height": height}, color_scheme=scheme)  # pyright: ignore[reportArgumentType]
    tab = context.new_page()
    tab.goto(page.as_uri())
    if words:
        tab.get_by_label("Filter").fill(words)
    tab.screenshot(path=DOCS / name)
    context.close()
    print(f"docs/{name}: {(DOCS / name).stat().st_size // 1024} KB")


if __name__ == "__main__":
    main()
