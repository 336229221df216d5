"""Read a file as text; every failure is a fault with a remedy, never a traceback."""

from __future__ import annotations

import pathlib
import re
import stat

from berth.diagnostics import Problem, Severity

MAX_BYTES = 1 << 20
"""Maximum size of a YAML file: a mistaken path to a large file fails at once."""

_UNPRINTABLE = re.compile("[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_BYTE_ORDER_MARKS = {b"\xef\xbb\xbf": "UTF-8", b"\xff\xfe": "UTF-16", b"\xfe\xff": "UTF-16"}


def read_text(file: pathlib.Path, display_path: str, remedy: str) -> str | Problem:
    """Return the file's text, or the fault that prevented reading it.

    `display_path` is the name in faults, `remedy` what to do with a file of more than `MAX_BYTES`.
    Faults: `no-file`, `unreadable`, `too-large`, `bad-text`.
    """
    try:
        status = file.stat()
        if not stat.S_ISREG(status.st_mode):
            return _fault("unreadable", display_path, f"is {_file_type(status.st_mode)}, not a file; name a YAML file")
        if status.st_size > MAX_BYTES:
            return _fault(
                "too-large",
                display_path,
                f"is {status.st_size:,} bytes, more than the maximum of {MAX_BYTES:,}; {remedy}",
            )
        return _decode(file.read_bytes(), display_path)
    except FileNotFoundError:
        return _fault("no-file", "", f"no file '{display_path}'")
    except OSError as error:
        return _fault("unreadable", display_path, f"cannot be read: {error.strerror}")
    except ValueError:  # a NUL byte in the name
        return _fault("no-file", "", f"no file {display_path!a}")


def _file_type(mode: int) -> str:
    return "a directory" if stat.S_ISDIR(mode) else "a device or pipe"


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
