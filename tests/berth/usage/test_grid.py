"""Figures of series with gaps, shifts, restarts and duplicates: of one grid, from what is known, and computed twice."""

from __future__ import annotations

import math
import random
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import pytest

from berth.diagnostics import Problems
from berth.plan.fleet import FleetPlan
from berth.usage.accounts import FlavorAccount, account_usage
from berth.usage.series import NOMINAL, USAGE, Chosen, UsageMetrics, read_metrics
from tests.stack_files import plan

START, STEP, SAMPLES = 1_764_000_000, 60, 40
Entry = dict[str, Any]


def flavors_of(fleet: FleetPlan) -> list[tuple[str, str, str]]:
    resources = {flavor.name: flavor.resource for flavor in fleet.flavors}
    return [(q.name, entry.flavor, resources[entry.flavor]) for q in fleet.cluster_queues for entry in q.flavors]


def entry(metric: str, key: tuple[str, str, str], samples: Mapping[int, float], **labels: str) -> Entry:
    names = dict(zip(("cluster_queue", "flavor", "resource"), key, strict=True))
    values = [[time, f"{value:g}"] for time, value in sorted(samples.items())]
    return {"metric": {"__name__": metric, **names, **labels}, "values": values}


def answer(entries: list[Entry], **more: object) -> dict[str, Any]:
    return {"status": "success", "data": {"resultType": "matrix", "result": entries}, **more}


def random_set(fleet: FleetPlan, chance: random.Random) -> list[Entry]:
    """Series with gaps, each shifted within the step, cut by a restart, or sampled by two replicas."""
    entries: list[Entry] = []
    for number, key in enumerate(flavors_of(fleet)):
        for metric, highest in ((USAGE, 30), (NOMINAL, 12)):
            shift = 0 if not number else chance.choice((0, 0, 7, 31, 59))
            has_gaps = number and chance.random() < 0.5
            samples = {
                START + n * STEP + shift: float(chance.randint(0, highest))
                for n in range(SAMPLES)
                if not has_gaps or chance.random() < 0.9
            }
            cut = START + chance.randint(5, SAMPLES - 5) * STEP
            match chance.randint(0, 3):
                case 0:
                    sides = ({t: v for t, v in samples.items() if (t < cut) == early} for early in (True, False))
                    entries += [entry(metric, key, side, pod=f"p{n}") for n, side in enumerate(sides)]
                case 1:
                    other = {t: v + chance.randint(0, 1) for t, v in samples.items() if t > cut}
                    entries += [entry(metric, key, samples, instance="a"), entry(metric, key, other, instance="b")]
                case _:
                    entries.append(entry(metric, key, samples))
    return entries


def accounts(fleet: FleetPlan, entries: list[Entry], span: int | None = None) -> dict[tuple[str, str], FlavorAccount]:
    problems = Problems()
    metrics = read_metrics([("x", answer(entries))], Chosen(fleet.cluster.name), problems, span)
    assert [each.line() for each in problems.entries] == []
    assert metrics is not None
    teams = account_usage(fleet, metrics).teams
    return {(team.team, each.flavor.name): each for team in teams for each in team.flavors}


def cells(entries: list[Entry], metric: str, key: tuple[str, str, str], start: int) -> dict[int, Fraction]:
    """What is known of a queue, by the number of the cell, as a person would write it down."""
    known: dict[int, set[Fraction]] = {}
    for each in entries:
        labels = each["metric"]
        if (labels["__name__"], labels["cluster_queue"], labels["flavor"]) == (metric, *key[:2]):
            of_series: dict[int, Fraction] = {}
            for time, value in each["values"]:
                of_series[math.floor((time - start) / STEP)] = Fraction(value)
            for cell, value in of_series.items():
                known.setdefault(cell, set()).add(value)
    return {cell: next(iter(values)) for cell, values in known.items() if len(values) == 1}


