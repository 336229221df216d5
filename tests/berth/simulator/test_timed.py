"""Admission over time: every figure against a second way of computing it, and hand-made runs."""

from __future__ import annotations

import json
import random
from fractions import Fraction
from pathlib import Path

import pytest
from msgspec.structs import replace
from typer.testing import CliRunner

from berth.cli import app
from berth.jobs.pod_set import PodSet
from berth.plan.configuration import PodsReadyPlan, RequeuingPlan
from berth.simulator.fleet import SimulatedFleet
from berth.simulator.scheduler.fair_sharing import FAIR_STRATEGIES
from berth.simulator.scheduler.model import Job, SchedulerSetup
from berth.simulator.scheduler.simulate import Simulator
from berth.simulator.timed.figures import Accountant, averages, percentile, size_class
from berth.simulator.timed.generator import generate_trace
from berth.simulator.timed.read_trace import TraceReader
from berth.simulator.timed.summary import simulate_trace
from berth.simulator.timed.timed_run import run_trace
from berth.simulator.timed.trace import LiveJob, RunEnd, Stint, TimedJob, Timing, parse_duration
from tests.berth.simulator.setups import ANY, GPU, LOWER_PRIORITY, cohort, queue, quota
from tests.stack_files import ROOT

CELL = ("f", GPU)


class Recorder:
    """Keeps what happens: when each job held how much, as rows (job, queue, start, end, amount, stint)."""

    def __init__(self) -> None:
        self.rows: list[tuple[str, str, int, int, int, Stint]] = []
        self.steps: list[tuple[int, str, str]] = []
        self.live: dict[str, LiveJob] = {}

    def submitted(self, time: int, live: LiveJob) -> None:
        self.live[live.timed.job.name] = live
        self.steps.append((time, "submit", live.timed.job.name))

    def took_quota(self, time: int, live: LiveJob) -> None:
        self.steps.append((time, "hold", live.timed.job.name))

    def gave_quota_back(self, time: int, live: LiveJob, stint: Stint) -> None:
        assert live.held_since is not None
        job = live.timed.job
        self.rows.append((job.name, job.queue, live.held_since, time, sum(u.amount for u in live.uses), stint))
        self.steps.append((time, "end" if not stint.reason else "lose", job.name))


def timed(name: str, at: str, submitted: int, seconds: int, gpus: int, priority: int = 0, **rest: int) -> TimedJob:
    pods = (PodSet(name="main", count=1, requests={GPU: gpus}),)
    job = Job(name=name, queue=at, priority=priority, pod_sets=pods)
    return TimedJob(job=job, submitted=submitted, seconds=seconds, **rest)


def setup(fair: bool = False) -> SchedulerSetup:
    """Three queues in two cohorts, of which one lends only a part."""
    return SchedulerSetup(
        queues=(
            queue("a", {"f": quota(4, lend=3)}, "left", within=LOWER_PRIORITY, reclaim=ANY),
            queue("b", {"f": quota(2)}, "left", within=LOWER_PRIORITY, reclaim=ANY, strict=True),
            queue("c", {"f": quota(3)}, "all", reclaim=LOWER_PRIORITY),
        ),
        cohorts=(cohort("left", "all"),),
        fair_strategies=FAIR_STRATEGIES if fair else None,
    )


def random_jobs(seed: int, number: int = 60) -> list[TimedJob]:
    rng = random.Random(seed)
    times = sorted(rng.randint(0, 400) for _ in range(number))
    return [
        timed(
            f"j{index}",
            rng.choice("abc"),
            time,
            rng.randint(0, 60),
            rng.randint(1, 6),
            rng.choice((0, 0, 5)),
            **({"checkpoint": rng.randint(1, 20)} if rng.random() < 0.5 else {}),
            **({"startup": rng.randint(0, 30)} if rng.random() < 0.3 else {}),
        )
        for index, time in enumerate(times)
    ]


TIMING = Timing(
    startup={"f": 3},
    pods_ready=PodsReadyPlan(timeout_seconds=20, requeuing=RequeuingPlan(base_seconds=5, limit_count=2)),
)


