"""Teams written in files of their own: found by the fleet's `teamFiles`, checked like the stack file, and merged.

Patterns are resolved from the folder of Pulumi.yaml and must not leave it: what a stack means may not depend on the
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

from berth.diagnostics import Path, Problem, near_miss
from berth.loader.document import Document, parse
from berth.loader.positions import Marks, Places
from berth.loader.text_file import read_text

_SHAPE = "a team file holds 'teams:' and under it one entry for each team"
_REMEDY = "spread its teams over several files"


class TeamFiles(Struct):
    """The teams found in files, where each was written, and the faults met on the way.

    `own` are the teams of the stack file and `places` knows where those stand.
    """

    root: pathlib.Path
    own: Mapping[str, object]
    places: Places
    teams: dict[str, object] = field(default_factory=dict[str, object])
    written: dict[str, tuple[str, Marks]] = field(default_factory=dict[str, tuple[str, Marks]])
    faults: list[Problem] = field(default_factory=list[Problem])
    _seen: set[str] = field(default_factory=set[str])
    _real: dict[str, str] = field(default_factory=dict[str, str])

    def read(self, patterns: object) -> None:
        """Add the teams of every file that matches a pattern; a file that matches twice is read once.

        What is no list of strings is left for the spec to refuse. Faults: `no-team-file`, `outside-root`,
        `bad-team-file`, `duplicate-team`, and those of `read_text` and `parse`.
        """
        listed = cast("list[object]", patterns) if isinstance(patterns, list) else []
        for index, pattern in enumerate(listed):
            if isinstance(pattern, str):
                self._read_pattern(pattern, ("teamFiles", index))

    def _read_pattern(self, pattern: str, path: Path) -> None:
        if os.path.isabs(pattern) or ".." in pathlib.PurePath(pattern).parts:
            self._fault_here(
                "outside-root", path, f"'{pattern}' leads out of the folder of Pulumi.yaml: stay inside it"
            )
            return
        found = _files(pattern, self.root)
        if not found:
            self._fault_here("no-team-file", path, f"no file matches '{pattern}'{self._instead(pattern)}")
        top = os.path.realpath(self.root)
        for name in found:
            self._read_once(name, top, path)

    def _instead(self, pattern: str) -> str:
        if pattern and os.path.isdir(self.root / pattern):
            return f", which is a folder; did you mean '{os.path.join(pattern, '*.yaml')}'?"
        beside = os.path.join(glob.escape(os.path.dirname(pattern)), "*.y*ml")
        return near_miss(pattern, _files(beside, self.root))

    def _read_once(self, name: str, top: str, path: Path) -> None:
        folder, file = os.path.split(os.path.join(top, name))
        if folder not in self._real:
            self._real[folder] = os.path.realpath(folder)
        real = os.path.join(self._real[folder], file)
        if os.path.islink(real):
            real = os.path.realpath(real)
        if os.path.commonpath([real, top]) != top:
            message = f"'{name}' is a link that leads out of the folder of Pulumi.yaml: put the file itself there"
            self._fault_here("outside-root", path, message)
        elif real not in self._seen:
            self._seen.add(real)
            self._read_file(name)

    def _read_file(self, name: str) -> None:
        text = read_text(self.root / name, name, _REMEDY)
        if isinstance(text, Problem):
            self.faults.append(text)
            return
        document, faults = _parsed(text, name)
        self.faults += faults
        if document is not None:
            for team, value in self._teams_of(document, name).items():
                self._add(team, value, name, document.marks)

    def _teams_of(self, document: Document, name: str) -> dict[str, object]:
        if not isinstance(document.value, dict):
            self._fault("bad-team-file", name, (), f"is {_shape_of(document.value)}: {_SHAPE}")
            return {}
        entries = cast("dict[str, object]", document.value)
        for key in sorted(entries.keys() - {"teams"}):
            place = f"{name}:{document.marks[key].line}"
            message = f"'{key}' cannot stand in a team file{near_miss(key, ['teams'])}; {_SHAPE}"
            self._fault("bad-team-file", place, (), message)
        if entries and "teams" not in entries:
            return {}
        return self._mapping(entries.get("teams"), name, document.marks)

    def _mapping(self, teams: object, name: str, marks: Marks) -> dict[str, object]:
        if isinstance(teams, dict):
            return cast("dict[str, object]", teams)
        place = f"{name}:{marks['teams'].line}" if "teams" in marks else name
        self._fault("bad-team-file", place, (), f"'teams' is {_shape_of(teams)}: {_SHAPE}")
        return {}

    def _add(self, team: str, value: object, name: str, marks: Marks) -> None:
        if team not in self.own and team not in self.teams:
            self.teams[team] = value
            self.written[team] = (name, marks)
            return
        path = ("teams", team)
        first = self.places.of(path) if team in self.own else Places(teams=self.written).of(path)
        second = Places(teams={team: (name, marks)}).of(path)
        also = first or "in the stack file"
        self._fault("duplicate-team", second, path, f"the team '{team}' is written twice, first at {also}: keep one")

    def _fault_here(self, code: str, path: Path, message: str) -> None:
        self._fault(code, self.places.of(path), path, message)

    def _fault(self, code: str, place: str, path: Path, message: str) -> None:
        self.faults.append(Problem("fault", code, path, message, place))


@lru_cache(maxsize=20_000)
def _parsed(text: str, name: str) -> tuple[Document | None, list[Problem]]:
    """`parse`, once for two fleets of which most team files are the same (`berth diff`)."""
    return parse(text, name)


def _files(pattern: str, root: pathlib.Path) -> list[str]:
    """The files under `root` that match, by name; hidden ones only where the pattern names them."""
    if not pattern or "\0" in pattern:
        return []
    found = glob.glob(pattern, root_dir=root, recursive=True)
    return sorted({os.path.normpath(name) for name in found if os.path.isfile(root / name)})


def _shape_of(value: object) -> str:
    if value is None or value in ({}, ""):
        return "empty"
    return "a list" if isinstance(value, list) else f"'{value}'"
