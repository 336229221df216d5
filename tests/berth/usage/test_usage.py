"""`berth usage`: figures of a period against a second computation, and files that are not what it needs."""

from __future__ import annotations

import csv
import http.server
import io
import json
import pathlib
import random
import threading
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import pytest
from msgspec.structs import replace
from typer.testing import CliRunner

from berth.cli import app
from berth.cli.usage import answer, tables
from berth.document.text import render_text
from berth.plan.fleet import FleetPlan
from berth.usage.accounts import UsageReport
from berth.usage.series import NOMINAL, PENDING, USAGE
from tests.stack_files import plan

START, STEP, SAMPLES = 1_763_800_000, 60, 61
Series = list[dict[str, Any]]


def series(metric: str, values: list[float | None], **labels: str) -> dict[str, Any]:
    """One series; None is a gap."""
    pairs = [[START + i * STEP, f"{value:g}"] for i, value in enumerate(values) if value is not None]
    return {"metric": {"__name__": metric, **labels}, "values": pairs}


def matrix(result: Series) -> dict[str, Any]:
    return {"status": "success", "data": {"resultType": "matrix", "result": result}}


def hour(fleet: FleetPlan, seed: int = 7) -> Series:
    """An hour of a fleet in which queues use up to twice their quota."""
    chance = random.Random(seed)
    values: Series = []
    resources = {flavor.name: flavor.resource for flavor in fleet.flavors}
    for queue in fleet.cluster_queues:
        for entry in queue.flavors:
            resource = resources[entry.flavor]
            nominal = next(quota.counted.nominal for quota in entry.quotas if quota.resource == resource)
            labels = {"cluster_queue": queue.name, "flavor": entry.flavor, "resource": resource}
            used = [float(chance.randint(0, 2 * nominal + 1)) for _ in range(SAMPLES)]
            values += [series(USAGE, [*used], **labels), series(NOMINAL, [float(nominal)] * SAMPLES, **labels)]
        for status in ("active", "inadmissible"):
            waiting = [float(chance.randint(0, 3)) for _ in range(SAMPLES)]
            values.append(series(PENDING, [*waiting], cluster_queue=queue.name, status=status))
    return values


def saved(folder: pathlib.Path, result: object, name: str = "usage.json") -> pathlib.Path:
    file = folder / name
    file.write_text(result if isinstance(result, str) else json.dumps(result), encoding="utf-8")
    return file


def report(fleet: FleetPlan, *files: pathlib.Path) -> UsageReport:
    result = answer.measure_usage(fleet, list(files), None, None, "1h")
    assert [problem.line() for problem in result.problems] == []
    assert result.report is not None
    return result.report


# --- figures, a second way --------------------------------------------------------------------------------------------


def value_at(result: Series, metric: str, moment: int, **labels: str) -> Fraction:
    """The sum of all series with the labels, at a moment."""
    return sum(
        (
            Fraction(value)
            for each in result
            if each["metric"]["__name__"] == metric and labels.items() <= each["metric"].items()
            for time, value in each["values"]
            if time == START + moment * STEP
        ),
        Fraction(),
    )


