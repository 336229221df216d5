"""The word of the guard for output of the real engine: `tests/vendored/engine-runs` says how it was made."""

from __future__ import annotations

import re
import tarfile
from collections.abc import Mapping
from pathlib import Path
from typing import Final, NamedTuple

import pytest
from msgspec.structs import replace

from berth.backends.interface import backend_of
from berth.diff.guard.agreement import disagreements
from berth.diff.guard.preview import Answer, find_losses
from berth.diff.guard.preview_file import parse_preview
from berth.diff.guard.preview_steps import PreviewRules
from berth.evaluate import evaluate_stack
from tests.stack_files import ROOT

RUNS = ROOT / "tests" / "vendored" / "engine-runs"


class Recording(NamedTuple):
    """A run in one form, and the word that the guard must have for it."""

    word: str
    run: str
    form: str


def recordings() -> list[Recording]:
    """Every recording with a word; `runs.txt` has a line for each run: the word, the run, its forms."""
    lines = [line.split() for line in (RUNS / "runs.txt").read_text(encoding="utf-8").splitlines() if line[:1] != "#"]
    return [Recording(line[0], line[1], form) for line in lines if line for form in line[2].split(",")]


@pytest.fixture(scope="module")
def unpacked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder for each run: the stack file of that moment, and what the engine printed."""
    folder = tmp_path_factory.mktemp("runs")
    with tarfile.open(RUNS / "runs.tar.xz") as archive:
        archive.extractall(folder, filter="data")
    return folder


_CHANGED: Final = re.compile("(ValidatingAdmissionPolicy|ValidatingAdmissionPolicyBinding|ResourceQuota) ")
"""Objects that later versions of the program register otherwise than on the day of the runs."""


def rules_of(folder: Path) -> tuple[PreviewRules, Mapping[str, object]]:
    """The rules and the config of the stack file in a folder."""
    (file,) = folder.glob("Pulumi.*.yaml")
    evaluation = evaluate_stack(str(file), folder)
    assert evaluation.faults == ()
    assert evaluation.plan is not None and evaluation.file is not None
    return backend_of(evaluation.plan).preview_rules(evaluation.plan), evaluation.file.config


@pytest.mark.parametrize("recording", recordings(), ids=lambda each: f"{each.run}-{each.form}")
def test_the_word_for_a_recording_of_the_real_engine(recording: Recording, unpacked: Path) -> None:
    folder = unpacked / recording.run
    rules, config = rules_of(folder)
    if recording.run not in ("target", "exclude", "target-replace-left-out"):  # these are told by what they leave out
        rules = replace(rules, least_resources=1, expected=None)
    preview = parse_preview((folder / f"{recording.form}.json").read_text(encoding="utf-8"))
    report = find_losses(preview, rules, config)
    assert (report.answer, report.doubts if recording.word == Answer.SAFE else ()) == (recording.word, ())


@pytest.mark.parametrize("form", ["sames", "events"])
def test_what_the_engine_says_of_a_run_without_changes_is_what_the_program_registers(form: str, unpacked: Path) -> None:
    """Defaults of providers, secrets in events and types of schemas are not taken for changes."""
    folder = unpacked / "nothing"
    preview = parse_preview((folder / f"{form}.json").read_text(encoding="utf-8"))
    found = list(disagreements(preview, rules_of(folder)[0]))
    assert [each for each in found if not _CHANGED.search(each)] == []
    assert len(found) < len(preview.steps) / 2


def test_at_least_thirty_recordings_of_harmless_runs_are_safe() -> None:
    assert sum(each.word == Answer.SAFE for each in recordings()) >= 30


def test_every_file_of_the_archive_has_a_word(unpacked: Path) -> None:
    kept = {(file.parent.name, file.stem) for file in unpacked.glob("*/*.json")}
    assert kept == {(each.run, each.form) for each in recordings()}
