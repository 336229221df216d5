"""Read teams from their own files (`teamFiles`), check them like the stack file, and merge them.

Patterns are relative to the directory of Pulumi.yaml and must stay inside it, so that a stack does not depend on the
machine that reads it.
"""

from __future__ import annotations

import glob
import os
import pathlib
from collections.abc import Mapping
from functools import lru_cache
from typing import cast

from msgspec import Struct, field

from berth.diagnostics import FieldPath, Problem, Severity, did_you_mean
from berth.loader.document import YamlDocument, parse
from berth.loader.locate import display_path
from berth.loader.positions import Marks, SourceMap
from berth.loader.text_file import read_text

_FORMAT = "a team file has the key 'teams:' and one entry for each team below it"
_REMEDY = "move its teams to several files"


class TeamFiles(Struct):
    """The teams read from files, their positions, and the faults.

    `root` has the Pulumi.yaml that the patterns belong to, and files are called as seen from `caller`. `stack_teams`
    are the teams of the stack file, and `source_map` has their positions.
    """

    root: pathlib.Path
    caller: pathlib.Path
    stack_teams: Mapping[str, object] = field(default_factory=dict[str, object])
    source_map: SourceMap = field(default_factory=SourceMap)
    teams: dict[str, object] = field(default_factory=dict[str, object])
    sources: dict[str, tuple[str, Marks]] = field(default_factory=dict[str, tuple[str, Marks]])
    faults: list[Problem] = field(default_factory=list[Problem])
    _read_paths: set[str] = field(default_factory=set[str])
    _real_folders: dict[str, str] = field(default_factory=dict[str, str])

    def read(self, patterns: object, stack_teams: Mapping[str, object], source_map: SourceMap) -> None:
        """Add the teams of every file that matches a pattern; a file that matches twice is read once.

        Anything but a list of strings is left for the spec to refuse. Faults: `no-team-file`, `outside-root`,
        `bad-team-file`, `duplicate-team`, and those of `read_text` and `parse`.
        """
        self.stack_teams, self.source_map = stack_teams, source_map
        listed = cast("list[object]", patterns) if isinstance(patterns, list) else []
        for index, pattern in enumerate(listed):
            if isinstance(pattern, str):
                self._read_pattern(pattern, ("teamFiles", index))

    def _read_pattern(self, pattern: str, path: FieldPath) -> None:
        if os.path.isabs(pattern) or ".." in pathlib.PurePath(pattern).parts:
            self._fault_at_path(
                "outside-root", path, f"'{pattern}' is outside the folder of Pulumi.yaml; write a path inside it"
            )
            return
        names = _files(pattern, self.root)
        if not pattern.strip():
            self._fault_at_path("no-team-file", path, "is empty; write a path such as teams/*.yaml")
        elif not names:
            self._fault_at_path("no-team-file", path, f"no file matches '{pattern}'{self._suggestion(pattern)}")
        real_root = os.path.realpath(self.root)
        for name in names:
            self._read_once(name, real_root, path)

    def _suggestion(self, pattern: str) -> str:
        if pattern and os.path.isdir(self.root / pattern):
            return f", which is a directory; did you mean '{os.path.join(pattern, '*.yaml')}'?"
        siblings = os.path.join(glob.escape(os.path.dirname(pattern)), "*.y*ml")
        return did_you_mean(pattern, _files(siblings, self.root))

    def _read_once(self, name: str, real_root: str, path: FieldPath) -> None:
        folder, file = os.path.split(os.path.join(real_root, name))
        if folder not in self._real_folders:
            self._real_folders[folder] = os.path.realpath(folder)
        real = os.path.join(self._real_folders[folder], file)
        if os.path.islink(real):
            real = os.path.realpath(real)
        if os.path.commonpath([real, real_root]) != real_root:
            message = f"'{name}' is a link to a file outside the folder of Pulumi.yaml; copy the file into it"
            self._fault_at_path("outside-root", path, message)
        elif real not in self._read_paths:
            self._read_paths.add(real)
            shown = name if self.root == self.caller else display_path(self.root / name, self.caller)
            self._read_file(self.root / name, shown)

    def _read_file(self, file: pathlib.Path, name: str) -> None:
        text = read_text(file, name, _REMEDY)
        if isinstance(text, Problem):
            self.faults.append(text)
            return
        document, faults = _parse_cached(text, name)
        self.faults += faults
        if document is not None:
            for team, value in self._teams_in(document, name).items():
                self._add(team, value, name, document.marks)

    def _teams_in(self, document: YamlDocument, name: str) -> dict[str, object]:
        if not isinstance(document.value, dict):
            self._fault("bad-team-file", name, (), f"is {_describe_shape(document.value)}; {_FORMAT}")
            return {}
        entries = cast("dict[str, object]", document.value)
        for key in sorted(entries.keys() - {"teams"}):
            place = f"{name}:{document.marks[key].line}"
            message = f"unknown key '{key}' in a team file{did_you_mean(key, ['teams'])}; {_FORMAT}"
            self._fault("bad-team-file", place, (), message)
        if entries and "teams" not in entries:
            return {}
        return self._mapping(entries.get("teams"), name, document.marks)

    def _mapping(self, teams: object, name: str, marks: Marks) -> dict[str, object]:
        if isinstance(teams, dict):
            return cast("dict[str, object]", teams)
        place = f"{name}:{marks['teams'].line}" if "teams" in marks else name
        self._fault("bad-team-file", place, (), f"'teams' is {_describe_shape(teams)}; {_FORMAT}")
        return {}

    def _add(self, team: str, value: object, name: str, marks: Marks) -> None:
        if team not in self.stack_teams and team not in self.teams:
            self.teams[team] = value
            self.sources[team] = (name, marks)
            return
        path = ("teams", team)
        first = (
            self.source_map.place_of(path) if team in self.stack_teams else SourceMap(teams=self.sources).place_of(path)
        )
        second = SourceMap(teams={team: (name, marks)}).place_of(path)
        first_place = f"at {first}" if first else "in the stack file"
        self._fault("duplicate-team", second, path, f"team '{team}' is defined twice, first {first_place}; keep one")

    def _fault_at_path(self, code: str, path: FieldPath, message: str) -> None:
        self._fault(code, self.source_map.place_of(path), path, message)

    def _fault(self, code: str, place: str, path: FieldPath, message: str) -> None:
        self.faults.append(Problem(Severity.FAULT, code, path, message, place))


# For two fleets with mostly the same team files (`berth diff`).
_parse_cached = lru_cache(maxsize=20_000)(parse)


def _files(pattern: str, root: pathlib.Path) -> list[str]:
    """Return the files under `root` that match, by name; hidden ones only if the pattern names them."""
    if not pattern or "\0" in pattern:
        return []
    names = glob.glob(pattern, root_dir=root, recursive=True)
    return sorted({os.path.normpath(name) for name in names if os.path.isfile(root / name)})


def _describe_shape(value: object) -> str:
    if value is None or value in ({}, ""):
        return "empty"
    return "a list" if isinstance(value, list) else f"'{value}'"