@pytest.mark.parametrize("seed", range(12))
def test_integrals_are_those_of_adding_up_every_second(seed: int) -> None:
    """Use, borrowing, idle and lent quota of each queue, and what came of it, from the rows of a recorder."""
    jobs, recorder, accountant = random_jobs(seed), Recorder(), Accountant(setup(), {CELL})
    end = run_trace(setup(), jobs, TIMING, recorder)
    again = run_trace(setup(), jobs, TIMING, accountant)
    figures = accountant.finish(again.time, (live for live, _ in again.unfinished))
    assert again.time == end.time
    nominal = {"a": 4, "b": 2, "c": 3}
    sums = {name: [0, 0, 0, Fraction()] for name in nominal}
    for second in range(jobs[0].submitted, end.time):
        used = dict.fromkeys(nominal, 0)
        for _, name, start, stop, amount, _ in recorder.rows:
            used[name] += amount if start <= second < stop else 0
        borrowed = {name: max(0, used[name] - nominal[name]) for name in nominal}
        idle = {name: max(0, nominal[name] - used[name]) for name in nominal}
        for name, figure in sums.items():
            part = min(Fraction(1), Fraction(sum(borrowed.values()), sum(idle.values()) or 1))
            for index, value in enumerate((used[name], borrowed[name], idle[name], idle[name] * part)):
                figure[index] += value
    for name, expected in sums.items():
        each = figures.queues[name, CELL]
        assert [each.used, each.borrowed, each.idle] == expected[:3]
        assert each.lent == pytest.approx(float(expected[3]))
    for name in nominal:
        rows = [(amount, stint) for _, at, _, _, amount, stint in recorder.rows if at == name]
        work = figures.work[name, CELL]
        assert work.kept == sum(amount * stint.kept for amount, stint in rows)
        assert work.lost == sum(amount * stint.lost for amount, stint in rows)
        assert work.held == figures.queues[name, CELL].used
    assert sum(figures.evictions.values()) == sum(bool(row[5].reason) for row in recorder.rows)


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("fair", [False, True])
def test_work_is_conserved_and_no_quota_is_used_twice(seed: int, fair: bool) -> None:
    recorder = Recorder()
    jobs = random_jobs(seed)
    end = run_trace(setup(fair), jobs, TIMING, recorder)
    unfinished = {live.timed.job.name for live, _ in end.unfinished}
    for job in jobs:
        stints = [row[5] for row in recorder.rows if row[0] == job.job.name]
        assert (sum(stint.kept for stint in stints) == job.seconds) or job.job.name in unfinished
        assert sum(not stint.reason for stint in stints) == (job.job.name not in unfinished)
    for _, _, start, stop, _, stint in recorder.rows:
        assert stint.warming + stint.kept + stint.lost == stop - start
    changes = sorted(
        change for _, _, start, stop, amount, _ in recorder.rows for change in ((start, 1, amount), (stop, 0, -amount))
    )
    total = 0
    for _, _, amount in changes:
        total += amount
        assert total <= 9


@pytest.mark.parametrize("seed", range(8))
def test_decisions_are_those_of_the_simulator_without_time(seed: int) -> None:
    """Submitting and finishing in the order of the run leads to the same jobs with quota at every step."""
    recorder = Recorder()
    run_trace(setup(), [replace(job, startup=0) for job in random_jobs(seed)], Timing(), recorder)
    simulator, holding = Simulator(setup()), set[str]()
    for _, kind, name in recorder.steps:
        if kind in ("submit", "end"):
            assert {each for each, work in simulator.workloads.items() if work.has_quota()} == holding
        if kind == "submit":
            simulator.submit(recorder.live[name].timed.job)
        elif kind == "end":
            simulator.finish(name)
            holding.discard(name)
        elif kind == "hold":
            holding.add(name)
        else:
            holding.discard(name)


def one_queue(*jobs: TimedJob, timing: Timing = Timing()) -> tuple[Recorder, RunEnd]:  # noqa: B008 - frozen
    recorder = Recorder()
    return recorder, run_trace(SchedulerSetup(queues=(queue("q", 2, within=LOWER_PRIORITY),)), jobs, timing, recorder)


def test_an_evicted_job_continues_from_its_last_checkpoint() -> None:
    """It works 0–25 with checkpoints at 10 and 20, loses 5 seconds, waits until 35, and works the other 80."""
    recorder, _ = one_queue(timed("low", "q", 0, 100, 2, checkpoint=10), timed("high", "q", 25, 10, 2, priority=1))
    assert [(row[0], row[2], row[3], row[5].kept, row[5].lost) for row in recorder.rows] == [
        ("low", 0, 25, 20, 5),
        ("high", 25, 35, 10, 0),
        ("low", 35, 115, 80, 0),
    ]


