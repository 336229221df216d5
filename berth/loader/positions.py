"""Positions of a fleet's paths in its files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from berth.diagnostics import FieldPath
from berth.loader.team_defaults import written_path


class Mark(NamedTuple):
    """The line (from 1) of a key or of an item, and the marks inside its value; a scalar has none.

    `value_start` is the line and column (from 1) at which the value itself begins. `file` is set where it and all
    inside are in another file than what is around it.
    """

    line: int
    inner_marks: Marks
    value_start: tuple[int, int] = (0, 0)
    file: str = ""


Marks = Mapping[str | int, Mark]
"""Key of a mapping, or index of a list → its mark."""

NO_MARKS: Marks = {}


class SourceMap:
    """Positions of the paths of one fleet. `SourceMap()` without a file returns "" for every path.

    `file` is the stack file's name as a person would type it, `fleet` the mark of its `berth:fleet` key, and `teams`
    has the file name and the marks of each team in a file of its own. `written` is the fleet as written, if it has
    `teamDefaults`. `base` is the name of the file that it extends, and `near`
    what of it a new entry of the stack file may have been meant to override. `left_out` are names that it leaves out.
    """

    def __init__(
        self,
        file: str = "",
        fleet: Mark | None = None,
        teams: Mapping[str, tuple[str, Marks]] | None = None,
        written: object = None,
        base: str = "",
        near: Mapping[FieldPath, str] | None = None,
        left_out: Sequence[str] = (),
    ) -> None:
        self.base, self.near, self.left_out = base, near or {}, left_out
        self._written = written
        self._stack = (file, fleet or Mark(0, NO_MARKS))
        self._teams = {name: (team_file, Mark(0, marks)) for name, (team_file, marks) in (teams or {}).items()}

    @property
    def team_files(self) -> tuple[str, ...]:
        """The teams that are in files of their own."""
        return tuple(self._teams)

    @property
    def files(self) -> tuple[str, ...]:
        """Every file that contains a part of the fleet, the stack file first."""
        names = (self._stack[0], self.base, *(file for file, _ in self._teams.values()))
        return tuple(dict.fromkeys(filter(None, names)))

    def written_path(self, path: FieldPath) -> FieldPath:
        """Return where a value is written: below `teamDefaults` if its team has it from there."""
        return written_path(self._written, path) if self._written is not None else path

    def place_of(self, path: FieldPath) -> str:
        """Return `FILE:LINE` of the key (in a list: of the item) at `path`, or of its nearest written ancestor.

        `FILE` if no line is known, and "" if no file is. The empty path is the fleet itself. The place of a YAML alias
        is that of its anchor, where it must be edited. The place of a default of all teams is its line in
        `teamDefaults`.
        """
        path = self.written_path(path)
        file, mark = self._stack
        if len(path) > 1 and path[0] == "teams" and isinstance(path[1], str):
            file, mark = self._teams.get(path[1], self._stack)
        line = mark.line
        for step in path:
            if (inner := mark.inner_marks.get(step)) is None:
                break
            mark, line, file = inner, inner.line, inner.file or file
        return f"{file}:{line}" if file and line else file
