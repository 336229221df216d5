"""The tables of docs/tenancy.md are those of the policies and of what was measured (`make golden`)."""

from __future__ import annotations

import os
import re
from typing import Any

from berth.manifests.policies import object_name, policies
from berth.yaml_loader import load_table
from tests import hostile
from tests.e2e import test_attacks_for_real
from tests.stack_files import ROOT

PAGE = ROOT / "docs" / "tenancy.md"
_MEASURED = ROOT / "tests" / "e2e" / "hostile" / "measured.yaml"
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


def measured() -> list[dict[str, Any]]:
    return load_table(_MEASURED)


def measured_table() -> str:
    rows = [
        f"| {each['attack']} | {'yes' if each['refused'] else 'no'} | {each['most']} | {each['total']} | "
        f"{each['lender']} s | {_without(each)} |"
        for each in measured()
    ]
    head = "| attack | refused | most L4 above the count | L4-seconds | lender ran after | without the policies |"
    return "\n".join([head, "| --- | --- | --- | --- | --- | --- |", *rows, ""])


def _without(row: dict[str, Any]) -> str:
    """Return what an attack did without the policies: L4 above the count, L4-seconds, and when the lender ran."""
    if "without" not in row:
        return ""
    lender = "never" if row["without"]["lender"] is None else f"{row['without']['lender']} s"
    return f"{row['without']['most']}, {row['without']['total']}, {lender}"


def test_the_page_has_the_golden_tables_of_policies_and_attacks() -> None:
    written = PAGE.read_text(encoding="utf-8")
    for name, text in (("policies", table()), ("measured", measured_table())):
        begin, end = f"<!-- {name} -->\n", f"<!-- end of {name} -->"
        head, rest = written.split(begin)
        written = f"{head}{begin}{text}{end}{rest.split(end)[1]}"
    if os.environ.get("BERTH_GOLDEN") == "write":
        PAGE.write_text(written, encoding="utf-8")
    assert PAGE.read_text(encoding="utf-8") == written


def test_every_policy_is_on_the_page() -> None:
    plan = hostile.fleet().policies
    assert plan is not None
    named = set(re.findall(r"`(berth-[a-z]+)`", PAGE.read_text(encoding="utf-8")))
    assert {object_name(each) for each in policies(plan)} <= named


def test_every_attack_has_a_measurement_and_every_measurement_an_attack() -> None:
    assert {each["attack"] for each in measured()} == set(test_attacks_for_real.ATTACKS)


def test_every_measured_lender_ran_within_its_bound() -> None:
    bounds = test_attacks_for_real.BOUNDS
    late = [row for row in measured() if row["lender"] > bounds.get(row["attack"], test_attacks_for_real.BOUND)]
    assert late == []
    assert [row for row in measured() if row["seconds"] > test_attacks_for_real.REACTION] == []
