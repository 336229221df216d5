"""The scripts behind the workflows, run as a workflow runs them: through make, in a repository of their own."""

from __future__ import annotations

import os
import pathlib
import shutil
import subprocess
import sys

import pytest

from tests.stack_files import ROOT


@pytest.fixture
def project(tmp_path: pathlib.Path) -> pathlib.Path:
    """A repository with the stack `dev`, and `berth` in its bin."""
    for name in ("Makefile", "Pulumi.yaml", "Pulumi.dev.yaml"):
        shutil.copy(ROOT / name, tmp_path / name)
    shutil.copytree(ROOT / "scripts", tmp_path / "scripts")
    shutil.copytree(ROOT / "stacks" / "teams", tmp_path / "stacks" / "teams")
    script(
        tmp_path / "bin" / "berth",
        f'PYTHONPATH={ROOT} exec {sys.executable} -c "from stacks.cli import main; main()" "$@"',
    )
    for words in (["init", "-q", "-b", "main"], ["add", "."], ["commit", "-q", "-m", "as it is"]):
        subprocess.run(["git", "-c", "user.name=a", "-c", "user.email=a@example.com", *words], cwd=tmp_path, check=True)
    return tmp_path


def script(path: pathlib.Path, text: str) -> None:
    path.parent.mkdir(exist_ok=True)
    path.write_text(f"#!/bin/bash\n{text}\n", encoding="utf-8")
    path.chmod(0o755)


def make(project: pathlib.Path, *words: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run a target, with the installation taken for done and the project's own bin first on PATH."""
    path = f"{project / 'bin'}{os.pathsep}{os.environ['PATH']}"
    env = {key: value for key, value in os.environ.items() if not key.startswith("GITHUB_")}
    command = ["make", "-o", ".venv/.installed", f"BIN={project / 'bin'}", *words]
    return subprocess.run(
        command, cwd=project, env={**env, "PATH": path, **variables}, capture_output=True, text=True, check=False
    )


def edit(project: pathlib.Path, old: str, new: str) -> None:
    file = project / "Pulumi.dev.yaml"
    text = file.read_text(encoding="utf-8")
    assert old in text
    file.write_text(text.replace(old, new), encoding="utf-8")


def test_a_change_is_told_stack_by_stack(project: pathlib.Path) -> None:
    """A changed stack by its diff, a new one by its plan; the list is words or JSON."""
    shutil.copy(ROOT / "stacks" / "examples" / "multislice.yaml", project / "Pulumi.prod.yaml")
    edit(project, "guaranteed: 1 slice, borrow: 2 slices", "guaranteed: 1 slice, borrow: 1 slice")
    summary = project / "summary.md"
    done = make(project, "diff-comment", STACKS='["dev", "prod"]', SINCE="HEAD", GITHUB_STEP_SUMMARY=str(summary))
    assert (done.returncode, done.stderr) == (0, "")
    comment = (project / "build" / "comment.md").read_text(encoding="utf-8")
    dev, prod = comment.split("## Stack prod\n")
    assert dev.startswith("## Stack dev\n")
    assert "vision" in dev
    assert prod.startswith("\nA new stack.\n\n```\nprod · my-project")
    assert summary.read_text(encoding="utf-8") == comment


def test_what_is_guarded_fails_after_it_was_told(project: pathlib.Path) -> None:
    edit(project, "topology: 2x4, slices: 3, zone: us-central1-a", "topology: 2x4, slices: 3, zone: us-central1-c")
    done = make(project, "diff-comment", "STACKS=dev", "SINCE=main")
    assert "Error 3" in done.stderr
    assert "Guarded" in (project / "build" / "comment.md").read_text(encoding="utf-8")


def test_what_is_refused_is_marked_in_the_pull_request_and_told(project: pathlib.Path) -> None:
    edit(project, "topology: 2x4", "topology: 2x5")
    done = make(project, "diff-comment", "SINCE=main", GITHUB_ACTIONS="true")
    assert "Error 1" in done.stderr
    assert "::error file=Pulumi.dev.yaml,line=13" in done.stdout
    comment = (project / "build" / "comment.md").read_text(encoding="utf-8")
    assert comment.startswith("## Stack dev\n\nRefused:\n\n```\nPulumi.dev.yaml:13: pools.v5e.topology: '2x5'")


PREVIEW = '{"steps": [{"op": "same", "urn": "urn:pulumi:dev::berth::pulumi:pulumi:Stack::berth-dev"}]}'


def test_the_guard_lets_a_harmless_preview_through_to_the_deployment(project: pathlib.Path) -> None:
    script(project / "bin" / "pulumi", f'echo "$@" >> asked; [ "$1" != preview ] || echo \'{PREVIEW}\'')
    done = make(project, "deploy", STACK="dev")
    assert (done.returncode, done.stderr) == (0, "")
    assert "dev: the preview loses nothing that is guarded" in done.stdout
    asked = (project / "asked").read_text(encoding="utf-8").splitlines()
    assert asked == ["preview --json --stack dev", "up --yes --skip-preview --stack dev"]


def test_nothing_is_deployed_after_a_preview_that_failed(project: pathlib.Path) -> None:
    script(project / "bin" / "pulumi", 'echo "$@" >> asked; exit 1')
    done = make(project, "deploy", STACK="dev")
    assert done.returncode != 0
    assert "it is empty" in done.stderr
    assert (project / "asked").read_text(encoding="utf-8").splitlines() == ["preview --json --stack dev"]


def test_drift_is_what_a_refreshing_preview_would_change(project: pathlib.Path) -> None:
    script(project / "bin" / "pulumi", 'echo "$@"; exit 1')
    done = make(project, "drift", "STACK=dev")
    assert done.returncode != 0
    assert done.stdout.splitlines()[-1] == "preview --refresh --expect-no-changes --diff --stack dev"


@pytest.mark.parametrize("target", ["preview-guarded", "deploy", "drift", "up"])
def test_what_touches_a_real_stack_is_told_which(project: pathlib.Path, target: str) -> None:
    done = make(project, target)
    assert "say which stack: make" in done.stdout
    assert "Error 2" in done.stderr
