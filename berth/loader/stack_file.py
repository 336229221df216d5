"""The two ways to a fleet: from its stack file, or from the engine's config with the stack file beside it."""

from __future__ import annotations

import pathlib
from collections.abc import Mapping
from typing import cast

from msgspec import Struct

from berth.diagnostics import Problem
from berth.loader.locate import locate, missing
from berth.loader.positions import Places, by_place
from berth.loader.stack_text import KINDS, MOVE_TEAMS, WRITE_FLEET, StackText
from berth.loader.team_files import TeamFiles
from berth.loader.text_file import read_text


class StackFile(Struct, frozen=True, dict=True):
    """One stack's fleet as plain values (its teams merged from all files), and where each was written.

    `file` is None where the values came from the engine and no file is known to say the same. `config` holds every
    config key of that file as it is written, the fleet without its team files among them; it is empty without a file.
    `kind` is the key that the values stand under: `berth:fleet`, or `berth:team` in a team's own stack.
    """

    stack: str
    file: pathlib.Path | None
    fleet: object
    places: Places
    config: Mapping[str, object]
    kind: str = KINDS[0]


def read_stack(stack: str, root: pathlib.Path) -> tuple[StackFile | None, list[Problem]]:
    """The fleet of STACK, a stack's name (`root/Pulumi.<stack>.yaml`) or a path, and its faults by file and line.

    None where there is no fleet to go on with. A fleet is returned beside faults too: the first of two equal keys or
    teams is kept, merge keys are left out, and scalars that must be quoted are kept as text.
    """
    located = locate(stack, root)
    text = read_text(located.file, located.shown, MOVE_TEAMS)
    if isinstance(text, Problem):
        return None, [missing(located, root) if text.code == "no-file" else text]
    found = StackText.read(text, located.shown)
    if found.fleet is None:
        return None, by_place(found.faults)
    return _with_team_files(located.stack, located.file, found.fleet, root, found)


def read_config(
    stack: str, value: object, root: pathlib.Path, kind: str = KINDS[0]
) -> tuple[StackFile | None, list[Problem]]:
    """The fleet the engine handed over (`pulumi.Config("berth").get_object("fleet")`), its team files and its faults.

    `kind` is the key of the value.

    Places come from `root/Pulumi.<stack>.yaml`, and only if that file is without fault and says exactly `value`: with
    `-c`, an environment or another `--config-file` it does not, and then a path alone is the truth.
    """
    if not isinstance(value, dict):
        message = f"there is no fleet in the config of stack '{stack}': {WRITE_FLEET}"
        return None, [Problem("fault", "no-fleet", (), message)]
    fleet = cast("dict[str, object]", value)
    file = root / f"Pulumi.{stack}.yaml"
    text = read_text(file, file.name, MOVE_TEAMS)
    found = StackText() if isinstance(text, Problem) else StackText.read(text, file.name)
    if found.faults or found.kind != kind or not _same(fleet, found.fleet):
        return _with_team_files(stack, None, fleet, root, StackText(kind=kind))
    return _with_team_files(stack, file, fleet, root, found)


def _with_team_files(
    stack: str, file: pathlib.Path | None, fleet: dict[str, object], root: pathlib.Path, found: StackText
) -> tuple[StackFile, list[Problem]]:
    if found.kind != KINDS[0]:
        places = Places(found.shown, found.mark)
        return StackFile(stack, file, fleet, places, found.config, found.kind), by_place(found.faults)
    teams = fleet.get("teams")
    own = cast("dict[str, object]", teams) if isinstance(teams, dict) else {}
    files = TeamFiles(root, own, Places(found.shown, found.mark))
    files.read(fleet.get("teamFiles"))
    if files.teams and (own or not teams):  # teams that are no mapping stay as they are, for the spec to refuse
        fleet = {**fleet, "teams": own | files.teams}
    places = Places(found.shown, found.mark, files.written)
    return StackFile(stack, file, fleet, places, found.config), by_place(found.faults + files.faults)


def _same(one: object, other: object) -> bool:
    """Whether two plain values are equal in value and type: 1 is not True, nor is it 1.0."""
    if type(one) is not type(other):
        return False
    if isinstance(one, dict):
        a, b = cast("dict[object, object]", one), cast("dict[object, object]", other)
        return a.keys() == b.keys() and all(_same(value, b[key]) for key, value in a.items())
    if isinstance(one, list):
        c, d = cast("list[object]", one), cast("list[object]", other)
        return len(c) == len(d) and all(map(_same, c, d))
    return one == other
