"""A stack on a real engine: the commands, and what they say they did."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from tests.e2e.support.project import ENVIRONMENT, ROOT, copied, output

_COUNT = re.compile(r"^\s+(?:[-+~><=]+ ?)?(\d+) ((?:to )?(?:create|update|delete|replace)d?|unchanged)\s*$")
Counts = Mapping[str, int]
"""How many resources were `created`, `updated`, `deleted`, `unchanged`, or in a preview are `to create` and so on."""


class Project:
    """A copy of the project with a backend beside it."""

    def __init__(self, folder: Path) -> None:
        self.folder = copied(ROOT, folder)
        backend = folder / "backend"
        backend.mkdir()
        self.environment = {**ENVIRONMENT, "PULUMI_BACKEND_URL": f"file://{backend}"}
        self.standing: list[Stack] = []

    def clear(self) -> None:
        """Delete what a failed test left."""
        for each in reversed(self.standing[:]):
            each.destroy()

    def stack(self, name: str, text: str) -> Stack:
        """Return a new stack with this stack file."""
        made = Stack(self, name)
        made.write(text)
        made.run("stack", "init", name)
        return made


class Stack:
    """One stack of a project."""

    def __init__(self, project: Project, name: str) -> None:
        self.project, self.name = project, name
        self.file = project.folder / f"Pulumi.{name}.yaml"

    def write(self, text: str) -> None:
        """Put another stack file in the place of the one there."""
        self.file.write_text(text, encoding="utf-8")

    def run(self, *words: str) -> str:
        """`pulumi WORDS`; what it printed. Raises `Failed`."""
        return output(["pulumi", *words, "--non-interactive"], self.project.folder, self.project.environment)

    def up(self) -> Counts:
        """Deploy."""
        if self not in self.project.standing:
            self.project.standing.append(self)
        return self._counted("up", "--yes", "--skip-preview", "--continue-on-error")

    def preview(self) -> Counts:
        """What an update would do."""
        return self._counted("preview", "--diff")

    def refresh(self) -> Counts:
        """Read what is there; `updated` and `deleted` are what was not as it had been left."""
        return self._counted("refresh", "--yes", "--skip-preview")

    def destroy(self) -> Counts:
        """Take everything back."""
        gone = self._counted("destroy", "--yes", "--skip-preview")
        self.project.standing.remove(self)
        return gone

    def _counted(self, verb: str, *words: str) -> Counts:
        return counted(self.run(verb, *words, "--stack", self.name))


def counted(printed: str) -> Counts:
    """Return the counts below the last `Resources:` of an engine's output; empty where it counted nothing."""
    values: dict[str, int] = {}
    for line in printed.rpartition("Resources:")[2].splitlines():
        if match := _COUNT.match(line):
            values[match[2]] = int(match[1])
    return values
