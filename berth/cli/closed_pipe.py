"""Standard streams that tolerate a closed pipe, so that `berth guard … | true` keeps the verb's exit status."""

from __future__ import annotations

import io
import os
from typing import Any, TextIO


class _ClosablePipe(io.RawIOBase):
    """A file descriptor that drops everything written after its reader closed the pipe."""

    def __init__(self, descriptor: int) -> None:
        super().__init__()
        self._descriptor = descriptor

    def writable(self) -> bool:
        """Return True."""
        return True

    def fileno(self) -> int:
        """Return the descriptor."""
        return self._descriptor

    def isatty(self) -> bool:
        """Return whether the descriptor is a terminal."""
        return os.isatty(self._descriptor)

    def write(self, data: Any, /) -> int:
        """Write `data`, or drop it; return the number of bytes."""
        try:
            return os.write(self._descriptor, data)
        except BrokenPipeError:
            return memoryview(data).nbytes


def tolerate_closed_pipe(stream: TextIO) -> TextIO:
    """Return a stream to the same descriptor that ignores a closed pipe, so that a verb runs to its end.

    The exit status is then the verb's own: 3 for a blocked `berth guard dev preview.json | true`. Streams without a
    descriptor, as in tests, are returned unchanged.
    """
    buffer = getattr(stream, "buffer", None)
    raw = getattr(buffer, "raw", buffer)  # with PYTHONUNBUFFERED, the buffer is the raw file
    if not isinstance(raw, io.FileIO):
        return stream
    stream.flush()
    return io.TextIOWrapper(
        io.BufferedWriter(_ClosablePipe(stream.fileno())),
        stream.encoding,
        stream.errors,
        line_buffering=bool(stream.line_buffering),
        write_through=raw is buffer,
    )
