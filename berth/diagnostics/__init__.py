"""Faults, warnings and notes: what is wrong, where, and what to do.

One `Problem` is one line of text and one object in JSON. Modules that report problems know paths, not files; the loader
adds the place at the end (`berth.loader.SourceMap`).
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Iterable
from enum import StrEnum
from typing import cast

from msgspec import Struct, field
from msgspec.structs import replace

FieldPath = tuple[str | int, ...]
"""The path of a value in the fleet: keys, and indices of lists."""

_PLAIN_KEY = re.compile(r"[A-Za-z0-9_:/-]+")
_NUMBER_OR_TIME = re.compile(r"[0-9][0-9_:.+TZ-]*")
_MAX_SHOWN = 80
"""Maximum length of a value or key in a message, in characters: enough for every valid name."""


class Severity(StrEnum):
    """What a problem means for the stack."""

    FAULT = "fault"
    """The stack file is refused."""
    WARNING = "warning"
    """The stack file is valid, and a person should look at this."""
    NOTE = "note"
    """An assumption of the plan, printed by `berth plan`; or a risk that the stack file accepts for a reason."""

    @property
    def word(self) -> str:
        """The word for it in a line: `error`, `warning` or `note`. JSON has the severity itself."""
        return "error" if self == Severity.FAULT else self


class Problem(Struct, frozen=True):
    """A fault, a warning or a note.

    `code` is a stable word, `place` is `FILE:LINE`, `FILE` or empty, `message` names the value and what to write.
    A note is `accepted` if it would be a warning, had the stack file not accepted it for a reason.
    """

    severity: Severity
    code: str
    path: FieldPath
    message: str
    place: str = ""
    accepted: bool = False

    @property
    def is_unknown(self) -> bool:
        """Whether it says that a table of facts has no row for a value: neither a pass nor a refusal."""
        return self.severity == Severity.WARNING and self.code.endswith("-unknown")

    def as_json(self) -> dict[str, str]:
        """Return the JSON values; `path` is dotted."""
        return {
            "severity": self.severity,
            "code": self.code,
            "place": self.place,
            "path": format_path(self.path),
            "message": self.message,
        }

    def with_place(self, place: str) -> Problem:
        """Return a copy of the problem with this place."""
        return replace(self, place=place)

    def line(self, paint: Callable[[str], str] = str) -> str:
        """Return the problem as one line, `place: severity: path: message [code]`, without unknown parts.

        `paint` colours the severity and the code.
        """
        return self._joined_line(paint(self.severity.word), paint)

    def line_without_severity(self) -> str:
        """Return the line without the word for its severity, for outputs that show it elsewhere."""
        return self._joined_line("", str)

    def text_with_code(self) -> str:
        """Return `path: message [code]`, for outputs that show the place and the severity elsewhere."""
        return replace(self, place="").line_without_severity()

    def _joined_line(self, severity: str, paint: Callable[[str], str]) -> str:
        place, text = (printable(part) for part in (self.place, self._text()))
        code = f" {paint(f'[{self.code}]')}" if self.code else ""
        return ": ".join(part for part in (place, severity, text) if part) + code

    def _text(self) -> str:
        return ": ".join(part for part in (format_path(self.path), self.message) if part)


class Problems(Struct):
    """A collection of problems; every check adds to it and continues."""

    entries: list[Problem] = field(default_factory=list[Problem])

    def add(self, severity: Severity, code: str, path: FieldPath, message: str) -> None:
        """Add a problem."""
        self.entries.append(Problem(severity, code, path, message))

    def fault(self, code: str, path: FieldPath, message: str) -> None:
        """Add a fault."""
        self.entries.append(Problem(Severity.FAULT, code, path, message))

    def warning(self, code: str, path: FieldPath, message: str) -> None:
        """Add a warning."""
        self.entries.append(Problem(Severity.WARNING, code, path, message))

    def unknown(self, code: str, path: FieldPath, message: str) -> None:
        """Add a warning for a value that a table of facts does not have; the code ends in `-unknown`."""
        self.warning(code, path, message)

    def note(self, code: str, path: FieldPath, message: str) -> None:
        """Add a note."""
        self.entries.append(Problem(Severity.NOTE, code, path, message))

    def accepted_risk(self, code: str, path: FieldPath, message: str) -> None:
        """Add a note of a risk that the stack file accepts; the message says so."""
        self.entries.append(Problem(Severity.NOTE, code, path, message, accepted=True))

    def has_faults(self) -> bool:
        """Return whether the collection has a fault."""
        return any(p.severity == Severity.FAULT for p in self.entries)


def format_path(path: FieldPath) -> str:
    """Return `("pools", "a", "flavors", 0)` as `pools.a.flavors[0]`; keys with other signs are quoted."""
    text = ""
    for step in path:
        if isinstance(step, int):
            text += f"[{step}]"
        else:
            key = _truncate(str(step))  # components can be given keys that are no text
            text += ("." if text else "") + (key if _PLAIN_KEY.fullmatch(key) else f'"{key}"')
    return text


def format_value(value: object, *, quoted: bool = False) -> str:
    """Return a value for a message, on one line, as YAML, truncated if it is long.

    `quoted` puts text in quotes that is a number, a day or a time without them, so that the value can be typed.
    """
    return _truncate(_flow_style(value, quoted=quoted))


def _flow_style(value: object, *, quoted: bool) -> str:
    if isinstance(value, dict):
        entries = cast("dict[object, object]", value).items()
        return "{" + ", ".join(f"{key}: {_flow_style(inner, quoted=quoted)}" for key, inner in entries) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(_flow_style(each, quoted=quoted) for each in cast("list[object]", value)) + "]"
    if quoted and isinstance(value, str) and _NUMBER_OR_TIME.fullmatch(value):
        return f'"{value}"'
    return "null" if value is None else str(value).lower() if isinstance(value, bool) else str(value)


def _truncate(text: str) -> str:
    return text if len(text) <= _MAX_SHOWN else text[: _MAX_SHOWN - 3] + "..."


def printable(text: str) -> str:
    """Return the text as one line that does nothing but show it: every line that Berth prints goes through here.

    Line breaks, control characters and characters that change the order of others are escaped. So is the beginning of a
    workflow command (`::error::`, `##[group]`), which GitHub runs where a line of a log begins with one.
    """
    line = text if text.isprintable() else "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)
    start = line.lstrip()
    if not start.startswith(("::", "##[")):
        return line
    return f"{line[: len(line) - len(start)]}\\x{ord(start[0]):02x}{start[1:]}"


def join_quoted(words: Iterable[object]) -> str:
    """Return words for a message: `'a', 'b' and 'c'`."""
    return join_words([f"'{w}'" for w in words])


def join_words(parts: list[str]) -> str:
    """Return `a, b and c`."""
    return parts[0] if len(parts) == 1 else ", ".join(parts[:-1]) + " and " + parts[-1] if parts else ""


def join_or(words: Iterable[str]) -> str:
    """Return `a, b or c`."""
    return join_words([*words]).replace(" and ", " or ")


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """Return `; did you mean 'x'?` if a known word is similar, else an empty string."""
    close = closest_match(word, known)
    return "" if close is None else f"; did you mean '{close}'?"


def closest_match(word: str, known: Iterable[str]) -> str | None:
    """Return the known word most similar to `word`, ignoring case; None if none is similar."""
    if len(word) > _MAX_SHOWN:
        return None
    lowered_word, known_by_lower = word.lower(), {k.lower(): k for k in known}
    longer = sorted(k for k in known_by_lower if len(lowered_word) > 1 and k.startswith(lowered_word))
    shorter = sorted((k for k in known_by_lower if len(k) > 1 and lowered_word.startswith(k)), key=len, reverse=True)
    close = longer or difflib.get_close_matches(lowered_word, known_by_lower, n=1, cutoff=0.6) or shorter
    return known_by_lower[close[0]] if close else None
