"""Faults and warnings: what is wrong, where, what is allowed and what to do.

One `Problem` is one line to a person and one object in JSON. Modules that find problems know paths, never files; the
place is put in at the end by whoever read the file (`stacks.read.Places`).
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable
from dataclasses import dataclass, field, replace

Path = tuple[str | int, ...]
"""Where in the fleet a value stands: keys, and indices of lists."""

_PLAIN_KEY = re.compile(r"[A-Za-z0-9_:/-]+")


@dataclass(frozen=True, slots=True)
class Problem:
    """A fault (`severity` 'fault': the fleet is refused) or a warning ('warning': the fleet is sound, but look here).

    `code` is a stable word, `place` is `FILE:LINE` or `FILE` or empty, `message` quotes the value and says what to do.
    """

    severity: str
    code: str
    path: Path
    message: str
    place: str = ""

    def at(self, place: str) -> Problem:
        """The same problem, found at `place`."""
        return replace(self, place=place)

    def line(self) -> str:
        """The problem as one line, `place: path: message`, leaving out what is unknown; a warning says so."""
        severity = "warning" if self.severity == "warning" else ""
        return ": ".join(part for part in (self.place, severity, dotted(self.path), self.message) if part)


@dataclass(slots=True)
class Problems:
    """A list of problems in the making; every check adds to it and carries on."""

    found: list[Problem] = field(default_factory=list[Problem])

    def fault(self, code: str, path: Path, message: str) -> None:
        """Add a fault."""
        self.found.append(Problem("fault", code, path, message))

    def warning(self, code: str, path: Path, message: str) -> None:
        """Add a warning."""
        self.found.append(Problem("warning", code, path, message))

    def refused(self) -> bool:
        """Whether any fault was found."""
        return any(p.severity == "fault" for p in self.found)


def dotted(path: Path) -> str:
    """`("pools", "a", "flavors", 0)` as `pools.a.flavors[0]`; a key that is no plain word is quoted."""
    text = ""
    for step in path:
        if isinstance(step, int):
            text += f"[{step}]"
        else:
            text += ("." if text else "") + (step if _PLAIN_KEY.fullmatch(step) else f'"{step}"')
    return text


def quoted(words: Iterable[object]) -> str:
    """Words for a message: `'a', 'b' and 'c'`."""
    return in_words([f"'{w}'" for w in words])


def in_words(parts: list[str]) -> str:
    """`a, b and c`."""
    return parts[0] if len(parts) == 1 else ", ".join(parts[:-1]) + " and " + parts[-1] if parts else ""


def near_miss(word: str, known: Iterable[str]) -> str:
    """` did you mean 'x'?` with the leading semicolon where a known word is close, else an empty string."""
    close = difflib.get_close_matches(word, list(known), n=1, cutoff=0.6)
    return f"; did you mean '{close[0]}'?" if close else ""