def test_without_a_checkpoint_all_work_is_lost() -> None:
    recorder, end = one_queue(timed("low", "q", 0, 100, 2), timed("high", "q", 25, 10, 2, priority=1))
    assert [row[5].lost for row in recorder.rows if row[0] == "low"] == [25, 0]
    assert end.time == 135


def test_pods_that_are_not_ready_return_after_a_pause_that_doubles_and_are_given_up() -> None:
    timing = Timing(pods_ready=PodsReadyPlan(timeout_seconds=20, requeuing=RequeuingPlan(limit_count=2)))
    recorder, end = one_queue(timed("slow", "q", 0, 10, 1, startup=21), timing=timing)
    assert [(row[2], row[3], row[5].warming, row[5].reason) for row in recorder.rows] == [
        (0, 20, 20, "PodsReadyTimeout"),
        (80, 100, 20, "PodsReadyTimeout"),
        (220, 240, 20, "PodsReadyTimeout"),
    ]
    assert end.deactivated == {"slow"}


def test_a_job_whose_pods_were_not_ready_returns_as_the_newest_or_at_its_place() -> None:
    for timestamp, order in ((None, ["slow", "x", "y", "slow"]), ("Creation", ["slow", "x", "slow", "y"])):
        requeuing = RequeuingPlan(base_seconds=1, limit_count=1, timestamp=timestamp)
        timing = Timing(pods_ready=PodsReadyPlan(timeout_seconds=5, requeuing=requeuing))
        jobs = timed("slow", "q", 0, 1, 2, startup=9), timed("x", "q", 1, 9, 2), timed("y", "q", 2, 9, 2)
        recorder, _ = one_queue(*jobs, timing=timing)
        assert [name for _, kind, name in recorder.steps if kind == "hold"] == order


def test_what_ends_at_a_second_makes_room_for_what_arrives_then() -> None:
    recorder, _ = one_queue(timed("a", "q", 0, 10, 2), timed("b", "q", 10, 5, 2))
    assert [row[2:4] for row in recorder.rows] == [(0, 10), (10, 15)]


def test_admission_checks_take_their_time_before_pods_start() -> None:
    queues = (queue("q", 2, admission_checks={CELL: ("provision",)}),)
    recorder = Recorder()
    timing = Timing(provisioning={"f": 30}, startup={"f": 7})
    end = run_trace(SchedulerSetup(queues=queues), [timed("a", "q", 5, 10, 2)], timing, recorder)
    assert (end.time, recorder.rows[0][5], recorder.live["a"].first_admitted) == (52, Stint(37, 10, 0, ""), 35)


def test_a_job_above_every_ceiling_is_named_and_does_not_stop_the_others() -> None:
    recorder, end = one_queue(timed("big", "q", 0, 10, 3), timed("small", "q", 0, 10, 2))
    assert [(live.timed.job.name, str(why.code)) for live, why in end.unfinished] == [("big", "never-fits")]
    assert [row[0] for row in recorder.rows] == ["small"]


def test_percentiles_sizes_and_averages_are_those_of_their_definitions() -> None:
    rng = random.Random(3)
    for _ in range(50):
        values = [rng.randint(0, 9) for _ in range(rng.randint(1, 30))]
        for percent in (50, 90, 95, 100):
            found = percentile(values, percent)
            assert found is not None
            assert sum(v <= found for v in values) * 100 >= percent * len(values)
            assert sum(v < found for v in values) * 100 < percent * len(values)
    assert percentile([], 50) is None
    classes = [size_class(size) for size in range(10)]
    assert classes == [(0, 0), (1, 1), (2, 2), (3, 4), (3, 4), *[(5, 8)] * 4, (9, 16)]
    for _ in range(50):
        changes = sorted({rng.randint(5, 100): rng.randint(0, 9) for _ in range(12)}.items())
        seconds = [next((value for time, value in reversed(changes) if time <= at), 0) for at in range(5, 105)]
        expected = [sum(seconds[part * 20 : part * 20 + 20]) / 20 for part in range(5)]
        assert averages(changes, 5, 105, 5) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("written", "seconds"),
    [
        ("90", 90),
        (90, 90),
        ("15m", 900),
        ("1h30m", 5400),
        ("2d", 172_800),
        ("0", 0),
        ("", None),
        ("-1", None),
        ("1.5", None),
    ],
)
def test_durations(written: object, seconds: int | None) -> None:
    assert parse_duration(written) == seconds


