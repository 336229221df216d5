"""Reads manifests, scenarios and output of kubectl into values with positions.

No other module of the simulation opens files. `-` is stdin.
"""

from __future__ import annotations

import os
import pathlib
import re
import sys
from collections.abc import Iterable, Iterator
from typing import Any

import yaml
from msgspec import Struct, field
from yaml.events import AliasEvent, CollectionEndEvent, CollectionStartEvent, ScalarEvent

from berth.diagnostics import FieldPath, Problem, Problems, Severity, join_quoted
from berth.jobs.values import SourceValue, get_nested
from berth.loader.document import parse
from berth.loader.locate import display_path as display_path_of
from berth.loader.positions import NO_MARKS, Marks
from berth.loader.text_file import MAX_BYTES, MAX_DEPTH, TOO_DEEP, decode_text, read_bytes, read_json, read_text
from berth.manifests.workloads.values import as_list, as_mapping
from berth.yaml_loader import LOADER, load_documents

_MAX_LARGE_BYTES = 1 << 25
"""Maximum size of a YAML file that is read without lines: thousands of jobs."""
_MAX_VALUES = 1_000_000
"""Maximum number of values in a large file, which then takes some 20 s to read."""
_MAX_ALIASED = 10_000
"""Maximum number of values that aliases may repeat; in a larger file, one for each byte."""

STDIN = pathlib.Path("-")
"""The name of stdin on the command line."""
_NEXT_DOCUMENT = re.compile(r"^---(?=\s|$)", re.MULTILINE)
_TEMPLATE_MARK = re.compile(r"(?:^|[\s:,\[{-])\{\{")
_VARIABLE = re.compile(r"\$\{[A-Za-z_]\w*\}|^\$[A-Za-z_]\w*$")
_FREE_TEXT = {"annotations", "args", "command", "data", "entrypoint", "env", "runtimeEnvYAML", "script", "stringData"}
"""Fields of manifests with text of other languages, in which `$NAME` may be meant for a shell in the pod."""
_MAX_LISTED = 6
_TEMPLATE_CODES = {"bad-yaml", "unquoted-key"}
"""Codes of what the parser reports for a template: `{{` opens two mappings, and the inner one would be a key."""
_STACK_FILE_CODES = {"unquoted", "unquoted-key", "secret"}
"""Codes of stack file faults that do not apply to manifests, because Pulumi does not rewrite them."""


class ManifestDocument(Struct, frozen=True):
    """One YAML document of a file: its value and the positions of its keys."""

    file: str
    value: object
    marks: Marks = field(default_factory=lambda: NO_MARKS)

    def root_value(self, problems: Problems) -> SourceValue:
        """Return the document's value with its position."""
        return SourceValue(self.value, (), problems)

    def locate_problems(self, problems: Iterable[Problem]) -> list[Problem]:
        """Return problems with the lines of their paths."""
        return [problem if problem.place else problem.with_place(self.location(problem.path)) for problem in problems]

    def exact_location(self, path: FieldPath) -> str:
        """Return `FILE:LINE:COLUMN` of the value at a path, or `FILE:LINE` of the nearest key without one."""
        marks = self.marks
        position = (0, 0)
        for step in path:
            if (mark := marks.get(step)) is None:
                return self.location(path)
            position, marks = mark.value_start, mark.inner_marks
        return f"{self.file}:{position[0]}:{position[1]}" if position[0] else self.location(path)

    def location(self, path: FieldPath) -> str:
        """Return `FILE:LINE` of the nearest existing key on a path."""
        line, marks = 0, self.marks
        for step in path:
            if (mark := marks.get(step)) is None:
                break
            line, marks = mark.line, mark.inner_marks
        if not line and marks:
            line = min(mark.line for mark in marks.values())
        return f"{self.file}:{line}" if line else self.file


