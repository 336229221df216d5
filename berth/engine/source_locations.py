"""Find the place in a person's own program where something happened: `file:line`, never a line of a library."""

from __future__ import annotations

import functools
import inspect
import sysconfig
import traceback
from collections.abc import Iterator
from pathlib import Path
from typing import Final
from urllib.parse import unquote, urlsplit

from pulumi.runtime.proto import source_pb2

_ENGINE_FOLDER: Final = str(Path(__file__).parent)
_CONSTRUCTORS: Final = 3
_LIBRARIES: Final = tuple({sysconfig.get_paths()[name] for name in ("stdlib", "platstdlib", "purelib", "platlib")})


@functools.cache
def is_installed(file: str) -> bool:
    """Return whether `file` belongs to Python or to an installed package."""
    return file.startswith(("<", *_LIBRARIES)) or "site-packages" in file


@functools.cache
def is_library(file: str) -> bool:
    """Return whether `file` is installed or part of this engine, and so not a person's own program."""
    return is_installed(file) or file.startswith(_ENGINE_FOLDER)


def format_location(file: str, line: int, base: str) -> str:
    """Return `file:line`, with the file relative to `base` if it is inside."""
    return f"{file.removeprefix(base.rstrip('/') + '/')}:{line}"


def innermost_trace() -> source_pb2.StackTrace:
    """Return what `location_of_trace` needs of the SDK's own stack trace: the frame that it looks for.

    The SDK reads every frame of the stack for each resource, which takes a third of a run. Like the SDK, this skips the
    constructors of the resource: `Resource`, the abstract class below it, and the resource's own class.
    """
    frame, constructors = inspect.currentframe(), 0
    while frame is not None:
        if constructors == _CONSTRUCTORS and not is_library(frame.f_code.co_filename):
            position = source_pb2.SourcePosition(uri=_uri(frame.f_code.co_filename), line=frame.f_lineno)
            return source_pb2.StackTrace(frames=[source_pb2.StackFrame(pc=position)])
        if constructors < _CONSTRUCTORS and frame.f_code.co_name == "__init__":
            constructors += 1
        frame = frame.f_back
    return source_pb2.StackTrace()


@functools.cache
def _uri(file: str) -> str:
    return Path(file).absolute().as_uri()


def location_of_trace(trace: source_pb2.StackTrace, base: str) -> str:
    """Return the innermost place of the person's own program in a stack trace of the SDK; empty if there is none."""
    for frame in trace.frames:
        file = _path(frame.pc.uri)
        if file and not is_library(file):
            return format_location(file, frame.pc.line, base)
    return ""


@functools.cache
def _path(uri: str) -> str:
    return unquote(urlsplit(uri).path)


def location_of_error(error: BaseException, base: str) -> str:
    """Return the innermost place of the person's own program in an exception's traceback; empty if there is none."""
    for cause in _error_chain(error):
        if isinstance(cause, SyntaxError) and cause.filename:
            return format_location(cause.filename, cause.lineno or 1, base)
        frames = [f for f in traceback.extract_tb(cause.__traceback__) if not is_library(f.filename)]
        if frames:
            return format_location(frames[-1].filename, frames[-1].lineno or 1, base)
    return ""


def _error_chain(error: BaseException) -> Iterator[BaseException]:
    """Yield the error and the errors it was raised from, each once: the SDK raises an error from itself."""
    current: BaseException | None = error
    seen: set[int] = set()
    while current is not None and id(current) not in seen:
        yield current
        seen.add(id(current))
        current = current.__cause__ or (None if current.__suppress_context__ else current.__context__)