FLEET = SimulatedFleet(
    name="test", setup=setup(), queue_owners={"a": "one", "b": "one", "c": "two"}, accelerator_nouns={CELL: "GPUs"}
)


def test_csv_and_json_lines_are_read_alike() -> None:
    csv_text = f"submitted,seconds,queue,name,{GPU},cpu\n5,1m,a,x,2,500m\n7,9,b,,1,\n".replace(GPU, "x.com/gpu")
    json_text = (
        '{"submitted": 5, "seconds": 60, "queue": "a", "name": "x", "requests": {"x.com/gpu": 2, "cpu": "500m"}}\n'
        '{"submitted": 7, "seconds": "9", "queue": "b", "x.com/gpu": 1, "name": "line-3"}\n'
    )
    jobs = TraceReader(FLEET, "t").read(csv_text)
    assert jobs == TraceReader(FLEET, "t").read(json_text)
    assert [(job.submitted, job.seconds, job.job.name) for job in jobs] == [(0, 60, "x"), (2, 9, "line-3")]
    assert jobs[0].job.pod_sets[0].requests == {"x.com/gpu": 2, "cpu": 500}


def test_rows_without_a_value_are_no_jobs() -> None:
    """As spreadsheets write them, between the jobs and below them."""
    head, first, last = "submitted,seconds,queue,x.com/gpu", "5,1m,a,2", "7,9,b,1"
    reader = TraceReader(FLEET, "t")
    jobs = reader.read(f"{head}\n{first}\n{last}\n".replace("\n", "\n , ,,\n\n,\n"))
    assert reader.problems.entries == []
    assert [(job.submitted, job.job.name) for job in jobs] == [(0, "line-5"), (2, "line-9")]


def test_the_summary_adds_up() -> None:
    """By team, queue and size the same jobs; hours of teams are those of flavors; costs are hours × price."""
    summary = simulate_trace(FLEET, random_jobs(5, 100), TIMING, {"f": 2.5})
    for kind in ("team", "queue", "size"):
        assert sum(each.jobs for each in summary.waits if each.kind == kind) == summary.jobs == 100
    (flavor,) = summary.flavors
    held = flavor.kept_hours + flavor.lost_hours + flavor.starting_hours
    assert held == pytest.approx(sum(team.held_hours for team in summary.teams), abs=0.01)
    assert flavor.used * summary.seconds / 3600 == pytest.approx(held, abs=0.01)
    assert flavor.used == pytest.approx(sum(each.used for each in summary.guarantees), abs=0.01)
    for team in summary.teams:
        assert team.cost == pytest.approx(team.held_hours * 2.5, abs=0.02)
    assert sum(flavor.series) / len(flavor.series) == pytest.approx(flavor.used, rel=0.03)
    assert simulate_trace(FLEET, random_jobs(5, 100), TIMING, {}).teams[0].cost is None


# --- the command ------------------------------------------------------------------------------------------------------

LOADS = {"cpu-batch": 0.1, "hpc": 0.05}
TRACES = sorted((ROOT / "stacks" / "traces").glob("*.csv"))


def _stack(name: str) -> str:
    return name if name == "dev" else f"stacks/examples/{name}.yaml"