def read_documents(path: pathlib.Path, display_path: str) -> tuple[list[ManifestDocument], list[Problem]]:
    """Return the documents of a YAML file that are not empty, and its faults; a large file is read without lines."""
    if os.path.isfile(path) and path.stat().st_size > MAX_BYTES:
        values, problems = read_values(path, display_path)
        return [ManifestDocument(display_path, value) for value in values if value is not None], problems
    text = decode_text(sys.stdin.buffer.read(), display_path) if path == STDIN else read_text(path, display_path, "")
    if isinstance(text, Problem):
        return [], [text]
    loaded: list[ManifestDocument] = []
    problems: list[Problem] = []
    for document_text in _split_documents(text):
        document, faults = parse(document_text, display_path)
        if template := _template_fault(document_text, display_path, faults):
            return [], [template]
        problems += [fault for fault in faults if fault.code not in _STACK_FILE_CODES]
        if document is not None and document.value is not None:
            manifest = ManifestDocument(display_path, document.value, document.marks)
            if "$" in document_text and (template := _variable_fault(manifest)):
                return [], [template]
            loaded.append(manifest)
    return loaded, problems


def _variable_fault(document: ManifestDocument) -> Problem | None:
    """Return a fault for a manifest with variables that envsubst or a shell replaces; None for another document."""
    if get_nested(document.value, "apiVersion") is None or get_nested(document.value, "kind") is None:
        return None
    found = list(_variables(document.value, ()))
    if not found:
        return None
    (path, name), *others = found
    names = dict.fromkeys(each for _, each in others if each != name)
    beside = f", as {'is' if len(names) == 1 else 'are'} {join_quoted(list(names)[:_MAX_LISTED])}" if names else ""
    message = (
        f"'{name}' is a variable of a template{beside}; render the file first, as in "
        "envsubst < FILE | berth lint STACK -"
    )
    return Problem(Severity.FAULT, "template", (), message, document.exact_location(path))


def _variables(value: object, path: FieldPath) -> Iterator[tuple[FieldPath, str]]:
    """Yield the variables in names and other short values; scripts and settings may have variables of their own."""
    for key, inside in as_mapping(value).items():
        if key not in _FREE_TEXT:
            yield from _variables(inside, (*path, str(key)))
    for index, inside in enumerate(as_list(value)):
        yield from _variables(inside, (*path, index))
    if isinstance(value, str) and (match := _VARIABLE.search(value)):
        yield path, match.group(0)


def _template_fault(text: str, display_path: str, faults: Iterable[Problem]) -> Problem | None:
    """Return one fault for a template of Helm or Go in place of those of its YAML; None for another document."""
    mark = _TEMPLATE_MARK.search(text)
    if mark is None or not any(each.code in _TEMPLATE_CODES for each in faults):
        return None
    start = mark.end() - 2
    line, column = text.count("\n", 0, start) + 1, start - text.rfind("\n", 0, start)
    message = (
        "'{{' begins an expression of a template; render the file first, as in helm template CHART | berth lint STACK -"
    )
    return Problem(Severity.FAULT, "template", (), message, f"{display_path}:{line}:{column}")


def read_manifests(path: pathlib.Path, display_path: str) -> tuple[list[ManifestDocument], list[Problem]]:
    """Return the documents of a YAML or JSON file and its faults; a JSON file that YAML cannot read has no lines."""
    if path.suffix != ".json":
        return read_documents(path, display_path)
    documents, problems = _read_json(path, display_path, "correct it, or write YAML in a file named .yaml")
    if problems or path.stat().st_size > MAX_BYTES:
        return documents, problems
    with_lines, yaml_faults = read_documents(path, display_path)
    return (documents if yaml_faults else with_lines), []


def read_values(path: pathlib.Path, display_path: str) -> tuple[list[object], list[Problem]]:
    """Return the values of a YAML file's documents without lines, and its faults; faster than `read_documents`."""
    data = read_bytes(path, display_path, "name a YAML file", "split it", _MAX_LARGE_BYTES)
    if isinstance(data, Problem):
        return [], [data]
    try:
        text = data.decode()
        check_events(text)
        return load_documents(text), []
    except UnicodeDecodeError as error:
        reason = f"byte {error.start} is not UTF-8"
    except yaml.YAMLError as error:
        reason = " ".join(str(error).split())
    except (ValueError, OverflowError):  # a number with thousands of digits, a date with a month 13
        reason = "a number or a date is out of range"
    return [], [Problem(Severity.FAULT, "bad-yaml", (), f"is not YAML: {reason}", display_path)]


