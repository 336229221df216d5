"""The recorded hour of batch-platform: `berth usage`, recording rules and panels, each against another computation."""

from __future__ import annotations

import json
import math
import pathlib
import shutil
from collections.abc import Iterator
from fractions import Fraction
from functools import cache
from typing import Any

import pytest

from berth.cli.usage import answer
from berth.evaluate import evaluate_stack
from berth.monitoring.metrics import find_metric
from berth.plan.fleet import FleetPlan
from berth.plan.monitoring import BackendPlan
from berth.usage.accounts import FlavorAccount
from berth.usage.series import NOMINAL, PENDING, USAGE
from tests.berth.monitoring import recorded
from tests.berth.monitoring.promql import selections

needs_prometheus = pytest.mark.skipif(
    shutil.which("prometheus") is None or shutil.which("promtool") is None,
    reason="prometheus or promtool is not on PATH",
)
pytestmark = pytest.mark.xdist_group("recorded-hour")


@cache
def fleet() -> FleetPlan:
    plan = evaluate_stack(str(recorded.STACK_FILE), recorded.FOLDER).fleet_plan
    assert plan is not None
    return plan


def backend() -> BackendPlan:
    monitoring = fleet().monitoring
    assert monitoring is not None and monitoring.in_cluster is not None
    return monitoring.in_cluster


@pytest.fixture(scope="module")
def accounts(tmp_path_factory: pytest.TempPathFactory) -> dict[tuple[str, str], FlavorAccount]:
    """What `berth usage` says of the hour, by team and flavor."""
    file = tmp_path_factory.mktemp("hour") / "usage.json"
    file.write_text(json.dumps(recorded.answer(USAGE, NOMINAL, PENDING)), encoding="utf-8")
    result = answer.measure_usage(fleet(), [file], None, None, "1h")
    assert [problem.line() for problem in result.problems] == []
    assert result.report is not None
    assert (result.report.start, result.report.end) == (recorded.START + recorded.STEP, recorded.END)
    return {(team.team, each.flavor.name): each for team in result.report.teams for each in team.flavors}


def value_at(found: recorded.Series, metric: str, moment: int, **wanted: str) -> Fraction:
    return sum(
        (
            Fraction(float(values[moment]))
            for (name, labels), values in found.items()
            if name == metric and wanted.items() <= dict(labels).items() and moment in values
        ),
        Fraction(),
    )


@pytest.fixture(scope="module")
def figures_by_moment(
    accounts: dict[tuple[str, str], FlavorAccount],
) -> dict[tuple[str, str], list[dict[str, Fraction]]]:
    """The figures of each team and flavor, minute by minute from the recorded lines, with fractions.

    Each cohort of this stack is a tree of its own.
    """
    found, queues = recorded.samples(USAGE, NOMINAL), fleet().cluster_queues
    moments = range(recorded.START + recorded.STEP, recorded.END + 1, recorded.STEP)
    figures: dict[tuple[str, str], list[dict[str, Fraction]]] = {}
    for team, flavor in accounts:
        own = [queue for queue in queues if queue.teams == (team,)]
        for moment in moments:
            used = {q.name: value_at(found, USAGE, moment, cluster_queue=q.name, flavor=flavor) for q in queues}
            nominal = {q.name: value_at(found, NOMINAL, moment, cluster_queue=q.name, flavor=flavor) for q in queues}
            above = {name: used[name] - nominal[name] for name in used}
            sums = {
                "used": sum((used[queue.name] for queue in own), Fraction()),
                "guaranteed": sum((nominal[queue.name] for queue in own), Fraction()),
                "borrowed": sum((max(Fraction(), above[queue.name]) for queue in own), Fraction()),
                "idle": sum((max(Fraction(), -above[queue.name]) for queue in own), Fraction()),
                "lent": Fraction(),
            }
            for queue in own:
                tree = [above[each.name] for each in queues if each.cohort and each.cohort == queue.cohort]
                idle, loans = sum(max(Fraction(), -a) for a in tree), sum(max(Fraction(), a) for a in tree)
                sums["lent"] += max(Fraction(), -above[queue.name]) * min(Fraction(1), loans / idle) if idle else 0
            figures.setdefault((team, flavor), []).append(sums)
    return figures


