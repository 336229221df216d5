"""Lines of problems without their codes, for tests of the words. Whole lines are in tests/berth/bad_input."""

from __future__ import annotations

import re

from msgspec.structs import replace

from berth.diagnostics import Problem


def line_without_code(problem: Problem) -> str:
    """Return `place: severity: path: message`, without the severity of an error."""
    return without_codes(replace(problem, code="").line())


def without_codes(text: str) -> str:
    """Return printed lines without the code at the end of each, the word `error`, and their number."""
    without_words = re.sub(r"(?m)^((?:\S+: )?)error: ", r"\1", text)
    return without_total(re.sub(r"(?m) \[[a-z0-9-]+\]$", "", without_words))


def without_total(text: str) -> str:
    """Return printed lines without the line that has their number: `2 errors, 1 warning`."""
    return re.sub(r"(?m)^(?:no|\d+) errors?(?:, \d+ warnings?)?\n", "", text)
