"""docs/walks: every published system has a walk, whose commands run as far as no cloud is needed.

A block without a language has commands of Berth; the block of text after it has lines that they print, with any spaces.
A block of bash needs a cloud: its files, targets of make and placeholders are checked.
"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterator

import pytest
from typer.testing import CliRunner

from berth.cli import app
from tests.docs.sources.published import SYSTEMS
from tests.stack_files import ROOT

PAGES = {page.stem: page.read_text(encoding="utf-8") for page in sorted((ROOT / "docs" / "walks").glob("*.md"))}
SECTIONS = ["Before the first `up`", "Deploy", "Clean up"]
PROGRAMS = {"aliyun", "berth", "cp", "export", "gcloud", "kind", "kubectl", "make", "pulumi"}
every_page = pytest.mark.parametrize("name", PAGES)


def blocks(name: str) -> list[tuple[str, list[str]]]:
    """Return the language and the lines of each block of a page."""
    found = re.findall(r"^```(\w*)\n(.*?)^```$", PAGES[name], flags=re.M | re.S)
    return [(language, text.splitlines()) for language, text in found]


def words_of(text: str) -> list[str]:
    return [" ".join(line.split()) for line in text.splitlines()]


@every_page
def test_what_needs_no_cloud_runs_and_prints_what_the_page_says(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    printed: list[str] = []
    ran = compared = 0
    for language, lines in blocks(name):
        if language == "":
            printed = []
            for command in lines:
                program, *words = shlex.split(command)
                assert program == "berth", command
                done = CliRunner().invoke(app, words)
                assert done.exit_code == 0, (command, done.output)
                printed += words_of(done.output)
                ran += 1
        elif language == "text":
            for line in lines:
                assert any(line in each for each in printed), (line, printed)
                compared += 1
    assert ran >= 5
    assert compared >= 2


def cloud_commands(name: str) -> Iterator[list[str]]:
    for language, lines in blocks(name):
        if language == "bash":
            yield from (shlex.split(line) for line in lines)


@every_page
def test_what_needs_a_cloud_names_files_and_targets_that_exist(name: str) -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), flags=re.M))
    stacks = {file.stem for file in (ROOT / "stacks" / "examples").glob("*.yaml")}
    stacks |= set(re.findall(r"^cp \S+ Pulumi\.(\S+)\.yaml$", PAGES[name], flags=re.M))
    for program, *words in cloud_commands(name):
        if program.startswith("stacks/"):
            assert os.access(ROOT / program, os.X_OK), program
            continue
        assert program in PROGRAMS, program
        for word in words:
            if word.startswith(("stacks/", "tests/")):
                assert (ROOT / word).exists(), word
        if program == "make":
            assert words[0] in targets
            assert words[1].removeprefix("STACK=") in stacks


@every_page
def test_a_walk_begins_with_what_must_exist_and_ends_with_the_clean_up(name: str) -> None:
    sections = re.findall(r"^## (.+)$", PAGES[name], flags=re.M)
    assert [each for each in sections if each in SECTIONS] == SECTIONS
    assert (sections[0], sections[-1]) == (SECTIONS[0], SECTIONS[-1])


def test_every_published_system_is_walked() -> None:
    """Its stack is checked and deployed on some page."""
    commands = " ".join(PAGES.values())
    for name in SYSTEMS:
        assert f"berth check stacks/examples/{name}.yaml" in commands
        assert f"make up STACK={name}\n" in commands or name == "ack-gang"


def test_every_job_of_a_published_system_is_submitted_on_its_page() -> None:
    text = "\n".join(PAGES.values())
    for system in SYSTEMS.values():
        for job in system.jobs:
            folder = job.split("/", maxsplit=1)[0]
            assert f"stacks/jobs/{job}.yaml" in text or f"apply -k stacks/jobs/{folder}\n" in text, job
