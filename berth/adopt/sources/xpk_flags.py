"""The command line of xpk: found in a script or a page, its flags (`xpk_flags.yaml`), and its accelerator types."""

from __future__ import annotations

import math
import pathlib
import re
import shlex
from collections.abc import Iterator, Mapping
from functools import cache
from types import MappingProxyType
from typing import Any

from msgspec import Struct, field

from berth.adopt.sources.source_fleet import UnusableSource
from berth.diagnostics import did_you_mean
from berth.yaml_loader import load_table

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
        return words[: next((at for at, word in enumerate(words) if word in _ENDS), len(words))]
    return []


def _with_values(word: str, values: Mapping[str, str]) -> str:
    for _ in range(_MAX_ROUNDS):
        replaced = _VARIABLE.sub(lambda match: values.get(match[1] or match[2] or match[3], match[0]), word)
        if replaced == word:
            break
        word = replaced
    return word


class XpkFlags(Struct):
    """The flags of a command by name; reading one that has no value adds to `missing`."""

    given: Mapping[str, Any]
    place: str
    values: Mapping[str, str]
    sub_command: str
    missing: list[str] = field(default_factory=list[str])

    def has(self, name: str) -> bool:
        """Return whether the flag is given."""
        return name in self.given

    def text(self, name: str, default: str | None = None) -> str:
        """Return a flag's text; one that is needed and has none is missing, and then "" is returned."""
        value = self.given.get(name, self.values.get(name, default))
        if value is None:
            self.missing.append(f"--{name} is not given; add --value {name}=…")
            return ""
        if names := variables_in(value):
            self.missing += [f"--{name} is '{value}', and ${each} has no value; add --value {each}=…" for each in names]
            return ""
        return str(value)

    def number(self, name: str, default: int) -> int:
        """Return a flag's whole number."""
        text = self.text(name, str(default))
        if text.isdecimal() and len(text) < 7:
            return int(text)
        if text:
            self.missing.append(f"--{name} is '{text}'; write a whole number")
        return default


@cache
def known_xpk_flags() -> Mapping[str, Mapping[str, str]]:
    """Return the flags of xpk by name: what each takes, and what it says."""
    return load_table(pathlib.Path(__file__).with_name("xpk_flags.yaml"))


def read_xpk_flags(command: CommandLine, place: str) -> dict[str, Any]:
    """Return the flags of a command. Raises UnusableSource with every one that xpk does not know."""
    given: dict[str, Any] = {}
    wrong: list[str] = []
    words = list(command.words)
    while words:
        name, has_value, value = words.pop(0).partition("=")
        flag = _full_name(name.removeprefix("--")) if name.startswith("--") else None
        if flag is None:
            hint = did_you_mean(name.removeprefix("--"), known_xpk_flags()) if name.startswith("--") else ""
            wrong.append(f"{place}: error: '{name}' is no flag of xpk cluster {command.sub_command}{hint}")
            if name.startswith("--") and not has_value and words and not words[0].startswith("-"):
                words.pop(0)  # its value
            continue
        takes = known_xpk_flags()[flag]["takes"]
        if takes == "nothing":
            given[flag] = "true"
        elif takes == "several":
            more = [value] if has_value else []
            while not has_value and words and not words[0].startswith("-"):
                more.append(words.pop(0))
            given[flag] = [*given.get(flag, []), *more]
        elif has_value or (words and not words[0].startswith("--")):
            given[flag] = value if has_value else words.pop(0)
        else:
            wrong.append(f"{place}: error: --{flag} has no value; write --{flag}=VALUE")
    if wrong:
        raise UnusableSource(*wrong)
    return given


def _full_name(name: str) -> str | None:
    """Return the flag of a name or of its unambiguous beginning, as xpk's parser reads it."""
    if name in known_xpk_flags():
        return name
    begun = [each for each in known_xpk_flags() if name and each.startswith(name)]
    return begun[0] if len(begun) == 1 else None


_LARGEST_SIDE, _CUBE, _CHIPS_OF_A_HOST = 256, 4, 4


class XpkType(Struct, frozen=True):
    """An accelerator type: its machines, and for a TPU the topology and hosts of a slice, else GPUs of a node."""

    machine_type: str
    kind: str
    topology: str | None = None
    hosts: int = 1
    gpu: str = ""
    gpus: int = 0
    blueprint_pool: str = ""
    compact: tuple[str, ...] = ()
    dranet: bool = False


@cache
def xpk_types() -> Mapping[str, XpkType]:
    """Return every type that xpk knows, by name."""
    table = load_table(pathlib.Path(__file__).with_name("xpk_types.yaml"))
    types: dict[str, XpkType] = {}
    for row in table["tpus"]:
        for name, each in _tpu_types(row, table["small"]):
            is_named = each.topology in row.get("named", ())
            if name not in types or is_named or name.endswith(f"-{each.topology}"):
                types[name] = each
    for name, row in table["gpus"].items():
        types[name] = XpkType(
            row["machine"], "gpu", gpu=row["gpu"], gpus=row["count"], blueprint_pool=row.get("blueprint", ""),
            compact=tuple(row.get("compact", ())), dranet=row.get("dranet", False),
        )  # fmt: skip
    for machine, sizes in table["cpus"].items():
        types |= {f"{machine}-{hosts}": XpkType(machine, "cpu", hosts=hosts) for hosts in sizes}
    return MappingProxyType(types)


def _tpu_types(row: Mapping[str, Any], small: list[str]) -> Iterator[tuple[str, XpkType]]:
    """Yield the names of each topology of a row: with the topology, and with its TensorCores."""
    for topology in row.get("topologies") or [*small, *_topologies(row["cubes"], ordered=row["ordered"])]:
        chips = math.prod(map(int, topology.split("x")))
        hosts = 1 if chips == 1 else chips // _CHIPS_OF_A_HOST
        made = XpkType(
            row["machine"], "tpu", topology, hosts, dranet=row.get("dranet", False),
        )  # fmt: skip
        yield f"{row['prefix']}-{topology}", made
        yield f"{row['prefix']}-{chips * row['cores']}", made


def _topologies(cubes: int, *, ordered: bool) -> Iterator[str]:
    """Yield three-dimensional topologies of whole cubes, the smallest sides first."""
    sides = range(_CUBE, _LARGEST_SIDE + 1, _CUBE)
    for x in sides:
        for y in (side for side in sides if side >= x or not ordered):
            for z in (side for side in sides if side >= y or not ordered):
                if (x // _CUBE) * (y // _CUBE) * (z // _CUBE) <= cubes:
                    yield f"{x}x{y}x{z}"
