"""Lines of problems without their codes, for tests of the words. Lines with codes are in tests/berth/bad_input."""

from __future__ import annotations

import re

from msgspec.structs import replace

from berth.diagnostics import Problem


def line_without_code(problem: Problem) -> str:
    """Return `place: severity: path: message`."""
    return replace(problem, code="").line()


def without_codes(text: str) -> str:
    """Return printed lines without the code at the end of each."""
    return re.sub(r"(?m) \[[a-z0-9-]+\]$", "", text)