@pytest.mark.parametrize("stack", ["dev", "batch-platform", "quota-tree", "cpu-batch"])
def test_the_figures_are_those_of_a_second_computation(stack: str, tmp_path: pathlib.Path) -> None:
    """Sample by sample, with fractions, from the series as they were written; cohorts by walking the plan's parents."""
    fleet = plan(stack)
    result = hour(fleet)
    made = report(fleet, saved(tmp_path, matrix(result)))
    parents = {cohort.name: cohort.parent for cohort in fleet.cohorts}

    def root(queue: str) -> str | None:
        (cohort,) = [each.cohort for each in fleet.cluster_queues if each.name == queue]
        while cohort is not None and parents.get(cohort) is not None:
            cohort = parents[cohort]
        return cohort

    checked = 0
    for team in made.teams:
        own = [queue.name for queue in fleet.cluster_queues if queue.teams == (team.team,)]
        waiting = [sum(value_at(result, PENDING, m, cluster_queue=q) for q in own) for m in range(SAMPLES)]
        if own:
            assert team.waited_hours == pytest.approx(float(sum(waiting) * STEP / 3600))
        for account in team.flavors:
            name, resource = account.flavor.name, account.flavor.resource
            used, borrowed, idle, lent = [], [], [], []
            for moment in range(SAMPLES):
                above = {
                    queue.name: value_at(
                        result, USAGE, moment, cluster_queue=queue.name, flavor=name, resource=resource
                    )
                    - value_at(result, NOMINAL, moment, cluster_queue=queue.name, flavor=name, resource=resource)
                    for queue in fleet.cluster_queues
                }
                used.append(
                    sum(value_at(result, USAGE, moment, cluster_queue=q, flavor=name, resource=resource) for q in own)
                )
                borrowed.append(sum(max(Fraction(), above[q]) for q in own))
                idle.append(sum(max(Fraction(), -above[q]) for q in own))
                lent.append(Fraction())
                for queue in own:
                    tree = [each for each in above if root(queue) is not None and root(each) == root(queue)]
                    loans = sum(max(Fraction(), above[each]) for each in tree)
                    free = sum(max(Fraction(), -above[each]) for each in tree)
                    lent[-1] += max(Fraction(), -above[queue]) * min(Fraction(1), loans / free) if free else 0
            pairs = ((account.used, used), (account.borrowed, borrowed), (account.idle, idle), (account.lent, lent))
            for figures, values in pairs:
                assert figures is not None
                assert figures.average == pytest.approx(float(sum(values) / SAMPLES))
                assert figures.maximum == pytest.approx(float(max(values)))
                within = sum(1 for value in values if value <= figures.p95 + 1e-9)
                below = sum(1 for value in values if value < figures.p95 - 1e-9)
                assert below < 0.95 * SAMPLES <= within
            kept = account.guaranteed - account.can_return
            assert account.can_return % account.flavor.unit == 0 == account.lacks % account.flavor.unit
            assert account.can_return == 0 or (account.used is not None and kept >= account.used.p95)
            assert account.coverage == 1.0
            checked += 1
    assert checked >= 5


def test_lent_equals_borrowed_in_a_cohort_with_covered_loans(tmp_path: pathlib.Path) -> None:
    """What one queue borrows is what the others lend, no more and no less."""
    fleet = plan("dev")
    values = [
        series(USAGE, [16.0] * SAMPLES, cluster_queue="language-train", flavor="v5e", resource="google.com/tpu"),
        series(USAGE, [0.0] * SAMPLES, cluster_queue="speech-train", flavor="v5e", resource="google.com/tpu"),
        series(USAGE, [8.0] * SAMPLES, cluster_queue="vision-train", flavor="v5e", resource="google.com/tpu"),
    ]
    made = report(fleet, saved(tmp_path, matrix(values)))
    accounts = {(team.team, account.flavor.name): account for team in made.teams for account in team.flavors}
    borrowed, lent = accounts["language", "v5e"].borrowed, accounts["speech", "v5e"].lent
    assert borrowed is not None and lent is not None
    assert borrowed.average == lent.average == 8
    assert accounts["speech", "v5e"].can_return == 8
    assert accounts["language", "v5e"].lacks == 8
    assert accounts["vision", "v5e"].can_return == 0


def test_gaps_lower_the_coverage_and_are_not_zero(tmp_path: pathlib.Path) -> None:
    fleet = plan("dev")
    labels = {"cluster_queue": "vision-train", "flavor": "v5e", "resource": "google.com/tpu"}
    half: list[float | None] = [8.0 if i % 2 == 0 or i == 1 else None for i in range(SAMPLES)]
    others = {"cluster_queue": "speech-train", "flavor": "v5e", "resource": "google.com/tpu"}
    values = [series(USAGE, half, **labels), series(USAGE, [0.0] * SAMPLES, **others)]
    made = report(fleet, saved(tmp_path, matrix(values)))
    (account,) = [
        each for team in made.teams if team.team == "vision" for each in team.flavors if each.flavor.name == "v5e"
    ]
    assert account.used is not None
    assert account.used.average == 8
    assert account.coverage == pytest.approx(32 / 61)
    unused = [each for team in made.teams for each in team.flavors if each.used is None]
    assert unused
    assert "–" in render_text(tables.usage_document("dev", made))


