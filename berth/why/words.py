"""Kueue's words about a workload that does not run, and what they mean (words.yaml)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

from msgspec import Struct, convert

from berth.yaml_loader import load_table

_BLANK = re.compile(r"<(\w+)>")


class Words(Struct, frozen=True, forbid_unknown_fields=True):
    """A text of Kueue and its meaning; the columns are explained in words.yaml."""

    code: str
    condition: str
    means: str
    helps: str
    says: str = ""
    state: str = ""
    until: str = "unknown"

    @property
    def shown(self) -> str:
        """The text as a person finds it in `kubectl describe workload`."""
        return self.says or f"Admission Checks: State: {self.state}"


class Reading(Struct, frozen=True):
    """A text that was found: its row, the message, and what stood for each `<name>` of the row."""

    words: Words
    message: str
    names: Mapping[str, str]

    def fill(self, text: str) -> str:
        """Return a text of the row with the names of the message."""
        for name, value in self.names.items():
            text = text.replace(f"{{{name}}}", value)
        return text


@cache
def all_words() -> tuple[Words, ...]:
    """Return every row, in the order of the table."""
    return convert(load_table(Path(__file__).parent / "words.yaml")["rows"], tuple[Words, ...])


@cache
def _pattern(says: str) -> re.Pattern[str]:
    """Return the pattern of a text: a name is a word, a list or a quantity, so it ends before the text that follows."""
    parts = _BLANK.split(says)
    last = len(parts) - 1
    pattern = "".join(
        re.escape(part) if index % 2 == 0 else f"(?P<{part}>{'.+?' if index + 1 < last or parts[-1] else '[^,; ]+'})"
        for index, part in enumerate(parts)
    )
    return re.compile(pattern)


def read_message(condition: str, message: str) -> Iterator[Reading]:
    """Yield what a message of a condition says. Of texts that begin at the same place, only the longest counts."""
    found: dict[int, Reading] = {}
    lengths: dict[int, int] = {}
    for words in all_words():
        if words.condition != condition or not words.says:
            continue
        for match in _pattern(words.says).finditer(message):
            start, length = match.start(), match.end() - match.start()
            if length > lengths.get(start, 0):
                found[start] = Reading(words, message, match.groupdict())
                lengths[start] = length
    for start in sorted(found):
        yield found[start]


def read_check(state: str, message: str) -> Reading | None:
    """Return what the state of an admission check says; None for Ready."""
    found = next((each for each in all_words() if each.condition == "AdmissionChecks" and each.state == state), None)
    return None if found is None else Reading(found, message, {})
