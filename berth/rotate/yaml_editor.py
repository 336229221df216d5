"""Edit the YAML files of one stack as text, key by key, so that comments and layout stay."""

from __future__ import annotations

import difflib
import pathlib
import re
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from functools import cached_property
from tempfile import TemporaryDirectory
from typing import cast

from msgspec import Struct

from berth.diagnostics import FieldPath, format_path
from berth.evaluate import Evaluation, evaluate_stack
from berth.loader import StackFile, read_stack
from berth.loader.locate import display_path
from berth.yaml_loader import load_yaml


class ManualEditRequired(Exception):
    """An edit that must be made by hand, as a one-line message."""


class YamlEditor(Struct, frozen=True, dict=True):
    """The files of a stack: name (from the folder of Pulumi.yaml) to text. Every edit returns a new editor.

    `stack` is the stack's name and `file` the name of its own file among them.
    """

    stack: str
    file: str
    texts: Mapping[str, str]

    @classmethod
    def of(cls, evaluation: Evaluation, root: pathlib.Path) -> YamlEditor:
        """Return the files of a stack that was loaded from a file.

        A file outside the project's folder is edited under its bare name, beside the project's team files.
        """
        file = evaluation.loaded
        assert file.file is not None
        shown = display_path(file.file, root)
        own = shown if file.file.resolve().is_relative_to(root.resolve()) else file.file.name
        texts = {own: file.file.read_text(encoding="utf-8")}
        texts |= {name: (root / name).read_text(encoding="utf-8") for name in file.source_map.files if name != shown}
        return cls(file.stack, own, texts)

    def evaluate(self) -> Evaluation:
        """Return the evaluation of the stack with these files."""
        with _temporary_folder(self.texts) as folder:
            return evaluate_stack(str(folder / self.file), folder, self.stack)

    def unified_diff(self, before: YamlEditor) -> str:
        """Return the changes as a unified diff for `git apply`."""
        parts: list[str] = []
        for name in sorted(self.texts):
            old, new = before.texts[name].splitlines(keepends=True), self.texts[name].splitlines(keepends=True)
            parts += difflib.unified_diff(old, new, f"a/{name}", f"b/{name}")
        return "".join(part if part.endswith("\n") else f"{part}\n\\ No newline at end of file\n" for part in parts)

    # --- edits --------------------------------------------------------------------------------------------------------
    # Text is edited by pattern and then parsed again, which rejects an edit with any other effect.

    def set_value(self, path: FieldPath, key: str, value: str) -> YamlEditor:
        """Return the files with `key: value` (YAML text on one line) in the mapping at `path`."""
        exists = self.value_at((*path, key)) is not None
        name, at = self._locate((*path, key) if exists else path)
        lines = self.texts[name].splitlines(keepends=True)
        if exists:
            lines[at] = re.sub(_VALUE_OF.format(re.escape(key)), lambda f: f[1] + value, lines[at], count=1)
        elif re.search(_ONE_ITEM, lines[at]):
            lines[at] = re.sub(_ONE_ITEM, lambda f: f"{f[1]}, {key}: {value}}}", lines[at], count=1)
        elif re.search(r":\s*\{", lines[at]):
            pair = f"{key}: {value}"
            lines[at] = re.sub(
                r"(:\s*\{\s*)(\})?", lambda f: f"{f[1]}{pair}{'}' if f[2] else ', '}", lines[at], count=1
            )
        else:
            first_child = next((line for line in lines[at + 1 : _block_end(lines, at)] if line.strip()), None)
            indent = _indent(first_child) if first_child else _indent(lines[at]) + 2
            lines.insert(at + 1, f"{' ' * indent}{key}: {value}\n")
        return self._verified(name, lines, (*path, key), load_yaml(value))

    def remove(self, path: FieldPath) -> YamlEditor:
        """Return the files without the entry at `path`."""
        name, at = self._locate(path)
        lines = self.texts[name].splitlines(keepends=True)
        key = re.escape(str(path[-1]))
        if re.match(rf"\s*\"?{key}\"?:", lines[at]):
            del lines[at : _block_end(lines, at)]
        else:
            lines[at] = re.sub(rf"{_VALUE_OF.format(key)}(?:,\s*)?", "", lines[at], count=1)
            lines[at] = re.sub(r",\s*\}", "}", lines[at], count=1)
        return self._verified(name, lines, path, None)

    def copy_entry(self, path: FieldPath, new_key: str) -> YamlEditor:
        """Return the files with a copy of the entry at `path` after it, under another key."""
        name, at = self._locate(path)
        lines = self.texts[name].splitlines(keepends=True)
        entry = lines[at : _block_end(lines, at)]
        entry[0] = (
            re.sub(rf"^(\s*)\"?{re.escape(str(path[-1]))}\"?:[ ]*", rf"\g<1>{new_key}: ", entry[0]).rstrip() + "\n"
        )
        lines[_block_end(lines, at) : _block_end(lines, at)] = entry
        return self._verified(name, lines, (*path[:-1], new_key), self.value_at(path))

    def replace_value(self, path: FieldPath, new: str) -> YamlEditor:
        """Return the files with the word at `path` replaced on its line."""
        name, at = self._locate(path)
        lines = self.texts[name].splitlines(keepends=True)
        key, old = path[-1], self.value_at(path)
        pattern = rf"({key}:[ ]*\"?){re.escape(str(old))}(?![\w-])"
        lines[at] = re.sub(pattern, lambda f: f[1] + new, lines[at], count=1)
        return self._verified(name, lines, path, new)

    def swap_items(self, path: FieldPath, first: int) -> YamlEditor:
        """Return the files with two neighbours of the list at `path` in the other order."""
        name, at = self._locate((*path, first))
        other, after = self._locate((*path, first + 1))
        lines = self.texts[name].splitlines(keepends=True)
        if name == other and at != after:
            end = _block_end(lines, after)
            lines[at:end] = [*lines[after:end], *lines[at:after]]
        else:
            start = lines[at].find(str(path[-1]))
            items = list(re.finditer(_ITEM_IN_BRACES, lines[at][start:]))[first : first + 2]
            if len(items) == 2:
                (one, two), line = items, lines[at][start:]
                swapped = f"{line[: one.start()]}{two[0]}{line[one.end() : two.start()]}{one[0]}{line[two.end() :]}"
                lines[at] = lines[at][:start] + swapped
        written = list(cast("list[object]", self.value_at(path)))
        written[first], written[first + 1] = written[first + 1], written[first]
        return self._verified(name, lines, path, written)

    def _verified(self, name: str, lines: list[str], path: FieldPath, value: object) -> YamlEditor:
        """Return the files with these lines. Raises ManualEditRequired if anything but `value` at `path` changes."""
        after = YamlEditor(self.stack, self.file, {**self.texts, name: "".join(lines)})
        if after.value_at(()) != _with_value_at(self.value_at(()), path, value):
            what = "remove it" if value is None else f"set it to {value}"
            raise ManualEditRequired(
                f"{':'.join(map(str, self._locate(path)[:1]))}: {format_path(path)}: "
                f"{what} by hand, then run the command again"
            )
        return after

    # --- places -------------------------------------------------------------------------------------------------------

    def _locate(self, path: FieldPath) -> tuple[str, int]:
        """Return the file and the line (from 0) of the value at `path`."""
        file = self._loaded
        place = file.source_map.place_of(path) if file else ""
        name, _, line = place.rpartition(":")
        if not line.isdecimal():
            raise ManualEditRequired(f"{format_path(path)} is in no file")
        if file is not None and name == file.source_map.base:
            raise ManualEditRequired(
                f"{place}: {format_path(path)} is in the base, which other stacks extend too; write it in {self.file}, "
                "then run the command again"
            )
        return name, int(line) - 1

    def value_at(self, path: FieldPath) -> object:
        """Return the value at `path` as written, without `teamDefaults` in the teams; None if there is none."""
        return _value_at(self._loaded.written if self._loaded else None, path)

    def effective_value_at(self, path: FieldPath) -> object:
        """Return the value at `path` with `teamDefaults` in the teams; None if there is none."""
        return _value_at(self._loaded.fleet if self._loaded else None, path)

    def written_path(self, path: FieldPath) -> FieldPath:
        """Return where the value at a path is written: there, or below `teamDefaults`."""
        return self._loaded.source_map.written_path(path) if self._loaded else path

    @cached_property
    def _loaded(self) -> StackFile | None:
        """The stack that these files contain."""
        with _temporary_folder(self.texts) as folder:
            return read_stack(str(folder / self.file), folder)[0]


