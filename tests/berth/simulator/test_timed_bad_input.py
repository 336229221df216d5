"""Broken traces: every line that `berth simulate` prints for each."""

from __future__ import annotations

import pathlib
import re

import pytest
from typer.testing import CliRunner

from berth.cli import app
from berth.simulator.fleet import SimulatedFleet
from berth.simulator.scheduler.model import SchedulerSetup
from berth.simulator.timed import read_trace
from berth.simulator.timed.read_trace import TraceReader
from tests.berth.simulator.setups import queue
from tests.problem_lines import line_without_code

HERE = pathlib.Path(__file__).parent
ENTRY = re.compile(r"^== (.*)\n((?:(?!== ).*\n)*)", re.MULTILINE)
FLEET = SimulatedFleet(
    name="test",
    setup=SchedulerSetup(queues=(queue("vision-train", 8), queue("vision-urgent", 8), queue("speech", 8))),
    local_queues={("vision", "train"): "vision-train", ("vision", "urgent"): "vision-urgent"},
    queue_display_names={"vision-train": "vision/train", "vision-urgent": "vision/urgent", "speech": "speech/all"},
    queue_owners={"vision-train": "vision", "vision-urgent": "vision", "speech": "speech"},
    accelerator_nouns={("f", "gpu.com/x"): "GPUs"},
    priorities={"high": 100, "low": 0},
)
CASES = ENTRY.findall((HERE / "bad_traces.txt").read_text(encoding="utf-8"))


def test_there_are_at_least_30() -> None:
    assert len({title for title, _ in CASES}) >= 30


@pytest.mark.parametrize(("title", "body"), CASES, ids=[title for title, _ in CASES])
def test_a_broken_trace_prints_these_lines(title: str, body: str) -> None:
    lines = body.rstrip("\n").split("\n")
    text = "".join(f"{line}\n" for line in lines if line and not line.startswith("! "))
    reader = TraceReader(FLEET, "trace.csv")
    jobs = reader.read(text)
    assert [line_without_code(each) for each in reader.problems.entries] == [x[2:] for x in lines if x[:2] == "! "], (
        title
    )
    assert reader.problems.has_faults()
    assert len(jobs) <= text.count("\n") - 1 or not jobs


def test_a_trace_that_is_too_large_is_refused_before_it_is_read(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """10 million lines have 200 MB; a sparse file of that size takes no room."""
    path = tmp_path / "trace.csv"
    with path.open("wb") as file:
        file.truncate(200 << 20)
    answer = CliRunner().invoke(app, ["simulate", "dev", str(path)])
    assert answer.exit_code == 1
    assert "split the trace by time" in answer.stderr
    monkeypatch.setattr(read_trace, "MAX_JOBS", 2)
    reader = TraceReader(FLEET, "trace.csv")
    reader.read("submitted,seconds,queue,gpu.com/x\n" + "0,5,vision/train,1\n" * 3)
    assert [line_without_code(each) for each in reader.problems.entries] == [
        "trace.csv:4: more than 2 jobs; split the trace by time"
    ]


def test_bytes_that_are_not_text_are_refused_at_their_line(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "trace.csv"
    path.write_bytes(b"submitted,seconds,queue,cpu\n0,5,vision/train,\xff\n")
    answer = CliRunner().invoke(app, ["simulate", "dev", str(path)])
    assert answer.exit_code == 1
    assert re.search(r"trace\.csv:2: error: is not UTF-8; save the file as UTF-8", answer.stderr)


@pytest.mark.parametrize(
    ("option", "line"),
    [
        ("--startup=v5=5m", "error: --startup: no flavor 'v5'; did you mean 'v5e'?"),
        ("--startup=v5e=soon", "error: --startup: 'soon' is not a duration; write --startup v5e=5m"),
        ("--provisioning=v5e", "error: --provisioning: '' is not a duration; write --provisioning v5e=5m"),
    ],
)
def test_an_option_with_a_wrong_value_is_refused(option: str, line: str) -> None:
    answer = CliRunner().invoke(app, ["simulate", "dev", "stacks/traces/dev.csv", option])
    assert answer.exit_code == 1
    assert line in answer.stderr
