"""Colour and progress messages on a terminal, plain text everywhere else."""

from __future__ import annotations

import os
import shutil
import sys
import threading
from collections.abc import Generator
from contextlib import contextmanager
from typing import IO

_DIM, _END = "\033[2m", "\033[0m"
_PROGRESS_DELAY = 1.0
"""Seconds after which a progress message is printed."""


def is_coloured(stream: IO[str]) -> bool:
    """Return whether `stream` is a terminal with colours and NO_COLOR is not set."""
    return stream.isatty() and "NO_COLOR" not in os.environ and os.environ.get("TERM") != "dumb"


def width_of(stream: IO[str]) -> int | None:
    """Return the columns of a terminal; None for what is no terminal, whose lines are not wrapped."""
    return shutil.get_terminal_size().columns if stream.isatty() else None


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