@pytest.mark.parametrize("trace", TRACES, ids=lambda trace: trace.stem)
def test_the_trace_of_an_example_is_generated_and_every_job_finishes(
    trace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    load = str(LOADS.get(trace.stem, 0.5))
    options = ["--generate", "1", "--days", "1", "--load", load]
    assert CliRunner().invoke(app, ["simulate", _stack(trace.stem), *options]).stdout == trace.read_text("utf-8")
    answer = CliRunner().invoke(app, ["simulate", _stack(trace.stem), str(trace), "--json"])
    assert answer.exit_code == 0, answer.stderr
    (stack,) = json.loads(answer.stdout)["stacks"]
    assert stack["jobs"] == stack["finished"] == trace.read_text("utf-8").count("\n") - 1


def test_two_stacks_stand_side_by_side(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    answer = CliRunner().invoke(app, ["simulate", "dev", "dev", "stacks/traces/dev.csv"])
    assert answer.exit_code == 0
    one = CliRunner().invoke(app, ["simulate", "dev", "stacks/traces/dev.csv"])
    headline, *rest = one.stdout.split("\n\n")
    assert answer.stdout.split("\n\n") == [headline, headline, *rest]  # what is equal is shown once
    other = CliRunner().invoke(app, ["simulate", "stacks/examples/multislice.yaml", "dev", "stacks/traces/dev.csv"])
    assert "no queue 'language/batch'" in other.stderr


def test_the_page_shows_what_is_printed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    answer = CliRunner().invoke(app, ["simulate", _stack("batch-platform"), "stacks/traces/batch-platform.csv"])
    assert f"```\n{answer.stdout}```\n" in (ROOT / "docs" / "simulate.md").read_text(encoding="utf-8")


def test_a_generated_trace_needs_what_it_says() -> None:
    """Over 60 days, of the guarantee of each queue; the same seed gives the same jobs."""
    text = generate_trace(FLEET, 7, 60, 0.5)
    assert text == generate_trace(FLEET, 7, 60, 0.5) != generate_trace(FLEET, 8, 60, 0.5)
    head, *rows = (row.split(",") for row in text.splitlines())
    needed = dict.fromkeys("abc", 0)
    for row in rows:
        values = dict(zip(head, row, strict=True))
        needed[values["queue"]] += int(values["seconds"]) * int(values[GPU])
    for name, guaranteed in (("a", 4), ("b", 2), ("c", 3)):
        assert needed[name] / (guaranteed * 60 * 86_400) == pytest.approx(0.5, rel=0.25)


def _workload(name: str, created: str, admitted: str | None, finished: str | None) -> dict[str, object]:
    conditions = [
        {"type": kind, "status": "True", "lastTransitionTime": time}
        for kind, time in (("QuotaReserved", admitted), ("Admitted", admitted), ("Finished", finished))
        if time
    ]
    template = {"spec": {"containers": [{"name": "c", "resources": {"requests": {"google.com/tpu": "4"}}}]}}
    return {
        "kind": "Workload",
        "metadata": {"name": name, "namespace": "vision", "creationTimestamp": created},
        "spec": {"queueName": "train", "podSets": [{"name": "main", "count": 2, "template": template}]},
        "status": {"conditions": conditions},
    }


def test_finished_workloads_of_a_cluster_are_a_trace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    items = [
        _workload("b", "2026-11-02T08:10:00Z", "2026-11-02T08:20:00Z", "2026-11-02T09:20:00Z"),
        _workload("a", "2026-11-02T08:00:00Z", "2026-11-02T08:00:01Z", "2026-11-02T08:30:01Z"),
        _workload("running", "2026-11-02T08:00:00Z", "2026-11-02T08:00:01Z", None),
    ]
    path = tmp_path / "workloads.json"
    path.write_text(json.dumps({"kind": "List", "items": items}), encoding="utf-8")
    answer = CliRunner().invoke(app, ["simulate", "dev", "--from-kueue", str(path), "--json"])
    assert answer.exit_code == 0, answer.stderr
    value = json.loads(answer.stdout)
    assert [each["code"] for each in value["problems"]] == ["left-out"]
    (stack,) = value["stacks"]
    assert (stack["jobs"], stack["finished"], stack["seconds"]) == (2, 2, 70 * 60)
    assert sum(team["heldHours"] for team in stack["teams"]) == 8 * 1.5
    as_trace = CliRunner().invoke(app, ["simulate", "dev", str(path), "--json"])
    assert as_trace.stdout == answer.stdout  # known by its content
    path.write_text(json.dumps({"apiVersion": "kueue.x-k8s.io/v1beta2", **items[0]}), encoding="utf-8")
    one = json.loads(CliRunner().invoke(app, ["simulate", "dev", "--from-kueue", str(path), "--json"]).stdout)
    assert (one["stacks"][0]["jobs"], one["problems"]) == (1, [])
    both = CliRunner().invoke(app, ["simulate", "dev", "stacks/traces/dev.csv", "--from-kueue", str(path)])
    assert both.exit_code == 2
    assert "--from-kueue is the trace; remove 'stacks/traces/dev.csv'" in " ".join(both.stderr.split())
