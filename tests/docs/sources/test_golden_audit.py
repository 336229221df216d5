"""docs/audit.md is written from an audit of the five sources, item by item, with where each item is here.

An item is a published object, whose fields `tests/docs/sources/published.py` compares, or a command, an output or a
statement, which a page or a file here must have. `tests/vendored/audit` has one file for each source, in its order.
"""

from __future__ import annotations

import os
from collections import Counter
from typing import Literal

import pytest
from msgspec import Struct, convert

from berth.yaml_loader import load_table
from tests.docs.sources.published import ABSENT, SYSTEMS, differences, row_of
from tests.stack_files import ROOT

PAGE = ROOT / "docs" / "audit.md"
ORDER = ("multislice", "hotswap", "dws", "ack", "batch-platform")
Verdict = Literal["equal", "better", "different", "missing"]
VERDICTS: tuple[Verdict, ...] = ("equal", "better", "different", "missing")
REASONS = ("the source contradicts itself", "a newer release", "safety", "another scope")
HEAD = """\
# The five sources, item by item

Every object, command, printed result and statement of the five published systems, in their order, and where it is here.
*Equal* is the same; *better* does the same with less work or more safety; *different* has a row with a reason of the
closed list of [sources.md](sources.md). An object is equal if each field that the source writes has its value here, in
any version of its API; what Berth adds to it has rows there. Written by `make golden` from `tests/vendored/audit`; a
test fails on a place that does not have what it should.

"""


class Item(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, rename={"file": "in"}):
    """One item of a source.

    `of` is a system and an object of it; else the file `in` (by default the source's walk) has `text`.
    """

    item: str
    of: str = ""
    file: str = ""
    text: str = ""
    verdict: Verdict | None = None
    why: str = ""

    def judged(self) -> tuple[Verdict, str]:
        """Return the verdict, and why it is not `equal`."""
        if self.verdict is not None:
            return self.verdict, self.why
        system, _, name = self.of.partition(" ")
        found = [each for each in differences(system) if each.of == name and each.published != ABSENT]
        changed = [each for each in found if each.field != "apiVersion"]
        rows = [row_of(system, each) for each in changed]
        whys = dict.fromkeys(row.why for row in rows if row is not None)
        return ("different", "; ".join(whys)) if changed else ("equal", "")


class Source(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A source: its title, its walk, and its items in its order."""

    title: str
    page: str
    items: tuple[Item, ...]


SOURCES = {name: convert(load_table(ROOT / "tests" / "vendored" / "audit" / f"{name}.yaml"), Source) for name in ORDER}
ITEMS = [(source, item) for source in SOURCES.values() for item in source.items]


def page() -> str:
    """Return the page: a count for each source, then its items."""
    lines = [
        "| source | items | equal | better | different, with a row | missing |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    totals: Counter[str] = Counter()
    for source in SOURCES.values():
        counts = Counter(item.judged()[0] for item in source.items)
        totals += counts
        lines.append(f"| {source.title} | {len(source.items)} | {' | '.join(str(counts[each]) for each in VERDICTS)} |")
    lines.append(f"| all | {totals.total()} | {' | '.join(str(totals[each]) for each in VERDICTS)} |")
    for source in SOURCES.values():
        lines += ["", f"## {source.title}", "", "| item | here | verdict | why |", "| --- | --- | --- | --- |"]
        lines += [f"| {item.item} | {_where(source, item)} | {' | '.join(item.judged())} |" for item in source.items]
    return HEAD + "\n".join(lines) + "\n"


def _where(source: Source, item: Item) -> str:
    if item.of:
        return f"`{item.of.partition(' ')[2]}`"
    file = item.file or source.page
    return f"[{file}](../{file})".replace("../docs/", "") if file.endswith(".md") else f"`{file}`"


def test_the_page_is_the_golden_page() -> None:
    if os.environ.get("BERTH_GOLDEN") == "write":
        PAGE.write_text(page(), encoding="utf-8")
    assert PAGE.read_text(encoding="utf-8") == page()


@pytest.mark.parametrize(("source", "item"), ITEMS, ids=[item.item for _, item in ITEMS])
def test_an_item_is_where_the_audit_says(source: Source, item: Item) -> None:
    if item.of:
        system, _, name = item.of.partition(" ")
        published = SYSTEMS[system]
        of_jobs = [f"{of} ({job})" for job, objects in published.jobs.items() for of in objects]
        assert name in {*published.cloud, *published.objects, *of_jobs}
    else:
        text = " ".join((ROOT / (item.file or source.page)).read_text(encoding="utf-8").split())
        assert item.text
        assert " ".join(item.text.split()) in text
        assert (item.verdict == "equal") == (item.why == "")
        assert item.verdict != "different" or item.why.startswith(tuple(f"{each}: " for each in REASONS))


def test_every_published_object_is_an_item() -> None:
    audited = {item.of for _, item in ITEMS}
    for name in ("multislice", "hotswap", "dws", "ack-gang", "ack-fleet", "batch-platform"):
        published = SYSTEMS[name]
        objects = [*published.cloud, *published.objects]
        objects += [f"{of} ({job})" for job, each in published.jobs.items() for of in each if "Service/" not in of]
        assert [of for of in objects if f"{name} {of}" not in audited] == []


def test_nothing_is_missing() -> None:
    assert [item.item for _, item in ITEMS if item.judged()[0] == "missing"] == []
