"""Find a command in a script or a page, with the values that the text assigns to its shell variables."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping

from msgspec import Struct

from berth.adopt.sources.source_fleet import UnusableSource

_ASSIGNMENT = re.compile(r"^\s*(?:\$\s*)?(?:export\s+)?([A-Za-z_]\w*)=(.*)$")
_VARIABLE = re.compile(r"\$\{\{\s*([\w.]+)\s*\}\}|\$\{(\w+)\}|\$(\w+)")
_ENDS = {";", "&&", "||", "|", "&", ">", ">>", "2>&1"}
_MAX_ROUNDS = 10
"""How often variables in the values of variables are replaced."""


class CommandLine(Struct, frozen=True):
    """A command in a text: its line, the words after its name with variables replaced, and those that have no value."""

    line: int
    words: tuple[str, ...]
    sub_command: str


def find_command(text: str, pattern: re.Pattern[str], file: str, values: Mapping[str, str]) -> CommandLine | None:
    """Return the command that a text has; None if it has none. Raises UnusableSource if it has several that differ,
    or one with a quote that is not closed.

    `pattern` matches the command's name, with the sub-command as its group. `values` replace assignments of the text.
    """
    found: dict[tuple[str, tuple[str, ...]], CommandLine] = {}
    variables: dict[str, str] = {}
    for number, line in _logical_lines(text):
        if assigned := _ASSIGNMENT.match(line):
            words = _words(assigned[2])
            variables[assigned[1]] = words[0] if words else ""
        match = pattern.search(line)
        if match is None:
            continue
        words = _words(line[match.end() :])
        if not words and line[match.end() :].lstrip().startswith("-"):
            raise UnusableSource(f"{file}:{number}: error: a quote of the command is not closed; close it")
        if words and words[0].startswith("-"):
            known = {**variables, **values}
            replaced = tuple(_with_values(word, known) for word in words)
            found.setdefault((match[1], replaced), CommandLine(number, replaced, match[1]))
    if len(found) > 1:
        lines = ", ".join(str(each.line) for each in found.values())
        raise UnusableSource(
            f"{file}: has {len(found)} different commands that create a cluster (lines {lines}); write one of them "
            "into a file of its own"
        )
    return next(iter(found.values()), None)


def variables_in(word: str) -> list[str]:
    """Return the names of the variables that a word still has."""
    return [match[1] or match[2] or match[3] for match in _VARIABLE.finditer(word)]


def _logical_lines(text: str) -> Iterator[tuple[int, str]]:
    """Yield lines, those that end in a backslash joined, each with the number of its first."""
    begun, start = "", 0
    for number, line in enumerate(text.splitlines(), 1):
        start = start if begun else number
        if line.rstrip().endswith("\\"):
            begun += line.rstrip()[:-1] + " "
            continue
        yield start, begun + line
        begun = ""
    if begun:
        yield start, begun


def _words(text: str) -> list[str]:
    """Return the words of a command, to the end of the line, a comment or the next command."""
    for candidate in (text, text.rstrip().rstrip("'\"`")):  # the command may be quoted as a whole
        lexer = shlex.shlex(candidate, posix=True, punctuation_chars=";&|>")
        lexer.whitespace_split = True
        try:
            words = list(lexer)
        except ValueError:
            continue
        end = next((at for at, word in enumerate(words) if word in _ENDS), len(words))
        return words[:end]
    return []


def _with_values(word: str, values: Mapping[str, str]) -> str:
    for _ in range(_MAX_ROUNDS):
        replaced = _VARIABLE.sub(lambda match: values.get(match[1] or match[2] or match[3], match[0]), word)
        if replaced == word:
            break
        word = replaced
    return word
