"""The YAML files of one stack as text, edited key by key so that nothing else in them moves."""

from __future__ import annotations

import difflib
import pathlib
import re
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from tempfile import TemporaryDirectory
from typing import cast

import yaml
from msgspec import Struct

from berth.diagnostics import Path, dotted
from berth.evaluate import Verdict, of_stack
from berth.loader import StackFile, read_stack


class NotEdited(Exception):
    """An edit that must be made by hand, in one line."""


class Sheet(Struct, frozen=True, dict=True):
    """The files of a stack: name (from the folder of Pulumi.yaml) to text. Every edit gives a new sheet.

    `stack` is the stack's name and `file` the name of its own file among them.
    """

    stack: str
    file: str
    texts: Mapping[str, str]

    def verdict(self) -> Verdict:
        """What is to be said of the stack with these files."""
        with _folder(self.texts) as folder:
            return of_stack(str(folder / self.file), folder, self.stack)

    def difference(self, before: Sheet) -> str:
        """What was edited since, as a unified diff that `git apply` takes."""
        parts: list[str] = []
        for name in sorted(self.texts):
            old, new = before.texts[name].splitlines(keepends=True), self.texts[name].splitlines(keepends=True)
            parts += difflib.unified_diff(old, new, f"a/{name}", f"b/{name}")
        return "".join(part if part.endswith("\n") else f"{part}\n\\ No newline at end of file\n" for part in parts)

    # --- edits --------------------------------------------------------------------------------------------------------
    # The text is edited by pattern, and then read again: an edit that did anything else is none.

    def put(self, path: Path, key: str, value: str) -> Sheet:
        """With `key: value` (YAML text on one line) in the mapping at `path`, in place of what stands there."""
        there = self.value((*path, key)) is not None
        name, at = self._place((*path, key) if there else path)
        lines = self.texts[name].splitlines(keepends=True)
        if there:
            lines[at] = re.sub(_VALUE_OF.format(re.escape(key)), lambda f: f[1] + value, lines[at], count=1)
        elif re.search(r":\s*\{", lines[at]):
            pair = f"{key}: {value}"
            lines[at] = re.sub(
                r"(:\s*\{\s*)(\})?", lambda f: f"{f[1]}{pair}{'}' if f[2] else ', '}", lines[at], count=1
            )
        else:
            lines.insert(at + 1, f"{self._inside(lines, at)}{key}: {value}\n")
        return self._checked(name, lines, (*path, key), yaml.safe_load(value))

    def take(self, path: Path) -> Sheet:
        """Without the entry at `path`."""
        name, at = self._place(path)
        lines = self.texts[name].splitlines(keepends=True)
        key = re.escape(str(path[-1]))
        if re.match(rf"\s*\"?{key}\"?:", lines[at]):
            del lines[at : _end(lines, at)]
        else:
            lines[at] = re.sub(rf"{_VALUE_OF.format(key)}(?:,\s*)?", "", lines[at], count=1)
        return self._checked(name, lines, path, None)

    def copy(self, path: Path, called: str) -> Sheet:
        """With the entry at `path` written once more after itself, under another key."""
        name, at = self._place(path)
        lines = self.texts[name].splitlines(keepends=True)
        entry = lines[at : _end(lines, at)]
        entry[0] = (
            re.sub(rf"^(\s*)\"?{re.escape(str(path[-1]))}\"?:[ ]*", rf"\g<1>{called}: ", entry[0]).rstrip() + "\n"
        )
        lines[_end(lines, at) : _end(lines, at)] = entry
        return self._checked(name, lines, (*path[:-1], called), self.value(path))

    def replace(self, path: Path, new: str) -> Sheet:
        """With the word at `path` replaced by another, on the line where it stands."""
        name, at = self._place(path)
        lines = self.texts[name].splitlines(keepends=True)
        key, old = path[-1], self.value(path)
        pattern = rf"({key}:[ ]*\"?){re.escape(str(old))}(?![\w-])"
        lines[at] = re.sub(pattern, lambda f: f[1] + new, lines[at], count=1)
        return self._checked(name, lines, path, new)

    def _checked(self, name: str, lines: list[str], path: Path, value: object) -> Sheet:
        """The sheet with these lines. Raises NotEdited unless `value` at `path` (None: nothing) is all that changed."""
        after = Sheet(self.stack, self.file, {**self.texts, name: "".join(lines)})
        if after.value(()) != _with(self.value(()), path, value):
            what = "take it out" if value is None else f"make it {value}"
            raise NotEdited(
                f"{':'.join(map(str, self._place(path)[:1]))}: {dotted(path)}: {what} by hand, and go on from there"
            )
        return after

    # --- places -------------------------------------------------------------------------------------------------------

    def _place(self, path: Path) -> tuple[str, int]:
        """The file and the line (from 0) of what stands at `path`."""
        file = self._read()
        place = file.places.of(path) if file else ""
        name, _, line = place.rpartition(":")
        if not line.isdecimal():
            raise NotEdited(f"{dotted(path)} stands in no file")
        return name, int(line) - 1

    def value(self, path: Path) -> object:
        """What was written at `path`; None where nothing was."""
        file = self._read()
        found: object = file.fleet if file else None
        for step in path:
            if isinstance(found, dict):
                found = cast("dict[str | int, object]", found).get(step)
            else:
                found = cast("list[object]", found)[step] if isinstance(found, list) and isinstance(step, int) else None
        return found

    def _read(self) -> StackFile | None:
        """The stack as it is written."""
        with _folder(self.texts) as folder:
            return read_stack(str(folder / self.file), folder)[0]

    def _inside(self, lines: list[str], at: int) -> str:
        """The indentation of what stands inside the mapping that begins on a line."""
        below = next((line for line in lines[at + 1 : _end(lines, at)] if line.strip()), None)
        own = _indent(lines[at])
        return " " * (_indent(below) if below else own + 2)


_VALUE_OF = r"((?:^|(?<=[{{,\s])){}:[ ]*)(?:\"[^\"]*\"|\{{[^}}]*\}}|\[[^\]]*\]|[^,}}#\n]*[^,}}#\s])"
"""A key and its value on one line, the key alone in the first group; to be formatted with the key."""


def _with(value: object, path: Path, new: object) -> object:
    """A copy of a value with `new` at `path`; None takes out what stands there."""
    if not path:
        return new
    step, rest = path[0], path[1:]
    if isinstance(value, list):
        items = list(cast("list[object]", value))
        items[cast("int", step)] = _with(items[cast("int", step)], rest, new)
        return items
    entries = dict(cast("dict[str, object]", value or {}))
    if new is None and not rest:
        entries.pop(str(step), None)
    else:
        entries[str(step)] = _with(entries.get(str(step)), rest, new)
    return entries


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip(" "))


def _end(lines: list[str], at: int) -> int:
    """Where the block that begins on a line ends; comments and empty lines after it are not of it."""
    end = at + 1
    for index in range(at + 1, len(lines)):
        if lines[index].strip() and _indent(lines[index]) <= _indent(lines[at]):
            break
        if lines[index].strip():
            end = index + 1
    return end


@contextmanager
def _folder(texts: Mapping[str, str]) -> Generator[pathlib.Path]:
    with TemporaryDirectory(prefix="berth-") as name:
        folder = pathlib.Path(name)
        for file, text in texts.items():
            (folder / file).parent.mkdir(parents=True, exist_ok=True)
            (folder / file).write_text(text, encoding="utf-8")
        yield folder
