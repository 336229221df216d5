"""Problems as SARIF 2.1.0, which code scanning services and editors read.

Source: OASIS, "Static Analysis Results Interchange Format (SARIF) Version 2.1.0", sections 3.13 to 3.30.
"""

from __future__ import annotations

from collections.abc import Iterable
from importlib.metadata import version
from typing import Any
from urllib.parse import quote

from berth.diagnostics import Problem, Severity
from berth.diagnostics.explanations import explanations
from berth.diagnostics.listing import PLACE

SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
_LEVELS = {Severity.FAULT: "error", Severity.WARNING: "warning", Severity.NOTE: "note"}


def sarif_log(problems: Iterable[Problem]) -> dict[str, Any]:
    """Return a log with one run: each problem is a result, and each code that occurs is a rule."""
    found = list(problems)
    codes = sorted({each.code for each in found})
    driver = {"name": "berth", "version": version("berth"), "rules": [_rule(code) for code in codes]}
    results = [_result(each, codes.index(each.code)) for each in found]
    return {"$schema": SCHEMA, "version": "2.1.0", "runs": [{"tool": {"driver": driver}, "results": results}]}


def _rule(code: str) -> dict[str, Any]:
    """Return a rule; the codes of an organization's own policies have no explanation."""
    explained = explanations().get(code)
    if explained is None:
        return {"id": code}
    return {"id": code, "shortDescription": {"text": explained.cause}, "help": {"text": explained.remedy}}


def _result(problem: Problem, rule: int) -> dict[str, Any]:
    """Return a result. The file is a relative URI, as a person names it; a problem without a place has no location."""
    result: dict[str, Any] = {
        "ruleId": problem.code,
        "ruleIndex": rule,
        "level": _LEVELS[problem.severity],
        "message": {"text": problem.text_with_code()},
    }
    match = PLACE.fullmatch(problem.place)
    if match is None or not match[1]:
        return result
    position = {"startLine": match[2], "startColumn": match[3]}
    region = {key: int(text) for key, text in position.items() if text is not None}
    file = {"artifactLocation": {"uri": quote(match[1])}, **({"region": region} if region else {})}
    return {**result, "locations": [{"physicalLocation": file}]}
