"""Machines that fail while a trace runs: hand-made runs, and figures against a second way of computing them."""

from __future__ import annotations

import json
import random
import tracemalloc
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from typer.testing import CliRunner

from berth.cli import app
from berth.cli.simulate.answer import read_outages
from berth.cli.simulate.output import WHY_UNFINISHED
from berth.cli.test.expectations import check_losses
from berth.diagnostics import Problems
from berth.jobs.values import SourceValue
from berth.overview.losses import losses_of
from berth.plan.configuration import PodsReadyPlan, RequeuingPlan
from berth.simulator.fleet import build_simulated_fleet
from berth.simulator.pending_reasons import PendingCode
from berth.simulator.scheduler.model import SchedulerSetup
from berth.simulator.timed.read_trace import MAX_SECONDS
from berth.simulator.timed.timed_run import run_trace
from berth.simulator.timed.trace import Outage, Outages, TimedJob, Timing, Trace
from tests.berth.simulator.setups import queue, quota
from tests.berth.simulator.test_timed import CELL, Recorder, random_jobs, setup, timed
from tests.stack_files import ROOT
from tests.stack_files import plan as plan_of

TRACE = str(ROOT / "stacks/traces/dev.csv")


def recorded(
    jobs: list[TimedJob], machines: int, *outages: tuple[int, int, int], timing: Timing | None = None, quotas: int = 0
) -> tuple[Recorder, int]:
    """Run jobs on one queue whose machines fail: (second, seconds away, amount), one machine each."""
    recorder = Recorder()
    broken = tuple(Outage(time=at, seconds=away, machines=((CELL, size),)) for at, away, size in outages)
    timing = replace(timing or Timing(), outages=Outages({CELL: machines}, broken))
    queues = (queue("q", {"f": quota(quotas or machines)}),)
    return recorder, run_trace(SchedulerSetup(queues=queues), jobs, timing, recorder).time


def stints(recorder: Recorder) -> list[tuple[str, int, int, int, int, str]]:
    return [(name, since, until, each.kept, each.lost, each.reason) for name, _, since, until, _, each in recorder.rows]


def test_a_job_begins_again_five_minutes_later_on_a_spare_machine() -> None:
    """It had worked 50 s since second 0, its last checkpoint was at 40 s, and another machine is free."""
    for draw in range(20):  # which machine fails is drawn by the number of the outage: one of them is the job's
        outages = [(1_000 + at, 10, 4) for at in range(draw)] + [(50, 10_000, 4)]
        recorder, end = recorded([timed("a", "q", 0, 100, 4, checkpoint=20)], 8, *sorted(outages))
        if len(recorder.rows) > 1:
            assert stints(recorder)[0] == ("a", 0, 50, 40, 10, "NodeFailed")
    recorder, end = recorded([timed("a", "q", 0, 100, 8, checkpoint=20)], 16, (50, 10_000, 16))
    assert stints(recorder)[0] == ("a", 0, 50, 40, 10, "NodeFailed")
    assert end == 10_050 + 60, "nothing is left until the machines are back"


def test_what_is_left_is_used_at_once() -> None:
    """Both jobs are hit by the loss of everything but a machine of 4: the first of them has it after 300 s."""
    jobs = [timed("a", "q", 0, 1_000, 4), timed("b", "q", 0, 1_000, 4)]
    recorder, end = recorded(jobs, 12, (500, 5_000, 4), (500, 5_000, 4))
    rows = stints(recorder)
    hit = {name for name, *_, reason in rows if reason}
    assert hit and all(row[3:5] == (0, 500) for row in rows if row[5])
    ends = {name: until for name, _, until, *_, reason in rows if not reason}
    assert sorted(ends.values()) == ([1_800, 2_800] if len(hit) == 2 else [1_000, 1_800]), rows
    assert end == max(ends.values())


def test_a_job_that_comes_later_is_admitted_and_waits_for_machines() -> None:
    recorder, end = recorded([timed("a", "q", 100, 50, 4)], 4, (20, 1_000, 4))
    assert stints(recorder) == [("a", 100, 1_070, 50, 0, "")]
    assert recorder.rows[0][5].warming == 1_020 - 100
    assert (end, recorder.steps[1]) == (1_070, (100, "hold", "a"))


