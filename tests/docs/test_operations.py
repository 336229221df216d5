"""docs/operations.md and docs/security.md: commands run, and who has which rights is what the code gives."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml
from typer.testing import CliRunner

from berth.cli import app
from berth.evaluate import evaluate_stack
from tests.stack_files import GOLDEN, ROOT

OPERATIONS = (ROOT / "docs" / "operations.md").read_text(encoding="utf-8")
SECURITY = (ROOT / "docs" / "security.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```(\w*)\n(.*?)^```$", OPERATIONS, flags=re.MULTILINE | re.DOTALL)


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a copy of the project's stack files, committed, in which the commands run."""
    for name in ("__main__.py", "Pulumi.yaml", "Pulumi.dev.yaml"):
        shutil.copy(ROOT / name, tmp_path / name)
    for name in ("teams", "jobs"):
        shutil.copytree(ROOT / "stacks" / name, tmp_path / "stacks" / name)
    who = ["-c", "user.name=owner", "-c", "user.email=owner@example.com"]
    for words in (["init", "-q"], ["add", "."], [*who, "commit", "-q", "-m", "as it is"]):
        subprocess.run(["git", *words], cwd=tmp_path, check=True)
    monkeypatch.chdir(tmp_path)
    return tmp_path


# --- operations -------------------------------------------------------------------------------------------------------


def test_every_command_of_the_page_answers_and_every_edit_is_sound(project: Path) -> None:
    file = project / "Pulumi.dev.yaml"
    ran: list[str] = []
    for language, block in BLOCKS:
        if language == "yaml":
            stack: Any = yaml.safe_load(file.read_text(encoding="utf-8"))
            stack["config"]["berth:fleet"] |= yaml.safe_load(block)
            (project / "Pulumi.edited.yaml").write_text(yaml.safe_dump(stack), encoding="utf-8")
            assert [p.line() for p in evaluate_stack("edited", project).faults] == [], block
            continue
        for command in (line for line in block.splitlines() if line.startswith("berth ")):
            done = CliRunner().invoke(app, shlex.split(command)[1:])
            assert (done.exit_code, done.stderr, bool(done.stdout)) == (0, "", True), command
            ran.append(command.split()[1])
    assert {"check", "diff", "rotate", "admit", "preview"} <= set(ran)
    assert {line.split()[0] for language, block in BLOCKS if not language for line in block.splitlines() if line} <= {
        "berth",
        "make",
        "kubectl",
    }


def test_less_capacity_than_promised_is_named(project: Path) -> None:
    """What the page says of telling the truth about a stock-out."""
    file = project / "Pulumi.dev.yaml"
    text = file.read_text(encoding="utf-8")
    assert "slices: 3" in text
    file.write_text(text.replace("slices: 3", "slices: 2"), encoding="utf-8")
    (fault,) = evaluate_stack("dev", project).faults
    assert "guarantees 24 v5e chips (3 slices), but pool v5e has 16 (2 slices)" in fault.message


# --- security ---------------------------------------------------------------------------------------------------------


def test_the_page_names_exactly_the_roles_granted_in_google_cloud() -> None:
    """Roles of the code's own; those that a team lists are the stack file's."""
    sources = [*(ROOT / "berth" / "google").rglob("*.py"), ROOT / "berth" / "planner" / "cluster" / "gke.py"]
    given = {role for file in sources for role in re.findall(r'"(roles/[\w.]+)"', file.read_text(encoding="utf-8"))}
    assert len(given) >= 9
    assert set(re.findall(r"`(roles/[\w.]+)`", SECURITY)) == given


def test_the_page_names_every_role_that_is_made_in_a_cluster_and_no_other() -> None:
    files = GOLDEN.glob("*/manifests.yaml")
    objects = [each for file in files for each in yaml.load_all(file.read_bytes(), yaml.CSafeLoader) if each]
    made = {each["metadata"]["name"] for each in objects if each["kind"] in ("ClusterRole", "Role")}
    assert len(made) >= 4
    section = SECURITY.split("## What is secret")[0]
    assert set(re.findall(r"`(berth-[\w-]+|multikueue)`", section)) == made


def test_only_the_collector_reads_a_secret() -> None:
    for file in GOLDEN.glob("*/manifests.yaml"):
        for each in yaml.load_all(file.read_bytes(), yaml.CSafeLoader):
            if each and each["kind"] in ("ClusterRole", "Role"):
                resource = [rule for rule in each["rules"] if {"secrets", "*"} & set(rule["resources"])]
                resource = [rule for rule in resource if "" in rule["apiGroups"]]
                alone = [rule.get("resourceNames") for rule in resource]
                assert alone == ([[each["metadata"]["name"]]] if each["kind"] == "Role" else []), each["metadata"]


@pytest.mark.parametrize(
    "page", ["docs/security.md", "docs/operations.md", "CONTRIBUTING.md", "CHANGELOG.md", "README.md"]
)
def test_every_link_of_a_page_leads_somewhere(page: str) -> None:
    file = ROOT / page
    links = re.findall(r"\]\(([^)#\s]*)(?:#([\w-]*))?\)", file.read_text(encoding="utf-8"))
    for target, anchor in links:
        if not target.startswith("http"):
            there = (file.parent / target) if target else file
            assert there.exists(), target
            if anchor:
                titles = re.findall(r"^#+ (.*)$", there.read_text(encoding="utf-8"), flags=re.MULTILINE)
                assert anchor in [re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-") for title in titles], anchor
