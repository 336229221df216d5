"""The stack file of `berth init`: an example's machines and comments with other names and teams."""

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

from berth.cli.init.first_teams import remainder_notes, teams_text
from berth.cli.init.team_roles import has_roles, role_shares, roles_text, with_team_roles
from berth.diagnostics import did_you_mean, format_value
from berth.evaluate import Evaluation, evaluate_stack
from berth.loader.locate import EXAMPLES, locate
from berth.loader.team_defaults import KEY
from berth.rotate.yaml_editor import ManualEditRequired, YamlEditor
from berth.spec.ack import AlibabaRegion
from berth.spec.base import DnsLabel, NonEmptyText, ProjectId, Region, Text, Zone
from berth.spec.cluster import ClusterName

InitAnswers = Mapping[str, tuple[str, ...]]
"""Values given by flags or prompts, by the flag's name."""

BERTH_ROOT = pathlib.Path(__file__).resolve().parents[3]
SCHEMA = "docs/stack.schema.json"


class ExampleError(Exception):
    """The example does not exist, has faults or cannot be edited; one line for each fault."""


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


class ExampleStack(Struct, frozen=True, dict=True):
    """A stack without faults to start from: its path, its text and its evaluation."""

    display_path: str
    text: str
    evaluation: Evaluation

    def value_at(self, *path: str) -> Any:
        """Return the value at a path of the fleet, or None."""
        assert self.evaluation.file is not None
        node: Any = self.evaluation.file.fleet
        for key in path:
            node = cast("Mapping[str, Any]", node).get(key) if isinstance(node, Mapping) else None
        return node

    @property
    def zones(self) -> tuple[str, ...]:
        """The zones of its region that its text names, in order."""
        zone_pattern = rf"(?<![\w-]){self.value_at('region')}-(?:[a-z]|ai[0-9]+[a-z])(?![\w-])"
        return tuple(dict.fromkeys(re.findall(zone_pattern, self.text)))


def load_example(name: str, root: pathlib.Path) -> ExampleStack:
    """Return an example, stack or file by name. Raises ExampleError if it does not exist or has faults."""
    file = next(
        (f for f in (folder / EXAMPLES / f"{name}.yaml" for folder in (root, BERTH_ROOT)) if os.path.isfile(f)), None
    )
    evaluation = evaluate_stack(str(file or name), root)
    if file is None and any(problem.code == "no-file" and not problem.place for problem in evaluation.faults):
        raise ExampleError(_no_example_message(name, root))
    if evaluation.file is None or evaluation.file.file is None or evaluation.faults:
        raise ExampleError("\n".join(problem.line() for problem in evaluation.faults))
    display_path = f"{EXAMPLES}/{name}.yaml" if file else locate(name, root).display_path
    text = re.sub(_ENCRYPTION_KEYS, "", evaluation.file.file.read_text(encoding="utf-8"), flags=re.MULTILINE)
    if any(_is_encrypted(value) for value in evaluation.file.config.values()):
        raise ExampleError(
            f"{display_path}: has encrypted values, which only its own stack can decrypt; choose another example"
        )
    return ExampleStack(display_path, text, evaluation)


def _no_example_message(name: str, root: pathlib.Path) -> str:
    examples = sorted({f.stem for folder in (root, BERTH_ROOT) for f in (folder / EXAMPLES).glob("*.yaml")})
    stacks = sorted(f.name.removeprefix("Pulumi.").removesuffix(".yaml") for f in root.glob("Pulumi.*.yaml"))
    known = f"examples: {', '.join(examples)}" + (f"; stacks: {', '.join(stacks)}" if stacks else "")
    return f"no example and no stack '{name}'{did_you_mean(name, [*examples, *stacks]) or f'; {known}'}"


_ENCRYPTION_KEYS = r"^(encryptionsalt|encryptedkey|secretsprovider):.*\n?"
"""Lines of a stack file that hold the encryption of its own stack."""


def _is_encrypted(value: object) -> bool:
    return isinstance(value, Mapping) and "secure" in value


# --- options ----------------------------------------------------------------------------------------------------------


