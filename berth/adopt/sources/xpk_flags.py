"""The flags of `xpk cluster create` (`xpk_flags.yaml`), as its parser reads them."""

from __future__ import annotations

import pathlib
from collections.abc import Mapping
from functools import cache
from typing import Any

from msgspec import Struct, field

from berth.adopt.sources.command_lines import CommandLine, variables_in
from berth.adopt.sources.source_fleet import UnusableSource
from berth.diagnostics import did_you_mean
from berth.yaml_loader import load_table


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
