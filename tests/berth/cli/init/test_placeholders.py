"""Placeholders of examples: `berth check` lists them outside stacks/examples, and `berth init` replaces each."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

from berth.cli import app
from berth.cli.init.example import VALUE, load_example
from berth.cli.init.stack_file import init_options
from berth.evaluate import evaluate_stack
from berth.loader.placeholders import placeholders
from berth.yaml_loader import load_table
from tests.stack_files import ALL_STACKS, ROOT

KNOWN = ("example.com", "203.0.113.0/24", "my-project", "vpc-bp1example", "vsw-bp1example")
"""What examples use, by hand."""
EXAMPLES = {name: path for name, path in ALL_STACKS.items() if path.parent.name == "examples"}


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with the examples and the teams."""
    (tmp_path / "Pulumi.yaml").write_text("name: berth\nruntime: python\n", encoding="utf-8")
    (tmp_path / "stacks").mkdir()
    for part in ("examples", "teams"):
        (tmp_path / "stacks" / part).symlink_to(ROOT / "stacks" / part)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("name", EXAMPLES)
def test_every_placeholder_of_an_example_is_found(name: str) -> None:
    """By the values that people know, searched in the text without comments."""
    text = re.sub(r"#.*", "", EXAMPLES[name].read_text(encoding="utf-8"))
    file = evaluate_stack(str(EXAMPLES[name]), ROOT).file
    assert file is not None
    found = " ".join(each.text for each in placeholders(file.fleet))
    assert [word for word in KNOWN if word in text and word not in found] == []


def test_what_placeholders_have_stays_as_it_is_in_the_text_of_a_fleet() -> None:
    rows = load_table(ROOT / "berth" / "loader" / "placeholders.yaml")
    assert [part for row in rows for part in row["has"] if repr(part) != f"'{part}'"] == []


@pytest.mark.parametrize("name", EXAMPLES)
def test_an_example_itself_has_no_warning_and_its_copy_has_one(name: str, project: Path) -> None:
    copy = project / "Pulumi.copy.yaml"
    copy.write_text(EXAMPLES[name].read_text(encoding="utf-8"), encoding="utf-8")
    own = [p for p in evaluate_stack(str(EXAMPLES[name]), ROOT).problems if p.code == "placeholder"]
    copied = [p for p in evaluate_stack(str(copy), project).problems if p.code == "placeholder"]
    file = evaluate_stack(str(copy), project).file
    assert file is not None
    assert own == []
    assert len(copied) == bool(placeholders(file.fleet))


@pytest.mark.parametrize("name", EXAMPLES)
def test_init_asks_for_every_placeholder_of_its_example(name: str) -> None:
    example = load_example(name, ROOT)
    asked = {option.flag for option in init_options(example, {})}
    for each in placeholders(example.value_at()):
        assert (
            f"{VALUE}{each.text}" in asked
            or (each.text == example.value_at("project") and "project" in asked)
            or (each.text == example.value_at("cluster", "existing", "project") and "project" in asked)
        )


def test_init_replaces_placeholders_and_leaves_none(project: Path) -> None:
    words = ["init", "prod", "--from", "batch-platform", "--project", "acme-prod", "--region", "us-central1"]
    result = CliRunner().invoke(app, [*words, "--value", "example.com=acme.dev"])
    assert result.exit_code == 0, result.output
    text = (project / "Pulumi.prod.yaml").read_text(encoding="utf-8")
    assert "acme-prod-batch-data" in text
    assert "@acme.dev" in text
    assert [p for p in evaluate_stack("prod", project).problems if p.code == "placeholder"] == []


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ("example.com", "'example.com' is not OLD=NEW"),
        ("=x", "'=x' is not OLD=NEW"),
        ("example.com=", "'example.com=' is not OLD=NEW"),
        ("other.org=acme.dev", "--value 'other.org': stacks/examples/batch-platform.yaml has no such setting"),
    ],
)
def test_a_wrong_value_is_refused(value: str, said: str, project: Path) -> None:
    words = ["init", "prod", "--from", "batch-platform", "--project", "acme-prod", "--region", "us-central1"]
    result = CliRunner().invoke(app, [*words, "--value", value])
    assert result.exit_code == 2
    assert said in " ".join(result.output.split())
    assert not (project / "Pulumi.prod.yaml").exists()