def test_kueue_gives_up_on_pods_without_machines_and_tries_again() -> None:
    """The recovery timeout counts from the failure, the first timeout from admission, and the pause doubles."""
    ready = PodsReadyPlan(timeout_seconds=400, recovery_seconds=600, requeuing=RequeuingPlan(base_seconds=10))
    recorder, _ = recorded([timed("a", "q", 0, 100, 4)], 4, (50, 1_500, 4), timing=Timing(pods_ready=ready))
    assert [(since, until, reason) for _, since, until, _, _, reason in stints(recorder)] == [
        (0, 50, "NodeFailed"),
        (50, 650, "PodsReadyTimeout"),
        (660, 1_060, "PodsReadyTimeout"),
        (1_080, 1_480, "PodsReadyTimeout"),
        (1_520, 1_650, ""),
    ]
    assert recorder.rows[-1][5].warming == 30


def test_an_outage_after_the_last_job_does_not_lengthen_the_run() -> None:
    assert recorded([timed("a", "q", 0, 100, 4)], 4, (150, 900, 4))[1] == 100
    assert recorded([timed("a", "q", 0, 100, 4)], 8, (0, 900, 0))[1] == 100


def test_a_job_larger_than_all_machines_is_unfinished_and_says_why() -> None:
    """The quota is above the machines: it is admitted, and its pods have no room."""
    recorder, outages = Recorder(), Outages({CELL: 4}, (Outage(time=1, seconds=1, machines=((CELL, 1),)),))
    queues = SchedulerSetup(queues=(queue("q", {"f": quota(8)}),))
    end = run_trace(queues, [timed("a", "q", 0, 100, 8)], Timing(outages=outages), recorder)
    assert [(live.timed.job.name, str(reason.code)) for live, reason in end.unfinished] == [("a", "no-nodes")]


def test_every_reason_has_words() -> None:
    """A job that never finished is named with why, in words and with its code."""
    assert {str(each) for each in WHY_UNFINISHED} == {*PendingCode, "deactivated"}


@pytest.mark.parametrize("seed", range(12))
def test_no_more_works_than_machines_are_left_and_nothing_is_lost(seed: int) -> None:
    """Adds up every second: what works is never more than the machines; each job works for its time exactly once."""
    rng = random.Random(seed)
    broken = [(rng.randint(0, 500), rng.randint(1, 200), rng.randint(1, 4)) for _ in range(8)]
    outages = tuple(Outage(time=at, seconds=away, machines=((CELL, size),)) for at, away, size in sorted(broken))
    recorder, jobs = Recorder(), random_jobs(seed)
    end = run_trace(setup(), jobs, Timing(outages=Outages({CELL: 9}, outages)), recorder)
    worked: dict[str, int] = {}
    use = [0] * (end.time + 1)
    for name, _, since, until, amount, stint in recorder.rows:
        worked[name] = worked.get(name, 0) + stint.kept
        for second in range(since + stint.warming, until):
            use[second] += amount
    down: dict[int, int] = {}
    for second, amount in enumerate(use):
        down = {number: size for number, size in down.items() if second < sum(sorted(broken)[number][:2])}
        for number, (at, _, size) in enumerate(sorted(broken)):
            if at == second:  # of what has failed already, nothing fails again
                down[number] = min(size, 9 - sum(down.values()))
        assert amount <= 9 - sum(down.values()), second
    unfinished = {live.timed.job.name for live, _ in end.unfinished}
    assert {job.job.name: job.seconds for job in jobs if job.job.name not in unfinished} == {
        name: seconds for name, seconds in worked.items() if name not in unfinished
    }
    assert any(stint.reason == "NodeFailed" for *_, stint in recorder.rows)


@pytest.mark.parametrize("seed", range(4))
def test_machines_of_which_none_is_missed_change_nothing(seed: int) -> None:
    """Quota alone decides while the machines are as many as the quota and none fails."""
    without, beside = Recorder(), Recorder()
    run_trace(setup(), random_jobs(seed), Timing(), without)
    outage = Outage(time=10, seconds=100, machines=((CELL, 0),))
    run_trace(setup(), random_jobs(seed), Timing(outages=Outages({CELL: 9}, (outage,))), beside)
    assert without.steps == beside.steps


# --- the command ------------------------------------------------------------------------------------------------------


def simulated(*words: str) -> dict[str, Any]:
    done = CliRunner().invoke(app, ["simulate", "dev", TRACE, "--json", *words])
    assert done.exit_code == 0, done.stderr
    return json.loads(done.stdout)["stacks"][0]


