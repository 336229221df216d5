"""`berth init --base`: a stack file and what other stacks can share, and the next stack from the first one."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from typer.testing import CliRunner

from berth.cli import app
from berth.evaluate import evaluate_stack
from tests.stack_files import ROOT


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "Pulumi.yaml").write_bytes((ROOT / "Pulumi.yaml").read_bytes())
    monkeypatch.chdir(tmp_path)
    return tmp_path


def init(*words: str) -> tuple[int, str]:
    done = CliRunner().invoke(app, ["init", *words], prog_name="berth")
    return done.exit_code, done.output


PLACE = ("--project", "acme-ml-dev", "--region", "us-central1", "--zone", "us-central1-a")


@pytest.mark.parametrize("example", ["hotswap", "batch-platform"])
def test_both_files_have_what_one_file_would_have(project: Path, example: str) -> None:
    assert init("dev", "--from", example, *PLACE)[0] == 0
    whole = evaluate_stack("dev", project)
    (project / "Pulumi.dev.yaml").unlink()
    status, output = init("dev", "--from", example, *PLACE, "--base", "stacks/bases/fleet.yaml")
    assert status == 0, output
    assert "The next one: berth init NAME --from dev" in output
    both = evaluate_stack("dev", project)
    assert both.plan == whole.plan
    assert not both.faults
    shared = (project / "stacks/bases/fleet.yaml").read_text(encoding="utf-8")
    assert not [text for text in ("acme-ml-dev", "us-central1") if text in str(yaml.safe_load(shared))]


def test_the_next_stack_extends_the_base_of_the_first(project: Path) -> None:
    assert init("dev", "--from", "hotswap", *PLACE, "--base", "stacks/bases/fleet.yaml")[0] == 0
    shared = (project / "stacks/bases/fleet.yaml").read_bytes()
    other = ("--project", "acme-ml-prod", "--region", "us-central1", "--zone", "us-central1-b")
    status, output = init("prod", "--from", "dev", *other)
    assert status == 0, output
    assert (project / "stacks/bases/fleet.yaml").read_bytes() == shared
    prod = evaluate_stack("prod", project)
    assert prod.file is not None
    assert prod.file.source_map.base == "stacks/bases/fleet.yaml"
    assert [prod.file.fleet[key] for key in ("project", "region")] == ["acme-ml-prod", "us-central1"]  # type: ignore[index]
    done = CliRunner().invoke(app, ["diff", "dev", "prod"], prog_name="berth")
    assert done.output.endswith("prod: nothing changes\n")


@pytest.mark.parametrize(
    ("base", "message"),
    [
        ("../fleet.yaml", "'../fleet.yaml' is outside the folder of Pulumi.yaml"),
        ("Pulumi.base.yaml", "'Pulumi.base.yaml' belongs to Pulumi"),
        ("fleet", "'fleet' is not the name of a YAML file"),
        ("Pulumi.yaml", "'Pulumi.yaml' belongs to Pulumi"),
        ("here.yaml", "here.yaml exists; write --from and a stack that extends it, without --base"),
    ],
)
def test_a_path_that_no_base_can_have_is_refused(project: Path, base: str, message: str) -> None:
    (project / "here.yaml").touch()
    status, output = init("dev", "--from", "hotswap", *PLACE, "--base", base)
    assert status == 2
    assert message in " ".join(output.replace("│", "").split())
    assert not (project / "Pulumi.dev.yaml").exists()


def test_teams_of_a_base_are_not_replaced(project: Path) -> None:
    assert init("dev", "--from", "hotswap", *PLACE, "--base", "fleet.yaml")[0] == 0
    status, output = init("prod", "--from", "dev", *PLACE, "--team", "vision")
    assert status == 2
    assert "--team: its teams are in fleet.yaml" in " ".join(output.split())
