"""Read a fleet from its stack file, or from Pulumi's config with the stack file beside it."""

from __future__ import annotations

import pathlib
from collections.abc import Mapping
from typing import cast

from msgspec import Struct

from berth.diagnostics import Problem, Severity
from berth.diagnostics.listing import sort_by_place
from berth.loader.base_file import BaseFile
from berth.loader.locate import directory_fault, locate, missing_file_fault, missing_project_fault, project_of
from berth.loader.positions import SourceMap
from berth.loader.stack_text import CONFIG_KEYS, MOVE_TEAMS, WRITE_FLEET, StackText
from berth.loader.team_defaults import KEY, with_team_defaults
from berth.loader.team_files import TeamFiles
from berth.loader.text_file import read_text


class StackFile(Struct, frozen=True, dict=True):
    """One stack's fleet as plain values (with the teams of all files and their defaults), and its positions.

    `file` is None if the values came from Pulumi and no file is known to have the same values. `config` has every
    config key of that file as written, including the fleet without its base and team files; it is empty without a file.
    `config_key` is the key of the values: `berth:fleet`, or `berth:team` in a team's own stack. `written` is the fleet
    with its base and the teams of all files, but without defaults in them. `around` has the keys of the file beside
    `config`, such as `secretsprovider`. `shared` is what the base has under `fleet`; None without a base.
    """

    stack: str
    file: pathlib.Path | None
    fleet: object
    source_map: SourceMap
    config: Mapping[str, object]
    config_key: str = CONFIG_KEYS[0]
    written: object = None
    around: Mapping[str, object] = {}
    shared: Mapping[str, object] | None = None

    @property
    def settings(self) -> Mapping[str, object]:
        """Everything in the file but the fleet: config of Pulumi, of providers and secrets, and the keys around it."""
        return {**self.around, **{f"config.{k}": value for k, value in self.config.items() if k not in CONFIG_KEYS}}


def read_stack(stack: str, root: pathlib.Path, config_key: str | None = None) -> tuple[StackFile | None, list[Problem]]:
    """Return the fleet of STACK (a stack's name or a path) and its faults by file and line.

    None if there is no fleet to continue with. A fleet can be returned together with faults: the first of two equal
    keys or teams is kept, merge keys are left out, and scalars that must be quoted are kept as text. With a
    `config_key`, a stack with another one is not read on: a fleet may have very many team files.
    """
    located = locate(stack, root)
    text = read_text(located.file, located.display_path, MOVE_TEAMS)
    if isinstance(text, Problem) and text.code != "no-file":
        return None, [directory_fault(located, root) or text]
    if outside_project := missing_project_fault(located, root):
        return None, [outside_project]
    if isinstance(text, Problem):
        return None, [missing_file_fault(located, root)]
    stack_text = StackText.read(text, located.display_path)
    if stack_text.fleet is None or config_key not in (None, stack_text.config_key):
        return None, sort_by_place(stack_text.faults)
    teams = TeamFiles(project_of(located, root), root)
    return _merge_files(located.stack, located.file, stack_text.fleet, teams, stack_text)


def read_config(
    stack: str, value: object, root: pathlib.Path, config_key: str = CONFIG_KEYS[0]
) -> tuple[StackFile | None, list[Problem]]:
    """Return the fleet that Pulumi passed (`pulumi.Config("berth").get_object("fleet")`), and its faults.

    `config_key` is the key of the value.

    Places come from `root/Pulumi.<stack>.yaml`, if that file has no fault and contains exactly `value`. With `-c`, an
    environment or another `--config-file` it does not, and then problems have only a path.
    """
    if not isinstance(value, dict):
        message = f"the config of stack '{stack}' has no 'berth:fleet'; {WRITE_FLEET}"
        return None, [Problem(Severity.FAULT, "no-fleet", (), message)]
    fleet = cast("dict[str, object]", value)
    file = root / f"Pulumi.{stack}.yaml"
    text = read_text(file, file.name, MOVE_TEAMS)
    stack_text = StackText() if isinstance(text, Problem) else StackText.read(text, file.name)
    if stack_text.faults or stack_text.config_key != config_key or not _is_identical(fleet, stack_text.fleet):
        return _merge_files(stack, None, fleet, TeamFiles(root, root), StackText(config_key=config_key))
    return _merge_files(stack, file, fleet, TeamFiles(root, root), stack_text)


def _merge_files(
    stack: str, file: pathlib.Path | None, fleet: dict[str, object], files: TeamFiles, stack_text: StackText
) -> tuple[StackFile | None, list[Problem]]:
    """Return the fleet with its base and its team files; None if the base cannot be used."""
    if stack_text.config_key != CONFIG_KEYS[0]:
        source_map = SourceMap(stack_text.display_path, stack_text.key_mark)
        read = StackFile(
            stack, file, fleet, source_map, stack_text.config, stack_text.config_key, fleet, stack_text.around
        )
        return read, sort_by_place(stack_text.faults)
    base = BaseFile(files.root, files.caller, stack_text.display_path, fleet, stack_text.key_mark)
    base.read()
    if base.fleet is None:
        return None, sort_by_place(stack_text.faults + base.faults)
    fleet = base.fleet
    teams = fleet.get("teams")
    own_teams = cast("dict[str, object]", teams) if isinstance(teams, dict) else {}
    files.read(fleet.get("teamFiles"), own_teams, SourceMap(stack_text.display_path, base.mark))
    if files.teams and (own_teams or not teams):  # teams that are not a mapping are refused by the spec
        fleet = {**fleet, "teams": own_teams | files.teams}
    written = fleet if KEY in fleet else None
    of_base = (base.shown, base.near, base.left_out)
    source_map = SourceMap(stack_text.display_path, base.mark, files.sources, written, *of_base)
    read = StackFile(
        stack,
        file,
        with_team_defaults(fleet),
        source_map,
        stack_text.config,
        written=fleet,
        around=stack_text.around,
        shared=base.shared,
    )
    return read, sort_by_place(stack_text.faults + base.faults + files.faults)


def _is_identical(left: object, right: object) -> bool:
    """Return whether two plain values are equal in value and type: 1 equals neither True nor 1.0."""
    if type(left) is not type(right):
        return False
    if isinstance(left, dict):
        left_entries, right_entries = cast("dict[object, object]", left), cast("dict[object, object]", right)
        return left_entries.keys() == right_entries.keys() and all(
            _is_identical(value, right_entries[key]) for key, value in left_entries.items()
        )
    if isinstance(left, list):
        left_items, right_items = cast("list[object]", left), cast("list[object]", right)
        return len(left_items) == len(right_items) and all(map(_is_identical, left_items, right_items))
    return left == right