def init_options(example: ExampleStack, answers: InitAnswers) -> tuple[InitOption, ...]:
    """Return the options of an example, in the order of the prompts; a zone is required if the region changes."""
    teams = InitOption("team", DnsLabel, "Teams, separated by commas or spaces (empty: the example's)", max_values=100)
    if example.evaluation.is_team_stack:
        return (
            InitOption("platform", NonEmptyText, f"Platform's stack ({example.value_at('platform')})", ("platform",)),
            InitOption("team", DnsLabel, f"Team ({example.value_at('team')})", ("team",)),
        )
    if example.evaluation.ack_plan is not None:
        return (InitOption("region", AlibabaRegion, "Alibaba Cloud region", ("ack", "region"), required=True), teams)
    if example.value_at("cluster", "existing") is not None:
        path = ("cluster", "existing", "context")
        return (
            InitOption("context", NonEmptyText, f"Context ({example.value_at(*path) or 'the current one'})", path),
            teams,
        )
    (region,) = answers.get("region", ("",))
    region_changed = answers.get("region") != (example.value_at("region"),)
    zones = example.zones
    question = (
        f"Zones, separated by commas or spaces, to replace {', '.join(zones)}"
        if region_changed
        else f"Zones, separated by commas or spaces ({', '.join(zones)})"
    )
    return (
        InitOption("project", ProjectId, "Google Cloud project", ("project",), required=True),
        InitOption("region", Region, "Region", ("region",), required=True),
        *(
            [InitOption("zone", Zone, question, required=region_changed, max_values=len(zones), prefix=region)]
            if zones
            else []
        ),
        teams,
    )


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
    teams = () if example.evaluation.is_team_stack else answers.get("team", ())
    keeps_roles = bool(teams) and has_roles(example.evaluation)
    if teams:
        editor = _without_teams(editor, keeps_roles)
    if keeps_roles:
        editor = with_team_roles(editor, example.evaluation, teams)
    head, body = _split_header(editor.texts[file])
    if teams:
        head = f"# From {example.display_path}, with teams of its own.\n"
        new_teams = (roles_text if keeps_roles else teams_text)(example.evaluation, teams)
        body = f"{body.rstrip()}\n\n{indent(new_teams, _indentation(body))}"
        written_teams = cast("Mapping[str, object]", YamlEditor(name, file, {file: body}).value_at(("teams",)) or {})
        if tuple(written_teams) != tuple(teams):
            raise ExampleError(
                f"{example.display_path}: another key follows berth:fleet, where teams go; move that key above it"
            )
    schema = f"# yaml-language-server: $schema={SCHEMA}\n" if (root / SCHEMA).is_file() else ""
    return schema + head + re.sub(r"\n{3,}", "\n\n", body)


def share_notes(example: ExampleStack, teams: Sequence[str]) -> list[str]:
    """Return a sentence for each flavor that the new teams cannot share equally."""
    roles = role_shares(example.evaluation, len(teams)) if teams and has_roles(example.evaluation) else None
    return remainder_notes(example.evaluation, teams, roles)


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
    return re.sub(r"(zones: \[)([^\]]*)\]", lambda match: f"{match[1]}{_without_duplicates(match[2])}]", text)


def _without_duplicates(items: str) -> str:
    return ", ".join(dict.fromkeys(re.split(r",\s*", items)))


def _scalar(value: str) -> str:
    """Return text as a YAML scalar that parses to the same text."""
    return yaml.safe_dump(value, width=10_000).splitlines()[0]


def _split_header(text: str) -> tuple[str, str]:
    """Return a file's leading comments, without the line for the language server, and the rest."""
    head, body = re.split(r"^(?=[^#])", text, maxsplit=1, flags=re.MULTILINE)
    return re.sub(r"# yaml-language-server:.*\n", "", head), body


def _indentation(body: str) -> str:
    """Return the indentation of the fleet's keys."""
    match = re.search(r"^ *berth:fleet:.*\n(?:\s*(?:#.*)?\n)*( +)", body, re.MULTILINE)
    return match[1] if match else " " * 4


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
