"""`berth COMMAND … | true`: the exit status of the command is its own, also if its reader has closed the pipe."""

from __future__ import annotations

import shlex
import subprocess
import sys
from typing import Final

import pytest

from berth.cli import VERBS
from tests.forked import Command, Finished, run_all
from tests.stack_files import ROOT

PREVIEWS: Final = "tests/berth/diff/previews"
SOUND: Final = {
    "check": ["dev"],
    "explain": ["overcommitted"],
    "plan": ["dev"],
    "quota": ["dev"],
    "usage": ["dev", "--queries"],
    "preview": ["dev"],
    "render": ["dev"],
    "admit": ["stacks/scenarios/multislice.yaml"],
    "test": ["stacks/examples/multislice.yaml"],
    "simulate": ["dev", "stacks/traces/dev.csv"],
    "why": ["dev", "no-such-job", "--live", "tests/berth/verify/multislice.json"],
    "workload": ["dev", "vision", "train", "--slices", "1", "--image", "a/b:1", "--", "python", "train.py"],
    "lint": ["dev", "stacks/jobs/train.yaml", "--team", "vision"],
    "diff": ["dev", "stacks/examples/multislice.yaml"],
    "upgrade": ["dev", "--kueue", "0.20.0"],
    "verify": ["stacks/examples/multislice.yaml", "--live", "tests/berth/verify/multislice.json"],
    "guard": ["dev", f"{PREVIEWS}/topology-changed.json"],
    "rotate": ["dev", "v5e", "--set", "capacity=spot"],
    "drain": ["dev"],
    "split": ["dev", "--most", "500"],
    "report": ["dev"],
    "graph": ["dev"],
    "init": ["prod", "--project", "acme-ml-prod", "--region", "us-central1", "--team", "vision"],
    "adopt": ["new", "tests/berth/adopt/no-such-file.json"],
    "mcp": [],
    "schema": [],
}
"""Arguments with which each verb prints its usual output."""
STATUSES: Final = {"diff": 3, "guard": 3, "drain": 3, "adopt": 1, "why": 1}
"""The statuses of SOUND that are not 0: blocked changes, a protected fleet, a missing answer."""


PROJECT: Final = "name: berth\nruntime: python\n"
WRONG_USAGE: Final = ("check", "admit", "schema")
FAULTY: Final = ("check", "render", "diff", "workload")
MORE: Final = (["plan", "dev", "--json"], ["render", "stacks/examples/batch-platform.yaml"])
"""Large outputs."""


@pytest.fixture(scope="module")
def piped(tmp_path_factory: pytest.TempPathFactory) -> dict[tuple[str, ...], Finished]:
    """Every command of this module, run with a stdout that nobody reads and a stderr that stays open."""
    empty, bad = tmp_path_factory.mktemp("empty"), tmp_path_factory.mktemp("bad")
    for folder in (empty, bad):
        (folder / "Pulumi.yaml").write_text(PROJECT, encoding="utf-8")
    (bad / "Pulumi.bad.yaml").write_text("config:\n  berth:fleet: {project: a}\n", encoding="utf-8")
    folders = {
        **{(verb, *words): empty if verb == "init" else ROOT for verb, words in SOUND.items()},
        **{(verb, "--no-such-option"): ROOT for verb in WRONG_USAGE},
        **{faulty_words(verb): bad for verb in FAULTY},
        **{tuple(words): ROOT for words in MORE},
    }
    done = run_all([Command(words, str(folder), closed=[1]) for words, folder in folders.items()])
    return dict(zip(folders, done, strict=True))


def faulty_words(verb: str) -> tuple[str, ...]:
    """The arguments of a verb, with a faulty stack file in the place of dev's."""
    words = [str(ROOT / each) if (ROOT / each).is_file() else each for each in SOUND[verb]]
    return verb, *("bad" if each == "dev" else each for each in words)


def test_every_verb_has_arguments() -> None:
    assert list(SOUND) == list(VERBS)


@pytest.mark.parametrize("verb", VERBS)
def test_a_closed_pipe_leaves_the_status_of_the_verb(verb: str, piped: dict[tuple[str, ...], Finished]) -> None:
    """Neither 120 (Python could not flush), nor 141 (SIGPIPE), nor a traceback."""
    done = piped[verb, *SOUND[verb]]
    assert done.status == STATUSES.get(verb, 0), done.stderr
    assert "Traceback" not in done.stderr
    assert "BrokenPipe" not in done.stderr


@pytest.mark.parametrize(
    "words", [*MORE, *([verb, *SOUND[verb]] for verb in ("check", "admit", "schema"))], ids=lambda words: words[0]
)
def test_a_closed_pipe_prints_nothing(words: list[str], piped: dict[tuple[str, ...], Finished]) -> None:
    """`berth render dev | head` prints no traceback, and a pipeline under `pipefail` succeeds."""
    assert (piped[tuple(words)].status, piped[tuple(words)].stderr) == (0, "")


@pytest.mark.parametrize("verb", WRONG_USAGE)
def test_a_closed_pipe_leaves_the_status_of_wrong_usage(verb: str, piped: dict[tuple[str, ...], Finished]) -> None:
    assert piped[verb, "--no-such-option"].status == 2


@pytest.mark.parametrize("verb", FAULTY)
def test_a_closed_pipe_leaves_the_status_of_a_faulty_stack_file(
    verb: str, piped: dict[tuple[str, ...], Finished]
) -> None:
    """`berth check bad | true` leaves 1."""
    done = piped[faulty_words(verb)]
    assert done.status == 1, done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_the_exit_status_survives_two_closed_pipes(unbuffered: str) -> None:
    """`berth guard dev preview.json 2>&1 | true` leaves 3 in PIPESTATUS, so that a pipeline sees a blocked change."""
    preview = f"{PREVIEWS}/topology-changed.json"
    statuses = {
        ("guard", "dev", preview): 3,
        ("guard", "dev", preview, "--json"): 3,
        ("check", "tests/no-such-stack.yaml"): 1,
        ("plan",): 2,
    }
    done = run_all([Command(words, closed=[1, 2]) for words in statuses], PYTHONUNBUFFERED=unbuffered)
    assert [each.status for each in done] == list(statuses.values())


def test_a_process_of_its_own_behind_a_pipe_has_the_same_status() -> None:
    """In bash, with Python started for the command."""
    command = shlex.join([sys.executable, "-m", "berth", "guard", *SOUND["guard"]])
    script = f"{command} | true; exit ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", script], cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.returncode, "Traceback" in done.stderr) == (3, False)
