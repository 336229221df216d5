"""The example scenarios of three source systems, each with the table that it must print."""

from __future__ import annotations

import pathlib
from collections import Counter

import pytest

from berth.cli.admit import output, simulate
from berth.document.text import render_text
from berth.simulator.story import JobStatus, SimulationRun

ROOT = pathlib.Path(__file__).resolve().parents[3]
SCENARIOS = ROOT / "stacks" / "scenarios"
TABLES = sorted(SCENARIOS.glob("*.txt"))


def shown(answer: simulate.SimulationResult) -> str:
    """Return what `berth admit` prints."""
    return render_text(output.simulation_document(answer))


def simulated(name: str, *before: str) -> simulate.SimulationResult:
    """What `berth admit` makes of a scenario."""
    answer = simulate.simulate_arguments([*before, f"stacks/scenarios/{name}.yaml"], [], ROOT)
    assert answer.faults == ()
    return answer


def story(name: str) -> SimulationRun:
    """Return the one story of a scenario."""
    (each,) = simulated(name).stories
    return each


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.stem)
def test_a_scenario_prints_its_table(table: pathlib.Path) -> None:
    assert shown(simulated(table.stem)) + "\n" == table.read_text(encoding="utf-8")


def test_the_readme_shows_what_is_printed() -> None:
    table = (SCENARIOS / "multislice.txt").read_text(encoding="utf-8").split("\n\n")[0]
    assert f"```\n{table}\n```" in (ROOT / "docs" / "commands.md").read_text(encoding="utf-8")


def test_every_scenario_has_a_table() -> None:
    scenarios = {file.stem for file in SCENARIOS.glob("*.yaml") if not file.stem.endswith(".stack")}
    assert {table.stem for table in TABLES} == scenarios


def test_the_three_slice_set_goes_first_and_the_others_run_together_after_it() -> None:
    """System A.4, as it was listed."""
    *first, last = [[(row.job, row.status) for row in moment.outcomes] for moment in story("multislice").steps]
    assert first == [
        [("multislice-3slice", JobStatus.ADMITTED)],
        [("multislice-1slice", JobStatus.PENDING)],
        [("multislice-2slice", JobStatus.PENDING)],
    ]
    assert last[1:] == [("multislice-1slice", JobStatus.ADMITTED), ("multislice-2slice", JobStatus.ADMITTED)]


def test_with_32_chips_high_pushes_low_out_and_low_returns_and_with_64_both_run() -> None:
    """System B at the level of quota."""
    verdicts = [{row.job[:4].rstrip("-"): row.status for row in m.outcomes} for m in story("hotswap-32").steps]
    assert verdicts == [
        {"low": JobStatus.ADMITTED},
        {"high": JobStatus.ADMITTED, "low": JobStatus.PREEMPTED},
        {"high": "finished", "low": JobStatus.ADMITTED},
    ]
    assert [row.status for row in story("hotswap-64").unfinished] == [JobStatus.ADMITTED, JobStatus.ADMITTED]


def test_the_batch_platform_is_as_observed() -> None:
    """System E.7: pending and admitted by queue after each group; docs/walks/batch-platform.md has the same table."""
    result = story("batch-platform")
    moments = {
        "low-priority jobs submitted": standing(result, 16),
        "high-priority jobs submitted": standing(result, 32),
        "compact jobs submitted": standing(result, 48),
        "high- and low-priority jobs finished": standing(result, 80),
        "JobSets submitted": standing(result, 96),
    }
    assert list(moments.values()) == [
        {"lp": (0, 4)},
        {"lp": (1, 3), "hp": (2, 2)},
        {"lp": (1, 3), "hp": (2, 2), "compact": (3, 1)},
        {"compact": (3, 1)},
        {"lp": (0, 4), "compact": (3, 1)},
    ]
    table = (ROOT / "docs" / "walks" / "batch-platform.md").read_text(encoding="utf-8")
    nodes = [machines_at(result, moment) for moment in (16, 32, 48, 80, 96)]
    assert nodes == [34, 42, 50, 18, 42]
    for (moment, counts), count in zip(moments.items(), nodes, strict=True):
        cells = ["{} / {}".format(*counts.get(kind, (0, 0))) for kind in ("hp", "lp", "compact")]
        assert f"| {moment} | {' | '.join(cells)} | {count} |" in table
    for moment in ("nothing submitted", "everything finished"):
        assert f"| {moment} | 0 / 0 | 0 / 0 | 0 / 0 | {machines_at(result, 0)} |" in table


def test_high_priority_jobs_of_the_batch_platform_take_reserved_machines_before_on_demand() -> None:
    """System E: reserved machines first, by preemption; on-demand machines are the overflow."""
    flavors = {
        row.job: row.quota_uses[0].flavor_resource[0]
        for moment in story("batch-platform").steps[16:32]
        for row in moment.outcomes
        if row.status == JobStatus.ADMITTED and row.quota_uses
    }
    expected = {f"{team}-high-0": "gpu-l4-reserved" for team in "abcd"}
    assert flavors == expected | {f"{team}-high-1": "gpu-l4-ondemand" for team in "abcd"}


def standing(of: SimulationRun, moments: int) -> dict[str, tuple[int, int]]:
    """After so many steps, by kind of queue: pending and admitted jobs, which must be the same for all four teams."""
    verdicts: dict[str, tuple[str, str]] = {}
    for moment in of.steps[:moments]:
        verdicts |= {row.job: (row.queue, row.status) for row in moment.outcomes}
    unfinished = [each for each in verdicts.values() if each[1] != "finished"]
    by_kueue = (JobStatus.ADMITTED, JobStatus.UNPLACED)
    counts = Counter((queue, verdict in by_kueue) for queue, verdict in unfinished)
    values: dict[str, set[tuple[int, int]]] = {}
    for queue in {queue for queue, _ in counts}:
        values.setdefault(queue.rsplit("-", 1)[1], set()).add((counts[queue, False], counts[queue, True]))
    assert all(len(of_teams) == 1 for of_teams in values.values())
    return {kind: next(iter(of_teams)) for kind, of_teams in values.items()}


def machines_at(of: SimulationRun, moments: int) -> int:
    """After so many steps: six nodes of the system, four reserved ones, and one for each pod on nodes that come and go.

    Each job has two pods, and each pod takes all GPUs of its node.
    """
    flavors: dict[str, str] = {}
    for row in (row for moment in of.steps[:moments] for row in moment.outcomes):
        if row.status not in (JobStatus.ADMITTED, JobStatus.UNPLACED):
            flavors.pop(row.job, None)
        elif row.quota_uses:
            flavors[row.job] = row.quota_uses[0].flavor_resource[0]
    return 6 + 4 + 2 * sum(flavor != "gpu-l4-reserved" for flavor in flavors.values())


def test_two_stacks_are_compared_job_by_job() -> None:
    old, new = "stacks/scenarios/hotswap-32.stack.yaml", "stacks/examples/hotswap.yaml"
    answer = simulated("hotswap-32", old, new)
    (difference,) = output.simulation_as_json(answer)["differences"]
    assert (difference["step"], difference["job"]) == (2, "low-jax-trillium")
    assert (difference["old"]["status"], difference["new"]["status"]) == (JobStatus.PREEMPTED, JobStatus.ADMITTED)
    assert shown(answer).splitlines()[1].split()[:2] == ["2", "low-jax-trillium"]
    same = simulated("hotswap-32", old, old)
    assert shown(same) == "Every job has the same result under hotswap-32.stack and hotswap-32.stack."