@pytest.mark.parametrize("seed", range(200))
def test_figures_of_random_sets_are_those_of_a_second_computation(seed: int) -> None:
    fleet = plan("dev")
    entries = random_set(fleet, random.Random(seed))
    made = accounts(fleet, entries)
    start = min(time for each in entries if each["metric"]["__name__"] == USAGE for time, _ in each["values"])
    last = max(time for each in entries if each["metric"]["__name__"] == USAGE for time, _ in each["values"])
    expected = (last - start) // STEP + 1
    compared = 0
    for (team, flavor), account in made.items():
        keys = [key for key in flavors_of(fleet) if key[1] == flavor]
        usage, nominal = ({key[0]: cells(entries, metric, key, start) for key in keys} for metric in (USAGE, NOMINAL))
        own = [q.name for q in fleet.cluster_queues if q.teams == (team,) and q.name in usage]
        known = [n for n in range(expected) if all(n in usage[name] and n in nominal[name] for name in own)]
        assert account.coverage == pytest.approx(len(known) / expected)
        if not known:
            assert account.used is None
            continue
        compared += 1
        sums = [sum(usage[name][n] for name in own) for n in known]
        over = [sum(max(Fraction(), usage[name][n] - nominal[name][n]) for name in own) for n in known]
        free = [sum(max(Fraction(), nominal[name][n] - usage[name][n]) for name in own) for n in known]
        for figures, values in ((account.used, sums), (account.borrowed, over), (account.idle, free)):
            assert figures is not None
            assert figures.average == pytest.approx(float(sum(values) / len(values)))
            assert figures.maximum == float(max(values))
            assert sum(value <= figures.p95 for value in values) >= 0.95 * len(values)
        if account.coverage < 0.9:
            assert (account.can_return, account.lacks) == (0, 0)
    assert compared


@pytest.mark.parametrize("seed", range(60))
def test_cutting_a_series_never_changes_a_figure_without_lowering_coverage(seed: int) -> None:
    fleet, chance = plan("dev"), random.Random(seed)
    entries = random_set(fleet, chance)
    before = accounts(fleet, entries)
    at = chance.randrange(1, len(entries))
    values = entries[at]["values"]
    kept = values[: chance.randrange(len(values))] if chance.random() < 0.7 else []
    is_copy = "instance" in entries[at]["metric"]  # without one of two contradicting series more is known
    after = accounts(fleet, [*entries[:at], {**entries[at], "values": kept}, *entries[at + 1 :]])
    for key, account in after.items():
        was = before[key]
        same = (account.used, account.borrowed, account.idle) == (was.used, was.borrowed, was.idle)
        assert (same and account.lent in (was.lent, None)) or is_copy or account.coverage < was.coverage


def test_series_that_are_sampled_some_seconds_apart_are_added() -> None:
    """Two queues of a team that use all of their quota, 7 s apart: nothing can be returned."""
    fleet = plan("dev")
    keys = [key for key in flavors_of(fleet) if key[1] == "v5e"]
    entries = [
        entry(metric, key, {START + n * STEP + shift: 8.0 for n in range(SAMPLES)})
        for shift, key in zip((0, 7, 14, 21), keys, strict=False)
        for metric in (USAGE, NOMINAL)
    ]
    for account in accounts(fleet, entries).values():
        if account.flavor.name == "v5e" and account.used is not None:
            assert account.used.average == account.used.p95 == account.guaranteed
            assert (account.can_return, account.coverage) == (0, 1)


def test_two_clusters_of_one_name_are_refused() -> None:
    fleet = plan("dev")
    key = flavors_of(fleet)[0]
    samples = {START + n * STEP: 8.0 for n in range(SAMPLES)}
    entries = [entry(USAGE, key, samples, project_id=project) for project in ("acme-a", "acme-b")]
    problems = Problems()
    assert read_metrics([("x", answer(entries))], Chosen(fleet.cluster.name), problems) is None
    assert [each.message for each in problems.entries] == [
        "the series are of several clusters, with project_id 'acme-a' and 'acme-b'; "
        "write --project acme-a, or the other"
    ]