def test_a_restart_of_kueue_and_its_other_replica_do_not_count_twice(tmp_path: pathlib.Path) -> None:
    fleet = plan("dev")
    labels = {"cluster_queue": "vision-train", "flavor": "v5e", "resource": "google.com/tpu"}
    first: list[float | None] = [8.0] * 31 + [None] * 30
    second: list[float | None] = [None] * 30 + [8.0] * 31
    values = [
        series(USAGE, first, pod="a", **labels),
        series(USAGE, second, pod="b", **labels),
        series(USAGE, [99.0] * SAMPLES, pod="c", replica_role="follower", **labels),
        series(USAGE, [77.0] * SAMPLES, cluster="another", **labels),
        series(PENDING, [1.0] * SAMPLES, pod="a", cluster_queue="vision-train", status="active"),
        series(PENDING, [1.0] * SAMPLES, pod="b", cluster_queue="vision-train", status="active"),
    ]
    made = report(fleet, saved(tmp_path, matrix(values)))
    (vision,) = [team for team in made.teams if team.team == "vision"]
    (account,) = [each for each in vision.flavors if each.flavor.name == "v5e"]
    assert account.used is not None and vision.waiting is not None
    assert (account.used.maximum, account.coverage, vision.waiting.maximum) == (8, 1.0, 1)


def test_a_team_that_was_renamed_is_one_team(tmp_path: pathlib.Path) -> None:
    """With `formerly` its queue keeps the first name in the cluster, so that its series go on."""
    fleet = plan("dev")
    teams = tuple(
        replace(team, name="images", formerly="vision") if team.name == "vision" else team for team in fleet.teams
    )
    queues = tuple(
        replace(queue, teams=tuple("images" if team == "vision" else team for team in queue.teams))
        for queue in fleet.cluster_queues
    )
    renamed = replace(fleet, teams=teams, cluster_queues=queues)
    file = saved(tmp_path, matrix(hour(fleet)))
    before = {team.team: team for team in report(fleet, file).teams}
    after = {team.team: team for team in report(renamed, file).teams}
    assert [each.used for each in after["images"].flavors] == [each.used for each in before["vision"].flavors]


def test_metrics_may_be_in_several_files_and_in_a_list(tmp_path: pathlib.Path) -> None:
    fleet = plan("dev")
    result = hour(fleet)
    one = report(fleet, saved(tmp_path, matrix(result)))
    parts = [
        saved(tmp_path, matrix([each for each in result if each["metric"]["__name__"] == m]), f"{m}.json")
        for m in (USAGE, NOMINAL, PENDING)
    ]
    assert report(fleet, *parts) == one
    assert report(fleet, saved(tmp_path, [matrix(result[::2]), matrix(result[1::2])], "list.json")) == one


# --- what is printed --------------------------------------------------------------------------------------------------


def test_the_formats_have_the_same_figures(tmp_path: pathlib.Path) -> None:
    file = saved(tmp_path, matrix(hour(plan("dev"))))
    printed = {
        name: CliRunner().invoke(app, ["usage", "dev", "--metrics", str(file), "--format", name])
        for name in ("text", "json", "csv")
    }
    assert {done.exit_code for done in printed.values()} == {0}
    values = json.loads(printed["json"].stdout)
    rows = list(csv.DictReader(io.StringIO(printed["csv"].stdout)))
    flat = [(team["team"], each) for team in values["teams"] for each in team["flavors"]]
    assert len(flat) == len(rows)
    for (team, each), row in zip(flat, rows, strict=True):
        assert (team, each["flavor"]) == (row["team"], row["flavor"])
        assert float(row["used_average"]) == each["used"]["average"]
        assert float(row["lent_p95"]) == each["lent"]["p95"]
        line = next(
            each_line
            for each_line in printed["text"].stdout.splitlines()
            if each_line.split()[:2] == [team, each["flavor"]]
        )
        assert f"{each['used']['average']:.1f}" in line
    assert values["start"] == "2025-11-22T08:26:40Z"
    assert "2025-11-22 08:26 to 2025-11-22 09:26 UTC (1.0 hours), a sample every 60 s" in printed["text"].stdout


# --- what is refused --------------------------------------------------------------------------------------------------

