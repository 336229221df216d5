"""`berth check`: a verdict as lines, as JSON, or as annotations of GitHub Actions."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

from berth.cli.plan.fleet import problem
from berth.diagnostics import Problem, dotted
from berth.evaluate import Verdict

VERSION = 1
"""Of the JSON; raised when a key changes its meaning or goes."""

_LEVELS = {"fault": "error", "warning": "warning", "note": "notice"}
_PLACE = re.compile(r"(?P<file>.*?)(?::(?P<line>\d+))?(?::(?P<col>\d+))?", re.DOTALL)
_MOST_ESCAPED = {"%": "%25", "\r": "%0D", "\n": "%0A"}


def as_json(verdicts: Iterable[Verdict]) -> dict[str, Any]:
    """Each stack with whether it is sound, and its problems as `berth plan --json` has them."""
    stacks = [
        {"stack": v.stack, "sound": not v.faults, "problems": [problem(each) for each in v.problems]} for v in verdicts
    ]
    return {"version": VERSION, "stacks": stacks}


def as_annotations(verdicts: Iterable[Verdict]) -> Iterator[str]:
    """Workflow commands that mark the lines of a pull request; a problem without a place marks none.

    GitHub documentation: workflow commands for GitHub Actions, setting an error message.
    """
    for verdict in verdicts:
        yield from map(_annotation, verdict.problems)


def _annotation(found: Problem) -> str:
    place = _PLACE.fullmatch(found.place)
    where = {key: text for key, text in place.groupdict().items() if text} if place else {}
    properties = ",".join(f"{key}={_property(text)}" for key, text in {**where, "title": found.code}.items())
    message = ": ".join(part for part in (dotted(found.path), found.message) if part)
    return f"::{_LEVELS[found.severity]} {properties}::{_escaped(message)}"


def _property(text: str) -> str:
    return _escaped(text).replace(":", "%3A").replace(",", "%2C")


def _escaped(text: str) -> str:
    return "".join(_MOST_ESCAPED.get(character, character) for character in text)