def test_a_minute_of_data_is_not_a_week() -> None:
    fleet = plan("dev")
    entries = [entry(m, key, {START: 1.0, START + STEP: 1.0}) for key in flavors_of(fleet) for m in (USAGE, NOMINAL)]
    for account in accounts(fleet, entries, 7 * 24 * 3600).values():
        assert account.coverage < 0.001
        assert (account.can_return, account.lacks) == (0, 0)


def test_warnings_of_an_answer_are_shown() -> None:
    problems = Problems()
    value = answer(
        [entry(USAGE, ("q", "f", "r"), {START: 1.0, START + STEP: 1.0})],
        warnings=["store a is down"],
        infos=["truncated"],
    )
    read_metrics([("x", value)], Chosen("dev"), problems)
    assert [each.line() for each in problems.entries] == [
        "warning: Prometheus warns: store a is down [bad-metrics]",
        "warning: Prometheus warns: truncated [bad-metrics]",
    ]


KEYS = [("speech-train", "v5e", "google.com/tpu"), ("vision-train", "v5e", "google.com/tpu")]
FLAT = {START + n * STEP: 8.0 for n in range(SAMPLES)}


def read(entries: list[Entry], chosen: Chosen, *more: list[Entry]) -> tuple[UsageMetrics | None, list[str]]:
    problems = Problems()
    answers = [(f"{name}.json", answer(each)) for name, each in zip("ab", (entries, *more), strict=False)]
    metrics = read_metrics(answers, chosen, problems)
    return metrics, [each.line() for each in problems.entries]


PLACES: Mapping[str, tuple[list[Entry], str]] = {
    "two projects, one for each queue": (
        [entry(USAGE, key, FLAT, project_id=name) for key, name in zip(KEYS, ("a", "b"), strict=True)],
        "project_id 'a' and 'b'; write --project a, or the other",
    ),
    "two projects, one after the other": (
        [
            entry(USAGE, KEYS[0], {t: v for t, v in FLAT.items() if (t < START + 600) == early}, project=name)
            for early, name in ((True, "a"), (False, "b"))
        ],
        "project 'a' and 'b'; write --project a, or the other",
    ),
    "two locations": (
        [entry(USAGE, key, FLAT, location=name) for key, name in zip(KEYS, ("us-east1", "us-west1"), strict=True)],
        "location 'us-east1' and 'us-west1'; ask for one of them in the query (location=\"us-east1\")",
    ),
}


@pytest.mark.parametrize("case", PLACES)
def test_series_of_two_places_are_asked_for_by_name(case: str) -> None:
    entries, words = PLACES[case]
    metrics, lines = read(entries, Chosen("dev"))
    assert (metrics, lines) == (None, [f"error: the series are of several clusters, with {words} [bad-metrics]"])


def test_a_third_series_that_overlaps_the_first_is_compared_with_it() -> None:
    """Between them in time is a short one of the same labels."""
    part = {t: v for t, v in FLAT.items() if START + 120 <= t <= START + 240}
    late = {t: v for t, v in FLAT.items() if t > START + 600}
    entries = [
        entry(USAGE, KEYS[0], FLAT, tenant="a"),
        entry(USAGE, KEYS[0], part, tenant="a", pod="x"),
        entry(USAGE, KEYS[0], late, tenant="b"),
    ]
    assert read(entries, Chosen("dev"))[1] == [
        f"error: {USAGE} of queue 'speech-train' has two series at a time, with tenant 'a' and 'b'; ask for one of "
        'them in the query (tenant="…") [bad-metrics]'
    ]


@pytest.mark.parametrize("other", [KEYS[0], KEYS[1]], ids=["of the queue", "of another queue"])
def test_a_series_without_a_cluster_is_not_added_to_one_with_it(other: tuple[str, str, str]) -> None:
    entries = [entry(USAGE, KEYS[0], FLAT, cluster="dev"), entry(USAGE, other, FLAT)]
    message = "some series are of cluster 'dev', and some name none; write --cluster dev for the former [bad-metrics]"
    assert read(entries, Chosen("dev"))[1] == [f"error: {message}"]
    assert read(entries, Chosen("dev", is_asked=True))[1] == []


