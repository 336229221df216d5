"""Colour and progress messages on a terminal, plain text everywhere else."""

from __future__ import annotations

import os
import re
import sys
import threading
from collections.abc import Generator
from contextlib import contextmanager
from typing import IO

from berth.diagnostics import Problem, Severity

_RED, _YELLOW, _BOLD, _DIM, _END = "\033[31m", "\033[33m", "\033[1m", "\033[2m", "\033[0m"
_PROGRESS_DELAY = 1.0
"""Seconds after which a progress message is printed."""


def is_coloured(stream: IO[str]) -> bool:
    """Return whether `stream` is a terminal with colours and NO_COLOR is not set."""
    return stream.isatty() and "NO_COLOR" not in os.environ and os.environ.get("TERM") != "dumb"


def format_problem(problem: Problem) -> str:
    """Return a problem as one line; on a terminal its severity and its code are red or yellow."""
    if not is_coloured(sys.stdout):
        return problem.line()
    colour = _RED if problem.severity == Severity.FAULT else _YELLOW
    return problem.line(lambda text: f"{colour}{text}{_END}")


def format_paragraphs(text: str) -> str:
    """Return a text of paragraphs with bold first lines and coloured problems, if stdout is a terminal with colours."""
    if not is_coloured(sys.stdout):
        return text
    headed = "\n\n".join(_bold_first_line(paragraph) for paragraph in text.split("\n\n"))
    return _PROBLEM_LINE.sub(_coloured_problem, headed)


def _bold_first_line(paragraph: str) -> str:
    first, *rest = paragraph.split("\n")
    return "\n".join([f"{_BOLD}{first}{_END}", *rest])


_PROBLEM_LINE = re.compile(r"^(  .+) (\[[a-z0-9-]+\])$", re.MULTILINE)
"""A line in a list of problems: the text and the code."""


def _coloured_problem(match: re.Match[str]) -> str:
    text, code = match.groups()
    for severity, colour in ((Severity.WARNING, _YELLOW), (Severity.NOTE, _DIM)):
        before, severity_mark, after = text.partition(f": {severity}: ")
        if severity_mark:
            return f"{before}: {colour}{severity}{_END}: {after} {colour}{code}{_END}"
    return f"{text} {_RED}{code}{_END}"


@contextmanager
def progress(activity: str) -> Generator[None]:
    """Print `activity` on stderr if the block takes longer than a second; nothing if stderr is not a terminal."""
    if not sys.stderr.isatty():
        yield
        return
    timer = threading.Timer(_PROGRESS_DELAY, lambda: print(f"{_DIM}{activity} …{_END}", file=sys.stderr, flush=True))
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
