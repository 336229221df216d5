"""docs/how-to/from-xpk.md: the command on the page gives the stack file that it begins with, and that has no fault."""

from __future__ import annotations

import re

import yaml

from berth.adopt.sources.described import read_source
from berth.cli.adopt.described import describe_source
from berth.cli.drain import evaluate_drained
from tests.berth.adopt.sources.pool_rows import pool_rows
from tests.stack_files import ROOT

PAGE = (ROOT / "docs" / "how-to" / "from-xpk.md").read_text(encoding="utf-8")


def test_the_page_begins_with_the_stack_file_of_its_command() -> None:
    blocks = re.findall(r"```(yaml|sh)\n(.*?)```", PAGE, re.DOTALL)
    assert [kind for kind, _ in blocks[:2]] == ["yaml", "sh"]
    (_, text), (_, command) = blocks[:2]
    written = describe_source(read_source({"create-cluster.sh": command}, {}), "demo").stack_file
    fleet, adopted = (yaml.safe_load(each)["config"]["berth:fleet"] for each in (text, written))
    assert fleet["cluster"].pop("maintenance")
    assert {key: value for key, value in fleet.items() if key not in ("cohorts", "teams")} == adopted
    evaluation = evaluate_drained(text, "demo")
    assert evaluation.faults == ()
    plan = evaluation.fleet_plan
    assert plan is not None
    assert [row.split()[0] for row in pool_rows(plan)] == [*(f"demo-np-{at}" for at in range(4)), "system"]
    assert sum(team.guaranteed["demo-np"] for team in plan.teams) == 4 * 16