@pytest.mark.parametrize(
    ("chosen", "value"),
    [
        (Chosen("dev", "a"), 1.0),
        (Chosen("dev", "b"), 2.0),
        (Chosen("eu", "a", is_asked=True), 3.0),
        (Chosen("eu", is_asked=True), 3.0),
    ],
)
def test_a_cluster_and_a_project_are_chosen(chosen: Chosen, value: float) -> None:
    entries = [
        entry(USAGE, KEYS[0], dict.fromkeys(FLAT, 1.0), cluster="dev", project_id="a"),
        entry(USAGE, KEYS[0], dict.fromkeys(FLAT, 2.0), cluster="dev", project_id="b"),
        entry(USAGE, KEYS[0], dict.fromkeys(FLAT, 3.0), cluster_name="eu", project="a"),
        entry(USAGE, KEYS[0], dict.fromkeys(FLAT, 4.0)),
    ]
    entries = entries if chosen.is_asked else entries[:3]
    metrics, lines = read(entries, chosen)
    assert lines == [] and metrics is not None
    assert set(metrics.samples[USAGE][KEYS[0]].values()) == {value}


@pytest.mark.parametrize(
    ("chosen", "line"),
    [
        (
            Chosen("prod"),
            "no series has cluster 'prod', and they have 'eu'; write --cluster eu if that is this fleet's",
        ),
        (
            Chosen("eu", "b"),
            "no series has project 'b', and they have 'a'; write --project a if that is this fleet's",
        ),
    ],
)
def test_a_cluster_that_no_series_has_is_one_line(chosen: Chosen, line: str) -> None:
    entries = [entry(USAGE, KEYS[0], FLAT, cluster="eu", project_id="a")]
    assert read(entries, chosen) == (None, [f"error: {line} [bad-metrics]"])


def test_one_series_that_says_two_things_is_a_fault_with_both_places() -> None:
    other = {**FLAT, START + 60: 9.0}
    first = [entry(NOMINAL, KEYS[0], FLAT), entry(USAGE, KEYS[0], FLAT)]
    second = [entry(USAGE, KEYS[0], other)]
    says = f"{USAGE} of queue 'speech-train' is 9 at {START + 60}, and 8 in"
    assert read(first, Chosen("dev"), second) == (
        None,
        [f"b.json, series 0: error: {says} a.json, series 1; give one of the two answers [bad-metrics]"],
    )
    assert read([*first, *second], Chosen("dev")) == (
        None,
        [f"a.json, series 2: error: {says} a.json, series 1; give one of the two answers [bad-metrics]"],
    )
    metrics, lines = read(first, Chosen("dev"), first)
    assert lines == [] and metrics is not None and len(metrics.samples[USAGE][KEYS[0]]) == SAMPLES


def test_a_series_with_two_values_at_a_time_is_a_fault() -> None:
    twice = entry(USAGE, KEYS[0], FLAT)
    twice["values"] = [*twice["values"], [START, "3"]]
    assert read([twice], Chosen("dev"))[1] == [
        f"a.json: error: series 0 has two values at {START}, 8 and 3; save the answer again [bad-metrics]"
    ]


@pytest.mark.parametrize("seed", range(60))
def test_a_second_cluster_beside_never_changes_a_figure(seed: int) -> None:
    """A copy of random series under another project, location or cluster: refused, or left out by name."""
    fleet, chance = plan("dev"), random.Random(seed)
    own = [{**each, "metric": {**each["metric"], "project_id": "own"}} for each in random_set(fleet, chance)]
    label = chance.choice(("project_id", "location", "cluster"))
    theirs = [{**each, "metric": {**each["metric"], label: "theirs"}} for each in random_set(fleet, chance)]
    mixed = [*own, *theirs]
    chance.shuffle(mixed)
    metrics, _ = read(mixed, Chosen(fleet.cluster.name))
    chosen = Chosen(fleet.cluster.name, "own")
    alone, lines = read(own, chosen)
    assert lines == [] and alone is not None
    assert metrics is None or metrics == alone
    assert read(mixed, chosen)[0] == alone
