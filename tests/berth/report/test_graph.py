"""The quota tree as a picture: the figures of the plan, every box in its place, and text that stays text."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import combinations
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from berth.cli import app
from berth.report.svg import PlacedBox, place_boxes, tree_mermaid, tree_svg
from berth.report.tree import BoxQuota, TreeBox, quota_tree_boxes
from tests.stack_files import ALL_STACKS, GKE_STACKS, assert_golden, every_stack, plan, plan_json

HERE = Path(__file__).parent
SVG = "{http://www.w3.org/2000/svg}"
HOSTILE = '<script>alert("1")</script>&#x3c;'


def berth(*words: str) -> Any:
    """Run the command in this process."""
    return CliRunner().invoke(app, words)


# --- the tree ---------------------------------------------------------------------------------------------------------


def expected(stack: str) -> dict[tuple[str, str], dict[str, tuple[int, int]]]:
    """Kind and name → flavor → guaranteed and ceiling, from the plan's JSON; a queue's ceiling is not in it."""
    read = plan_json(stack)
    resources = {f["name"]: f["resource"] for f in read["flavors"]}
    values = {
        ("cohort", c["name"]): {f: (n, c["ceiling"][f]) for f, n in c["guaranteed"].items()} for c in read["cohorts"]
    }
    for queue in read["clusterQueues"]:
        own = [q for q in queue["quotas"] if q["resource"] == resources[q["flavor"]]]
        values["queue", queue["name"]] = {
            q["flavor"]: (q["nominal"] // (1000 if q["resource"] == "cpu" else 1), -1) for q in own
        }
    return values


@every_stack
def test_the_boxes_are_the_cohorts_and_queues_of_the_plan_with_its_figures(stack: str) -> None:
    drawn = quota_tree_boxes(plan(stack))
    for box in drawn:
        figures = {share.flavor: (share.guaranteed, share.ceiling) for share in box.quotas}
        output = expected(stack)[box.kind, box.name]
        assert figures.keys() == output.keys()
        for flavor, (guaranteed, ceiling) in output.items():
            assert figures[flavor][0] == guaranteed
            assert ceiling in (-1, figures[flavor][1])
    assert sorted((box.kind, box.name) for box in drawn) == sorted(expected(stack))


@every_stack
def test_the_ceiling_of_a_queue_is_its_teams_where_the_team_has_no_other(stack: str) -> None:
    """The same reckoning from the other end: `teams[].ceiling`."""
    read = plan_json(stack)
    drawn = {box.name: box for box in quota_tree_boxes(plan(stack)) if box.kind == "queue"}
    for team in read["teams"]:
        own = [queue["name"] for queue in read["clusterQueues"] if team["name"] in queue["teams"]]
        if len(own) == 1:
            assert {share.flavor: share.ceiling for share in drawn[own[0]].quotas} == team["ceiling"]


@every_stack
def test_every_box_is_below_its_parent(stack: str) -> None:
    read, drawn = plan_json(stack), quota_tree_boxes(plan(stack))
    parents = {("cohort", c["name"]): c["parent"] for c in read["cohorts"]}
    parents |= {("queue", q["name"]): q["cohort"] for q in read["clusterQueues"]}
    for number, box in enumerate(drawn):
        above = None if box.parent is None else drawn[box.parent]
        assert (above.name if above else None) == parents[box.kind, box.name]
        assert above is None or (above.kind == "cohort" and box.parent is not None and box.parent < number)
        assert box.depth == (above.depth + 1 if above else 0)


# --- Mermaid ----------------------------------------------------------------------------------------------------------


@every_stack
def test_the_flowchart_has_a_node_for_each_box_and_an_edge_to_its_parent(stack: str) -> None:
    drawn = quota_tree_boxes(plan(stack))
    head, *lines = tree_mermaid(drawn).splitlines()
    nodes = [match for line in lines if (match := re.fullmatch(r'  n(\d+)([(\[])"([^"]*)"[)\]]', line))]
    edges = [match for line in lines if (match := re.fullmatch(r"  n(\d+) --- n(\d+)", line))]
    assert head == "flowchart LR"
    assert len(nodes) + len(edges) == len(lines)
    assert [(int(n[1]), n[2] == "(", n[3].split("<br/>")[0]) for n in nodes] == [
        (i, box.kind == "cohort", box.name) for i, box in enumerate(drawn)
    ]
    assert [(int(e[1]), int(e[2])) for e in edges] == [
        (b.parent, i) for i, b in enumerate(drawn) if b.parent is not None
    ]


def test_no_label_ends_early() -> None:
    text = tree_mermaid([TreeBox("queue", HOSTILE, (), None, 0)])
    assert text == ('flowchart LR\n  n0["#lt;script#gt;alert(#quot;1#quot;)#lt;/script#gt;#amp;#35;x3c;"]\n')


# --- SVG --------------------------------------------------------------------------------------------------------------


def apart(one: PlacedBox, other: PlacedBox) -> bool:
    """Return whether two boxes have nothing in common, not even an edge."""
    return (
        one.x + one.width < other.x
        or other.x + other.width < one.x
        or one.y + one.height < other.y
        or other.y + other.height < one.y
    )


@st.composite
def forests(draw: st.DrawFn) -> list[TreeBox]:
    """Any forest in the order that `boxes` gives: parents before children, each with all below it next."""
    depths = [0]
    for _ in range(draw(st.integers(0, 24))):
        depths.append(draw(st.integers(0, depths[-1] + 1)))
    values: list[TreeBox] = []
    for i, depth in enumerate(depths):
        parent = next((j for j in reversed(range(i)) if depths[j] == depth - 1), None)
        shares = tuple(BoxQuota("f" * draw(st.integers(1, 30)), 1, 2, "x") for _ in range(draw(st.integers(0, 12))))
        values.append(TreeBox("cohort", "n" * draw(st.integers(1, 63)), shares, parent, depth))
    return values


@settings(max_examples=60, deadline=None)
@given(forests())
def test_no_boxes_overlap_and_children_are_to_the_right(forest: list[TreeBox]) -> None:
    placed = place_boxes(forest)
    assert [p.box for p in placed] == forest
    assert [(a.box.name, b.box.name) for a, b in combinations(placed, 2) if not apart(a, b)] == []
    for each in placed:
        assert each.x > 0 < each.y
        if each.box.parent is not None:
            above = placed[each.box.parent]
            assert above.x + above.width < each.x


@settings(max_examples=30, deadline=None)
@given(forests())
def test_a_box_is_in_the_middle_of_those_below_it(forest: list[TreeBox]) -> None:
    """Within the heights of the outer ones: these may be taller on one side."""
    placed = place_boxes(forest)
    for i, each in enumerate(placed):
        children = [p for p in placed if p.box.parent == i]
        if children:
            middle = each.y + each.height / 2
            assert min(c.y for c in children) <= middle <= max(c.y + c.height for c in children)


def test_a_tree_with_one_cohort_per_level_is_drawn() -> None:
    chain = [TreeBox("cohort", f"c{i}", (), i - 1 if i else None, i) for i in range(3000)]
    assert len(place_boxes(chain)) == 3000


def rectangles(text: str) -> Iterator[tuple[dict[str, float], list[ElementTree.Element]]]:
    """Yield each box of a picture, with its lines of text."""
    for group in ElementTree.fromstring(text).iter(f"{SVG}g"):
        rect = group.find(f"{SVG}rect")
        assert rect is not None
        yield {k: float(v) for k, v in rect.attrib.items()}, list(group.iter(f"{SVG}text"))


@every_stack
def test_the_picture_holds_all_its_boxes_and_each_box_its_text(stack: str) -> None:
    text = tree_svg(quota_tree_boxes(plan(stack)), "Quota tree")
    root = ElementTree.fromstring(text)
    width, height = float(root.attrib["width"]), float(root.attrib["height"])
    shown: list[list[str | None]] = []
    for rect, lines in rectangles(text):
        assert 0 < rect["x"] < rect["x"] + rect["width"] < width
        assert 0 < rect["y"] < rect["y"] + rect["height"] < height
        for line in lines:
            x, y = float(line.attrib["x"]), float(line.attrib["y"])
            assert rect["x"] < x and x + 7.3 * len(line.text or "") < rect["x"] + rect["width"]
            assert rect["y"] + 12 < y < rect["y"] + rect["height"] - 4
        shown.append([line.text for line in lines])
    assert shown == [list(box.lines) for box in quota_tree_boxes(plan(stack))]
    assert len(list(root.iter(f"{SVG}path"))) == sum(box.parent is not None for box in quota_tree_boxes(plan(stack)))


def test_a_picture_loads_nothing_and_has_no_script() -> None:
    text = tree_svg([TreeBox("queue", HOSTILE, (), None, 0)], HOSTILE)
    root = ElementTree.fromstring(text)
    kinds = {element.tag.removeprefix(SVG) for element in root.iter()}
    assert kinds == {"svg", "title", "desc", "style", "g", "rect", "text"}
    assert text.count("http") == 1  # its namespace
    assert "url(" not in text
    assert root.findtext(f"{SVG}title") == HOSTILE
    assert root.findtext(f"{SVG}desc") == HOSTILE


# --- the command ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("stack", ["quota-tree", "ack-fleet", "team-a"])
@pytest.mark.parametrize(("form", "ending"), [("mermaid", "mmd"), ("svg", "svg")])
def test_golden_of_a_graph(stack: str, form: str, ending: str) -> None:
    done = berth("graph", str(ALL_STACKS[stack]), "--format", form)
    assert (done.exit_code, done.stderr) == (0, "")
    assert_golden(done.stdout, HERE / "golden" / f"{stack}.{ending}")


def test_a_graph_is_written_to_a_file_or_the_error_is_printed(tmp_path: Path) -> None:
    file = tmp_path / "tree.svg"
    done = berth("graph", str(GKE_STACKS["dev"]), "--format", "svg", "-o", str(file))
    assert (done.exit_code, done.stdout) == (0, f"{file}: written\n")
    assert file.read_text(encoding="utf-8") == tree_svg(quota_tree_boxes(plan("dev")), "Quota tree of dev")
    lost = berth("graph", str(GKE_STACKS["dev"]), "-o", str(file / "x"))
    assert (lost.exit_code, lost.stdout) == (1, "")
    assert lost.stderr == f"{file / 'x'}: cannot be written: File exists\n"


def test_a_faulty_stack_is_not_drawn(tmp_path: Path) -> None:
    file = tmp_path / "Pulumi.dev.yaml"
    text = GKE_STACKS["dev"].read_text(encoding="utf-8")
    file.write_text(text.replace("topology: 2x4", "topology: 2x5"), encoding="utf-8")
    done = berth("graph", str(file))
    assert (done.exit_code, done.stdout) == (1, "")
    assert "topology" in done.stderr