def check_events(text: str) -> None:
    """Check that a YAML text can be loaded in bounded time and memory. Raises YAMLError.

    Deep nesting ends the process in the C parser; aliases and merge keys of each other grow exponentially.
    """
    events: Iterator[Any] = iter(LOADER(text).get_event, None)
    sizes = _AnchoredSizes(max(_MAX_ALIASED, len(text)))
    for event in events:
        if isinstance(event, AliasEvent):
            sizes.repeat(event.anchor)
        elif isinstance(event, CollectionStartEvent):
            sizes.open(event.anchor)
        elif isinstance(event, CollectionEndEvent):
            sizes.close()
        elif isinstance(event, ScalarEvent):
            sizes.count += 1
            if sizes.count > _MAX_VALUES:
                raise yaml.YAMLError(f"it has more than {_MAX_VALUES:,} values; split it")
            if event.value == "<<" and event.implicit[0]:
                raise yaml.YAMLError("the merge key '<<' is not supported; write its keys out")


class _AnchoredSizes:
    """How many values a YAML text has, with those that aliases repeat."""

    def __init__(self, max_aliased: int) -> None:
        self.count = 0
        self._max_aliased = max_aliased
        self._aliased = 0
        self._by_anchor: dict[str, int] = {}
        self._open: list[tuple[str | None, int]] = []

    def open(self, anchor: str | None) -> None:
        self._open.append((anchor, self.count))
        self.count += 1
        if len(self._open) > MAX_DEPTH:
            raise yaml.YAMLError(TOO_DEEP)

    def close(self) -> None:
        anchor, start = self._open.pop()
        if anchor:
            self._by_anchor[anchor] = self.count - start

    def repeat(self, anchor: str) -> None:
        size = self._by_anchor.get(anchor, 1)
        self.count += size
        self._aliased += size
        if self._aliased > self._max_aliased:
            raise yaml.YAMLError(f"aliases repeat more than {self._max_aliased:,} values; write them out")


def _split_documents(text: str) -> Iterator[str]:
    """Yield the text of each document, padded so that line numbers are those of the file."""
    starts = [0, *(match.start() for match in _NEXT_DOCUMENT.finditer(text))]
    for start, end in zip(starts, [*starts[1:], len(text)], strict=True):
        if text[start:end].strip():
            yield "\n" * text.count("\n", 0, start) + text[start:end]


def find_manifests(
    names: Iterable[str], root: pathlib.Path, problems: list[Problem]
) -> Iterator[tuple[pathlib.Path, str]]:
    """Yield each file that names on the command line mean, with its name for messages.

    A name is a file, a folder of manifests, or `-` for stdin. It is looked for from the current folder and then from
    the project's, `root`. A folder without manifests is a fault, added to `problems`.
    """
    for name in names:
        path = locate_manifests(name, root)
        if path == STDIN:
            yield path, "stdin"
            continue
        files = list_manifests(path)
        if not files:
            message = "contains no YAML file and no JSON manifest; name a file or a folder with manifests"
            problems.append(Problem(Severity.FAULT, "no-file", (), message, display_path_of(path, root)))
        yield from ((file, display_path_of(file, root)) for file in files)


def locate_manifests(name: str, root: pathlib.Path) -> pathlib.Path:
    """Return the file or folder of a name: from the current folder, or else from the project's; `-` is stdin."""
    path = pathlib.Path(name)
    return path if path == STDIN or path.is_absolute() or os.path.exists(path) else root / path


def list_manifests(path: pathlib.Path) -> list[pathlib.Path]:
    """Return the YAML files of a folder and its JSON files with a `kind`, by name; for a file, the file."""
    if not os.path.isdir(path):
        return [path]
    files = (file for file in path.iterdir() if file.is_file())
    return sorted(
        file
        for file in files
        if file.suffix in (".yaml", ".yml")
        or (file.suffix == ".json" and get_nested(read_json(file, file.name, ""), "kind") is not None)
    )


def read_kubectl_json(path: pathlib.Path, display_path: str) -> tuple[list[ManifestDocument], list[Problem]]:
    """Read a file with the output of `kubectl get … -o json`; it is one document."""
    return _read_json(path, display_path, "write it with kubectl get … -o json")


def _read_json(path: pathlib.Path, display_path: str, remedy: str) -> tuple[list[ManifestDocument], list[Problem]]:
    value = read_json(path, display_path, remedy)
    return ([], [value]) if isinstance(value, Problem) else ([ManifestDocument(display_path, value)], [])
