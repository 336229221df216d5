"""The stack file of `berth init`: an example's machines and comments with other names and teams."""

from __future__ import annotations

import pathlib
import re
import tempfile
from collections.abc import Mapping, Sequence
from textwrap import indent
from typing import Final, cast

import yaml

from berth.backends.interface import backend_of, fleet_backend_of
from berth.cli.init.example import (
    VALUE,
    ExampleError,
    ExampleStack,
    InitAnswers,
    InitOption,
    placeholder_options,
    value_error,
)
from berth.cli.init.first_teams import is_example, kept_entries, remainder_notes, teams_text
from berth.cli.init.places import place_options, placeholder_lines, with_place_values, with_place_words
from berth.cli.init.team_roles import has_roles, role_shares, roles_text, with_team_roles
from berth.diagnostics.acceptance import ACCEPTED_WARNINGS
from berth.evaluate import Evaluation, evaluate_stack
from berth.loader.placeholders import placeholders
from berth.loader.team_defaults import KEY
from berth.rotate.yaml_editor import ManualEditRequired, YamlEditor
from berth.spec.cluster import ClusterName

SCHEMA = "docs/stack.schema.json"


# --- options ----------------------------------------------------------------------------------------------------------


def init_options(example: ExampleStack, answers: InitAnswers) -> list[InitOption]:
    """Return everything that `berth init` asks for: the values of its backend, and those of the placeholders."""
    return [
        *backend_of(example.evaluation).init_options(example, answers),
        *placeholder_options(example, answers),
        *place_options(example, answers),
    ]


def missing_flags(example: ExampleStack, answers: InitAnswers) -> list[str]:
    """Return the required flags that are missing."""
    return [f"--{each.flag}" for each in init_options(example, answers) if each.required and each.flag not in answers]


def stack_name_errors(name: str) -> list[str]:
    """Return what is wrong with a stack's name, which is also the default name of its cluster."""
    return [f"NAME: {error}"] if (error := value_error(ClusterName, name)) else []


def answer_errors(name: str, example: ExampleStack, answers: InitAnswers) -> list[str]:
    """Return everything that is wrong with the name and the answers."""
    options = {each.flag: each for each in init_options(example, answers)}
    errors = stack_name_errors(name)
    if answers.get("team") and example.base:
        errors.append(f"--team: its teams are in {next(iter(example.base))}; leave --team out, or write the team there")
    for flag, values in answers.items():
        flag_errors = (
            options[flag].value_errors(values) if flag in options else [f"{example.display_path} has no such setting"]
        )
        shown = f"value '{flag.removeprefix(VALUE)}'" if flag.startswith(VALUE) else flag
        errors += [f"--{shown}: {error}" for error in flag_errors]
    return errors


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
    editor = YamlEditor(name, file, {file: _with_values(example, answers), **example.base})
    for each in init_options(example, answers):
        if each.path and each.flag in answers:
            editor = editor.set_value(each.path[:-1], each.path[-1], _scalar(answers[each.flag][0]))
    editor = _with_cluster_names(editor, name)
    if is_example(example) and editor.value_at((ACCEPTED_WARNINGS,)) is not None:
        editor = editor.remove((ACCEPTED_WARNINGS,))  # an example's reasons are not yours
    if is_open_endpoint(example.evaluation):
        editor = with_dns_endpoint(editor)
    teams = answers.get("team", ()) if fleet_backend_of(example.evaluation) else ()
    keeps_roles = bool(teams) and has_roles(example.evaluation)
    kept = kept_entries(example, teams)
    if teams:
        editor = _without_teams(editor, keeps_roles)
    if keeps_roles:
        editor = with_team_roles(editor, example.evaluation, teams)
    editor = with_place_values(editor, example, answers)
    head, body = re.split(r"^(?=[^#])", editor.texts[file], maxsplit=1, flags=re.MULTILINE)
    head = re.sub(r"# yaml-language-server:.*\n", "", head)
    if teams:
        head = f"# From {example.display_path}, with teams of its own.\n"
        first_key = re.search(r"^ *berth:fleet:.*\n(?:\s*(?:#.*)?\n)*( +)", body, re.MULTILINE)
        new_teams = (roles_text if keeps_roles else teams_text)(example.evaluation, teams, kept)
        new_teams = _with_own_names(new_teams, example, answers)
        body = f"{body.rstrip()}\n\n{indent(new_teams, first_key[1] if first_key else ' ' * 4)}"
        written_teams = cast(
            "Mapping[str, object]", YamlEditor(name, file, {file: body, **example.base}).value_at(("teams",)) or {}
        )
        if tuple(written_teams) != tuple(teams):
            raise ExampleError(
                f"{example.display_path}: another key follows berth:fleet, where teams go; move that key above it"
            )
    body = with_place_words(body, example, answers)
    schema = f"# yaml-language-server: $schema={SCHEMA}\n" if (root / SCHEMA).is_file() else ""
    return schema + head + re.sub(r"\n{3,}", "\n\n", body)


