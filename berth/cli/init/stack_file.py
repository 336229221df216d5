"""`berth init`: a stack file of one's own, from an example: its machines and its comments, other names and teams."""

from __future__ import annotations

import os
import pathlib
import re
import tempfile
from collections.abc import Mapping, Sequence
from textwrap import indent
from typing import Any, cast, get_args

import yaml
from msgspec import Struct

from berth.cli.init.first_teams import teams_text
from berth.diagnostics import format_value
from berth.evaluate import Evaluation, evaluate_stack
from berth.loader.locate import EXAMPLES, locate
from berth.rotate.yaml_editor import ManualEditRequired, YamlEditor
from berth.spec.ack import AlibabaRegion
from berth.spec.base import DnsLabel, NonEmptyText, ProjectId, Region, Text, Zone
from berth.spec.cluster import ClusterName

InitAnswers = Mapping[str, tuple[str, ...]]
"""What was said, by the flag that says it."""

BERTH_ROOT = pathlib.Path(__file__).resolve().parents[3]
SCHEMA = "docs/stack.schema.json"


class ExampleError(Exception):
    """Nothing to start from, in one line a fault."""


class InitOption(Struct, frozen=True, dict=True):
    """Something that may be said: its flag, its type in the stack file, and how a person is asked for it.

    `path` is where it is written, of what is one value alone. `most` is how often it may be said. Where it need not be
    said, the example's own value stays.
    """

    flag: str
    kind: object
    question: str
    path: tuple[str, ...] = ()
    required: bool = False
    max_values: int = 1

    def value_errors(self, values: Sequence[str]) -> list[str]:
        """Everything that is wrong with what was said, in the words in which the stack file's reader says it."""
        errors = (
            [f"said {len(values)} times, and there is room for {self.max_values}"]
            if len(values) > self.max_values
            else []
        )
        errors += [error for value in values if (error := _value_error(self.kind, value))]
        duplicates = {value for at, value in enumerate(values) if value in values[:at]}
        return [*errors, *(f"'{format_value(value)}' is named twice" for value in sorted(duplicates))]


class ExampleStack(Struct, frozen=True, dict=True):
    """A sound stack to start from: as a person would type it, as it is written, and what is said of it."""

    display_path: str
    text: str
    evaluation: Evaluation

    def value_at(self, *path: str) -> Any:
        """What is written at a path; None where nothing is."""
        assert self.evaluation.file is not None
        node: Any = self.evaluation.file.fleet
        for key in path:
            node = cast("Mapping[str, Any]", node).get(key) if isinstance(node, Mapping) else None
        return node

    @property
    def zones(self) -> tuple[str, ...]:
        """The zones of its region that it names, in the order in which it does."""
        zone_pattern = rf"(?<![\w-]){self.value_at('region')}-(?:[a-z]|ai[0-9]+[a-z])(?![\w-])"
        return tuple(dict.fromkeys(re.findall(zone_pattern, self.text)))


def load_example(name: str, root: pathlib.Path) -> ExampleStack:
    """The example, stack or file that somebody means. Raises NoExample where there is none, or one with faults."""
    file = next(
        (f for f in (folder / EXAMPLES / f"{name}.yaml" for folder in (root, BERTH_ROOT)) if os.path.isfile(f)), None
    )
    evaluation = evaluate_stack(str(file or name), root)
    if evaluation.file is None or evaluation.file.file is None or evaluation.faults:
        raise ExampleError("\n".join(problem.line() for problem in evaluation.faults))
    display_path = f"{EXAMPLES}/{name}.yaml" if file else locate(name, root).display_path
    text = re.sub(_ENCRYPTION_KEYS, "", evaluation.file.file.read_text(encoding="utf-8"), flags=re.MULTILINE)
    if any(_is_encrypted(value) for value in evaluation.file.config.values()):
        raise ExampleError(
            f"{display_path}: values are encrypted there, for that stack alone; take another, or leave them out"
        )
    return ExampleStack(display_path, text, evaluation)


_ENCRYPTION_KEYS = r"^(encryptionsalt|encryptedkey|secretsprovider):.*\n?"
"""What a stack file keeps of its own stack's encryption."""


def _is_encrypted(value: object) -> bool:
    return isinstance(value, Mapping) and "secure" in value


# --- what may be said -------------------------------------------------------------------------------------------------


def init_options(example: ExampleStack, answers: InitAnswers) -> tuple[InitOption, ...]:
    """What may be said for an example, in the order of asking; a zone must be where the region is another one."""
    teams = InitOption("team", DnsLabel, "Teams, by spaces (the example's)", max_values=100)
    if example.evaluation.is_team_stack:
        return (
            InitOption(
                "platform", NonEmptyText, f"Stack of the platform ({example.value_at('platform')})", ("platform",)
            ),
            InitOption("team", DnsLabel, f"Team ({example.value_at('team')})", ("team",)),
        )
    if example.evaluation.ack_plan is not None:
        return (InitOption("region", AlibabaRegion, "Region of Alibaba Cloud", ("ack", "region"), required=True), teams)
    if example.value_at("cluster", "existing") is not None:
        path = ("cluster", "existing", "context")
        return (
            InitOption("context", NonEmptyText, f"Context ({example.value_at(*path) or 'the current one'})", path),
            teams,
        )
    region_changed = answers.get("region") != (example.value_at("region"),)
    zones = example.zones
    question = (
        f"Zones, by spaces, in place of {' '.join(zones)}"
        if region_changed
        else f"Zones, by spaces ({' '.join(zones)})"
    )
    return (
        InitOption("project", ProjectId, "Project of Google Cloud", ("project",), required=True),
        InitOption("region", Region, "Region", ("region",), required=True),
        *([InitOption("zone", Zone, question, required=region_changed, max_values=len(zones))] if zones else []),
        teams,
    )


