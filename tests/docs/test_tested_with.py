"""Docs name the release that each claim was tested with: the pin, on each page that tells what ran."""

from __future__ import annotations

import re

from berth.versions.standing import newest_run
from tests.stack_files import ROOT

DOCS = ROOT / "docs"


def test_each_page_of_the_table_names_the_release_that_ran() -> None:
    table = (
        (DOCS / "upgrade.md").read_text(encoding="utf-8").split("## What ran with which release")[1].split("\n## ")[0]
    )
    rows = re.findall(r"(?m)^\| [^|]+ \| ([^|]+) \| \[([a-z0-9-]+\.md)\]", table)
    assert len(rows) >= 5
    for claim, page in rows:
        assert newest_run("kueue") in claim, f"{page}: test the claim with the pin, or say with what it was tested"
        if page != "faults.md":
            assert newest_run("kueue") in (DOCS / page).read_text(encoding="utf-8"), page


def test_no_page_claims_to_have_run_a_release_that_did_not() -> None:
    """Of newer releases there are changelogs; a sentence that one of them ran would be false."""
    said = {
        (page.name, release)
        for page in DOCS.glob("*.md")
        for release in re.findall(r"ran (?:with|on) Kueue (\d+\.\d+\.\d+)", page.read_text(encoding="utf-8"))
    }
    assert {release for _, release in said} <= {newest_run("kueue")}