def _with_cluster_names(editor: YamlEditor, name: str) -> YamlEditor:
    """Return the stack with names of its own for its cluster and those of its workers, where the example has names."""
    workers = cast("Mapping[str, object]", editor.value_at(("workers",)) or {})
    names = {("cluster",): name, **{("workers", each, "cluster"): f"{name}-{each}" for each in workers}}
    for path, own in names.items():
        if editor.value_at((*path, "name")) is not None:
            editor = editor.set_value(path, "name", own)
    return editor


def result_notes(example: ExampleStack, teams: Sequence[str]) -> list[str]:
    """Return a sentence if the control plane is closed, and for each flavor that the new teams cannot share equally."""
    roles = role_shares(example.evaluation, len(teams)) if teams and has_roles(example.evaluation) else None
    closed = [CLOSED_NOTE] if is_open_endpoint(example.evaluation) else []
    new = [team for team in teams if team not in kept_entries(example, teams)] if not is_example(example) else []
    added = [f"{', '.join(new)}: not in {example.display_path}; write groups and identity"] if new else []
    return [*closed, *remainder_notes(example.evaluation, teams, roles), *added]


def remaining_placeholders(evaluation: Evaluation, example: ExampleStack, answers: InitAnswers) -> list[str]:
    """Return a line for each placeholder of the new stack."""
    written = evaluation.loaded.written
    return placeholder_lines(evaluation.loaded.fleet if written is None else written, example, answers)


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


def _with_values(example: ExampleStack, answers: InitAnswers) -> str:
    """Return the example's text with other zones, and the values of placeholders, also in comments.

    A project that is a placeholder is also replaced where it is part of another name.
    """
    return _with_own_names(_with_zones(example, answers.get("zone", ())), example, answers)


def _with_own_names(text: str, example: ExampleStack, answers: InitAnswers) -> str:
    """Return text of the example with the values of placeholders."""
    project = example.value_at("project")
    found = {each.text for each in placeholders(example.value_at())}
    values = {flag.removeprefix(VALUE): given for flag, given in answers.items() if flag.startswith(VALUE) and given}
    if project in found and answers.get("project"):
        values[project] = answers["project"]
    for old, (new, *_) in values.items():
        text = text.replace(old, new)
    return text


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


CLOSED_NOTE: Final = (
    "the control plane has a DNS endpoint that requires IAM, and no IP endpoint (dnsEndpoint, controlPlane); the "
    "example's is open to every address"
)

_CLOSED: Final = {"publicEndpoint": "false", "ipEndpoint": "false"}


def is_open_endpoint(evaluation: Evaluation) -> bool:
    """Return whether the control plane of the stack's own cluster accepts connections from every address."""
    return any(each.code == "open-control-plane" and each.path[:1] == ("cluster",) for each in evaluation.problems)


def with_dns_endpoint(editor: YamlEditor) -> YamlEditor:
    """Return the stack with a DNS endpoint and without an IP endpoint."""
    if not isinstance(editor.value_at(("cluster",)), Mapping):
        return editor.set_value((), "cluster", f"{{dnsEndpoint: true, controlPlane: {_flow(_CLOSED)}}}")
    if not isinstance(editor.value_at(("cluster", "controlPlane")), Mapping):
        editor = editor.set_value(("cluster",), "controlPlane", _flow(_CLOSED))
    for key, value in _CLOSED.items():
        editor = editor.set_value(("cluster", "controlPlane"), key, value)
    return editor.set_value(("cluster",), "dnsEndpoint", "true")


def _flow(values: Mapping[str, str]) -> str:
    """Return a YAML mapping on one line."""
    return f"{{{', '.join(f'{key}: {value}' for key, value in values.items())}}}"
