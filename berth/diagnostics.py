"""Faults and warnings: what is wrong, where, what is allowed and what to do.

One `Problem` is one line to a person and one object in JSON. Modules that find problems know paths, never files; the
place is put in at the end by whoever read the file (`berth.loader.Places`).
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable
from typing import cast

from msgspec import Struct, field
from msgspec.structs import replace

FieldPath = tuple[str | int, ...]
"""Where in the fleet a value stands: keys, and indices of lists."""

_PLAIN_KEY = re.compile(r"[A-Za-z0-9_:/-]+")
_MAX_SHOWN = 80
"""Characters of a value or key that a message repeats: enough for every name that may be written."""


class Problem(Struct, frozen=True):
    """A fault (`severity` 'fault': the fleet is refused), a warning ('warning': it is sound, but look here) or a note
    ('note': what the plan assumes; only `berth plan` tells it).

    `code` is a stable word, `place` is `FILE:LINE` or `FILE` or empty, `message` quotes the value and says what to do.
    """

    severity: str
    code: str
    path: FieldPath
    message: str
    place: str = ""

    def with_place(self, place: str) -> Problem:
        """The same problem, found at `place`."""
        return replace(self, place=place)

    def line(self) -> str:
        """The problem as one line, `place: path: message`, leaving out what is unknown; what is no fault says so."""
        return self._joined_line("" if self.severity == "fault" else self.severity)

    def line_without_severity(self) -> str:
        """The same line where something else says already how severe it is."""
        return self._joined_line("")

    def _joined_line(self, severity: str) -> str:
        return _escape_unprintable(
            ": ".join(part for part in (self.place, severity, format_path(self.path), self.message) if part)
        )


class Problems(Struct):
    """A list of problems in the making; every check adds to it and carries on."""

    entries: list[Problem] = field(default_factory=list[Problem])

    def fault(self, code: str, path: FieldPath, message: str) -> None:
        """Add a fault."""
        self.entries.append(Problem("fault", code, path, message))

    def warning(self, code: str, path: FieldPath, message: str) -> None:
        """Add a warning."""
        self.entries.append(Problem("warning", code, path, message))

    def note(self, code: str, path: FieldPath, message: str) -> None:
        """Add a note."""
        self.entries.append(Problem("note", code, path, message))

    def has_faults(self) -> bool:
        """Whether any fault was found."""
        return any(p.severity == "fault" for p in self.entries)


def format_path(path: FieldPath) -> str:
    """`("pools", "a", "flavors", 0)` as `pools.a.flavors[0]`; a key that is no plain word is quoted."""
    text = ""
    for step in path:
        if isinstance(step, int):
            text += f"[{step}]"
        else:
            key = _truncate(step)
            text += ("." if text else "") + (key if _PLAIN_KEY.fullmatch(key) else f'"{key}"')
    return text


def format_value(value: object) -> str:
    """A value for a message, on one line and as YAML writes it, cut where it is long."""
    return _truncate(_flow_style(value))


def _flow_style(value: object) -> str:
    if isinstance(value, dict):
        entries = cast("dict[object, object]", value).items()
        return "{" + ", ".join(f"{key}: {_flow_style(inner)}" for key, inner in entries) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_flow_style, cast("list[object]", value))) + "]"
    return "null" if value is None else str(value).lower() if isinstance(value, bool) else str(value)


def _truncate(text: str) -> str:
    return text if len(text) <= _MAX_SHOWN else text[: _MAX_SHOWN - 3] + "..."


def _escape_unprintable(text: str) -> str:
    """The text with what would break the line, or move a terminal's cursor, escaped."""
    return text if text.isprintable() else "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)


def join_quoted(words: Iterable[object]) -> str:
    """Words for a message: `'a', 'b' and 'c'`."""
    return join_words([f"'{w}'" for w in words])


def join_words(parts: list[str]) -> str:
    """`a, b and c`."""
    return parts[0] if len(parts) == 1 else ", ".join(parts[:-1]) + " and " + parts[-1] if parts else ""


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """` did you mean 'x'?` with the leading semicolon where a known word is close, else an empty string."""
    close = closest_match(word, known)
    return "" if close is None else f"; did you mean '{close}'?"


def closest_match(word: str, known: Iterable[str]) -> str | None:
    """The known word that `word` is nearest to, whatever the case of letters; None where none is near."""
    if len(word) > _MAX_SHOWN:
        return None
    lowered_word, known_by_lower = word.lower(), {k.lower(): k for k in known}
    longer = sorted(k for k in known_by_lower if len(lowered_word) > 1 and k.startswith(lowered_word))
    shorter = sorted((k for k in known_by_lower if len(k) > 1 and lowered_word.startswith(k)), key=len, reverse=True)
    close = longer or difflib.get_close_matches(lowered_word, known_by_lower, n=1, cutoff=0.6) or shorter
    return known_by_lower[close[0]] if close else None