def test_work_is_conserved_and_failures_are_evictions() -> None:
    """Each job's work counts once, whatever fails: the sum is that of the trace."""
    calm = simulated()
    zone = simulated("--lose", "zone=us-central1-a at 10h for 6h", "--lose", "1 node of v5e every 3h for 1h")
    assert calm["finished"] == zone["finished"] == 265
    for before, after in zip(calm["flavors"], zone["flavors"], strict=True):
        assert before["flavor"] == after["flavor"]
    total = [sum(each["keptHours"] for each in run["flavors"]) for run in (calm, zone)]
    assert total[0] == pytest.approx(total[1], abs=0.01)
    assert {each["reason"] for each in zone["evictions"]} - {each["reason"] for each in calm["evictions"]} >= {
        "NodeFailed"
    }
    assert sum(e["lostHours"] for e in zone["flavors"]) > sum(e["lostHours"] for e in calm["flavors"])


def test_the_last_line_says_what_was_simulated() -> None:
    said = {
        words: CliRunner().invoke(app, ["simulate", "dev", TRACE, *words]).stdout.splitlines()[-1]
        for words in ((), ("--lose", "slice=v5e at 10h for 6h"))
    }
    assert list(said.values()) == [
        "Simulates quota over time, without the room on nodes.",
        "Simulates quota and machines over time, with loss of slice=v5e at 10h for 6h: whose jobs it hits is drawn.",
    ]


FORMS = "write such as '2 nodes of POOL at 3h for 30m', 'zone=ZONE at 2d for 6h' or '1 node of POOL every 5d for 1h'"
BAD = {
    "1 node of v5e": f"'1 node of v5e' does not say when and for how long; {FORMS}",
    "": f"'' does not say when and for how long; {FORMS}",
    "1 node of v5 at 1h for 1h": "no pool 'v5'; did you mean 'v5e'?",
    "zone=us-east1-b at 1h for 1h": "no pool has nodes in zone 'us-east1-b'; write one of 'us-central1-a'",
    "99 nodes of v5e at 1h for 1h": "'99 nodes of v5e' are more than it can have; write at most 6",
    "v5e at 1h for 1h": "'v5e' is no loss; write '2 nodes of POOL'",
    "slice=v5e at noon for 1h": f"'noon' is not a time; {FORMS}",
    "slice=v5e at 2026-11-02T08:00:00Z for 1h": "'2026-11-02T08:00:00Z' is a date, and the trace has seconds",
    "slice=v5e every 0 for 1h": f"'0' is not a time; {FORMS}",
    "slice=v5e every 2026-11-02T08:00:00Z for 1h": f"'2026-11-02T08:00:00Z' is not a time; {FORMS}",
    "slice=v5e at 1h for 0": f"'0' is not how long the machines are away; {FORMS}",
    "slice=v5e at 1h for ever": f"'ever' is not how long the machines are away; {FORMS}",
    "slice=v5e every 1s for 1h": "123,031 outages; write a longer time after every, for at most 10,000",
}


@pytest.mark.parametrize("text", BAD)
def test_a_loss_that_is_none_is_one_line(text: str) -> None:
    done = CliRunner().invoke(app, ["simulate", "dev", TRACE, "--lose", text])
    assert (done.exit_code, done.stdout, done.stderr.count("\n")) == (1, "", 1)
    assert done.stderr.startswith(f"error: --lose: {BAD[text]}"), done.stderr


def test_outages_of_ten_years_are_counted_and_not_made() -> None:
    """Every second of the longest trace are 316 million."""
    problems, longest = Problems(), Trace(jobs=[timed("a", "q", 0, MAX_SECONDS, 1)])
    tracemalloc.start()
    assert read_outages(plan_of("dev"), ["slice=v5e every 1s for 1h"], longest, problems.entries) is None
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert problems.entries[0].message.startswith("316,223,999 outages; write a longer time after every")
    assert most < 10_000_000


def test_a_date_is_a_time_of_a_trace_with_dates(tmp_path: Path) -> None:
    trace = tmp_path / "dated.csv"
    trace.write_text(
        "submitted,seconds,queue,google.com/tpu\n2026-11-02T08:00:00Z,2h,speech/train,8\n", encoding="utf-8"
    )
    words = ["simulate", "dev", str(trace), "--json", "--lose"]
    failed = [*words, "pool=v5e at 2026-11-02T09:00:00Z for 6h"]
    run = json.loads(CliRunner().invoke(app, failed).stdout)["stacks"][0]
    assert (run["seconds"], run["evictions"][0]["reason"]) == ((1 + 6 + 2) * 3600, "NodeFailed")
    early = CliRunner().invoke(app, [*words, "pool=v5e at 2026-11-01 for 6h"])
    assert "'2026-11-01' is before the first job of the trace; write a later time" in early.stderr


