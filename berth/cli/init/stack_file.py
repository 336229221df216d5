"""The stack file of `berth init`: an example's machines and comments with other names and teams."""

from __future__ import annotations

import pathlib
import re
import tempfile
from collections.abc import Mapping, Sequence
from textwrap import indent
from typing import cast, get_args

import yaml
from msgspec import Struct

from berth.cli.init.control_plane import CLOSED_NOTE, is_open, with_dns_endpoint
from berth.cli.init.example import EXISTING, ExampleError, ExampleStack, region_of
from berth.cli.init.first_teams import remainder_notes, teams_text
from berth.cli.init.team_roles import has_roles, role_shares, roles_text, with_team_roles
from berth.diagnostics import format_value
from berth.evaluate import Evaluation, evaluate_stack
from berth.loader.team_defaults import KEY
from berth.plan.ack import AckFleetPlan
from berth.rotate.yaml_editor import ManualEditRequired, YamlEditor
from berth.spec.ack import AlibabaRegion
from berth.spec.base import DnsLabel, NonEmptyText, ProjectId, Region, Text, Zone
from berth.spec.cluster import ClusterName
from berth.spec.existing_cluster import Location

InitAnswers = Mapping[str, tuple[str, ...]]
"""Values given by flags or prompts, by the flag's name."""

SCHEMA = "docs/stack.schema.json"


class InitOption(Struct, frozen=True, dict=True):
    """A value that `berth init` accepts: its flag, its type in the stack file, and the question on a terminal.

    Each value begins with `prefix`. `path` is the key of a single value. `max_values` is how often the flag may be
    repeated. Without a value that is not `required`, the example's own is kept.
    """

    flag: str
    kind: object
    question: str
    path: tuple[str, ...] = ()
    required: bool = False
    max_values: int = 1
    prefix: str = ""

    def value_errors(self, values: Sequence[str]) -> list[str]:
        """Return everything that is wrong with the values, in the wording of faults of the stack file."""
        errors = (
            [f"{len(values)} values, but at most {self.max_values} are accepted"]
            if len(values) > self.max_values
            else []
        )
        errors += [error for value in values if (error := _value_error(self.kind, value))]
        if not errors:
            errors += [f"'{value}' is not in {self.prefix}" for value in values if not value.startswith(self.prefix)]
        duplicates = {value for at, value in enumerate(values) if value in values[:at]}
        return [*errors, *(f"'{format_value(value)}' is named twice" for value in sorted(duplicates))]


# --- options ----------------------------------------------------------------------------------------------------------


def init_options(example: ExampleStack, answers: InitAnswers) -> tuple[InitOption, ...]:
    """Return the options of an example, in the order of the prompts; a zone is required if the region changes."""
    teams = InitOption("team", DnsLabel, "Teams, separated by commas or spaces (empty: the example's)", max_values=100)
    if example.evaluation.is_team_stack:
        return (
            InitOption("platform", NonEmptyText, f"Platform's stack ({example.value_at('platform')})", ("platform",)),
            InitOption("team", DnsLabel, f"Team ({example.value_at('team')})", ("team",)),
        )
    if isinstance(example.evaluation.plan, AckFleetPlan):
        return (InitOption("region", AlibabaRegion, "Alibaba Cloud region", ("ack", "region"), required=True), teams)
    is_gke = bool(example.location)
    if example.value_at(*EXISTING) is not None and not is_gke:
        path = (*EXISTING, "context")
        return (
            InitOption("context", NonEmptyText, f"Context ({example.value_at(*path) or 'the current one'})", path),
            teams,
        )
    return (*_place_options(example), *_zone_options(example, answers), teams)


def _place_options(example: ExampleStack) -> tuple[InitOption, ...]:
    """Return the options for the project and the region, or for those of an existing GKE cluster and its name."""
    if example.value_at(*EXISTING) is not None:
        return (
            InitOption("project", ProjectId, "Project of the cluster", (*EXISTING, "project"), required=True),
            InitOption("region", Location, "Region or zone of the cluster", (*EXISTING, "location"), required=True),
            InitOption("cluster", ClusterName, "Name of the cluster", (*EXISTING, "name"), required=True),
        )
    return (
        InitOption("project", ProjectId, "Google Cloud project", ("project",), required=True),
        InitOption("region", Region, "Region", ("region",), required=True),
    )


def _zone_options(example: ExampleStack, answers: InitAnswers) -> list[InitOption]:
    """Return the option for the zones that the example names; it is required if the region changes."""
    (location,) = answers.get("region", ("",))
    region, zones = region_of(location), example.zones
    is_required = region != region_of(example.location)
    question = (
        f"Zones, separated by commas or spaces, to replace {', '.join(zones)}"
        if is_required
        else f"Zones, separated by commas or spaces ({', '.join(zones)})"
    )
    if not zones:
        return []
    return [InitOption("zone", Zone, question, required=is_required, max_values=len(zones), prefix=region)]


def missing_flags(example: ExampleStack, answers: InitAnswers) -> list[str]:
    """Return the required flags that are missing."""
    return [f"--{each.flag}" for each in init_options(example, answers) if each.required and each.flag not in answers]


def stack_name_errors(name: str) -> list[str]:
    """Return what is wrong with a stack's name, which is also the default name of its cluster."""
    return [f"NAME: {error}"] if (error := _value_error(ClusterName, name)) else []


