"""Parse YAML text into plain values with line numbers, and report everything that Pulumi would read differently.

The parser's events are read once. PyYAML's `compose` is not used: its C code recurses without a limit, so that a few
thousand open brackets crash the process, and it does not keep the position of an alias.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import yaml
from msgspec import Struct, field
from yaml.events import (
    AliasEvent,
    DocumentStartEvent,
    MappingEndEvent,
    MappingStartEvent,
    ScalarEvent,
    SequenceEndEvent,
    StreamEndEvent,
)

from berth.diagnostics import FieldPath, Problem, Severity
from berth.loader.foreign_text import DASHES, foreign_lines, merge_conflicts
from berth.loader.positions import NO_MARKS, Mark, Marks
from berth.loader.scalars import parse_scalar
from berth.loader.text_file import MAX_DEPTH, TOO_DEEP
from berth.loader.yaml_errors import explain_parser_error
from berth.yaml_loader import LOADER, SLOW_LOADER

_FOREIGN_SIGNS = (*DASHES,)
# Nested aliases grow exponentially (a billion laughs), so aliases may add at most this many values.
_MAX_ALIASED = 10_000


class YamlDocument(Struct, frozen=True):
    """One YAML document: its value (None if it is empty), and the positions of its keys and items."""

    value: object
    marks: Marks


class _ParseAborted(Exception):
    """Raised to stop parsing after a fatal fault."""


def parse(text: str, display_path: str) -> tuple[YamlDocument | None, list[Problem]]:
    """Return the document in `text` and its faults; None if it is not valid YAML.

    Paths start at the document's top. Faults: `bad-yaml` (with line and column), `duplicate-key`, `merge-key`,
    `unquoted-key`, `unquoted`, `yaml-tag`, `yaml-alias`, `secret`. The first of two equal keys is kept, merge keys are
    left out, and a scalar that must be quoted is kept as text.
    """
    if conflicts := merge_conflicts(text, display_path):
        return None, conflicts
    reader = _EventReader(display_path, iter(LOADER(text).get_event, None))
    try:
        document = reader.document()
        is_text = isinstance(document.value, str)  # Terraform, for example, is one long text to YAML
        foreign = foreign_lines(text, display_path) if is_text or reader.is_foreign else []
        return (None if foreign else document), [*_elsewhere(reader.faults, foreign), *foreign]
    except yaml.YAMLError as error:
        if "nesting depth" in str(error):  # libyaml may read ahead past our maximum; Python does not
            return _parse_slowly(text, display_path)
        foreign = foreign_lines(text, display_path)
        reader.faults = [*_elsewhere(reader.faults, foreign), *foreign]
        if not foreign:
            reader.faults.append(explain_parser_error(error, text, display_path))
    except _ParseAborted:
        pass
    return None, reader.faults


def _parse_slowly(text: str, display_path: str) -> tuple[None, list[Problem]]:
    """Return the fault of a text that is too deep, where its first bracket too many opens."""
    reader = _EventReader(display_path, iter(SLOW_LOADER(text).get_event, None))
    with suppress(_ParseAborted):
        reader.document()
    return None, reader.faults


def _elsewhere(faults: list[Problem], foreign: list[Problem]) -> list[Problem]:
    """Return the faults on other lines: text of another tool on a line explains all that is wrong with it."""
    lines = {fault.place.split(":")[1] for fault in foreign}
    return [fault for fault in faults if fault.place.split(":")[1] not in lines]


class _EventReader(Struct):
    file: str
    events: Iterator[Any]
    faults: list[Problem] = field(default_factory=list[Problem])
    anchors: dict[str, tuple[object, Marks, int]] = field(default_factory=dict[str, tuple[object, Marks, int]])
    value_count: int = 0
    aliased_count: int = 0
    depth: int = 0
    is_foreign: bool = False

    def document(self) -> YamlDocument:
        next(self.events)  # the stream's start
        if isinstance(next(self.events), StreamEndEvent):
            return YamlDocument(None, NO_MARKS)
        value, marks = self.value(next(self.events), ())
        next(self.events)  # the document's end
        if isinstance(second := next(self.events), DocumentStartEvent):
            self.fault("bad-yaml", second, (), "a second YAML document begins here; keep one, and remove '---'")
        return YamlDocument(value, marks)

    def value(self, event: Any, path: FieldPath) -> tuple[object, Marks]:
        if isinstance(event, ScalarEvent) and event.tag is None and event.anchor is None:  # the most frequent case
            self.value_count += 1
            return self.scalar(event, path), NO_MARKS
        if isinstance(event, AliasEvent):
            return self.alias(event, path)
        count_before = self.value_count
        self.value_count += 1
        if event.tag is not None:
            tag = str(event.tag).replace("tag:yaml.org,2002:", "!!")
            self.fault(
                "yaml-tag", event, path, f"Pulumi drops the tag '{tag}' when it rewrites the file; remove '{tag}'"
            )
        value, marks = self.untagged(event, path)
        if event.anchor is not None:
            self.anchors[event.anchor] = (value, marks, self.value_count - count_before)
        return value, marks

    def untagged(self, event: Any, path: FieldPath) -> tuple[object, Marks]:
        if isinstance(event, ScalarEvent):
            return self.scalar(event, path), NO_MARKS
        if self.depth == MAX_DEPTH:
            self.fault("bad-yaml", event, (), TOO_DEEP)
            raise _ParseAborted
        self.depth += 1
        parsed = self.mapping(event, path) if isinstance(event, MappingStartEvent) else self.sequence(path)
        self.depth -= 1
        return parsed

    def scalar(self, event: Any, path: FieldPath) -> object:
        text: str = event.value
        if not event.implicit[0]:  # quoted, a block, or tagged
            return text
        self.is_foreign |= text[:1] in _FOREIGN_SIGNS
        value, reason = parse_scalar(text)
        if reason:
            self.fault("unquoted", event, path, reason)
        return value

    def alias(self, event: Any, path: FieldPath) -> tuple[object, Marks]:
        if event.anchor not in self.anchors:
            message = f"the alias '*{event.anchor}' has no anchor '&{event.anchor}' before it; write the value"
            self.fault("yaml-alias", event, path, message)
            return None, NO_MARKS
        value, marks, size = self.anchors[event.anchor]
        self.value_count += size
        self.aliased_count += size
        if self.aliased_count > _MAX_ALIASED:
            message = f"YAML aliases add more than {_MAX_ALIASED:,} values; use fewer aliases"
            self.fault("yaml-alias", event, path, message)
            raise _ParseAborted
        return value, marks

    def sequence(self, path: FieldPath) -> tuple[object, Marks]:
        values: list[object] = []
        marks: dict[str | int, Mark] = {}
        while not isinstance(event := next(self.events), SequenceEndEvent):
            index = len(values)
            value, inner_marks = self.value(event, (*path, index))
            values.append(value)
            marks[index] = Mark(event.start_mark.line + 1, inner_marks, _start_of(event))
        return values, marks

    def mapping(self, start: Any, path: FieldPath) -> tuple[object, Marks]:
        values: dict[str, object] = {}
        marks: dict[str | int, Mark] = {}
        while not isinstance(event := next(self.events), MappingEndEvent):
            self.value_count += 1
            self.entry(event, path, values, marks)
        if len(values) == 1 and isinstance(values.get("secure"), str):
            message = "a secret inside berth:fleet makes all of berth:fleet secret; move it to its own config key"
            self.fault("secret", start, path, message)
        return values, marks

    def entry(self, event: Any, path: FieldPath, values: dict[str, object], marks: dict[str | int, Mark]) -> None:
        key = self.key(event, path)
        following = next(self.events)
        value, inner_marks = self.value(following, path if key is None else (*path, key))
        if key is None:
            return
        if key in values:
            message = f"key '{key}' is defined twice, first on line {marks[key].line}; keep one"
            self.fault("duplicate-key", event, (*path, key), message)
            return
        values[key], marks[key] = value, Mark(event.start_mark.line + 1, inner_marks, _start_of(following))

    def key(self, event: Any, path: FieldPath) -> str | None:
        """Return the key's text; None, after a fault, if it has none."""
        if not isinstance(event, ScalarEvent):
            self.value(event, path)
            self.is_foreign = True
            self.fault(
                "unquoted-key", event, path, "a key must be text, not an alias, a list or a mapping; write a name"
            )
            return None
        text: str = event.value
        self.is_foreign |= text[:1] == "+"
        if event.tag is not None or event.anchor is not None:
            self.fault("unquoted-key", event, path, f"key '{text}' has a tag or an anchor; write only {text}")
        elif event.implicit[0] and text == "<<":
            self.fault(
                "merge-key",
                event,
                path,
                "Pulumi drops the merge key '<<' when it rewrites the file; write its entries here",
            )
            return None
        elif event.implicit[0]:
            value, reason = parse_scalar(text)
            if reason or not isinstance(value, str):
                self.fault("unquoted-key", event, path, f"key '{text}' is not text; write \"{text}\"")
        return text

    def fault(self, code: str, event: Any, path: FieldPath, message: str) -> None:
        place = f"{self.file}:{event.start_mark.line + 1}"
        if code == "bad-yaml":
            place += f":{event.start_mark.column + 1}"
        self.faults.append(Problem(Severity.FAULT, code, path, message, place))


def _start_of(event: Any) -> tuple[int, int]:
    return event.start_mark.line + 1, event.start_mark.column + 1