RANGE = "but a range is needed; ask /api/v1/query_range with start, end and step [bad-metrics]"
QUERIES = "`berth usage STACK --queries` prints what to ask for [no-samples]"
AGAIN = "save the whole answer again; `berth usage STACK --queries` prints how [bad-json]"
TRAIN = {"cluster_queue": "vision-train", "flavor": "v5e", "resource": "google.com/tpu"}
SERVE = {**TRAIN, "cluster_queue": "speech-serve"}
INSTANT = {"status": "success", "data": {"resultType": "vector", "result": []}}
FOREIGN = matrix([series(USAGE, [1.0, 1.0], cluster_queue="other", flavor="x", resource="y")])
REFUSED: dict[str, tuple[object, str]] = {
    "cut off": (
        json.dumps(FOREIGN)[:-9],
        "{}: error: is not JSON: Expecting value at line 1, column 231; " + AGAIN,
    ),
    "empty": ("", "{}: error: is not JSON: Expecting value at line 1, column 1; " + AGAIN),
    "an instant query": (
        INSTANT,
        "{}: error: is a result of type 'vector', " + RANGE,
    ),
    "an error of Prometheus": (
        {"status": "error", "errorType": "bad_data", "error": "invalid parameter"},
        "{}: error: Prometheus answered with an error: invalid parameter; correct the query [bad-metrics]",
    ),
    "no answer": (
        {"a": 1},
        "{}: error: is no answer of Prometheus, " + RANGE,
    ),
    "a list of numbers": (
        [1],
        "{}: error: is no answer of Prometheus, " + RANGE,
    ),
    "series without numbers": (
        matrix([{"metric": {"__name__": USAGE}, "values": [[1, "x"]]}]),
        "{}: error: series 0 has no labels or no numbers; save the answer again [bad-metrics]",
    ),
    "a period without data": (
        matrix([]),
        "error: no series of kueue_cluster_queue_resource_usage has a sample; " + QUERIES,
    ),
    "only NaN": (
        matrix([series(USAGE, [float("nan")], cluster_queue="vision-train", flavor="v5e", resource="google.com/tpu")]),
        "error: no series of kueue_cluster_queue_resource_usage has a sample; " + QUERIES,
    ),
    "one sample": (
        matrix([series(USAGE, [1.0], **TRAIN)]),
        "error: no series has two samples; ask for a longer period, or with a smaller step [no-samples]",
    ),
    "a sum": (
        matrix([{"metric": TRAIN, "values": [[START, "1"], [START + 60, "1"]]}]),
        "error: no series of kueue_cluster_queue_resource_usage has a sample (a series without a name is of a "
        "function, such as sum); " + QUERIES,
    ),
    "a difference": (
        matrix([series(USAGE, [1.0, -2.0], **TRAIN)]),
        "{}: error: series 0 has -2 at 1763800060, and Kueue counts nothing below 0; ask for the metric itself, "
        "without a function [bad-metrics]",
    ),
    "milliseconds": (
        matrix([{"metric": {"__name__": USAGE, **TRAIN}, "values": [[START * 1000, "1"], [START * 1000 + 60, "1"]]}]),
        "{}: error: series 0 has the time 1763800000000, which is not in seconds since 1970; "
        "save the answer again [bad-metrics]",
    ),
    "a histogram": (
        matrix([{"metric": {"__name__": USAGE, **TRAIN}, "histograms": [[START, {"count": "1"}]]}]),
        "{}: error: series 0 has no labels or no numbers; save the answer again [bad-metrics]",
    ),
    "series with and without a cluster": (
        matrix([series(USAGE, [1.0, 1.0], **TRAIN, cluster="dev"), series(USAGE, [1.0, 1.0], **SERVE)]),
        "error: some series are of cluster 'dev', and some name none; write --cluster dev for the former [bad-metrics]",
    ),
    "metrics of another fleet": (
        FOREIGN,
        "error: no cluster queue of dev has a sample, but 'other' have; name metrics of this fleet [other-fleet]",
    ),
    "deeply nested": (
        "[" * 100_000,
        "{}: error: is nested more than 64 levels deep; " + AGAIN,
    ),
}


def test_samples_that_are_further_apart_than_the_period_say_nothing(tmp_path: pathlib.Path) -> None:
    file = saved(tmp_path, matrix(hour(plan("dev"))))
    done = CliRunner().invoke(app, ["usage", "dev", "--metrics", str(file), "--last", "30s"])
    assert (done.exit_code, done.stdout) == (1, "")
    assert done.stderr == (
        "error: the samples are 60 s apart, and the period has 30 s; ask for a longer period, or with a smaller step "
        "[no-samples]\n"
    )


@pytest.mark.parametrize("claim", REFUSED)
def test_a_file_that_cannot_be_read_is_one_line(claim: str, tmp_path: pathlib.Path) -> None:
    text, line = REFUSED[claim]
    file = saved(tmp_path, text)
    done = CliRunner().invoke(app, ["usage", "dev", "--metrics", str(file)])
    assert (done.exit_code, done.stdout) == (1, "")
    assert done.stderr.splitlines() == [line.format(file)]


def test_a_queue_that_is_not_in_the_stack_file_is_a_warning(tmp_path: pathlib.Path) -> None:
    values = [*hour(plan("dev")), series(USAGE, [1.0], cluster_queue="old", flavor="v5e", resource="google.com/tpu")]
    done = CliRunner().invoke(app, ["usage", "dev", "--metrics", str(saved(tmp_path, matrix(values)))])
    assert done.exit_code == 0
    assert "'old' are not in the stack file and are left out; a queue that was renamed needs `formerly`" in done.stderr


