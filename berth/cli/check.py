"""`berth check`: a verdict as lines, as JSON, or as annotations of GitHub Actions."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

from berth.cli.plan.fleet import problem_as_json
from berth.diagnostics import Problem, format_path
from berth.evaluate import Evaluation

VERSION = 1
"""Of the JSON; raised when a key changes its meaning or goes."""

_LEVELS = {"fault": "error", "warning": "warning", "note": "notice"}
_PLACE = re.compile(r"(?P<file>.*?)(?::(?P<line>\d+))?(?::(?P<col>\d+))?", re.DOTALL)
_ESCAPES = {"%": "%25", "\r": "%0D", "\n": "%0A"}


def as_json(evaluations: Iterable[Evaluation]) -> dict[str, Any]:
    """Each stack with whether it is sound, and its problems as `berth plan --json` has them."""
    stacks = [
        {"stack": v.stack, "sound": not v.faults, "problems": [problem_as_json(each) for each in v.problems]}
        for v in evaluations
    ]
    return {"version": VERSION, "stacks": stacks}


def as_annotations(evaluations: Iterable[Evaluation]) -> Iterator[str]:
    """Workflow commands that mark the lines of a pull request; a problem without a place marks none.

    GitHub documentation: workflow commands for GitHub Actions, setting an error message.
    """
    for evaluation in evaluations:
        yield from map(_annotation, evaluation.problems)


def _annotation(problem: Problem) -> str:
    match = _PLACE.fullmatch(problem.place)
    location = {key: text for key, text in match.groupdict().items() if text} if match else {}
    properties = ",".join(
        f"{key}={_escape_property(text)}" for key, text in {**location, "title": problem.code}.items()
    )
    message = ": ".join(part for part in (format_path(problem.path), problem.message) if part)
    return f"::{_LEVELS[problem.severity]} {properties}::{_escape_message(message)}"


def _escape_property(text: str) -> str:
    return _escape_message(text).replace(":", "%3A").replace(",", "%2C")


def _escape_message(text: str) -> str:
    return "".join(_ESCAPES.get(character, character) for character in text)
