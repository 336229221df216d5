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

from berth.diagnostics import FieldPath, Problem, Problems, Severity
from berth.jobs.values import SourceValue
from berth.loader.document import parse
from berth.loader.positions import NO_MARKS, Marks
from berth.loader.text_file import MAX_BYTES, read_text
from berth.yaml_loader import LOADER

_MAX_DEPTH = 64
_NEXT_DOCUMENT = re.compile(r"^---(?=\s|$)", re.MULTILINE)
_STACK_FILE_CODES = {"unquoted", "unquoted-key", "secret"}
"""Faults of a stack file that are none of a manifest: the engine never sees it."""


class ManifestDocument(Struct, frozen=True):
    """One YAML document of a file: its value, and where its keys stand."""

    file: str
    value: object
    marks: Marks = field(default_factory=lambda: NO_MARKS)

    def root_value(self, problems: Problems) -> SourceValue:
        """Return the document's value, to be taken apart."""
        return SourceValue(self.value, (), problems)

    def locate_problems(self, problems: Iterable[Problem]) -> list[Problem]:
        """Problems with the line at which their paths stand."""
        return [problem if problem.place else problem.with_place(self.location(problem.path)) for problem in problems]

    def exact_location(self, path: FieldPath) -> str:
        """`FILE:LINE:COLUMN` of the value at a path; where it was not written, the `place` of what is nearest."""
        marks = self.marks
        position = (0, 0)
        for step in path:
            if (mark := marks.get(step)) is None:
                return self.location(path)
            position, marks = mark.value_start, mark.inner_marks
        return f"{self.file}:{position[0]}:{position[1]}" if position[0] else self.location(path)

    def location(self, path: FieldPath) -> str:
        """`FILE:LINE` of the nearest thing on a path that was written."""
        line, marks = 0, self.marks
        for step in path:
            if (mark := marks.get(step)) is None:
                break
            line, marks = mark.line, mark.inner_marks
        if not line and marks:
            line = min(mark.line for mark in marks.values())
        return f"{self.file}:{line}" if line else self.file


def read_documents(path: pathlib.Path, display_path: str) -> tuple[list[ManifestDocument], list[Problem]]:
    """Return the documents of a YAML file that are not empty, and its faults. A large file is read faster, without lines."""
    if path.is_file() and path.stat().st_size > MAX_BYTES:
        return _read_large(path, display_path)
    text = read_text(path, display_path, "")
    if isinstance(text, Problem):
        return [], [text]
    loaded: list[ManifestDocument] = []
    problems: list[Problem] = []
    for document_text in _split_documents(text):
        document, faults = parse(document_text, display_path)
        problems += [fault for fault in faults if fault.code not in _STACK_FILE_CODES]
        if document is not None and document.value is not None:
            loaded.append(ManifestDocument(display_path, document.value, document.marks))
    return loaded, problems


def _read_large(path: pathlib.Path, display_path: str) -> tuple[list[ManifestDocument], list[Problem]]:
    try:
        values = load_all(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        return [], [
            Problem(Severity.FAULT, "bad-yaml", (), f"is no YAML: {' '.join(str(error).split())}", display_path)
        ]
    return [ManifestDocument(display_path, value) for value in values if value is not None], []


def load_all(text: str) -> list[object]:
    """Return the documents of a YAML text. Deep nesting is refused first: the C parser would take the process down with it."""
    depth = 0
    events: Iterator[Any] = iter(LOADER(text).get_event, None)
    for event in events:
        depth += isinstance(event, CollectionStartEvent) - isinstance(event, CollectionEndEvent)
        if depth > _MAX_DEPTH:
            raise yaml.YAMLError(f"nested more than {_MAX_DEPTH} deep")
    return list(yaml.load_all(text, Loader=LOADER))


def _split_documents(text: str) -> Iterator[str]:
    """Yield the documents' texts, each on the lines where it stands in the file."""
    starts = [0, *(match.start() for match in _NEXT_DOCUMENT.finditer(text))]
    for start, end in zip(starts, [*starts[1:], len(text)], strict=True):
        if text[start:end].strip():
            yield "\n" * text.count("\n", 0, start) + text[start:end]


def list_yaml_files(path: pathlib.Path) -> list[pathlib.Path]:
    """Return the YAML files of a folder, by name; a file is itself."""
    if not path.is_dir():
        return [path]
    return sorted(file for file in path.iterdir() if file.suffix in (".yaml", ".yml") and file.is_file())


def read_kubectl_json(path: pathlib.Path, display_path: str) -> tuple[list[ManifestDocument], list[Problem]]:
    """What `kubectl get … -o json` printed into a file: one document."""
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return [], [Problem(Severity.FAULT, "no-file", (), f"no file '{display_path}'")]
    except OSError as error:
        return [], [Problem(Severity.FAULT, "unreadable", (), f"cannot be read: {error.strerror}", display_path)]
    except (ValueError, RecursionError) as error:
        problem = Problem(
            Severity.FAULT, "bad-json", (), f"is no JSON: {error}; write it with kubectl get … -o json", display_path
        )
        return [], [problem]
    return [ManifestDocument(display_path, value)], []
