"""The word of the guard for output of the real engine: `tests/vendored/engine-runs` says how it was made."""

from __future__ import annotations

import tarfile
from pathlib import Path
from typing import Final, NamedTuple

import pytest
from msgspec.structs import replace

from berth.backends.interface import backend_of
from berth.diff.guard.preview import Answer, find_losses
from berth.diff.guard.preview_file import parse_preview
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


_LATER: Final = "ValidatingAdmissionPolicy"
"""The kind of objects that later versions of the program register otherwise than on the day of the recordings."""


@pytest.mark.parametrize("recording", recordings(), ids=lambda each: f"{each.run}-{each.form}")
def test_the_word_for_a_recording_of_the_real_engine(recording: Recording, unpacked: Path) -> None:
    folder = unpacked / recording.run
    (file,) = folder.glob("Pulumi.*.yaml")
    evaluation = evaluate_stack(str(file), folder)
    assert evaluation.faults == ()
    assert evaluation.plan is not None and evaluation.file is not None
    rules = backend_of(evaluation.plan).preview_rules(evaluation.plan)
    preview = parse_preview((folder / f"{recording.form}.json").read_text(encoding="utf-8"))
    report = find_losses(preview, replace(rules, least_resources=1), evaluation.file.config)
    report = replace(report, doubts=tuple(each for each in report.doubts if _LATER not in each))
    assert (report.answer, report.doubts if recording.word == Answer.SAFE else ()) == (recording.word, ())


def test_at_least_thirty_recordings_of_harmless_runs_are_safe() -> None:
    assert sum(each.word == Answer.SAFE for each in recordings()) >= 30


def test_every_file_of_the_archive_has_a_word(unpacked: Path) -> None:
    kept = {(file.parent.name, file.stem) for file in unpacked.glob("*/*.json")}
    assert kept == {(each.run, each.form) for each in recordings()}