def _value_at(value: object, path: FieldPath) -> object:
    for step in path:
        if isinstance(value, dict):
            value = cast("dict[str | int, object]", value).get(step)
        else:
            value = cast("list[object]", value)[step] if isinstance(value, list) and isinstance(step, int) else None
    return value


_VALUE_OF = r"((?:^|(?<=[{{,\s])){}:[ ]*)(?:\"[^\"]*\"|\{{[^}}]*\}}|\[[^\]]*\]|[^,}}#\n]*[^,}}#\s])"
"""A pattern for a key and its value on one line, with the key in group 1; to be formatted with the key."""


_ITEM_IN_BRACES = r"\{[^{}]*\}"

_ONE_ITEM = r"((?:^\s*-|\[)\s*\{[^{}]*[^{}\s])\s*\}"
"""A pattern for a list item that is a mapping in braces; group 1 is all but its end."""


def _with_value_at(value: object, path: FieldPath, new: object) -> object:
    """Return a copy of a value with `new` at `path`; None removes the entry."""
    if not path:
        return new
    step, rest = path[0], path[1:]
    if isinstance(value, list):
        items = list(cast("list[object]", value))
        items[cast("int", step)] = _with_value_at(items[cast("int", step)], rest, new)
        return items
    entries = dict(cast("dict[str, object]", value or {}))
    if new is None and not rest:
        entries.pop(str(step), None)
    else:
        entries[str(step)] = _with_value_at(entries.get(str(step)), rest, new)
    return entries


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip(" "))


def _block_end(lines: list[str], at: int) -> int:
    """Return the end of the block that begins on a line, without comments and empty lines after it."""
    end = at + 1
    for index in range(at + 1, len(lines)):
        if lines[index].strip() and _indent(lines[index]) <= _indent(lines[at]):
            break
        if lines[index].strip():
            end = index + 1
    return end


@contextmanager
def _temporary_folder(texts: Mapping[str, str]) -> Generator[pathlib.Path]:
    with TemporaryDirectory(prefix="berth-") as name:
        folder = pathlib.Path(name)
        for file, text in texts.items():
            (folder / file).parent.mkdir(parents=True, exist_ok=True)
            (folder / file).write_text(text, encoding="utf-8")
        yield folder
