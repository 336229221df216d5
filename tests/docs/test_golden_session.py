"""docs/session.md: the commands of README.md in order, with what they print. BERTH_GOLDEN=write rewrites it."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner

from berth.cli import app
from tests.stack_files import ROOT, assert_golden

PAGE = ROOT / "docs" / "session.md"
LINES = 24
"""Lines of an output that the page shows."""

HEAD = """\
# A session

The commands of [README.md](../README.md) from top to bottom and some more, with what they print. A test runs them and
writes this page. Long outputs are cut. `berth` is `.venv/bin/berth`.
"""

INIT = (
    "berth init prod --from multislice --project acme-ml-prod --region us-central1 --zone us-central1-a "
    "--team vision --team speech"
)
BORROW = ("guaranteed: 1 slice, borrow: 2 slices", "guaranteed: 1 slice, borrow: 1 slice")

STEPS: tuple[tuple[str, str, tuple[str, str, str] | None], ...] = (
    ("`make preview` ends with the resources that `pulumi up` would create:", "berth preview dev", None),
    (
        "`make test` starts this, in parallel on all cores. It prints a dot for each test, and at the end how many "
        "passed and how many were skipped, such as those that need a cluster:",
        "make -n test",
        None,
    ),
    ("What the dev stack is, and what each team gets:", "berth plan dev", None),
    ("The same as a page for a browser:", "berth report dev -o report.html", None),
    (
        "A mistake: `topology: 2x5` in `Pulumi.dev.yaml`.",
        "berth check dev",
        ("Pulumi.dev.yaml", "topology: 2x4", "topology: 2x5"),
    ),
    ("What its code means:", "berth explain bad-topology", None),
    (
        "The mistake is undone. A stack of your own, which asks on a terminal for what is missing here:",
        INIT,
        ("Pulumi.dev.yaml", "topology: 2x5", "topology: 2x4"),
    ),
    ("", "berth plan prod", None),
    ("", "berth quota prod", None),
    (
        "Deploying needs the Pulumi CLI, which the computer that wrote this page does not have:",
        "make up STACK=prod",
        None,
    ),
    (
        "With the CLI, `make up` first runs `berth check`, and a stack with a fault ends there:",
        "berth check prod",
        None,
    ),
    (
        "Then it runs `pulumi up --continue-on-error --stack prod`. Pulumi lists the resources that "
        "`make preview STACK=prod` lists, asks whether to perform the update, and creates them. This page does not "
        "show that, because it was written without a cloud. The first job of a team:",
        "berth workload prod vision train",
        None,
    ),
    (
        "What a pull request shows, after vision's borrowing is reduced in `Pulumi.dev.yaml`:",
        "berth diff dev --since HEAD",
        ("Pulumi.dev.yaml", *BORROW),
    ),
    ("Which jobs Kueue would admit:", "berth admit stacks/scenarios/multislice.yaml", None),
)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """Return the folder of a clone with one commit, with the files that the commands read."""
    for name in ("Pulumi.yaml", "Pulumi.dev.yaml", "__main__.py", "Makefile", "pyproject.toml"):
        shutil.copy(ROOT / name, tmp_path / name)
    for name in ("requirements.txt", "requirements-dev.txt"):
        shutil.copy(ROOT / name, tmp_path / name)
    (tmp_path / ".venv").mkdir()
    (tmp_path / ".venv" / "bin").symlink_to(ROOT / ".venv" / "bin")
    (tmp_path / ".venv" / ".installed").touch()
    for name in ("stacks", "berth", "components"):
        shutil.copytree(ROOT / name, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__"))
    who = ["-c", "user.name=n", "-c", "user.email=n@example.com", "-c", "init.defaultBranch=main"]
    for words in (["init", "-q"], ["add", "Pulumi.yaml", "Pulumi.dev.yaml", "stacks"], ["commit", "-qm", "first"]):
        subprocess.run(["git", *who, *words], cwd=tmp_path, check=True, capture_output=True)
    return tmp_path


def session(project: Path) -> Iterator[str]:
    """Yield each step: what it is, the command, and what it prints."""
    for words, command, edit in STEPS:
        if edit is not None:
            file, old, new = edit
            text = (project / file).read_text(encoding="utf-8")
            assert text.count(old) == 1
            (project / file).write_text(text.replace(old, new), encoding="utf-8")
        output, status = _run(command, project)
        printed = output.rstrip().splitlines()
        if len(printed) > LINES:
            printed = [*printed[:LINES], f"… {len(printed) - LINES} more lines"]
        yield "\n".join(
            [*([words, ""] if words else []), "```", f"$ {command}", *printed, "```"]
            + ([f"Its exit status is {status}."] if status else [])
        )


def _run(command: str, project: Path) -> tuple[str, int]:
    """Return what a command prints, and its exit status; `make` finds no Pulumi CLI."""
    if not command.startswith("make "):
        done = CliRunner().invoke(app, shlex.split(command)[1:])
        return done.output, done.exit_code
    folders = [folder for folder in os.environ["PATH"].split(os.pathsep) if not (Path(folder) / "pulumi").exists()]
    made = subprocess.run(
        shlex.split(command),
        cwd=project,
        env={"PATH": os.pathsep.join(folders), "HOME": str(project)},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    return re.sub(r"(?m)^make(\[\d+\])?: \*\*\* .*\n?", "", made.stdout), made.returncode


def test_golden_session(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(project)
    monkeypatch.setenv("COLUMNS", "120")
    page = "\n\n".join([HEAD.rstrip(), *session(project)]) + "\n"
    assert_golden(page, PAGE)


def test_every_verb_that_the_readme_runs_is_in_the_session() -> None:
    blocks = re.findall(r"^```\n(.*?)^```", (ROOT / "README.md").read_text(encoding="utf-8"), flags=re.M | re.S)
    verbs = {verb for block in blocks for verb in re.findall(r"^\.venv/bin/berth (\w+)", block, flags=re.M)}
    assert verbs
    assert verbs <= {shlex.split(command)[1] for _, command, _ in STEPS}
    targets = {target for block in blocks for target in re.findall(r"^make (\w+)", block, flags=re.M)}
    shown = " ".join(words for words, _, _ in STEPS) + " ".join(command for _, command, _ in STEPS)
    assert {target for target in targets if f"make {target}" not in shown and f"make -n {target}" not in shown} == set()
