"""The result of `berth test`, as a table and as JSON."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from berth.cli.test.checks import TestResult
from berth.document import Block, Note, Table
from berth.text import pluralize

VERSION = 1
"""Version of the JSON of `berth test`."""


def outcomes_document(result: TestResult) -> Iterator[Block]:
    """Yield a row for each assertion, and the total."""
    rows = [
        [each.test, each.assertion, "ok" if each.holds else "FAILED", each.found, "" if each.holds else each.place]
        for each in result.outcomes
    ]
    yield Table("Tests", ("test", "assertion", "result", "found", ""), rows, once=(0,))
    failed = sum(not each.holds for each in result.outcomes)
    yield Note([f"{result.stack}: {pluralize(len(rows), 'assertion')}, {failed} failed"])


def outcomes_as_json(result: TestResult) -> dict[str, Any]:
    """Return the JSON values of a result (docs/simulate.md)."""
    return {
        "version": VERSION,
        "stack": result.stack,
        "assertions": [
            {
                "test": each.test,
                "assertion": each.assertion,
                "holds": each.holds,
                "found": each.found,
                "place": each.place,
            }
            for each in result.outcomes
        ],
        "problems": [each.as_json() for each in result.problems],
    }