def answer_errors(name: str, example: ExampleStack, answers: InitAnswers) -> list[str]:
    """Return everything that is wrong with the name and the answers."""
    options = {each.flag: each for each in init_options(example, answers)}
    errors = stack_name_errors(name)
    for flag, values in answers.items():
        flag_errors = (
            options[flag].value_errors(values) if flag in options else [f"{example.display_path} has no such setting"]
        )
        errors += [f"--{flag}: {error}" for error in flag_errors]
    return errors


def _value_error(kind: object, value: str) -> str | None:
    rule = next((each for each in get_args(kind) if isinstance(each, Text)), None)
    if rule is None:
        return None if value.strip() else "is empty"
    return None if rule.matches(value) else f"'{format_value(value)}' is not {rule.what}"


# --- the file ---------------------------------------------------------------------------------------------------------


def stack_file_text(name: str, example: ExampleStack, answers: InitAnswers, root: pathlib.Path) -> str:
    """Return the text of the stack file. Raises ExampleError if the example's YAML cannot be edited."""
    try:
        return _stack_file_text(name, example, answers, root)
    except ManualEditRequired:
        message = "has YAML that berth init cannot edit; copy the file, and edit the copy"
        raise ExampleError(f"{example.display_path} {message}") from None


def _stack_file_text(name: str, example: ExampleStack, answers: InitAnswers, root: pathlib.Path) -> str:
    file = f"Pulumi.{name}.yaml"
    editor = YamlEditor(name, file, {file: _with_zones(example, answers.get("zone", ()))})
    for each in init_options(example, answers):
        if each.path and each.flag in answers:
            editor = editor.set_value(each.path[:-1], each.path[-1], _scalar(answers[each.flag][0]))
    if editor.value_at(("cluster", "name")) is not None:
        editor = editor.set_value(("cluster",), "name", name)
    if is_open(example.evaluation):
        editor = with_dns_endpoint(editor)
    teams = () if example.evaluation.is_team_stack else answers.get("team", ())
    keeps_roles = bool(teams) and has_roles(example.evaluation)
    if teams:
        editor = _without_teams(editor, keeps_roles)
    if keeps_roles:
        editor = with_team_roles(editor, example.evaluation, teams)
    head, body = re.split(r"^(?=[^#])", editor.texts[file], maxsplit=1, flags=re.MULTILINE)
    head = re.sub(r"# yaml-language-server:.*\n", "", head)
    if teams:
        head = f"# From {example.display_path}, with teams of its own.\n"
        first_key = re.search(r"^ *berth:fleet:.*\n(?:\s*(?:#.*)?\n)*( +)", body, re.MULTILINE)
        new_teams = (roles_text if keeps_roles else teams_text)(example.evaluation, teams)
        body = f"{body.rstrip()}\n\n{indent(new_teams, first_key[1] if first_key else ' ' * 4)}"
        written_teams = cast("Mapping[str, object]", YamlEditor(name, file, {file: body}).value_at(("teams",)) or {})
        if tuple(written_teams) != tuple(teams):
            raise ExampleError(
                f"{example.display_path}: another key follows berth:fleet, where teams go; move that key above it"
            )
    schema = f"# yaml-language-server: $schema={SCHEMA}\n" if (root / SCHEMA).is_file() else ""
    return schema + head + re.sub(r"\n{3,}", "\n\n", body)


def result_notes(example: ExampleStack, teams: Sequence[str]) -> list[str]:
    """Return a sentence if the control plane is closed, and for each flavor that the new teams cannot share equally."""
    roles = role_shares(example.evaluation, len(teams)) if teams and has_roles(example.evaluation) else None
    closed = [CLOSED_NOTE] if is_open(example.evaluation) else []
    return [*closed, *remainder_notes(example.evaluation, teams, roles)]


def evaluate_text(text: str, name: str, root: pathlib.Path) -> Evaluation:
    """Evaluate a stack file that is not written yet."""
    with tempfile.TemporaryDirectory(prefix="berth-") as folder:
        file = pathlib.Path(folder) / f"Pulumi.{name}.yaml"
        file.write_text(text, encoding="utf-8")
        return evaluate_stack(str(file), root, name)


def _with_zones(example: ExampleStack, zones: Sequence[str]) -> str:
    """Return the example's text with other zones, also in comments; the last one replaces all remaining zones."""
    if not zones:
        return example.text
    new = {old: zones[min(at, len(zones) - 1)] for at, old in enumerate(example.zones)}
    text = re.sub(rf"(?<![\w-])({'|'.join(new)})(?![\w-])", lambda match: new[match[1]], example.text)
    items = re.compile(r",\s*")
    return re.sub(r"(?<=zones: \[)[^\]]*(?=\])", lambda match: ", ".join(dict.fromkeys(items.split(match[0]))), text)


def _scalar(value: str) -> str:
    """Return text as a YAML scalar that parses to the same text."""
    return yaml.safe_dump(value, width=10_000).splitlines()[0]


def _without_teams(editor: YamlEditor, keeps_roles: bool) -> YamlEditor:
    """Return the stack without its teams, their cohorts and oversubscription; without queues, unless it keeps roles."""
    removed_keys = ["teamFiles", "teams", "cohorts", *([] if keeps_roles else [KEY, "clusterQueues"])]
    flavors = cast("Mapping[str, Mapping[str, object]]", editor.value_at(("flavors",)) or {})
    if all(entry.keys() <= {"oversubscription", "reason"} for entry in flavors.values()):
        removed_keys.append("flavors")
    for key in removed_keys:
        if editor.value_at((key,)) is not None:
            editor = editor.remove((key,))
    return editor
