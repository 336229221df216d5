"""Read a file as text; every failure is a fault with a remedy, never a traceback."""

from __future__ import annotations

import json
import pathlib
import re
import stat
from collections.abc import Iterable
from typing import cast

from berth.diagnostics import Problem, Severity

MAX_BYTES = 1 << 20
"""Maximum size of a YAML file: a mistaken path to a large file fails at once."""
MAX_ANSWER_BYTES = 1 << 29
"""Maximum size of what another program wrote: a preview of 24,000 resources has about 200 MB."""
MAX_DEPTH = 64
"""Maximum number of brackets or levels inside each other."""
TOO_DEEP = f"nested more than {MAX_DEPTH} levels deep; remove brackets or levels"

_UNPRINTABLE = re.compile("[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_BYTE_ORDER_MARKS = {b"\xef\xbb\xbf": "UTF-8", b"\xff\xfe": "UTF-16", b"\xfe\xff": "UTF-16"}


def read_text(file: pathlib.Path, display_path: str, remedy: str) -> str | Problem:
    """Return the file's text, or the fault that prevented reading it.

    `display_path` is the name in faults, `remedy` what to do with a file of more than `MAX_BYTES`.
    Faults: `no-file`, `unreadable`, `too-large`, `bad-text`.
    """
    data = read_bytes(file, display_path, "name a YAML file", remedy)
    return _decode(data, display_path) if isinstance(data, bytes) else data


def read_json(file: pathlib.Path, display_path: str, remedy: str) -> object:
    """Return the value of a JSON file, or the `Problem` that prevented reading it; `remedy` is how to write the file.

    Faults: `no-file`, `unreadable`, `too-large`, `bad-json`.
    """
    data = read_bytes(file, display_path, remedy, remedy, MAX_ANSWER_BYTES)
    return data if isinstance(data, Problem) else parse_json(data, display_path, remedy)


def parse_json(text: str | bytes, display_path: str, remedy: str) -> object:
    """Return the value of a JSON text, or the fault `bad-json`."""
    try:
        value: object = json.loads(text)
    except json.JSONDecodeError as error:
        reason = f"is not JSON: {error.msg} at line {error.lineno}, column {error.colno}"
    except UnicodeDecodeError as error:
        reason = f"is not JSON: byte {error.start} is not UTF-8"
    except ValueError:
        reason = "is not JSON: it has a number with thousands of digits"
    except RecursionError:
        reason = f"is nested more than {MAX_DEPTH} levels deep"
    else:
        if not is_too_deep(value):
            return value
        reason = f"is nested more than {MAX_DEPTH} levels deep"
    return _fault("bad-json", display_path, f"{reason}; {remedy}")


def is_too_deep(value: object) -> bool:
    """Whether lists and objects are inside each other in more than `MAX_DEPTH` levels: Python's stack is finite."""
    level = [value]
    for _ in range(MAX_DEPTH + 1):
        level = [inner for each in level for inner in _children(each) if isinstance(inner, dict | list)]
        if not level:
            return False
    return True


def _children(value: object) -> Iterable[object]:
    if isinstance(value, dict):
        return cast("dict[str, object]", value).values()
    return cast("list[object]", value) if isinstance(value, list) else ()


def read_bytes(
    file: pathlib.Path, display_path: str, expected: str, remedy: str, max_bytes: int = MAX_BYTES
) -> bytes | Problem:
    """Return the content of a regular file of at most `max_bytes`, or the fault that prevented reading it.

    A device or a pipe may have no end, or no writer. `expected` says what to name instead of one.
    """
    try:
        status = file.stat()
        if not stat.S_ISREG(status.st_mode):
            kind = "a directory" if stat.S_ISDIR(status.st_mode) else "a device or pipe"
            return _fault("unreadable", display_path, f"is {kind}, not a file; {expected}")
        if status.st_size > max_bytes:
            return _fault(
                "too-large",
                display_path,
                f"is {status.st_size:,} bytes, more than the maximum of {max_bytes:,}; {remedy}",
            )
        return file.read_bytes()
    except FileNotFoundError:
        return _fault("no-file", "", f"no file '{display_path}'")
    except OSError as error:
        return _fault("unreadable", display_path, f"cannot be read: {error.strerror}")
    except ValueError:  # a NUL byte in the name
        return _fault("no-file", "", f"no file {display_path!a}")


def decode_text(data: bytes, display_path: str) -> str | Problem:
    """Return bytes that were read elsewhere as text, or the fault `bad-text`."""
    return _decode(data, display_path)


def _decode(data: bytes, display_path: str) -> str | Problem:
    for mark, encoding in _BYTE_ORDER_MARKS.items():
        if data.startswith(mark):
            message = f"begins with a byte order mark ({encoding}); save it as UTF-8 without one"
            return _fault("bad-text", f"{display_path}:1:1", message)
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        place = _place(display_path, data[: error.start].decode())
        return _fault("bad-text", place, f"byte 0x{data[error.start]:02x} is not UTF-8; save the file as UTF-8")
    if invalid := _UNPRINTABLE.search(text):
        message = f"the character U+{ord(invalid.group()):04X} is not allowed in YAML; remove it"
        return _fault("bad-text", _place(display_path, text[: invalid.start()]), message)
    return text


def _place(display_path: str, text_before: str) -> str:
    line = text_before.count("\n") + 1
    return f"{display_path}:{line}:{len(text_before) - text_before.rfind(chr(10))}"


def _fault(code: str, place: str, message: str) -> Problem:
    return Problem(Severity.FAULT, code, (), message, place)
