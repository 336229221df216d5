"""A YAML parser error is one line, at the line of its cause, with what to write."""

from __future__ import annotations

import pytest

from berth.loader.document import parse
from tests.problem_lines import line_without_code

FLEET = """\
config:
  berth:fleet:
    project: acme
    region: us-central1
    pools:
      a: {machineType: x, nodes: 1}
      b: {machineType: y, nodes: 2}
    teams:
      v: {queues: {t: {flavors: [{pool: a}]}}}
"""
CASES = {
    "a section too far right": (
        ("    pools:", "      pools:"),
        "5:7: 'pools' is indented by 6 spaces, but 'region' on line 4 has a value already; indent it by 4",
    ),
    "a section between two levels": (
        ("    teams:", "   teams:"),
        "8:4: 'teams' is indented by 3 spaces, and no key above it is; indent it by 2 or 4",
    ),
    "an entry too far right": (
        ("      b:", "        b:"),
        "7:9: 'b' is indented by 8 spaces, and no key above it is; indent it by 6",
    ),
    "an entry too far left, above one that is right": (
        ("      a:", "     a:"),
        "6:6: 'a' is indented by 5 spaces, but 'b' on line 7 by 6; indent it by 6",
    ),
    "a first key too far right": (
        ("      v: {queues: {t: {flavors: [{pool: a}]}}}", "      v:\n          state: held\n        cohort: x"),
        "10:11: 'state' is indented by 10 spaces, but 'cohort' on line 11 by 8; indent it by 8",
    ),
    "a key too far left, below the key that lacks it": (
        ("      v: {queues: {t: {flavors: [{pool: a}]}}}", "    v:\n        cohort: x\n      w: {}"),
        "9:5: 'v' is indented by 4 spaces, but 'w' on line 11 by 6; indent it by 6",
    ),
    "list items that are indented differently": (
        ("      v: {queues: {t: {flavors: [{pool: a}]}}}", "    - a: 1\n      - b: 1"),
        "10:7: this item is indented by 6 spaces, but the one above by 4; indent both alike",
    ),
    "a section without a colon": (("pools:", "pools"), "5:5: 'pools' has no colon; write 'pools:'"),
    "a value without a colon": (
        ("region: us-central1", "region us-central1"),
        "4:5: 'region us-central1' has no colon; write 'region: us-central1'",
    ),
    "a colon without a space": (
        ("region: us-central1", "region:us-central1"),
        "4:5: 'region:us-central1' has no space after its colon; write 'region: us-central1'",
    ),
    "the first line without a colon": (("config:", "config"), "1:1: 'config' has no colon; write 'config:'"),
    "two colons": (
        ("project: acme", "project: acme: x"),
        "3:18: a second ': ' on one line; quote the value, or begin a new line",
    ),
    "a bracket left open": (("nodes: 2}", "nodes: 2"), "7:10: '{' opens here and is not closed; write '}' at its end"),
    "a bracket left open before another": (("pool: a}]", "pool: a}"), "9:43: a ',' or ']' is missing here; write one"),
    "a bracket too many": (
        ("nodes: 1}", "nodes: 1}}"),
        "6:36: '}' follows a complete value; remove it, or put quotes around both",
    ),
    "no comma": (("x, nodes", "x nodes"), "6:31: a ',' or '}' is missing here; write one"),
    "a quote left open": ((" acme", ' "acme'), "3:14: '\"' opens here and is not closed; write '\"' at its end"),
    "words after a quote": (
        (" acme", ' "acme" x'),
        "3:21: 'x' follows a complete value; remove it, or put quotes around both",
    ),
    "a tab": (("    pools:", "\tpools:"), "5:1: a tab cannot indent YAML; use spaces"),
    "an at sign": ((" acme", " @acme"), "3:14: a value cannot begin with '@'; quote the value"),
    "a star": ((" acme", " *"), "3:14: a value cannot begin with '*'; quote the value"),
    "a list on the line of its key": (
        ("pools:", "pools: - a"),
        "5:12: a list item cannot follow a key on the same line; begin a new line before '-'",
    ),
    "a list item among keys": (
        ("      b:", "      - b:"),
        "7:7: a list item follows the keys that begin on line 6; remove its '-'",
    ),
    "an item without its dash": (
        ("      a:", "      {a: b}\n      - a:"),
        "6:7: this item has no '-', but the item below has one; write '- ' before it",
    ),
    "a key among list items": (
        ("    teams:", "    cohorts:\n      - x\n      y: 1\n    teams:"),
        "10:7: a key among the items of the list that begins on line 9; write '- ' before it, or indent it less",
    ),
    "a backslash": (
        (" acme", ' "\\q"'),
        "3:15: '\\q' is not a valid escape in double quotes; write '\\\\' for a backslash, or use single quotes",
    ),
    "something else": (
        (" acme", " |x"),
        "3:15: not valid YAML: did not find expected comment or line break; check this line and the one above it",
    ),
}


@pytest.mark.parametrize(("edit", "line"), CASES.values(), ids=CASES)
def test_a_parser_error_is_one_line_at_its_cause(edit: tuple[str, str], line: str) -> None:
    assert FLEET.count(edit[0]) == 1
    document, faults = parse(FLEET.replace(*edit), "f.yaml")
    assert document is None
    assert [line_without_code(fault) for fault in faults] == [f"f.yaml:{line}"]
