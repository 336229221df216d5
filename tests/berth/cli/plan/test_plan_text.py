"""`berth plan` as text: every figure, parsed from the text, equals that of the JSON."""

from __future__ import annotations

import re
from typing import Any

import pytest

from berth.cli.split import split_document
from berth.document import Share, Table
from berth.document.text import render_text
from berth.evaluate import Evaluation
from berth.overview.cohorts import cohort_table
from berth.overview.fleet import fleet_document
from berth.simulator.fleet import build_simulated_fleet
from berth.simulator.scheduler.simulate import Simulator
from tests.berth.cli.plan.test_plan_json import in_cores
from tests.small_fleets import fleet_with
from tests.small_fleets import plan as small_plan
from tests.stack_files import ROOT, evaluation, every_stack, plan_json


def text(evaluated: Evaluation) -> str:
    """Return what `berth plan` prints."""
    return render_text(fleet_document(evaluated))


def paragraph(stack: str, head: str) -> list[list[str]]:
    """Return the rows of the table that begins with `head`, cell by cell."""
    (result,) = (p for p in text(evaluation(stack)).split("\n\n") if p.startswith(head))
    return [cells(line) for line in result.splitlines()[1:]]


def cells(line: str) -> list[str]:
    """Split a row; columns are separated by three spaces or more, and rows are indented by two."""
    return re.split(r" {3,}", line.strip(" ") if line.startswith("     ") else line[2:])


def span(bounds: dict[str, int]) -> str:
    """Return `4` or `0–24`."""
    return str(bounds["max"]) if bounds["min"] == bounds["max"] else f"{bounds['min']}–{bounds['max']}"


def own(plan: dict[str, Any], flavor: str) -> list[dict[str, Any]]:
    """Return the accelerator quotas on a flavor."""
    (resource,) = (f["resource"] for f in plan["flavors"] if f["name"] == flavor)
    quotas = (q for holder in (*plan["clusterQueues"], *plan["cohorts"]) for q in holder["quotas"])
    return [in_cores(q) for q in quotas if q["flavor"] == flavor and q["resource"] == resource]


def test_a_cohort_without_queues_has_a_row_below_its_parent() -> None:
    cohorts = {"lab": {}, "research": {"parent": "lab"}, "unused": {"parent": "research"}}
    table = cohort_table(small_plan(fleet_with({"cohorts": cohorts})))
    assert (table.title, [row[0] for row in table.rows][-1]) == ("Quota tree", "    unused")
    assert table.rows[-1] == ["    unused", "–", "–", "–", "no queues", ""]
    assert [row for row in table.rows if row[0] == "  research" and "no queues" in row] == []


@every_stack
def test_the_first_line_has_the_counts_of_the_plan(stack: str) -> None:
    plan = plan_json(stack)
    first = text(evaluation(stack)).splitlines()[0]
    for key, noun in (("pools", "pool"), ("teams", "team"), ("clusterQueues", "cluster queue")):
        (number,) = re.findall(rf"(\d+) {noun}s?\b", first)
        assert int(number) == len(plan[key])
    places = filter(None, (plan["clusters"][0]["project"], plan["clusters"][0]["location"]))
    assert first.startswith(" · ".join([stack, *places, "cluster "]))


@every_stack
def test_columns_of_numbers_are_aligned_right(stack: str) -> None:
    """Whole numbers and ranges of them, in what `plan` and `split` print; other columns begin at the left."""
    shown = evaluation(stack)
    split = split_document(shown.fleet_plan, 40) if shown.fleet_plan else ()
    tables = [block for block in (*fleet_document(shown), *split) if isinstance(block, Table)]
    assert tables
    for table in tables:
        for index in range(1, len(table.head)):
            texts = [cell for row in table.rows if isinstance(cell := row[index], str) and cell not in ("", "–")]
            is_number = [re.match(r"\d+(–\d+)?(?![^,])", each) is not None for each in texts]
            assert len({*is_number, *([index in table.numbers] if texts else [])}) <= 1, (table.title, index)


@every_stack
def test_the_capacity_table_has_the_figures_of_the_plan(stack: str) -> None:
    plan = plan_json(stack)
    for name, held, promised, _, may_borrow, *_ in paragraph(stack, "Capacity"):
        quotas = own(plan, name)
        pools = [p["accelerators"] for p in plan["pools"] if p["flavor"] == name]
        total = {end: sum(p[end] for p in pools) for end in ("min", "max")}
        assert held.split(" ")[0] == span(total)
        total_promised = sum(q["nominal"] for q in quotas)
        firm = sum(p["accelerators"]["max"] for p in plan["pools"] if p["flavor"] == name and p["capacity"] != "spot")
        has_spot = any(p["capacity"] == "spot" for p in plan["pools"] if p["flavor"] == name)
        spot = max(0, total_promised - firm) if has_spot else 0
        words = {0: "", total_promised: ", all spot"}.get(spot, f", of them {spot} spot")
        assert promised == f"{total_promised}{words}"
        assert may_borrow == str(most_by_simulation(stack, name, total["max"]) or "–")


