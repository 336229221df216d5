"""From files to plain values with their places: manifests, scenarios, and what kubectl printed.

The one module of the simulation that opens files.
"""

from __future__ import annotations

import json
import pathlib
import re
from collections.abc import Iterable, Iterator
from typing import Any

import yaml
from msgspec import Struct, field
from yaml.events import CollectionEndEvent, CollectionStartEvent

from berth.diagnostics import Path, Problem, Problems
from berth.jobs.values import At
from berth.loader.document import parse
from berth.loader.positions import NO_MARKS, Marks
from berth.loader.text_file import MAX_BYTES, read_text

_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_DEEPEST = 64
_NEXT_DOCUMENT = re.compile(r"^---(?=\s|$)", re.MULTILINE)
_KUBECTL_READS = {"unquoted", "unquoted-key", "secret"}
"""Faults of a stack file that are none of a manifest: the engine never sees it."""


class Document(Struct, frozen=True):
    """One YAML document of a file: its value, and where its keys stand."""

    file: str
    value: object
    marks: Marks = field(default_factory=lambda: NO_MARKS)

    def at(self, problems: Problems) -> At:
        """The document's value, to be taken apart."""
        return At(self.value, (), problems)

    def placed(self, problems: Iterable[Problem]) -> list[Problem]:
        """Problems with the line at which their paths stand."""
        return [problem if problem.place else problem.at(self.place(problem.path)) for problem in problems]

    def spot(self, path: Path) -> str:
        """`FILE:LINE:COLUMN` of the value at a path; where it was not written, the `place` of what is nearest."""
        marks = self.marks
        at = (0, 0)
        for step in path:
            if (mark := marks.get(step)) is None:
                return self.place(path)
            at, marks = mark.value, mark.inside
        return f"{self.file}:{at[0]}:{at[1]}" if at[0] else self.place(path)

    def place(self, path: Path) -> str:
        """`FILE:LINE` of the nearest thing on a path that was written."""
        line, marks = 0, self.marks
        for step in path:
            if (mark := marks.get(step)) is None:
                break
            line, marks = mark.line, mark.inside
        if not line and marks:
            line = min(mark.line for mark in marks.values())
        return f"{self.file}:{line}" if line else self.file


def documents(path: pathlib.Path, shown: str) -> tuple[list[Document], list[Problem]]:
    """The documents of a YAML file that are not empty, and its faults. A large file is read faster, without lines."""
    if path.is_file() and path.stat().st_size > MAX_BYTES:
        return _large(path, shown)
    text = read_text(path, shown, "")
    if isinstance(text, Problem):
        return [], [text]
    found: list[Document] = []
    problems: list[Problem] = []
    for piece in _pieces(text):
        document, faults = parse(piece, shown)
        problems += [fault for fault in faults if fault.code not in _KUBECTL_READS]
        if document is not None and document.value is not None:
            found.append(Document(shown, document.value, document.marks))
    return found, problems


def _large(path: pathlib.Path, shown: str) -> tuple[list[Document], list[Problem]]:
    try:
        values = load_all(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        return [], [Problem("fault", "bad-yaml", (), f"is no YAML: {' '.join(str(error).split())}", shown)]
    return [Document(shown, value) for value in values if value is not None], []


def load_all(text: str) -> list[object]:
    """The documents of a YAML text. Deep nesting is refused first: the C parser would take the process down with it."""
    depth = 0
    events: Iterator[Any] = iter(_LOADER(text).get_event, None)
    for event in events:
        depth += isinstance(event, CollectionStartEvent) - isinstance(event, CollectionEndEvent)
        if depth > _DEEPEST:
            raise yaml.YAMLError(f"nested more than {_DEEPEST} deep")
    return list(yaml.load_all(text, Loader=_LOADER))


def _pieces(text: str) -> Iterator[str]:
    """The documents' texts, each on the lines where it stands in the file."""
    starts = [0, *(match.start() for match in _NEXT_DOCUMENT.finditer(text))]
    for start, end in zip(starts, [*starts[1:], len(text)], strict=True):
        if text[start:end].strip():
            yield "\n" * text.count("\n", 0, start) + text[start:end]


def yaml_files(path: pathlib.Path) -> list[pathlib.Path]:
    """The YAML files of a folder, by name; a file is itself."""
    if not path.is_dir():
        return [path]
    return sorted(file for file in path.iterdir() if file.suffix in (".yaml", ".yml") and file.is_file())


def printed(path: pathlib.Path, shown: str) -> tuple[list[Document], list[Problem]]:
    """What `kubectl get … -o json` printed into a file: one document."""
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return [], [Problem("fault", "no-file", (), f"no file '{shown}'")]
    except OSError as error:
        return [], [Problem("fault", "unreadable", (), f"cannot be read: {error.strerror}", shown)]
    except (ValueError, RecursionError) as error:
        problem = Problem("fault", "bad-json", (), f"is no JSON: {error}; write it with kubectl get … -o json", shown)
        return [], [problem]
    return [Document(shown, value)], []