def asserted(tmp_path: Path, *tests: str) -> tuple[list[tuple[str, str]], str]:
    """Run tests of the dev stack; return the result and what was found of each assertion, and the faults."""
    file = tmp_path / "tests.yaml"
    file.write_text("tests:\n" + "".join(f"  - {{name: t{n}, {each}}}\n" for n, each in enumerate(tests)), "utf-8")
    done = CliRunner().invoke(app, ["test", "dev", str(file), "--json"])
    if done.stderr:
        return [], done.stderr
    return [("ok" if each["holds"] else "failed", each["found"]) for each in json.loads(done.stdout)["assertions"]], ""


def test_a_test_of_a_stack_can_lose_machines(tmp_path: Path) -> None:
    """The loss makes the difference: 7.94 hours are lost without it, and 8.35 with it."""
    on_trace = "trace: stacks/traces/dev.csv, lose: [{}], expect: {{lostHours: 8}}"
    late, early = on_trace.format("slice=v5e at 60h for 1h"), on_trace.format("pool=v5e at 8h for 2h")
    assert asserted(tmp_path, late, early)[0] == [("ok", "7.942"), ("failed", "8.351")]
    every = "language/batch, language/train, speech/serve, speech/train, vision/train, vision/urgent"
    alone = "lose: [zone=us-central1-a], expect: {{breaks: [{}]}}"
    assert asserted(tmp_path, alone.format(""), alone.format(every))[0] == [("failed", every), ("ok", every)]
    by_cluster_queue = alone.format(every.replace("/", "-"))
    assert asserted(tmp_path, by_cluster_queue)[0] == [("ok", every)]


@pytest.mark.parametrize(
    ("test", "message"),
    [
        ("lose: [slice=v5], expect: {breaks: []}", "tests[0].lose: no pool 'v5'; did you mean 'v5e'?"),
        ("lose: [slice=v5e at 1h for 1h], expect: {breaks: []}", "tests[0].lose: 'slice=v5e at 1h for 1h' is no loss"),
        ("lose: [], expect: {breaks: []}", "tests[0].lose: loses nothing; write such as [zone=us-central1-a]"),
        ("lose: slice=v5e, expect: {breaks: []}", "tests[0].lose: 'slice=v5e' is not a list of losses"),
        ("lose: [slice=v5e], expect: {}", "expects nothing, so it always passes"),
        ("lose: [slice=v5e], expect: {admitted: [a]}", "unknown key 'admitted'; write one of breaks"),
        ("lose: [slice=v5e], steps: [], expect: {admitted: [a]}", "write lose beside trace, or alone"),
        (
            "trace: stacks/traces/dev.csv, lose: [slice=v5e], expect: {unfinished: 0}",
            "does not say when",
        ),
    ],
)
def test_a_loss_of_a_test_that_is_none_has_its_line(tmp_path: Path, test: str, message: str) -> None:
    outcomes, faults = asserted(tmp_path, test)
    assert outcomes == []
    assert "tests.yaml:2: error: " in faults
    assert message in faults


def test_nobody_knows_what_a_zone_takes_where_gke_chooses_the_zones() -> None:
    """Then an assertion does not hold, and a run is refused."""
    plan = plan_of("dev")
    pools = [replace(each, zones=()) if each.name == "l4-spot" else each for each in plan.pools]
    plan = replace(plan, pools=tuple(pools))
    losses, problems = losses_of(plan, ["zone=us-central1-a"]), Problems()
    broken = ["language/train", "speech/serve", "speech/train", "vision/train", "vision/urgent"]
    expected = SourceValue({"breaks": broken}, ("expect",), problems)
    ((_, _, holds, found),) = check_losses(losses, build_simulated_fleet(plan), expected)
    assert (holds, found) == (False, f"{', '.join(broken)}; unknown: zones of l4-spot")
    read_outages(plan, ["zone=us-central1-a at 1h for 1h"], Trace(jobs=[]), problems.entries)
    assert "nobody knows which nodes of l4-spot are there" in problems.entries[-1].message
