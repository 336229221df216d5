"""The preview of a pull request: the stack file and team files of the change, and nothing of it that runs."""

from __future__ import annotations

import os
import pathlib
import shutil
import sys

import pytest
import yaml

from tests.targets import run_make, write_script

PREVIEW = '{"steps": [{"op": "same", "urn": "urn:pulumi:dev::berth::pulumi:pulumi:Stack::berth-dev"}]}'
KUBECONFIG = "users: [{name: a, user: {exec: {command: ./owned}}}]\n"


@pytest.fixture
def change(project: pathlib.Path) -> pathlib.Path:
    """Return the checkout of a pull request inside the project: a copy that tests edit."""
    folder = project / "build" / "change"
    shutil.copytree(project, folder, ignore=shutil.ignore_patterns(".git", "build"))
    write_script(project / "bin" / "python", f'exec {sys.executable} "$@"')
    write_script(project / "bin" / "pulumi", f"echo '{PREVIEW}'")
    return folder


def config(folder: pathlib.Path) -> dict[str, object]:
    return yaml.safe_load((folder / "Pulumi.dev.yaml").read_text(encoding="utf-8"))["config"]


def edit(folder: pathlib.Path, **values: object) -> None:
    """Set values of the stack file: of its `config`, of its `fleet`, and other keys of the file."""
    file = folder / "Pulumi.dev.yaml"
    stack = yaml.safe_load(file.read_text(encoding="utf-8"))
    stack["config"] |= values.pop("config", {})
    stack["config"]["berth:fleet"] |= values.pop("fleet", {})
    file.write_text(yaml.safe_dump({**stack, **values}), encoding="utf-8")


def test_the_fleet_and_the_teams_of_the_change_are_previewed(project: pathlib.Path, change: pathlib.Path) -> None:
    edit(change, fleet={"labels": {"cost": "ml"}, "teamFiles": ["stacks/teams/new.yaml"]})
    team = change / "stacks" / "teams" / "new.yaml"
    team.write_text("teams: {new: {groups: [new@acme.example]}}\n", encoding="utf-8")
    (change / "stacks" / "teams" / "speech.yaml").unlink()
    done = run_make(project, "preview-change", STACK="dev", CHANGE="build/change", SINCE="HEAD")
    assert "dev: the preview loses nothing" in done.stdout, done.stdout + done.stderr
    assert config(project)["berth:fleet"]["labels"] == {"cost": "ml"}  # type: ignore[index]
    assert (project / "stacks" / "teams" / "new.yaml").is_file()
    assert not (project / "stacks" / "teams" / "speech.yaml").exists()


def test_other_settings_and_every_other_file_are_those_of_the_default_branch(
    project: pathlib.Path, change: pathlib.Path
) -> None:
    """A kubeconfig in the config names a program; the Makefile, Pulumi.yaml and scripts are programs."""
    before = {name: (project / name).read_bytes() for name in ("Makefile", "Pulumi.yaml", "scripts/preview-guarded")}
    edit(
        change, config={"kubernetes:kubeconfig": KUBECONFIG, "berth:east": KUBECONFIG}, secretsprovider="gcpkms://mine"
    )
    for name in before:
        (change / name).write_text("touch owned\n", encoding="utf-8")
    known = config(project).keys()
    run_make(project, "preview-change", STACK="dev", CHANGE="build/change", SINCE="HEAD")
    assert {name: (project / name).read_bytes() for name in before} == before
    assert config(project).keys() == known
    assert "gcpkms" not in (project / "Pulumi.dev.yaml").read_text(encoding="utf-8")
    assert not change.exists()  # no path of the fleet can name a file in it


def write_team(change: pathlib.Path, text: str) -> pathlib.Path:
    file = change / "stacks" / "teams" / "bad.yaml"
    file.write_text(text, encoding="utf-8")
    return file


def as_kubeconfig(change: pathlib.Path) -> None:
    write_team(change, "teams: {}\n" + KUBECONFIG)


def as_link(change: pathlib.Path) -> None:
    (change / "stacks" / "teams" / "bad.yaml").symlink_to("/etc/passwd")


def as_pipe(change: pathlib.Path) -> None:
    os.mkfifo(change / "stacks" / "teams" / "bad.yaml")


def as_large(change: pathlib.Path) -> None:
    write_team(change, "teams: {}\n" + "#" * (1 << 20))


def as_text(change: pathlib.Path) -> None:
    write_team(change, "teams: {")


def without_stack(change: pathlib.Path) -> None:
    (change / "Pulumi.dev.yaml").unlink()


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (as_kubeconfig, "stacks/teams/bad.yaml has other keys than teams; remove them"),
        (as_link, "bad.yaml is missing, or is no regular file; commit it as a file"),
        (as_pipe, "bad.yaml is missing, or is no regular file; commit it as a file"),
        (as_large, "bad.yaml is larger than 1 MiB; split it"),
        (as_text, "bad.yaml is not YAML; make diff-comment prints the line"),
        (without_stack, "Pulumi.dev.yaml is missing, or is no regular file; commit it as a file"),
    ],
)
def test_a_file_of_another_kind_ends_the_workflow_before_the_preview(
    project: pathlib.Path, change: pathlib.Path, spoil: object, message: str
) -> None:
    spoil(change)  # type: ignore[operator]
    write_script(project / "bin" / "pulumi", "touch previewed")
    before = (project / "Pulumi.dev.yaml").read_bytes()
    done = run_make(project, "preview-change", STACK="dev", CHANGE="build/change", SINCE="HEAD")
    assert done.stderr.splitlines()[0] == message
    assert done.returncode != 0
    assert not (project / "previewed").exists()
    assert (project / "Pulumi.dev.yaml").read_bytes() == before


@pytest.mark.parametrize("value", ["", ".", "..", "/tmp"])
def test_only_a_folder_inside_the_project_is_taken_and_deleted(
    project: pathlib.Path, change: pathlib.Path, value: str
) -> None:
    done = run_make(project, "preview-change", STACK="dev", CHANGE=value, SINCE="HEAD")
    assert "which is no folder inside" in done.stderr
    assert change.exists()


def test_a_stack_that_the_default_branch_lacks_is_not_previewed(project: pathlib.Path, change: pathlib.Path) -> None:
    shutil.copy(change / "Pulumi.dev.yaml", change / "Pulumi.new.yaml")
    done = run_make(project, "preview-change", STACK="new", CHANGE="build/change", SINCE="HEAD")
    assert done.stderr.splitlines()[0].startswith("Pulumi.new.yaml is not on the default branch; merge it")
