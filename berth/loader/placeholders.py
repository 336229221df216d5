"""Placeholders in a stack file (`placeholders.yaml`): values of examples and documentation that stand for one's own."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import cast

from msgspec import Struct

from berth.diagnostics import FieldPath, Problem, Severity, format_path
from berth.loader.locate import EXAMPLES
from berth.yaml_loader import load_table

_MAX_NAMED = 8
"""Maximum number of placeholders that a message lists."""


class Placeholder(Struct, frozen=True):
    """A placeholder in values: the text that has to be replaced, what it is, and their paths in alphabetical order."""

    text: str
    what: str
    paths: tuple[FieldPath, ...]

    @property
    def path(self) -> FieldPath:
        """The path of the first value."""
        return self.paths[0]


def placeholders(fleet: object) -> tuple[Placeholder, ...]:
    """Return the placeholders of a fleet, each once, by its first path; keys are read too."""
    everything = repr(fleet)  # most fleets have no such text, and this finds none much sooner than a walk with paths
    kinds = [kind for kind in _kinds() if any(part in everything for part in kind.has)]
    found: dict[str, tuple[str, dict[FieldPath, None]]] = {}
    for path, text in _texts(fleet, ()) if kinds else ():
        for kind in kinds:
            for match in kind.pattern.finditer(text):
                found.setdefault(match[0], (kind.what, {}))[1][path] = None
    return tuple(Placeholder(text, what, tuple(paths)) for text, (what, paths) in found.items())


def placeholder_warning(fleet: object, file: Path | None) -> tuple[Problem, ...]:
    """Return one warning that lists the placeholders of a stack file; nothing for an example, or without any."""
    if file is None or file.parent.as_posix().endswith(EXAMPLES):
        return ()
    found = placeholders(fleet)
    if not found:
        return ()
    named = [f"'{each.text}' ({each.what}, {format_path(each.path)})" for each in found[:_MAX_NAMED]]
    more = [f"{len(found) - _MAX_NAMED} more"] if len(found) > _MAX_NAMED else []
    message = f"{', '.join([*named, *more])}; write your own values"
    return (Problem(Severity.WARNING, "placeholder", found[0].path, f"has values that stand for others: {message}"),)


def _texts(value: object, path: FieldPath) -> Iterator[tuple[FieldPath, str]]:
    if isinstance(value, str):
        yield path, value
    elif isinstance(value, Mapping):
        entries = cast("Mapping[object, object]", value)
        for key, inner in sorted(entries.items(), key=lambda entry: str(entry[0])):  # engines sort keys too
            yield (*path, str(key)), str(key)
            yield from _texts(inner, (*path, str(key)))
    elif isinstance(value, Sequence):
        for index, inner in enumerate(cast("Sequence[object]", value)):
            yield from _texts(inner, (*path, index))


class _Kind(Struct, frozen=True):
    what: str
    has: tuple[str, ...]
    pattern: re.Pattern[str]


@cache
def _kinds() -> tuple[_Kind, ...]:
    rows = load_table(Path(__file__).with_name("placeholders.yaml"))
    return tuple(_Kind(row["is"], tuple(row["has"]), re.compile(row["pattern"])) for row in rows)