def test_usage_of_the_hour_is_that_of_a_second_computation(
    accounts: dict[tuple[str, str], FlavorAccount],
    figures_by_moment: dict[tuple[str, str], list[dict[str, Fraction]]],
) -> None:
    for key, account in accounts.items():
        for name in ("used", "borrowed", "idle", "lent"):
            figures, values = getattr(account, name), [sums[name] for sums in figures_by_moment[key]]
            assert figures is not None
            assert figures.average == pytest.approx(float(sum(values) / len(values))), (key, name)
            assert figures.p95 == float(sorted(values)[math.ceil(0.95 * len(values)) - 1]), (key, name)
            assert figures.maximum == float(max(values)), (key, name)
        assert account.coverage == 1.0
    lent = sum(sums["lent"] for each in figures_by_moment.values() for sums in each)
    borrowed = sum(sums["borrowed"] for each in figures_by_moment.values() for sums in each)
    assert 0 < lent <= borrowed, "somebody borrows in the hour; a shared queue may lend too"


@pytest.fixture(scope="module")
def prometheus(tmp_path_factory: pytest.TempPathFactory) -> Iterator[recorded.Prometheus]:
    blocks = recorded.make_blocks(tmp_path_factory.mktemp("tsdb"), backend())
    with recorded.serve(blocks) as served:
        yield served


@needs_prometheus
@pytest.mark.parametrize("figure", ["used", "borrowed", "idle", "lent", "guaranteed"])
def test_recording_rules_and_the_second_computation_say_the_same_of_every_minute(
    figure: str,
    prometheus: recorded.Prometheus,
    figures_by_moment: dict[tuple[str, str], list[dict[str, Fraction]]],
) -> None:
    series = prometheus.stored(f"berth:team:{figure}")
    found = {(each["metric"]["team"], each["metric"]["flavor"]): each["values"] for each in series}
    assert set(found) == set(figures_by_moment)
    for key, values in found.items():
        assert len(values) >= 55, "a value for nearly every minute"
        for time, value in values:
            if (index := int(time - recorded.START) // recorded.STEP - 1) >= 0:
                assert float(value) == pytest.approx(float(figures_by_moment[key][index][figure])), (key, time)


QUERIES = [
    pytest.param(query, id=f"{board.key}/{panel.title}/{legend}")
    for board in backend().dashboards
    for section in board.sections
    for panel in section.panels
    for legend, query in panel.queries.items()
]


NOT_RECORDED = ('resource="cpu"', 'resource="memory"', "Pressure")
"""Of requests and allocatable the hour has accelerators only, of conditions Ready only."""


@needs_prometheus
@pytest.mark.parametrize("query", QUERIES)
def test_a_panel_has_data_in_the_hour(query: str, prometheus: recorded.Prometheus) -> None:
    """A real Prometheus answers every query; a panel is empty only where the hour had no such event."""
    found: list[dict[str, Any]] = prometheus.query_range(query)
    if any(each in query for each in NOT_RECORDED):
        assert not found
    else:
        assert found or not any(has_samples(prometheus, each.series) for each in selections_of(query))


def selections_of(query: str) -> list[Any]:
    return selections(query.removesuffix(" or vector(0)"))


def has_samples(prometheus: recorded.Prometheus, series: str) -> bool:
    return bool(prometheus.query_range(series)) and find_metric(series).kind != "counter"


def test_the_recorded_hour_has_known_metrics_and_times(tmp_path: pathlib.Path) -> None:
    """Its metrics are in the table, and no sample is outside of the hour."""
    names = {match[0] for line in recorded.open_metrics().splitlines() if (match := line.partition("{")) and match[1]}
    assert len(names) > 30
    assert all(find_metric(name) for name in names)
    times = {moment for values in recorded.samples(USAGE).values() for moment in values}
    assert (min(times), max(times)) == (recorded.START + recorded.STEP, recorded.END)
