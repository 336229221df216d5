"""The table of verbs: each is a module or package with a command, and help imports none of them."""

from __future__ import annotations

import importlib
import inspect
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any, Literal, cast

import pytest
from typer.main import get_command
from typer.testing import CliRunner

from berth.cli import VERBS, VerbGroup, app, load_verb
from berth.cli.conversion import needs_no_conversion
from tests.forked import Command, run_all
from tests.stack_files import ROOT

verbs = pytest.mark.parametrize("verb", VERBS)


@verbs
def test_a_verb_is_a_module_with_a_command_and_an_example(verb: str) -> None:
    module = importlib.import_module(f"berth.cli.{verb}")
    assert module.EPILOG.startswith(f"Example: berth {verb}")
    assert inspect.getdoc(getattr(module, f"{verb}_command"))


@verbs
def test_the_table_has_the_first_line_of_each_help(verb: str) -> None:
    """Help reads the table, so that it imports no verb."""
    command = getattr(importlib.import_module(f"berth.cli.{verb}"), f"{verb}_command")
    assert (inspect.getdoc(command) or "").splitlines()[0] == VERBS[verb]


def test_every_command_of_the_folder_is_in_the_table() -> None:
    """A module with a command that is missing in the table could not be run."""
    folder = ROOT / "berth" / "cli"
    files = [*folder.glob("*.py"), *folder.glob("*/__init__.py")]
    names = ((file.parent if file.name == "__init__.py" else file).stem for file in files)
    commands = {
        name for name, file in zip(names, files, strict=True) if f"\ndef {name}_command(" in file.read_text("utf-8")
    }
    assert commands == set(VERBS)


def test_help_imports_no_verb() -> None:
    code = "import sys; from berth.cli import app; app(['--help'], standalone_mode=False); print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    loaded = done.stdout.splitlines()[-1].split()
    assert "berth.cli" in loaded
    assert [m for m in loaded if m.startswith("berth.cli.") and m.split(".")[2] in VERBS] == []


def test_a_misspelt_verb_gets_a_suggestion() -> None:
    result = CliRunner().invoke(app, ["chekc", "dev"])
    assert result.exit_code == 2
    assert "check" in result.stderr


# --- conversion -------------------------------------------------------------------------------------------------------

_WORDS = Literal["text", "json"]


@pytest.mark.parametrize(
    ("value", "annotation"),
    [
        ("dev", str),
        ("", str),
        (("a", "b"), list[str]),
        ((), list[str]),
        ("json", _WORDS),
    ],
)
def test_values_that_need_no_conversion_equal_typers_result(value: Any, annotation: Any) -> None:
    from typer._adapters import build_adapter
    from typer.models import OptionInfo

    assert needs_no_conversion(value, annotation)
    converted = build_adapter(annotation, OptionInfo()).validate_python(value)
    assert converted == (list(value) if isinstance(value, tuple) else value)


@pytest.mark.parametrize(
    ("value", "annotation"),
    [
        ("3", int),
        ("é", str),
        ("\udcff", str),
        ("yaml", _WORDS),
        (("a", "é"), list[str]),
        ("out", Path),
        ("a", list[str]),
    ],
)
def test_all_other_values_are_parsed_by_typer(value: object, annotation: Any) -> None:
    assert not needs_no_conversion(value, annotation)


@pytest.mark.parametrize(
    ("words", "error"),
    [
        (["check", "dev", "--format", "yaml"], "Invalid value for '--format': 'yaml' is not one of"),
        (["split", "dev", "--most", "none"], "Invalid value for '--most': 'none' should be a valid integer"),
        (["split", "dev", "--most", "0"], "Invalid value for '--most'"),
        (["check"], "Missing argument 'STACK"),
    ],
)
def test_an_invalid_value_is_refused_with_typers_message(words: list[str], error: str) -> None:
    result = CliRunner().invoke(app, words)
    assert result.exit_code == 2
    assert error in " ".join(result.stderr.split())


def test_every_verb_is_built_by_the_group() -> None:
    """Build each verb as `berth VERB --help` does."""
    group = cast("VerbGroup", get_command(app))
    assert list(group.commands) == list(VERBS)
    assert [load_verb(verb).name for verb in VERBS] == list(VERBS)


# --- version and completion -------------------------------------------------------------------------------------------


def test_the_version_is_that_of_the_package() -> None:
    result = CliRunner().invoke(app, ["--version"])
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert (result.exit_code, result.stdout) == (0, f"berth {project['version']}\n")


SHELLS = ("bash", "zsh", "fish")
COMPLETED = (
    (["ch"], "check", "plan"),
    (["check", "d"], "dev", "local"),
    (["plan", "loc"], "local", "dev"),
    (["diff", "--si"], "--since", "--format"),
    (["diff", "dev", "--format", "mark"], "markdown", "json"),
    (["--ver"], "--version", "--help"),
)


def _completion(shell: str, words: list[str]) -> Command:
    """The command that a shell runs to complete the last word."""
    line = " ".join(["berth", *words])
    requests = {
        "bash": {"COMP_WORDS": line, "COMP_CWORD": str(len(words))},
        "zsh": {"_TYPER_COMPLETE_ARGS": line},
        "fish": {"_TYPER_COMPLETE_ARGS": line, "_TYPER_COMPLETE_FISH_ACTION": "get-args"},
    }
    return Command([], environment={**requests[shell], "_BERTH_COMPLETE": f"complete_{shell}"})


@pytest.fixture(scope="module")
def completions() -> dict[tuple[str, ...], str]:
    """What each shell is told, by the shell and the words."""
    asked = [(shell, words) for shell in SHELLS for words, _, _ in COMPLETED]
    done = run_all([_completion(shell, words) for shell, words in asked])
    return {(shell, *words): each.stdout for (shell, words), each in zip(asked, done, strict=True)}


@pytest.mark.parametrize("shell", SHELLS)
@pytest.mark.parametrize(("words", "present", "absent"), COMPLETED)
def test_verbs_stacks_options_and_words_are_completed(
    shell: str, words: list[str], present: str, absent: str, completions: dict[tuple[str, ...], str]
) -> None:
    output = completions[shell, *words]
    assert present in output
    assert absent not in output


@pytest.mark.parametrize("shell", SHELLS)
def test_the_completion_script_of_a_shell_is_printed(shell: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Typer reads the shell from parent processes, and may find none in a test."""
    monkeypatch.setattr("shellingham.detect_shell", lambda: (shell, f"/bin/{shell}"))
    result = CliRunner().invoke(app, ["--show-completion"], prog_name="berth")
    assert result.exit_code == 0
    assert f"_BERTH_COMPLETE=complete_{shell}" in result.stdout