def missing_flags(example: ExampleStack, answers: InitAnswers) -> list[str]:
    """The flags that must be there and are not."""
    return [f"--{each.flag}" for each in init_options(example, answers) if each.required and each.flag not in answers]


def stack_name_errors(name: str) -> list[str]:
    """What is wrong with a stack's name, which its cluster has too where nothing else is said."""
    return [f"NAME: {error}"] if (error := _value_error(ClusterName, name)) else []


def answer_errors(name: str, example: ExampleStack, answers: InitAnswers) -> list[str]:
    """Everything that is wrong with what was said."""
    options = {each.flag: each for each in init_options(example, answers)}
    errors = stack_name_errors(name)
    for flag, values in answers.items():
        flag_errors = (
            options[flag].value_errors(values) if flag in options else [f"{example.display_path} has no place for it"]
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
    """The text of the stack file. Raises NoExample where the example is written so that it cannot be edited."""
    try:
        return _stack_file_text(name, example, answers, root)
    except ManualEditRequired:
        message = "is not written so that one value can be edited at a time; copy it, and edit the copy"
        raise ExampleError(f"{example.display_path} {message}") from None


def _stack_file_text(name: str, example: ExampleStack, answers: InitAnswers, root: pathlib.Path) -> str:
    file = f"Pulumi.{name}.yaml"
    editor = YamlEditor(name, file, {file: _with_zones(example, answers.get("zone", ()))})
    for each in init_options(example, answers):
        if each.path and each.flag in answers:
            editor = editor.set_value(each.path[:-1], each.path[-1], _scalar(answers[each.flag][0]))
    if editor.value_at(("cluster", "name")) is not None:
        editor = editor.set_value(("cluster",), "name", name)
    teams = () if example.evaluation.is_team_stack else answers.get("team", ())
    head, body = _split_header((_without_teams(editor) if teams else editor).texts[file])
    if teams:
        head = f"# From {example.display_path}, with teams of its own.\n"
        body = f"{body.rstrip()}\n\n{indent(teams_text(example.evaluation, teams), _indentation(body))}"
        written_teams = cast("Mapping[str, object]", YamlEditor(name, file, {file: body}).value_at(("teams",)) or {})
        if tuple(written_teams) != tuple(teams):
            raise ExampleError(
                f"{example.display_path}: something stands after its fleet, where teams would; move it up"
            )
    schema = f"# yaml-language-server: $schema={SCHEMA}\n" if (root / SCHEMA).is_file() else ""
    return schema + head + re.sub(r"\n{3,}", "\n\n", body)


def evaluate_text(text: str, name: str, root: pathlib.Path) -> Evaluation:
    """What is to be said of a stack file that is not written yet."""
    with tempfile.TemporaryDirectory(prefix="berth-") as folder:
        file = pathlib.Path(folder) / f"Pulumi.{name}.yaml"
        file.write_text(text, encoding="utf-8")
        return evaluate_stack(str(file), root, name)


def _with_zones(example: ExampleStack, zones: Sequence[str]) -> str:
    """The example's text with other zones, comments and all; the last one stands for all that are left."""
    if not zones:
        return example.text
    new = {old: zones[min(at, len(zones) - 1)] for at, old in enumerate(example.zones)}
    text = re.sub(rf"(?<![\w-])({'|'.join(new)})(?![\w-])", lambda match: new[match[1]], example.text)
    return re.sub(r"(zones: \[)([^\]]*)\]", lambda match: f"{match[1]}{_without_duplicates(match[2])}]", text)


def _without_duplicates(items: str) -> str:
    return ", ".join(dict.fromkeys(re.split(r",\s*", items)))


def _scalar(value: str) -> str:
    """A text as YAML that is read as that text."""
    return yaml.safe_dump(value, width=10_000).splitlines()[0]


def _split_header(text: str) -> tuple[str, str]:
    """The comments that a file begins with, but for the editor's line, and the rest."""
    head, body = re.split(r"^(?=[^#])", text, maxsplit=1, flags=re.MULTILINE)
    return re.sub(r"# yaml-language-server:.*\n", "", head), body


def _indentation(body: str) -> str:
    """How far a fleet's keys are indented."""
    match = re.search(r"^ *berth:fleet:.*\n(?:\s*(?:#.*)?\n)*( +)", body, re.MULTILINE)
    return match[1] if match else " " * 4


def _without_teams(editor: YamlEditor) -> YamlEditor:
    """The stack without its teams and what is said about them: their cohorts and queues, promises beyond the pools."""
    removed_keys = ["teamFiles", "teams", "clusterQueues", "cohorts"]
    flavors = cast("Mapping[str, Mapping[str, object]]", editor.value_at(("flavors",)) or {})
    if all(entry.keys() <= {"oversubscription", "reason"} for entry in flavors.values()):
        removed_keys.append("flavors")
    for key in removed_keys:
        if editor.value_at((key,)) is not None:
            editor = editor.remove((key,))
    return editor