def most_by_simulation(stack: str, flavor: str, capacity: int) -> int:
    """Return the most that one queue uses beyond its guarantee, from the quota of the simulation of Kueue."""
    fleet = evaluation(stack).fleet_plan
    assert fleet is not None
    (kind,) = (each for each in fleet.flavors if each.name == flavor)
    simulator = Simulator(build_simulated_fleet(fleet).setup)
    key = flavor, kind.resource
    quotas = [s.node.quota_state(key) for s in simulator.queue_states.values() if key in s.node.quotas]
    most = (min(each.ceiling // kind.scale, capacity) - each.nominal // kind.scale for each in quotas)
    return max(0, *most, 0)


@every_stack
def test_flavors_with_spare_machines_have_a_line_and_no_others(stack: str) -> None:
    spare = [[str(each["spare"]), each["name"]] for each in plan_json(stack)["flavors"] if each["spare"]]
    parts = [part for part in text(evaluation(stack)).split("\n\n") if part.startswith("Spare machines")]
    assert len(parts) == bool(spare)
    lines = [line.partition(" are nobody's")[0].split() for part in parts for line in part.splitlines()[1:]]
    assert [[line[0], line[-1]] for line in lines] == spare


@every_stack
def test_pools_have_the_nodes_and_accelerators_of_the_plan(stack: str) -> None:
    pools = {p["name"]: p for p in plan_json(stack)["pools"]}
    rows = paragraph(stack, "Pools")
    assert [row[0] for row in rows] == list(pools)
    for name, machine, nodes, accelerators, shape, _ in rows:
        pool = pools[name]
        assert (machine, nodes, accelerators.split(" ")[0]) == (
            pool["machineType"], span(pool["nodes"]), span(pool["accelerators"])
        )  # fmt: skip
        if pool["slices"]:
            assert shape.partition(" ")[0].endswith(str(pool["slices"]))
            assert f" × {pool['topology']} ({pool['hostsPerSlice']} host" in shape


def test_networks_have_the_interfaces_and_ranges_of_the_plan() -> None:
    """The table has a row for each VPC with its range of interfaces; other fleets have no such table."""
    networks = plan_json("gpu-rdma")["networks"]
    for key, vpc, interfaces, ranges, pools in paragraph("gpu-rdma", "Networks"):
        mine = [n for n in networks if (n["set"], n["network"]) == (key, vpc)]
        assert interfaces.split(" – ") == sorted({mine[0]["device"], mine[-1]["device"]})
        assert ranges.split(" – ") == list(dict.fromkeys((mine[0]["ipRange"], mine[-1]["ipRange"])))
        assert all(pool in pools for n in mine for pool in n["pools"])
    assert len(networks) == 9
    assert "\nNetworks" not in text(evaluation("dev"))


@every_stack
def test_teams_have_the_guarantee_and_the_ceiling_of_the_plan(stack: str) -> None:
    teams = {t["name"]: t for t in plan_json(stack)["teams"]}
    read: dict[str, dict[str, tuple[int, int]]] = {}
    name = ""
    for row in paragraph(stack, "Teams"):
        name, *row = row if row[0] in teams and len(row) == 5 else [name, *row]
        flavor, guaranteed, ceiling, *_ = row
        read.setdefault(name, {})[flavor] = int(guaranteed.replace("–", "0").split(",")[0]), int(ceiling)
    assert read == {
        t["name"]: {f: (t["guaranteed"].get(f, 0), most) for f, most in t["ceiling"].items()} for t in teams.values()
    }


@every_stack
def test_every_problem_is_shown_with_its_place(stack: str) -> None:
    shown = text(evaluation(stack))
    problems = plan_json(stack)["problems"]
    assert [p for p in problems if f"{p['place']}: {p['severity']}: {p['path']}: {p['message']}" not in shown] == []
    for severity in ("warning", "note"):
        number = len([p for p in problems if p["severity"] == severity])
        assert (f"\n{number} {severity}" in shown) == bool(number)


@pytest.mark.parametrize(
    ("part", "whole", "expected"),
    [
        (0, 8, "░" * 10),
        (4, 8, "█" * 5 + "░" * 5),
        (8, 8, "█" * 10),
        (16, 8, "█" * 10 + "!"),
        (0, 0, ""),
        (1, 99, "░" * 10),
    ],
)  # fmt: skip
def test_a_bar_is_full_only_if_everything_is_guaranteed(part: int, whole: int, expected: str) -> None:
    assert str(Share(part, whole)) == expected


def test_a_table_without_rows_is_empty() -> None:
    assert render_text([Table("Teams", ("team", "guaranteed"), [])]) == ""


def test_the_plan_in_the_readme_is_the_output() -> None:
    """README.md shows the plan of dev."""
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    (block,) = re.findall(r"```\n(dev · .*?)```", readme, flags=re.DOTALL)
    shown = [line for line in block.splitlines() if line not in ("", "…")]
    assert [line for line in shown if line not in text(evaluation("dev")).splitlines()] == []
