"""From a file to its text: every way this can go wrong is one fault with a remedy, and none is a traceback."""

from __future__ import annotations

import pathlib
import re
import stat

from berth.diagnostics import Problem

MAX_BYTES = 1 << 20
"""No YAML file may be larger: a mistaken path to a large file is answered at once."""

_UNPRINTABLE = re.compile("[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_BYTE_ORDER_MARKS = {b"\xef\xbb\xbf": "UTF-8", b"\xff\xfe": "UTF-16", b"\xfe\xff": "UTF-16"}


def read_text(file: pathlib.Path, shown: str, remedy: str) -> str | Problem:
    """The file's text, or the fault that kept it from being read.

    `shown` is the name to blame, `remedy` what to do with a file of more than `MAX_BYTES`.
    Faults: `no-file`, `unreadable`, `too-large`, `bad-text`.
    """
    try:
        status = file.stat()
        if not stat.S_ISREG(status.st_mode):
            return _fault("unreadable", shown, f"{_kind(status.st_mode)}, not a file: name a YAML file")
        if status.st_size > MAX_BYTES:
            return _fault("too-large", shown, f"{status.st_size:,} bytes, and at most {MAX_BYTES:,} are read: {remedy}")
        return _decoded(file.read_bytes(), shown)
    except FileNotFoundError:
        return _fault("no-file", "", f"no file '{shown}'")
    except OSError as error:
        return _fault("unreadable", shown, f"cannot be read: {error.strerror}")
    except ValueError:  # a NUL byte in the name
        return _fault("no-file", "", f"no file {shown!a}")


def _kind(mode: int) -> str:
    return "a directory" if stat.S_ISDIR(mode) else "a device or pipe"


def _decoded(data: bytes, shown: str) -> str | Problem:
    for mark, encoding in _BYTE_ORDER_MARKS.items():
        if data.startswith(mark):
            message = f"begins with a byte order mark ({encoding}): save it as UTF-8 without one"
            return _fault("bad-text", f"{shown}:1:1", message)
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        place = _place(shown, data[: error.start].decode())
        return _fault("bad-text", place, f"byte 0x{data[error.start]:02x} is not UTF-8: save the file as UTF-8")
    if odd := _UNPRINTABLE.search(text):
        message = f"the character U+{ord(odd.group()):04X} cannot stand in YAML: remove it"
        return _fault("bad-text", _place(shown, text[: odd.start()]), message)
    return text


def _place(shown: str, before: str) -> str:
    line = before.count("\n") + 1
    return f"{shown}:{line}:{len(before) - before.rfind(chr(10))}"


def _fault(code: str, place: str, message: str) -> Problem:
    return Problem("fault", code, (), message, place)