def test_a_guarantee_that_is_not_deployed_is_a_warning(tmp_path: pathlib.Path) -> None:
    labels = {"cluster_queue": "speech-train", "flavor": "v5e", "resource": "google.com/tpu"}
    values = [series(USAGE, [0.0] * 3, **labels), series(NOMINAL, [16.0] * 3, **labels)]
    done = CliRunner().invoke(app, ["usage", "dev", "--metrics", str(saved(tmp_path, matrix(values)))])
    assert done.exit_code == 0
    assert "the cluster guarantees 16 v5e chips of v5e to speech, the stack file 8" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["dev"], 1, "write either --metrics FILE or --prometheus URL"),
        (["dev", "--metrics", "nothing.json"], 1, "no file 'nothing.json'"),
        (["dev", "--prometheus", "localhost:9090"], 1, "is not an address"),
        (["dev", "--prometheus", "http://127.0.0.1:1", "--last", "soon"], 1, "'soon' is not a duration"),
        (["dev", "--prometheus", "http://127.0.0.1:1"], 1, "'http://127.0.0.1:1' does not answer"),
        (["stacks/examples/ack-fleet.yaml", "--metrics", "x"], 2, "has no metrics of Kueue"),
    ],
)
def test_invalid_options_are_one_line(arguments: list[str], code: int, words: str) -> None:
    done = CliRunner().invoke(app, ["usage", *arguments])
    assert done.exit_code == code
    assert words in " ".join(done.stderr.replace("│", " ").split())


# --- a Prometheus -----------------------------------------------------------------------------------------------------


@pytest.fixture
def prometheus(request: pytest.FixtureRequest) -> Iterator[tuple[str, list[str]]]:
    """A server that answers range queries with an hour of dev, and notes who asks."""
    result, tokens = hour(plan("dev")), list[str]()

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            tokens.append(self.headers.get("Authorization", ""))
            metric = next(m for m in (USAGE, NOMINAL, PENDING) if f"query={m}" in self.path)
            body = json.dumps(matrix([each for each in result if each["metric"]["__name__"] == metric])).encode()
            self.send_response(200)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}", tokens
    server.shutdown()
    server.server_close()


def test_prometheus_is_queried_with_the_token(
    prometheus: tuple[str, list[str]], tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    url, tokens = prometheus
    end = START + (SAMPLES - 1) * STEP
    monkeypatch.setattr("time.time", lambda: end)
    token = tmp_path / "token"
    token.write_text("secret\n", encoding="utf-8")
    from_server = answer.measure_usage(plan("dev"), [], url, token, "1h")
    assert tokens == ["Bearer secret"] * 3
    assert from_server.report == report(plan("dev"), saved(tmp_path, matrix(hour(plan("dev")))))
    for late, coverage in ((600, 51 / 61), (2 * 86400, 0.0)):  # samples that end before the period does
        monkeypatch.setattr("time.time", lambda late=late: end + late)
        ended = answer.measure_usage(plan("dev"), [], url, None, "1h").report
        assert ended is not None and ended.end == end + late
        assert {each.coverage for team in ended.teams for each in team.flavors} == {coverage}
        assert not any(each.can_return or each.lacks for team in ended.teams for each in team.flavors)


def test_the_printed_queries_ask_for_every_metric() -> None:
    done = CliRunner().invoke(app, ["usage", "dev", "--queries", "--last", "1h"])
    assert done.exit_code == 0
    *lines, last = done.stdout.splitlines()
    assert [line.rpartition(" ")[2] for line in lines] == [f"{metric}.json" for metric in (USAGE, NOMINAL, PENDING)]
    assert all("step=60" in line for line in lines)
    assert last == f"berth usage dev --metrics {USAGE}.json --metrics {NOMINAL}.json --metrics {PENDING}.json"


@pytest.mark.parametrize(
    ("seconds", "length"),
    [(3600, "1.0 hours"), (48 * 3600 - 30, "48.0 hours"), (48 * 3600, "2.0 days"), (100 * 86400 - 60, "100.0 days")],
)
def test_the_length_of_a_period_is_in_hours_below_two_days(seconds: int, length: str) -> None:
    report = UsageReport(start=0, end=seconds, step=60, teams=(), unknown_queues=())
    assert f" UTC ({length}), a sample every 60 s" in tables.period(report)
