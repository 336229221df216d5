"""The table of admission policies in docs/tenancy.md is that of the policies (`make golden`)."""

from __future__ import annotations

import os
import re

from berth.manifests.policies import object_name, policies
from tests import hostile
from tests.stack_files import ROOT

PAGE = ROOT / "docs" / "tenancy.md"
_BEGIN, _END = "<!-- policies -->\n", "<!-- end of policies -->"
_ABOVE = ("pods", "jobs", "services", "serving", "runs")
"""Policies whose rejections the page lists by hand."""


def table() -> str:
    plan = hostile.fleet().policies
    assert plan is not None
    rows = [
        f"| `{object_name(each)}` | {each.refuses} | {each.applies_to} | {each.breaks} |"
        for each in policies(plan)
        if each.name not in _ABOVE
    ]
    return "\n".join(
        ["| policy | rejects | from | ordinary use that changes |", "| --- | --- | --- | --- |", *rows, ""]
    )


def test_the_page_has_the_golden_table_of_policies() -> None:
    page = PAGE.read_text(encoding="utf-8")
    head, rest = page.split(_BEGIN)
    _, tail = rest.split(_END)
    written = f"{head}{_BEGIN}{table()}{_END}{tail}"
    if os.environ.get("BERTH_GOLDEN") == "write":
        PAGE.write_text(written, encoding="utf-8")
    assert PAGE.read_text(encoding="utf-8") == written


def test_every_policy_is_on_the_page() -> None:
    plan = hostile.fleet().policies
    assert plan is not None
    named = set(re.findall(r"`(berth-[a-z]+)`", PAGE.read_text(encoding="utf-8")))
    assert {object_name(each) for each in policies(plan)} <= named
